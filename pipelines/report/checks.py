"""Checks a release against its manifest, and audits the rows of releases and of any other dataset."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from builders import catalogue, limits, tasks
from builders.catalogue import Definition
from builders.errors import ReleaseError
from cards.front_matter_parser import parse_front_matter
from cards.manifest import Finding, Manifest
from pipelines.audit import integrity, known_findings, quality
from pipelines.audit.findings import FindingRows
from pipelines.audit.languages import SAMPLE
from pipelines.audit.tables import Frames
from pipelines.foreign.data_files import all_paths, resolve_tables
from pipelines.foreign.folders import list_files
from pipelines.hub import client, repository
from pipelines.raw.cache import default_cache
from pipelines.release import fingerprint, folder
from pipelines.release.loading import find_loading_faults
from pipelines.release.reported import reported_before
from pipelines.release.verification import verify_release
from pipelines.report.verdict import judge
from pipelines.resolution import CARD


@dataclass(frozen=True)
class CheckResult:
    """The result of a check.

    report: what `--json` prints; the command fills `failed_on`. task: the dataset's. frames: the rows that were audited, empty
    where none could be. rows: all rows. found: the findings of the report, in its order, with their rows, at the locations of
    `frames`. own_locations: for a dataset that is not a release, its own config and split for each of these.
    """

    report: dict[str, Any]
    task: tasks.Task
    frames: Frames
    rows: Frames
    found: tuple[FindingRows, ...]
    own_locations: Mapping[tuple[str, str], tuple[str, str]]


def finding_folder(report: Mapping[str, Any]) -> str:
    """The name of the folder for the rows of a dataset's findings, from its report: `cedr-classification-2.0.0`."""
    parts = (report["dataset"].replace("/", "-"), report["subset"], report["version"] or "")
    return re.sub(r"[^\w.-]", "_", "-".join(filter(None, parts))).lstrip(".") or "dataset"


@dataclass(frozen=True)
class Fetched:
    """A dataset of the Hub in the cache. folder: named after its commit. repo: `ORG/NAME`. paths: all files of the repository."""

    folder: Path
    repo: str
    paths: tuple[str, ...]


def check_release(release_dir: Path, *, language_sample: int | None, fetched: Fetched | None = None) -> CheckResult:
    """Verify the files and rows of a release against its manifest, and what `load_dataset` reads; audit the rows again.

    language_sample: see pipelines.audit.quality.audit_tables. fetched: where the release is from, if it is from the Hub: its
    folder then has only the files of the release.

    Raises ReleaseError for a folder that is not a release of a dataset of the catalogue.
    """
    manifest = folder.require_manifest(release_dir)
    entry = catalogue.entries().get(manifest.dataset)
    if entry is None:
        todo = "update this package, or check a copy of the data files without manifest.json"
        raise ReleaseError("unknown dataset", where=str(release_dir), found=manifest.dataset, todo=todo)
    definition = catalogue.load(entry)
    task = definition.dataset.task
    problems = verify_release(release_dir, manifest)
    rows: Frames = {} if problems else folder.scan_tables(release_dir, manifest.tables)
    loading = _loading_faults(release_dir, manifest, fetched)
    loaded = {fault.partition(" would be loaded ")[0] for fault in loading}  # files that both name are named once
    problems = [one for one in problems if one.removesuffix(" is in no table of the manifest") not in loaded]
    problems += loading + folder.edited_documents(release_dir, manifest)
    found, audited = _audit(definition, manifest, rows, language_sample) if rows else ([], False)
    findings = [one.finding for one in found]
    # A build detects the languages of a sample: the counts of any other number of texts differ from the manifest's.
    notes = []
    if rows and not _same_counts(manifest.findings, findings, languages=language_sample == SAMPLE):
        if manifest.report_sha256 == fingerprint.report_sha256(definition.source.name):
            problems.append("the findings in the manifest are not those of the rows")
        else:
            notes.append(
                "another version of this package wrote the findings in the manifest; these are of this version"
            )
    version = definition.dataset.versions.get(manifest.version)
    if version and not manifest.sample:
        findings = known_findings.explain_findings(findings, version.known)
    head = {
        "dataset": manifest.dataset,
        "version": manifest.version,
        "content_sha256": manifest.content_sha256,
        "sample": manifest.sample,
        "partial": manifest.partial,
        "notes": notes,
        "task": task.type.name,
        "languages": list(definition.dataset.languages),
        "tables": [
            {
                "config": table.config,
                "split": table.split,
                "rows": table.rows,
                "columns": {column.name: column.type for column in table.columns},
            }
            for table in manifest.tables
        ],
    }
    report = make_report(release_dir, head, problems, findings)
    found = [replace(one, finding=finding) for one, finding in zip(found, findings, strict=True)]
    return CheckResult(report, task, rows if audited else {}, rows, tuple(found), {})


def _loading_faults(release_dir: Path, manifest: Manifest, fetched: Fetched | None) -> list[str]:
    """How what `load_dataset` reads of a release in a folder, or of the repository it is from, differs from its manifest."""
    if not (release_dir / CARD).is_file():
        return []  # a missing card is reported as such
    card = limits.read_at_most(release_dir / CARD, limits.MAX_CARD)
    if fetched is not None:
        return find_loading_faults(fetched.paths, card, manifest, fetched.repo)
    return find_loading_faults(list_files(release_dir), card, manifest)


def fetch_dataset(repo: str, revision: str, subsets: Sequence[str]) -> Fetched:
    """A dataset of the Hub at a revision, in the cache: a release, or the data files of any other dataset.

    Raises SourceError where the Hub does not have it, ReleaseError where it holds only part of a release.
    """
    hub, cache = client.connect(), default_cache()
    snapshot = repository.require_snapshot(hub, repo, revision)
    if folder.MANIFEST in snapshot.digests:
        return Fetched(repository.fetch_release(hub, repo, snapshot, cache), repo, tuple(snapshot.digests))
    where = f"{repo} at {snapshot.sha[:12]}"
    card = repository.read_file(hub, repo, snapshot, CARD)
    files = resolve_tables(snapshot.digests, parse_front_matter(card or b"", where), where, subsets)
    paths = [*([CARD] if card else []), *all_paths(files)]
    return Fetched(repository.fetch_files(hub, repo, snapshot, paths, cache), repo, tuple(snapshot.digests))


def _audit(
    definition: Definition, manifest: Manifest, rows: Frames, language_sample: int | None
) -> tuple[list[FindingRows], bool]:
    """The findings of a release's rows, and whether the rows were audited: rows with defects are not."""
    dataset, splits = definition.dataset, manifest.splits
    found = integrity.audit_integrity(dataset.task, rows, splits, sample=manifest.sample)
    if any(one.finding.severity == "error" for one in found):
        return found, False
    found += quality.audit_tables(dataset.task, rows, splits, dataset.languages, language_sample=language_sample)
    return found + reported_before(manifest), True


def _same_counts(expected: Iterable[Finding], actual: Iterable[Finding], *, languages: bool) -> bool:
    """Whether two lists of findings have the same counts. languages: whether to compare `wrong_language` too."""

    def counts(findings: Iterable[Finding]) -> dict[tuple[str, str, str, str], int]:
        return {
            (finding.kind, finding.config, finding.split, finding.column): finding.count
            for finding in findings
            if languages or finding.kind != "wrong_language"
        }

    return counts(expected) == counts(actual)


def make_report(
    where: Path | str, head: Mapping[str, Any], problems: list[str], findings: Sequence[Finding]
) -> dict[str, Any]:
    """A report with all its keys; a dataset that is not a release has no version and no content hash."""
    common: dict[str, Any] = {
        "path": str(where), "dataset": "", "subset": "", "version": None, "revision": None, "content_sha256": None,
        "sample": False, "partial": False, "task": "", "languages": [], "tables": [], "notes": [],
    }  # fmt: skip
    listed = [asdict(finding) for finding in findings]
    defects = [finding for finding in listed if finding["severity"] == "error"]
    report = common | dict(head)
    verdict = judge(report["task"], findings, problems, sample=report["sample"])
    return report | {
        "verdict": asdict(verdict), "failed_on": [], "problems": problems, "defects": defects, "findings": listed,
    }  # fmt: skip
