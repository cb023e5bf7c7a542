"""TSKV: one record a line, `key=value` fields joined by tabs."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import polars as pl

from builders.reading.archives import malformed, open_raw, shorten, text_lines
from builders.reading.values import MisfitError, cell_parser, misfit_error, schema_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from builders.reading.values import Columns
    from builders.spec import Raw

BATCH = 20_000  # rows that are kept as Python objects


def read_tskv(raw: Raw, columns: Columns, *, optional: Collection[str] = ()) -> pl.DataFrame:
    r"""The named columns of a file of `key=value` fields; other keys are ignored.

    columns: String, Int64, Float64 or Boolean, found by their key. optional: those whose field may be missing (null), or hold
    an empty number or boolean. A value ends at the next tab: it may hold "=". In a String the two characters `\n` become a line
    feed; no other escape is undone.

    Lines end in "\n" or "\r\n", the last one may lack it. Blank lines may stand at the end of the file, nowhere else.

    Raises SourceError with the line for: a field without "=", a key that stands twice, a column without a field, a value that
    is not of its column's type (see `builders.reading.values.cell_parser`), text that is no UTF-8.
    """

    schema = schema_of(columns, optional)
    wanted = [
        (name, _text if dtype == pl.String else cell_parser(dtype, name, optional=name in optional))
        for name, dtype in schema.items()
    ]
    needed = [name for name in schema if name not in optional]
    frames = [pl.DataFrame(schema=schema)]
    batch: list[list[Any]] = []
    for line, fields in islice(_records(raw), raw.limit):
        for name in needed:
            if name not in fields:
                found = f"the keys {', '.join(map(shorten, list(fields)[:20]))}"
                raise malformed(raw, f"line {line}", f"no field {name!r}", found=found, expected=f"{name}=...")
        try:
            batch.append([parse(fields[name]) if name in fields else None for name, parse in wanted])
        except MisfitError as misfit:
            raise misfit_error(raw, f"line {line}", misfit) from misfit
        if len(batch) == BATCH:
            frames.append(pl.DataFrame(batch, schema, orient="row"))
            batch = []
    frames.append(pl.DataFrame(batch, schema, orient="row"))
    return pl.concat(frames)


def _text(value: str) -> str:
    return value.replace("\\n", "\n")


def _records(raw: Raw) -> Iterator[tuple[int, dict[str, str]]]:
    """The fields of each line by key, with the line's number."""
    blank = 0
    with open_raw(raw) as file:
        for number, line in enumerate(text_lines(raw, file), 1):
            text = line[:-1].removesuffix("\r") if line.endswith("\n") else line
            if not text:
                blank = blank or number
                continue
            if blank:
                what, found = "a blank line among the records", "a blank line"
                raise malformed(raw, f"line {blank}", what, found=found, expected="key=value fields")
            yield number, _fields(raw, number, text)


def _fields(raw: Raw, number: int, text: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for field in text.split("\t"):
        key, equals, value = field.partition("=")
        if not equals or key in fields:
            what = "a key stands twice" if equals else "a field without '='"
            expected = "key=value fields joined by tabs, each key once"
            raise malformed(raw, f"line {number}", what, found=shorten(field), expected=expected)
        fields[key] = value
    return fields
