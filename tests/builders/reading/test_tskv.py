"""TSKV: which files are accepted, what their rows are, and what the errors say."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.reading import values
from builders.reading.tskv import read_tskv
from builders.spec import Raw
from tests.support.reading import source_error

REVIEW: dict[str, Any] = {"text": pl.String, "rating": pl.Float64}


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        ("address=Мира, 1\trating=3.\ttext=да\ntext=нет\trating=0.5\tname=\n", [("да", 3.0), ("нет", 0.5)]),
        ("text=a=b==\trating=1", [("a=b==", 1.0)]),
        (r"text=a\nb\n\nc\t\\d" + "\trating=1", [("a\nb\n\nc\\t\\\\d", 1.0)]),
        (b"\xef\xbb\xbftext= x \trating=1\r\ntext=y\xc2\xa0\trating=2\n\r\n\n", [(" x ", 1.0), ("y\xa0", 2.0)]),
        ("text=x\ntext=\trating=\nrating=2.\n", [("x", None), ("", None), (None, 2.0)]),
        ("", []),
    ],
    ids=[
        "columns by key in any order, other keys ignored",
        "equals signs in a value",
        "only backslash n is an escape",
        "LF or CRLF, blanks kept",
        "a missing optional field is null, an empty text is not",
        "an empty file",
    ],
)
def test_rows_are_those_of_the_file(
    data: str | bytes, rows: list[tuple[str | None, float | None]], raw: Callable[..., Raw]
) -> None:
    frame = read_tskv(raw(data), REVIEW, optional=REVIEW if (None, 2.0) in rows else ())
    assert frame.rows() == rows
    assert frame.schema == pl.Schema(REVIEW)


@pytest.mark.parametrize(
    ("line", "what", "found"),
    [
        ("text=x", "no field 'rating'", "'text'"),
        ("tskv\ttext=x\trating=1", "a field without '='", "'tskv'"),
        ("text=x\trating=1\t", "a field without '='", "''"),
        ("text=x\trating=1\ttext=x", "a duplicate key", "'text=x'"),
        ("text=x\trating=three", "rating has the wrong type", "'three'"),
        ("text=x\trating=", "rating has the wrong type", "''"),
        ("text=x\trating=nan", "rating has the wrong type", "'nan'"),
        ("\ntext=x\trating=1", "a blank line among the records", "a blank line"),
        ("text=\udcff\trating=1", "invalid UTF-8", "byte 0xff"),
    ],
)
def test_a_malformed_line_is_refused_with_its_number(line: str, what: str, found: str, raw: Callable[..., Raw]) -> None:
    file = raw(f"text=a\trating=1\n{line}\n".encode(errors="surrogateescape"), "source/reviews.tskv")
    error = source_error(lambda: read_tskv(file, REVIEW))
    assert error.where == "source/reviews.tskv, line 2"
    assert what in error.what
    assert found in str(error.found)


# A value can hold anything except tabs and line ends. Backslashes are excluded because `\n` is decoded.
VALUE = st.text(st.characters(codec="utf-8", exclude_characters="\t\n\r\\"))


@given(
    rows=st.lists(st.tuples(VALUE, st.floats(allow_nan=False, allow_infinity=False)), max_size=7),
    batch=st.integers(1, 4),
)
def test_any_rows_survive_every_batch_size(
    rows: list[tuple[str, float]], batch: int, example_raw: Callable[..., Raw]
) -> None:
    file = example_raw("".join(f"rating={rating!r}\ttext={text}\n" for text, rating in rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(values, "BATCH", batch)
        assert read_tskv(file, REVIEW).rows() == rows
