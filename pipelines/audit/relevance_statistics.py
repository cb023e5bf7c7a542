"""Statistics of relevance judgements and of candidate lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from pipelines.audit.tables import count_rows, read_column

if TYPE_CHECKING:
    from pipelines.audit.tables import Frames


@dataclass(frozen=True)
class RelevanceStatistics:
    """mteb's figures of relevance judgements. Documents judged 0 count among the unique ones, but nowhere else."""

    num_relevant_docs: int
    min_relevant_docs_per_query: int
    average_relevant_docs_per_query: float
    max_relevant_docs_per_query: int
    unique_relevant_docs: int
    num_missing_query_ids: int
    num_missing_corpus_ids: int


@dataclass(frozen=True)
class TopRankedStatistics:
    """mteb's figures of candidate lists; the average is over all queries, with or without a list."""

    num_top_ranked: int
    min_top_ranked_per_query: int
    average_top_ranked_per_query: float
    max_top_ranked_per_query: int


def describe_judgements(frames: Frames, split: str) -> RelevanceStatistics:
    """The statistics of the relevance judgements of a split. frames: config -> split -> lazy frame."""
    qrels, corpus, queries = (frames[config][split] for config in ("qrels", "corpus", "queries"))
    relevant = (pl.col("score") != 0).sum().cast(pl.Int64).alias("relevant")
    per_query = qrels.group_by("query-id").agg(relevant).collect(engine="streaming")["relevant"].sort()
    judged = {column: qrels.select(id=pl.col(column)).unique() for column in ("query-id", "corpus-id")}
    total = int(per_query.sum())
    return RelevanceStatistics(
        num_relevant_docs=total,
        min_relevant_docs_per_query=per_query[0],
        average_relevant_docs_per_query=total / per_query.len(),
        max_relevant_docs_per_query=per_query[-1],
        unique_relevant_docs=count_rows(judged["corpus-id"]),
        num_missing_query_ids=count_rows(judged["query-id"].join(queries, on="id", how="anti")),
        num_missing_corpus_ids=count_rows(judged["corpus-id"].join(corpus, on="id", how="anti")),
    )


def describe_candidates(ranked: pl.LazyFrame, queries: int) -> TopRankedStatistics:
    """The statistics of the candidate lists of a split. queries: the number of its queries."""
    sizes = read_column(ranked.select(size=pl.col("corpus-ids").list.len().cast(pl.Int64)), "size").sort()
    total = int(sizes.sum())
    return TopRankedStatistics(
        num_top_ranked=total,
        min_top_ranked_per_query=sizes[0],
        average_top_ranked_per_query=total / queries,
        max_top_ranked_per_query=sizes[-1],
    )
