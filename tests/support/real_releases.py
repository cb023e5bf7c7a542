"""Read releases that were built from real raw files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.release import folder

if TYPE_CHECKING:
    import polars as pl

    from pipelines.make import BuildResult


def read_table(result: BuildResult, config: str = "default", split: str = "test") -> pl.DataFrame:
    return folder.scan_tables(result.release_dir, result.manifest)[config][split].collect()


def warning_counts(result: BuildResult) -> dict[str, int]:
    """The count of each kind of finding that is a warning."""
    return {
        finding["kind"]: finding["count"] for finding in result.manifest.findings if finding["severity"] == "warning"
    }


def label_counts(rows: pl.DataFrame) -> dict[str, int]:
    return dict(rows["label_text"].value_counts().iter_rows())
