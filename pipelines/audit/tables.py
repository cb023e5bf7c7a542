"""The tables of a dataset as the audit reads them: their rows by name, their texts as a model receives them.

What both the findings and the statistics need to read a table belongs here; nothing here judges a row.
"""

import os
from collections.abc import Mapping

import polars as pl

from builders import tasks
from builders.shaping.text import WHITE_SPACE

# Several readers of the same tables run at once. By default each reads eight row groups ahead: 100 MB more, and no faster.
os.environ.setdefault("POLARS_ROW_GROUP_PREFETCH_SIZE", "2")

Frames = Mapping[str, Mapping[str, pl.LazyFrame]]  # config -> split -> table
Location = tuple[str, str, str]  # config, split, column
JUDGED_TABLES = {"queries": "query-id", "corpus": "corpus-id"}  # and the columns of judgements that refer to them


def available_splits(task: tasks.Task, frames: Frames) -> list[str]:
    """The splits of a task that the frames have, in the task's order."""
    return [split for split in task.splits if split in frames[tasks.layouts(task)[0].config]]


def text_layouts(task: tasks.Task) -> list[tasks.Layout]:
    """The layouts of a task's tables that have columns of texts."""
    return [layout for layout in tasks.layouts(task) if layout.text]


def text_columns(task: tasks.Task, frames: Frames) -> dict[Location, pl.LazyFrame]:
    """Every column of texts as a frame with one column, `text`, holding what a model receives."""
    return {
        (layout.config, split, column): frames[layout.config][split].select(text=model_input(layout.config, column))
        for layout in text_layouts(task)
        for split in available_splits(task, frames)
        for column in layout.text
    }


def model_inputs(layout: tasks.Layout) -> dict[str, pl.Expr]:
    """The texts of a row as a model receives them, by column."""
    return {column: model_input(layout.config, column) for column in layout.text}


def model_input(config: str, column: str) -> pl.Expr:
    """A text as mteb passes it to a model: a document is title, space and text, stripped; other texts are unchanged.

    Of a row of training data, the text of `positives` is the first of them.
    """
    if column == "positives":
        return pl.col(column).list.first()
    if config != "corpus" or column != "text":
        return pl.col(column)
    return pl.concat_str("title", pl.lit(" "), "text").str.strip_chars(WHITE_SPACE)


def finding_column(layout: tasks.Layout) -> str:
    """The column that a finding about the texts of a row names: the text's own, none if the row has two."""
    return layout.text[0] if len(layout.text) == 1 else ""


def row_id(columns: list[str]) -> pl.Expr | None:
    """The name of a row from the ids that it has: its own, or those of a relevance judgement; None for a table without ids."""
    if "id" in columns:
        return pl.col("id")
    if "query-id" in columns and "corpus-id" in columns:
        return pl.concat_str("query-id", pl.lit(" "), "corpus-id", ignore_nulls=True)
    return pl.col("query-id") if "query-id" in columns else None


def read_column(frame: pl.LazyFrame, column: str) -> pl.Series:
    """A column of a table, in memory."""
    return frame.select(column).collect(engine="streaming")[column]


def count_rows(frame: pl.LazyFrame) -> int:
    """The number of rows of a table."""
    return int(frame.select(pl.len()).collect(engine="streaming").item())
