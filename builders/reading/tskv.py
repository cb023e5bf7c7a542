"""Read TSKV: one record per line, `key=value` fields separated by tabs."""

from collections.abc import Collection, Iterator
from typing import Any

import polars as pl

from builders.reading.lines import iterate_lines
from builders.reading.values import (
    Columns,
    MismatchError,
    cell_parser,
    collect_rows,
    make_schema,
    malformed,
    shorten,
)
from builders.spec import Raw


def read_tskv(raw: Raw, columns: Columns, *, optional: Collection[str] = ()) -> pl.DataFrame:
    r"""The named columns of a file of `key=value` fields; other keys are ignored.

    columns: String, Int64, Float64 or Boolean, found by key. optional: columns whose field may be missing (null), or hold an
    empty number or boolean. A value ends at the next tab and may contain "=". In a String the two characters `\n` become a
    line feed; no other escape is decoded.

    Lines end in "\n" or "\r\n"; the last line end may be missing. Blank lines are allowed only at the end of the file.

    Raises SourceError with the line for: a field without "=", a duplicate key, a missing field, a value that does not have its
    column's type (see `builders.reading.values.cell_parser`), and text that is not UTF-8.
    """
    schema = make_schema(columns, optional)
    parsers = [
        (name, _unescape if dtype == pl.String else cell_parser(dtype, name, optional=name in optional))
        for name, dtype in schema.items()
    ]

    def parse_fields(fields: dict[str, str]) -> list[Any]:
        if missing := [name for name in schema if name not in fields and name not in optional]:
            raise MismatchError(
                f"no field {missing[0]!r}",
                found=f"the keys {', '.join(map(shorten, list(fields)[:20]))}",
                expected=f"{missing[0]}=...",
            )
        return [parse(fields[name]) if name in fields else None for name, parse in parsers]

    return collect_rows(raw, _records(raw), parse_fields, schema)


def _unescape(value: str) -> str:
    return value.replace("\\n", "\n")


def _records(raw: Raw) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each line's number and its fields by key."""
    blank = 0  # the number of the first blank line
    for number, line in enumerate(iterate_lines(raw), 1):
        if not line:
            blank = blank or number
            continue
        if blank:
            raise malformed(
                raw,
                f"line {blank}",
                "a blank line among the records",
                found="a blank line",
                expected="key=value fields",
            )
        yield number, _split_fields(raw, number, line)


def _split_fields(raw: Raw, number: int, line: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for field in line.split("\t"):
        key, equals, value = field.partition("=")
        if not equals or key in fields:
            raise malformed(
                raw,
                f"line {number}",
                "a duplicate key" if equals else "a field without '='",
                found=shorten(field),
                expected="key=value fields separated by tabs, each key once",
            )
        fields[key] = value
    return fields
