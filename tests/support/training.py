"""The tables that a recipe of training data makes of its golden sample, with other options or other raw files."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from builders.spec import Raw, RawFiles, Tables
from pipelines.make import GOLDEN
from tests.support.releases import definition_of


def build_golden(name: str, folder: Path, change: Callable[[Path], object] | None = None, **options: Any) -> Tables:
    """The tables of a dataset's golden sample. change: is given the folder of a copy of the raw files before they are read."""
    found = definition_of(name)
    raw_dir, scratch = folder / "raw", folder / "scratch"
    shutil.copytree(GOLDEN / found.source.name / "raw", raw_dir)
    scratch.mkdir()
    if change:
        change(raw_dir)
    files = {
        key: Raw(f"{found.source.name}/{file.name}", raw_dir / file.name) for key, file in found.source.files.items()
    }
    return found.dataset.recipe(RawFiles(("train",), files, scratch), **options)


def rows_of(tables: Tables, config: str) -> dict[int, tuple[str, list[str]]]:
    """Query and positives of the rows of a config, by the number that their ids end with."""
    frame = tables.frames[config]["train"].lazy().collect()
    numbers = frame["id"].str.split(":").list.last().cast(pl.Int64)
    return dict(zip(numbers, zip(frame["query"], frame["positives"].to_list(), strict=True), strict=True))


def table_of(tables: Tables) -> pl.DataFrame:
    """The rows of the only config of a dataset."""
    ((_, splits),) = tables.frames.items()
    return splits["train"].lazy().collect()


def count_dropped(tables: Tables) -> dict[str, int]:
    """What a recipe dropped: the count of each reason."""
    return {drop.reason: drop.count for drop in tables.dropped}
