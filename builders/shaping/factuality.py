"""Premise and hypothesis -> one text with one of three labels: the form of ATEB's factuality sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from builders.shaping.cleaning import clean_rows
from builders.shaping.labels import label_numbers
from builders.spec import Tables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from builders.spec import Raw

LABELS = ("entailment", "neutral", "contradiction")
NLI = {name: number for number, name in enumerate(LABELS)}
FEVER = {"SUPPORTS": 0, "NOT ENOUGH INFO": 1, "REFUTES": 2}
SIDES = ("premise", "hypothesis")


def labelled(
    rows: pl.DataFrame, raw: Raw, *, label: str, numbers: Mapping[str, int], unit: str = "line"
) -> pl.DataFrame:
    """The same rows with upstream's label as a number.

    rows: premise, hypothesis and a column `label` (String) with upstream's label, one row a `unit` of the raw file; other
    columns go along. numbers: upstream's labels as indices into LABELS.

    Returns the other columns, then premise, hypothesis (String), label (Int64).

    Raises SourceError for a label that `numbers` does not have, with its place in the raw file.
    """

    number = label_numbers(rows.get_column(label), numbers, raw, unit=unit)
    return rows.select(pl.exclude(*SIDES, label), *SIDES, label=number)


def classify_pairs(frames: Mapping[str, pl.DataFrame], splits: tuple[str, ...], *, clean: bool = False) -> Tables:
    """The wanted splits as a classification: text `Premise: {premise} Hypothesis: {hypothesis}`, nothing stripped.

    frames: by split, in the order of the task, as `labelled` gives them. clean: without the rows that bend a score
    (builders.shaping.cleaning; both sides are compared); the frames of the splits that come after the wanted ones must be there.

    Returns the other columns, then text (String), label (Int64), label_text (String).
    """
    wanted, dropped = clean_rows(frames, splits, texts=SIDES) if clean else (frames, ())
    return Tables({"default": {split: _one_text(wanted[split]) for split in splits}}, dropped)


def _one_text(rows: pl.DataFrame) -> pl.DataFrame:

    return rows.select(
        pl.exclude(*SIDES, "label"),
        text=pl.concat_str(pl.lit("Premise: "), "premise", pl.lit(" Hypothesis: "), "hypothesis"),
        label="label",
        label_text=pl.col("label").replace_strict(dict(enumerate(LABELS)), return_dtype=pl.String),
    )
