"""What a check finds out: of a release of ours, against its manifest; of any other dataset, as far as it can be read."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from builders import catalogue
from builders.errors import ReleaseError
from builders.tasks import layouts
from pipelines.audit import integrity, known_findings, quality
from pipelines.audit.languages import SAMPLE
from pipelines.audit.tables import count_rows
from pipelines.foreign import data_files, datasets, salvage
from pipelines.hub import client
from pipelines.raw.locations import default_cache
from pipelines.release import comparison, staging
from pipelines.release.verification import verify_release

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from builders import tasks
    from cards.manifest import Finding
    from pipelines.audit.tables import Frames
    from pipelines.foreign.datasets import ForeignDataset, ForeignOptions


@dataclass(frozen=True)
class CheckResult:
    """What a check came to.

    report: what `--json` prints. task, frames: the rows that were audited, none where none could be. rows: all rows. found: the
    findings as the report tells them, in its order, at the places of frames. real: what the report calls these.
    """

    report: dict[str, Any]
    task: tasks.Task
    frames: Frames
    rows: Frames
    found: tuple[Finding, ...]
    real: Mapping[tuple[str, str], tuple[str, str]]


def check_release(place: Path, *, language_sample: int | None) -> CheckResult:
    """A release of ours: its files and rows verified against its manifest, and audited afresh.

    language_sample: see pipelines.audit.quality.audit_rows.

    Raises ReleaseError for a folder that is no release of a dataset of the catalogue.
    """

    manifest = comparison.manifest_of(place)
    entry = catalogue.entries().get(manifest["dataset"])
    if entry is None:
        raise ReleaseError("a release of a dataset that the catalogue does not have", where=str(place))
    built = catalogue.load(entry)
    task, splits = built.dataset.task, tuple(manifest["splits"])
    problems = verify_release(place, manifest)
    rows: Frames = {} if problems else staging.frames_of(place, manifest)
    frames: Frames = {}
    found: list[Finding] = []
    if rows:
        found = integrity.check_integrity(task, rows, splits, sample=manifest["sample"])
        if not any(finding.severity == "error" for finding in found):
            frames = rows
            found += quality.audit_rows(task, frames, splits, built.dataset.languages, language_sample=language_sample)
        asked_alike = language_sample == SAMPLE  # else the manifest, which counts in the sample, has other numbers
        told, seen = (_counts(one, languages=asked_alike) for one in (manifest["findings"], map(asdict, found)))
        if told != seen:
            problems.append(
                "the findings of the manifest are not those of the rows: it was made by another version of the tool"
            )
    version = built.dataset.versions.get(manifest["version"])
    if version and not manifest["sample"]:
        found = known_findings.explain_findings(found, version.known)
    tables = [
        {"config": table["config"], "split": table["split"], "rows": table["rows"],
         "columns": {column["name"]: column["type"] for column in table["columns"]}}
        for table in manifest["tables"]
    ]  # fmt: skip
    head = {key: manifest[key] for key in ("dataset", "version", "content_sha256", "sample", "partial")}
    report = head | {"task": task.type.name, "languages": list(built.dataset.languages), "tables": tables}
    return CheckResult(_report(place, report, problems, found), task, frames, rows, tuple(found), {})


def _counts(findings: Iterable[Mapping[str, Any]], *, languages: bool) -> dict[tuple[str, ...], int]:
    """The count of every finding by kind and place; `languages`: also of texts in a wrong one."""
    return {
        (one["kind"], one["config"], one["split"], one["column"]): one["count"]
        for one in findings
        if languages or one["kind"] != "wrong_language"
    }


def check_folder(folder: Path, name: str, asked: ForeignOptions, *, language_sample: int | None) -> list[CheckResult]:
    """Any dataset in one of the eight layouts, one result a subset.

    name: what to call it. asked: what is known of it.

    Raises SourceError where a table cannot be read or is none, UsageError where it is not clear which task it is of.
    """

    paths = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    card = folder / data_files.CARD
    head = data_files.parse_front_matter(card.read_bytes() if card.is_file() else b"", str(folder))
    files = data_files.resolve_tables(paths, head, str(folder), asked.subsets)
    try:
        return [
            _foreign(folder, name, one, language_sample) for one in datasets.read_datasets(folder, files, head, asked)
        ]
    except (pl.exceptions.PolarsError, OSError) as error:
        used = [folder / path for splits in files.values() for own in splits.values() for path in own]
        raise data_files.unreadable_file(used, error) from error


def _foreign(folder: Path, name: str, dataset: ForeignDataset, language_sample: int | None) -> CheckResult:

    found, sound = salvage.audit_foreign(dataset, language_sample=language_sample)
    head = {
        "dataset": name, "subset": dataset.subset, "task": dataset.task.type.name, "languages": list(dataset.languages),
        "tables": _tables(dataset), "audited": list(sound.task.splits) if sound else [], "notes": list(dataset.notes),
    }  # fmt: skip
    pairs = salvage.at_own_locations(dataset, found)
    report = _report(folder, head, [], [told for _, told in pairs])
    task, frames = (sound.task, sound.frames) if sound else (dataset.task, {})
    return CheckResult(report, task, frames, dataset.frames, tuple(one for one, _ in pairs), dataset.real)


def _tables(dataset: ForeignDataset) -> list[dict[str, Any]]:
    """Every table of a dataset as the set calls it, one that several splits share once, with its rows and columns."""

    tables = {}
    for layout in layouts(dataset.task):
        for split, frame in dataset.frames.get(layout.config, {}).items():
            real = dataset.real[layout.config, split]
            tables[real] = {
                "config": real[0], "split": real[1], "rows": count_rows(frame),
                "columns": dict(dataset.schemas[real]),
            }  # fmt: skip
    return list(tables.values())


def _report(place: Path, head: Mapping[str, Any], problems: list[str], found: Sequence[Finding]) -> dict[str, Any]:
    """What is told of every dataset alike; of one that is not ours there is no version and no content hash."""
    alike: dict[str, Any] = {
        "path": str(place), "dataset": "", "subset": "", "version": None, "revision": None, "content_sha256": None,
        "sample": False, "partial": False, "task": "", "languages": [], "tables": [], "notes": [],
    }  # fmt: skip
    findings = [asdict(finding) for finding in found]
    defects = [finding for finding in findings if finding["severity"] == "error"]
    return alike | dict(head) | {"problems": problems, "defects": defects, "findings": findings}


def fetch_dataset(repository: str, revision: str, subsets: Sequence[str]) -> Path:
    """The folder in the cache that holds a dataset of the Hub at a revision: a release of ours, or the data files of any other.

    Raises SourceError where the Hub does not give it, ReleaseError where it is only a part of a release.
    """

    hub, cache = client.connect(), default_cache()
    at = client.require_snapshot(hub, repository, revision)
    if staging.MANIFEST in at.digests:
        return client.fetch_release(hub, repository, at, cache)
    where = f"{repository} at {at.sha[:12]}"
    card = client.read_file(hub, repository, at, data_files.CARD)
    files = data_files.resolve_tables(at.digests, data_files.parse_front_matter(card or b"", where), where, subsets)
    paths = [path for splits in files.values() for own in splits.values() for path in own]
    return client.fetch_files(hub, repository, at, [*([data_files.CARD] if card else []), *paths], cache)
