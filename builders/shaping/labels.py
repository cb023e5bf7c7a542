"""Label names as numbers, and labels in a form that can be compared."""

from collections.abc import Mapping, Sequence

import polars as pl

from builders.shaping.rows import refuse
from builders.spec import Raw


def label_numbers(
    names: pl.Series, numbers: Mapping[str, int] | Sequence[str], raw: Raw, *, unit: str = "line"
) -> pl.Series:
    """The number of each label name; for a list of names, the distinct numbers in ascending order.

    names: String or List(String), one row per `unit` of the raw file, from the first. numbers: by name, or the names in the order
    of their numbers, from 0. Returns Int64 or List(Int64).

    Raises SourceError for a name without a number, with its location in the raw file.
    """
    by_name = dict(numbers) if isinstance(numbers, Mapping) else {name: number for number, name in enumerate(numbers)}
    several = isinstance(names.dtype, pl.List)
    rows = pl.DataFrame({"name": names}).with_row_index("number", offset=1)
    flat = rows.explode("name").drop_nulls("name") if several else rows
    refuse(
        flat,
        ~pl.col("name").is_in(list(by_name)),
        raw,
        f"unknown label in {names.name!r}",
        found="name",
        expected=", ".join(by_name),
        location=pl.format(f"{unit} {{}}", "number"),
    )
    if several:
        number = pl.element().replace_strict(by_name, return_dtype=pl.Int64)
        return rows.select(pl.col("name").list.eval(number.unique().sort())).to_series()
    return names.replace_strict(by_name, return_dtype=pl.Int64)


def label_key(column: str, dtype: pl.DataType) -> pl.Expr:
    """A column of labels, or of lists of labels, as one value per row, equal if and only if the labels are.

    dtype: the column's type. Lists are compared in the order in which they are written.
    """
    return pl.col(column).cast(pl.List(pl.String)).list.join(" ") if isinstance(dtype, pl.List) else pl.col(column)
