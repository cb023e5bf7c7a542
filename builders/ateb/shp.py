"""SHP, Stanford Human Preferences: two comments on a Reddit post, and which one readers preferred (Ethayarajh et al., 2022)."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from builders.raw_files import RawFile, hub
from builders.reading.json import read_json_lines
from builders.shaping.preferences import CLEAN_NOTES, parse_preferences, rerank_pairs, rerank_splits
from builders.shaping.rows import refuse
from builders.spec import Raw, RawFiles, Source, Tables, Version, dataset
from builders.tasks import Reranking

REVISION = "e94b5f32602712d78ed494fe79105b1959396686"
SPLITS = ("train", "validation", "test")
# The subreddits in alphabetical order, with the sha256 of the train file. The Hub shows the digests of files in LFS only.
DOMAINS = {
    "askacademia": "7583e5de6264db4c91f47eaa19f57d7ea3efa1fe3da73e804032c0c6a7d611b0",
    "askanthropology": None,
    "askbaking": None,
    "askcarguys": None,
    "askculinary": None,
    "askdocs": "6f017fb83987ad7feb0a30d8c497342d84f1a1b1af89953f8bba4a0bbf06e614",
    "askengineers": "72ddaa55f6d28994b85126e4932f6025a842824b32bf581cf2c8a801246a2751",
    "askhistorians": "da06effc67f8d2b2cf52898482db703a4068ec9bf6fcdbf436ae8a9441603532",
    "askhr": "14eb837f88d27952302fe6afcc1e91e3c99178713c6ddb47488e7625abf1f506",
    "askphilosophy": "15caf42df29870f427b7332dee3a055191f1533933e51baf09313bbba6f8699f",
    "askphysics": None,
    "askscience": "73fb1932f101e62fd152618d60111ac7b362df36f1512d0962ea64dc42d564a6",
    "asksciencefiction": "26dd72037f4724759a32fb5ee81cc25349915e9a35fff2e5345e278bdff8dd7c",
    "asksocialscience": None,
    "askvet": None,
    "changemyview": "8f586f213b000e7189f80ab10901128daaa9004e30bf3f1fef76ffd4b019931d",
    "explainlikeimfive": "5d3337e6d17e94e8bbc5cd622b78c078eaf117035798b8fdb8be2c65d9da5122",
    "legaladvice": "9017b081373a68f2c5f84789e706351bf28cd7fba36be9ffe0980175ddb602a3",
}
# As far as the ATEB paper prints it; a full stop is in place of the dots at its cut end.
INSTRUCTION = (
    "In this task, you will be provided with a context passage (often containing a question), along with two long-form"
    " responses to it (responseA and responseB). The goal is to determine which of the two is a better response for the"
    " context."
)
TEXTS = ("post_id", "domain", "history", "human_ref_A", "human_ref_B")
COLUMNS = dict.fromkeys(TEXTS, pl.String()) | {"labels": pl.Int64()}
A_PREFERRED = {1: True, 0: False}


def _file(domain: str, split: str) -> RawFile:
    sha256 = DOMAINS[domain] if split == "train" else None
    return hub("stanfordnlp/SHP", REVISION, f"{domain}/{split}.json", sha256=sha256)


SOURCE = Source(
    name="shp",
    title="SHP, the Stanford Human Preferences dataset",
    license="unknown",
    license_note=(
        "The dataset's card first named the MIT licence and now names none. The posts and comments belong to their authors, who"
        " published them on Reddit under Reddit's terms."
    ),
    homepage="https://huggingface.co/datasets/stanfordnlp/SHP",
    citation="ethayarajh2022usable",
    files={f"{domain}_{split}": _file(domain, split) for split in SPLITS for domain in DOMAINS},
)


@dataset(
    "shp-reranking",
    pretty_name="SHP reranking (English)",
    benchmark="ateb",
    task=Reranking(splits=SPLITS),
    needs={
        first: tuple(f"{domain}_{split}" for split in SPLITS[SPLITS.index(first) :] for domain in DOMAINS)
        for first in SPLITS
    },
    versions={
        "1.0.0": "The recipe of the ATEB paper, as far as the paper describes it.",
        "2.0.0": Version(f"{CLEAN_NOTES} Drops pairs whose post is also in a later split.", {"clean": True}),
    },
)
def reranking(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Rank the better of two comments on a Reddit post first.

    Every pair is a query with its own two documents, in source order: subreddits alphabetically, then lines. corpus: id
    (String: `<pair>-0` and `<pair>-1`, numbered by hash), title (""), text: the comments; queries: id (String: the pair,
    `<subreddit>-<split>-<line, 0-based>`), text (String: the instruction, a space and the post), domain (String: the subreddit),
    post_id (String: Reddit's); qrels: query-id, corpus-id, score (Int64: 1 preferred, 0 not); top_ranked: query-id, corpus-ids
    (List(String): the two comments). clean: drop pairs that would distort scores (builders.shaping.preferences); repeated
    and contradictory pairs are detected within each subreddit only.

    Raises SourceError for a label other than 0 and 1, and for a pair from another subreddit or split.
    """

    def build(split: str, later_queries: Mapping[str, pl.Series]) -> Iterator[Tables]:
        for domain in DOMAINS:
            name = f"{domain}_{split}"
            pairs = _read_pairs(raw[name], domain, split)
            tables = rerank_pairs(pairs, split=split, clean=clean, later_queries=later_queries)
            yield _write_tables(tables, raw.scratch / name)

    return rerank_splits(build, SPLITS, raw.splits, clean=clean)


def _read_pairs(raw: Raw, domain: str, split: str) -> pl.DataFrame:
    """The pairs of one file, as builders.shaping.preferences takes them."""
    rows = read_json_lines(raw, COLUMNS).with_row_index("pair")
    name = f"{domain}_{split}"
    refuse(rows, pl.col("domain") != name, raw, "a pair from another file", found="domain", expected=f"domain {name!r}")
    return rows.select(
        id=pl.concat_str(pl.lit(f"{domain}-{split}"), "pair", separator="-"),
        query=pl.concat_str(pl.lit(INSTRUCTION), "history", separator=" "),
        a="human_ref_A",
        b="human_ref_B",
        a_preferred=parse_preferences(rows.get_column("labels"), A_PREFERRED, raw),
        domain=pl.lit(domain),
        post_id="post_id",
    )


def _write_tables(tables: Tables, folder: Path) -> Tables:
    """The same tables with their rows in Parquet files, so that memory holds the pairs of one raw file only."""
    folder.mkdir()
    frames: dict[str, dict[str, pl.LazyFrame]] = {}
    for config, splits in tables.frames.items():
        for split, frame in splits.items():
            path = folder / f"{config}.parquet"
            frame.lazy().sink_parquet(path, compression="lz4")
            frames[config] = {split: pl.scan_parquet(path, glob=False)}
    return Tables(frames, tables.dropped, tables.observed)
