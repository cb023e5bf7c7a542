"""Rows that a recipe drops, counted by reason, and rows that it refuses, named by their location in the raw file."""

from collections.abc import Iterable, Mapping

import polars as pl

from builders.reading.errors import malformed, shorten
from builders.spec import Dropped, Raw

EXAMPLES = 5


def drop(
    frame: pl.DataFrame, where: pl.Expr, reason: str, *, split: str, key: str = "id"
) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """Remove the rows that meet a condition, and count them.

    key: the column whose values identify the dropped rows in the report. A row for which the condition is null is kept.

    Returns the other rows, in their order, and one Dropped, or none if no row meets the condition.
    """
    is_dropped = frame.with_columns(where.fill_null(value=False).alias("__dropped"))["__dropped"]
    if not is_dropped.any():
        return frame, ()
    keys = frame[key].filter(is_dropped)
    examples = tuple(keys.head(EXAMPLES).cast(pl.String))
    return frame.filter(~is_dropped), (Dropped(reason, keys.len(), split, examples),)


def drop_each(
    frame: pl.DataFrame, conditions: Mapping[str, pl.Expr], *, split: str, key: str = "id"
) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """`drop` for several reasons in turn: each condition is evaluated on the rows that the earlier ones left.

    conditions: by reason, in the order in which they apply.
    """
    counts: tuple[Dropped, ...] = ()
    for reason, where in conditions.items():
        frame, dropped = drop(frame, where, reason, split=split, key=key)
        counts += dropped
    return frame, counts


def merge_dropped(parts: Iterable[Dropped]) -> tuple[Dropped, ...]:
    """The counts of several parts of a source in one for each split and reason: by split, then alphabetically by reason."""
    totals: dict[tuple[str, str], Dropped] = {}
    for new in parts:
        total = totals.get((new.split, new.reason), Dropped(new.reason, 0, new.split))
        examples = (*total.examples, *new.examples)[:EXAMPLES]
        totals[new.split, new.reason] = Dropped(new.reason, total.count + new.count, new.split, examples)
    order = list(dict.fromkeys(split for split, _ in totals))
    return tuple(sorted(totals.values(), key=lambda one: (order.index(one.split), one.reason)))


def refuse(
    rows: pl.DataFrame,
    where: pl.Expr,
    raw: Raw,
    what: str,
    *,
    found: str | pl.Expr,
    expected: str,
    unit: str = "line",
    location: pl.Expr | None = None,
) -> None:
    """Raise SourceError if any row meets a condition, naming the first such row and counting all of them.

    rows: one per `unit` of the raw file (`line`, `record`), from the first, unless `location` says in words where each row is.
    found: the column or expression that the error quotes. A row for which the condition is null passes.
    """
    position = pl.int_range(1, pl.len() + 1) if location is None else location
    value = pl.col(found) if isinstance(found, str) else found
    wrong = rows.select(position=position, found=value, wrong=where).filter("wrong")
    for first, text, _ in wrong.head(1).iter_rows():
        count = f" (the first of {wrong.height:,})" if wrong.height > 1 else ""
        raise malformed(
            raw,
            f"{unit} {first}" if location is None else first,
            what,
            found=shorten(str(text)) + count,
            expected=expected,
        )
