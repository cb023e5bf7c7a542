"""One dataset, from raw files to a release: the steps of a build, which every command shares."""

import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from builders.catalogue import Definition, needed_files, requested_splits
from builders.errors import ReleaseError
from cards.completeness import require_complete
from cards.manifest import FORMAT, IDENTITY, Manifest, Recipe, options_as_read
from cards.scores import Scores
from pipelines.process.stages import stage
from pipelines.raw.locations import (
    GOLDEN,
    LocatedFile,
    PlannedFile,
    golden_input,
    locate,
    plan_file,
    require_golden,
)
from pipelines.raw.settings import RawSettings
from pipelines.release import fingerprint, folder, ledger
from pipelines.release.staging import checkpoint_dir, dataset_lock, recover_release, staged_folder


@dataclass(frozen=True)
class BuildSettings:
    """How to build, as the command line says.

    splits: only these (None: all). sample: from the golden sample. limit: the first N raw records. force: build even if up to
    date, and replace a version that got other content, unless it was published. findings: a folder for the rows of all
    findings. ledger: the file of released and published versions. partial: the release may lack rows, and is marked as partial.
    """

    output: Path
    raw: RawSettings
    splits: tuple[str, ...] | None = None
    sample: bool = False
    limit: int | None = None
    force: bool = False
    findings: Path | None = None
    ledger: Path = ledger.LEDGER
    golden: Path = GOLDEN
    partial: bool = False


@dataclass(frozen=True)
class BuildResult:
    """The result for one dataset. notes: what the user should know. seconds: how long it took."""

    dataset: str
    version: str
    state: Literal["built", "up to date"]
    release_dir: Path
    manifest: Manifest
    notes: tuple[str, ...] = ()
    seconds: float = 0


@dataclass(frozen=True)
class BuildPlan:
    """What a build would do.

    state: `up to date`, `would build`, `would download and build`, or `impossible` where a raw file is missing. raw: where
    each raw file would come from, by its name in the source; none for a golden sample.
    """

    dataset: str
    version: str
    state: str
    release_dir: Path
    raw: Mapping[str, PlannedFile]


def make(definition: Definition, version: str, settings: BuildSettings) -> BuildResult:
    """Build one version of one dataset, unless the release in its place is the same already.

    Raises SourceError, RecipeError, FindingsError or ReleaseError; the release that was there before stays. What the dataset
    lacks is one error that lists all of it, before anything is downloaded.
    """
    began = time.monotonic()
    unfinished = require_complete(definition, version, sample=_is_sample(settings, definition))
    dataset = definition.dataset
    splits = requested_splits(definition, settings.splits)
    inputs = _find_inputs(definition, version, splits, settings)
    release_dir = settings.output / dataset.name / version
    planned = _plan_release(definition, version, splits, inputs, settings)
    findings_dir = settings.findings and settings.findings / f"{dataset.name}-{version}"
    with dataset_lock(settings.output, dataset.name):
        recover_release(release_dir)
        old = folder.read_manifest(release_dir)
        if old is not None:
            if not settings.force and is_current(release_dir, old, planned):
                if findings_dir is not None:
                    from cards.kinds import SAMPLE
                    from pipelines.checking.checks import check_release
                    from pipelines.release.finding_files import write_findings

                    write_findings(findings_dir, check_release(release_dir, language_sample=SAMPLE).found)
                return BuildResult(dataset.name, version, "up to date", release_dir, old, (), time.monotonic() - began)
            if old.complete and not planned.complete and not settings.force:
                raise ReleaseError(
                    f"a {'sample' if planned.sample else 'partial release'} would replace the complete release",
                    where=str(release_dir),
                    todo="give another --output, or --force to replace it",
                )
        from pipelines.release.writing import write_again, write_release  # a release that is up to date needs no audit

        scores, notes = _read_scores(release_dir)
        if old is not None and not settings.force and has_same_rows(release_dir, old, planned):
            with staged_folder(release_dir) as staging_dir:
                manifest = write_again(
                    definition, planned, old, release_dir, staging_dir, findings_dir=findings_dir, scores=scores
                )
            notes = (*notes, f"{manifest.name}: rows unchanged, card and manifest rewritten")
        else:
            checkpoints = checkpoint_dir(settings.raw.cache, planned) if dataset.checkpoints else nullcontext()
            with checkpoints as own_dir, staged_folder(release_dir) as staging_dir:
                raw = {key: found.raw for key, found in inputs.items()}
                manifest = write_release(
                    definition, planned, raw, staging_dir, own_dir, findings_dir=findings_dir, scores=scores
                )
                _refuse_other_content(release_dir, old, manifest, settings)
    if scores is not None and scores.content_sha256 != manifest.content_sha256:
        notes = (f"{manifest.name}: other rows, so scores.json was removed: embedding-datasets score {manifest.name}",)
    notes = (*unfinished, *notes, *_record(manifest, settings.ledger))
    return BuildResult(dataset.name, version, "built", release_dir, manifest, notes, time.monotonic() - began)


def _read_scores(release_dir: Path) -> tuple[Scores | None, tuple[str, ...]]:
    """The scores of the release in its place, and a note where they cannot be read."""
    try:
        return folder.read_scores(release_dir), ()
    except ReleaseError as error:
        return None, (f"{release_dir / folder.SCORES}: {error.what}, so it was removed",)


def plan_build(definition: Definition, version: str, settings: BuildSettings) -> BuildPlan:
    """What make() would do; nothing is downloaded or written."""
    require_complete(definition, version, sample=_is_sample(settings, definition))
    splits = requested_splits(definition, settings.splits)
    release_dir = settings.output / definition.dataset.name / version
    source = definition.source
    keys = () if settings.sample else needed_files(definition, splits, version)
    raw = {source.files[key].name: plan_file(source, key, settings.raw) for key in keys}
    origins = {file.origin for file in raw.values()}
    if origins & {"missing", "by-hand"}:
        state = "impossible"
    elif origins & {"download", "mirror"}:
        state = "would download and build"
    else:
        inputs = _find_inputs(definition, version, splits, settings)
        planned = _plan_release(definition, version, splits, inputs, settings)
        old = folder.read_manifest(release_dir)
        current = old is not None and not settings.force and is_current(release_dir, old, planned)
        state = "up to date" if current else "would build"
    return BuildPlan(definition.dataset.name, version, state, release_dir, raw)


def _find_inputs(
    definition: Definition, version: str, splits: tuple[str, ...], settings: BuildSettings
) -> dict[str, LocatedFile]:
    """The raw files that some splits of a version need, by key, present and verified."""
    keys, source = needed_files(definition, splits, version), definition.source
    if settings.sample:
        require_golden(source, keys, settings.golden)
    found: dict[str, LocatedFile] = {}
    with stage("raw files", total=len(keys), unit="files") as advance:
        for key in keys:
            found[key] = (
                golden_input(source, key, settings.golden, limit=settings.limit)
                if settings.sample
                else locate(source, key, settings.raw, limit=settings.limit)
            )
            advance(1)
    return found


def _plan_release(
    definition: Definition,
    version: str,
    splits: tuple[str, ...],
    inputs: dict[str, LocatedFile],
    settings: BuildSettings,
) -> Manifest:
    """What is known of a release before its build."""
    dataset, module = definition.dataset, definition.entry.module
    unpinned = _unpinned(settings, definition)
    options = options_as_read(dataset.options(version, sample=settings.sample or bool(unpinned)))
    options |= {"partial": True} if settings.partial else {}
    return Manifest(
        format=FORMAT,
        dataset=dataset.name,
        version=version,
        source=definition.source.name,
        task=dataset.task.type.name,
        content_sha256="",
        tables=(),
        splits=splits,
        sample=_is_sample(settings, definition),
        partial=settings.partial or splits != dataset.task.splits or settings.limit is not None,
        limit=settings.limit,
        unpinned=tuple(found.name for found in inputs.values() if found.name in unpinned),
        raw=tuple(found.entry for found in inputs.values()),
        recipe=Recipe(module, options, fingerprint.recipe_sha256(module)),
        report_sha256=fingerprint.report_sha256(definition.source.name),
        prompts=dataset.prompts,
        dropped=(),
        findings=(),
    )


def _unpinned(settings: BuildSettings, definition: Definition) -> set[str]:
    """The raw files of a source, as in the source, that need not be the pinned ones."""
    files = (name.partition("/") for name in settings.raw.unpinned)
    return {name for source, _, name in files if source == definition.source.name}


def _is_sample(settings: BuildSettings, definition: Definition) -> bool:
    return settings.sample or settings.limit is not None or bool(_unpinned(settings, definition))


def is_current(release_dir: Path, manifest: Manifest, planned: Manifest) -> bool:
    """Whether a release is what the planned build would give, with all of its files."""
    is_same = all(getattr(manifest, name) == getattr(planned, name) for name in IDENTITY)
    return is_same and not folder.find_damage(release_dir, manifest)


def has_same_rows(release_dir: Path, old: Manifest, planned: Manifest) -> bool:
    """Whether the planned build would give a release again with the same rows, if with other documents."""
    same = {planned.recipe.sha256, *dict(fingerprint.earlier_recipes(planned.dataset, planned.version)).values()}
    unchanged = replace(
        planned, recipe=replace(planned.recipe, sha256=old.recipe.sha256), report_sha256=old.report_sha256
    )
    return (
        old.recipe.sha256 in same
        and is_current(release_dir, old, unchanged)
        and not folder.verify_release(release_dir, old)
    )


def _record(manifest: Manifest, path: Path) -> tuple[str, ...]:
    """Write a release into the ledger; returns a note where that changed it, or should have and could not."""
    entry, part = ledger.ledger_entry(manifest), ledger.ledger_part(manifest)
    if part is not None and ledger.record_entry(manifest.dataset, manifest.version, part, path):
        return (f"{manifest.name}: its splits recorded as a part in {path.name}: commit it",)
    if entry is None:
        return ()
    if ledger.record_entry(manifest.dataset, manifest.version, entry, path):
        return (f"{manifest.name}: content hash recorded in {path.name}: commit it",)
    known = ledger.find_entry(manifest.dataset, manifest.version, path)
    if known is not None and known.content_sha256 == manifest.content_sha256:
        return ()
    return (f"{manifest.name}: content hash not recorded: the ledger changes only in a checkout of the repository",)


def _refuse_other_content(release_dir: Path, old: Manifest | None, new: Manifest, settings: BuildSettings) -> None:
    """The same version never gets other rows than the release in its place or the ledger has.

    --force replaces a version that was never published.
    """
    if not new.complete:
        return
    recorded = ledger.find_entry(new.dataset, new.version, settings.ledger)
    in_place = old if old is not None and old.complete else None
    others: list[tuple[Manifest | ledger.LedgerEntry | None, str]]
    repos = ledger.find_repositories(new.dataset, new.version, settings.ledger)
    if recorded is not None and repos:
        todo, others = "give the change a new version", [(recorded, f"published as {', '.join(repos)}")]
    elif settings.force:
        return
    else:
        todo = "give the change a new version; or --force, if this version was never published"
        others = [(in_place, str(release_dir)), (recorded, str(settings.ledger))]
    for other, where in others:
        if other is not None and other.content_sha256 != new.content_sha256:
            from pipelines.release.comparison import describe_difference

            raise ReleaseError(
                f"{new.name} would get other rows than before",
                where=where,
                found=f"content {new.content_sha256[:12]}: {describe_difference(other.tables, new.tables)}",
                expected=f"content {other.content_sha256[:12]}",
                todo=todo,
            )
