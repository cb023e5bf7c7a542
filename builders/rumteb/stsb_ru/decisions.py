"""Decisions on sentences: which ones are linguistically acceptable, according to a classifier that was run once.

A file of decisions is JSON lines: the first line names the classifier, every other line holds one sentence.

    {"classifier": "RussianNLP/ruRoBERTa-large-rucola@6c831fe..."}
    {"sentence": "Мама мыла раму.", "acceptable": true}

It is a raw file like any other: its digest is in the manifest, and no build needs the classifier.
"""

import json

import polars as pl

from builders.errors import SourceError
from builders.reading import read_json_lines
from builders.reading.errors import shorten
from builders.shaping.rows import refuse
from builders.spec import Raw

REBUILD = "move the file away and create it again with embedding-datasets decide"


def head_line(classifier: str) -> str:
    """The first line of a file of decisions, without a newline."""
    return json.dumps({"classifier": classifier}, ensure_ascii=False)


def decision_line(sentence: str, acceptable: bool) -> str:
    """The line of one sentence, without a newline."""
    return json.dumps({"sentence": sentence, "acceptable": acceptable}, ensure_ascii=False)


def read_decisions(raw: Raw, classifier: str) -> pl.DataFrame:
    """The decisions in a file: sentence (String, unique), acceptable (Boolean).

    Raises SourceError if the first line names another classifier or none, and for an incomplete decision or a repeated sentence.
    """
    columns = {"classifier": pl.String(), "sentence": pl.String(), "acceptable": pl.Boolean()}
    rows = read_json_lines(raw, columns, optional=tuple(columns)).with_row_index("line", offset=1)
    author = rows["classifier"][0] if rows.height else None
    if author != classifier:
        raise SourceError(
            f"{raw.name}: decisions of another classifier",
            where=f"{raw.name}, line 1",
            found="no classifier" if author is None else shorten(author, 120),
            expected=shorten(classifier, 120),
            todo=REBUILD,
        )
    decisions, line = rows[1:], pl.format("line {}", "line")
    incomplete = pl.col("sentence").is_null() | pl.col("acceptable").is_null()
    decision, expected = pl.struct("sentence", "acceptable").struct.json_encode(), "a sentence and true or false"
    refuse(decisions, incomplete, raw, "incomplete decision", found=decision, expected=expected, location=line)
    repeated = ~pl.col("sentence").is_first_distinct()
    refuse(
        decisions, repeated, raw, "repeated sentence", found="sentence", expected="each sentence once", location=line
    )
    return decisions.select("sentence", "acceptable")


def find_acceptable(texts: pl.Series, decisions: pl.DataFrame, raw: Raw) -> pl.Series:
    """Whether each text is acceptable (Boolean). decisions: those of `raw`.

    Raises SourceError for a text without a decision.
    """
    verdicts = pl.DataFrame({"sentence": texts}).join(decisions, on="sentence", how="left", maintain_order="left")
    undecided = verdicts.filter(pl.col("acceptable").is_null()).get_column("sentence").unique(maintain_order=True)
    if undecided.len():
        raise SourceError(
            f"{raw.name}: no decision on some sentences",
            where=raw.name,
            found=f"{undecided.len():,} sentences without a decision, the first is {shorten(undecided[0])}",
            expected="a decision on each sentence",
            todo=REBUILD,
        )
    return verdicts.get_column("acceptable")


def rejected_sentences(raw: Raw, classifier: str, sentences: list[str]) -> list[str]:
    """The sentences that a file of decisions rejects.

    Raises SourceError as read_decisions and find_acceptable do.
    """
    each = pl.Series("sentence", sentences, pl.String)
    return each.filter(~find_acceptable(each, read_decisions(raw, classifier), raw)).to_list()
