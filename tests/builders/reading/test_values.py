"""Column types: which values match, which path the error names, and how the cells of text tables are parsed."""

import json
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from builders.reading.csv import read_csv
from builders.reading.json import read_json_lines
from builders.reading.values import check_record
from builders.spec import Raw
from tests.support.reading import AB, NESTED, NESTED_ROW, source_error

DEEP_MISMATCHES = [
    ({"question": {"stem": "s"}}, "question.choices is missing", "the keys: 'stem'"),
    ({"question": {"stem": "s", "choices": None}}, "question.choices is null", "null"),
    ({"question": {"stem": 1, "choices": []}}, "question.stem has the wrong type", "1 (an integer)"),
    ({"question": {"stem": "s", "choices": [{"text": "t"}]}}, "question.choices[].label is missing", "'text'"),
    ({"question": {"stem": "s", "choices": [None]}}, "question.choices[] is null", "null"),
    ({"question": []}, "question has the wrong type", "[] (a list)"),
    ({"flags": {"hate,speech": 0}}, "flags.hate,speech has the wrong type", "0 (an integer)"),
    ({"uids": [1, "2"]}, "uids[] has the wrong type", '"2" (a string)'),
    ({"uids": [1, None]}, "uids[] is null", "null"),
    ({"uids": [2**63]}, "uids[] is too large", str(2**63)),
    ({"score": False}, "score has the wrong type", "false (a boolean)"),
]


@pytest.mark.parametrize(("change", "what", "found"), DEEP_MISMATCHES)
def test_a_mismatch_deep_inside_a_record_is_named_by_its_path(
    change: dict[str, Any], what: str, found: str, raw: Callable[..., Raw]
) -> None:
    file = raw("\n".join(json.dumps(row) for row in [*[NESTED_ROW] * 4, NESTED_ROW | change]), "source/file")
    check_record(file, "record 'x'", NESTED_ROW, NESTED)
    for read, where in (
        (lambda: read_json_lines(file, NESTED), "line 5"),
        (lambda: check_record(file, "record 'x'", NESTED_ROW | change, NESTED), "record 'x'"),
    ):
        error = source_error(read)
        assert what in error.what
        assert error.where == f"source/file, {where}"
        assert found in str(error.found)


def test_optional_paths_alone_may_be_null_or_missing(raw: Callable[..., Raw]) -> None:
    columns = {"a": pl.String, "b": pl.List(pl.Int64), "c": pl.Struct({"d": pl.String})}
    data = '{"a": null, "b": [1, null], "c": {}}\n{"b": [], "c": {"d": null}}\n'
    frame = read_json_lines(raw(data), columns, optional=("a", "b[]", "c.d"))
    assert frame.rows() == [(None, [1, None], {"d": None}), (None, [], {"d": None})]
    assert "b[] is null" in source_error(lambda: read_json_lines(raw(data), columns, optional=("a", "b", "c.d"))).what
    error = source_error(lambda: read_json_lines(raw('{"a": 1}'), {"a": pl.String}, optional=("a",)))
    assert "wrong type" in error.what


def test_unsupported_types_and_unknown_optional_paths_are_errors_of_the_builder(raw: Callable[..., Raw]) -> None:
    file = raw('{"a": "x", "b": 1}')
    with pytest.raises(ValueError, match=r"unknown paths in optional: \['c'\]"):
        read_json_lines(file, AB, optional=("c",))
    with pytest.raises(TypeError, match=r"a\[\]: Date is not supported"):
        read_json_lines(file, {"a": pl.List(pl.Date)})
    with pytest.raises(TypeError, match="a table cannot hold List"):
        read_csv(raw("a\n1"), {"a": pl.List(pl.String)})


def test_numbers_and_booleans_of_a_table_are_read_strictly(raw: Callable[..., Raw]) -> None:
    columns = {"i": pl.Int64, "f": pl.Float64, "b": pl.Boolean}
    data = "i,f,b\n007,1e-3,true\n-9223372036854775808,.5,False\n"
    assert read_csv(raw(data), columns).rows() == [(7, 0.001, True), (-(2**63), 0.5, False)]
    invalid = {
        "i": ("", " 1", "1_0", "1.0", "١", str(2**63), "1" * 5000, "0x1"),
        "f": ("", "nan", "inf", "1e999", "1,5", "1_0", ".", "1e", " 1", "١"),
        "b": ("", "1", "yes", "TRUE"),
    }
    for name, values in invalid.items():
        for value in values:
            file = raw(f'{name}\n"{value}"')
            error = source_error(lambda name=name, file=file: read_csv(file, {name: columns[name]}))
            assert str(error.where).endswith("line 2")
            assert value[:40] in str(error.found)


# check_record


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (("x",), "('x',) (tuple)"),
        (b"x", "b'x' (bytes)"),
        ({1}, "{1} (set)"),
        (2**70, f"{2**70} (an integer)"),
        ({1: "x"}, "{1: 'x'} (an object)"),
        (None, "null"),
    ],
)
def test_values_that_json_does_not_have_are_described(value: Any, found: str, raw: Callable[..., Raw]) -> None:
    assert source_error(lambda: check_record(raw(""), "", {"a": value}, {"a": pl.String})).found == found


def test_a_record_that_is_not_an_object_or_has_other_keys_is_refused(raw: Callable[..., Raw]) -> None:
    error = source_error(lambda: check_record(raw(""), "", [], {}))
    assert "the record has the wrong type" in error.what
    error = source_error(lambda: check_record(raw(""), "", {7: "x", "b": "y"}, {"a": pl.String}))
    assert (error.found, error.expected) == ("the keys: '7', 'b'", "a key 'a'")


def test_a_struct_without_fields_accepts_every_object(raw: Callable[..., Raw]) -> None:
    for value in ({}, {"x": 1}, {7: b""}):
        check_record(raw(""), "", {"a": value}, {"a": pl.Struct({})})
    error = source_error(lambda: check_record(raw(""), "", {"a": []}, {"a": pl.Struct({})}))
    assert (error.found, error.expected) == ("[] (a list)", "an object")


def test_a_lone_surrogate_in_a_checked_text_is_refused(raw: Callable[..., Raw]) -> None:
    columns = {"a": pl.List(pl.String)}
    check_record(raw(""), "", {"a": ["😀"], "b": ["\ud800"]}, columns)
    error = source_error(lambda: check_record(raw(""), "", {"a": ["x", "half \ud83d"]}, columns))
    assert "a[] is not valid Unicode" in error.what
    assert error.found == "U+D83D alone in 'half \\ud83d'"
