"""Merge duplicate queries and duplicate documents of retrieval tables, together with their relevance judgements."""

import polars as pl

from builders.shaping.folding import fold_case
from builders.shaping.rows import drop
from builders.spec import Dropped, Tables

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
