"""Exports of training data, and what is in their files."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from pipelines.exporting.export import write_export
from pipelines.exporting.sets import Choices, find_releases, select_sets
from pipelines.exporting.trainers import TRAINERS, make_choices

CHOICES = {name: make_choices(trainer, None, None, None) for name, trainer in TRAINERS.items()}


def export(release_dirs: Sequence[Path], target: Path, choices: Choices) -> dict[str, Any]:
    """Export all sets of some releases; returns the content of export.json."""
    return write_export(select_sets(find_releases(list(map(str, release_dirs)), target), None), target, choices)


def read_columns(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of sentence-transformers."""
    return pl.read_parquet(path).to_dicts()


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of FlagEmbedding."""
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
