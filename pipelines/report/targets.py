"""Resolves the names that `check` and `diff` take: a folder, a repository on the Hub, or a dataset of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from builders import catalogue
from builders.errors import ReleaseError, UsageError
from builders.spec import VERSION, version_key
from pipelines.hub import client, repository
from pipelines.raw.cache import default_cache
from pipelines.release import folder
from pipelines.report.checks import fetch_dataset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.report.checks import Fetched


@dataclass(frozen=True)
class Target:
    """A dataset to check: its name on the command line, and its folder or its repository and revision."""

    name: str
    folder: Path | None = None
    repository: tuple[str, str] | None = None


def resolve_targets(name: str, output: Path) -> list[Target]:
    """The datasets that a name refers to. output: where the releases of the catalogue are.

    Raises UsageError for an unknown name.
    """
    if (reference := client.parse_reference(name, "main")) is not None:
        return [Target(name, repository=reference)]
    if Path(name).is_dir():
        return [Target(name, Path(name))]
    if Path(name).name != name:
        raise UsageError("no such folder", where=name, todo="name a folder, ORG/NAME@REVISION or a dataset")
    try:
        entries = catalogue.resolve([name])
    except UsageError as error:
        what = f"no such folder, and {error.what}"
        raise UsageError(what, where=name, found=error.found, expected=error.expected, todo=error.todo) from None
    releases = [(entry.dataset, output / entry.dataset / (version or "")) for entry, version in entries]
    return [Target(name if len(releases) == 1 else dataset, path) for dataset, path in releases]


def locate_target(target: Target, subsets: Sequence[str] = (), *, versions: str = "") -> tuple[Path, Fetched | None]:
    """The folder of a target; a dataset on the Hub is fetched into the cache, and the second value says from where.

    subsets: fetch only these, of a dataset that is not a release. versions: the prefix of the versions (`1.`) to choose from in a
    folder of releases.

    Raises ReleaseError for a dataset of the catalogue that has not been built, or not in such a version.
    """
    if target.repository is not None:
        fetched = fetch_dataset(*target.repository, subsets)
        return fetched.folder, fetched
    assert target.folder is not None
    if not target.folder.is_dir():
        todo = f"build it: embedding-datasets build {target.name}, or pass the folder with the releases: --output DIR"
        raise ReleaseError(f"{target.name} has not been built", where=str(target.folder), todo=todo)
    release_dir = newest_release(target.folder, versions)
    if release_dir != target.folder and not release_dir.name.startswith(versions):
        raise ReleaseError(
            f"no version {versions}x of {target.name} has been built",
            where=str(target.folder),
            found=f"version {release_dir.name}",
            todo=f"build one: embedding-datasets build {target.folder.name}@{versions}0.0",
        )
    return release_dir, None


def resolve_release(name: str) -> Path:
    """The folder of a release: the path itself, the newest version in it, or a copy of `ORG/NAME@TAG` in the cache.

    Raises UsageError for a folder that does not exist, SourceError or ReleaseError for a release that the Hub does not have.
    """
    if (reference := client.parse_reference(name)) is not None:
        return repository.fetch_release_at(client.connect(), *reference, default_cache())
    path = Path(name)
    if not path.is_dir():
        todo = "name a release: outputs/<dataset>/<version> or ORG/NAME@TAG"
        raise UsageError("no such folder", where=str(path), todo=todo)
    return newest_release(path)


def newest_release(path: Path, preferred: str = "") -> Path:
    """The newest release in a folder, among versions that begin with `preferred` if there are any; else the folder itself."""
    versions = [child for child in path.iterdir() if child.is_dir() and VERSION.fullmatch(child.name)]
    if versions and not (path / folder.MANIFEST).exists():
        return max(versions, key=lambda child: (child.name.startswith(preferred), version_key(child.name)))
    return path
