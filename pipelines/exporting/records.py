"""What an export records of itself in export.json: options, releases, sets, files."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pipelines.exporting.pairs import Tally
from pipelines.exporting.releases import TrainingRelease, TrainingSet
from pipelines.release.parquet import describe_file

RECORD = "export.json"  # a folder that has it is an export, and holds what it lists
GENERATOR = "embedding-datasets export"
DATA = "data"  # the folder of the files to train on: trainers that are given a folder read every file in it

Trainer = Literal["sentence-transformers", "flagembedding", "medi"]


@dataclass(frozen=True)
class Choices:
    """How an export is written.

    trainer: the format. negatives: the most of a row. positives: `first` for one row with the first positive, `each` for a row a
    positive, `all` for one row with all of them. prefixes: where those of ru-en-RoSBERTa are: `apart` from the texts, in the
    `text`, or as its `instruction`.
    """

    trainer: Trainer
    negatives: int
    positives: Literal["first", "each", "all"]
    prefixes: Literal["apart", "text", "instruction"]


@dataclass(frozen=True)
class DataFile:
    """A file to train on: its path in the export, and the name of its rows. negatives: of each row, where all have as many."""

    path: str
    name: str
    rows: int
    negatives: int | None = None


@dataclass(frozen=True)
class ExportedSet:
    """A set as it was written: its files, and the counts of its rows."""

    source: TrainingSet
    tally: Tally
    files: tuple[DataFile, ...]


def describe_export(
    folder: Path, choices: Choices, releases: Sequence[TrainingRelease], sets: Sequence[ExportedSet]
) -> dict[str, Any]:
    """The content of export.json. folder: that of the export, with every other file in place."""
    total = sum(one.tally.rows for one in sets)
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        "generator": GENERATOR,
        "format": choices.trainer,
        "options": {name: value for name, value in asdict(choices).items() if name != "trainer"},
        "rows": total,
        "releases": [
            {
                "dataset": one.manifest.dataset,
                "version": one.manifest.version,
                "content_sha256": one.manifest.content_sha256,
                "sample": one.manifest.sample,
                "partial": one.manifest.partial,
            }
            for one in releases
        ],
        "sets": [_describe_set(one, total) for one in sets],
        "files": [asdict(describe_file(path, folder)) for path in paths],
    }


def _describe_set(one: ExportedSet, total: int) -> dict[str, Any]:
    tally = one.tally
    return {
        "name": one.source.name,
        "dataset": one.source.release.manifest.dataset,
        "prefixes": {"query": one.source.query_prefix, "document": one.source.document_prefix},
        "rows_of_release": tally.read,
        "rows": tally.rows,
        "weight": share(tally.rows, total),
        "dropped": dict(sorted(tally.dropped.items())),
        "left_out": {what: count for what, count in sorted(tally.left_out.items()) if count},
        "negatives": dict(sorted(tally.negatives.items())),
        "files": [{"path": file.path, "name": file.name, "rows": file.rows} for file in one.files],
    }


def share(rows: int, total: int) -> float:
    """The sampling weight of some rows: their share of all, so that every row is as likely as any other."""
    return round(rows / total, 6) if total else 0.0
