"""Rows that a recipe drops, counted by reason, refuses, or merges, together with their relevance judgements."""

from collections.abc import Callable, Iterable, Iterator, Mapping

import polars as pl

from builders.reading.values import malformed, shorten
from builders.shaping.folding import fold_case
from builders.spec import Dropped, Raw, Tables

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
    return tuple(sorted(totals.values(), key=lambda drop: (order.index(drop.split), drop.reason)))


def join_tables(*parts: Tables) -> Tables:
    """The tables of several configs, each in one part, and what the parts dropped, observed and reported, in their order.

    Of a number that several parts observed, the last one counts.
    """
    return Tables(
        {config: splits for part in parts for config, splits in part.frames.items()},
        tuple(drop for part in parts for drop in part.dropped),
        {name: number for part in parts for name, number in part.observed.items()},
        tuple(rows for part in parts for rows in part.reported),
    )


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


# The notes of a version that merges duplicates.
CLEAN_NOTES = "Merges queries that differ only in case, white space or punctuation at the ends, and documents likewise."


def merge_duplicates(tables: Tables, *, split: str, start: bool = True) -> Tables:
    """Merge queries whose texts are equal once folded (builders.shaping.folding.fold_case), and documents likewise.

    tables: the retrieval tables of one split; titles of documents are ignored. The first of several duplicates keeps its id and
    text and takes over the judgements of the others; if a document is then judged twice for a query, the first judgement counts.
    Rows keep their order. Merged rows are counted as dropped. start: as for fold_case.
    """
    frames, dropped = dict(tables.frames), tables.dropped
    qrels = frames["qrels"][split].lazy().collect()
    for config, kind, column in (("queries", "query", "query-id"), ("corpus", "document", "corpus-id")):
        frame, first_ids, duplicates = _merge_texts(frames[config][split].lazy().collect(), kind, split, start=start)
        frames[config] = {split: frame}
        qrels = qrels.join(first_ids, left_on=column, right_on="id", how="left", maintain_order="left")
        qrels = qrels.with_columns(qrels["first_id"].alias(column)).drop("first_id")
        dropped += duplicates
    frames["qrels"] = {split: qrels.unique(["query-id", "corpus-id"], keep="first", maintain_order=True)}
    return Tables(frames, dropped, tables.observed)


def _merge_texts(
    frame: pl.DataFrame, kind: str, split: str, *, start: bool
) -> tuple[pl.DataFrame, pl.DataFrame, tuple[Dropped, ...]]:
    """The first row of each text; for every id, the id of the first row with its text (id, first_id); and the duplicates."""
    rows = frame.with_columns(__folded=fold_case(pl.col("text"), start=start))
    first_ids = rows.select("id", first_id=pl.col("id").first().over("__folded"))
    reason = f"the {kind} repeats an earlier one and was merged into it"
    firsts, dropped = drop(rows, ~pl.col("__folded").is_first_distinct(), reason, split=split)
    return firsts.drop("__folded"), first_ids, dropped


def number_rows(batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """The same batches with the column `number` (Int64): the place of a row in all of them, from 0."""
    start = 0
    for batch in batches:
        yield batch.with_columns(number=pl.int_range(start, start + batch.height, dtype=pl.Int64))
        start += batch.height


def drop_from_lists(
    rows: pl.DataFrame, column: str, where: pl.Expr | Callable[[pl.DataFrame], pl.Series], reason: str, *, split: str
) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    """Remove texts from a column of lists (List(String)); a list may become empty, the rows stay.

    where: of a frame of all texts, with `text` and the `id` and `query` of their rows, which ones to remove. The count is of
    texts, with the ids of their rows.
    """
    numbered = rows.with_row_index("__row")
    texts = numbered.select("__row", "id", "query", text=column).filter(pl.col("text").list.len() > 0).explode("text")
    is_removed = where if isinstance(where, pl.Expr) else pl.lit(where(texts))
    rest, dropped = drop(texts, is_removed, f"{reason} (texts)", split=split)
    if not dropped:
        return rows, ()
    lists = rest.group_by("__row", maintain_order=True).agg(__texts="text")
    joined = numbered.join(lists, on="__row", how="left", maintain_order="left")
    empty = pl.lit([], pl.List(pl.String))
    return joined.with_columns(pl.col("__texts").fill_null(empty).alias(column)).select(rows.columns), dropped
