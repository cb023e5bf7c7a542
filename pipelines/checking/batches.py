"""Texts of a training corpus as a scan reads them, in batches, whatever the format of the corpus."""

from dataclasses import dataclass
from typing import Any

import orjson
import polars as pl
import pyarrow as pa

from builders.errors import SourceError

TEXT_SCHEMA = {"row": pl.Int64, "column": pl.String, "text": pl.String}
LABEL_SCHEMA = {"row": pl.Int64, "label": pl.String}


@dataclass(frozen=True)
class TextBatch:
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


BATCH_ROWS = 8192


class Collector:
    """The texts of some rows of a file. The lists may be filled directly: a call for each text would cost a fifth of
    the time."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.columns: list[str] = []
        self.texts: list[str] = []
        self.label_rows: list[int] = []
        self.labels: list[Any] = []

    def add_items(self, row: int, column: str, items: list[Any]) -> None:
        """Add the strings of a list as `column[0]`, `column[1]`, ...; other items, such as null, keep their numbers."""
        for number, item in enumerate(items):
            if type(item) is str and item:
                self.rows.append(row)
                self.columns.append(f"{column}[{number}]")
                self.texts.append(item)

    def batch(self, file: str) -> TextBatch:
        """The collected texts and labels as a batch."""
        texts = pl.Series(pa.array(self.texts, pa.large_string()), dtype=pl.String)
        frame = pl.DataFrame({"row": self.rows, "column": self.columns, "text": texts}, TEXT_SCHEMA)
        return TextBatch(file, frame, labels_frame(self.label_rows, self.labels))


def labels_frame(rows: list[int], values: list[Any]) -> pl.DataFrame:
    """The labels of rows, as they were parsed from JSON, with the columns of LABEL_SCHEMA; objects are not labels."""
    kept = [
        (row, value) for row, value in zip(rows, values, strict=True) if value is not None and type(value) is not dict
    ]
    if not kept:
        return pl.DataFrame(schema=LABEL_SCHEMA)
    values = [value for _, value in kept]
    kinds = {type(value) for value in values}
    if len(kinds) == 1 and kinds <= {str, float, bool}:
        labels = label_texts(pl.Series(values))
    else:  # whole numbers of any size, lists, and what a file mixes
        labels = pl.Series([_label_text(value) for value in values], dtype=pl.String)
    return pl.DataFrame({"row": [row for row, _ in kept], "label": labels}, schema=LABEL_SCHEMA).drop_nulls()


def _label_text(value: Any) -> str | None:
    """The text of one label, as `label_texts` makes it."""
    if type(value) is list:
        items = [_label_text(item) for item in value]
        return ",".join(sorted(item for item in items if item is not None))
    if type(value) is int:
        return str(value)
    if type(value) not in (str, float, bool):
        return None
    text: str = label_texts(pl.Series([value]))[0]
    return text


def row_error(file: str, row: int, what: str, *, found: str, expected: str, todo: str) -> SourceError:
    """The error for a row that cannot be read. Rows are numbered from 0, as in matches; -1 is the header."""
    where = f"{file}, row {row}" if row >= 0 else f"{file}, header"
    return SourceError(what, where=where, found=found, expected=expected, todo=todo)


def shorten_json(value: Any) -> str:
    """A parsed value as an error shows it."""
    text = orjson.dumps(value, default=str).decode("utf-8", "replace")
    return text if len(text) <= 60 else f"{text[:60]}..."
