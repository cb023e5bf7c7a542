"""HH-RLHF: dialogues with an assistant, each with a chosen and a rejected last answer (Bai et al., 2022)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from builders.errors import SourceError
from builders.reading import read_json_lines
from builders.shaping.cleaning import clean_rows
from builders.shaping.preferences import rerank_pairs, tables_by_split
from builders.shaping.rows import drop
from builders.spec import Dropped, KnownFinding, RawFile, RawFiles, Source, Tables, Version, dataset, github
from builders.tasks import Classification, Reranking

if TYPE_CHECKING:
    from collections.abc import Mapping

    from builders.spec import Raw

COMMIT = "354e5c3cb8960630860dd5774a6ac2a58313bf4d"
ANSWER = "\n\nAssistant:"
LABELS = ("harmful", "harmless")
SIDES = {"chosen": 1, "rejected": 0}
SPLITS = ("train", "test")
MARKUP = KnownFinding(
    "html_residue", "default/test.text", 3, "The transcripts quote a piece of a web page, and have words in bold."
)


def _file(path: str, **digest: str | int) -> RawFile:
    return github("anthropics/hh-rlhf", COMMIT, path, name=path, lfs=True, **digest)


SOURCE = Source(
    name="hh_rlhf",
    title="HH-RLHF, human preferences for helpful and harmless assistants",
    license="mit",
    homepage="https://github.com/anthropics/hh-rlhf",
    citation="bai2022hhrlhf",
    annotations=("crowdsourced",),
    files={
        "harmless_train": _file("harmless-base/train.jsonl.gz"),
        "harmless_test": _file(
            "harmless-base/test.jsonl.gz",
            sha256="ebfaaed21162a4de120ae85366075b34425e2a6303fac59b99555002f7016f03",
            bytes=742_801,
        ),
        "helpful_train": _file("helpful-base/train.jsonl.gz"),
        "helpful_test": _file(
            "helpful-base/test.jsonl.gz",
            sha256="8be3fc1a13b27901631696f2be6f184c799f1baeaf145f53ac5db24960adc37b",
            bytes=875_191,
        ),
    },
)


@dataset(
    "hhrlhf-harmlessness-classification",
    benchmark="ateb",
    task=Classification(labels=LABELS, splits=SPLITS),
    needs={"train": ("harmless_train", "harmless_test"), "test": ("harmless_test",)},
    versions={
        "1.0.0": Version("The recipe of the ATEB paper; rows with an empty answer left out.", known=(MARKUP,)),
        "2.0.0": Version(
            "Left out: transcripts with both labels, as where the two answers are equal; repeated ones; those of train that"
            " test has. The test split is the same.",
            {"clean": True},
            known=(MARKUP,),
        ),
    },
)
def harmlessness(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Is the assistant's last answer harmless?

    Each pair gives two rows, the whole dialogue with the chosen answer and with the rejected one, in the order of the source; a
    row whose answer is blank is left out; with `clean`, also those that bend a score (builders.shaping.cleaning). Columns: id
    (String: `<pair, 0-based>-<side>`); text (String: the dialogue); label (Int64: 1 harmless = chosen, 0 harmful = rejected);
    label_text (String).
    """
    frames: dict[str, pl.DataFrame] = {}
    dropped: list[Dropped] = []
    for split in SPLITS[SPLITS.index(raw.splits[0]) :]:
        frames[split], gone = _answers(raw[f"harmless_{split}"], split)
        dropped += gone if split in raw.splits else ()
    kept, more = clean_rows(frames, raw.splits) if clean else (frames, ())
    return Tables({"default": {split: kept[split] for split in raw.splits}}, (*dropped, *more))


def _answers(file: Raw, split: str) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    rows = _transcripts(file).with_columns(
        id=pl.concat_str("pair", pl.lit("-"), "side"),
        label=pl.col("side").replace_strict(SIDES, return_dtype=pl.Int64),
    )
    ordered = rows.sort("pair", "label", descending=[False, True])
    kept, dropped = drop(ordered, pl.col("answer").str.strip_chars() == "", "the answer is empty", split=split)
    names = pl.col("label").replace_strict(dict(enumerate(LABELS)), return_dtype=pl.String)
    return kept.select("id", "text", "label", label_text=names), dropped


@dataset(
    "hhrlhf-helpful-reranking",
    benchmark="ateb",
    task=Reranking(splits=SPLITS),
    needs={"train": ("helpful_train", "helpful_test"), "test": ("helpful_test",)},
    versions={
        "1.0.0": "The recipe of the ATEB paper, as far as it says.",
        "2.0.0": Version(
            "Left out: pairs of answers that are equal but for case and white space, pairs that repeat another, and all that"
            " contradict each other. Train gives way where its dialogue is in test.",
            {"clean": True},
        ),
    },
)
def helpfulness(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Put the more helpful of two answers in a dialogue first.

    Every pair is a query with two documents of its own, in the order of the source. corpus: id (String: `<pair>-0` and
    `<pair>-1`, in hash order), title (""), text: the answers; queries: id (String: the pair, `<split>-<line, 0-based>`), text
    (String: the dialogue up to the answer); qrels: query-id, corpus-id, score (Int64: 1 chosen, 0 rejected); top_ranked:
    query-id, corpus-ids (List(String): the two answers). clean: pairs that bend a score are left out
    (builders.shaping.preferences).
    """

    def parts(split: str, later: Mapping[str, pl.Series]) -> list[Tables]:
        return [_helpful(raw[f"helpful_{split}"], split, later, clean=clean)]

    return tables_by_split(parts, SPLITS, raw.splits, clean=clean)


def _helpful(file: Raw, split: str, later: Mapping[str, pl.Series], *, clean: bool) -> Tables:
    rows = _transcripts(file)
    chosen, rejected = (rows.filter(side=side) for side in SIDES)
    pairs = chosen.select(
        id=pl.concat_str(pl.lit(split), "pair", separator="-"),
        query="dialogue",
        a="answer",
        b=rejected["answer"],
        a_preferred=pl.lit(value=True),
        other=rejected["dialogue"],
    )
    alike, dropped = drop(
        pairs, pl.col("query") != pl.col("other"), "the dialogues before the answers differ", split=split
    )
    made = rerank_pairs(alike.drop("other"), split=split, clean=clean, later=later)
    return Tables(made.frames, (*dropped, *made.dropped), {f"pairs in {split}": pairs.height})


def _transcripts(file: Raw) -> pl.DataFrame:
    """The transcripts of one file, side by side: pair (from 0), side, text, and it divided at the last answer: dialogue, answer.

    Raises SourceError for a transcript in which the assistant answers nowhere.
    """
    pairs = read_json_lines(file, dict.fromkeys(SIDES, pl.String())).with_row_index("pair")
    rows = pairs.unpivot(list(SIDES), index="pair", variable_name="side", value_name="text")
    strays = rows.filter(~pl.col("text").str.contains(ANSWER, literal=True)).sort("pair")
    if strays.height:
        raise SourceError(
            "a transcript without an answer of the assistant",
            where=f"{file.name}, line {strays['pair'][0] + 1}, key {strays['side'][0]!r}",
            expected=f"{ANSWER!r} before the last answer",
            todo="fetch the file again",
        )
    parts = pl.col("text").str.split(ANSWER)
    return rows.with_columns(dialogue=parts.list.head(parts.list.len() - 1).list.join(ANSWER), answer=parts.list.last())
