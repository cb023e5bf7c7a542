"""Read separated values whose quoting is not documented: a quote that encloses no field is an ordinary character."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

import polars as pl

from builders.reading.errors import malformed, shorten
from builders.reading.lines import iterate_lines
from builders.reading.values import Columns, MismatchError, cell_parser, collect_rows, make_schema, mismatch_error
from builders.spec import Raw

BATCH = 50_000  # rows held as Python objects
LONGEST = 1_000  # lines of one quoted field


def read_loose_csv(raw: Raw, columns: Columns, *, separator: str = ",") -> pl.DataFrame:
    r"""The named columns of a table of separated values with a header, whatever the quotes in it mean.

    columns: String, Int64 or Float64, found by their names in the header; other columns are ignored. Every record is read in the
    first of these ways that gives as many fields as the header has:

    - a field in quotes holds the text between them, with doubled quotes for one; separators in it belong to the text;
    - as the line is, with quotes as ordinary characters: `he said "no"`, `5" heel`, `"Silk" is polyester`;
    - a field in quotes over several lines.

    Lines end in "\n" or "\r\n". Blank lines are allowed at the end of the file and in quotes.

    Raises SourceError with the line where the record begins if none of these ways fits, if both of the last two do, for a value
    that does not have its column's type, for a column that the header lacks or repeats, and for text that is not UTF-8.
    """
    schema = make_schema(columns, ())
    records = _records(raw, separator)
    _, names = next(records, (1, []))
    for name in schema:
        if names.count(name) != 1:
            what = f"the header has {'no column' if name not in names else 'two columns'} {name!r}"
            raise malformed(raw, "line 1", what, found=", ".join(map(shorten, names)), expected=", ".join(schema))
    parsers = [(names.index(name), cell_parser(dtype, name, optional=False)) for name, dtype in schema.items()]

    def parsed_rows() -> Iterator[list[Any]]:
        for line, fields in islice(records, raw.limit):
            try:
                yield [parse(fields[index]) for index, parse in parsers]
            except MismatchError as mismatch:
                raise mismatch_error(raw, f"line {line}", mismatch) from mismatch

    return collect_rows(parsed_rows(), schema, BATCH)


def _records(raw: Raw, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each record's first line, and its fields; the first is the header."""
    lines = list(iterate_lines(raw))
    while lines and not lines[-1]:
        lines.pop()
    start = count = 0
    while start < len(lines):
        readings = _readings(lines, start, separator, count)
        if len(readings) != 1:
            found = shorten(lines[start])
            what = "a row that can be read in two ways" if readings else "a row with too few or too many fields"
            expected = f"{count} fields; quotes that enclose a field, or do not enclose several lines"
            raise malformed(raw, f"line {start + 1}", what, found=found, expected=expected)
        fields, stop = readings[0]
        yield start + 1, fields
        start, count = stop, count or len(fields)


@cache
def _patterns(separator: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A record whose quotes all enclose fields, and each field of such a record."""
    mark = re.escape(separator)
    field = rf'"(?:[^"]|"")*"|(?!")[^{mark}]*'
    return re.compile(rf"(?:{field})(?:{mark}(?:{field}))*"), re.compile(rf"(?:^|{mark})({field})")


def _readings(lines: list[str], start: int, separator: str, count: int) -> list[tuple[list[str], int]]:
    """The ways to read the record that begins at a line: its fields, and the number of the next line."""
    quoted, each = _patterns(separator)

    def fits(fields: list[str]) -> bool:
        return len(fields) == count if count else True

    def unquote(text: str) -> list[str]:
        return [one[1:-1].replace('""', '"') if one.startswith('"') else one for one in each.findall(text)]

    line = lines[start]
    if quoted.fullmatch(line) and fits(fields := unquote(line)):
        return [(fields, start + 1)]
    literal = line.split(separator)
    readings = [(literal, start + 1)] if fits(literal) else []
    if line.startswith('"') or f'{separator}"' in line:
        text = line
        for stop in range(start + 1, min(len(lines), start + LONGEST)):
            text += "\n" + lines[stop]
            if '"' in lines[stop]:
                if quoted.fullmatch(text) and fits(fields := unquote(text)):
                    readings.append((fields, stop + 1))
                if lines[stop].replace('""', "").count('"'):
                    break
    return readings
