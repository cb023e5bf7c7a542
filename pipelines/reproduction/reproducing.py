"""Builds a release again and compares the two: rows, then bytes; the result for people and for programs."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from builders.errors import DatasetError, ReleaseError, SourceError
from builders.licenses import permits_derivatives
from cards import markdown
from cards.manifest import Manifest
from pipelines.build_report.records import error_to_json
from pipelines.checking.text import changes_page
from pipelines.process import terminal
from pipelines.process.resumable import scratch_folder
from pipelines.process.stages import stage
from pipelines.process.tables import facts, table, wrap
from pipelines.raw.settings import RawSettings
from pipelines.release import fingerprint, folder
from pipelines.release.comparison import Change, FirstDifference, compare_tables, find_first_difference
from pipelines.reproduction.clean_process import Job, build_in_clean_process
from pipelines.reproduction.plan import (
    COMMIT_KEY,
    OTHER_VERSION,
    SHOWN,
    Rebuild,
    gather_raw_files,
    how_to_install,
    known_tools,
    plan_rebuild,
)

Verdict = Literal["rows and bytes equal", "rows equal, bytes not", "manifest differs", "rows differ", "cannot say"]
EXIT_CODES: Mapping[Verdict, int] = {
    "rows and bytes equal": 0, "rows equal, bytes not": 0, "manifest differs": 1, "rows differ": 1,
    "cannot say": SourceError.exit_code,
}  # fmt: skip
EQUAL_ROWS = ("rows and bytes equal", "rows equal, bytes not", "manifest differs")
# Of a manifest: what says when and with what it was built, and what is compared elsewhere.
NOT_COMPARED = ("tools", "built_at", "content_sha256", "tables", "documents", "report_sha256")
Document = Literal["equal", "other", "only in the release", "only rebuilt"]


@dataclass(frozen=True)
class Reproduction:
    """The result of building a release again.

    release, rebuilt: both manifests. same_recipe: whether this package has the recipe of the release, None where it does not
    know the dataset. problems: why it cannot be said. needs_other_version: whether the version of the package that made the
    release may say more. changes: how the tables differ, where rows do. first: the first differing
    row; without its values where shows_text is false, because the licence permits no derivatives. files: the data files whose
    bytes differ. documents: how the files that describe the rows compare. claims: the fields of the manifest that say other
    things than the manifest of the rebuilt release; unchecked: those that another recipe or auditor may give other values.
    """

    release: Manifest
    verdict: Verdict
    rebuilt: Manifest | None = None
    same_recipe: bool | None = None
    problems: tuple[DatasetError, ...] = ()
    needs_other_version: bool = False
    changes: tuple[Change, ...] = ()
    first: FirstDifference | None = None
    shows_text: bool = True
    files: tuple[str, ...] = ()
    documents: Mapping[str, Document] = field(default_factory=dict)
    claims: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()


def require_sound(release_dir: Path) -> Manifest:
    """The manifest of a release whose rows and files are those that it says.

    Raises ReleaseError for an invalid manifest, and for a release that was changed after it was built: it contradicts itself, so
    there is nothing to compare with.
    """
    manifest = folder.require_manifest(release_dir)
    try:
        if manifest.built_at:
            datetime.fromisoformat(manifest.built_at)
    except ValueError:
        raise ReleaseError(
            "the manifest does not say when the release was built",
            where=str(release_dir),
            found=_shown(manifest.built_at),
            expected="a time in ISO 8601",
            todo="get the release again; its publisher should compare it with the tag",
        ) from None
    try:
        problems = folder.verify_release(release_dir, manifest)
    except ReleaseError as error:
        problems = [": ".join(filter(None, (error.what, error.where, error.found)))]
    if problems:
        raise ReleaseError(
            "the release is damaged: it is not what its own manifest says",
            where=str(release_dir),
            found="; ".join(problems[:5]),
            todo="get it again; its publisher should compare it with the tag",
        )
    return manifest


def reproduce(
    release_dir: Path,
    manifest: Manifest,
    settings: RawSettings,
    *,
    build: Callable[[Job], None] = build_in_clean_process,
    shown: Callable[[], AbstractContextManager[None]] = nullcontext,
    keep: Path | None = None,
) -> Reproduction:
    """Build a sound release again, below the cache, and compare the two.

    build: runs the job, and draws its own progress. shown: draws that of everything else. keep: the folder to move the rebuilt
    release to, which does not exist; otherwise nothing stays.

    Raises UsageError where the --raw-dir of the settings does not exist.
    """
    try:
        rebuild = plan_rebuild(manifest)
    except SourceError as error:
        return Reproduction(manifest, "cannot say", problems=(error,), needs_other_version=True)
    known = Reproduction(
        manifest,
        "cannot say",
        same_recipe=rebuild.has_recipe_of(manifest),
        shows_text=permits_derivatives(rebuild.definition.license),
    )
    with scratch_folder(settings.cache / "reproductions", f"{manifest.dataset}-{manifest.version}-") as scratch:
        with shown():
            problems = gather_raw_files(rebuild, settings, scratch / "raw")
        if problems:
            other = any(problem.todo == OTHER_VERSION for problem in problems)
            return replace(known, problems=tuple(problems), needs_other_version=other)
        name, parts = rebuild.definition.dataset.name, (rebuild.splits, rebuild.golden, rebuild.limit, rebuild.partial)
        job = Job(name, rebuild.version, *parts, str(scratch.absolute()), terminal.verbosity())
        try:
            build(job)
        except DatasetError as error:
            failed = SourceError(
                f"the build failed: {error.what}", where=error.where, found=error.found, expected=error.expected
            )
            return replace(known, problems=(failed,), needs_other_version=not known.same_recipe)
        with shown():
            result = _compare(known, rebuild, release_dir, job.release_dir)
        if keep is not None:
            keep.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(job.release_dir, keep)
        return result


def _compare(known: Reproduction, rebuild: Rebuild, release_dir: Path, rebuilt_dir: Path) -> Reproduction:
    """The result for a release that was built again from the same raw files."""
    release, rebuilt = known.release, folder.require_manifest(rebuilt_dir)
    known = replace(known, rebuilt=rebuilt, documents=_compare_documents(release_dir, rebuilt_dir))
    if release.content_sha256 != rebuilt.content_sha256:
        if rebuild.other_files:  # other rows of other files say nothing about the release
            problem = SourceError(
                "this package reads other raw files than the release was built from",
                found=", ".join(rebuild.other_files)[:SHOWN],
            )
            return replace(known, problems=(problem,), needs_other_version=True)
        with stage("comparing rows"):
            changes = tuple(replace(change, examples=None) for change in compare_tables(release_dir, rebuilt_dir))
            first = find_first_difference(release_dir, rebuilt_dir)
        if first is not None and not known.shows_text:
            first = replace(first, old=None, new=None)
        return replace(known, verdict="rows differ", changes=changes, first=first, needs_other_version=True)
    ours = {file.path: file for file in rebuilt.files}
    theirs = {file.path: file for file in release.files}
    files = tuple(sorted(path for path in ours | theirs if ours.get(path) != theirs.get(path)))
    claims, unchecked = _compare_claims(release, rebuilt)
    verdict: Verdict = "manifest differs" if claims else "rows equal, bytes not" if files else "rows and bytes equal"
    return replace(known, verdict=verdict, files=files, claims=claims, unchecked=unchecked)


def _compare_claims(release: Manifest, rebuilt: Manifest) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The fields in which a manifest differs from the rebuilt one, and those that cannot be compared.

    The same recipe gives the same of everything but findings, which also follow from the auditor.
    """
    unchecked = set()
    if release.recipe.sha256 != rebuilt.recipe.sha256:
        unchecked |= {entry.name for entry in fields(Manifest)} - {"dataset", "version", "raw", *NOT_COMPARED}
    if release.report_sha256 != rebuilt.report_sha256:
        unchecked.add("findings")
    theirs, ours = (
        {entry.name: getattr(manifest, entry.name) for entry in fields(Manifest)}
        # Whether a digest was known before depends on the lock file of the day; another recipe may know other addresses.
        | {
            "raw": [
                replace(raw, verified=True, url=None if unchecked - {"findings"} else raw.url) for raw in manifest.raw
            ]
        }
        for manifest in (release, rebuilt)
    )
    differing = [name for name in theirs if theirs[name] != ours[name] and name not in {*NOT_COMPARED, *unchecked}]
    return tuple(differing), tuple(sorted(unchecked))


def _compare_documents(release_dir: Path, rebuilt_dir: Path) -> dict[str, Document]:
    states: dict[str, Document] = {}
    for name in folder.DOCUMENTS:
        one, other = (directory / name for directory in (release_dir, rebuilt_dir))
        if one.is_file() and other.is_file():
            states[name] = "equal" if one.read_bytes() == other.read_bytes() else "other"
        elif one.is_file() or other.is_file():
            states[name] = "only in the release" if one.is_file() else "only rebuilt"
    return states


SHOWN_COLUMNS = 20


def to_json(name: str, result: Reproduction) -> dict[str, Any]:
    """A reproduction as `--json` prints it. name: what the user calls the release."""
    release, rebuilt, first = result.release, result.rebuilt, result.first
    own = fingerprint.tools_and_commit()
    return {
        "name": name,
        "dataset": release.dataset,
        "version": release.version,
        "sample": release.sample,
        "partial": release.partial,
        "verdict": result.verdict,
        "content_sha256": {"release": release.content_sha256, "rebuilt": rebuilt and rebuilt.content_sha256},
        "same_recipe": result.same_recipe,
        "tables": [
            {
                "config": change.config, "split": change.split, "state": change.state, "before": change.before,
                "after": change.after, "added": change.added, "removed": change.removed, "changed": change.changed,
                "reordered": change.reordered, "columns": list(change.columns),
            }
            for change in result.changes
        ],
        "first_difference": first
        and {
            "config": first.config,
            "split": first.split,
            "row": first.position,
            "release": _few_columns(first.old),
            "rebuilt": _few_columns(first.new),
        },
        "differing_files": list(result.files),
        "manifest": {"differing": list(result.claims), "not_compared": list(result.unchecked)},
        "documents": dict(result.documents),
        "tools": {"release": known_tools(release.tools), "here": own},
        "problems": [error_to_json(problem) for problem in result.problems],
        "install": how_to_install(release.tools, own) if result.needs_other_version else [],
    }  # fmt: skip


def page(name: str, result: Reproduction) -> list[str]:
    """A reproduction as lines of text. name: what the user calls the release."""
    release, rebuilt = result.release, result.rebuilt
    marks = [mark for mark in ("sample", "partial") if getattr(release, mark)]
    marked = f" ({', '.join(marks)})" if marks else ""
    lines = wrap(f"{_shown(release.dataset)} {release.version}{marked}: {result.verdict}")
    lines += wrap(name, "  release   ", break_words=False)
    rows = ", ".join(f"{location} {count:,}" for location, count in release.rows.items())
    equal, others = result.verdict in EQUAL_ROWS, [name for name, state in result.documents.items() if state != "equal"]
    claims, unchecked = ", ".join(result.claims), ", ".join(result.unchecked)
    lines += facts(
        [
            ("rows", _shown(rows)),
            ("content", release.content_sha256),
            ("rebuilt", rebuilt.content_sha256 if rebuilt and result.verdict == "rows differ" else ""),
            ("recipe", "it changed since the release was built" if result.same_recipe is False else ""),
            ("files", _files(rebuilt, result.files) if rebuilt and equal else ""),
            ("manifest", claims and f"says other things than the rebuilt release: {claims}"),
            ("manifest", unchecked and f"not compared, because recipe or auditor changed: {unchecked}"),
            (
                "documents",
                f"not the same: {', '.join(others)} (only rows and data files are promised)" if others else "",
            ),
        ]
    )
    for problem in result.problems:
        lines += ["", *wrap(problem.what, "  ")]
        for label, text in problem.parts:
            lines += wrap(text, f"    {label:<10}", break_words=False) if text else []
    if result.changes:
        lines += ["", *changes_page(result.changes)]
    if result.first is not None:
        lines += ["", *_first_difference(result.first, shows_text=result.shows_text)]
    return [*lines, *_tools(result)]


def _shown(text: str) -> str:
    """A text of a manifest as it is shown: short, and without invisible characters."""
    return markdown.visible(str(markdown.shorten(text, SHOWN)))


def _files(rebuilt: Manifest, differing: Sequence[str]) -> str:
    count = len(rebuilt.files)
    several = f"{count} data file{'s' if count > 1 else ''}"
    if not differing:
        return f"{several}, byte for byte"
    shown = ", ".join(_shown(path) for path in differing[:5])
    more = f" and {len(differing) - 5} more" if len(differing) > 5 else ""
    return f"{len(differing)} of {several} in other bytes: {shown}{more}"


def _first_difference(first: FirstDifference, *, shows_text: bool) -> list[str]:
    """The first row that differs: its columns that do, on both sides."""
    lines = wrap(f"the first row that differs: row {first.position + 1:,} of {first.config}/{first.split}")
    if not shows_text:
        return [*lines, *wrap("the text is not shown: the licence permits no derivatives", "  ")]
    if first.old is None or first.new is None:
        side, row = ("release", first.old) if first.new is None else ("rebuilt", first.new)
        return [*lines, *_value(f"only {side}", _few_columns(row))]
    differing = [name for name, value in first.new.items() if name in first.old and first.old[name] != value]
    for column in differing[:SHOWN_COLUMNS]:
        lines += wrap(_shown(column), "  ")
        lines += [*_value("release", first.old[column]), *_value("rebuilt", first.new[column])]
    return lines


def _few_columns(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A row as it is shown: its first columns, with short values."""
    return None if row is None else markdown.shorten(dict(list(row.items())[:SHOWN_COLUMNS]), SHOWN)


def _value(label: str, value: Any) -> list[str]:
    return wrap(markdown.code(value, SHOWN).strip("`"), f"    {label}  ")


def _tools(result: Reproduction) -> list[str]:
    """The versions of both sides; what installs those of the release, where that could change the verdict."""
    own, theirs = fingerprint.tools_and_commit(), known_tools(result.release.tools)
    if own == theirs:
        return ["", *wrap("the same package and libraries made both")]
    rows = [["", "release", "here"]]
    rows += [[name, _short(theirs, name), _short(own, name)] for name in dict.fromkeys([*own, *theirs])]
    lines = ["", *table(rows).splitlines()]
    steps = how_to_install(result.release.tools, own) if result.needs_other_version else []
    if steps:
        lines += ["", *wrap("to build with what made the release, in a checkout of this package's repository:")]
        lines += [f"  {step}" for step in steps]
        if theirs.get(COMMIT_KEY, "").endswith("-dirty"):
            lines += wrap("its code had changes that were not committed, so that commit may give other rows", "  ")
    elif result.needs_other_version and not theirs:
        lines += ["", *wrap("the manifest does not say which version of the package made the release")]
    return lines


def _short(tools: Mapping[str, str], name: str) -> str:
    value = tools.get(name, "-")
    sha, _, mark = value.partition("-")
    return "-".join(filter(None, (sha[:12], mark))) if name == COMMIT_KEY and sha else value
