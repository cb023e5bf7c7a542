"""Audits datasets that are not releases of this package: folders, single files, tables in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from builders import limits
from builders.errors import SourceError, UsageError
from builders.tasks import layouts
from cards.front_matter_parser import parse_front_matter
from pipelines.audit.tables import count_rows
from pipelines.foreign.data_files import belongs_to, resolve_tables, split_of_file
from pipelines.foreign.datasets import read_datasets, read_tables
from pipelines.foreign.file_formats import NAMES, extension, unreadable_file
from pipelines.foreign.folders import list_files
from pipelines.foreign.salvage import at_own_locations, audit_foreign
from pipelines.report.checks import CheckResult, all_paths, make_report
from pipelines.resolution import CARD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pipelines.foreign.datasets import ForeignDataset, ForeignOptions
    from pipelines.resolution import Files


def check_folder(
    dataset_dir: Path, name: str, options: ForeignOptions, *, language_sample: int | None, single: bool = False
) -> list[CheckResult]:
    """Audit a dataset that is not a release; one result for each subset.

    name: for the report. single: several subsets are an error, before any is audited.

    Raises SourceError where a table cannot be read or none has a task type and for a symbolic link out of the folder, UsageError
    where the task type is ambiguous.
    """
    paths = list_files(dataset_dir)
    card = limits.read_at_most(dataset_dir / CARD, limits.MAX_CARD) if CARD in paths else b""
    front_matter = parse_front_matter(card, str(dataset_dir))
    files = resolve_tables(paths, front_matter, str(dataset_dir), options.subsets)
    return _check_files(
        dataset_dir, name, files, front_matter, options=options, language_sample=language_sample, single=single
    )


def check_file(path: Path, options: ForeignOptions, *, language_sample: int | None) -> list[CheckResult]:
    """Audit a single data file, as the split that its name says (`test.csv`), else as `train`, which `load_dataset` calls it.

    Raises SourceError for a file in another format and as check_folder does, UsageError where the task type is ambiguous.
    """
    if extension(path.name) is None:
        todo = "convert it to one of these, or name a folder, ORG/NAME@REVISION or a dataset"
        raise SourceError("not a data file", where=str(path), expected=", ".join(NAMES), todo=todo)
    files = {"default": {split_of_file(path.name): [path.name]}}
    options = replace(options, one_file=True)
    return _check_files(path.parent, path.name, files, {}, options=options, language_sample=language_sample)


def _check_files(
    dataset_dir: Path,
    name: str,
    files: Files,
    front_matter: Mapping[str, Any],
    *,
    options: ForeignOptions,
    language_sample: int | None,
    single: bool = False,
) -> list[CheckResult]:
    try:
        datasets = read_datasets(dataset_dir, files, front_matter, options)
        if single:
            _require_one(name, datasets)
        return [_check_foreign(dataset_dir, name, dataset, language_sample) for dataset in datasets]
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable_file([dataset_dir / path for path in all_paths(files)], error) from error


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
        found = str(error).strip().partition("\n")[0][:300]
        raise SourceError("cannot read the rows of a table", where=name, found=found) from error


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
