"""Read CSV, TSV, and separated values whose quoting is not documented."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import polars as pl

from builders import limits
from builders.errors import SourceError
from builders.reading.archives import open_raw
from builders.reading.lines import decode_lines, iterate_lines
from builders.reading.values import (
    Columns,
    MismatchError,
    cell_parser,
    collect_rows,
    make_schema,
    malformed,
    shorten,
    too_large,
)
from builders.spec import Raw

STRAY_RETURN = re.compile(r"\r(?:\r\n)?\Z")  # the csv module takes each of these for the end of a line


def read_csv(
    raw: Raw,
    columns: Columns,
    *,
    separator: str = ",",
    header: bool = True,
    quotes: bool = True,
) -> pl.DataFrame:
    r"""The named columns of a table of separated values.

    columns: String, Int64, Float64 or Boolean, found by their names in the header; other columns are ignored. Without a
    header they are all columns of the file, in its order.
    quotes: a field may be enclosed in ", and then hold separators, line ends and doubled quotes, all kept as they are;
    otherwise a quote is an ordinary character. Nothing is null: an empty field is "", and no number or boolean.

    Lines end in "\n" or "\r\n"; any other "\r" must be inside quotes. Blank lines are allowed only at the end of the file.

    Raises SourceError with the line where the row begins for: a column that the header lacks or repeats, too few or too many
    fields, a quote that is never closed or is inside an unquoted field, a value that does not have its column's type (see
    `builders.reading.values.cell_parser`), and text that is not UTF-8.
    """
    schema = make_schema(columns, ())
    rows = _rows(raw, separator, quotes=quotes)
    line, names = next(rows, (1, [])) if header else (1, list(schema))
    parsers = _column_parsers(raw, line, names, schema)

    def parse_row(row: list[str]) -> list[Any]:
        if len(row) != len(names):
            raise MismatchError(
                "a row has too few or too many fields",
                found=f"{len(row)} fields: {_list_names(row)}",
                expected=f"{len(names)} fields: {_list_names(names)}",
            )
        return [parse(row[index]) for index, parse in parsers]

    return collect_rows(raw, rows, parse_row, schema)


def _column_parsers(raw: Raw, line: int, names: list[str], schema: pl.Schema) -> list[tuple[int, Callable[[str], Any]]]:
    """For each column its place among the names of the header, which is at a line, and what parses its cells."""
    for name in schema:
        if names.count(name) != 1:
            raise malformed(
                raw,
                f"line {line}",
                f"the header has {'no column' if name not in names else 'two columns'} {name!r}",
                found=_list_names(names),
                expected=_list_names(list(schema)),
            )
    return [(names.index(name), cell_parser(dtype, name, optional=False)) for name, dtype in schema.items()]


def split_rows(
    lines: Iterable[str],
    separator: str,
    *,
    quotes: bool,
    too_large: Callable[[], Exception],
    invalid: Callable[[csv.Error, str], Exception],
) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the fields of each row of separated values, and the lines that it is made of.

    lines: with their line ends. quotes: as for read_csv. too_large: the error for a row of more than `limits.MAX_RECORD`
    characters. invalid: the error for a row whose quotes are not those of CSV, from the csv module's and from the row.
    """
    csv.field_size_limit(limits.MAX_RECORD)  # the module's default is 131,072 characters; it is for the whole process
    row_lines: list[str] = []
    size = 0

    def counted() -> Iterator[str]:
        nonlocal size
        for line in lines:
            size += len(line)
            if size > limits.MAX_RECORD:  # a quote that is never closed makes one row of the rest of the file
                raise too_large()
            row_lines.append(line)
            yield line

    reader = csv.reader(
        counted(), delimiter=separator, quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE, strict=True
    )
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise invalid(error, "".join(row_lines)) from error
        if row is None:
            return
        yield row, row_lines
        row_lines.clear()
        size = 0


def _rows(raw: Raw, separator: str, *, quotes: bool) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with the number of the line where it begins."""
    plain = rf'[^"\r\n{re.escape(separator)}]*+'
    field = rf'(?:"(?:[^"]++|"")*+"|{plain})'
    well_quoted = re.compile(rf"{field}(?:{re.escape(separator)}{field})*+[\r\n]*+")
    fields = (
        'fields with quotes as in "he said ""no""", closed by the end of the file' if quotes else "fields on one line"
    )
    start, blank = 1, 0  # the numbers of the row's first line, and of the first blank line

    def row_too_large() -> SourceError:
        return too_large(raw, f"line {start}", "a row", limits.MAX_RECORD)

    def invalid_row(error: csv.Error, row: str) -> SourceError:
        return malformed(raw, f"line {start}", "invalid row", found=f"{error}: {shorten(row)}", expected=fields)

    with open_raw(raw) as file:
        lines = decode_lines(raw, file)
        for row, row_lines in split_rows(lines, separator, quotes=quotes, too_large=row_too_large, invalid=invalid_row):
            last = start + len(row_lines) - 1
            if STRAY_RETURN.search(row_lines[-1]):
                raise malformed(
                    raw,
                    f"line {last}",
                    "a stray carriage return",
                    found=shorten(row_lines[-1][-60:]),
                    expected=r"lines that end in \n or \r\n",
                )
            if row and blank:
                raise malformed(
                    raw, f"line {blank}", "a blank line among the rows", found="a blank line", expected="a row"
                )
            # Even with strict=True the csv module takes a quote inside an unquoted field for an ordinary character.
            if quotes and any('"' in value for value in row) and not well_quoted.fullmatch("".join(row_lines)):
                raise malformed(
                    raw,
                    f"line {start}",
                    "a stray quote",
                    found=shorten("".join(row_lines)),
                    expected=fields,
                )
            if row:
                yield start, row
            else:
                blank = blank or start
            start = last + 1


def _list_names(names: list[str]) -> str:
    shown = ", ".join(shorten(name, 30) for name in names[:30])
    return f"{shown}, ... ({len(names)} in total)" if len(names) > 30 else shown or "nothing"


LONGEST = 1_000  # lines of one quoted field


# A record whose quotes all enclose fields, and each field of such a record.
FIELD = r'"(?:[^"]|"")*"|(?!")[^\t]*'
QUOTED, EACH_FIELD = re.compile(rf"(?:{FIELD})(?:\t(?:{FIELD}))*"), re.compile(rf"(?:^|\t)({FIELD})")


def read_loose_tsv(raw: Raw, columns: Columns) -> pl.DataFrame:
    r"""The named columns of a table of values separated by tabs, with a header, whatever the quotes in it mean.

    columns: String, Int64 or Float64, found by their names in the header; other columns are ignored. Every record is read in the
    first of these ways that gives as many fields as the header has:

    - a field in quotes holds the text between them, with doubled quotes for one; tabs in it belong to the text;
    - as the line is, with quotes as ordinary characters: `he said "no"`, `5" heel`, `"Silk" is polyester`;
    - a field in quotes over several lines.

    Lines end in "\n" or "\r\n". Blank lines are allowed at the end of the file and in quotes.

    Raises SourceError with the line where the record begins if none of these ways fits, if both of the last two do, for a value
    that does not have its column's type, for a column that the header lacks or repeats, and for text that is not UTF-8.
    """
    schema = make_schema(columns, ())
    records = _records(raw)
    parsers = _column_parsers(raw, *next(records, (1, [])), schema)
    return collect_rows(raw, records, lambda fields: [parse(fields[index]) for index, parse in parsers], schema)


def _records(raw: Raw) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each record's first line, and its fields; the first is the header."""
    lines = list(iterate_lines(raw))
    while lines and not lines[-1]:
        lines.pop()
    start = count = 0
    while start < len(lines):
        readings = _readings(lines, start, count)
        if len(readings) != 1:
            raise malformed(
                raw,
                f"line {start + 1}",
                "a row that can be read in two ways" if readings else "a row with too few or too many fields",
                found=shorten(lines[start]),
                expected=f"{count} fields; quotes that enclose a field, or do not enclose several lines",
            )
        fields, stop = readings[0]
        yield start + 1, fields
        start, count = stop, count or len(fields)


def _readings(lines: list[str], start: int, count: int) -> list[tuple[list[str], int]]:
    """The ways to read the record that begins at a line: its fields, and the number of the next line."""

    def fits(fields: list[str]) -> bool:
        return len(fields) == count if count else True

    def unquote(text: str) -> list[str]:
        return [
            field[1:-1].replace('""', '"') if field.startswith('"') else field for field in EACH_FIELD.findall(text)
        ]

    line = lines[start]
    if QUOTED.fullmatch(line) and fits(fields := unquote(line)):
        return [(fields, start + 1)]
    literal = line.split("\t")
    readings = [(literal, start + 1)] if fits(literal) else []
    if line.startswith('"') or '\t"' in line:
        text = line
        for stop in range(start + 1, min(len(lines), start + LONGEST)):
            text += "\n" + lines[stop]
            if '"' in lines[stop]:
                if QUOTED.fullmatch(text) and fits(fields := unquote(text)):
                    readings.append((fields, stop + 1))
                if lines[stop].replace('""', "").count('"'):
                    break
    return readings
