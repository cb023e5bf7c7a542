"""The releases that a site shows: those of the catalogue's datasets below a folder."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from builders import catalogue
from builders.catalogue import Definition
from builders.errors import ReleaseError, UsageError
from builders.spec import VERSION, version_key
from cards.manifest import Manifest
from pipelines.release import folder

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SiteRelease:
    """A release to show. statistics: as in statistics.json, by split."""

    definition: Definition
    manifest: Manifest
    release_dir: Path
    statistics: dict[str, Any]

    @property
    def path(self) -> str:
        """Its folder in the site: `cedr-classification/3.0.0`."""
        return f"{self.definition.dataset.name}/{self.manifest.version}"


@dataclass(frozen=True)
class SiteDataset:
    """A dataset of the catalogue with its releases, the newest first; none where nothing was built."""

    definition: Definition
    releases: tuple[SiteRelease, ...]


def find_datasets(names: Sequence[str], releases: Path) -> list[SiteDataset]:
    """The datasets that names mean, or all, each with its releases below a folder.

    Raises UsageError for an unknown name and where the folder does not exist, ReleaseError where none of the datasets has a
    release there, and for a release that cannot be read.
    """
    if not releases.is_dir():
        raise UsageError(
            "no such folder", where=str(releases), todo="name the folder with the releases: --releases DIR"
        )
    if not names:
        _log_unknown(releases)
    datasets = []
    for entry, requested in catalogue.resolve(names or ["all"]):
        definition = catalogue.load(entry)
        version = catalogue.requested_version(definition, requested) if requested else None
        datasets.append(SiteDataset(definition, tuple(_find_releases(definition, releases / entry.dataset, version))))
    if not any(one.releases for one in datasets):
        shown = " ".join(names) or "all --sample"
        raise ReleaseError(
            "no releases found",
            where=str(releases),
            expected="<dataset>/<version>/manifest.json of a dataset of the catalogue",
            todo=f"build some: embedding-datasets build {shown} --output {releases}",
        )
    return datasets


def _log_unknown(releases: Path) -> None:
    """Warn of folders with releases of datasets that the catalogue does not have: they are not shown."""
    for path in sorted(releases.iterdir()):
        if path.name not in catalogue.entries() and any(path.glob(f"*/{folder.MANIFEST}")):
            logger.warning("%s: not in the catalogue, its releases are not shown", path)


def _find_releases(definition: Definition, dataset_dir: Path, version: str | None) -> list[SiteRelease]:
    names = [path.name for path in dataset_dir.glob("*") if VERSION.fullmatch(path.name) and path.is_dir()]
    wanted = [name for name in sorted(names, key=version_key, reverse=True) if version in (None, name)]
    return [one for one in (_read_release(definition, dataset_dir / name) for name in wanted) if one is not None]


def _read_release(definition: Definition, release_dir: Path) -> SiteRelease | None:
    """A release; None for an empty folder.

    Raises ReleaseError for anything else, and for the release of another dataset or version.
    """
    manifest = folder.read_manifest(release_dir)
    if manifest is None:
        return None
    expected = f"{definition.dataset.name}@{release_dir.name}"
    if manifest.name != expected:
        what, todo = "the folder holds another release", "move it to outputs/<dataset>/<version>"
        raise ReleaseError(what, where=str(release_dir), found=manifest.name, expected=expected, todo=todo)
    return SiteRelease(definition, manifest, release_dir, _read_statistics(release_dir / folder.STATISTICS))


def _read_statistics(path: Path) -> dict[str, Any]:
    """The statistics of each split; empty where the file is missing or is not JSON, which the check reports."""
    try:
        statistics = orjson.loads(path.read_bytes())
    except (FileNotFoundError, orjson.JSONDecodeError):
        return {}
    valid = isinstance(statistics, dict) and all(isinstance(one, dict) for one in statistics.values())
    return statistics if valid else {}
