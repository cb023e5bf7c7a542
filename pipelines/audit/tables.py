"""The tables of a dataset as the audit reads them: rows by name, texts as a model receives them, hashes of texts.

What both the findings and the statistics need to read a table belongs here; nothing here judges a row.

With such a seed, comparing numbers is comparing texts exactly, in 8 bytes a text. The numbers differ between versions of
polars: compare them, never store them.
"""

import itertools
import os
from collections.abc import Callable, Mapping

import numpy as np
import polars as pl

from builders import tasks
from builders.shaping.text import WHITE_SPACE
from pipelines.process.stages import stage

# Several readers of the same tables run at once. By default each reads eight row groups ahead: 100 MB more, and no faster.
os.environ.setdefault("POLARS_ROW_GROUP_PREFETCH_SIZE", "2")
# By default a step gets a whole row group of long texts at once, and many are on their way: a gigabyte more, and slower.
os.environ.setdefault("POLARS_IDEAL_MORSEL_SIZE", "4000")  # rows
pl.Config.reload_env_vars()

Frames = Mapping[str, Mapping[str, pl.LazyFrame]]  # config -> split -> table
Location = tuple[str, str, str]  # config, split, column
JUDGED_TABLES = {"queries": "query-id", "corpus": "corpus-id"}  # and the columns of judgements that refer to them


def available_splits(task: tasks.Task, frames: Frames) -> list[str]:
    """The splits of a task that the frames have, in the task's order."""
    return [split for split in task.splits if split in frames[tasks.layouts(task)[0].config]]


def text_layouts(task: tasks.Task) -> list[tasks.Layout]:
    """The layouts of a task's tables that have columns of texts."""
    return [layout for layout in tasks.layouts(task) if layout.text]


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


def copied(texts: pl.Expr) -> pl.Expr:
    """The same texts, of one column or several, in memory of their own, for a few texts of many.

    In polars a text is a view of all that were read with it: 250 documents of a corpus keep the whole corpus in memory.
    """
    return texts + pl.lit("")


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


def first_distinct(values: pl.Series) -> pl.Series:
    """Whether each value is the first of its kind. Numbers (uint64) are sorted: a hash table of ten million takes a gigabyte."""
    if values.dtype != pl.UInt64:
        return values.is_first_distinct()
    numbers = values.to_numpy()
    order = np.argsort(numbers, kind="stable")
    ordered, is_first = numbers[order], np.ones(len(numbers), np.bool_)
    is_first[order[1:]] = ordered[1:] != ordered[:-1]
    return pl.Series(values.name, is_first)


def duplicated(values: pl.Series) -> pl.Series:
    """Whether each value is there more than once."""
    if values.dtype != pl.UInt64:
        return values.is_duplicated()
    return values.is_in(values.filter(~first_distinct(values)).unique().implode())


def list_candidates(frames: Frames, split: str) -> pl.DataFrame:
    """The candidates of a split, in the order of their lists.

    Columns: list (uint32: the row of the list in `top_ranked`), query-id and corpus-id (String), place (uint32: in the list, from
    1) and relevant (Boolean: judged above zero for the query).
    """
    ranked = frames["top_ranked"][split].select("query-id", "corpus-ids").with_row_index("list")
    places = pl.int_ranges(1, pl.col("corpus-ids").list.len() + 1, dtype=pl.UInt32)
    listed = ranked.filter(pl.col("corpus-ids").list.len() > 0).with_columns(place=places)
    listed = listed.explode("corpus-ids", "place").rename({"corpus-ids": "corpus-id"})
    positives = frames["qrels"][split].filter(pl.col("score") > 0).select("query-id", "corpus-id").unique()
    candidates = listed.join(
        positives.with_columns(relevant=pl.lit(value=True)), on=["query-id", "corpus-id"], how="left"
    )
    candidates = candidates.with_columns(pl.col("relevant").fill_null(value=False))
    return (
        candidates.collect(engine="streaming")
        .sort("list", "place")
        .select("list", "query-id", "corpus-id", "place", "relevant")
    )


HASHES_PER_PASS = 50_000  # repeated hashes whose texts are compared in one pass; bounds the memory


def measure_texts(task: tasks.Task, frames: Frames) -> dict[tuple[str, str], pl.DataFrame]:
    """`hash <column>` and `length <column>` of each column of texts, by config and split: what a survey says of them."""
    texts = {
        (layout.config, split, column): frames[layout.config][split].select(text=model_input(layout.config, column))
        for layout in text_layouts(task)
        for split in available_splits(task, frames)
        for column in layout.text
    }

    def measure(seed: int) -> dict[Location, pl.DataFrame]:
        measures = {"hash": pl.col("text").hash(seed), "length": pl.col("text").str.len_chars()}
        return {
            location: frame.select(expr.alias(f"{name} {location[2]}") for name, expr in measures.items()).collect(
                engine="streaming"
            )
            for location, frame in texts.items()
        }

    with stage("hashing texts"):
        measured = without_collisions(texts, measure)
    tables: dict[tuple[str, str], list[pl.DataFrame]] = {}
    for (config, split, _), columns in measured.items():
        tables.setdefault((config, split), []).append(columns)
    return {table: pl.concat(columns, how="horizontal") for table, columns in tables.items()}


def without_collisions(
    texts: Mapping[Location, pl.LazyFrame], read: Callable[[int], dict[Location, pl.DataFrame]]
) -> dict[Location, pl.DataFrame]:
    """What `read` returns for the first seed with which polars' `hash` gives different texts different numbers.

    texts: frames of one string column, `text`. read: returns for a seed a frame for each of them, with their numbers as `hash
    <column>`. Memory: the texts of HASHES_PER_PASS repeated numbers.
    """
    seeds = ((seed, read(seed)) for seed in itertools.count())
    return next(found for seed, found in seeds if _is_collision_free(texts, found, seed))


def _is_collision_free(
    texts: Mapping[Location, pl.LazyFrame], found: Mapping[Location, pl.DataFrame], seed: int
) -> bool:
    """Whether all texts with the same number are equal."""
    hashes = {location: frame[f"hash {location[2]}"] for location, frame in found.items()}
    every = pl.concat([own.rename("hash") for own in hashes.values()]) if hashes else pl.Series("hash", [], pl.UInt64)
    repeated = every.filter(duplicated(every)).unique()
    for part in repeated.to_frame().iter_slices(HASHES_PER_PASS):
        numbers = part["hash"].implode()
        some = [texts[location] for location, own in hashes.items() if own.is_in(numbers).any()]
        hashed = pl.concat(some).with_columns(hash=pl.col("text").hash(seed)).filter(pl.col("hash").is_in(numbers))
        extremes = hashed.group_by("hash").agg(pl.col("text").min().alias("first"), pl.col("text").max().alias("last"))
        if not extremes.filter(pl.col("first") != pl.col("last")).collect(engine="streaming").is_empty():
            return False
    return True
