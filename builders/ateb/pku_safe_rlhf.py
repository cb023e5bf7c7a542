"""PKU-SafeRLHF-30K: two answers to an often harmful question, and which of them is more helpful (Ji et al., 2023)."""

from collections.abc import Mapping

import polars as pl

from builders.raw_files import RawFile, hub
from builders.reading.parquet import read_parquet
from builders.shaping.preferences import CLEAN_NOTES, parse_preferences, rerank_pairs, rerank_splits
from builders.spec import Raw, RawFiles, Source, Tables, Version, dataset
from builders.tasks import Reranking

# The Hub's own Parquet conversion: neither a commit nor the names of upstream's files could be confirmed.
REVISION = "refs/convert/parquet"
SPLITS = ("train", "test")
COLUMNS = dict.fromkeys(("prompt", "response_0", "response_1"), pl.String()) | {"better_response_id": pl.Int64()}
FIRST_PREFERRED = {0: True, 1: False}


def _file(split: str) -> RawFile:
    path = f"default/{split}/0000.parquet"
    return hub("PKU-Alignment/PKU-SafeRLHF-30K", REVISION, path, name=f"{split}.parquet", moving=True)


SOURCE = Source(
    name="pku_safe_rlhf",
    title="PKU-SafeRLHF-30K",
    license="cc-by-nc-4.0",
    homepage="https://huggingface.co/datasets/PKU-Alignment/PKU-SafeRLHF-30K",
    citation="ji2023beavertails",
    annotations=("crowdsourced",),  # the text of the paper; its abstract says "expert comparison data"
    files={split: _file(split) for split in SPLITS},
)


@dataset(
    "beavertails-helpful-reranking",
    pretty_name="PKU-SafeRLHF helpfulness reranking (English)",
    benchmark="ateb",
    task=Reranking(splits=SPLITS),
    needs={"train": ("train", "test"), "test": ("test",)},
    versions={
        "1.0.0": "The recipe of the ATEB paper, as far as the paper describes it.",
        "2.0.0": Version(f"{CLEAN_NOTES} Drops train pairs whose question is also in test.", {"clean": True}),
    },
)
def reranking(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Rank the more helpful of two answers to a question first.

    Every pair is a query with its own two documents, in source order. corpus: id (String: `<pair>-0` and `<pair>-1`, numbered
    by hash), title (""), text: the answers; queries: id (String: the pair, `<split>-<record, 0-based>`), text (String: the
    question); qrels: query-id, corpus-id, score (Int64: 1 more helpful, 0 less); top_ranked: query-id, corpus-ids (List(String):
    the two answers). clean: drop pairs that would distort scores (builders.shaping.preferences).

    Raises SourceError for a better_response_id other than 0 or 1.
    """

    def build(split: str, later_queries: Mapping[str, pl.Series]) -> list[Tables]:
        pairs = _read_pairs(raw[split], split)
        return [rerank_pairs(pairs, split=split, clean=clean, later_queries=later_queries)]

    return rerank_splits(build, SPLITS, raw.splits, clean=clean)


def _read_pairs(raw: Raw, split: str) -> pl.DataFrame:
    """The pairs of a split, as builders.shaping.preferences takes them."""
    rows = read_parquet(raw, COLUMNS).with_row_index("pair")
    return rows.select(
        id=pl.concat_str(pl.lit(split), "pair", separator="-"),
        query="prompt",
        a="response_0",
        b="response_1",
        a_preferred=parse_preferences(rows["better_response_id"], FIRST_PREFERRED, raw, unit="record"),
    )
