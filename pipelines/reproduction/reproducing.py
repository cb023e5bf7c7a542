"""Builds a release again and compares the two: rows, then bytes."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from builders.errors import DatasetError, ReleaseError, SourceError
from builders.licenses import permits_derivatives
from cards.manifest import Manifest
from pipelines.files import locked
from pipelines.raw.settings import RawSettings
from pipelines.release import folder
from pipelines.release.comparison import Change, FirstDifference, compare_tables, find_first_difference
from pipelines.release.verification import verify_release
from pipelines.reproduction.clean_process import Job, build_in_clean_process, make_job
from pipelines.reproduction.plan import Rebuild, plan_rebuild
from pipelines.reproduction.raw_files import OTHER_VERSION, gather_raw_files
from pipelines.stages import stage

Verdict = Literal["rows and bytes equal", "rows equal, bytes not", "rows differ", "cannot say"]
EXIT_CODES: Mapping[Verdict, int] = {
    "rows and bytes equal": 0, "rows equal, bytes not": 0, "rows differ": 1, "cannot say": SourceError.exit_code,
}  # fmt: skip
SHOWN = 200  # characters of what a manifest says
Document = Literal["equal", "other", "only in the release", "only rebuilt"]


@dataclass(frozen=True)
class Reproduction:
    """The result of building a release again.

    release, rebuilt: both manifests. same_recipe: whether this package has the recipe of the release, None where it does not
    know the dataset. problems: why it cannot be said. needs_other_version: whether the version of the package that made the
    release may say more. changes: how the tables differ, where rows do. first: the first differing
    row; without its values where shows_text is false, because the licence permits no derivatives. files: the data files whose
    bytes differ. documents: how the files that describe the rows compare.
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


def require_sound(release_dir: Path) -> Manifest:
    """The manifest of a release whose rows and files are those that it says.

    Raises ReleaseError for an invalid manifest, and for a release that was changed after it was built: it contradicts itself, so
    there is nothing to compare with.
    """
    manifest = folder.require_manifest(release_dir)
    try:
        problems = verify_release(release_dir, manifest)
    except ReleaseError as error:
        problems = [": ".join(filter(None, (error.what, error.where, error.found)))]
    if problems:
        raise ReleaseError(
            "the release is damaged: it is not what its own manifest says",
            where=str(release_dir),
            found="; ".join(problems[:5]),
            todo="get it again; whoever published it should compare it with the tag",
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
    with _scratch_folder(settings.cache, manifest) as scratch:
        with shown():
            problems = gather_raw_files(rebuild, settings, scratch / "raw")
        if problems:
            other = any(problem.todo == OTHER_VERSION for problem in problems)
            return replace(known, problems=tuple(problems), needs_other_version=other)
        job = make_job(rebuild, scratch)
        try:
            build(job)
        except DatasetError as error:
            return replace(known, problems=(_build_failed(error),), needs_other_version=not known.same_recipe)
        with shown():
            result = _compare(known, rebuild, release_dir, job.release_dir)
        if keep is not None:
            keep.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(job.release_dir, keep)
        return result


def _build_failed(error: DatasetError) -> SourceError:
    return SourceError(f"the build failed: {error.what}", where=error.where, found=error.found, expected=error.expected)


def _compare(known: Reproduction, rebuild: Rebuild, release_dir: Path, rebuilt_dir: Path) -> Reproduction:
    """The result for a release that was built again from the same raw files."""
    release, rebuilt = known.release, folder.require_manifest(rebuilt_dir)
    known = replace(known, rebuilt=rebuilt, documents=_compare_documents(release_dir, rebuilt_dir))
    if release.content_sha256 != rebuilt.content_sha256:
        if rebuild.other_files:  # other rows of other files say nothing about the release
            what = "this package reads other raw files than the release was built from"
            problem = SourceError(what, found=", ".join(rebuild.other_files)[:SHOWN])
            return replace(known, problems=(problem,), needs_other_version=True)
        with stage("comparing rows"):
            changes = tuple(replace(one, examples=None) for one in compare_tables(release_dir, rebuilt_dir))
            first = find_first_difference(release_dir, rebuilt_dir)
        if first is not None and not known.shows_text:
            first = replace(first, old=None, new=None)
        return replace(known, verdict="rows differ", changes=changes, first=first, needs_other_version=True)
    ours = {file.path: file for file in rebuilt.files}
    theirs = {file.path: file for file in release.files}
    files = tuple(sorted(path for path in ours | theirs if ours.get(path) != theirs.get(path)))
    return replace(known, verdict="rows equal, bytes not" if files else "rows and bytes equal", files=files)


def _compare_documents(release_dir: Path, rebuilt_dir: Path) -> dict[str, Document]:
    states: dict[str, Document] = {}
    for name in folder.DOCUMENTS:
        one, other = (directory / name for directory in (release_dir, rebuilt_dir))
        if one.is_file() and other.is_file():
            states[name] = "equal" if one.read_bytes() == other.read_bytes() else "other"
        elif one.is_file() or other.is_file():
            states[name] = "only in the release" if one.is_file() else "only rebuilt"
    return states


@contextmanager
def _scratch_folder(cache: Path, manifest: Manifest) -> Iterator[Path]:
    """A folder below the cache that is removed at the end; what a killed command left there is removed at the beginning.

    Each has a name of its own: a killed command's build may still be ending.
    """
    parent = cache / "reproductions" / f"{manifest.dataset}-{manifest.version}"
    with locked(parent.with_name(f".{parent.name}.lock"), manifest.name, activity="reproducing", remove=True):
        shutil.rmtree(parent, ignore_errors=True)
        parent.mkdir(parents=True, exist_ok=True)
        try:
            yield Path(tempfile.mkdtemp(dir=parent))
        finally:
            shutil.rmtree(parent, ignore_errors=True)
