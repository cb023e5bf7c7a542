"""Premises and hypotheses as texts with one of three labels, the form of ATEB's factuality sets."""

from collections.abc import Callable, Mapping

import polars as pl

from builders.shaping.cleaning import clean_rows
from builders.shaping.labels import label_numbers
from builders.spec import Raw, RawFiles, Tables

FIRST, SECOND = "Premise: ", " Hypothesis: "
FORM = "Every text begins with `Premise:`: the form of ATEB's factuality sets."  # why that is kept


def has_sides(text: pl.Expr) -> pl.Expr:
    """Whether a text has the form."""
    return text.str.starts_with(FIRST) & text.str.contains(SECOND, literal=True)


def side_texts(text: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """The premise and the hypothesis of texts that have the form, divided at the first ` Hypothesis: `."""
    sides = text.str.strip_prefix(FIRST).str.splitn(SECOND, 2).struct
    return sides.field("field_0"), sides.field("field_1")


LABELS = ("entailment", "neutral", "contradiction")
NLI = {name: number for number, name in enumerate(LABELS)}
FEVER = {"SUPPORTS": 0, "NOT ENOUGH INFO": 1, "REFUTES": 2}
SIDES = ("premise", "hypothesis")
# The notes of version 2.0.0 of every factuality set.
CLEAN_NOTES = (
    "Drops pairs with conflicting labels, repeated pairs and pairs that are also in a later split, ignoring case, punctuation and"
    " white space; pairs whose premise or hypothesis is empty or a single character; and pairs that a wrong decoding damaged."
)


def read_splits(
    raw: RawFiles, files: Mapping[str, tuple[str, ...]], read: Callable[[Raw], pl.DataFrame]
) -> dict[str, pl.DataFrame]:
    """The rows of every split whose files are all in `raw`: those of its files, one after the other.

    files: the keys of each split's files, in the order of the task's splits. read: gives the rows of one file.
    """
    return {
        split: pl.concat([read(raw[key]) for key in keys])
        for split, keys in files.items()
        if set(keys) <= set(raw.files)
    }


def number_labels(
    rows: pl.DataFrame, raw: Raw, *, label: str, numbers: Mapping[str, int], unit: str = "line"
) -> pl.DataFrame:
    """Replace the source's label with its number.

    rows: premise, hypothesis and the column `label` (String) with the source's label, one row per `unit` of the raw file; other
    columns are kept. numbers: for each label of the source, its index in LABELS.

    Returns the other columns, then premise, hypothesis (String), label (Int64).

    Raises SourceError for a label that `numbers` lacks, with its position in the raw file.
    """
    number = label_numbers(rows.get_column(label), numbers, raw, unit=unit)
    return rows.select(pl.exclude(*SIDES, label), *SIDES, label=number)


def classify_pairs(
    frames: Mapping[str, pl.DataFrame], splits: tuple[str, ...], *, clean: bool = False, by_meaning: bool = False
) -> Tables:
    """The classification tables of the requested splits: text is `Premise: {premise} Hypothesis: {hypothesis}`, unstripped.

    frames: by split, in the order of the task, as `number_labels` returns them. clean: drop rows that would distort scores
    (builders.shaping.cleaning, comparing both sides), which needs the frames of all splits after the requested ones. by_meaning:
    as for `clean_rows`.

    Returns the other columns, then text (String), label (Int64), label_text (String).
    """
    requested, dropped = clean_rows(frames, splits, texts=SIDES, by_meaning=by_meaning) if clean else (frames, ())
    columns = {
        "text": pl.concat_str(pl.lit(FIRST), "premise", pl.lit(SECOND), "hypothesis"),
        "label": pl.col("label"),
        "label_text": pl.col("label").replace_strict(dict(enumerate(LABELS)), return_dtype=pl.String),
    }
    joined = {split: requested[split].select(pl.exclude(*SIDES, "label"), **columns) for split in splits}
    return Tables({"default": joined}, dropped)
