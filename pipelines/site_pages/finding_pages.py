"""All rows of every finding, with the rows that make them findings, as lists of the site.

A record is [row, position, values, twin, twin split, twin values]: the names of the row and of its twin (null where there is
none), the position of the row in its table (null where it is not known, -1 for a pair of query and document that is not judged),
and the values of both in the order of `columns`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from pipelines.audit.finding_tables import OWN_COLUMNS, list_rows
from pipelines.audit.findings import FindingRows
from pipelines.audit.tables import JUDGED_TABLES, Frames
from pipelines.site_pages.data_scripts import RecordList, write_list

BATCH_ROWS = 10_000


@dataclass(frozen=True)
class FindingPages:
    """A finding whose rows are written as a list. columns: the names of the values of its records."""

    rows: RecordList
    columns: tuple[str, ...]


def write_finding(page_dir: Path, folder: str, one: FindingRows, frames: Frames) -> FindingPages:
    """Write all rows of a finding as a list. frames: all tables of the dataset, for the texts of what a judgement names."""
    columns = _columns(one, frames)
    return FindingPages(write_list(page_dir, folder, _records(one, frames, columns)), columns)


def named_positions(found: Iterable[FindingRows], config: str, split: str) -> pl.Series:
    """The positions of all rows of a table that findings name, as rows or as twins."""
    parts = [pl.LazyFrame(schema={"position": pl.UInt32})]
    for one in found:
        columns = one.rows.collect_schema().names()
        if one.finding.config == config and one.finding.split == split and "position" in columns:
            parts.append(one.rows.select(pl.col("position").cast(pl.UInt32)))
        if one.finding.config == config and "twin" in columns:
            twins = one.rows.filter(pl.col("twin_split") == split)
            parts.append(twins.select(position=pl.col("twin").cast(pl.UInt32)))
    positions: pl.Series = pl.concat(parts).drop_nulls().unique().collect(engine="streaming")["position"]
    return positions


def _columns(one: FindingRows, frames: Frames) -> tuple[str, ...]:
    table = one.tables.get(one.finding.split)
    own = table.collect_schema().names() if table is not None else []
    return (*own, *(f"{config}: text" for config in _judged(own, one, frames)))


def _judged(columns: Iterable[str], one: FindingRows, frames: Frames) -> list[str]:
    """The tables whose rows the rows of a finding refer to by id."""
    return [
        config
        for config, column in JUDGED_TABLES.items()
        if column in columns and one.finding.split in frames.get(config, {})
    ]


def _records(one: FindingRows, frames: Frames, columns: Sequence[str]) -> Iterator[list[Any]]:
    rows = one.rows.collect(engine="streaming")
    for batch in rows.iter_slices(BATCH_ROWS):
        listed = list_rows(replace(one, rows=batch.lazy()))
        positions = batch["position"].to_list() if "position" in batch.columns else [None] * len(listed)
        if "position" not in batch.columns and one.finding.config == "qrels":
            listed, positions = _with_unjudged_pairs(listed)
        own = {column: f"{column}_" if column in OWN_COLUMNS else column for column in columns}
        texts = _judged_texts(listed, one, frames)
        for position, row in zip(positions, listed.iter_rows(named=True), strict=True):
            judged = {column: by_id.get(row[key]) for column, (key, by_id) in texts.items()}
            values = [judged.get(column, row.get(name)) for column, name in own.items()]
            present = position is not None or any(value is not None for value in values)
            twins = [row.get(f"twin {column}") for column in columns]
            twin = row.get("twin")
            yield [
                row["row"], position, values if present else None,
                twin, row.get("twin_split"), twins if twin is not None else None,
            ]  # fmt: skip


def _with_unjudged_pairs(listed: pl.DataFrame) -> tuple[pl.DataFrame, list[int | None]]:
    """Named rows of judgements, with the ids of those that are not in the table from their names; and their positions."""
    keys = ["query-id", "corpus-id"]
    is_absent = pl.all_horizontal(pl.col(key).is_null() for key in keys)
    parts = pl.col("row").str.split(" ")
    # An id with a space in it cannot be told apart: such a pair keeps its name alone.
    is_pair = is_absent & (parts.list.len() == 2)
    ids = [
        pl.when(is_pair).then(parts.list.get(place, null_on_oob=True)).otherwise(key).alias(key)
        for place, key in enumerate(keys)
    ]
    absent = listed.select(is_absent).to_series()
    return listed.with_columns(ids), [-1 if one else None for one in absent]


def _judged_texts(
    listed: pl.DataFrame, one: FindingRows, frames: Frames
) -> dict[str, tuple[str, dict[str, str | None]]]:
    """The texts of the queries and documents that rows refer to: by column, the column with their id, and the texts by id."""
    found = {}
    for config in _judged(listed.columns, one, frames):
        key = JUDGED_TABLES[config]
        ids = listed[key].drop_nulls().unique()
        rows = frames[config][one.finding.split].filter(pl.col("id").is_in(ids.implode())).select("id", "text")
        texts = dict(rows.collect(engine="streaming").unique("id", keep="first", maintain_order=True).iter_rows())
        found[f"{config}: text"] = (key, texts)
    return found
