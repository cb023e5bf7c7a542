"""What the names mean that `check` and `diff` take: a folder, a file, a repository, a dataset of the catalogue."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builders import catalogue
from builders.errors import ReleaseError, UsageError
from builders.spec import version_key
from cards.front_matter import parse_front_matter
from cards.manifest import Manifest
from pipelines.checking.data_files import all_paths, resolve_tables
from pipelines.checking.datasets import (
    DatasetFiles,
    ForeignDataset,
    ForeignOptions,
    find_files,
    read_datasets,
    reading_rows,
)
from pipelines.hub import client, repository
from pipelines.process import installation
from pipelines.raw.digests import default_cache
from pipelines.release.folder import CARD, MANIFEST, releases_below, require_manifest, version_dirs
from pipelines.release.resolution import Files


@dataclass(frozen=True)
class Target:
    """A dataset to check: its name on the command line, and its folder, or its repository and revision, or its only file.

    mteb_task: an object of mteb, where the target is one of its tasks.
    """

    name: str
    folder: Path | None = None
    file: Path | None = None
    repository: tuple[str, str] | None = None
    mteb_task: Any = None


def resolve_targets(name: str, output: Path) -> list[Target]:
    """The datasets that a name refers to; all releases below a folder of releases of several datasets, such as `outputs/`.

    output: where the releases of the catalogue are.

    Raises UsageError for an unknown name or version, and for a folder with nothing in it.
    """
    if (reference := client.parse_reference(name, "main")) is not None:
        return [Target(name, repository=reference)]
    path = Path(name)
    if path.is_dir():
        _require_content(path)
        return [Target(str(release_dir), release_dir) for release_dir in releases_below(path)] or [Target(name, path)]
    if path.is_file():
        return [Target(name, file=path)]
    if path.name != name:
        raise UsageError(
            "no such folder or file", where=name, found=_names_like(path),
            todo="name a folder, a file, ORG/NAME@REVISION or a dataset",
        )  # fmt: skip
    if installation.CHECK_ALONE:
        raise UsageError(
            f"no such folder or file, and {installation.DISTRIBUTION} has no catalogue of datasets",
            where=name,
            todo=f"name a folder, a file or ORG/NAME@REVISION; for a name, python -m pip install {installation.NAME}",
        )
    try:
        entries = catalogue.resolve([name])
    except UsageError as error:
        raise UsageError(
            f"no such folder or file, and {error.what}",
            where=name,
            found=error.found or _names_like(path),
            expected=error.expected,
            todo=f"{error.todo}, or name a folder, a file or ORG/NAME@REVISION",
        ) from None
    releases = [(entry.dataset, _release_path(entry, version, output)) for entry, version in entries]
    return [Target(name if len(releases) == 1 else dataset, path) for dataset, path in releases]


def resolve_target(name: str, output: Path) -> Target:
    """The one dataset that a name refers to, as resolve_targets does. Raises UsageError also for the name of several."""
    return catalogue.require_one(name, resolve_targets(name, output), lambda target: target.name)


def _names_like(path: Path) -> str | None:
    """The files beside a missing one that are named nearly like it."""
    return ", ".join(difflib.get_close_matches(path.name, [other.name for other in path.parent.glob("*")])) or None


def _release_path(entry: catalogue.Entry, version: str | None, releases: Path) -> Path:
    """Where the release of a version is, or those of all versions where none is given.

    Raises UsageError for a version that is neither there nor in the catalogue.
    """
    path = releases / entry.dataset / (version or "")
    if version and not path.is_dir():
        catalogue.requested_version(catalogue.load(entry), version)
    return path


def _require_content(path: Path) -> None:
    """Raise UsageError for a folder with nothing in it but a README.md or hidden files, which `datasets` ignores."""
    if not any(child.name != CARD and not child.name.startswith(".") for child in path.iterdir()):
        raise UsageError(
            "the folder holds no dataset",
            where=str(path),
            found="no data files",
            todo=f"name the folder of a dataset, or build releases: embedding-datasets build NAME --output {path}",
        )


@dataclass(frozen=True)
class Fetched:
    """A dataset of the Hub in the cache. folder: named after its commit. repo: `ORG/NAME`. paths: all files of the repository."""

    folder: Path
    repo: str
    paths: tuple[str, ...]


def fetch_dataset(repo: str, revision: str, subsets: Sequence[str]) -> Fetched:
    """A dataset of the Hub at a revision, in the cache: a release, or the data files of any other dataset.

    Raises SourceError where the Hub does not have it, ReleaseError where it holds only part of a release.
    """
    hub, cache = client.connect(), default_cache()
    snapshot = repository.require_snapshot(hub, repo, revision)
    if MANIFEST in snapshot.digests:
        return Fetched(repository.fetch_release(hub, repo, snapshot, cache, revision), repo, tuple(snapshot.digests))
    files = fetch_tables(hub, repo, snapshot, cache, subsets=subsets)
    return Fetched(files.folder, repo, tuple(snapshot.digests))


def fetch_tables(
    hub: client.HubClient,
    repo: str,
    at: repository.Snapshot,
    cache: Path,
    *,
    subsets: Sequence[str] = (),
    splits: Sequence[str] = (),
) -> DatasetFiles:
    """The data files of a dataset of the Hub at a snapshot, in the cache.

    splits: fetch only these, of the configs that have one of them.

    Raises SourceError as resolve_tables does, and where the Hub fails.
    """
    front_matter, listed = list_tables(hub, repo, at, subsets)
    tables = {
        config: {split: paths for split, paths in of_config.items() if split in splits} or of_config
        for config, of_config in listed.items()
    }
    card = [CARD] if CARD in at.digests else []
    folder = repository.fetch_files(hub, repo, at, [*card, *all_paths(tables)], cache)
    return DatasetFiles(folder, folder, tables, front_matter)


def list_tables(
    hub: client.HubClient, repo: str, at: repository.Snapshot, subsets: Sequence[str] = ()
) -> tuple[Mapping[str, Any], Files]:
    """The front matter of a dataset of the Hub, and the paths of its data files, by config and split.

    Raises SourceError as resolve_tables does, and where the Hub fails.
    """
    where = f"{repo} at {at.sha[:12]}"
    front_matter = parse_front_matter(repository.read_file(hub, repo, at, CARD) or b"", where)
    return front_matter, resolve_tables(at.digests, front_matter, where, subsets)


def locate_target(target: Target, subsets: Sequence[str] = (), *, versions: str = "") -> tuple[Path, Fetched | None]:
    """The folder of a target; a dataset on the Hub is fetched into the cache, and the second value says from where.

    subsets: fetch only these, of a dataset that is not a release. versions: the prefix of the versions (`1.`) to choose from in a
    folder of releases.

    Raises UsageError for a file, ReleaseError for a dataset of the catalogue that has not been built, or not in such a version.
    """
    if target.file is not None:
        raise UsageError("a file is not a release", where=target.name, todo="name the folder of a release")
    if target.repository is not None:
        fetched = fetch_dataset(*target.repository, subsets)
        return fetched.folder, fetched
    assert target.folder is not None
    if not target.folder.is_dir():
        raise ReleaseError(
            f"{target.name} has not been built",
            where=str(target.folder),
            todo=f"build it: embedding-datasets build {target.name}; or pass the folder with the releases: --releases DIR",
        )
    release_dir = newest_release(target.folder, versions)
    if release_dir != target.folder and not release_dir.name.startswith(versions):
        raise ReleaseError(
            f"no version {versions}x of {target.name} has been built",
            where=str(target.folder),
            found=f"version {release_dir.name}",
            todo=f"build one: embedding-datasets build {target.folder.name}@{versions}0.0",
        )
    return release_dir, None


def dataset_name(target: Target, path: Path) -> str:
    """The name of a target that is not a release: ORG/NAME, or that of its folder or file. path: where it is."""
    if target.repository is not None:
        return target.repository[0]
    return path.name if target.file else path.resolve().name


def read_dataset(target: Target, options: ForeignOptions) -> Path | tuple[str, str, list[ForeignDataset]]:
    """A release as its folder; of any other dataset its name, its commit if it is on the Hub, and its rows, for each subset.

    Raises what locate_target and read_datasets raise.
    """
    path, fetched = (target.file, None) if target.file else locate_target(target, options.subsets)
    if (path / MANIFEST).exists():
        return path
    files = find_files(path, options.subsets)
    with reading_rows(files):
        datasets = read_datasets(files, options)
    return dataset_name(target, path), fetched.folder.name if fetched else "", datasets


def resolve_release(name: str, releases: Path = Path("outputs"), cache: Path | None = None) -> Path:
    """The folder of a release: a path or the newest version in it, a dataset of the catalogue, or a copy of `ORG/NAME@TAG`.

    releases: where those of the catalogue are: `cedr@1.0.0` is a version there, and `cedr` the newest. cache: where copies are
    kept, by default the user's.

    Raises UsageError for a folder that does not exist and for an unknown or ambiguous name, SourceError or ReleaseError for a
    release that the Hub does not have, ReleaseError for one that has not been built.
    """
    if (reference := client.parse_reference(name)) is not None:
        return repository.fetch_release_at(client.connect(), *reference, cache or default_cache())
    path = Path(name)
    if path.is_dir():
        return newest_release(path)
    if path.name != name:
        raise UsageError(
            "no such folder",
            where=str(path),
            todo="name a release: outputs/<dataset>/<version>, ORG/NAME@TAG or cedr@1.0.0",
        )
    return locate_target(resolve_target(name, releases))[0]


def define_release(release_dir: Path) -> tuple[Manifest, catalogue.Definition]:
    """The manifest of a release, and what the catalogue says of its dataset.

    Raises ReleaseError for a folder that is not a release of a dataset of the catalogue.
    """
    manifest = require_manifest(release_dir)
    if (entry := catalogue.entries().get(manifest.dataset)) is None:
        raise ReleaseError(
            "unknown dataset",
            where=str(release_dir),
            found=manifest.dataset,
            todo="update this package, or name a copy of the data files without manifest.json",
        )
    return manifest, catalogue.load(entry)


def newest_release(path: Path, preferred: str = "") -> Path:
    """The newest release in a folder, among versions that begin with `preferred` if there are any; else the folder itself."""
    versions = version_dirs(path)
    if versions and not (path / MANIFEST).exists():
        return max(versions, key=lambda version: (version.name.startswith(preferred), version_key(version.name)))
    return path
