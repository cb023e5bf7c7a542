"""Verdicts on sentences: which are linguistically acceptable, as a classifier decided once and for all.

A file of decisions is JSON lines. The first says who decided, each other line one sentence:

    {"classifier": "RussianNLP/ruRoBERTa-large-rucola@6c831fe..."}
    {"sentence": "Мама мыла раму.", "acceptable": true}

It is a raw file like any other, so that its digest is in the manifest and no build needs the classifier.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl

from builders.errors import SourceError
from builders.reading import read_json_lines
from builders.reading.errors import malformed, shorten

if TYPE_CHECKING:
    from builders.spec import Raw

AGAIN = "move the file away and make it anew with python -m pipelines.decide"


def head_line(classifier: str) -> str:
    """The first line of a file of decisions, without its end."""
    return json.dumps({"classifier": classifier}, ensure_ascii=False)


def decision_line(sentence: str, *, acceptable: bool) -> str:
    """The line of one sentence, without its end."""
    return json.dumps({"sentence": sentence, "acceptable": acceptable}, ensure_ascii=False)


def read_decisions(raw: Raw, classifier: str) -> pl.DataFrame:
    """The decisions of a file: sentence (String, each once), acceptable (Boolean).

    Raises SourceError for a first line that does not name a classifier, or names another one, for a line that is no decision, and
    for a sentence that stands twice.
    """

    columns = {"classifier": pl.String(), "sentence": pl.String(), "acceptable": pl.Boolean()}
    rows = read_json_lines(raw, columns, optional=tuple(columns)).with_row_index("line", offset=1)
    found = rows["classifier"][0] if rows.height else None
    if found != classifier:
        raise SourceError(
            f"{raw.name}: not the decisions of this classifier",
            where=f"{raw.name}, line 1",
            found="no classifier" if found is None else shorten(found, 120),
            expected=shorten(classifier, 120),
            todo=AGAIN,
        )
    decisions = rows[1:]
    broken = decisions.filter(pl.col("sentence").is_null() | pl.col("acceptable").is_null())
    if broken.height:
        what, expected = "a line that is no decision", "a sentence, and whether it is acceptable"
        raise malformed(raw, f"line {broken['line'][0]}", what, found="no sentence or no verdict", expected=expected)
    twice = decisions.filter(~pl.col("sentence").is_first_distinct())
    if twice.height:
        what, found = "a sentence that was decided twice", shorten(twice["sentence"][0])
        raise malformed(raw, f"line {twice['line'][0]}", what, found=found, expected="each sentence once")
    return decisions.select("sentence", "acceptable")


def find_acceptable(texts: pl.Series, decisions: pl.DataFrame, raw: Raw) -> pl.Series:
    """Whether each text is acceptable (Boolean). decisions: those of `raw`.

    Raises SourceError for a text on which nobody decided.
    """

    verdicts = pl.DataFrame({"sentence": texts}).join(decisions, on="sentence", how="left", maintain_order="left")
    undecided = verdicts.filter(pl.col("acceptable").is_null()).get_column("sentence").unique(maintain_order=True)
    if undecided.len():
        raise SourceError(
            f"{raw.name}: not all sentences are decided",
            where=raw.name,
            found=f"no decision on {undecided.len():,} sentences, the first is {shorten(undecided[0])}",
            expected="a decision on each sentence",
            todo=AGAIN,
        )
    return verdicts.get_column("acceptable")
