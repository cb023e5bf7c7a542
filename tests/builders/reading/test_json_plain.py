"""parse_plain_lines: the rows of the strict parser, or None."""

import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.errors import SourceError
from builders.reading import json as json_reader
from builders.reading.json import parse_plain_lines
from builders.spec import Raw

AB = pl.Schema({"b": pl.String(), "a": pl.String()})
GOOD = b'{"a":"1","b":"2"}'
# Lines on which JSON parsers disagree.
ODD = [
    b'{"a":1,"b":"2"}',
    b'{"a":true,"b":"2"}',
    b'{"a":null,"b":"2"}',
    b'{"a":["1"],"b":"2"}',
    b'{"a":{"x":"1"},"b":"2"}',
    b'{"a":"1"}',
    b'{"a":"1","b":"2","c":"3"}',
    b'{"a":"1","b":"2","c":NaN}',
    b'{"a":"1","a":"3","b":"2"}',
    b'{"a":"1","\\u0061":"3","b":"2"}',
    b'{"a":"1","b":"2"}{"a":"3","b":"4"}',
    b'{"a":"1","b":"2"} {"a":"3","b":"4"}',
    b'{"a":"1",',
    b'"b":"2"}',
    b'{"a":"1","b":"2"',
    b"}",
    b'{"a":"\xff","b":"2"}',
    b'{"a":"\xed\xa0\x80","b":"2"}',
    b'{"a":"\xc0\xaf","b":"2"}',
    b'{"\xff":"1","a":"1","b":"2"}',
    b'{"a":"\\ud800","b":"2"}',
    b'{"a":"\\udc00\\ud800","b":"2"}',
    b'{"a":"\\x","b":"2"}',
    b'{"a":"\t","b":"2"}',
    b'{"a":"1","b":"2",}',
    b"",
    b" ",
    b"[]",
    b"null",
    b'"x"',
    b"{}",
    b"{'a':'1','b':'2'}",
    b'\xef\xbb\xbf{"a":"1","b":"2"}',
    b'{"a":"1","b":"2"} // x',
    b'{"a":Infinity,"b":"2"}',
    b' {"a":"1","b":"2"}',
    b'{"a":"1","b":"2"} ',
]
SPACED = [b'{ "b" : "2" , "a" : "1" }', b'{"a":"1","b":"2"}\r', b'{"a":"1",\t"b":"2"\r}']
TEXT = st.text() | st.sampled_from(
    ["\\", '"', "/", "\n\r\t\x00\x1f\x7f", "\u2028\ufeff😀", "2010-01-31", "", "null", '{"a":"1"}']
)
JSON_LINE = st.builds(
    lambda a, b, plain, swap: json.dumps({"b": b, "a": a} if swap else {"a": a, "b": b}, ensure_ascii=plain).encode(),
    TEXT, TEXT, st.booleans(), st.booleans(),
)  # fmt: skip


def parse_strictly(lines: Sequence[bytes], monkeypatch: pytest.MonkeyPatch) -> pl.DataFrame | None:
    """The frame of the parser that takes one line at a time; None for an error."""
    with monkeypatch.context() as patch:
        patch.setattr(json_reader, "parse_plain_lines", lambda *_: None)
        try:
            return json_reader._frame(Raw("source/file", Path("file")), "line", 1, list(lines), AB, optional=())
        except SourceError:
            return None


@given(
    st.lists(JSON_LINE | st.just(GOOD) | st.sampled_from(ODD + SPACED), min_size=1, max_size=6),
    st.sampled_from([b"\n", b"\r\n"]),
)
def test_the_rows_are_those_of_the_strict_parser_or_none(texts: list[bytes], end: bytes) -> None:
    lines = [text + end for text in texts]
    frame = parse_plain_lines(lines, AB)
    if frame is not None:
        expected = parse_strictly(lines, pytest.MonkeyPatch())
        assert expected is not None
        assert frame.equals(expected)
        assert frame.schema == AB


@given(st.lists(JSON_LINE, min_size=1, max_size=6))
def test_lines_as_programs_write_them_are_parsed(texts: list[bytes]) -> None:
    lines = [text + b"\n" for text in texts]
    frame = parse_plain_lines(lines, AB)
    assert frame is not None
    assert frame.rows() == [(row["b"], row["a"]) for row in map(json.loads, texts)]


@pytest.mark.parametrize("line", ODD)
def test_an_odd_line_leaves_the_batch_to_the_strict_parser(line: bytes) -> None:
    assert parse_plain_lines([GOOD + b"\n", line + b"\n", GOOD + b"\n"], AB) is None


@pytest.mark.parametrize("lines", [*([GOOD + b"\n", line + b"\n"] for line in SPACED), [GOOD + b"\r\n", GOOD]])
def test_white_space_between_tokens_and_a_missing_last_line_end_are_accepted(lines: list[bytes]) -> None:
    frame = parse_plain_lines(lines, AB)
    assert frame is not None
    assert frame.rows() == [("2", "1"), ("2", "1")]


def test_two_objects_on_one_line_are_refused_even_if_another_object_takes_two_lines() -> None:
    lines = [GOOD + GOOD + b"\n", b'{"a":"1",\n', b'"b":"2"}\n']
    assert parse_plain_lines(lines, AB) is None
    lines = [GOOD + GOOD + b"\n", b"\n"]
    assert parse_plain_lines(lines, AB) is None


def test_columns_that_are_not_strings_are_left_to_the_strict_parser() -> None:
    assert parse_plain_lines([b'{"a":1}\n'], pl.Schema({"a": pl.Int64()})) is None
