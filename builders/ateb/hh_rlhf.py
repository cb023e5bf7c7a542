"""HH-RLHF: dialogues with an assistant, each with a chosen and a rejected final answer (Bai et al., 2022)."""

from collections.abc import Mapping

import polars as pl

from builders.raw_files import RawFile, github
from builders.reading.json import read_json_lines
from builders.shaping.cleaning import clean_rows
from builders.shaping.preferences import CLEAN_NOTES, rerank_pairs, rerank_splits
from builders.shaping.rows import drop, refuse
from builders.spec import Dropped, KnownFinding, Raw, RawFiles, Source, Tables, Version, dataset
from builders.tasks import Classification, Reranking

COMMIT = "354e5c3cb8960630860dd5774a6ac2a58313bf4d"
ANSWER = "\n\nAssistant:"
LABELS = ("harmful", "harmless")
SIDES = {"chosen": 1, "rejected": 0}
SPLITS = ("train", "test")
MARKUP = KnownFinding(
    "html_residue", "default/test.text", 3, "Some transcripts quote part of a web page or set words in bold."
)
TRANSCRIPT = "A transcript begins with the first speaker, as in the source."
IDS = KnownFinding(
    "label_leaking_column", "default/test.id", 2, "Ids name the answer, chosen or rejected; a model does not see them."
)


DESIGN = {
    "surrounding_whitespace": "A transcript begins with blank lines before its first turn.",
    "repeated_sentence": "In a transcript, people and models repeat what was said.",
    "near_duplicate": "Each pair of answers gives two rows, whose dialogue is the same up to the last answer.",
}


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
    pretty_name="HH-RLHF harmlessness classification (English)",
    benchmark="ateb",
    by_design=DESIGN,
    task=Classification(labels=LABELS, splits=SPLITS),
    needs={"train": ("harmless_train", "harmless_test"), "test": ("harmless_test",)},
    versions={
        "1.0.0": Version(
            "The recipe of the ATEB paper, as far as the paper describes it, without rows that have an empty answer.",
            known=(MARKUP, IDS, KnownFinding("boilerplate", "default/test.text", 4_620, TRANSCRIPT)),
        ),
        "2.0.0": Version(
            "Drops transcripts with both labels (such as pairs with two equal answers), repeated transcripts, and train"
            " transcripts that are also in test, ignoring case, punctuation and white space; and transcripts that a wrong"
            " decoding damaged. The test split loses three pairs whose answers differ only in punctuation.",
            {"clean": True},
            known=(MARKUP, IDS, KnownFinding("boilerplate", "default/test.text", 4_614, TRANSCRIPT)),
        ),
        "3.0.0": Version(
            "Transcripts that differ in `?` or `!` are different transcripts: the 6 rows of three test pairs return, whose"
            " answers are `You're welcome.` and `You're welcome!`.",
            {"clean": True, "by_meaning": True},
            known=(MARKUP,),
        ),
    },
)
def harmlessness(raw: RawFiles, *, clean: bool = False, by_meaning: bool = False) -> Tables:
    """Was the assistant's last answer preferred as the less harmful of two?

    Every pair gives two rows, the whole dialogue with the chosen answer and with the rejected one, in source order. Rows with a
    blank answer are dropped; with `clean`, so are rows that would distort scores (builders.shaping.cleaning). `by_meaning`:
    transcripts that differ in `?` or `!` are different. Columns: id (String: `<pair, 0-based>-<side>`); text (String: the
    dialogue); label (Int64: 1 harmless = chosen, 0 harmful = rejected); label_text (String).

    Raises SourceError for a transcript without an answer.
    """
    frames: dict[str, pl.DataFrame] = {}
    dropped: tuple[Dropped, ...] = ()
    for split in SPLITS[SPLITS.index(raw.splits[0]) :]:
        frames[split], empty = _label_answers(raw[f"harmless_{split}"], split)
        dropped += empty if split in raw.splits else ()
    rows, unclean = clean_rows(frames, raw.splits, by_meaning=by_meaning) if clean else (frames, ())
    return Tables({"default": {split: rows[split] for split in raw.splits}}, dropped + unclean)


def _label_answers(raw: Raw, split: str) -> tuple[pl.DataFrame, tuple[Dropped, ...]]:
    transcripts = _read_transcripts(raw).with_columns(
        id=pl.concat_str("pair", pl.lit("-"), "side"),
        label=pl.col("side").replace_strict(SIDES, return_dtype=pl.Int64),
    )
    rows, dropped = drop(transcripts, pl.col("answer").str.strip_chars() == "", "the answer is empty", split=split)
    names = pl.col("label").replace_strict(dict(enumerate(LABELS)), return_dtype=pl.String)
    return rows.select("id", "text", "label", label_text=names), dropped


@dataset(
    "hhrlhf-helpful-reranking",
    pretty_name="HH-RLHF helpfulness reranking (English)",
    benchmark="ateb",
    task=Reranking(splits=SPLITS),
    needs={"train": ("helpful_train", "helpful_test"), "test": ("helpful_test",)},
    versions={
        "1.0.0": "The recipe of the ATEB paper, as far as the paper describes it.",
        "2.0.0": Version(f"{CLEAN_NOTES} Drops train pairs whose dialogue is also in test.", {"clean": True}),
    },
)
def helpfulness(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Rank the more helpful of two answers in a dialogue first.

    Every pair is a query with its own two documents, in source order. corpus: id (String: `<pair>-0` and `<pair>-1`, numbered
    by hash), title (""), text: the answers; queries: id (String: the pair, `<split>-<line, 0-based>`), text (String: the dialogue
    up to the answer); qrels: query-id, corpus-id, score (Int64: 1 chosen, 0 rejected); top_ranked: query-id, corpus-ids
    (List(String): the two answers). clean: drop pairs that would distort scores (builders.shaping.preferences).

    Raises SourceError for a transcript without an answer.
    """

    def build(split: str, later_queries: Mapping[str, pl.Series]) -> list[Tables]:
        transcripts = _read_transcripts(raw[f"helpful_{split}"])
        chosen, rejected = (transcripts.filter(side=side) for side in SIDES)
        pairs = chosen.select(
            id=pl.concat_str(pl.lit(split), "pair", separator="-"),
            query="dialogue",
            a="answer",
            b=rejected["answer"],
            a_preferred=pl.lit(value=True),
            other_query=rejected["dialogue"],
        )
        differ = pl.col("query") != pl.col("other_query")
        comparable, dropped = drop(pairs, differ, "the dialogues before the answers differ", split=split)
        tables = rerank_pairs(comparable.drop("other_query"), split=split, clean=clean, later_queries=later_queries)
        return [Tables(tables.frames, dropped + tables.dropped, {f"pairs in {split}": pairs.height})]

    return rerank_splits(build, SPLITS, raw.splits, clean=clean)


def _read_transcripts(raw: Raw) -> pl.DataFrame:
    """Two rows per pair, chosen first: pair (from 0), side, text, and the text split at the last answer: dialogue, answer."""
    pairs = read_json_lines(raw, dict.fromkeys(SIDES, pl.String())).with_row_index("pair")
    rows = pairs.unpivot(list(SIDES), index="pair", variable_name="side", value_name="text")
    rows = rows.sort("pair", maintain_order=True)
    refuse(
        rows,
        ~pl.col("text").str.contains(ANSWER, literal=True),
        raw,
        "a transcript without an answer of the assistant",
        found="text",
        expected=f"{ANSWER!r} before the last answer",
        location=pl.format("line {}, key '{}'", pl.col("pair") + 1, "side"),
    )
    parts = pl.col("text").str.split(ANSWER)
    return rows.with_columns(dialogue=parts.list.head(parts.list.len() - 1).list.join(ANSWER), answer=parts.list.last())
