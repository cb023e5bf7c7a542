"""An index of the tasks of mteb: their datasets as mteb's registry names them, at its revisions, read from the Hub one by one.

Each dataset becomes an index of its own in the cache, and its downloads are removed; so a killed command goes on where it was,
and the disk holds one dataset at a time. What cannot be read is listed, in the index too. Whole splits are read: where mteb draws
a sample of a split, or removes rows from it, the index has them all.
"""

import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import Any

from builders.errors import SourceError, UsageError
from pipelines.audit.tables import available_splits
from pipelines.checking.data_files import belongs_to
from pipelines.checking.datasets import ForeignOptions, read_datasets, reading_rows
from pipelines.checking.targets import fetch_tables
from pipelines.decontamination.index_file import FORMAT, IndexTable, Record, Unread, join_indexes, read_record
from pipelines.decontamination.indexing import from_foreign, index_tables
from pipelines.hub import client, repository
from pipelines.mteb_tasks.registry import (
    ALL,
    MtebDataset,
    describe_dataset,
    find_tasks,
    first_reading,
    load_mteb,
    stops,
)
from pipelines.process import installation
from pipelines.process.files import locked
from pipelines.process.resumable import identity_digest
from pipelines.process.stages import stage


def index_mteb(names: Sequence[str], output: Path, cache: Path) -> list[IndexTable]:
    """Write the index of the splits that tasks of the installed mteb evaluate, and return its tables.

    names: of benchmarks and of tasks, or ALL.

    Raises UsageError for an unknown name and where mteb is not installed, SourceError where no dataset can be read, and where the
    Hub is out of reach or the disk is full: the next call goes on from there.
    """
    source, datasets, unread = find_mteb_datasets(names)
    hub, parts, licenses = client.connect(), list[Path](), dict[str, str]()
    with stage(source, total=len(datasets), unit="datasets") as advance:
        for dataset in datasets:
            try:
                parts.append(_index_dataset(hub, dataset, cache / "mteb"))
                unread += read_record(parts[-1]).unread
                licenses[dataset.path] = dataset.license
            except (SourceError, UsageError) as error:
                if stops(error):
                    raise
                unread.append(_unread(dataset, ": ".join(filter(None, (error.what, error.found)))[:300]))
            shutil.rmtree(cache / "mteb" / "hub" / dataset.path, ignore_errors=True)
            advance(1)
    if not parts:
        raise SourceError(
            "no dataset of these tasks can be read",
            where=source,
            found="; ".join(f"{one.dataset}: {one.reason}" for one in unread[:3]),
        )
    return join_indexes(parts, output, Record(source, licenses, tuple(unread)))


def _unread(dataset: MtebDataset, reason: str) -> Unread:
    return Unread(dataset.path, " ".join(reason.split()), dataset.revision, dataset.tasks)


def _index_dataset(hub: client.HubClient, dataset: MtebDataset, folder: Path) -> Path:
    """The index of a dataset in a folder, made unless it is there; its record says what of the dataset it lacks."""
    made_of = {"dataset": asdict(dataset), "format": FORMAT, "code": installation.describe()}
    part = folder / f"{identity_digest(made_of)}.index"
    folder.mkdir(parents=True, exist_ok=True)
    with locked(part.with_suffix(".lock"), dataset.path, activity="indexing", remove=True):
        if part.exists():
            return part
        if (at := repository.snapshot(hub, dataset.path, dataset.revision)) is None:
            raise SourceError("no such repository or revision on the Hub", where=dataset.path)
        # One table may have the rows of all subsets.
        ways = product(dataset.readings, dict.fromkeys((dataset.subsets, ())))
        options = [
            ForeignOptions(task, subsets=some, columns=dict(columns), keep_ids=True) for (task, columns), some in ways
        ]
        return first_reading(partial(_read_dataset, hub, dataset, at, way, part) for way in options)


def _read_dataset(
    hub: client.HubClient, dataset: MtebDataset, at: repository.Snapshot, options: ForeignOptions, part: Path
) -> Path:
    """Write the index of a dataset, read in one way, and return its path.

    Raises SourceError and UsageError where it cannot be read so.
    """
    files = fetch_tables(hub, dataset.path, at, part.parent, subsets=options.subsets, splits=dataset.splits)
    with reading_rows(files):
        found = read_datasets(files, options)
        read = {config for one in found for config, _ in one.own_locations.values()}
        splits = [available_splits(one.task, one.frames) for one in found]
        if not set(dataset.splits).intersection(chain(*splits)):
            raise SourceError(
                "none of the splits that mteb evaluates", where=dataset.path, found=", ".join(sorted({*chain(*splits)})),
                expected=", ".join(dataset.splits),
            )  # fmt: skip
        lacking = [
            f"no split {split}{f' of {one.subset}' if one.subset else ''}"
            for one, available in zip(found, splits, strict=True)
            for split in dataset.splits
            if split not in available
        ]
        absent = [name for name in dataset.subsets if not any(belongs_to(config, name) for config in files.tables)]
        if len(absent) < len(dataset.subsets):  # else one table has the rows of all subsets
            lacking += [f"no subset {name}" for name in absent]
        lacking += [f"the config {config} has no known layout" for config in sorted(set(files.tables) - read)]
        record = Record(unread=(_unread(dataset, "; ".join(lacking)),) if lacking else ())
        indexed = [replace(from_foreign(one, dataset.path, at.sha), splits=dataset.splits) for one in found]
        index_tables(indexed, part, record=record)
        return part


def find_mteb_datasets(names: Sequence[str]) -> tuple[str, list[MtebDataset], list[Unread]]:
    """What is indexed, in words; the datasets of the tasks that names mean, sorted by path; and those that are not of text alone.

    Raises UsageError as index_mteb does.
    """
    mteb = load_mteb()
    found = [task for name in names for task in find_tasks(name)]
    groups: dict[tuple[str, str], list[Any]] = {}
    unread: dict[str, Unread] = {}
    for task in found:
        of, modalities = task.metadata, sorted(task.metadata.modalities)
        if modalities == ["text"] and of.is_public:
            groups.setdefault((of.dataset["path"], of.dataset["revision"]), []).append(task)
        else:
            reason = f"it has {', '.join(modalities)}; tasks of text alone are read" if of.is_public else "private"
            unread[of.name] = Unread(of.dataset["path"], reason, of.dataset["revision"], (of.name,))
    datasets = [describe_dataset(groups[key]) for key in sorted(groups)]
    source = f"{', '.join('all tasks' if name == ALL else name for name in names)} of mteb {mteb.__version__}"
    return source, datasets, [unread[name] for name in sorted(unread)]
