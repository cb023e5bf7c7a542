"""The datasets of an index: releases and datasets of others, by the names that `check` takes."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from builders import catalogue, limits
from builders.errors import ReleaseError, SourceError
from cards.front_matter_parser import parse_front_matter
from pipelines.corpus_scan.indexed_datasets import from_foreign, from_release
from pipelines.foreign.data_files import resolve_tables, split_of_file
from pipelines.foreign.datasets import read_datasets
from pipelines.foreign.file_formats import NAMES, extension, unreadable_file
from pipelines.foreign.folders import list_files
from pipelines.release.folder import MANIFEST, require_manifest
from pipelines.report.targets import locate_target, resolve_targets
from pipelines.resolution import CARD

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from pipelines.corpus_scan.index_file import IndexTable
    from pipelines.corpus_scan.indexing import IndexedDataset
    from pipelines.foreign.datasets import ForeignOptions
    from pipelines.report.targets import Target


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
    if target.file is not None:
        return _read_file(target.file, options)
    dataset_dir, fetched = locate_target(target, options.subsets, option="--releases")
    if (dataset_dir / MANIFEST).exists():
        return [from_release(dataset_dir)]
    name = target.repository[0] if target.repository else dataset_dir.resolve().name
    return _read_folder(dataset_dir, name, fetched.folder.name if fetched else "", options)


def _read_folder(dataset_dir: Path, name: str, revision: str, options: ForeignOptions) -> list[IndexedDataset]:
    paths = list_files(dataset_dir)
    card = limits.read_at_most(dataset_dir / CARD, limits.MAX_CARD) if CARD in paths else b""
    front_matter = parse_front_matter(card, str(dataset_dir))
    files = resolve_tables(paths, front_matter, str(dataset_dir), options.subsets)
    try:
        datasets = read_datasets(dataset_dir, files, front_matter, options)
    except (pl.exceptions.PolarsError, OSError) as error:
        every = [dataset_dir / path for splits in files.values() for some in splits.values() for path in some]
        raise unreadable_file(every, error) from error
    return [from_foreign(one, name, revision) for one in datasets]


def _read_file(path: Path, options: ForeignOptions) -> list[IndexedDataset]:
    if extension(path.name) is None:
        todo = "convert it to one of these, or name a folder, ORG/NAME@REVISION or a dataset"
        raise SourceError("not a data file", where=str(path), expected=", ".join(NAMES), todo=todo)
    files = {"default": {split_of_file(path.name): [path.name]}}
    try:
        datasets = read_datasets(path.parent, files, {}, replace(options, one_file=True))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable_file([path], error) from error
    return [from_foreign(one, path.name, "") for one in datasets]


@contextmanager
def reading_rows(names: Sequence[str]) -> Iterator[None]:
    """While the rows of these datasets are read, raise a SourceError for what polars cannot read."""
    try:
        yield
    except pl.exceptions.PolarsError as error:
        found = str(error).strip().partition("\n")[0][:300]
        raise SourceError("cannot read the rows of a dataset", where=", ".join(names), found=found) from error
