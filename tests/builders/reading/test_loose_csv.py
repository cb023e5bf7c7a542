"""Tables whose quoting is not documented: which quotes enclose a field, and which are characters of it."""

import csv
import io
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.errors import SourceError
from builders.reading import read_csv, read_loose_csv
from builders.spec import Raw

COLUMNS = {"text": pl.String(), "label": pl.String()}


def read_rows(raw: Raw) -> list[tuple[str, ...]]:
    return read_loose_csv(raw, COLUMNS, separator="\t").rows()


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("good\tx", "good"),
        ('"good"\tx', "good"),
        ('"he said ""no"""\tx', 'he said "no"'),
        ('"a\tb"\tx', "a\tb"),
        ('he said "no"\tx', 'he said "no"'),
        ('5" heel\tx', '5" heel'),
        ('"Silk" is polyester\tx', '"Silk" is polyester'),
        ('"never closed\tx', '"never closed'),
        ('"two\nlines"\tx', "two\nlines"),
        ('"two\n\nlines, ""one"" quoted"\tx', 'two\n\nlines, "one" quoted'),
        ('""\tx', ""),
        ("\tx", ""),
    ],
)
def test_quotes_enclose_a_field_where_they_can_and_are_characters_elsewhere(
    line: str, text: str, raw: Callable[..., Raw]
) -> None:
    table = f"text\tlabel\nfirst\ty\n{line}\nlast\tz\n"
    expected = [("first", "y"), (text, "x"), ("last", "z")]
    assert read_rows(raw(table)) == expected
    assert read_rows(raw(table.rstrip("\n"))) == expected
    if "\n" not in line:
        assert read_rows(raw(table.replace("\n", "\r\n") + "\r\n\r\n")) == expected


@pytest.mark.parametrize(
    ("table", "line", "what"),
    [
        ("text\tlabel\na\tx\nb\n", "line 3", "too few or too many fields"),
        ("text\tlabel\na\tx\ty\n", "line 2", "too few or too many fields"),
        ("text\tlabel\na\tx\n\nb\ty\n", "line 3", "too few or too many fields"),
        ('text\tlabel\n"a\nb\n', "line 2", "too few or too many fields"),
        ('text\tlabel\nfirst\ty\n"a\tx\nb"\ty\n', "line 3", "read in two ways"),
        ("text\tlable\na\tx\n", "line 1", "no column 'label'"),
        ("", "line 1", "no column 'text'"),
    ],
)
def test_a_row_that_fits_in_no_way_or_in_two_is_an_error_with_its_line(
    table: str, line: str, what: str, raw: Callable[..., Raw]
) -> None:
    with pytest.raises(SourceError, match=what) as caught:
        read_rows(raw(table))
    assert str(caught.value.where).endswith(line)


@given(st.lists(st.tuples(st.text('a"\n,'), st.sampled_from(["x", "y"])), max_size=6))
def test_a_well_quoted_table_is_read_as_by_the_strict_reader(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerows([COLUMNS.keys(), *rows])
    path: Path = tmp_path_factory.mktemp("loose") / "table.csv"
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    file = Raw("source/table.csv", path)
    assert read_rows(file) == read_csv(file, COLUMNS, separator="\t").rows() == rows


def test_a_limit_ends_the_table(raw: Callable[..., Raw]) -> None:
    assert read_rows(raw("text\tlabel\na\tx\nb\ty\n", limit=1)) == [("a", "x")]
