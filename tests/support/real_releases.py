"""Releases that are built from real raw files, and what tests read from them."""

import polars as pl

from pipelines.make import BuildResult
from pipelines.release import folder

# The datasets whose real raw files are complete, with the splits to build (None: all).
COMPLETE = {
    "europarl-bitext": None,
    "iwslt17-bitext": None,
    "nc2016-bitext": None,
    "cedr-classification": None,
    "terra-pairclassification": None,
    "ru-paraphraser-sts": None,
    "arc-challenge-retrieval": None,
    "hhrlhf-harmlessness-classification": ("test",),
}


def read_table(result: BuildResult, config: str = "default", split: str = "test") -> pl.DataFrame:
    return folder.scan_tables(result.release_dir, result.manifest.tables)[config][split].collect()


def warning_counts(result: BuildResult) -> dict[str, int]:
    """The count of each kind of finding that is a warning, in all tables and with all details together."""
    warnings = [finding for finding in result.manifest.findings if finding.severity == "warning"]
    counts = dict.fromkeys((finding.kind for finding in warnings), 0)
    for finding in warnings:
        counts[finding.kind] += finding.count
    return counts


def label_counts(rows: pl.DataFrame) -> dict[str, int]:
    return dict(rows["label_text"].value_counts().iter_rows())


def finding_counts(result: BuildResult) -> dict[tuple[str, str, str], int]:
    """The counts of findings, by kind, split and column."""
    counts: dict[tuple[str, str, str], int] = {}
    for finding in result.manifest.findings:
        key = (finding.kind, finding.split, finding.column)
        counts[key] = counts.get(key, 0) + finding.count
    return counts
