"""A build while it runs: its report on disk after each dataset, its summary at the end."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from builders.catalogue import requested_splits
from builders.errors import ReleaseError, UsageError
from pipelines.report.build_outcomes import describe_failure, describe_release, expect, summarize
from pipelines.report.build_report import begin_report, update_report
from pipelines.report.redaction import ROOT, report_error

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from builders.catalogue import Definition
    from cards.manifest import Manifest
    from pipelines.raw.settings import RawSettings
    from pipelines.report.build_report import DatasetReport, State
    from pipelines.report.redaction import Failure

# Called once a dataset, in their order: state, the manifest of its release, and what failed.
Record = Callable[["State", "Manifest | None", "Failure | None"], None]

logger = logging.getLogger(__name__)


@contextmanager
def record_build(
    datasets: Sequence[tuple[Definition, str]],
    splits: tuple[str, ...] | None,
    raw: RawSettings | None,
    output: Path,
    *,
    report: Path | None,
    limit: int | None = None,
) -> Iterator[Record]:
    """A function that records how the build of each dataset ended, in the order of `datasets`.

    splits: the requested ones, None for all. raw: None for golden samples. report: the file to update; None for none. A dataset
    whose options are wrong is left out of it. If there are several datasets, their summary is logged at the end, also where the
    block raises.

    Raises ReleaseError where the file holds anything but a report.
    """
    pending = [_expect(definition, version, splits, raw, limit) if report else None for definition, version in datasets]
    begun = [one for one in pending if one is not None]
    report = report if begun else None
    if report is not None:
        _prepare(report)
        begin_report(report, begun)
    ended: list[tuple[State, str]] = []

    def record(state: State, manifest: Manifest | None, failure: Failure | None) -> None:
        (definition, version), expected = datasets[len(ended)], pending[len(ended)]
        ended.append(("failed", failure.error.what) if failure else (state, ""))
        if report is None or expected is None:
            return
        error = report_error(failure, _roots(output, raw)) if failure else None
        if manifest is not None:
            release_dir = output / manifest.dataset / version
            entry = describe_release(expected, definition, manifest, raw, state=state, release_dir=release_dir)
            update_report(report, replace(entry, errors=(error,) if error else ()))
        elif error is not None:
            update_report(report, describe_failure(expected, definition, raw, error))

    try:
        yield record
    finally:
        if len(datasets) > 1:
            names = [f"{definition.dataset.name}@{version}" for definition, version in datasets]
            while len(ended) < len(names):
                ended.append(("pending", ""))
            states = [(name, *end) for name, end in zip(names, ended, strict=True)]
            logger.info("%s%s", summarize(states), f"\n  report       {report}" if report else "")


def _expect(
    definition: Definition, version: str, splits: tuple[str, ...] | None, raw: RawSettings | None, limit: int | None
) -> DatasetReport | None:
    """What is known before the build; None where the command line is wrong, which the build reports."""
    try:
        chosen = requested_splits(definition, splits)
        partial = chosen != definition.dataset.task.splits or limit is not None
        return expect(definition, version, chosen, raw, partial=partial, sample=raw is None or limit is not None)
    except UsageError:
        return None


def _prepare(report: Path) -> None:
    """Create the folder of the report."""
    if report.is_dir():
        raise ReleaseError(
            "the build report cannot be written", where=str(report), found="a directory", expected="a file"
        )
    report.parent.mkdir(parents=True, exist_ok=True)


def _roots(output: Path, raw: RawSettings | None) -> dict[str, Path | None]:
    """The folders of this machine, by the names that the report gives them."""
    return {
        "<outputs>": output,
        "<cache>": raw.cache if raw else None,
        "<raw-dir>": raw.raw_dir if raw else None,
        "<package>": ROOT,
        "~": Path.home(),
    }
