"""The data files of a dataset that this package did not build: those in its folder, or its only file."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from builders import limits
from builders.errors import SourceError
from cards.front_matter_parser import parse_front_matter
from pipelines.foreign.data_files import all_paths, resolve_tables, split_of_file
from pipelines.foreign.file_formats import NAMES, extension, unreadable_file
from pipelines.foreign.folders import list_files
from pipelines.resolution import CARD, Files


@dataclass(frozen=True)
class DatasetFiles:
    """The files of a dataset.

    path: its folder, or its only file. folder: which `tables` are relative to. tables: the data files of each table, by config
    and split. front_matter: of its card, empty without one.
    """

    path: Path
    folder: Path
    tables: Files
    front_matter: Mapping[str, Any]


def find_files(path: Path, subsets: Sequence[str] = ()) -> DatasetFiles:
    """The files of the dataset in a folder; of a file, as the split that its name says (`test.csv`), else as `train`, which
    `load_dataset` calls it.

    Raises SourceError for a file in another format, and as list_files and resolve_tables do.
    """
    if path.is_file():
        if extension(path.name) is None:
            todo = "convert it to one of these, or name a folder, ORG/NAME@REVISION or a dataset"
            raise SourceError("not a data file", where=str(path), expected=", ".join(NAMES), todo=todo)
        return DatasetFiles(path, path.parent, {"default": {split_of_file(path.name): [path.name]}}, {})
    paths = list_files(path)
    card = limits.read_at_most(path / CARD, limits.MAX_CARD) if CARD in paths else b""
    front_matter = parse_front_matter(card, str(path))
    return DatasetFiles(path, path, resolve_tables(paths, front_matter, str(path), subsets), front_matter)


@contextmanager
def reading_rows(files: DatasetFiles) -> Iterator[None]:
    """While the rows of a dataset are read, raise a SourceError for what cannot be read, which names the file."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable_file([files.folder / path for path in all_paths(files.tables)], error) from error
