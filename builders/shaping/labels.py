"""Labels: their names to numbers, strictly (a name that the recipe does not know is an error, not a new one); several as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from builders.reading.errors import malformed, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping

    from builders.spec import Raw


def label_numbers(names: pl.Series, numbers: Mapping[str, int], raw: Raw, *, unit: str = "line") -> pl.Series:
    """The number of each label name; of a list of names the ascending list of their numbers, each once.

    names: String or List(String), one row a `unit` of the raw file, from the first. Returns Int64 or List(Int64).

    Raises SourceError for a name without a number, with its place in the raw file.
    """

    many = isinstance(names.dtype, pl.List)
    rows = pl.DataFrame({"name": names}).with_row_index("row", offset=1)
    flat = rows.explode("name").drop_nulls() if many else rows
    unknown = flat.filter(~pl.col("name").is_in(list(numbers)))
    if unknown.height:
        row, name = unknown.row(0)
        what = f"unknown label in {names.name!r}"
        raise malformed(raw, f"{unit} {row}", what, found=shorten(name), expected=", ".join(numbers))
    if many:
        number = pl.element().replace_strict(dict(numbers), return_dtype=pl.Int64)
        return rows.select(pl.col("name").list.eval(number.unique().sort())).to_series()
    return names.replace_strict(dict(numbers), return_dtype=pl.Int64)


def label_key(column: str, dtype: pl.DataType) -> pl.Expr:
    """A column of labels, or of lists of them, as one value a row, equal where the labels are. dtype: the column's type."""

    return pl.col(column).cast(pl.List(pl.String)).list.join(" ") if isinstance(dtype, pl.List) else pl.col(column)
