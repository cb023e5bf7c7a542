"""json_members: one JSON object of objects, read in pieces."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.errors import SourceError
from builders.reading import json as json_reader
from builders.reading import json_members
from builders.spec import Raw

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CLUSTER: dict[str, Any] = {"rubric": pl.String, "headlines": pl.List(pl.String)}


@pytest.fixture
def raw(tmp_path: Path) -> Callable[..., Raw]:
    def written(data: bytes | str, name: str = "clusters.json", limit: int | None = None) -> Raw:
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return Raw(f"source/{name}", path, limit=limit)

    return written


def members(file: Raw, **options: Any) -> list[dict[str, Any]]:
    return [row for frame in json_members(file, CLUSTER, key="cluster", **options) for row in frame.to_dicts()]


def cluster(name: str, *headlines: str, rubric: str | None = "r") -> dict[str, Any]:
    return {"cluster": name, "rubric": rubric, "headlines": list(headlines)}


def test_each_member_is_a_row_under_its_name(raw: Callable[..., Raw]) -> None:
    data = '{"0": {"rubric": "r", "date": "1.1.2014", "headlines": ["a", "b"]}, "x": {"headlines": [], "rubric": "r"}}'
    assert members(raw(data)) == [cluster("0", "a", "b"), cluster("x")]


def test_any_layout_is_read_and_names_may_repeat_or_be_escaped(raw: Callable[..., Raw]) -> None:
    data = (
        '\ufeff {"a\\"{}" : {"rubric":"r","headlines":["}, \\"b\\": {"]}\n,"\\u0451":\t{"headlines":[],"rubric":"r"} ,'
    )
    data += '"ё":{"headlines":[],"rubric":"r"}\r\n} '
    assert members(raw(data)) == [cluster('a"{}', '}, "b": {'), cluster("ё"), cluster("ё")]


def test_an_empty_object_has_no_member(raw: Callable[..., Raw]) -> None:
    assert members(raw(" { } ")) == []


def test_what_may_be_null_or_missing_is_null(raw: Callable[..., Raw]) -> None:
    data = '{"0": {"rubric": null, "headlines": []}, "1": {"headlines": []}}'
    assert members(raw(data), optional=("rubric",)) == [cluster("0", rubric=None), cluster("1", rubric=None)]


@pytest.mark.parametrize("limit", [0, 1, 2, 9])
def test_no_more_members_come_than_the_limit(limit: int, raw: Callable[..., Raw]) -> None:
    data = json.dumps({str(n): {"rubric": "r", "headlines": []} for n in range(3)})
    assert len(members(raw(data, limit=limit))) == min(limit, 3)


GOOD = '"0": {"rubric": "r", "headlines": ["a"]}'


@pytest.mark.parametrize("piece", [1, 30, 1 << 20])
@pytest.mark.parametrize(
    ("data", "place", "found"),
    [
        ("", "", "an empty file"),
        ("[{}]", "", "'[{}]'"),
        ("{", ", record 1", "the file ends before the closing }"),
        ("{" + GOOD, ", record 1", "expected ',' or '}'"),
        ("{" + GOOD + ",", ", record 2", "the file ends before the closing }"),
        ("{" + GOOD + ",}", ", record 2", "Expecting value"),
        ("{" + GOOD + "} {}", "", "'{}'"),
        ("{" + GOOD + ', "1"', ", record 2", "expected a name in quotes and ':'"),
        ("{" + GOOD + ', "1" {}}', ", record 2", "expected a name in quotes and ':'"),
        ("{" + GOOD + ", 1: {}}", ", record 2", "expected a name in quotes and ':'"),
        ("{" + GOOD + ', "1": []}', ", record 2", "[] (a list)"),
        ("{" + GOOD + ', "1": {"rubric": "r"}}', ", record 2", "the keys: 'rubric'"),
        ("{" + GOOD + ', "1": {"rubric": "r", "headlines": ["x", null]}}', ", record 2", "null"),
        ("{" + GOOD + ', "1": {"rubric": "\\ud800", "headlines": []}}', ", record 2", "surrogate"),
        ("{" + GOOD + ', "\\ud800": {"rubric": "r", "headlines": []}}', ", record 2", "\\ud800"),
        ("{" + GOOD + ', "1": {"rubric": "r", "headlines": ["', ", record 2", "Unterminated string"),
    ],
)
def test_a_malformed_object_is_refused_with_the_record(
    data: str, place: str, found: str, piece: int, raw: Callable[..., Raw], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_reader, "MEMBERS", piece)
    with pytest.raises(SourceError) as caught:
        members(raw(data))
    assert caught.value.where == "source/clusters.json" + place
    assert found in str(caught.value.found)
    assert caught.value.expected
    assert caught.value.todo


def test_bytes_that_are_no_utf8_are_refused_in_names_and_values(raw: Callable[..., Raw]) -> None:
    for text in (b'{"\xff": {"rubric": "r", "headlines": []}}', b'{"0": {"rubric": "\xff", "headlines": []}}'):
        with pytest.raises(SourceError) as caught:
            members(raw(text))
        assert caught.value.where == "source/clusters.json, record 1"


def test_the_first_members_come_before_the_rest_is_read(
    raw: Callable[..., Raw], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_reader, "MEMBERS", 1000)
    monkeypatch.setattr(json_reader, "BATCH", 1000)
    whole = json.dumps({str(n): {"rubric": "r", "headlines": ["a" * 50]} for n in range(200)})
    frames = json_members(raw(whole[:-1] + ', "200": oops}'), CLUSTER, key="cluster")
    assert next(frames)["cluster"][0] == "0"
    with pytest.raises(SourceError, match="no JSON") as caught:
        list(frames)
    assert str(caught.value.where).endswith("record 201")


def test_a_broken_member_is_given_up_before_the_rest_of_the_file_is_held(
    raw: Callable[..., Raw], monkeypatch: pytest.MonkeyPatch
) -> None:
    """This gz is cut off: whoever reads up to there says so."""
    monkeypatch.setattr(json_reader, "MEMBERS", 1000)
    monkeypatch.setattr(json_reader, "BATCH", 1000)
    rest = " ".join(str(number * number) for number in range(400_000))
    packed = gzip.compress(('{"0": {"rubric": oops}, "1": "' + rest).encode())
    file = raw(packed[: len(packed) // 2], "clusters.json.gz")
    with pytest.raises(SourceError, match="cannot be read"):
        members(file)
    monkeypatch.setattr(json_reader, "LONGEST", 10_000)
    with pytest.raises(SourceError, match="no JSON"):
        members(file)


NAMES = st.text(st.characters(codec="utf-8"), max_size=5)
HEADLINES = st.lists(st.text(st.characters(codec="utf-8")), max_size=3)


@given(
    clusters=st.dictionaries(NAMES, HEADLINES, max_size=8),
    piece=st.integers(1, 80),
    indent=st.sampled_from([None, 1]),
    escaped=st.booleans(),
)
def test_members_survive_the_file_whatever_the_pieces_and_the_layout(
    clusters: dict[str, list[str]],
    piece: int,
    indent: int | None,
    escaped: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("members") / "clusters.json"
    objects = {name: {"rubric": "r", "headlines": headlines} for name, headlines in clusters.items()}
    path.write_text(json.dumps(objects, ensure_ascii=escaped, indent=indent), encoding="utf-8", newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_reader, "MEMBERS", piece)
        patch.setattr(json_reader, "BATCH", piece)
        assert members(Raw("clusters", path)) == [cluster(name, *headlines) for name, headlines in clusters.items()]
