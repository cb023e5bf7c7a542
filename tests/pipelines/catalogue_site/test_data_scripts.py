"""Data as classic scripts: nothing in a value can end the script, and pages are written one at a time."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.catalogue_site.lists import as_json, write_list
from tests.support.sites import HOSTILE, read_records


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_a_hostile_text_is_the_same_text_again_and_holds_no_markup(number: int) -> None:
    text = HOSTILE[number]
    written = as_json([text]).decode()
    assert json.loads(written) == [text]
    for character in "<\0\u2028\u2029\n":
        assert character not in written


def test_half_of_a_pair_of_surrogates_becomes_a_replacement_character() -> None:
    written = as_json({"a \ud800": ["\udfff", "😀", 1, None, True]})
    assert json.loads(written) == {"a \ufffd": ["\ufffd", "😀", 1, None, True]}


@pytest.mark.parametrize(
    ("value", "read"),
    [(2**53 - 1, 2**53 - 1), (2**53, str(2**53)), (-(2**62), str(-(2**62))), (float("nan"), None), (0.1, 0.1)],
    ids=["the largest", "too large", "too small", "not a number", "a fraction"],
)
def test_a_number_that_javascript_would_change_is_written_as_text(value: Any, read: Any) -> None:
    assert json.loads(as_json([value])) == [read]


def test_a_list_is_pages_of_a_thousand_records(tmp_path: Path) -> None:
    listed = write_list(tmp_path, "table-1", ([number] for number in range(2_001)))
    assert (listed.folder, listed.records, listed.pages) == ("table-1", 2_001, 3)
    assert [path.name for path in sorted(tmp_path.rglob("*.js"))] == ["rows-0001.js", "rows-0002.js", "rows-0003.js"]
    assert read_records(tmp_path, "table-1") == [[number] for number in range(2_001)]


def test_no_more_than_a_page_of_records_is_in_memory(tmp_path: Path) -> None:
    def records() -> Iterator[list[int]]:
        for number in range(3_000):
            assert len(list((tmp_path / "table-1").iterdir())) == number // 1_000, "earlier pages are written"
            yield [number]

    assert write_list(tmp_path, "table-1", records()).pages == 3


def test_an_empty_list_has_a_folder_and_no_pages(tmp_path: Path) -> None:
    assert write_list(tmp_path, "table-1", []).pages == 0
    assert list((tmp_path / "table-1").iterdir()) == []
