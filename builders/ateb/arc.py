"""ARC: grade-school science questions with three to five options; the Challenge set (Clark et al., 2018)."""

import polars as pl

from builders.raw_files import RawFile, https, member
from builders.reading.json import read_json_lines
from builders.shaping.choices import build_gold_pool, build_option_pool, gold_notes
from builders.shaping.rows import CLEAN_NOTES, drop, refuse
from builders.spec import KnownFinding, Prompts, Raw, RawFiles, Source, Tables, Version, dataset
from builders.tasks import Retrieval

ARCHIVE = https(
    "https://s3-us-west-2.amazonaws.com/ai2-website/data/ARC-V1-Feb2018.zip",
    sha256="6d2d5ab50b2ceec6ba5f79c921be77cf2de712ea25a2b3f4fff3acc101cecfa0",
    bytes=680_841_265,
)
PREFIX = "ARC-Challenge"
PROMPTS = Prompts("Retrieve the answer to the question.")
REPEATS = "Two question stems occur twice in the test set, with different options and answers"
# "Which of these is a predator?", "all of the following are safe except": such a question needs its options.
NEEDS_OPTIONS = r"(?i)\b(?:which|what|all|any|none)(?: \p{L}+){0,2} of (?:the following|these)\b"
MORE_NEEDS = r"(?i)\ball (?:of )?these\b[^.?]* except\b|\beach one of these\b[^.?]*, which\b"
# "Oxygen, hydrogen, and water are substances. Which of these are elements?" names what it asks about.
NAMES_OPTIONS = r"(?i)(?:[^.,]+,){2} and [^.,]+\. Which of these\b"
OPTION = pl.Struct({"text": pl.String, "label": pl.String})
COLUMNS: dict[str, pl.DataType] = {
    "id": pl.String(),
    "question": pl.Struct({"stem": pl.String, "choices": pl.List(OPTION)}),
    "answerKey": pl.String(),
}


def _file(name: str, **digest: str | int) -> RawFile:
    return member(ARCHIVE, f"ARC-V1-Feb2018-2/ARC-Challenge/{name}", name=name, **digest)


DOUBLED = KnownFinding(
    "csv_residue",
    "queries/test.text",
    1,
    "The source doubles the quotation marks of one question, as CSV does. Texts are kept unchanged.",
)


def _known(why: str) -> tuple[KnownFinding, ...]:
    return (KnownFinding("duplicate_text", "queries/test.text", 2, f"{REPEATS}; {why}"), DOUBLED)


SOURCE = Source(
    name="arc",
    title="ARC, the AI2 Reasoning Challenge: the Challenge set",
    license="cc-by-sa-4.0",
    homepage="https://allenai.org/data/arc",
    citation="clark2018arc",
    files={
        "test": _file(
            "ARC-Challenge-Test.jsonl",
            sha256="9fa8ffb3e3a1f88cb302d53dd95aae81e39209ad9bcf974376b319d8fd35717c",
            bytes=492_726,
        ),
        "train": _file("ARC-Challenge-Train.jsonl"),
        "dev": _file("ARC-Challenge-Dev.jsonl"),
    },
)


@dataset(
    "arc-challenge-retrieval",
    pretty_name="ARC Challenge retrieval (English)",
    benchmark="ateb",
    task=Retrieval(),
    needs=("test",),
    versions={
        "1.0.0": Version(
            gold_notes("the correct answers of the test split"),
            known=_known("version 2.0.0 merges them."),
        ),
        "2.0.0": Version(CLEAN_NOTES, {"clean": True}, known=(DOUBLED,)),
        "3.0.0": Version(
            "Also leaves out the questions that ask which of their options is right: without the options, they have no single"
            " answer. The corpus is that of 2.0.0.",
            {"clean": True, "self_contained": True},
            known=(DOUBLED,),
        ),
        "4.0.0": Version(
            "Also leaves out questions that ask for one of `all these` or of `each one of these`, and keeps questions that"
            " themselves name what they ask about.",
            {"clean": True, "self_contained": True, "thorough": True},
            known=(DOUBLED,),
        ),
    },
    prompts=PROMPTS,
    citation=("xiao2024rarb",),
)
def retrieval(raw: RawFiles, *, clean: bool = False, self_contained: bool = False, thorough: bool = False) -> Tables:
    """Find the correct answer to a science question among the correct answers to all questions.

    corpus: id, title (""), text (String: the distinct correct answers of the test split, in order); queries: id, text
    (String: the question's stem, unchanged); qrels: query-id, corpus-id (String), score (Int64, 1). clean: merge duplicate
    queries and documents (builders.shaping.rows). self_contained: leave out the questions that need their options
    (NEEDS_OPTIONS); their answers remain documents. thorough: find more of them (MORE_NEEDS), and keep those that name their
    options (NAMES_OPTIONS).
    """
    tables = build_gold_pool(read_questions(raw["test"]), prefix=PREFIX, split="test", clean=clean)
    if not self_contained:
        return tables
    queries, qrels = (tables.frames[config]["test"].lazy().collect() for config in ("queries", "qrels"))
    reason = "the question needs its options"
    text = pl.col("text").str
    needs = text.contains(NEEDS_OPTIONS)
    if thorough:
        needs = (needs | text.contains(MORE_NEEDS)) & ~text.contains(NAMES_OPTIONS)
    queries, dropped = drop(queries, needs, reason, split="test")
    qrels = qrels.filter(pl.col("query-id").is_in(queries["id"].implode()))
    frames = {**tables.frames, "queries": {"test": queries}, "qrels": {"test": qrels}}
    return Tables(frames, tables.dropped + dropped, tables.observed)


@dataset(
    "rarb-arc-challenge",
    pretty_name="RAR-b ARC Challenge (English)",
    benchmark="rarb",
    task=Retrieval(),
    needs=("test", "train", "dev"),
    versions={
        "1.0.0": Version(
            "RAR-b's published construction: the corpus is all options of the test, train and dev splits.",
            known=_known("RAR-b's published queries repeat them too."),
        ),
    },
    prompts=PROMPTS,
    citation=("xiao2024rarb",),
)
def rarb(raw: RawFiles) -> Tables:
    """Find the correct answer to a science question among all options of all questions.

    corpus: id, title (""), text (String: the distinct options of the test, train and dev splits, in this order); queries: id,
    text (String: the question's stem, unchanged); qrels: query-id, corpus-id (String), score (Int64, 1).
    """
    test, train, dev = (read_questions(raw[split]) for split in ("test", "train", "dev"))
    return build_option_pool(test, [train, dev], prefix=PREFIX, split="test")


def read_questions(raw: Raw) -> pl.DataFrame:
    """The table of questions for builders.shaping.choices: query (the stem), options, gold.

    Raises SourceError if the answer key is not the label of exactly one option.
    """
    question, element = pl.col("question").struct, pl.element()
    texts, labels = (question.field("choices").list.eval(element.struct.field(name)) for name in ("text", "label"))
    key_and_labels = pl.concat_list("answerKey", "labels").list
    rows = (
        read_json_lines(raw, COLUMNS)
        .select("answerKey", query=question.field("stem"), options=texts, labels=labels)
        .with_columns(matches=key_and_labels.eval((element.slice(1) == element.first()).arg_true()))
    )
    refuse(
        rows,
        pl.col("matches").list.len() != 1,
        raw,
        "the answer key does not match exactly one option",
        found=pl.format("{} for the options {}", "answerKey", pl.col("labels").list.join(", ")),
        expected="the label of one option",
    )
    return rows.select("query", "options", gold=pl.col("matches").list.first().cast(pl.Int64))
