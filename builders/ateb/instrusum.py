"""InstruSum: summaries of an article by five systems, to a reader's requirement and rated by people (Liu et al., 2024)."""

import polars as pl

from builders.raw_files import hub
from builders.reading.json import json_objects
from builders.shaping.preferences import CLEAN_NOTES, pair_systems, rerank_pairs
from builders.spec import RawFiles, Source, Tables, Version, dataset
from builders.tasks import Reranking

# The commit could not be confirmed without an account.
REVISION = "main"
SYSTEMS = ("gpt-3.5-turbo-0301", "gpt-4-0314", "hybrid", "text-davinci-002", "text-davinci-003")
SUMMARY = pl.Struct({"summary": pl.String(), "score": pl.Struct({"overall": pl.Float64()})})
COLUMNS = {
    "article": pl.String(),
    "requirement": pl.String(),
    "annotations": pl.Struct(dict.fromkeys(SYSTEMS, SUMMARY)),
}

SOURCE = Source(
    name="instrusum",
    title="InstruSum",
    license="bsd-3-clause",
    license_note="This is the licence of the dataset; the articles are news and belong to their publishers.",
    homepage="https://huggingface.co/datasets/Salesforce/InstruSum",
    citation="liu2024instrusum",
    annotations=("crowdsourced",),
    files={"human_eval": hub("Salesforce/InstruSum", REVISION, "human_eval.json", gated=True, moving=True)},
)


@dataset(
    "instrusum-reranking",
    pretty_name="InstruSum reranking (English)",
    benchmark="ateb",
    task=Reranking(),
    needs=("human_eval",),
    versions={
        "1.0.0": "The recipe of the ATEB paper, as far as the paper describes it.",
        "2.0.0": Version(CLEAN_NOTES, {"clean": True}),
    },
)
def reranking(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Rank the better of two summaries of an article first.

    Every two systems on the same article make a pair, and every pair is a query with its own two documents, in source order.
    corpus: id (String: `<pair>-0` and `<pair>-1`, numbered by hash), title (""), text: the summaries; queries: id (String: the
    pair, `<article's record, 0-based>-<0 to 9>`), text (String: the article, an empty line, the requirement); qrels: query-id,
    corpus-id, score (Int64: 1 higher overall rating, 0 lower); top_ranked: query-id, corpus-ids (List(String): the two
    summaries). clean: drop pairs that would distort scores (builders.shaping.preferences).
    """
    # An array or lines: the format of the gated file could not be confirmed.
    read = pl.concat([pl.DataFrame(schema=COLUMNS), *json_objects(raw["human_eval"], COLUMNS)])
    articles = read.with_row_index("number")
    pairs, _ = pair_systems(pl.concat([_select_ratings(articles, system) for system in SYSTEMS]), split="test")
    tables = rerank_pairs(pairs, split="test", clean=clean)
    return Tables(tables.frames, tables.dropped, {"articles": articles.height, **tables.observed})


def _select_ratings(articles: pl.DataFrame, system: str) -> pl.DataFrame:
    """The summaries of one system with their ratings, as builders.shaping.preferences.pair_systems takes them."""
    annotation = pl.col("annotations").struct.field(system)
    return articles.select(
        id=pl.col("number").cast(pl.String),
        query=pl.concat_str("article", "requirement", separator="\n\n"),
        system=pl.lit(system),
        response=annotation.struct.field("summary"),
        rating=annotation.struct.field("score").struct.field("overall"),
    )
