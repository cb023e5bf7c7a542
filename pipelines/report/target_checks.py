"""Checks what a name means, for the command line and Python: a release, another folder or file, a dataset of the Hub."""

from pipelines.foreign.datasets import ForeignOptions
from pipelines.release.folder import MANIFEST
from pipelines.report.checks import CheckResult, check_release
from pipelines.report.foreign_checks import check_dataset
from pipelines.report.targets import Target, dataset_name, locate_target


def check_target(
    target: Target, options: ForeignOptions, *, language_sample: int | None, single: bool = False
) -> list[CheckResult]:
    """The results for a target, one for each subset of a dataset that is not a release. options: for such a dataset.

    single: several subsets are an error, before any is audited.

    Raises what locate_target, check_release and check_dataset raise.
    """
    path, fetched = (target.file, None) if target.file else locate_target(target, options.subsets)
    if (path / MANIFEST).exists():
        results = [check_release(path, language_sample=language_sample, fetched=fetched)]
    else:
        name = dataset_name(target, path)
        results = check_dataset(path, name, options, language_sample=language_sample, single=single)
    for result in results:
        result.report.update(path=target.name, revision=fetched.folder.name if fetched else None)
    return results
