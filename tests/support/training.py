"""Recipes of training pairs, run on the raw files of their golden samples."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from builders.spec import Raw, RawFiles, Tables
from pipelines.make import GOLDEN
from tests.support.releases import definition_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import polars as pl


def build_golden(name: str, folder: Path, change: Callable[[Path], object] | None = None, **options: Any) -> Tables:
    """The tables of a dataset from its golden sample. change: is called with the copied folder of raw files first."""
    definition = definition_of(name)
    raw, scratch = folder / "raw", folder / "scratch"
    shutil.copytree(GOLDEN / definition.source.name / "raw", raw)
    scratch.mkdir()
    if change:
        change(raw)
    files = {
        key: Raw(f"{definition.source.name}/{file.name}", raw / file.name)
        for key, file in definition.source.files.items()
    }
    return definition.dataset.recipe(RawFiles(("train",), files, scratch), **options)


def rows_of(tables: Tables) -> pl.DataFrame:
    """The rows of the only config of a dataset."""
    ((_, splits),) = tables.frames.items()
    return splits["train"].lazy().collect()


def count_dropped(tables: Tables) -> dict[str, int]:
    """What a recipe dropped: the count of each reason."""
    return {one.reason: one.count for one in tables.dropped}
