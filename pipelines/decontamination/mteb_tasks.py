"""An index of the tasks of mteb: their datasets as mteb's registry names them, at its revisions, read from the Hub one by one.

Each dataset becomes an index of its own in the cache, and its downloads are removed; so a killed command goes on where it was,
and the disk holds one dataset at a time. What cannot be read is listed, in the index too. Whole splits are read: where mteb draws
a sample of a split, or removes rows from it, the index has them all.
"""

import ast
import errno
import inspect
import logging
import shutil
import textwrap
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, product
from pathlib import Path
from typing import Any

from builders.errors import DatasetError, SourceError, UsageError
from builders.tasks import TYPES, TaskType
from pipelines.audit.tables import available_splits
from pipelines.checking.data_files import belongs_to
from pipelines.checking.datasets import ForeignOptions, read_datasets, reading_rows
from pipelines.checking.targets import fetch_tables
from pipelines.decontamination.index_file import FORMAT, IndexTable, Record, Unread, join_indexes, read_record
from pipelines.decontamination.indexing import from_foreign, index_tables, indexing_rows
from pipelines.hub import client, repository
from pipelines.process import installation
from pipelines.process.files import locked
from pipelines.process.resumable import identity_digest
from pipelines.process.stages import stage

ALL = "all"
LOCAL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES)  # a disk that is full, or may not be written
RENAMING = ("rename_column", "rename_columns")  # of `datasets`, in the transformations of tasks


@dataclass(frozen=True)
class MtebDataset:
    """A dataset of the Hub that tasks of mteb evaluate.

    subsets: those that they evaluate, empty for all. splits: those that they evaluate. license: as mteb states it. readings: how
    it may be read, the likeliest first: a task type of ours, if one is known, and its columns by our names.
    """

    path: str
    revision: str
    tasks: tuple[str, ...]
    subsets: tuple[str, ...]
    splits: tuple[str, ...]
    license: str
    readings: tuple[tuple[str | None, tuple[tuple[str, str], ...]], ...]


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
                if _stops(error):
                    raise
                unread.append(_unread(dataset, ": ".join(filter(None, (error.what, error.found)))[:300]))
            shutil.rmtree(cache / "mteb" / "hub" / dataset.path, ignore_errors=True)
            advance(1)
    if not parts:
        found = "; ".join(f"{one.dataset}: {one.reason}" for one in unread[:3])
        raise SourceError("no dataset of these tasks can be read", where=source, found=found)
    return join_indexes(parts, output, Record(source, licenses, tuple(unread)))


def _stops(error: BaseException) -> bool:
    """Whether an error is of the Hub as a whole, or of this machine, and not of a dataset."""
    causes = [error]
    while causes[-1].__cause__ is not None:
        causes.append(causes[-1].__cause__)
    return client.explain_error(error).transient or any(getattr(cause, "errno", None) in LOCAL for cause in causes)


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
        at, failures = repository.snapshot(hub, dataset.path, dataset.revision), list[DatasetError]()
        if at is None:
            raise SourceError("no such repository or revision on the Hub", where=dataset.path)
        # One table may have the rows of all subsets.
        for (task, columns), subsets in product(dataset.readings, dict.fromkeys((dataset.subsets, ()))):
            options = ForeignOptions(task, subsets=subsets, columns=dict(columns), keep_ids=True)
            try:
                return _read_dataset(hub, dataset, at, options, part)
            except DatasetError as error:
                if _stops(error):
                    raise
                failures.append(error)
        raise failures[0]


def _read_dataset(
    hub: client.HubClient, dataset: MtebDataset, at: repository.Snapshot, options: ForeignOptions, part: Path
) -> Path:
    """Write the index of a dataset, read in one way, and return its path.

    Raises SourceError and UsageError where it cannot be read so.
    """
    files = fetch_tables(hub, dataset.path, at, part.parent, subsets=options.subsets, splits=dataset.splits)
    with reading_rows(files), indexing_rows([dataset.path]):
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
    if find_spec("mteb") is None:
        raise UsageError("the package mteb is missing", todo="pip install 'embedding-datasets[mteb]'")
    logging.getLogger("mteb").setLevel(logging.ERROR)  # it warns of every task in beta
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mteb = import_module("mteb")
        found = [task for name in names for task in _find_tasks(name)]
    groups: dict[tuple[str, str], list[Any]] = {}
    unread: dict[str, Unread] = {}
    for task in found:
        of, modalities = task.metadata, sorted(task.metadata.modalities)
        if modalities == ["text"] and of.is_public:
            groups.setdefault((of.dataset["path"], of.dataset["revision"]), []).append(task)
        else:
            reason = f"it has {', '.join(modalities)}; tasks of text alone are read" if of.is_public else "private"
            unread[of.name] = Unread(of.dataset["path"], reason, of.dataset["revision"], (of.name,))
    datasets = [_describe(*key, groups[key]) for key in sorted(groups)]
    source = f"{', '.join('all tasks' if name == ALL else name for name in names)} of mteb {mteb.__version__}"
    return source, datasets, [unread[name] for name in sorted(unread)]


def _find_tasks(name: str) -> list[Any]:
    """The tasks of a benchmark, one task, or all; those that others are made of instead of these."""
    mteb: Any = import_module("mteb")
    everything = {"exclude_superseded": False, "exclude_private": False, "exclude_beta": False}
    ways: list[Callable[[], Iterable[Any]]] = [lambda: mteb.get_benchmark(name).tasks, lambda: [mteb.get_task(name)]]
    for find in [lambda: mteb.get_tasks(**everything)] if name == ALL else ways:
        with suppress(KeyError):
            found = find()
            break
    else:
        todo = "name a benchmark, MTEB(rus, v1.1), a task, RuBQRetrieval, or all; or install another version of mteb"
        what = f"mteb {mteb.__version__} has no benchmark and no task of this name"
        raise UsageError(what, found=name, todo=todo)
    return [part for task in found for part in getattr(task, "tasks", None) or [task]]


def _describe(path: str, revision: str, tasks: Sequence[Any]) -> MtebDataset:
    """The dataset of tasks that share it."""
    subsets = [
        tuple(task.hf_subsets if task.metadata.is_multilingual else filter(None, [task.metadata.dataset.get("name")]))
        for task in tasks
    ]
    readings: list[tuple[str | None, tuple[tuple[str, str], ...]]] = []
    for task in tasks:
        kind = TYPES.get(task.metadata.type)
        readings += [(kind.name, tuple(_columns(task, kind).items())), (kind.name, ())] if kind else []
        # Bitexts of all languages in one table have sides, and no pair of languages.
        readings += [("PairClassification", ())] if task.metadata.type == "BitextMining" else []
    return MtebDataset(
        path,
        revision,
        tuple(sorted({task.metadata.name for task in tasks})),
        tuple(sorted(set().union(*subsets))) if all(subsets) else (),
        tuple(sorted(set().union(*(task.eval_splits for task in tasks)))),
        ", ".join(sorted({task.metadata.license or "not specified" for task in tasks})),
        tuple(dict.fromkeys([*readings, (None, ())])),
    )


def _columns(task: Any, kind: TaskType) -> dict[str, str]:
    """The columns of a task's dataset by our names, where the names differ: as its class names them, before its transformation
    renames them. What a transformation computes is not seen.
    """
    inputs = ("input_column_name", "input1_column_name", "input2_column_name")
    texts = getattr(task, "column_names", None) or [getattr(task, name) for name in inputs if hasattr(task, name)]
    theirs = [*texts, getattr(task, "label_column_name", "")] if texts else []
    renamed: dict[str, str] = {}
    source = textwrap.dedent(inspect.getsource(task.dataset_transform))
    for call in ast.walk(ast.parse(source)):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in RENAMING:
            with suppress(ValueError):  # names that are computed
                values = [ast.literal_eval(value) for value in call.args]
                pairs = values[0].items() if len(values) == 1 else [values]
                renamed |= {new: old for old, new in pairs}
    ours = [*kind.layouts[0].text, kind.label]
    named = dict(zip(ours, theirs, strict=False)) or dict.fromkeys(ours, "")
    found = {own: renamed.get(other or own, other or own) for own, other in named.items() if own}
    return {own: other for own, other in found.items() if own != other}
