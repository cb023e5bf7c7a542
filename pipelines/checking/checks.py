"""Checks a release against its manifest, and audits the rows of releases and of any other dataset."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from builders import limits, tasks
from builders.catalogue import Definition, require_one
from builders.errors import ReleaseError, UsageError
from cards.kinds import KINDS, SAMPLE
from cards.manifest import SEVERITIES, Finding, Manifest
from pipelines.audit import integrity, quality
from pipelines.audit.findings import FindingRows
from pipelines.audit.rules import NO_RULES, RULES_FILE, Rules, find_violations, propose_rules, weigh
from pipelines.audit.tables import Frames, count_rows
from pipelines.checking.data_files import belongs_to, list_files
from pipelines.checking.datasets import (
    ForeignDataset,
    ForeignOptions,
    Profiler,
    find_files,
    read_datasets,
    read_tables,
    reading_frames,
    reading_rows,
    with_rules,
)
from pipelines.checking.salvage import at_own_locations, audit_foreign
from pipelines.checking.targets import Fetched, Target, dataset_name, define_release, locate_target
from pipelines.checking.verdict import judge
from pipelines.process import installation
from pipelines.release import fingerprint, folder
from pipelines.release.finding_files import reported_before
from pipelines.release.loading import find_loading_faults
from pipelines.release.resolution import CARD
from pipelines.release.statements import Verified, contradictions, describe_statement


@dataclass(frozen=True)
class CheckResult:
    """The result of a check.

    report: what `--json` prints; the command fills `failed_on`. findings: those of the report, in its order. task: the dataset's.
    frames: the rows that were audited, empty where none could be. rows: all rows. found: the findings with their rows, at the
    locations of `frames`. own_locations: for a dataset that is not a release, its own config and split for each of these.
    tables: by config and split, as its files have them.
    """

    report: dict[str, Any]
    findings: tuple[Finding, ...]
    task: tasks.Task
    frames: Frames
    rows: Frames
    found: tuple[FindingRows, ...]
    own_locations: Mapping[tuple[str, str], tuple[str, str]]
    tables: Frames


def finding_folder(report: Mapping[str, Any]) -> str:
    """The name of the folder for the rows of a dataset's findings, from its report: `cedr-classification-2.0.0`."""
    parts = (report["dataset"].replace("/", "-"), report["subset"], report["version"] or "")
    return re.sub(r"[^\w.-]", "_", "-".join(filter(None, parts))).lstrip(".") or "dataset"


def check_release(
    release_dir: Path,
    *,
    language_sample: int | None,
    fetched: Fetched | None = None,
    statement: Verified | None = None,
    rules: Rules = NO_RULES,
    profiler: Profiler | None = None,
) -> CheckResult:
    """Verify the files and rows of a release against its manifest, and what `load_dataset` reads; audit the rows again.

    language_sample: see pipelines.audit.quality.audit_tables. fetched: where the release is from, if it is from the Hub: its
    folder then has only the files of the release. statement: one whose signature was verified, to compare with the release.
    rules: those of a user. profiler: finds what is learned from the rows, which no manifest has.

    Raises ReleaseError for a folder that is not a release of a dataset of the catalogue, UsageError for a rule without a column.
    """
    manifest, definition = define_release(release_dir)
    task = definition.dataset.task
    problems = folder.verify_release(release_dir, manifest)
    rows: Frames = {} if problems else folder.open_tables(release_dir, manifest.tables)
    loading = _loading_faults(release_dir, manifest, fetched)
    loaded = {fault.partition(" would be loaded ")[0] for fault in loading}  # files that both name are named once
    problems = [
        problem for problem in problems if problem.removesuffix(" is in no table of the manifest") not in loaded
    ]
    problems += loading + folder.edited_documents(release_dir, manifest)
    found, audited = _audit(definition, manifest, rows, language_sample) if rows else ([], False)
    findings = [found_rows.finding for found_rows in found]
    # A build detects the languages of a sample: the counts of any other number of texts differ from the manifest's.
    notes = [describe_statement(statement)] if statement else []
    problems += contradictions(statement.statement, release_dir, manifest) if statement else []
    expected, actual = (_counts(some, languages=language_sample == SAMPLE) for some in (manifest.findings, findings))
    if rows and actual != expected:
        if manifest.report_sha256 == fingerprint.report_sha256(definition.source.name):
            problems.append("the findings in the manifest are not those of the rows")
        else:
            notes.append(
                "another version of this package wrote the findings in the manifest; these are of this version"
            )
    version = definition.dataset.versions.get(manifest.version)
    if version and not manifest.sample:
        findings = quality.explain_findings(findings, version.known)
    learned, sentences = profiler(task, rows) if profiler and audited else ([], [])
    found, notes = found + learned, notes + sentences
    findings = quality.declare_by_design(findings + [rows.finding for rows in learned], definition.dataset.by_design)
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
    pairs = _apply_rules(rules, rows, list(zip(found, findings, strict=True)))
    findings = [finding for _, finding in pairs]
    report = make_report(release_dir, head, problems, findings)
    listed = tuple(replace(found_rows, finding=finding) for found_rows, finding in pairs)
    return CheckResult(report, tuple(findings), task, rows if audited else {}, rows, listed, {}, rows)


def _check_without_builder(
    release_dir: Path,
    options: ForeignOptions,
    *,
    language_sample: int | None,
    fetched: Fetched | None,
    statement: Verified | None,
) -> list[CheckResult]:
    """Verify a release as check_release does, as far as its manifest says what it must be, and audit its rows as any others.

    Raises ReleaseError for data files that are not those of the manifest.
    """
    manifest = folder.require_manifest(release_dir)
    if damage := folder.verify_release(release_dir, manifest):
        raise ReleaseError(
            "the release is damaged", where=str(release_dir), found="; ".join(damage), todo="build or fetch it again"
        )
    problems = _loading_faults(release_dir, manifest, fetched) + folder.edited_documents(release_dir, manifest)
    problems += contradictions(statement.statement, release_dir, manifest) if statement else []
    notes = [describe_statement(statement)] if statement else []
    words = "findings are not compared with the manifest, nor `dataset_info` without the package datasets"
    notes.append(f"{installation.DISTRIBUTION} lacks the builder: {words}")
    kept = {finding.kind: finding.why for finding in manifest.findings if finding.by_design and finding.kind in KINDS}
    rules = msgspec.structs.replace(options.rules, by_design=kept | options.rules.by_design)
    options = replace(options, task=manifest.task, rules=rules)
    results = check_dataset(release_dir, manifest.dataset, options, language_sample=language_sample)
    for result in results:
        head = {name: getattr(manifest, name) for name in ("version", "content_sha256", "sample", "partial")}
        head |= {"notes": [*notes, *result.report["notes"]]}
        result.report.update(make_report(release_dir, result.report | head, problems, result.findings))
    return results


def _apply_rules(
    rules: Rules, tables: Frames, pairs: Sequence[tuple[FindingRows, Finding]]
) -> list[tuple[FindingRows, Finding]]:
    """The findings with their rows, as the rules weigh them, and those about rows that violate a rule.

    tables: as the files have them; none of a damaged release.
    """
    violations = find_violations(rules.rules, tables) if tables else []
    return [
        (replace(rows, finding=weigh(rows.finding, rules)), weigh(own, rules))
        for rows, own in (*pairs, *((violation, violation.finding) for violation in violations))
    ]


def write_rules(results: Sequence[CheckResult], path: Path) -> None:
    """Write rules that the data of results keep. Raises UsageError where there is such a file: it is never replaced."""
    tables = {config: splits for result in results for config, splits in result.tables.items()}
    findings = [finding for result in results for finding in result.findings]
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(propose_rules(tables, results[0].report["languages"], findings))
    except FileExistsError:
        raise UsageError("there are rules already", where=str(path), todo="add to them, or move them away") from None


def _loading_faults(release_dir: Path, manifest: Manifest, fetched: Fetched | None) -> list[str]:
    """How what `load_dataset` reads of a release in a folder, or of the repository it is from, differs from its manifest."""
    if not (release_dir / CARD).is_file():
        return []  # a missing card is reported as such
    card = limits.read_at_most(release_dir / CARD, limits.MAX_CARD)
    if fetched is not None:
        return find_loading_faults(fetched.paths, card, manifest, fetched.repo)
    return find_loading_faults(list_files(release_dir), card, manifest)


def _audit(
    definition: Definition, manifest: Manifest, rows: Frames, language_sample: int | None
) -> tuple[list[FindingRows], bool]:
    """The findings of a release's rows, and whether the rows were audited: rows with defects are not."""
    dataset, splits = definition.dataset, manifest.splits
    found = integrity.audit_integrity(dataset.task, rows, splits, sample=manifest.sample)
    if any(found_rows.finding.severity == "error" for found_rows in found):
        return found, False
    found += quality.audit_tables(dataset.task, rows, splits, dataset.languages, language_sample=language_sample)
    return found + reported_before(manifest), True


def _counts(findings: Iterable[Finding], *, languages: bool) -> dict[tuple[str, str, str, str], int]:
    """The counts of findings by kind, config, split and column. languages: whether to include `wrong_language`."""
    return {
        (finding.kind, finding.config, finding.split, finding.column): finding.count
        for finding in findings
        if languages or finding.kind != "wrong_language"
    }


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
            require_one(name, datasets, lambda dataset: dataset.subset, "subsets", "subset=")
        return [check_foreign(path, name, dataset, options, language_sample) for dataset in datasets]


def check_tables(
    tables: dict[str, dict[str, pl.LazyFrame]], name: str, options: ForeignOptions, *, language_sample: int | None
) -> CheckResult:
    """Audit tables in memory, by config and split, as those of a dataset that is not a release. name: for the report.

    Raises SourceError where a table cannot be read or none has a task type, UsageError where the task type is ambiguous or there
    are several subsets.
    """
    with reading_frames(name):
        datasets = read_frames(tables, name, options)
        dataset = require_one(name, datasets, lambda dataset: dataset.subset, "subsets", "subset=")
        return check_foreign(name, name, dataset, options, language_sample)


def read_frames(
    tables: Mapping[str, Mapping[str, pl.LazyFrame]], name: str, options: ForeignOptions
) -> list[ForeignDataset]:
    """The datasets in tables in memory, one for each subset; only those of the options, if they name some.

    Raises UsageError where no config belongs to a subset that is named, and what read_tables raises.
    """
    selected = {
        config: dict(splits)
        for config, splits in tables.items()
        if not options.subsets or any(belongs_to(config, subset) for subset in options.subsets)
    }
    if not selected:
        raise UsageError(f"no subset {options.subsets[0]!r}", where=name, found=f"configs: {', '.join(tables)}")
    return read_tables(selected, name, {}, options, {})


def check_foreign(
    where: Path | str, name: str, dataset: ForeignDataset, options: ForeignOptions, language_sample: int | None
) -> CheckResult:
    """Audit a dataset that is not a release, as check_dataset does. where, name: for the report."""
    findings, audited = audit_foreign(dataset, language_sample=language_sample)
    learned, sentences = options.profiler(audited.task, audited.frames) if options.profiler and audited else ([], [])
    head = {
        "dataset": name,
        "subset": dataset.subset,
        "task": dataset.task.type.name,
        "languages": list(dataset.languages),
        "tables": _describe_tables(dataset),
        "audited": list(audited.task.splits) if audited else [],
        "notes": [*dataset.notes, *sentences],
    }
    pairs = _apply_rules(options.rules, dataset.tables, at_own_locations(dataset, [*findings, *learned]))
    pairs.sort(key=lambda pair: SEVERITIES.index(pair[1].severity))
    own_findings = tuple(own for _, own in pairs)
    report = make_report(where, head, [], own_findings)
    task, frames = (audited.task, audited.frames) if audited else (dataset.task, {})
    found = tuple(finding for finding, _ in pairs)
    return CheckResult(report, own_findings, task, frames, dataset.frames, found, dataset.own_locations, dataset.tables)


def _describe_tables(dataset: ForeignDataset) -> list[dict[str, Any]]:
    """Location, rows and columns of every table, under the dataset's own names; a table that several splits share occurs once."""
    tables: dict[tuple[str, str], dict[str, Any]] = {}
    for layout in tasks.layouts(dataset.task):
        for split, frame in dataset.frames.get(layout.config, {}).items():
            own = dataset.own_locations[layout.config, split]
            # Of queries that splits share, each has those that it judges.
            shared = tables[own]["rows"] if own in tables and layout.config == "queries" else 0
            tables[own] = {
                "config": own[0],
                "split": own[1],
                "rows": shared + count_rows(frame),
                "columns": dict(dataset.schemas[own]),
            }
    return list(tables.values())


def check_target(
    target: Target,
    options: ForeignOptions,
    *,
    language_sample: int | None,
    single: bool = False,
    statement: Verified | None = None,
) -> list[CheckResult]:
    """The results for a target, one for each subset of a dataset that is not a release.

    options: for such a dataset; without rules, those of a file beside data on this machine.

    single: several subsets are an error, before any is audited. statement: to compare with a release.

    Raises what locate_target, check_release and check_dataset raise, UsageError for a statement and anything but a release.
    """
    path, fetched = (target.file, None) if target.file else locate_target(target, options.subsets)
    beside = (path.parent if target.file else path) / RULES_FILE
    if fetched is None and options.rules == NO_RULES and beside.is_file():
        options = with_rules(options, beside)
    is_release = (path / folder.MANIFEST).exists()
    if is_release and installation.CHECK_ALONE:
        results = _check_without_builder(
            path, options, language_sample=language_sample, fetched=fetched, statement=statement
        )
    elif is_release:
        results = [
            check_release(
                path,
                language_sample=language_sample,
                fetched=fetched,
                statement=statement,
                rules=options.rules,
                profiler=options.profiler,
            )
        ]
    else:
        if statement is not None:
            raise UsageError(
                "a statement is about a release",
                where=target.name,
                todo="leave out --statement, or name a release of this package",
            )
        results = check_dataset(
            path, dataset_name(target, path), options, language_sample=language_sample, single=single
        )
    for result in results:
        result.report.update(path=target.name, revision=fetched.folder.name if fetched else None)
    return results
