"""Shared by the tests of recipes: raw files, the tables a recipe makes of them, and what to check on every split."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from builders.spec import Raw, RawFiles, Tables
from cards.manifest import Finding
from pipelines.audit import integrity
from tests.support.releases import definition_of


def build_tables(
    name: str, files: Mapping[str, Path], scratch: Path, splits: tuple[str, ...] | None = None, **options: Any
) -> Tables:
    """Run the recipe of a dataset on raw files, by key. Options have the recipe's defaults, which are the paper's sizes."""
    dataset = definition_of(name).dataset
    scratch.mkdir(exist_ok=True)
    raw = {key: Raw(f"source/{path.name}", path) for key, path in files.items()}
    return dataset.recipe(RawFiles(splits or dataset.task.splits, raw, scratch), **options)


def frame(tables: Tables, split: str = "test", config: str = "default") -> pl.DataFrame:
    return tables.frames[config][split].lazy().collect()


def rows_of(tables: Tables, config: str) -> list[tuple[Any, ...]]:
    """The rows of the test split of a config."""
    return frame(tables, config=config).rows()


def split_frames(tables: Tables) -> dict[str, pl.DataFrame]:
    """The splits of the config `default`."""
    return {split: frame(tables, split) for split in tables.frames["default"]}


def dropped_counts(tables: Tables) -> dict[str, int]:
    return {dropped.reason: dropped.count for dropped in tables.dropped}


def find_defects(name: str, tables: Tables) -> list[Finding]:
    """What breaks the rules of the dataset's task."""
    task = definition_of(name).dataset.task
    frames = {config: {split: one.lazy() for split, one in splits.items()} for config, splits in tables.frames.items()}
    return [found.finding for found in integrity.audit_integrity(task, frames, task.splits)]


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]], separator: str = ",") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=separator, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    return path


def assert_balanced_and_distinct(splits: Mapping[str, pl.DataFrame], per_class: Mapping[str, int]) -> None:
    """Every split has the given number of rows of each class, and no text occurs twice, in any split."""
    for name, rows in splits.items():
        counts = dict(rows["label"].value_counts().iter_rows())
        assert set(counts.values()) == {per_class[name]}, name
    texts = pl.concat([rows["text"] for rows in splits.values()])
    assert texts.n_unique() == texts.len()
