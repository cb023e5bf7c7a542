"""A build while it runs: its report on disk after each dataset, its summary at the end."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from builders.catalogue import Definition
from builders.errors import DatasetError, MissingFile, ReleaseError
from cards.manifest import Manifest
from pipelines.build_report.outcomes import describe_failure, describe_release, expect, summarize
from pipelines.build_report.records import State, update_report
from pipelines.build_report.redaction import Failure, report_error
from pipelines.process.installation import ROOT
from pipelines.process.terminal import summary_level
from pipelines.raw.missing_files import is_said, list_needs, missing_files_summary
from pipelines.raw.settings import RawSettings

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
    whose options are wrong is left out of it.

    The error of each dataset that was not built is logged. If there are several datasets, a summary is logged at the end, also
    where the block raises; it lists missing raw files, whose errors are then a line each.

    Raises ReleaseError where the file holds anything but a report.
    """
    pending = [expect(definition, version, splits, raw, limit) if report else None for definition, version in datasets]
    begun = [expected for expected in pending if expected is not None]
    report = report if begun else None
    if report is not None:
        if report.is_dir():
            raise ReleaseError(
                "the build report cannot be written", where=str(report), found="a directory", expected="a file"
            )
        report.parent.mkdir(parents=True, exist_ok=True)
        update_report(report, *begun)
    # The folders of this machine, by the names that the report gives them.
    roots = {
        "<outputs>": output,
        "<cache>": raw.cache if raw else None,
        "<raw-dir>": raw.raw_dir if raw else None,
        "<package>": ROOT,
        "~": Path.home(),
    }
    ended: list[tuple[State, DatasetError | None]] = []
    unavailable: set[str] = set()

    def record(state: State, manifest: Manifest | None, failure: Failure | None) -> None:
        (definition, version), expected = datasets[len(ended)], pending[len(ended)]
        ended.append(("failed", failure.error) if failure else (state, None))
        if failure is not None and manifest is None:
            _log_failure(f"{definition.dataset.name}@{version}", failure.error, unavailable, several=len(datasets) > 1)
        if report is None or expected is None:
            return
        error = report_error(failure, roots) if failure else None
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
            ended += [("pending", None)] * (len(datasets) - len(ended))
            lines = _summary(datasets, ended, splits, raw)
            if any(error is None and state != "pending" for state, error in ended):
                lines.append(f"  releases     {output} (-v shows what they drop, and their findings)")
            level = summary_level(failed=any(error is not None for _, error in ended))
            logger.log(level, "\n".join([*lines, *([f"  report       {report}"] if report else [])]))


def _log_failure(name: str, error: DatasetError, unavailable: set[str], *, several: bool) -> None:
    """Log an error: in full, or in a line where the summary says the rest of it.

    unavailable: the files that could not be downloaded so far; the reason of the first time is logged in full.
    """
    if several and is_said(error, unavailable):
        logger.error("%s: a raw file is missing, see below", name)
    else:
        logger.error("%s", error)
    if error.missing is not None:
        unavailable.add(error.missing.name)


def _summary(
    datasets: Sequence[tuple[Definition, str]],
    ended: Sequence[tuple[State, DatasetError | None]],
    splits: tuple[str, ...] | None,
    raw: RawSettings | None,
) -> list[str]:
    """The end of a build: how many datasets are in which state, what they lack, and what could be built without it."""
    states: list[tuple[str, State, str]] = []
    lacking: list[tuple[Definition, str]] = []
    failed: list[MissingFile] = []
    for (definition, version), (state, error) in zip(datasets, ended, strict=True):
        missing = error.missing if error is not None and raw is not None else None
        states.append((f"{definition.dataset.name}@{version}", state, "" if missing or not error else error.what))
        if missing is not None:
            lacking.append((definition, version))
            failed.append(missing)
    if raw is None or not lacking:
        return [summarize(states)]
    needs, describe = list_needs(lacking, splits), lambda counted: summarize(states, missing=counted)
    return [*missing_files_summary(needs, raw, splits, failed, describe), ""]
