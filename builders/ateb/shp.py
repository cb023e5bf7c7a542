"""SHP, the Stanford Human Preferences: pairs of comments on a Reddit post, and which of the two its readers preferred."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from builders.reading import read_json_lines
from builders.reading.errors import malformed, shorten
from builders.shaping.preferences import parse_preferences, rerank_pairs, tables_by_split
from builders.spec import RawFile, RawFiles, Source, Tables, Version, dataset, hub
from builders.tasks import Reranking

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

REVISION = "e94b5f32602712d78ed494fe79105b1959396686"
SPLITS = ("train", "validation", "test")
# The subreddits, and the digest of the train file where it is a large file, whose digest the Hub shows.
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
# As the ATEB paper prints it, which cuts its end.
INSTRUCTION = (
    "In this task, you will be provided with a context passage (often containing a question), along with two long-form"
    " responses to it (responseA and responseB). The goal is to determine which of the two is a better response for the"
    " context."
)
TEXTS = ("post_id", "domain", "history", "human_ref_A", "human_ref_B")
PAIR = dict.fromkeys(TEXTS, pl.String()) | {"labels": pl.Int64()}
A_PREFERRED = {1: True, 0: False}


def _file(domain: str, split: str) -> RawFile:
    return hub(
        "stanfordnlp/SHP", REVISION, f"{domain}/{split}.json", sha256=DOMAINS[domain] if split == "train" else None
    )


SOURCE = Source(
    name="shp",
    title="SHP, the Stanford Human Preferences dataset",
    license="other",
    license_note=(
        "The dataset's card named the MIT licence at first and names none since. The posts and comments are their authors',"
        " and were published on Reddit under Reddit's terms."
    ),
    homepage="https://huggingface.co/datasets/stanfordnlp/SHP",
    citation="ethayarajh2022usable",
    files={f"{domain}_{split}": _file(domain, split) for split in SPLITS for domain in DOMAINS},
)


@dataset(
    "shp-reranking",
    benchmark="ateb",
    task=Reranking(splits=SPLITS),
    needs={
        first: tuple(f"{domain}_{split}" for split in SPLITS[SPLITS.index(first) :] for domain in DOMAINS)
        for first in SPLITS
    },
    versions={
        "1.0.0": "The recipe of the ATEB paper, as far as it says.",
        "2.0.0": Version(
            "Left out: pairs of comments that are equal but for case and white space, pairs that repeat another, and all that"
            " contradict each other. Train and validation give way where their post is in a later split.",
            {"clean": True},
        ),
    },
)
def reranking(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Put the better of two comments on a Reddit post first.

    Every pair is a query with two documents of its own, in the order of the source: subreddits by the alphabet, then lines.
    corpus: id (String: `<pair>-0` and `<pair>-1`, in hash order), title (""), text: the comments; queries: id (String: the
    pair, `<subreddit>-<split>-<line, 0-based>`), text (String: the instruction, a blank and the post), domain (String: the
    subreddit), post_id (String: Reddit's); qrels: query-id, corpus-id, score (Int64: 1 preferred, 0 not); top_ranked:
    query-id, corpus-ids (List(String): the two comments). clean: pairs that bend a score are left out, those of a subreddit
    compared with each other (builders.shaping.preferences).
    """

    def parts(split: str, later: Mapping[str, pl.Series]) -> Iterator[Tables]:
        for domain in DOMAINS:
            made = rerank_pairs(_pairs(raw, domain, split), split=split, clean=clean, later=later)
            yield _on_disk(made, raw.scratch / f"{domain}_{split}")

    return tables_by_split(parts, SPLITS, raw.splits, clean=clean)


def _pairs(raw: RawFiles, domain: str, split: str) -> pl.DataFrame:
    """The pairs of one file as builders.shaping.preferences takes them.

    Raises SourceError for a label that is neither 0 nor 1, and for a pair of another subreddit or split.
    """
    own = f"{domain}_{split}"
    file = raw[own]
    rows = read_json_lines(file, PAIR).with_row_index("pair")
    strays = rows.filter(pl.col("domain") != own)
    if strays.height:
        line, found = strays["pair"][0] + 1, shorten(strays["domain"][0])
        raise malformed(file, f"line {line}", "a pair of another file", found=f"domain {found}", expected=repr(own))
    return rows.select(
        id=pl.concat_str(pl.lit(f"{domain}-{split}"), "pair", separator="-"),
        query=pl.concat_str(pl.lit(INSTRUCTION), "history", separator=" "),
        a="human_ref_A",
        b="human_ref_B",
        a_preferred=parse_preferences(rows.get_column("labels"), A_PREFERRED, file),
        domain=pl.lit(domain),
        post_id="post_id",
    )


def _on_disk(made: Tables, folder: Path) -> Tables:
    """The same tables with their rows in files: no more than one file of pairs is in memory."""
    folder.mkdir()
    frames: dict[str, dict[str, pl.LazyFrame]] = {}
    for config, splits in made.frames.items():
        for split, frame in splits.items():
            path = folder / f"{config}.parquet"
            frame.lazy().sink_parquet(path, compression="lz4")
            frames[config] = {split: pl.scan_parquet(path, glob=False)}
    return Tables(frames, made.dropped, made.observed)
