"""What happened to each dataset of a build, for the build report and for the summary at the end."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from builders.catalogue import Definition, needed_files, requested_splits
from builders.errors import DatasetError, SourceError, UsageError
from builders.raw_files import RawFile
from builders.spec import AS_PUBLISHED, Source
from cards.manifest import Manifest
from pipelines.build_report.records import (
    DatasetReport,
    KnownBy,
    Origin,
    ReportedDrop,
    ReportedError,
    ReportedFigure,
    ReportedFigures,
    ReportedFile,
    ReportedFinding,
    State,
)
from pipelines.raw.locations import locate, plan_file
from pipelines.raw.pins import LockEntry, find_pin, is_pinned, read_lock_file
from pipelines.raw.requests import file_url
from pipelines.raw.settings import RawSettings, stored_file
from pipelines.release import fingerprint, ledger
from pipelines.release.figures import VERSIONS, compare_with_published


def expect(
    definition: Definition, version: str, splits: tuple[str, ...] | None, raw: RawSettings | None, limit: int | None
) -> DatasetReport | None:
    """A dataset before its build: which of its raw files are on this machine, and whose digests are known.

    splits: the requested ones, None for all. raw: None for a build from the golden sample, which needs none. Opens no connection,
    reads no raw file. None where the command line is wrong, which the build reports: splits, or the directory of raw files.
    """
    try:
        chosen = requested_splits(definition, splits)
        keys = needed_files(definition, chosen, version) if raw else []
        files = tuple(_expected_file(definition.source, key, raw) for key in keys if raw)
    except UsageError:
        return None
    return DatasetReport(
        dataset=definition.dataset.name,
        version=version,
        source=definition.source.name,
        state="pending",
        sample=raw is None or limit is not None,
        partial=chosen != definition.dataset.task.splits or limit is not None,
        recipe_sha256=fingerprint.recipe_sha256(definition.entry.module),
        files=files,
    )


def describe_release(
    pending: DatasetReport,
    definition: Definition,
    manifest: Manifest,
    raw: RawSettings | None,
    *,
    state: State,
    release_dir: Path,
) -> DatasetReport:
    """A dataset that was built or is up to date, by its manifest. pending: what `expect` returned before the build."""
    entries = {f"{manifest.source}/{entry.name}": entry for entry in manifest.raw}
    files = tuple(
        replace(
            file,
            origin=_since(file, plan_file(definition.source, _key(definition.source, file), raw).origin),
            sha256=entries[file.name].sha256,
            bytes=entries[file.name].bytes,
        )
        for file in pending.files
        if raw
    )
    return replace(
        pending,
        state=state,
        sample=manifest.sample,
        partial=manifest.partial,
        files=files,
        lock=_lock_entries(definition.source, files, raw),
        content_sha256=manifest.content_sha256,
        rows=manifest.rows,
        verified=all(entry.verified for entry in manifest.raw),
        ledger=ledger.release_entry(manifest) if manifest.complete else None,
        figures=_figures(release_dir, manifest.version),
        dropped=tuple(ReportedDrop(drop.reason, drop.count, drop.split) for drop in manifest.dropped),
        findings=tuple(
            ReportedFinding(
                finding.kind,
                finding.severity,
                finding.location,
                finding.count,
                finding.share,
                finding.detail,
                bool(finding.why),
            )
            for finding in manifest.findings
        ),
    )


def describe_failure(
    pending: DatasetReport, definition: Definition, raw: RawSettings | None, error: ReportedError
) -> DatasetReport:
    """A dataset that was not built, with those of its raw files that are here and are the pinned ones. Downloads nothing."""
    files = tuple(_present_file(definition.source, file, raw) for file in pending.files if raw)
    lock = _lock_entries(definition.source, files, raw)
    return replace(pending, state="failed", files=files, lock=lock, errors=(error,))


def summarize(states: Sequence[tuple[str, State, str]], *, missing: str = "") -> str:
    """The end of a build of several datasets, in lines: how many are in which state, and which ones were not built.

    states: name, state and, for one that failed, what went wrong; empty where it lacks raw files. missing: how many files those
    are, in words.
    """
    counts = Counter(state for _, state, _ in states)
    words: dict[State, str] = {
        "built": "built",
        "up to date": "up to date",
        "failed": "failed",
        "pending": "not reached",
    }
    parts = [f"{counts[state]} {word}" for state, word in words.items() if counts[state]]
    others = [f"  failed       {name}: {what}" for name, state, what in states if state == "failed" and what]
    lines = [f"{len(states)} datasets: {', '.join(parts)}"]
    if missing:
        lines[0] += f": {missing}" + (f", {len(others)} for other reasons" if others else "")
    lines += others
    lines += [f"  not reached  {name}" for name, state, _ in states if state == "pending"]
    return "\n".join(lines)


def _expected_file(source: Source, key: str, raw: RawSettings) -> ReportedFile:
    file = source.files[key]
    name, url = f"{source.name}/{file.name}", file_url(file.location)
    try:
        planned, known_by = plan_file(source, key, raw).origin, _known_by(source, file, raw)
    except UsageError:
        raise
    except DatasetError:  # a directory in its place, an invalid lock file: the build reports it
        return ReportedFile(name, url, "none", "nobody")
    return ReportedFile(name, url, planned if planned in ("cache", "raw-dir") else "none", known_by)


def _known_by(source: Source, file: RawFile, raw: RawSettings) -> KnownBy:
    files = (file, stored_file(file))
    if any(map(is_pinned, files)):
        return "source"
    return "lock file" if any(find_pin(source.name, file, [raw.lock]).has_digest for file in files) else "nobody"


def _lock_entries(source: Source, files: Sequence[ReportedFile], raw: RawSettings | None) -> dict[str, LockEntry]:
    """The entries of the lock files for what was downloaded and is not pinned by the source."""
    recorded: dict[str, LockEntry] = {}
    try:
        for path in reversed(raw.lock_files if raw else ()):  # the first one decides
            recorded |= read_lock_file(path)
    except SourceError:  # an invalid lock file: the build reports it
        return {}
    obtained = {file.name for file in files if file.origin in ("download", "cache")}
    stored = [stored_file(file) for file in source.files.values() if f"{source.name}/{file.name}" in obtained]
    names = {f"{source.name}/{file.name}" for file in stored if not is_pinned(file)}
    return {name: recorded[name] for name in sorted(names) if name in recorded}


def _since(file: ReportedFile, origin: str) -> Origin:
    """Where a file is from that was found at `origin` after a build. file: as it was expected before."""
    if origin == "raw-dir":
        return "raw-dir"
    return "download" if file.origin == "none" and file.url is not None else "cache"


def _present_file(source: Source, file: ReportedFile, raw: RawSettings) -> ReportedFile:
    try:
        located = locate(source, _key(source, file), replace(raw, offline=True, mirrors=()))
    except (DatasetError, OSError):
        return replace(file, origin="none")
    return replace(file, origin=_since(file, located.origin), sha256=located.sha256, bytes=located.bytes)


def _key(source: Source, file: ReportedFile) -> str:
    return next(key for key, raw_file in source.files.items() if f"{source.name}/{raw_file.name}" == file.name)


def _figures(release_dir: Path, version: str) -> ReportedFigures | None:
    try:
        compared = compare_with_published(release_dir)
    except DatasetError:  # a sample, a dataset without published figures, or damaged statistics, which `check` reports
        return None
    lines = tuple(
        ReportedFigure(
            line["what"],
            line["published"],
            line["ours"],
            None if line["ours"] is None else line["ours"] - line["published"],
            line["agree"],
            line["note"],
        )
        for line in compared["lines"]
    )
    agreeing = sum(line.agree for line in lines)
    return ReportedFigures(
        compared["source"], not version.startswith((VERSIONS, AS_PUBLISHED)), agreeing, len(lines) - agreeing, lines
    )
