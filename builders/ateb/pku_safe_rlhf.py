"""PKU-SafeRLHF-30K: two answers to a question that is often a harmful one, and which is more helpful (Ji et al., 2023)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from builders.reading.parquet import read_parquet
from builders.shaping.preferences import parse_preferences, rerank_pairs, tables_by_split
from builders.spec import RawFile, RawFiles, Source, Tables, Version, dataset, hub
from builders.tasks import Reranking

if TYPE_CHECKING:
    from collections.abc import Mapping

# The Hub's own conversion of the dataset to Parquet: of upstream's files neither a commit nor the names could be confirmed.
# It has no commit of its own that could be: the lock file pins what the first download brings.
REVISION = "refs/convert/parquet"
SPLITS = ("train", "test")
PAIR = dict.fromkeys(("prompt", "response_0", "response_1"), pl.String()) | {"better_response_id": pl.Int64()}
FIRST_PREFERRED = {0: True, 1: False}


def _file(split: str) -> RawFile:
    path = f"default/{split}/0000.parquet"
    return hub("PKU-Alignment/PKU-SafeRLHF-30K", REVISION, path, name=f"{split}.parquet")


SOURCE = Source(
    name="pku_safe_rlhf",
    title="PKU-SafeRLHF-30K",
    license="cc-by-nc-4.0",
    homepage="https://huggingface.co/datasets/PKU-Alignment/PKU-SafeRLHF-30K",
    citation="ji2023beavertails",
    annotations=("expert-generated",),
    files={split: _file(split) for split in SPLITS},
)


@dataset(
    "beavertails-helpful-reranking",
    benchmark="ateb",
    task=Reranking(splits=SPLITS),
    needs={"train": ("train", "test"), "test": ("test",)},
    versions={
        "1.0.0": "The recipe of the ATEB paper, as far as it says.",
        "2.0.0": Version(
            "Left out: pairs of answers that are equal but for case and white space, pairs that repeat another, and all that"
            " contradict each other. Train gives way where its question is in test.",
            {"clean": True},
        ),
    },
)
def reranking(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Put the more helpful of two answers to a question first.

    Every pair is a query with two documents of its own, in the order of the source. corpus: id (String: `<pair>-0` and
    `<pair>-1`, in hash order), title (""), text: the answers; queries: id (String: the pair, `<split>-<record, 0-based>`), text
    (String: the question); qrels: query-id, corpus-id, score (Int64: 1 more helpful, 0 less); top_ranked: query-id,
    corpus-ids (List(String): the two answers). clean: pairs that bend a score are left out (builders.shaping.preferences).

    Raises SourceError for a better_response_id other than 0 or 1.
    """

    def parts(split: str, later: Mapping[str, pl.Series]) -> list[Tables]:
        return [rerank_pairs(_pairs(raw, split), split=split, clean=clean, later=later)]

    return tables_by_split(parts, SPLITS, raw.splits, clean=clean)


def _pairs(raw: RawFiles, split: str) -> pl.DataFrame:
    """The pairs of one split as builders.shaping.preferences takes them."""
    rows = read_parquet(raw[split], PAIR).with_row_index("pair")
    return rows.select(
        id=pl.concat_str(pl.lit(split), "pair", separator="-"),
        query="prompt",
        a="response_0",
        b="response_1",
        a_preferred=parse_preferences(rows["better_response_id"], FIRST_PREFERRED, raw[split], unit="record"),
    )
