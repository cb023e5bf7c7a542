"""builders.reading.json_plain: a faster parser, and the same rows or none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.errors import SourceError
from builders.reading import json as json_reader
from builders.reading.json_plain import read_plain_lines
from builders.spec import Raw

if TYPE_CHECKING:
    from collections.abc import Sequence

AB = pl.Schema({"b": pl.String(), "a": pl.String()})
GOOD = b'{"a":"1","b":"2"}'
# What parsers of JSON quarrel about, each as a whole line.
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
WRITTEN = st.builds(
    lambda a, b, plain, swap: json.dumps({"b": b, "a": a} if swap else {"a": a, "b": b}, ensure_ascii=plain).encode(),
    TEXT, TEXT, st.booleans(), st.booleans(),
)  # fmt: skip


def strict(lines: Sequence[bytes], monkeypatch: pytest.MonkeyPatch) -> pl.DataFrame | None:
    """What the reader says that parses line by line; None for an error."""
    with monkeypatch.context() as patch:
        patch.setattr(json_reader, "read_plain_lines", lambda *_: None)
        try:
            return json_reader._frame(Raw("source/file", Path("file")), "line", 1, list(lines), AB, optional=())
        except SourceError:
            return None


@settings(max_examples=400, deadline=None)
@given(
    st.lists(WRITTEN | st.just(GOOD) | st.sampled_from(ODD + SPACED), min_size=1, max_size=6),
    st.sampled_from([b"\n", b"\r\n"]),
)
def test_rows_are_those_of_the_strict_reader_or_none(texts: list[bytes], end: bytes) -> None:
    lines = [text + end for text in texts]
    frame = read_plain_lines(lines, AB)
    if frame is not None:
        expected = strict(lines, pytest.MonkeyPatch())
        assert expected is not None
        assert frame.equals(expected)
        assert frame.schema == AB


@settings(deadline=None)
@given(st.lists(WRITTEN, min_size=1, max_size=6))
def test_lines_as_a_program_writes_them_are_plain(texts: list[bytes]) -> None:
    lines = [text + b"\n" for text in texts]
    frame = read_plain_lines(lines, AB)
    assert frame is not None
    assert frame.rows() == [(row["b"], row["a"]) for row in map(json.loads, texts)]


@pytest.mark.parametrize("line", ODD)
def test_an_odd_line_leaves_the_batch_to_the_strict_reader(line: bytes) -> None:
    assert read_plain_lines([GOOD + b"\n", line + b"\n", GOOD + b"\n"], AB) is None


@pytest.mark.parametrize("line", SPACED)
def test_white_space_between_tokens_is_plain(line: bytes) -> None:
    frame = read_plain_lines([GOOD + b"\n", line + b"\n"], AB)
    assert frame is not None
    assert frame.rows() == [("2", "1"), ("2", "1")]


def test_objects_that_share_a_line_are_not_made_up_for_by_others_that_take_two() -> None:
    lines = [GOOD + GOOD + b"\n", b'{"a":"1",\n', b'"b":"2"}\n']
    assert read_plain_lines(lines, AB) is None
    lines = [GOOD + GOOD + b"\n", b"\n"]
    assert read_plain_lines(lines, AB) is None


def test_columns_that_are_no_strings_are_not_for_this_reader() -> None:
    assert read_plain_lines([b'{"a":1}\n'], pl.Schema({"a": pl.Int64()})) is None


def test_the_last_line_may_lack_its_end() -> None:
    frame = read_plain_lines([GOOD + b"\r\n", GOOD], AB)
    assert frame is not None
    assert frame.rows() == [("2", "1"), ("2", "1")]
