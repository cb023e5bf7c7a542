"""ARC: grade-school science questions with three to five choices, the hard ones (Clark et al., 2018)."""

from __future__ import annotations

import polars as pl

from builders.reading import read_json_lines
from builders.reading.errors import malformed
from builders.shaping.choices import gold_pool, option_pool
from builders.spec import KnownFinding, Prompts, Raw, RawFile, RawFiles, Source, Tables, Version, dataset, https, member
from builders.tasks import Retrieval

ARCHIVE = https("https://s3-us-west-2.amazonaws.com/ai2-website/data/ARC-V1-Feb2018.zip")
PREFIX = "ARC-Challenge"
PROMPTS = Prompts("Retrieve the answer to the question.")
TWO_STEMS = "Two stems of the test set stand twice, with other options and another answer"
CHOICE = pl.Struct({"text": pl.String, "label": pl.String})
COLUMNS: dict[str, pl.DataType] = {
    "id": pl.String(),
    "question": pl.Struct({"stem": pl.String, "choices": pl.List(CHOICE)}),
    "answerKey": pl.String(),
}


def _file(name: str, **digest: str | int) -> RawFile:
    return member(ARCHIVE, f"ARC-V1-Feb2018-2/ARC-Challenge/{name}", name=name, **digest)


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
    benchmark="ateb",
    task=Retrieval(),
    needs=("test",),
    versions={
        "1.0.0": Version(
            "The recipe of the ATEB paper: the gold answers of the test split are the corpus.",
            known=(KnownFinding("duplicate_text", "queries/test.text", 2, f"{TWO_STEMS}; version 2.0.0 merges them."),),
        ),
        "2.0.0": Version(
            "Equal texts merged, and judged together: 2 queries that repeat an earlier one, 10 documents that are another's"
            " but for case or a full stop.",
            {"clean": True},
        ),
    },
    prompts=PROMPTS,
    citation=("xiao2024rarb",),
)
def retrieval(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Find the right answer to a science question among the right answers to all of them.

    corpus: id, title (""), text (String: the distinct right answers of the test split, in order); queries: id, text
    (String: the question's stem as it stands); qrels: query-id, corpus-id (String), score (Int64, 1). clean: equal queries
    and documents are merged (builders.shaping.merging).
    """
    return gold_pool(questions(raw["test"]), prefix=PREFIX, split="test", clean=clean)


@dataset(
    "rarb-arc-challenge",
    benchmark="rarb",
    task=Retrieval(),
    needs=("test", "train", "dev"),
    versions={
        "1.0.0": Version(
            "RAR-b's published construction: all options of the test, train and dev splits are the corpus.",
            known=(
                KnownFinding(
                    "duplicate_text", "queries/test.text", 2, f"{TWO_STEMS}; RAR-b's published queries have them."
                ),
            ),
        ),
    },
    prompts=PROMPTS,
    citation=("xiao2024rarb",),
)
def rarb(raw: RawFiles) -> Tables:
    """Find the right answer to a science question among all options of all questions.

    corpus: id, title (""), text (String: the distinct options of the test, train and dev splits, in this order); queries: id,
    text (String: the question's stem as it stands); qrels: query-id, corpus-id (String), score (Int64, 1).
    """
    others = [questions(raw["train"]), questions(raw["dev"])]
    return option_pool(questions(raw["test"]), others, prefix=PREFIX, split="test")


def questions(raw: Raw) -> pl.DataFrame:
    """The question table of builders.shaping.choices: query (the stem), options, gold.

    Raises SourceError where the answer key is not the label of exactly one choice.
    """
    question = pl.col("question").struct
    rows = read_json_lines(raw, COLUMNS).with_row_index("line", offset=1)
    choices = rows.select("line", "answerKey", choices=question.field("choices")).explode("choices").unnest("choices")
    right = choices.with_columns(place=pl.int_range(pl.len()).over("line")).filter(
        pl.col("label") == pl.col("answerKey")
    )
    hits = rows.join(right.group_by("line").len("hits"), on="line", how="left", maintain_order="left")
    wrong = hits.filter(pl.col("hits").fill_null(0) != 1)
    if wrong.height:
        first = wrong.row(0, named=True)
        expected = "the label of one choice: " + ", ".join(choice["label"] for choice in first["question"]["choices"])
        what = "the answer key fits no choice, or several"
        raise malformed(raw, f"line {first['line']}", what, found=repr(first["answerKey"]), expected=expected)
    texts = question.field("choices").list.eval(pl.element().struct.field("text"))
    return rows.select(query=question.field("stem"), options=texts, gold=right.sort("line").get_column("place"))
