"""Texts that leave the lists of their rows, counted by reason."""

from collections.abc import Callable

import polars as pl

from builders.shaping.rows import drop
from builders.spec import Dropped


def drop_from_lists(
    rows: pl.DataFrame, column: str, where: Callable[[pl.DataFrame], pl.Series], reason: str, *, split: str
) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """Remove texts from a column of lists (List(String)); a list may become empty, the rows stay.

    where: for a frame of all texts with `text` and the `id` and `query` of their rows, which of them to remove. The count is of
    texts, with the ids of their rows.
    """
    numbered = rows.with_row_index("__row")
    texts = numbered.select("__row", "id", "query", text=column).filter(pl.col("text").list.len() > 0).explode("text")
    rest, dropped = drop(texts, pl.lit(where(texts)), f"{reason} (texts)", split=split)
    if not dropped:
        return rows, ()
    lists = rest.group_by("__row", maintain_order=True).agg(__texts="text")
    joined = numbered.join(lists, on="__row", how="left", maintain_order="left")
    empty = pl.lit([], pl.List(pl.String))
    return joined.with_columns(pl.col("__texts").fill_null(empty).alias(column)).select(rows.columns), dropped
