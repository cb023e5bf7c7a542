"""Datasets to index: releases of this package, and datasets that it did not build."""

from pathlib import Path

from builders import catalogue
from builders.errors import ReleaseError
from pipelines.corpus_scan.indexing import IndexedDataset
from pipelines.foreign.datasets import ForeignDataset
from pipelines.release import folder


def from_release(release_dir: Path) -> IndexedDataset:
    """The dataset in the folder of a release.

    Raises ReleaseError for a folder that is not a release of a dataset of the catalogue.
    """
    manifest = folder.require_manifest(release_dir)
    entry = catalogue.entries().get(manifest.dataset)
    if entry is None:
        todo = "update this package, or index a copy of the data files without manifest.json"
        raise ReleaseError("unknown dataset", where=str(release_dir), found=manifest.dataset, todo=todo)
    dataset = catalogue.load(entry).dataset
    return IndexedDataset(
        manifest.dataset,
        manifest.version,
        dataset.task,
        folder.scan_tables(release_dir, manifest.tables),
        dataset.languages,
        manifest.content_sha256,
    )


def from_foreign(dataset: ForeignDataset, name: str, revision: str) -> IndexedDataset:
    """A dataset that this package did not build, under its own names of tables. revision: its version in the index."""
    return IndexedDataset(
        name, revision, dataset.task, dataset.frames, dataset.languages, own_locations=dataset.own_locations
    )
