"""The datasets of an index: releases and datasets of others, by the names that `check` takes."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from builders import catalogue
from builders.errors import ReleaseError, SourceError
from pipelines.corpus_scan.index_file import IndexTable
from pipelines.corpus_scan.indexed_datasets import from_foreign, from_release
from pipelines.corpus_scan.indexing import IndexedDataset
from pipelines.foreign.dataset_files import find_files, reading_rows
from pipelines.foreign.datasets import ForeignOptions, read_datasets
from pipelines.release.folder import MANIFEST, require_manifest
from pipelines.report.targets import Target, dataset_name, locate_target, resolve_targets
from pipelines.safe_text import first_line


def find_datasets(names: Sequence[str], releases: Path, options: ForeignOptions) -> list[IndexedDataset]:
    """The datasets that names mean, each once. releases: where those of the catalogue are. options: for datasets of others.

    Raises UsageError for an unknown name, ReleaseError for a release that has not been built, SourceError for a dataset that
    cannot be read.
    """
    found: dict[tuple[str, str, str], list[IndexedDataset]] = {}
    for name in names:
        for target in resolve_targets(name, releases):
            datasets = _read_target(target, options)
            found.setdefault(datasets[0].identity, datasets)
    return [one for datasets in found.values() for one in datasets]


def releases_at_hand(tables: Iterable[IndexTable], releases: Path) -> list[IndexedDataset]:
    """The releases that tables of an index are of, as far as they are below a folder, with the same content."""
    found = []
    for name, version, digest in dict.fromkeys(one.identity for one in tables):
        if not digest or name not in catalogue.entries():
            continue  # a name in a file of others must not become a path
        release_dir = releases / name / version
        try:
            same = (release_dir / MANIFEST).is_file() and require_manifest(release_dir).content_sha256 == digest
            found += [from_release(release_dir)] if same else []
        except ReleaseError:
            continue  # damaged: its texts are not at hand
    return found


def _read_target(target: Target, options: ForeignOptions) -> list[IndexedDataset]:
    path, fetched = (target.file, None) if target.file else locate_target(target, options.subsets, option="--releases")
    if (path / MANIFEST).exists():
        return [from_release(path)]
    files = find_files(path, options.subsets)
    with reading_rows(files):
        datasets = read_datasets(files, options)
    name, revision = dataset_name(target, path), fetched.folder.name if fetched else ""
    return [from_foreign(one, name, revision) for one in datasets]


@contextmanager
def indexing_rows(names: Sequence[str]) -> Iterator[None]:
    """While the rows of these datasets are read, raise a SourceError for what polars cannot read."""
    try:
        yield
    except pl.exceptions.PolarsError as error:
        where = ", ".join(names)
        raise SourceError("cannot read the rows of a dataset", where=where, found=first_line(error)) from error
