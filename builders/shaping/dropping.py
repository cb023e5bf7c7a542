"""Rows that a recipe leaves out are counted, by reason, with a few of their ids."""

from __future__ import annotations

import polars as pl

from builders.spec import Dropped

EXAMPLES = 5


def drop(
    frame: pl.DataFrame, where: pl.Expr, reason: str, *, split: str, key: str = "id"
) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """The rows that do not meet a condition, and what became of the others: one Dropped, or none where no row met it.

    key: the column whose values name the dropped rows. A condition that is null drops nothing.
    """

    marked = frame.with_columns(where.fill_null(value=False).alias("__dropped"))
    gone = marked.filter("__dropped").get_column(key).cast(pl.String)
    kept = marked.filter(~pl.col("__dropped")).drop("__dropped")
    return kept, (Dropped(reason, gone.len(), split, tuple(gone.head(EXAMPLES))),) if gone.len() else ()
