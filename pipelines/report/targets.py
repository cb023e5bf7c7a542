"""What a name given to `check` and `diff` means: a folder, a repository on the Hub, or a dataset of the catalogue."""

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


@dataclass(frozen=True)
class Target:
    """A dataset to check: its name on the command line, and its folder or its repository and revision."""

    name: str
    folder: Path | None = None
    repository: tuple[str, str] | None = None


def resolve_targets(name: str, output: Path) -> list[Target]:
    """The datasets that a name means; those of the catalogue are below `output`.

    Raises UsageError for a name that means nothing.
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
    found = [(entry.dataset, output / entry.dataset / (version or "")) for entry, version in entries]
    return [Target(name if len(found) == 1 else dataset, path) for dataset, path in found]


def locate_target(target: Target, subsets: Sequence[str] = (), *, versions: str = "") -> tuple[Path, str | None]:
    """The folder of a target, fetched if it is on the Hub, and then its commit.

    subsets: those to fetch of a dataset that is not ours. versions: the beginning of the versions to prefer (`1.`).

    Raises ReleaseError for a dataset of the catalogue that has not been built.
    """
    if target.repository is not None:
        fetched = fetch_dataset(*target.repository, subsets)
        return fetched, fetched.name
    assert target.folder is not None
    if not target.folder.is_dir():
        todo = f"build it: python -m pipelines.build {target.name}, or say where releases are: --output DIR"
        raise ReleaseError(f"{target.name} has not been built", where=str(target.folder), todo=todo)
    return newest_release(target.folder, versions), None


def resolve_release(name: str) -> Path:
    """The folder of a release: the path itself, its newest version, or where `ORG/NAME@TAG` was fetched to.

    Raises UsageError where there is no such folder, SourceError or ReleaseError where the Hub has no such release.
    """
    if (reference := client.parse_reference(name)) is not None:
        return repository.fetch_release_at(client.connect(), *reference, default_cache())
    path = Path(name)
    if not path.is_dir():
        todo = "name a release: outputs/<dataset>/<version> or ORG/NAME@TAG"
        raise UsageError("no such folder", where=str(path), todo=todo)
    return newest_release(path)


def newest_release(path: Path, preferred: str = "") -> Path:
    """The newest of the releases in a folder, of the versions that begin with `preferred` if there are any; else the folder."""
    versions = [child for child in path.iterdir() if child.is_dir() and VERSION.fullmatch(child.name)]
    if versions and not (path / folder.MANIFEST).exists():
        return max(versions, key=lambda child: (child.name.startswith(preferred), version_key(child.name)))
    return path
