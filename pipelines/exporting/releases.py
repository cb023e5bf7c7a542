"""The releases and the sets that an export consists of."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from builders import catalogue
from builders.errors import ReleaseError, UsageError
from builders.tasks import Contrastive
from cards.manifest import Manifest, Table
from pipelines.hub import client, repository
from pipelines.raw.cache import default_cache
from pipelines.release import folder
from pipelines.report.targets import Target, locate_target, resolve_targets

TASK = Contrastive.type.name
SHOWN = 10  # names in an error
# A manifest may come from the Hub, and its names become those of files; what follows a dot in these is ours.
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}")


@dataclass(frozen=True)
class TrainingRelease:
    """A release of training data, and its folder."""

    manifest: Manifest
    release_dir: Path


@dataclass(frozen=True)
class TrainingSet:
    """A config of a release, with what is put before its queries and before its other texts (`search_query: `)."""

    name: str
    release: TrainingRelease
    table: Table
    query_prefix: str
    document_prefix: str


def find_releases(names: Sequence[str], releases: Path) -> list[TrainingRelease]:
    """The releases that names mean, each once: datasets, sources, groups, folders, `ORG/NAME@TAG`. releases: where they are.

    Of a dataset without a version, the newest version that was built.

    Raises UsageError for a name that means nothing, for data that are not training data and for two versions of one dataset;
    ReleaseError where a release has not been built or cannot be read, with all that are missing; SourceError for what the Hub
    does not have.
    """
    targets = [target for name in names for target in resolve_targets(name, releases)]
    missing = [target for target in targets if target.folder is not None and not target.folder.is_dir()]
    if missing:
        _refuse_missing(missing, names, releases)
    found: dict[str, TrainingRelease] = {}
    for target in targets:
        release = _read_release(target)
        dataset, other = release.manifest.dataset, found.get(release.manifest.dataset)
        if other is not None and other.release_dir.resolve() != release.release_dir.resolve():
            versions = f"{other.manifest.version} and {release.manifest.version}"
            raise UsageError(f"two releases of {dataset}", found=versions, todo="name one of them")
        found[dataset] = release
    return list(found.values())


def _refuse_missing(missing: Sequence[Target], names: Sequence[str], releases: Path) -> None:
    """Raise UsageError where a dataset that was not built is not training data, else ReleaseError for all that were not."""
    for target in missing:
        assert target.folder is not None
        dataset = target.folder.relative_to(releases).parts[0]
        task = catalogue.load(catalogue.entries()[dataset]).dataset.task
        if not isinstance(task, Contrastive):
            raise _not_training_data(dataset, task.type.name)
    listed = [target.name for target in missing]
    one = len(listed) == 1
    raise ReleaseError(
        f"{listed[0]} has not been built" if one else f"{len(listed)} releases have not been built",
        where=str(releases),
        found=None if one else _join(listed),
        todo=f"build: embedding-datasets build {' '.join(names)}; or pass the folder with the releases: --releases DIR",
    )


def _not_training_data(name: str, task: str) -> UsageError:
    todo = "name training data: embedding-datasets show training"
    return UsageError(f"{name} is not training data", found=f"task {task}", expected=f"task {TASK}", todo=todo)


def _read_release(target: Target) -> TrainingRelease:
    """Raises UsageError for other data than training data, ReleaseError for an invalid release."""
    if target.repository is not None:
        release_dir = repository.fetch_release_at(client.connect(), *target.repository, default_cache())
    else:
        release_dir, _ = locate_target(target, option="--releases")
    if not (release_dir / folder.MANIFEST).is_file():
        todo = "name the folder of a release, outputs/<dataset>/<version>, or a dataset"
        raise ReleaseError("no release found", where=str(release_dir), found="no manifest.json", todo=todo)
    manifest = folder.require_manifest(release_dir)
    if manifest.task != TASK:
        raise _not_training_data(manifest.name, manifest.task)
    if not NAME.fullmatch(manifest.dataset):
        raise ReleaseError("invalid name of a dataset", where=str(release_dir), found=manifest.dataset[:100])
    return TrainingRelease(manifest, release_dir)


def select_sets(releases: Sequence[TrainingRelease], configs: Sequence[str] | None) -> list[TrainingSet]:
    """The sets of releases in their order, or those with these names.

    Raises UsageError for a name that no release has and for sets of one name; ReleaseError for a set without prefixes or with
    a name that no file can have.
    """
    found: dict[str, TrainingSet] = {}
    for release in releases:
        for table in release.manifest.tables:
            if configs is not None and table.config not in configs:
                continue
            if table.config in found:
                both = f"{found[table.config].release.manifest.name} and {release.manifest.name}"
                todo = "export them into two folders, or choose sets with --configs"
                raise UsageError(f"two sets are named {table.config}", found=both, todo=todo)
            found[table.config] = _training_set(release, table)
    unknown = [name for name in configs or () if name not in found]
    if unknown:
        known = [table.config for release in releases for table in release.manifest.tables]
        raise UsageError(f"no set is named {unknown[0]!r}", expected=_join(known), todo="correct --configs")
    return list(found.values())


def _training_set(release: TrainingRelease, table: Table) -> TrainingSet:
    where = f"{release.release_dir}, config {table.config}"
    if not NAME.fullmatch(table.config):
        raise ReleaseError("invalid name of a config", where=where[:300], expected="letters, digits, _ and -")
    prompts = release.manifest.prompts
    prefixes = {one.config: one.rosberta for one in prompts.configs} if prompts else {}
    prefix = prefixes.get(table.config, ())
    if not prefix:
        todo = "build the release again with this version"
        raise ReleaseError("the manifest has no prefixes of a config", where=where, found="prompts.configs", todo=todo)
    return TrainingSet(table.config, release, table, f"{prefix[0]}: ", f"{prefix[-1]}: ")


def _join(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
