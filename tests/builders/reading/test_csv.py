"""CSV and TSV: which files are accepted, what their rows are, and what the errors say. Tables whose quoting is not
documented: which quotes enclose a field, and which are characters of it.
"""

import csv
import io
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.errors import SourceError
from builders.reading import values
from builders.reading.csv import read_csv, read_loose_tsv
from builders.spec import Raw
from tests.support.reading import AB, BOM, TEXT, source_error


def test_columns_are_found_by_name_and_others_are_ignored(raw: Callable[..., Raw]) -> None:
    frame = read_csv(raw("b,junk,a\r\n1,,x\r\n-2,,y\r\n"), AB)
    assert frame.schema == pl.Schema(AB)
    assert frame.rows() == [("x", 1), ("y", -2)]


def test_columns_are_found_by_position_if_there_is_no_header(raw: Callable[..., Raw]) -> None:
    frame = read_csv(raw(BOM + '"Да, ""да""",3.\n'.encode()), {"text": pl.String, "score": pl.Float64}, header=False)
    assert frame.rows() == [('Да, "да"', 3.0)]


@pytest.mark.parametrize(
    ("data", "texts"),
    [
        (
            'a,b\n" x\r\ny\n\rz ",1\n,2\n"",3\nNULL,4\n\u2028\x85\xa0\x00 ,5\n"""",6\n',
            [" x\r\ny\n\rz ", "", "", "NULL", "\u2028\x85\xa0\x00 ", '"'],
        ),
        ('a,b\r\n"x\r\r\n",1\r\n"y\r",2', ["x\r\r\n", "y\r"]),
        ("a,b\r\nx,1\r\n\r\n\r\n", ["x"]),
        ("a,b\n" + "x" * 300_000 + ",1", ["x" * 300_000]),
    ],
    ids=[
        "any characters",
        "carriage returns inside quotes",
        "blank lines at the end",
        "longer than csv's default limit",
    ],
)
def test_values_are_kept_byte_for_byte(data: str, texts: list[str], raw: Callable[..., Raw]) -> None:
    assert read_csv(raw(data), AB)["a"].to_list() == texts


def test_a_quote_is_an_ordinary_character_if_quotes_are_off(raw: Callable[..., Raw]) -> None:
    file = raw('1\tв балете "Лебедь"\n2\t"начало\n')
    columns = {"id": pl.String, "text": pl.String}
    frame = read_csv(file, columns, separator="\t", header=False, quotes=False)
    assert frame["text"].to_list() == ['в балете "Лебедь"', '"начало']
    assert "stray quote" in source_error(lambda: read_csv(file, columns, separator="\t", header=False)).what


@pytest.mark.parametrize(
    ("data", "where", "found", "expected"),
    [
        ("a,c\nx,1\n", "line 1", "'a', 'c'", "'a', 'b'"),
        ("a,b,b\nx,1,1\n", "line 1", "'a', 'b', 'b'", "'a', 'b'"),
        ("", "line 1", "nothing", "'a', 'b'"),
        ('a,b\n"x\ny",1\nx\n', "line 4", "1 fields: 'x'", "2 fields: 'a', 'b'"),
        ('a,b\n"x\ny",1\nx,1,\n', "line 4", "3 fields", "2 fields"),
        ('a,b\nx,1\n"x\ny","1\n\n', "line 3", "unexpected end of data", "closed"),
        ('a,b\n"x\ny"z,1\n', "line 2", "expected after", "closed"),
        ('a,b\nx"y,1\n', "line 2", "'x\"y,1", "closed"),
        ('a,b\nx, "1"\n', "line 2", "'x, ", "closed"),
        ("a,b\nx\ry,1\n", "line 2", "'x\\ry,1", "quotes"),
        ('a,b\n"x\n\ny",1\n\n\nz,2\n', "line 5", "a blank line", "a row"),
        ('a,b\n"x\ny",1\nz,one\n', "line 4", "'one'", "an integer of 64 bits"),
        (b'a,b\n"x\ny\xe9",1\n', "line 3", "byte 0xe9", "UTF-8"),
    ],
)
def test_a_malformed_table_is_refused_with_the_line_where_the_row_begins(
    data: str | bytes, where: str, found: str, expected: str, raw: Callable[..., Raw]
) -> None:
    error = source_error(lambda: read_csv(raw(data, "source/t.csv"), AB))
    assert error.where == f"source/t.csv, {where}"
    assert found in str(error.found)
    assert expected in str(error.expected)


def format_field(text: str, separator: str, *, always_quote: bool) -> str:
    """A field as a CSV file holds it. The csv module leaves "\\r" unquoted in rows that end in "\\n"."""
    quote = always_quote or any(mark in text for mark in (separator, '"', "\r", "\n"))
    return '"' + text.replace('"', '""') + '"' if quote else text


@given(
    rows=st.lists(st.tuples(TEXT, st.integers(-(2**63), 2**63 - 1), TEXT), max_size=6),
    separator=st.sampled_from(",\t;|"),
    end=st.sampled_from(["\n", "\r\n"]),
    always_quote=st.booleans(),
    batch=st.integers(1, 4),
)
def test_any_texts_survive_a_table(
    rows: list[tuple[str, int, str]],
    separator: str,
    end: str,
    always_quote: bool,
    batch: int,
    example_raw: Callable[..., Raw],
) -> None:
    lines = [
        separator.join(format_field(str(value), separator, always_quote=always_quote) for value in row)
        for row in [("a", "b", "c"), *rows]
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(values, "BATCH", batch)
        frame = read_csv(example_raw(end.join([*lines, ""])), AB | {"c": pl.String}, separator=separator)
    assert frame.rows() == rows


@pytest.mark.parametrize("quotes", [True, False])
@pytest.mark.parametrize(
    "text",
    ["a,b\nx,1\r\r\ny,2\n", "a,b\r\r\nx,1\n", "a,b\nx,1\r", 'a,b\n"x",1\r\r\n', "a,b\nx,1\n\r\r\n", "a,b\nx,1\ry,2\n"],
)
def test_a_carriage_return_outside_quotes_that_ends_no_line_is_an_error(
    text: str, quotes: bool, raw: Callable[..., Raw]
) -> None:
    source_error(lambda: read_csv(raw(text), AB, quotes=quotes))


COLUMNS = {"text": pl.String(), "label": pl.String()}


def read_rows(raw: Raw) -> list[tuple[str, ...]]:
    return read_loose_tsv(raw, COLUMNS).rows()


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
