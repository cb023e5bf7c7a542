"""Rows that a recipe drops, counted by reason, and rows that it refuses, named by their place in the raw file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from builders.reading.errors import malformed, shorten
from builders.spec import Dropped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from builders.spec import Raw

EXAMPLES = 5


def drop(
    frame: pl.DataFrame, where: pl.Expr, reason: str, *, split: str, key: str = "id"
) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """The rows that do not meet a condition, and the count of those that do: one Dropped, or none where no row does.

    key: the column whose values name the dropped rows. A null condition keeps its row.
    """
    marked = frame.with_columns(where.fill_null(value=False).alias("__dropped"))
    names = marked.filter("__dropped").get_column(key).cast(pl.String)
    kept = marked.filter(~pl.col("__dropped")).drop("__dropped")
    return kept, (Dropped(reason, names.len(), split, tuple(names.head(EXAMPLES))),) if names.len() else ()


def drop_each(
    frame: pl.DataFrame, conditions: Mapping[str, pl.Expr], *, split: str, key: str = "id"
) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """`drop` for several reasons, one after the other: each condition sees only the rows that the earlier ones left.

    conditions: by reason, in the order in which they apply.
    """
    counts: tuple[Dropped, ...] = ()
    for reason, where in conditions.items():
        frame, dropped = drop(frame, where, reason, split=split, key=key)
        counts += dropped
    return frame, counts


def refuse(
    rows: pl.DataFrame,
    where: pl.Expr,
    raw: Raw,
    what: str,
    *,
    found: str | pl.Expr,
    expected: str,
    unit: str = "line",
    place: pl.Expr | None = None,
) -> None:
    """Raise SourceError for the first row that meets a condition; return where no row does.

    rows: one row a `unit` of the raw file (`line`, `record`), from the first, unless `place` gives the text that says where a
    row is. found: what the error quotes, a column or an expression. A null condition refuses nothing.
    """
    at = pl.format(f"{unit} {{}}", pl.int_range(1, pl.len() + 1)) if place is None else place
    value = pl.col(found) if isinstance(found, str) else found
    first = rows.select(at.alias("place"), value.alias("found"), wrong=where).filter("wrong").head(1)
    for location, text, _ in first.iter_rows():
        raise malformed(raw, location, what, found=shorten(str(text)), expected=expected)
