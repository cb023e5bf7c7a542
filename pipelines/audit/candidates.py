"""The candidates of reranking, one row each, with whether they are relevant."""

import polars as pl

from pipelines.audit.tables import Frames


def list_candidates(frames: Frames, split: str) -> pl.DataFrame:
    """The candidates of a split, in the order of their lists.

    Columns: list (uint32: the row of the list in `top_ranked`), query-id and corpus-id (String), place (uint32: in the list, from
    1) and relevant (Boolean: judged above zero for the query).
    """
    ranked = frames["top_ranked"][split].select("query-id", "corpus-ids").with_row_index("list")
    places = pl.int_ranges(1, pl.col("corpus-ids").list.len() + 1, dtype=pl.UInt32)
    listed = ranked.filter(pl.col("corpus-ids").list.len() > 0).with_columns(place=places)
    listed = listed.explode("corpus-ids", "place").rename({"corpus-ids": "corpus-id"})
    positives = frames["qrels"][split].filter(pl.col("score") > 0).select("query-id", "corpus-id").unique()
    candidates = listed.join(
        positives.with_columns(relevant=pl.lit(value=True)), on=["query-id", "corpus-id"], how="left"
    )
    candidates = candidates.with_columns(pl.col("relevant").fill_null(value=False))
    return (
        candidates.collect(engine="streaming")
        .sort("list", "place")
        .select("list", "query-id", "corpus-id", "place", "relevant")
    )
