"""read_tskv: what a file of key=value fields gives, quirk by quirk, and what is said of a malformed one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.errors import SourceError
from builders.reading import read_tskv, tskv
from builders.spec import Raw

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

REVIEW: dict[str, Any] = {"text": pl.String, "rating": pl.Float64}


@pytest.fixture
def raw(tmp_path: Path) -> Callable[..., Raw]:
    def written(data: bytes | str, limit: int | None = None) -> Raw:
        path = tmp_path / "reviews.tskv"
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return Raw("source/reviews.tskv", path, limit=limit)

    return written


def test_columns_are_found_by_key_in_any_order_and_others_are_ignored(raw: Callable[..., Raw]) -> None:
    data = "address=Мира, 1\trating=3.\ttext=да\ntext=нет\trating=0.5\tname=\n"
    frame = read_tskv(raw(data), REVIEW)
    assert frame.rows() == [("да", 3.0), ("нет", 0.5)]
    assert frame.schema == pl.Schema(REVIEW)


def test_a_value_may_hold_equals_signs_and_ends_at_the_tab(raw: Callable[..., Raw]) -> None:
    assert read_tskv(raw("text=a=b==\trating=1"), REVIEW)["text"].to_list() == ["a=b=="]


def test_a_backslash_and_n_are_a_line_feed_and_no_other_escape_is_undone(raw: Callable[..., Raw]) -> None:
    assert read_tskv(raw(r"text=a\nb\n\nc\t\\d" + "\trating=1"), REVIEW)["text"].to_list() == ["a\nb\n\nc\\t\\\\d"]


def test_a_missing_field_is_null_where_it_may_be_and_an_empty_text_is_a_text(raw: Callable[..., Raw]) -> None:
    data = "text=x\ntext=\trating=\nrating=2.\n"
    assert read_tskv(raw(data), REVIEW, optional=REVIEW).rows() == [("x", None), ("", None), (None, 2.0)]


def test_line_ends_may_be_either_and_blanks_at_the_ends_of_a_value_stay(raw: Callable[..., Raw]) -> None:
    data = b"\xef\xbb\xbftext= x \trating=1\r\ntext=y\xc2\xa0\trating=2\n\r\n\n"
    assert read_tskv(raw(data), REVIEW)["text"].to_list() == [" x ", "y\xa0"]


def test_an_empty_file_gives_no_row(raw: Callable[..., Raw]) -> None:
    frame = read_tskv(raw(""), REVIEW)
    assert (frame.height, frame.schema) == (0, pl.Schema(REVIEW))


@pytest.mark.parametrize(
    ("line", "what", "found"),
    [
        ("text=x", "no field 'rating'", "'text'"),
        ("tskv\ttext=x\trating=1", "a field without '='", "'tskv'"),
        ("text=x\trating=1\t", "a field without '='", "''"),
        ("text=x\trating=1\ttext=x", "a key stands twice", "'text=x'"),
        ("text=x\trating=three", "rating has the wrong type", "'three'"),
        ("text=x\trating=", "rating has the wrong type", "''"),
        ("text=x\trating=nan", "rating has the wrong type", "'nan'"),
        ("\ntext=x\trating=1", "a blank line among the records", "a blank line"),
    ],
)
def test_a_malformed_line_is_refused_with_its_number(line: str, what: str, found: str, raw: Callable[..., Raw]) -> None:
    with pytest.raises(SourceError) as caught:
        read_tskv(raw(f"text=a\trating=1\n{line}\n"), REVIEW)
    assert caught.value.where == "source/reviews.tskv, line 2"
    assert what in caught.value.what
    assert found in str(caught.value.found)
    assert caught.value.expected
    assert caught.value.todo


def test_bytes_that_are_no_utf8_are_refused_with_the_line(raw: Callable[..., Raw]) -> None:
    with pytest.raises(SourceError, match="not UTF-8") as caught:
        read_tskv(raw(b"text=a\trating=1\ntext=\xff\trating=1\n"), REVIEW)
    assert caught.value.where == "source/reviews.tskv, line 2"


@pytest.mark.parametrize("limit", [0, 1, 2, 9])
def test_no_more_records_come_than_the_limit(limit: int, raw: Callable[..., Raw]) -> None:
    data = "text=a\trating=1\ntext=b\trating=2\ntext=c\trating=3\n"
    assert read_tskv(raw(data, limit=limit), REVIEW).height == min(limit, 3)


# What a value can hold: all but a tab and a line end, and a backslash, since the two characters `\n` come back as one.
VALUE = st.text(st.characters(codec="utf-8", exclude_characters="\t\n\r\\"))


@given(
    rows=st.lists(st.tuples(VALUE, st.floats(allow_nan=False, allow_infinity=False)), max_size=7),
    batch=st.integers(1, 4),
)
def test_rows_survive_the_file_whatever_the_batches(
    rows: list[tuple[str, float]], batch: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("tskv") / "rows.tskv"
    path.write_bytes("".join(f"rating={rating!r}\ttext={text}\n" for text, rating in rows).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tskv, "BATCH", batch)
        assert read_tskv(Raw("rows", path), REVIEW).rows() == rows
