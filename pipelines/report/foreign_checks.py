"""Audits datasets that are not releases of this package: folders, single files, tables in memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from builders.errors import SourceError, UsageError
from builders.tasks import layouts
from pipelines.audit.tables import count_rows
from pipelines.foreign.data_files import belongs_to
from pipelines.foreign.dataset_files import find_files, reading_rows
from pipelines.foreign.datasets import ForeignDataset, ForeignOptions, read_datasets, read_tables
from pipelines.foreign.salvage import at_own_locations, audit_foreign
from pipelines.report.checks import CheckResult, make_report
from pipelines.safe_text import first_line


def check_dataset(
    path: Path, name: str, options: ForeignOptions, *, language_sample: int | None, single: bool = False
) -> list[CheckResult]:
    """Audit a dataset that is not a release, in a folder or a single file; one result for each subset.

    name: for the report. single: several subsets are an error, before any is audited.

    Raises SourceError where a table cannot be read or none has a task type, for a symbolic link out of the folder and for a file
    in another format; UsageError where the task type is ambiguous.
    """
    files = find_files(path, options.subsets)
    with reading_rows(files):
        datasets = read_datasets(files, options)
        if single:
            _require_one(name, datasets)
        return [_check_foreign(path, name, dataset, language_sample) for dataset in datasets]


def check_tables(
    tables: dict[str, dict[str, pl.LazyFrame]], name: str, options: ForeignOptions, *, language_sample: int | None
) -> CheckResult:
    """Audit tables in memory, by config and split, as those of a dataset that is not a release. name: for the report.

    Raises SourceError where a table cannot be read or none has a task type, UsageError where the task type is ambiguous or there
    are several subsets.
    """
    selected = {
        config: splits
        for config, splits in tables.items()
        if not options.subsets or any(belongs_to(config, subset) for subset in options.subsets)
    }
    if not selected:
        raise UsageError(f"no subset {options.subsets[0]!r}", where=name, found=f"configs: {', '.join(tables)}")
    try:
        datasets = read_tables(selected, name, {}, options, {})
        _require_one(name, datasets)
        return _check_foreign(name, name, datasets[0], language_sample)
    except pl.exceptions.PolarsError as error:
        raise SourceError("cannot read the rows of a table", where=name, found=first_line(error)) from error


def _require_one(name: str, datasets: Sequence[ForeignDataset]) -> None:
    if len(datasets) > 1:
        subsets = [dataset.subset for dataset in datasets]
        what = f"{name} has several subsets: check one at a time"
        raise UsageError(what, found=", ".join(subsets), todo=f"name one: subset={subsets[0]!r}")


def _check_foreign(where: Path | str, name: str, dataset: ForeignDataset, language_sample: int | None) -> CheckResult:
    findings, audited = audit_foreign(dataset, language_sample=language_sample)
    head = {
        "dataset": name,
        "subset": dataset.subset,
        "task": dataset.task.type.name,
        "languages": list(dataset.languages),
        "tables": _describe_tables(dataset),
        "audited": list(audited.task.splits) if audited else [],
        "notes": list(dataset.notes),
    }
    pairs = at_own_locations(dataset, findings)
    report = make_report(where, head, [], [own for _, own in pairs])
    task, frames = (audited.task, audited.frames) if audited else (dataset.task, {})
    return CheckResult(report, task, frames, dataset.frames, tuple(one for one, _ in pairs), dataset.own_locations)


def _describe_tables(dataset: ForeignDataset) -> list[dict[str, Any]]:
    """Location, rows and columns of every table, under the dataset's own names; a table that several splits share occurs once."""
    tables = {}
    for layout in layouts(dataset.task):
        for split, frame in dataset.frames.get(layout.config, {}).items():
            own = dataset.own_locations[layout.config, split]
            tables[own] = {
                "config": own[0],
                "split": own[1],
                "rows": count_rows(frame),
                "columns": dict(dataset.schemas[own]),
            }
    return list(tables.values())
