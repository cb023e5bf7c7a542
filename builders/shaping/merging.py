"""Retrieval tables without twins: of equal queries, and of equal documents, one stays, with the judgements of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from builders.shaping.folding import fold_case
from builders.shaping.rows import drop
from builders.spec import Tables

if TYPE_CHECKING:
    from builders.spec import Dropped


def merge_equal(made: Tables, *, split: str) -> Tables:
    """The tables with no two queries, and no two documents, whose texts are alike (builders.shaping.folding).

    made: the retrieval tables of one split; a document's title is not looked at. The first of equal ones keeps its id and its
    text. The judgements of the others become its own; where it then is judged twice, the first judgement counts. All rows
    stay in their order. What is merged into another is counted as dropped.
    """
    frames, dropped = dict(made.frames), made.dropped
    qrels = frames["qrels"][split].lazy().collect()
    for config, what in (("queries", "query"), ("corpus", "document")):
        frame, firsts, gone = _merged(frames[config][split].lazy().collect(), what, split)
        frames[config] = {split: frame}
        column = {"queries": "query-id", "corpus": "corpus-id"}[config]
        qrels = qrels.join(firsts, left_on=column, right_on="id", how="left", maintain_order="left")
        qrels = qrels.with_columns(qrels["first"].alias(column)).drop("first")
        dropped += gone
    frames["qrels"] = {split: qrels.unique(["query-id", "corpus-id"], keep="first", maintain_order=True)}
    return Tables(frames, dropped, made.observed)


def _merged(frame: pl.DataFrame, what: str, split: str) -> tuple[pl.DataFrame, pl.DataFrame, tuple[Dropped, ...]]:
    """The first rows of each text; for every id the id of its text's first row (id, first); and what became of the others."""

    marked = frame.with_columns(__same=fold_case(pl.col("text")))
    firsts = marked.select("id", first=pl.col("id").first().over("__same"))
    reason = f"the {what} is equal to an earlier one, into which it was merged"
    kept, dropped = drop(marked, ~pl.col("__same").is_first_distinct(), reason, split=split)
    return kept.drop("__same"), firsts, dropped
