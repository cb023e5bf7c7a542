"""The small shared steps: labels, counted drops, aligned documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

from builders.ateb.document_mt.documents import bitext
from builders.errors import SourceError
from builders.shaping.labels import label_numbers
from builders.shaping.rows import drop
from builders.spec import Dropped, Raw

if TYPE_CHECKING:
    from pathlib import Path

NUMBERS = {"joy": 0, "fear": 3}


@pytest.fixture
def raw(tmp_path: Path) -> Raw:
    return Raw("cedr/train.jsonl", tmp_path / "train.jsonl")


def test_label_names_become_numbers(raw: Raw) -> None:
    assert label_numbers(pl.Series("label", ["fear", "joy"]), NUMBERS, raw).to_list() == [3, 0]


def test_lists_of_label_names_become_ascending_numbers_each_once(raw: Raw) -> None:
    names = pl.Series("labels", [["fear", "joy"], [], ["joy", "joy"]], dtype=pl.List(pl.String))
    assert label_numbers(names, NUMBERS, raw).to_list() == [[0, 3], [], [0]]


@pytest.mark.parametrize(
    "names",
    [pl.Series("labels", ["joy", "anger"]), pl.Series("labels", [[], ["joy", "anger"]], dtype=pl.List(pl.String))],
)
def test_an_unknown_label_is_an_error_with_its_place(names: pl.Series, raw: Raw) -> None:
    with pytest.raises(SourceError, match="unknown label in 'labels'") as caught:
        label_numbers(names, NUMBERS, raw)
    assert "cedr/train.jsonl, line 2" in str(caught.value)
    assert "'anger'" in str(caught.value)
    assert "joy, fear" in str(caught.value)


def test_no_rows_have_no_labels(raw: Raw) -> None:
    assert label_numbers(pl.Series("l", [], dtype=pl.String), NUMBERS, raw).to_list() == []


def test_dropped_rows_are_counted_by_reason_with_five_of_their_ids() -> None:
    frame = pl.DataFrame({"id": [str(i) for i in range(10)], "text": ["", "a"] * 4 + ["", None]})
    kept, dropped = drop(frame, pl.col("text") == "", "the text is empty", split="train")
    assert dropped == (Dropped("the text is empty", 5, "train", ("0", "2", "4", "6", "8")),)
    assert kept["id"].to_list() == ["1", "3", "5", "7", "9"]
    assert kept.columns == frame.columns


def test_nothing_dropped_is_nothing_told() -> None:
    frame = pl.DataFrame({"id": [1], "text": ["a"]})
    kept, dropped = drop(frame, pl.col("text") == "", "empty", split="train")
    assert kept.equals(frame)
    assert dropped == ()


def documents(tmp_path: Path, english: bytes, german: bytes) -> tuple[Raw, Raw]:
    for name, data in (("en.txt", english), ("de.txt", german)):
        (tmp_path / name).write_bytes(data)
    return Raw("mt/en.txt", tmp_path / "en.txt"), Raw("mt/de.txt", tmp_path / "de.txt")


def test_documents_are_their_segments_without_trailing_blanks_joined_by_newlines(tmp_path: Path) -> None:
    one, other = documents(
        tmp_path, b"<d>\r\n One.  \r\nTwo.\t\r\n<d>\r\nThree.\r\n", "<d>\nEins.\nZwei.\n<d>\nDrei\u2028!\n".encode()
    )
    made = bitext(one, other, prefix="x", pair="en-de", split="test")
    frame = made.frames["en-de"]["test"].lazy().collect()
    assert frame.rows() == [("x-0", " One.\nTwo.", "Eins.\nZwei."), ("x-1", "Three.", "Drei\u2028!")]
    assert made.observed == {"documents": 2, "segments": 3}


def test_another_number_of_segments_names_document_and_lines(tmp_path: Path) -> None:
    one, other = documents(tmp_path, b"<d>\na\n<d>\nb\nc\n", b"<d>\na\n<d>\nb\n")
    with pytest.raises(SourceError, match="document 2 has another number of segments") as caught:
        bitext(one, other, prefix="x", pair="en-de", split="test")
    assert "mt/en.txt, line 3; mt/de.txt, line 3" in str(caught.value)
    assert "2 segments and 1 segments" in str(caught.value)


def test_another_number_of_documents_names_the_first_without_a_counterpart(tmp_path: Path) -> None:
    one, other = documents(tmp_path, b"<d>\na\n", b"<d>\na\n<d>\nb\n")
    with pytest.raises(SourceError, match="different numbers of documents") as caught:
        bitext(one, other, prefix="x", pair="en-de", split="test")
    assert "mt/de.txt, line 3: document 2 has no counterpart" in str(caught.value)
