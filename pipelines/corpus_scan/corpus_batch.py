"""Texts of a training corpus as a scan reads them, whatever the format of the corpus."""

from dataclasses import dataclass

import polars as pl

TEXT_SCHEMA = {"row": pl.Int64, "column": pl.String, "text": pl.String}
LABEL_SCHEMA = {"row": pl.Int64, "label": pl.String}


@dataclass(frozen=True)
class CorpusBatch:
    """The texts of consecutive rows of one file of a corpus. All texts of a row are in one batch.

    file: the file as a match names it. texts: a row for each text, with the columns of TEXT_SCHEMA, without nulls: the row of
    the file (0-based, however the file is divided), ascending; the name of its column (`query`, `pos[0]`); the text as it is in
    the file. labels: the columns of LABEL_SCHEMA, for those rows that have a label or a score, ascending; see `label_texts`.
    """

    file: str
    texts: pl.DataFrame
    labels: pl.DataFrame


def label_texts(labels: pl.Series) -> pl.Series:
    """Labels or scores as texts (String) that are equal where the labels are: 3, 3.0 and `3.0` are `3`, true is `1`.

    labels: numbers, booleans, strings, or lists of these, which become their sorted texts joined by commas. Null stays null.
    """
    if isinstance(labels.dtype, pl.List):
        rows = labels.to_frame("label").with_row_index("__row")
        items = rows.explode("label", empty_as_null=True).drop_nulls()
        joined = (
            items.with_columns(label_texts(items["label"]))
            .group_by("__row", maintain_order=True)
            .agg(pl.col("label").sort().str.join(","))
        )
        lists = rows.select("__row", null=pl.col("label").is_null()).join(
            joined, on="__row", how="left", maintain_order="left"
        )
        return lists.select(pl.when(~pl.col("null")).then(pl.col("label").fill_null("")).alias(labels.name)).to_series()
    if labels.dtype == pl.Boolean:
        labels = labels.cast(pl.Int64)
    texts = labels.cast(pl.String).str.strip_chars()
    numbers = texts.str.contains(r"^[+-]?\d+\.\d*$")
    shortened = texts.str.strip_chars_end("0").str.strip_chars_end(".")
    return texts.zip_with(~numbers, shortened) if numbers.any() else texts
