"""The tasks of the installed mteb: which of them a name means, and the dataset of each, as mteb's registry describes it.

No code of a task is run. Which columns it renames is read from its source; what else it does to the rows is named, not done.
"""

import ast
import difflib
import errno
import inspect
import logging
import re
import textwrap
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from typing import Any, TypeVar

from builders.errors import DatasetError, UsageError
from builders.tasks import TYPES, TaskType
from pipelines.hub import client

ALL = "all"
LOCAL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES)  # a disk that is full, or may not be written
# Methods in the code of tasks: of `datasets` and of mteb's base class.
RENAMING = frozenset({"rename_column", "rename_columns"})
ROW_STEPS = frozenset(
    {
        "class_encode_column",
        "filter",
        "from_dict",
        "map",
        "select",
        "shuffle",
        "stratified_subsampling",
        "train_test_split",
    }
)
LANGUAGE = re.compile(r"[a-z]{3}(?:-[A-Z][a-z]{3})?")

Read = TypeVar("Read")


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


def load_mteb() -> Any:
    """The package mteb, without its warnings of every task in beta. Raises UsageError where it is not installed."""
    if find_spec("mteb") is None:
        raise UsageError("the package mteb is missing", todo="pip install 'embedding-datasets[mteb]'")
    logging.getLogger("mteb").setLevel(logging.ERROR)
    with warnings.catch_warnings(action="ignore"):
        return import_module("mteb")


def find_tasks(name: str) -> list[Any]:
    """The tasks of a benchmark, one task, those of a language (`rus`, `rus-Cyrl`), or all; of a task that is made of others,
    these.

    Raises UsageError for an unknown name, and where mteb is not installed.
    """
    mteb = load_mteb()
    everything = partial(mteb.get_tasks, exclude_superseded=False, exclude_private=False, exclude_beta=False)
    text = partial(mteb.get_tasks, modalities=["text"], exclusive_modality_filter=True, exclude_aggregate=True)
    ways: list[Callable[[], Iterable[Any]]] = [lambda: mteb.get_benchmark(name).tasks, lambda: [mteb.get_task(name)]]
    ways += [lambda: text(languages=[name])] if LANGUAGE.fullmatch(name) else []
    with warnings.catch_warnings(action="ignore"):
        for find in [everything] if name == ALL else ways:
            with suppress(KeyError, ValueError):
                if found := [part for task in find() for part in getattr(task, "tasks", None) or [task]]:
                    return found
        names = [*(task.metadata.name for task in everything()), *(one.name for one in mteb.get_benchmarks())]
    known = {known.casefold(): known for known in names}
    near = " or ".join(repr(known[close]) for close in difflib.get_close_matches(name.casefold(), known))
    todo = "name a benchmark, MTEB(rus, v1.1), a task, RuBQRetrieval, a language, rus, or all; or install another version of mteb"
    raise UsageError(
        f"mteb {mteb.__version__} has no benchmark and no task of this name",
        found=name,
        todo=f"did you mean {near}? {todo}" if near else todo,
    )


def stops(error: BaseException) -> bool:
    """Whether an error is of the Hub as a whole, or of this machine, and not of a dataset."""
    causes = [error]
    while causes[-1].__cause__ is not None:
        causes.append(causes[-1].__cause__)
    return client.explain_error(error).transient or any(getattr(cause, "errno", None) in LOCAL for cause in causes)


def first_reading(attempts: Iterable[Callable[[], Read]]) -> Read:
    """What the first attempt returns that does not fail. Raises the error of the first one where all do."""
    failures = list[DatasetError]()
    for read in attempts:
        try:
            return read()
        except DatasetError as error:
            if stops(error):
                raise
            failures.append(error)
    raise failures[0]


def describe_dataset(tasks: Sequence[Any]) -> MtebDataset:
    """The dataset of tasks that share it."""
    dataset = tasks[0].metadata.dataset
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
        dataset["path"],
        dataset["revision"],
        tuple(sorted({task.metadata.name for task in tasks})),
        tuple(sorted(set().union(*subsets))) if all(subsets) else (),
        tuple(sorted(set().union(*(task.eval_splits for task in tasks)))),
        ", ".join(sorted({task.metadata.license or "not specified" for task in tasks})),
        tuple(dict.fromkeys([*readings, (None, ())])),
    )


def _own_calls(task: Any) -> dict[str, list[ast.Call]]:
    """The calls of methods where a task's own class loads and transforms its dataset, by the name of its method."""
    return {
        method.__name__: [
            node
            for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(method))))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        ]
        for method in (task.load_data, task.dataset_transform)
        if not method.__module__.startswith("mteb.abstasks.")
    }


def own_steps(task: Any) -> list[str]:
    """What a task's own class does to its dataset, unless it only renames columns: `dataset_transform (filter, map)`."""
    called = {name: {getattr(call.func, "attr", "") for call in calls} for name, calls in _own_calls(task).items()}
    return [
        f"{name} ({', '.join(sorted(names & ROW_STEPS)) or 'code of its own'})"
        for name, names in called.items()
        if not names or names - RENAMING
    ]


def _columns(task: Any, kind: TaskType) -> dict[str, str]:
    """The columns of a task's dataset by our names, where the names differ: as its class names them, before its transformation
    renames them. What a transformation computes is not seen.
    """
    inputs = ("input_column_name", "input1_column_name", "input2_column_name")
    texts = getattr(task, "column_names", None) or [getattr(task, name) for name in inputs if hasattr(task, name)]
    theirs = [*texts, getattr(task, "label_column_name", "")] if texts else []
    renamed: dict[str, str] = {}
    for call in chain(*_own_calls(task).values()):
        if getattr(call.func, "attr", "") in RENAMING:
            with suppress(ValueError):  # names that are computed
                values = [ast.literal_eval(value) for value in call.args]
                pairs = values[0].items() if len(values) == 1 else [values]
                renamed |= {new: old for old, new in pairs}
    ours = [*kind.layouts[0].text, kind.label]
    named = dict(zip(ours, theirs, strict=False)) or dict.fromkeys(ours, "")
    found = {own: renamed.get(other or own, other or own) for own, other in named.items() if own}
    return {own: other for own, other in found.items() if own != other}
