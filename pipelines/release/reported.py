"""Findings that a recipe reports, because they follow from a raw file and not from the rows: an index of benchmarks, for example.

Who audits the rows of a release again cannot find them, and takes them from its manifest.
"""

from collections.abc import Iterable

import polars as pl

from builders.reported import Reported
from cards.manifest import Manifest
from pipelines.audit.findings import FindingRows, findings_where, with_examples, without_rows
from pipelines.audit.tables import Frames

REPORTED_KINDS = ("query_in_benchmark_test",)


def report_rows(reported: Iterable[Reported], frames: Frames) -> list[FindingRows]:
    """The findings with their rows. frames: the tables of the release, by config and split."""
    findings: list[FindingRows] = []
    for one in reported:
        location = (one.config, one.split, one.column)
        rows = frames[one.config][one.split].select("id").with_row_index("position")
        findings += findings_where(one.kind, location, rows, pl.col("id").is_in(list(one.ids)), detail=one.detail)
    return with_examples(findings, frames)


def reported_before(manifest: Manifest) -> list[FindingRows]:
    """The findings that the recipe of a release reported, from its manifest: without their rows."""
    return [without_rows(finding) for finding in manifest.findings if finding.kind in REPORTED_KINDS]
