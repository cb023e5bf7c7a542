"""Statistics of relevance judgements and of candidate lists."""

from dataclasses import dataclass

import polars as pl

from pipelines.audit.candidates import list_candidates
from pipelines.audit.tables import Frames, count_rows, model_input, read_column


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
class PreferenceStatistics:
    """Figures of preferences: queries with two candidates, one relevant and one not.

    num_same_length: the pairs of candidates with equally many characters. longer_is_relevant: of the other pairs, the share (0 to
    1) whose longer candidate is the relevant one; None without such pairs.
    """

    num_pairs: int
    num_same_length: int
    longer_is_relevant: float | None


@dataclass(frozen=True)
class TopRankedStatistics:
    """mteb's figures of candidate lists; the average is over all queries, with or without a list.

    preferences: mteb does not have these; None unless every list is a preference.
    """

    num_top_ranked: int
    min_top_ranked_per_query: int
    average_top_ranked_per_query: float
    max_top_ranked_per_query: int
    preferences: PreferenceStatistics | None = None


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


def describe_candidates(frames: Frames, split: str, queries: int) -> TopRankedStatistics:
    """The statistics of the candidate lists of a split. queries: the number of its queries."""
    ranked = frames["top_ranked"][split]
    sizes = read_column(ranked.select(size=pl.col("corpus-ids").list.len().cast(pl.Int64)), "size").sort()
    total = int(sizes.sum())
    return TopRankedStatistics(
        num_top_ranked=total,
        min_top_ranked_per_query=sizes[0],
        average_top_ranked_per_query=total / queries,
        max_top_ranked_per_query=sizes[-1],
        preferences=_describe_preferences(frames, split) if sizes[0] == sizes[-1] == 2 else None,
    )


def _describe_preferences(frames: Frames, split: str) -> PreferenceStatistics | None:
    """The statistics of lists of two candidates; None if those of one of them are both relevant, or none is."""
    length = model_input("corpus", "text").str.len_chars().cast(pl.Int64)
    lengths = frames["corpus"][split].select(pl.col("id").alias("corpus-id"), length=length).collect(engine="streaming")
    candidates = list_candidates(frames, split).join(lengths, on="corpus-id", maintain_order="left")
    relevant, other = (
        candidates.filter(rows).select("list", "length") for rows in (pl.col("relevant"), ~pl.col("relevant"))
    )
    pairs = relevant.join(other, on="list", suffix=" other")
    if not relevant.height == other.height == pairs.height:
        return None
    difference = (pairs["length"] - pairs["length other"]).sign()
    same, longer = int((difference == 0).sum()), int((difference > 0).sum())
    return PreferenceStatistics(pairs.height, same, longer / (pairs.height - same) if same < pairs.height else None)
