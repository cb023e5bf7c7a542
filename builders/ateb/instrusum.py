"""InstruSum: summaries that five systems wrote of an article to a reader's requirement, rated by people (Liu et al., 2024)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from builders.reading import open_raw, read_json_array, read_json_lines
from builders.shaping.preferences import pair_systems, rerank_pairs
from builders.spec import RawFiles, Source, Tables, Version, dataset, hub
from builders.tasks import Reranking

if TYPE_CHECKING:
    from builders.spec import Raw

# No commit could be confirmed without an account. The lock file pins what the first download brings.
REVISION = "main"
SYSTEMS = ("gpt-3.5-turbo-0301", "gpt-4-0314", "hybrid", "text-davinci-002", "text-davinci-003")
SUMMARY = pl.Struct({"summary": pl.String(), "score": pl.Struct({"overall": pl.Float64()})})
ARTICLE = {
    "article": pl.String(),
    "requirement": pl.String(),
    "annotations": pl.Struct(dict.fromkeys(SYSTEMS, SUMMARY)),
}

SOURCE = Source(
    name="instrusum",
    title="InstruSum",
    license="bsd-3-clause",
    license_note="The licence is that of the dataset; the articles are news, and their publishers'.",
    homepage="https://huggingface.co/datasets/Salesforce/InstruSum",
    citation="liu2024instrusum",
    annotations=("crowdsourced",),
    files={"human_eval": hub("Salesforce/InstruSum", REVISION, "human_eval.json", gated=True)},
)


@dataset(
    "instrusum-reranking",
    benchmark="ateb",
    task=Reranking(),
    needs=("human_eval",),
    versions={
        "1.0.0": "The recipe of the ATEB paper, as far as it says.",
        "2.0.0": Version(
            "Left out: pairs of summaries that are equal but for case and white space, pairs that repeat another, and all"
            " that contradict each other.",
            {"clean": True},
        ),
    },
)
def reranking(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Put the better of two summaries of an article first.

    Every two systems on one article make a pair, and every pair is a query with two documents of its own, in the order of the
    source. corpus: id (String: `<pair>-0` and `<pair>-1`, in hash order), title (""), text: the summaries; queries: id (String:
    the pair, `<article's record, 0-based>-<0 to 9>`), text (String: the article, an empty line, the requirement); qrels:
    query-id, corpus-id, score (Int64: 1 rated higher overall, 0 lower); top_ranked: query-id, corpus-ids (List(String): the two
    summaries). clean: pairs that bend a score are left out (builders.shaping.preferences).
    """
    rows = _articles(raw["human_eval"]).with_row_index("article_number")
    rated = [
        rows.select(
            id=pl.col("article_number").cast(pl.String),
            query=pl.concat_str("article", "requirement", separator="\n\n"),
            system=pl.lit(system),
            response=annotation.struct.field("summary"),
            rating=annotation.struct.field("score").struct.field("overall"),
        )
        for system, annotation in ((system, pl.col("annotations").struct.field(system)) for system in SYSTEMS)
    ]
    pairs, _ = pair_systems(pl.concat(rated), split="test")
    made = rerank_pairs(pairs, split="test", clean=clean)
    return Tables(made.frames, made.dropped, {"articles": rows.height} | dict(made.observed))


def _articles(file: Raw) -> pl.DataFrame:
    """The rated articles, from a JSON array or JSON lines: which of the two upstream's file is was not to be seen."""
    with open_raw(file) as opened:
        whole = opened.read(1) == b"["
    return read_json_array(file, ARTICLE) if whole else read_json_lines(file, ARTICLE)
