"""One dataset, from raw files to a release in its place: the walk that every command of the package shares."""

from __future__ import annotations

import hashlib
import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from builders import tasks
from builders.errors import FindingsError, ReleaseError, SourceError, UsageError
from builders.spec import Raw, RawFiles
from cards.render import render
from pipelines.audit import integrity, known_findings, languages, quality, statistics, text_hashes
from pipelines.raw.locations import locate, plan_file
from pipelines.release import fingerprint, ledger, parquet, staging
from pipelines.release.checkpoints import checkpoint_dir
from pipelines.release.content_hash import dataset_sha256
from pipelines.release.parquet import hash_table
from pipelines.terminal import watched

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl

    from builders.catalogue import Definition
    from builders.spec import Tables
    from cards.manifest import Finding
    from pipelines.raw.locations import RawSettings
    from pipelines.release.parquet import Table

GOLDEN = Path(__file__).parent.parent / "tests" / "golden"


@dataclass(frozen=True)
class BuildSettings:
    """What the command line says about how to build.

    splits: only these (None: all). sample: from the golden sample. limit: the first so many raw records. force: build even
    if up to date, and replace a version that got other content, unless it was published. ledger: the file that knows released
    and published versions.
    """

    output: Path
    places: RawSettings
    splits: tuple[str, ...] | None = None
    sample: bool = False
    limit: int | None = None
    force: bool = False
    ledger: Path = ledger.LEDGER
    golden: Path = GOLDEN


@dataclass(frozen=True)
class BuildResult:
    """What became of one dataset: `built` or `up to date`, where it lies, and its manifest; notes for the user."""

    dataset: str
    version: str
    state: str
    place: Path
    manifest: dict[str, Any]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Input:
    """One raw file as a build takes it: the handle for the recipe, and what the manifest says of it."""

    raw: Raw
    entry: dict[str, Any] = field(hash=False)


def make(built: Definition, version: str, settings: BuildSettings, say: Callable[[str], None]) -> BuildResult:
    """Build one version of one dataset, unless the release in its place is the same already.

    Raises SourceError, RecipeError, FindingsError or ReleaseError; what stood in the place before then still stands there.
    """
    splits = requested_splits(built, settings.splits)
    inputs = {key: find_input(built, key, settings) for key in needed_files(built, splits)}
    place = settings.output / built.dataset.name / version
    identity = _identity(built, version, splits, inputs, settings)
    with staging.locked(settings.output, built.dataset.name, say):
        staging.recover_release(place)
        old = staging.read_manifest(place)
        if old is not None:
            if not settings.force and is_current(place, old, identity):
                return BuildResult(built.dataset.name, version, "up to date", place, old)
            _refuse_to_bury(place, old, identity, force=settings.force)
        keeping = checkpoint_dir(settings.places.cache, identity, say) if built.dataset.checkpoints else nullcontext()
        with keeping as left, staging.staged_release(place) as new:
            manifest = _write(built, identity, inputs, new, left)
            _refuse_other_content(place, old, manifest, settings)
    entry = ledger.ledger_entry(manifest)
    notes = []
    if entry is not None and ledger.record_entry(built.dataset.name, version, entry, settings.ledger):
        notes.append(f"{built.dataset.name}@{version}: content hash recorded in {settings.ledger.name}: commit it")
    return BuildResult(built.dataset.name, version, "built", place, manifest, tuple(notes))


def plan_build(built: Definition, version: str, settings: BuildSettings) -> dict[str, Any]:
    """What make() would do, without doing it: nothing is downloaded or written.

    Returns dataset, version, state (`up to date`, `would build`, `would download and build`, or `impossible` where a raw file
    cannot be had), path, and raw: [{name, origin, where}].
    """

    splits = requested_splits(built, settings.splits)
    place = settings.output / built.dataset.name / version
    raw, keys = [], needed_files(built, splits)
    for key in keys if not settings.sample else ():
        planned = plan_file(built.source, key, settings.places)
        raw.append({"name": planned.name, "origin": planned.origin, "where": planned.where})
    origins = {file["origin"] for file in raw}
    if origins & {"missing", "by-hand"}:
        state = "impossible"
    elif "download" in origins:
        state = "would download and build"
    else:
        identity = _identity(built, version, splits, {key: find_input(built, key, settings) for key in keys}, settings)
        old = staging.read_manifest(place)
        current = old is not None and not settings.force and is_current(place, old, identity)
        state = "up to date" if current else "would build"
    return {"dataset": built.dataset.name, "version": version, "state": state, "path": str(place), "raw": raw}


def requested_splits(built: Definition, asked: tuple[str, ...] | None) -> tuple[str, ...]:
    """The splits to build, in the task's order.

    Raises UsageError for a split that the dataset does not have.
    """
    have = built.dataset.task.splits
    unknown = [split for split in asked or () if split not in have]
    if unknown:
        raise UsageError(
            f"{built.dataset.name} has no split {unknown[0]!r}", expected=", ".join(have), todo="correct --splits"
        )
    return have if asked is None else tuple(split for split in have if split in asked)


def requested_version(built: Definition, asked: str | None) -> str:
    """The version asked for, or the newest.

    Raises UsageError for a version that the dataset does not have.
    """
    if asked is not None and asked not in built.dataset.versions:
        raise UsageError(
            f"{built.dataset.name} has no version {asked!r}",
            expected=", ".join(built.dataset.versions),
            todo="leave the version out for the newest",
        )
    return asked or built.dataset.newest


def needed_files(built: Definition, splits: tuple[str, ...]) -> list[str]:
    """The keys of the raw files that some splits take, in the order of the source."""
    keys = {key for split in splits for key in built.dataset.needs[split]}
    return [key for key in built.source.files if key in keys]


def find_input(built: Definition, key: str, settings: BuildSettings) -> Input:
    """A raw file, here and verified: of the golden sample, or wherever pipelines.raw.locations finds it."""
    if settings.sample:
        return _golden(built, key, settings)

    found = locate(built.source, key, settings.places, limit=settings.limit)
    entry = {
        "name": found.name,
        "url": found.url,
        "sha256": found.sha256,
        "bytes": found.bytes,
        "verified": found.verified,
    }
    return Input(found.raw, entry)


def is_current(place: Path, manifest: dict[str, Any], identity: dict[str, Any]) -> bool:
    """Whether a release is what a build with this identity would give, and all of its files are there."""
    return all(manifest.get(key) == value for key, value in identity.items()) and staging.is_whole(place, manifest)


def _golden(built: Definition, key: str, settings: BuildSettings) -> Input:
    name = built.source.files[key].name
    path = settings.golden / built.source.name / "raw" / name
    if not path.is_file():
        raise SourceError(
            "the golden sample is not here",
            where=str(path),
            todo="golden samples are part of the repository, not of an installed package: run this in a checkout",
        )
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    entry = {"name": name, "url": None, "sha256": digest, "bytes": path.stat().st_size, "verified": False}
    return Input(Raw(f"{built.source.name}/raw/{name}", path, limit=settings.limit), entry)


def _identity(
    built: Definition, version: str, splits: tuple[str, ...], inputs: dict[str, Input], settings: BuildSettings
) -> dict[str, Any]:
    """All that a release's rows and card follow from: the part of a manifest that is known before the build."""
    task = built.dataset.task
    identity = {
        "dataset": built.dataset.name,
        "version": version,
        "source": built.source.name,
        "task": task.type.name,
        "splits": list(splits),
        "sample": settings.sample or settings.limit is not None,
        "partial": splits != task.splits or settings.limit is not None,
        "limit": settings.limit,
        "raw": [given.entry for given in inputs.values()],
        "recipe": {
            "module": built.entry.module,
            "options": built.dataset.options(version, sample=settings.sample),
            "sha256": fingerprint.recipe_sha256(built.entry.module),
        },
        "report_sha256": fingerprint.report_sha256(built.source.name),
        "prompts": built.dataset.prompts and asdict(built.dataset.prompts),
    }
    return _as_read_back(identity)


def _write(
    built: Definition, identity: dict[str, Any], inputs: dict[str, Input], folder: Path, left: Path | None
) -> dict[str, Any]:
    """Run the recipe, write and check its tables, and describe them; returns the manifest."""

    task, splits = built.dataset.task, tuple(identity["splits"])
    scratch = folder / ".scratch"  # inside the staging folder, which the next build cleans if this one is killed
    scratch.mkdir()
    with watched({key: given.raw for key, given in inputs.items()}) as files:
        made = built.dataset.recipe(RawFiles(splits, files, scratch, left), **identity["recipe"]["options"])
    written = [
        parquet.write_table(frame, folder, config, split)
        for config, per_split in made.frames.items()
        for split, frame in per_split.items()
    ]
    shutil.rmtree(scratch)
    frames: dict[str, dict[str, pl.LazyFrame]] = {}
    for table in written:
        frames.setdefault(table.config, {})[table.split] = parquet.read_table(folder, table)
    with ThreadPoolExecutor(1) as beside:  # two at a time look at the rows: neither of them keeps all cores busy
        read_back = beside.submit(_read_back, written, folder)
        try:
            findings = integrity.check_integrity(task, frames, splits, sample=identity["sample"])
            errors = [finding for finding in findings if finding.severity == "error"]
            if errors:
                raise _forbidden(identity, errors)
            seed, sampled_texts = text_hashes.hash_seed(task, frames), languages.sample_tables(task, frames)
            describing = beside.submit(statistics.describe_tables, task, frames, seed, sampled_texts)
            findings += quality.audit_rows(
                task, frames, splits, built.dataset.languages, seed=seed, sampled_texts=sampled_texts
            )
            described = statistics.as_json(describing.result())
        finally:
            read_back.result()  # rows that are not what was written explain whatever else goes wrong
    findings = _settled(built, identity, findings)
    manifest = _manifest(identity, made, written, findings)
    shown = tasks.evaluated_split(task) if tasks.evaluated_split(task) in splits else splits[-1]
    examples = {config: frames[config][shown].head(1).collect().row(0, named=True) for config in frames}
    staging.write_json(folder / staging.STATISTICS, described)
    card = render(built, manifest, described, examples)
    (folder / staging.CARD).write_text(card, encoding="utf-8", newline="\n")
    staging.write_json(folder / staging.MANIFEST, manifest)  # last: a folder with a manifest is complete
    return manifest


def _settled(built: Definition, identity: dict[str, Any], findings: list[Finding]) -> list[Finding]:
    """The findings, with what is known about them; only complete raw files can be held to what is known.

    Raises FindingsError for known findings that are not as declared.
    """

    declared = built.dataset.versions[identity["version"]].known
    if identity["sample"]:
        return findings
    if identity["partial"]:
        declared = known_findings.known_findings_of_splits(declared, identity["splits"])
    known_findings.verify_known_findings(
        f"{identity['dataset']}@{identity['version']}", findings, declared, built.entry.module
    )
    return known_findings.explain_findings(findings, declared)


def _read_back(written: list[Table], folder: Path) -> None:
    """See that the files of all tables hold the rows that were written."""

    for table in written:
        if hash_table(folder, table) != table.content_sha256:
            raise ReleaseError(
                "what was written does not read back as the same rows", where=f"{table.config}/{table.split}"
            )


def _manifest(identity: dict[str, Any], made: Tables, written: list[Table], findings: list[Finding]) -> dict[str, Any]:
    """All that is known of a release, in the order in which a reader wants it."""
    tables = [
        asdict(table) | {"columns": [{"name": name, "type": kind} for name, kind in table.columns]} for table in written
    ]
    content = dataset_sha256({(table.config, table.split): table.content_sha256 for table in written})
    head = {key: identity[key] for key in ("dataset", "version", "source", "task")}
    manifest = {
        **head,
        "content_sha256": content,
        "tables": tables,
        **{key: value for key, value in identity.items() if key not in head},
        "dropped": [asdict(dropped) for dropped in made.dropped],
        "observed": dict(made.observed),
        "findings": [asdict(finding) for finding in findings],
        "tools": fingerprint.tools(),
        "built_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    return _as_read_back(manifest)


def _as_read_back(value: dict[str, Any]) -> dict[str, Any]:
    """What JSON makes of it: tuples are lists."""
    return dict(json.loads(json.dumps(value)))


def _forbidden(identity: dict[str, Any], errors: list[Finding]) -> FindingsError:
    lines = [
        f"{error.kind} in {error.location}: {error.count}"
        + (f" ({', '.join(error.examples)})" if error.examples else "")
        + (f" [{error.detail}]" if error.detail else "")
        for error in errors
    ]
    return FindingsError(
        f"{identity['dataset']}@{identity['version']}: {len(errors)} defects that no release may have",
        found="; ".join(lines),
        todo="mend the recipe, or tell the maintainers if the raw files are as published",
    )


def _refuse_to_bury(place: Path, old: dict[str, Any], identity: dict[str, Any], *, force: bool) -> None:
    """A sample or a part never replaces a full release."""
    lesser = identity["sample"] or identity["partial"]
    if lesser and not force and not (old["sample"] or old["partial"]):
        raise ReleaseError(
            f"a {'sample' if identity['sample'] else 'partial release'} would replace the full release in its place",
            where=str(place),
            todo="give another --output, or --force to replace it",
        )


def _refuse_other_content(
    place: Path, old: dict[str, Any] | None, new: dict[str, Any], settings: BuildSettings
) -> None:
    """The same version never gets other rows: neither than the release in its place nor than the ledger's.

    --force replaces a version that was never published.
    """
    if new["sample"] or new["partial"]:
        return
    known_findings = ledger.find_entry(new["dataset"], new["version"], settings.ledger)
    published = (known_findings or {}).get("published", [])
    in_place = old if old is not None and not (old["sample"] or old["partial"]) else None
    if published:
        todo, others = "give the change a new version", [(known_findings, f"published as {', '.join(published)}")]
    elif settings.force:
        return
    else:
        todo = "give the change a new version; or --force, if this version was never published"
        others = [(in_place, str(place)), (known_findings, str(settings.ledger))]
    for other, where in others:
        if other is not None and other["content_sha256"] != new["content_sha256"]:
            raise ReleaseError(
                f"{new['dataset']}@{new['version']} would get other rows than it had",
                where=where,
                found=f"content {new['content_sha256'][:12]}: {staging.difference(other, new)}",
                expected=f"content {other['content_sha256'][:12]}",
                todo=todo,
            )
