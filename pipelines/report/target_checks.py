"""Checks what a name means, for the command line and Python: a release, another folder or file, a dataset of the Hub."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.release.folder import MANIFEST
from pipelines.report.checks import check_release
from pipelines.report.foreign_checks import check_file, check_folder
from pipelines.report.targets import locate_target

if TYPE_CHECKING:
    from pipelines.foreign.datasets import ForeignOptions
    from pipelines.report.checks import CheckResult
    from pipelines.report.targets import Target


def check_target(
    target: Target, options: ForeignOptions, *, language_sample: int | None, single: bool = False
) -> list[CheckResult]:
    """The results for a target, one for each subset of a dataset that is not a release. options: for such a dataset.

    single: several subsets are an error, before any is audited.

    Raises what locate_target, check_release, check_folder and check_file raise.
    """
    if target.file:
        results, revision = check_file(target.file, options, language_sample=language_sample), None
    else:
        dataset_dir, fetched = locate_target(target, options.subsets)
        revision = fetched.folder.name if fetched else None
        if (dataset_dir / MANIFEST).exists():
            results = [check_release(dataset_dir, language_sample=language_sample, fetched=fetched)]
        else:
            name = target.repository[0] if target.repository else dataset_dir.resolve().name
            results = check_folder(dataset_dir, name, options, language_sample=language_sample, single=single)
    for result in results:
        result.report.update(path=target.name, revision=revision)
    return results
