"""JSON lines: which files are accepted, what their rows are, and what the errors say. Nested records as a list of objects
and as an object of lists: the same rows from both, and errors for other shapes.
"""

import json
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.reading import json as json_reader
from builders.reading.json import json_lines, read_json_array, read_json_lines
from builders.spec import Raw
from tests.support.reading import AB, BOM, NESTED, NESTED_ROW, PACKINGS, TEXT, source_error


def line(**changes: Any) -> str:
    return json.dumps(NESTED_ROW | changes) + "\n"


def test_json_lines_give_the_named_columns_in_the_requested_order_and_ignore_other_keys(
    raw: Callable[..., Raw],
) -> None:
    frame = read_json_lines(raw('{"z": null, "b": 1, "a": "x"}\n{"a": "y", "b": 2}\n'), AB)
    assert frame.schema == pl.Schema(AB)
    assert frame.rows() == [("x", 1), ("y", 2)]


def test_nested_json_keeps_its_shape_and_an_integer_fits_a_float(raw: Callable[..., Raw]) -> None:
    frame = read_json_lines(
        raw(line() + line(score=2, extra=[1, "a"], flags={"hate,speech": False, "more": 3})), NESTED
    )
    assert frame.schema == pl.Schema(NESTED)
    assert frame.to_dicts() == [NESTED_ROW, NESTED_ROW | {"score": 2.0, "flags": {"hate,speech": False}}]


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": "x", "b": 1}\n{"a": "y", "b": 2}\n',
        b'{"a": "x", "b": 1}\r\n{"a": "y", "b": 2}\r\n',
        b'{"a": "x", "b": 1}\n{"a": "y", "b": 2}',
        BOM + b'{"a": "x", "b": 1}\n{"a": "y", "b": 2}\n\n \r\n',
        b'{"b": 0, "a": "x", "b": 1}\n  {"a": "y", "b": 2}  \n',
    ],
    ids=["LF", "CRLF", "no last line end", "BOM and blank lines at the end", "a repeated key, surrounding blanks"],
)
def test_every_accepted_form_of_json_lines_gives_the_same_rows(data: bytes, raw: Callable[..., Raw]) -> None:
    assert read_json_lines(raw(data), AB).rows() == [("x", 1), ("y", 2)]


def test_an_empty_file_gives_no_rows_and_the_right_columns(raw: Callable[..., Raw]) -> None:
    assert read_json_lines(raw(b""), NESTED).schema == pl.Schema(NESTED)
    assert read_json_array(raw(b" [ ] "), NESTED).shape == (0, 5)
    assert list(json_lines(raw(b"\n"), NESTED)) == []


@pytest.mark.parametrize(
    ("third", "found", "expected"),
    [
        ('{"a": "x", "b"', "unexpected end of data, at character ", "JSON object"),
        ('{"a": "x", "b": 1} {}', "unexpected content", "JSON object"),
        ('{"a": "x", "b": NaN}', "at character 17", "JSON object"),
        ('{"a": "\\ud83d", "b": 1}', "no low surrogate", "JSON object"),
        ("[1]", "[1] (a list)", "an object"),
        ("null", "null", "an object"),
        ('{"a": "x", "c": 1}', "the keys: 'a', 'c'", "a key 'b'"),
        ("{}", "the keys: none", "a key 'a'"),
        ('{"a": null, "b": 1}', "null", "a string"),
        ('{"a": 7, "b": 1}', "7 (an integer)", "a string"),
        ('{"a": "x", "b": "3"}', '"3" (a string)', "an integer of 64 bits"),
        ('{"a": "x", "b": true}', "true (a boolean)", "an integer of 64 bits"),
        ('{"a": "x", "b": 3.0}', "3.0 (a number)", "an integer of 64 bits"),
        ('{"a": "x", "b": 9223372036854775808}', "9223372036854775808 (an integer)", "an integer of 64 bits"),
        ('{"a": "x", "b": 1e20}', "(a number)", "an integer of 64 bits"),
        ('{"a": "x", "b": ["%s"]}' % ("long" * 100), '["longlonglong', "an integer of 64 bits"),
        ("\ufeff{}", "at character 1", "JSON object"),
    ],
)
def test_a_malformed_line_is_refused_with_its_number(
    third: str, found: str, expected: str, raw: Callable[..., Raw]
) -> None:
    good = '{"a": "x", "b": 1}\n'
    error = source_error(lambda: read_json_lines(raw(good * 2 + third + "\n" + good, "source/rows.jsonl"), AB))
    assert error.where == "source/rows.jsonl, line 3"
    assert found in str(error.found)
    assert expected in str(error.expected)
    assert len(str(error)) < 600
    # The same object in an array gives the same words, with the record's number.
    if found.startswith(("[1]", "the keys", "7", '"3"', "true", "3.0")):
        array = raw(f"[{good}, {good}, {third}, {good}]", "source/rows.json")
        array_error = source_error(lambda: read_json_array(array, AB))
        assert array_error.where == "source/rows.json, record 3"
        assert (array_error.found, array_error.expected) == (error.found, error.expected)


def test_numbers_become_text_only_in_the_named_columns(raw: Callable[..., Raw]) -> None:
    file = raw('{"a": 10, "c": "x"}\n{"a": 10.0, "c": "x"}\n{"a": "10.0", "c": "x"}\n{"a": 8.5, "c": "x"}\n')
    frame = read_json_lines(file, {"a": pl.String, "c": pl.String}, numbers_as_text=("a",))
    assert frame["a"].to_list() == ["10", "10.0", "10.0", "8.5"]
    error = source_error(lambda: read_json_lines(raw('{"a": true}'), {"a": pl.String}, numbers_as_text=("a",)))
    assert error.found == "true (a boolean)"


def test_numbers_as_text_must_name_string_columns(raw: Callable[..., Raw]) -> None:
    with pytest.raises(ValueError, match="numbers_as_text"):
        read_json_lines(raw('{"a": "x", "b": 1}'), AB, numbers_as_text=("b",))


def test_invalid_utf8_is_refused_with_the_line_and_the_byte(raw: Callable[..., Raw]) -> None:
    good = b'{"a": "x", "b": 1}'
    bad = b'{"a": "\xff", "b": 1}'
    error = source_error(lambda: read_json_lines(raw(good + b"\n" + bad, "s/f"), AB))
    assert (error.where, error.expected) == ("s/f, line 2", "UTF-8")
    assert "byte 0xff at byte 8" in str(error.found)
    error = source_error(lambda: read_json_array(raw(b"[" + good + b"," + bad + b"]", "s/f"), AB))
    assert error.where == "s/f, record 2"
    assert "byte 0xff at byte 8" in str(error.found)


@pytest.mark.parametrize("batch", [1, 25, 1 << 20])
def test_a_blank_line_among_the_records_is_refused_for_every_batch_size(
    batch: int, raw: Callable[..., Raw], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_reader, "BATCH", batch)
    good = '{"a": "x", "b": 1}\n'
    error = source_error(lambda: read_json_lines(raw(good * 2 + "\n \n" + good), AB))
    assert str(error.where).endswith("line 3")
    assert "blank line" in error.what
    assert read_json_lines(raw(good * 3 + "\n \n"), AB).height == 3


@pytest.mark.parametrize(
    "malformed",
    ['{"a": 1, "b": 1}\n{"a": 1, "b": 1}\nno JSON\n', 'not JSON\n{"a": 1, "b": 1}\n'],
    ids=["types", "JSON"],
)
def test_the_error_names_the_first_of_two_malformed_lines(malformed: str, raw: Callable[..., Raw]) -> None:
    error = source_error(lambda: read_json_lines(raw('{"a": "x", "b": 1}\n' + malformed), AB))
    assert str(error.where).endswith("line 2")


JSON_ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "id": TEXT,
            "question": st.fixed_dictionaries(
                {
                    "stem": TEXT,
                    "choices": st.lists(st.fixed_dictionaries({"text": TEXT, "label": TEXT}), max_size=3),
                }
            ),
            "score": st.floats(allow_nan=False, allow_infinity=False),
            "flags": st.fixed_dictionaries({"hate,speech": st.booleans()}),
            "uids": st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3),
        }
    ),
    max_size=6,
)


@given(rows=JSON_ROWS, escaped=st.booleans(), batch=st.integers(1, 300), kind=st.sampled_from(sorted(PACKINGS)))
def test_rows_survive_lines_and_arrays_for_every_packing_and_batch_size(
    rows: list[dict[str, Any]], escaped: bool, batch: int, kind: str, example_raw: Callable[..., Raw]
) -> None:
    name, member, pack = PACKINGS[kind]
    texts = [json.dumps(row, ensure_ascii=escaped) for row in rows]
    lines = example_raw(pack("\n".join(texts).encode()), name, member)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_reader, "BATCH", batch)
        frame = read_json_lines(lines, NESTED)
        assert frame.to_dicts() == rows
        assert frame.schema == pl.Schema(NESTED)
        indented = example_raw(pack(json.dumps(rows, ensure_ascii=escaped, indent=1).encode()), name, member)
        assert read_json_array(indented, NESTED).equals(frame)


COLUMNS = {"id": pl.Int64, "answers": pl.List(pl.Struct({"text": pl.String, "votes": pl.Int64}))}
OPTIONAL = ("answers[].votes",)


def read(file: Raw) -> list[dict[str, Any]]:
    frames = json_lines(file, COLUMNS, optional=OPTIONAL, records=("answers",))
    return [row for frame in frames for row in frame.to_dicts()]


def test_both_shapes_of_nested_records_give_the_same_rows(raw: Callable[..., Raw]) -> None:
    records = [{"text": "да", "votes": 2, "author": "a"}, {"text": "нет", "votes": None, "author": "b"}]
    lists = {"text": ["да", "нет"], "votes": [2, None], "author": ["a", "b"]}
    lines = "".join(json.dumps({"id": 1, "answers": answers}) + "\n" for answers in (records, lists))
    first, second = read(raw(lines))
    assert first == second == {"id": 1, "answers": [{"text": "да", "votes": 2}, {"text": "нет", "votes": None}]}


@pytest.mark.parametrize("answers", [[], {}, {"text": [], "votes": []}, {"text": [], "votes": None}], ids=str)
def test_no_records_are_an_empty_list_in_every_shape(answers: Any, raw: Callable[..., Raw]) -> None:
    assert read(raw(json.dumps({"id": 1, "answers": answers}))) == [{"id": 1, "answers": []}]


@pytest.mark.parametrize("votes", [{}, {"votes": None}], ids=["absent", "null"])
def test_a_key_that_the_lists_lack_is_null_in_every_record(votes: dict[str, Any], raw: Callable[..., Raw]) -> None:
    line = json.dumps({"id": 1, "answers": {"text": ["да", "нет"]} | votes})
    assert [answer["votes"] for answer in read(raw(line))[0]["answers"]] == [None, None]


@pytest.mark.parametrize(
    ("answers", "message", "found"),
    [
        ({"text": ["a", "b"], "votes": [1]}, "lists of different lengths", "2 of text, 1 of votes"),
        ({"text": "ab", "votes": [1]}, "answers.text has the wrong type", '"ab" (a string)'),
        ({"text": ["a", 3], "votes": [1, 2]}, "answers[].text has the wrong type", "3 (an integer)"),
        ({"votes": [1, 2]}, "answers[].text is missing", ""),
        ("none", "answers has the wrong type", '"none" (a string)'),
    ],
    ids=str,
)
def test_records_of_another_shape_are_refused_with_their_line(
    answers: Any, message: str, found: str, raw: Callable[..., Raw]
) -> None:
    lines = '{"id": 1, "answers": []}\n' + json.dumps({"id": 2, "answers": answers}) + "\n"
    error = source_error(lambda: read(raw(lines)))
    assert message in str(error)
    assert str(error.where).endswith("line 2")
    assert found in str(error.found)
