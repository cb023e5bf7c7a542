"""Files of JSON objects whose layout is not known before: one array, or one object per line."""

from collections.abc import Callable

import polars as pl
import pytest

from builders.reading import json as json_reader
from builders.reading.json import json_objects
from builders.spec import Raw
from tests.support.reading import AB, BOM, source_error

ROWS = [("x", 1), ("y", 2), ("[", 3)]


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": "x", "b": 1}\n{"a": "y", "b": 2}\n{"a": "[", "b": 3}\n',
        b'[{"a": "x", "b": 1}, {"a": "y", "b": 2}, {"a": "[", "b": 3}]',
        b'\n  [\n  {"a": "x", "b": 1},\n  {"a": "y", "b": 2},\n  {"a": "[", "b": 3}\n]\n',
        BOM + b'[{"a": "x", "b": 1},{"a": "y", "b": 2},{"a": "[", "b": 3}]',
        BOM + b'{"a": "x", "b": 1}\n{"a": "y", "b": 2}\n{"a": "[", "b": 3}',
    ],
    ids=["lines", "array", "array over lines", "array with a mark", "lines with a mark"],
)
@pytest.mark.parametrize("size", [1, 30, json_reader.BATCH], ids=lambda size: f"pieces of {size}")
def test_both_layouts_give_the_same_rows(
    data: bytes, size: int, raw: Callable[..., Raw], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_reader, "BATCH", size)
    assert pl.concat(json_objects(raw(data), AB)).rows() == ROWS


def test_a_limit_counts_objects_in_both_layouts(raw: Callable[..., Raw]) -> None:
    for data in ('{"a": "x", "b": 1}\n{"a": "y", "b": 2}\n', '[{"a": "x", "b": 1}, {"a": "y", "b": 2}]'):
        assert pl.concat(json_objects(raw(data, limit=1), AB)).rows() == ROWS[:1]


@pytest.mark.parametrize(
    ("data", "where"),
    [('[{"a": "x", "b": 1}, {"a": 2, "b": 2}]', "record 2"), ('{"a": "x", "b": 1}\n{"a": 2, "b": 2}\n', "line 2")],
    ids=["array", "lines"],
)
def test_an_error_names_the_record_of_an_array_and_the_line_of_lines(
    data: str, where: str, raw: Callable[..., Raw]
) -> None:
    error = source_error(lambda: list(json_objects(raw(data), AB)))
    assert where in str(error.where)
