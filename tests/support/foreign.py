"""Writes datasets that this package did not build, and reads what a check reports of them."""

import json
from pathlib import Path
from typing import Any

import polars as pl

from pipelines.checking.checks import CheckResult, check_dataset
from pipelines.checking.datasets import ForeignOptions
from tests.support.tables import Change, with_edit


def write_json_lines(path: Path, *rows: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


def write_card(dataset_dir: Path, front_matter: str) -> None:
    (dataset_dir / "README.md").write_text(f"---\n{front_matter}\n---\n\n# A dataset\n", "utf-8")


def check_subsets(dataset_dir: Path, **options: Any) -> list[CheckResult]:
    """The results of a check of a folder, one for each subset. options: fields of ForeignOptions."""
    return check_dataset(dataset_dir, dataset_dir.name, ForeignOptions(**options), language_sample=2000)


def reports_of(dataset_dir: Path, **options: Any) -> list[dict[str, Any]]:
    return [result.report for result in check_subsets(dataset_dir, **options)]


def report_of(dataset_dir: Path, **options: Any) -> dict[str, Any]:
    """The report of a dataset without subsets."""
    [report] = reports_of(dataset_dir, **options)
    return report


def finding_counts(report: dict[str, Any], *severities: str) -> list[tuple[str, str, int]]:
    """Kind, location and count of the findings of some severities, or of all."""
    return [
        (
            finding["kind"],
            "/".join(filter(None, (finding["config"], finding["split"], finding["column"]))),
            finding["count"],
        )
        for finding in report["findings"]
        if not severities or finding["severity"] in severities
    ]


def with_type(config: str, column: str, dtype: Any) -> Change:
    """The change of a column of the split `test` to another type."""
    return with_edit(config, "test", lambda frame: frame.cast({column: dtype}))


def with_name(config: str, old: str, new: str) -> Change:
    """The change of the name of a column of the split `test`."""
    return with_edit(config, "test", lambda frame: frame.rename({old: new}))


def with_numbered_ids(config: str) -> Change:
    """The change of the ids of a split `test` from `d1` to 1."""
    number = pl.col("id").str.slice(1).cast(pl.Int64)
    return with_edit(config, "test", lambda frame: frame.with_columns(id=number))
