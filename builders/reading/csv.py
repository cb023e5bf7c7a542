"""CSV and TSV."""

from __future__ import annotations

import csv
import re
from itertools import islice
from typing import TYPE_CHECKING

import polars as pl

from builders.reading.archives import malformed, open_raw, shorten, text_lines
from builders.reading.values import MisfitError, cell_parser, misfit_error, schema_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Any

    from builders.reading.values import Columns
    from builders.spec import Raw

BATCH = 50_000  # rows that are kept as Python objects


def read_csv(
    raw: Raw,
    columns: Columns,
    *,
    separator: str = ",",
    header: bool = True,
    quotes: bool = True,
    optional: Collection[str] = (),
) -> pl.DataFrame:
    r"""The named columns of a table of separated values.

    columns: String, Int64, Float64 or Boolean; found by name in the header, other columns are ignored. Without a header they
    are all the columns there are, in their order.
    quotes: a field may be quoted with ", and then hold separators, line ends and doubled quotes, all kept as they are; else
    a quote is a character like others. optional: numbers and booleans that may be empty, which is null. Strings are never
    null: an empty field is "".

    Lines end in "\n" or "\r\n"; any other "\r" stands between quotes, or is refused. Blank lines may stand at the end of the
    file, nowhere else.

    Raises SourceError with the line in which the row begins for: a column the header lacks or has twice, too few or too many
    fields, a quote that is never closed or stands inside an unquoted field, a value that is not of its column's type (see
    `builders.reading.values.cell_parser`), text that is no UTF-8.
    """

    schema = schema_of(columns, optional)
    rows = _rows(raw, separator, quotes=quotes)
    names = list(schema)
    line = 1
    if header:
        line, names = next(rows, (1, []))
        for name in schema:
            if names.count(name) != 1:
                what = f"the header has {'no column' if name not in names else 'two columns'} {name!r}"
                raise malformed(raw, f"line {line}", what, found=_listed(names), expected=_listed(list(schema)))
    wanted = [
        (names.index(name), cell_parser(dtype, name, optional=name in optional)) for name, dtype in schema.items()
    ]
    frames = [pl.DataFrame(schema=schema)]
    batch: list[list[Any]] = []
    for line, row in islice(rows, raw.limit):
        if len(row) != len(names):
            what, found = "a row has too few or too many fields", f"{len(row)} fields: {_listed(row)}"
            raise malformed(raw, f"line {line}", what, found=found, expected=f"{len(names)} fields: {_listed(names)}")
        try:
            batch.append([parse(row[index]) for index, parse in wanted])
        except MisfitError as misfit:
            raise misfit_error(raw, f"line {line}", misfit) from misfit
        if len(batch) == BATCH:
            frames.append(pl.DataFrame(batch, schema, orient="row"))
            batch = []
    frames.append(pl.DataFrame(batch, schema, orient="row"))
    return pl.concat(frames)


def _rows(raw: Raw, separator: str, *, quotes: bool) -> Iterator[tuple[int, list[str]]]:
    """The rows with the line each begins in."""
    csv.field_size_limit(2**31 - 1)  # the module's own limit, 131,072 characters, is for the whole process
    plain = rf'[^"\r\n{re.escape(separator)}]*+'
    field = rf'(?:"(?:[^"]++|"")*+"|{plain})'
    well_quoted = re.compile(rf"{field}(?:{re.escape(separator)}{field})*+[\r\n]*+")
    taken: list[str] = []  # the lines of the row at hand

    with open_raw(raw) as file:

        def lines() -> Iterator[str]:
            for line in text_lines(raw, file):
                taken.append(line)
                yield line

        reader = csv.reader(
            lines(), delimiter=separator, quoting=csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE, strict=True
        )
        blank = 0
        while True:
            taken.clear()
            start = reader.line_num + 1
            try:
                row = next(reader, None)
            except csv.Error as error:
                found = f"{error}: {shorten(''.join(taken))}"
                raise malformed(
                    raw, f"line {start}", "a row does not parse", found=found, expected=_grammar(quotes)
                ) from error
            if row is None:
                return
            if not row:
                blank = blank or start
                continue
            if blank:
                what, found = "a blank line among the rows", "a blank line"
                raise malformed(raw, f"line {blank}", what, found=found, expected="a row")
            # The csv module takes a quote inside an unquoted field for a character of it, strict or not.
            if quotes and any('"' in value for value in row) and not well_quoted.fullmatch("".join(taken)):
                found = shorten("".join(taken))
                raise malformed(raw, f"line {start}", "a stray quote", found=found, expected=_grammar(quotes))
            yield start, row


def _grammar(quotes: bool) -> str:
    return (
        'fields with quotes as in "he said ""no""", closed by the end of the file' if quotes else "fields on one line"
    )


def _listed(names: list[str]) -> str:
    shown = ", ".join(shorten(name, 30) for name in names[:30])
    return f"{shown}, ... ({len(names)} in all)" if len(names) > 30 else shown or "nothing"
