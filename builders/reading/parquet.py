"""Parquet."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders.reading.archives import malformed, open_raw
from builders.reading.values import MisfitError, check_values, misfit_error, schema_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from builders.errors import SourceError
    from builders.reading.values import Columns, Type
    from builders.spec import Raw


def read_parquet(raw: Raw, columns: Columns, *, optional: Collection[str] = ()) -> pl.DataFrame:
    """The named columns of a Parquet file, in the file's order; other columns are ignored.

    columns: String, Int64, Float64, Boolean, List and Struct of these; the file must hold exactly these types. optional: paths
    that may be null, as in `builders.reading.json_lines`.

    Raises SourceError for a file that is no Parquet or is damaged, for text that is no UTF-8, for a column that is missing or
    of another type, and with the record's number, from 1, for a null.
    """

    schema = schema_of(columns, optional)
    try:
        with pq.ParquetFile(_source(raw)) as file:
            names = file.schema_arrow.names
            for name in schema:
                if names.count(name) != 1:
                    what = f"the file has {'no column' if name not in names else 'two columns'} {name!r}"
                    raise malformed(raw, "", what, found=", ".join(names), expected=", ".join(schema))
            read = file.read(columns=list(schema))
        # Without the file's own notes, which polars takes for UTF-8 unseen; the texts themselves are looked at here.
        table = pa.table({name: read[name] for name in schema}).slice(0, raw.limit)
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:  # ValueError: a name in the footer that is no UTF-8
        raise _broken(raw, error) from error
    frame = pl.DataFrame(table)
    for name, dtype in schema.items():
        if frame.schema[name] != dtype:
            what = f"column {name!r} has the wrong type"
            raise malformed(raw, "", what, found=str(frame.schema[name]), expected=str(dtype))
        _check(raw, frame[name], dtype, optional)
    return frame


def _source(raw: Raw) -> Any:
    """What pyarrow reads: the file where it is, or a member of an archive, which must be held whole."""
    if raw.member is None:
        return raw.path
    with open_raw(raw) as file:
        return io.BytesIO(file.read())


def _check(raw: Raw, column: pl.Series, dtype: Type, optional: Collection[str]) -> None:
    """No null but those allowed; a flat column is looked at as a whole."""
    if not dtype.is_nested() and (column.name in optional or not column.null_count()):
        return
    for number, value in enumerate(column, 1):
        try:
            check_values([value.to_list() if hasattr(value, "to_list") else value], dtype, column.name, optional)
        except MisfitError as misfit:
            raise misfit_error(raw, f"record {number}", misfit) from misfit


def _broken(raw: Raw, error: Exception) -> SourceError:
    return malformed(raw, "", "no whole Parquet file", found=str(error).split("\n", 1)[0][:200], expected="Parquet")
