"""JSON arrays and objects of objects, read in pieces: any layout is accepted, and errors name the record."""

import gzip
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import limits
from builders.errors import SourceError
from builders.reading import json as json_reader
from builders.reading.json import json_members, read_json_array
from builders.spec import Raw
from tests.support.reading import AB, BOM, source_error

# Arrays


def test_an_array_may_have_a_bom_blanks_and_any_layout(raw: Callable[..., Raw]) -> None:
    data = BOM + b' \r\n[\t{"a": "[x]},", "b": 1 } ,\n\n{"a"\n: "y\\"]", "b": 2}\n]\r\n '
    assert read_json_array(raw(data), AB).rows() == [("[x]},", 1), ('y"]', 2)]


@pytest.mark.parametrize("batch", [1, 1 << 20])
@pytest.mark.parametrize(
    ("data", "record", "found"),
    [
        ("", "", "an empty file"),
        ('{"a": "x", "b": 1}', "", "'{"),
        ('[{"a": "x", "b": 1}, {"a": "y", "b": 2}', ", record 2", "expected ',' or ']'"),
        ('[{"a": "x", "b": 1}, {"a": "y', ", record 2", "Unterminated string"),
        ('[{"a": "x", "b": 1},', ", record 2", "the file ends before the closing ]"),
        ("[", ", record 1", "the file ends before the closing ]"),
        ('[{"a": "x", "b": 1},]', ", record 2", "Expecting value"),
        ('[{"a": "x", "b": 1} {"a": "y", "b": 2}]', ", record 1", "expected ',' or ']'"),
        ('[{"a": "x", "b": 1}] []', "", "'[]'"),
        ('[{"a": "x", "b": 1}, {"a": "y", "b": NaN}]', ", record 2", "NaN"),
        ('[{"a": "x", "b": 1}, {"a": "\\udc00", "b": 2}]', ", record 2", "surrogate"),
        ('[{"a": "x", "b": 1}, {"a": "y\x01", "b": 2}]', ", record 2", "control character"),
        ("[" * 200_000, ", record 1", "nested too deeply"),
        ('[{"a": "x", "b": 1}, [2]]', ", record 2", "[2] (a list)"),
    ],
)
def test_a_malformed_array_is_refused_with_the_record(
    data: str, record: str, found: str, batch: int, raw: Callable[..., Raw], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_reader, "BATCH", batch)
    error = source_error(lambda: read_json_array(raw(data, "source/rows.json"), AB))
    assert error.where == "source/rows.json" + record
    assert found in str(error.found)


def test_an_array_in_a_gz_cut_after_its_bracket_is_refused(raw: Callable[..., Raw]) -> None:
    data = gzip.compress(b'[{"a": "x", "b": 1}]')[:-4]
    assert "truncated data" in str(source_error(lambda: read_json_array(raw(data, "a.json.gz"), AB)).found)


# Objects of objects

CLUSTER: dict[str, Any] = {"rubric": pl.String, "headlines": pl.List(pl.String)}


@pytest.fixture
def clusters(raw: Callable[..., Raw]) -> Callable[..., Raw]:
    return partial(raw, name="source/clusters.json")


def read_members(file: Raw, **options: Any) -> list[dict[str, Any]]:
    return [row for frame in json_members(file, CLUSTER, key="cluster", **options) for row in frame.to_dicts()]


def cluster(name: str, *headlines: str, rubric: str | None = "r") -> dict[str, Any]:
    return {"cluster": name, "rubric": rubric, "headlines": list(headlines)}


def test_each_member_becomes_a_row_with_its_name(clusters: Callable[..., Raw]) -> None:
    data = '{"0": {"rubric": "r", "date": "1.1.2014", "headlines": ["a", "b"]}, "x": {"headlines": [], "rubric": "r"}}'
    assert read_members(clusters(data)) == [cluster("0", "a", "b"), cluster("x")]


def test_an_object_may_have_any_layout_and_repeated_or_escaped_names(clusters: Callable[..., Raw]) -> None:
    data = (
        '\ufeff {"a\\"{}" : {"rubric":"r","headlines":["}, \\"b\\": {"]}\n,"\\u0451":\t{"headlines":[],"rubric":"r"} ,'
    )
    data += '"ё":{"headlines":[],"rubric":"r"}\r\n} '
    assert read_members(clusters(data)) == [cluster('a"{}', '}, "b": {'), cluster("ё"), cluster("ё")]
    assert read_members(clusters(" { } ")) == []


def test_optional_values_may_be_null_or_missing(clusters: Callable[..., Raw]) -> None:
    data = '{"0": {"rubric": null, "headlines": []}, "1": {"headlines": []}}'
    assert read_members(clusters(data), optional=("rubric",)) == [cluster("0", rubric=None), cluster("1", rubric=None)]


GOOD = '"0": {"rubric": "r", "headlines": ["a"]}'


@pytest.mark.parametrize("batch", [1, 30, 1 << 20])
@pytest.mark.parametrize(
    ("data", "record", "found"),
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
    data: str, record: str, found: str, batch: int, clusters: Callable[..., Raw], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_reader, "MEMBER_BATCH", batch)
    error = source_error(lambda: read_members(clusters(data)))
    assert error.where == "source/clusters.json" + record
    assert found in str(error.found)


def test_invalid_utf8_is_refused_in_names_and_values(clusters: Callable[..., Raw]) -> None:
    for text in (b'{"\xff": {"rubric": "r", "headlines": []}}', b'{"0": {"rubric": "\xff", "headlines": []}}'):
        with pytest.raises(SourceError) as caught:
            read_members(clusters(text))
        assert caught.value.where == "source/clusters.json, record 1"


def test_the_first_members_come_before_the_rest_is_read(
    clusters: Callable[..., Raw], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_reader, "MEMBER_BATCH", 1000)
    whole = json.dumps({str(n): {"rubric": "r", "headlines": ["a" * 50]} for n in range(200)})
    frames = json_members(clusters(whole[:-1] + ', "200": oops}'), CLUSTER, key="cluster")
    assert next(frames)["cluster"][0] == "0"
    with pytest.raises(SourceError, match="invalid JSON") as caught:
        list(frames)
    assert str(caught.value.where).endswith("record 201")


def test_reading_stops_at_a_malformed_member_once_it_is_too_long(
    raw: Callable[..., Raw], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gz is truncated: the error tells whether reading got that far."""
    monkeypatch.setattr(json_reader, "MEMBER_BATCH", 1000)
    rest = " ".join(str(number * number) for number in range(400_000))
    packed = gzip.compress(('{"0": {"rubric": oops}, "1": "' + rest).encode())
    file = raw(packed[: len(packed) // 2], "clusters.json.gz")
    with pytest.raises(SourceError, match="cannot be read"):
        read_members(file)
    monkeypatch.setattr(limits, "MAX_RECORD", 10_000)
    with pytest.raises(SourceError, match="invalid JSON"):
        read_members(file)


NAMES = st.text(st.characters(codec="utf-8"), max_size=5)
HEADLINES = st.lists(st.text(st.characters(codec="utf-8")), max_size=3)


@given(
    headlines_by_name=st.dictionaries(NAMES, HEADLINES, max_size=8),
    batch=st.integers(1, 80),
    indent=st.sampled_from([None, 1]),
    escaped=st.booleans(),
)
def test_members_survive_every_batch_size_and_layout(
    headlines_by_name: dict[str, list[str]],
    batch: int,
    indent: int | None,
    escaped: bool,
    example_raw: Callable[..., Raw],
) -> None:
    objects = {name: {"rubric": "r", "headlines": headlines} for name, headlines in headlines_by_name.items()}
    file = example_raw(json.dumps(objects, ensure_ascii=escaped, indent=indent))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_reader, "MEMBER_BATCH", batch)
        assert read_members(file) == [cluster(name, *headlines) for name, headlines in headlines_by_name.items()]
