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


def test_columns_are_found_by_key_in_any_order_and_other_keys_are_ignored(raw: Callable[..., Raw]) -> None:
    data = "address=Мира, 1\trating=3.\ttext=да\ntext=нет\trating=0.5\tname=\n"
    frame = read_tskv(raw(data), REVIEW)
    assert frame.rows() == [("да", 3.0), ("нет", 0.5)]
    assert frame.schema == pl.Schema(REVIEW)


def test_a_value_may_contain_equals_signs_and_ends_at_the_tab(raw: Callable[..., Raw]) -> None:
    assert read_tskv(raw("text=a=b==\trating=1"), REVIEW)["text"].to_list() == ["a=b=="]


def test_backslash_n_becomes_a_line_feed_and_no_other_escape_is_decoded(raw: Callable[..., Raw]) -> None:
    assert read_tskv(raw(r"text=a\nb\n\nc\t\\d" + "\trating=1"), REVIEW)["text"].to_list() == ["a\nb\n\nc\\t\\\\d"]


def test_a_missing_optional_field_is_null_and_an_empty_text_is_not(raw: Callable[..., Raw]) -> None:
    data = "text=x\ntext=\trating=\nrating=2.\n"
    assert read_tskv(raw(data), REVIEW, optional=REVIEW).rows() == [("x", None), ("", None), (None, 2.0)]


def test_lines_end_in_lf_or_crlf_and_values_keep_surrounding_blanks(raw: Callable[..., Raw]) -> None:
    data = b"\xef\xbb\xbftext= x \trating=1\r\ntext=y\xc2\xa0\trating=2\n\r\n\n"
    assert read_tskv(raw(data), REVIEW)["text"].to_list() == [" x ", "y\xa0"]


def test_an_empty_file_gives_no_rows(raw: Callable[..., Raw]) -> None:
    frame = read_tskv(raw(""), REVIEW)
    assert (frame.height, frame.schema) == (0, pl.Schema(REVIEW))


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
    ],
)
def test_a_malformed_line_is_refused_with_its_number(line: str, what: str, found: str, raw: Callable[..., Raw]) -> None:
    file = raw(f"text=a\trating=1\n{line}\n", "source/reviews.tskv")
    error = source_error(lambda: read_tskv(file, REVIEW))
    assert error.where == "source/reviews.tskv, line 2"
    assert what in error.what
    assert found in str(error.found)


def test_invalid_utf8_is_refused_with_the_line(raw: Callable[..., Raw]) -> None:
    file = raw(b"text=a\trating=1\ntext=\xff\trating=1\n", "source/reviews.tskv")
    error = source_error(lambda: read_tskv(file, REVIEW))
    assert "invalid UTF-8" in error.what
    assert error.where == "source/reviews.tskv, line 2"


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
