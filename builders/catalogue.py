"""The catalogue: every source and dataset by name.

A builder is found by its file, `builders/<folder>/<source>.py` or `builders/<folder>/<source>/__init__.py`. Its names are read
from the text of that file, so that listing and resolving names imports no builder. `load` imports one when it is needed.
"""

import ast
import difflib
import importlib
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from builders.benchmarks import TASKS, datasets_of_tasks, find_alias, fold
from builders.errors import UsageError
from builders.spec import OTHER, TRAINING, VERSION, Dataset, Source, version_key

ROOT = Path(__file__).parent
FOLDERS = ("rumteb", "ateb", "other", "training")
DECORATED = re.compile(r"^@dataset\((?:(?!^def ).*\n)+def ", re.MULTILINE)
Item = TypeVar("Item")

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Entry:
    """What the text of a builder says: a dataset's name, its source, its module, and the group it is listed in."""

    dataset: str
    source: str
    module: str
    path: Path
    group: str


@dataclass(frozen=True)
class Definition:
    """A dataset as loaded: its entry, its source and itself."""

    entry: Entry
    source: Source
    dataset: Dataset

    @property
    def license(self) -> str:
        """The licence id of the dataset: its own, else that of the source."""
        return self.dataset.license or self.source.license


def read_catalogue(root: Path = ROOT) -> dict[str, Entry]:
    """All datasets by name, in the order of benchmarks, files and declarations.

    Raises ValueError for a builder whose names cannot be read, for one without a dataset, and for two datasets or two
    sources with one name.
    """
    found: dict[str, Entry] = {}
    sources: dict[str, Path] = {}
    for folder in FOLDERS:
        for source, path in sorted(_builders(root / folder)):
            if source in sources:
                raise ValueError(f"two sources are named {source!r}: {sources[source]} and {path}")
            sources[source] = path
            declared = list(_declared(path, TRAINING if folder == TRAINING else OTHER))
            if not declared:
                raise ValueError(f"{path}: no dataset declared: decorate a recipe with @dataset(...)")
            for name, group in declared:
                if name in found:
                    raise ValueError(f"two datasets are named {name!r}: in {found[name].path} and {path}")
                found[name] = Entry(name, source, f"builders.{folder}.{source}", path, group)
    return found


def _builders(folder: Path) -> Iterator[tuple[str, Path]]:
    """The name of each source in a folder, and its file."""
    for path in folder.glob("[!_]*"):
        if path.suffix == ".py":
            yield path.stem, path
        elif (path / "__init__.py").is_file():
            yield path.name, path / "__init__.py"


@cache
def entries() -> dict[str, Entry]:
    """The catalogue of this package."""
    return read_catalogue()


def load(entry: Entry) -> Definition:
    """Import a builder and take one dataset from it.

    Raises ValueError where the module does not hold what its text declares.
    """
    module = importlib.import_module(entry.module)
    datasets = {value.name: value for value in vars(module).values() if isinstance(value, Dataset)}
    source: Source | None = getattr(module, "SOURCE", None)
    if source is None or source.name != entry.source:
        raise ValueError(f"{entry.path}: needs a SOURCE named {entry.source!r}, like the file")
    if entry.dataset not in datasets:
        raise ValueError(f"{entry.path}: declares {entry.dataset!r} but holds {sorted(datasets)}")
    return Definition(entry, source, datasets[entry.dataset])


def resolve(names: Iterable[str]) -> list[tuple[Entry, str | None]]:
    """The datasets that names mean, in the catalogue's order, each once, with the version asked for (None: the newest).

    A name is a dataset, a source, a group (rumteb, ateb, rarb, mteb-rus-v1.1, training, or all but training data) or an
    unambiguous beginning of one of these, or what mteb or the paper's authors call a dataset (`CEDRClassification`,
    `ai-forever/cedr-classification`), which is logged. Case does not matter, nor `_` for `-`. A name may carry a version:
    `rubq-retrieval@1.0.0`.

    Several versions of a dataset are in ascending order; beside them, a name without a version adds none.

    Raises UsageError for a name that means nothing or too much, and for a malformed version.
    """
    chosen: dict[str, set[str]] = {}
    for text in names:
        name, version = split_version(text)
        for entry in _matching(name):
            chosen.setdefault(entry.dataset, set()).update([version] if version else [])
    return [
        (entry, version)
        for entry in entries().values()
        if entry.dataset in chosen
        for version in sorted(chosen[entry.dataset], key=version_key) or (None,)
    ]


def require_one(
    name: str, found: Sequence[Item], describe: Callable[[Item], str], kind: str = "datasets", argument: str = ""
) -> Item:
    """What a name means, if that is one dataset. Raises UsageError with the names of the first 20 if it means several.

    describe: returns the name of one. kind: what they are. argument: what precedes a name to choose it, such as `subset=`.
    """
    names = [describe(item) for item in found]
    if len(names) > 1:
        raise UsageError(
            f"{name!r} means {len(names)} {kind}",
            found=", ".join(names[:20]),
            todo=f"name one of them: {argument}{names[0]!r}",
        )
    return found[0]


def split_version(text: str) -> tuple[str, str | None]:
    """The name and the version of `cedr@1.0.0`, or of `cedr@v1.0.0`, as the tag is called; None for a name without a version.

    Raises UsageError for a missing name, and for anything behind the `@` that is not a version.
    """
    name, at, version = text.partition("@")
    if at and not name:
        raise UsageError(f"no dataset before the version in {text!r}", todo="name one: cedr@1.0.0")
    number = version.removeprefix("v")
    if at and not VERSION.fullmatch(number):
        what = f"{version!r} is not a version" if version else f"no version after the @ in {text!r}"
        raise UsageError(what, expected="three numbers: 1.0.0", todo=f"leave the @ out for the newest version: {name}")
    return name, number if at else None


def requested_splits(definition: Definition, requested: tuple[str, ...] | None) -> tuple[str, ...]:
    """The splits to build, in the task's order; all of them where none is requested.

    Raises UsageError for a split that the dataset does not have.
    """
    name, splits = definition.dataset.name, definition.dataset.task.splits
    unknown = [split for split in requested or () if split not in splits]
    if unknown:
        raise UsageError(f"{name} has no split {unknown[0]!r}", expected=", ".join(splits), todo="correct --splits")
    return splits if requested is None else tuple(split for split in splits if split in requested)


def load_all(names: Iterable[str]) -> list[tuple[Definition, str]]:
    """The datasets that names mean, loaded, each with the version that is named, else with its newest.

    Raises UsageError for names or versions that do not exist.
    """
    loaded = [(load(entry), version) for entry, version in resolve(names)]
    return [(definition, requested_version(definition, version)) for definition, version in loaded]


def requested_version(definition: Definition, requested: str | None) -> str:
    """The requested version, or the newest.

    Raises UsageError for a version that the dataset does not have.
    """
    if requested is not None and requested not in definition.dataset.versions:
        raise UsageError(
            f"{definition.dataset.name} has no version {requested!r}",
            expected=", ".join(definition.dataset.versions),
            todo="leave the version out for the newest",
        )
    return requested or definition.dataset.newest


def needed_files(definition: Definition, splits: tuple[str, ...], version: str) -> list[str]:
    """The keys of the raw files that some splits of a version take, in the order of the source."""
    dataset = definition.dataset
    keys = {key for split in splits for key in dataset.needs[split]} | set(dataset.versions[version].needs)
    return [key for key in definition.source.files if key in keys]


def _matching(name: str) -> list[Entry]:
    """The entries that one name means: our own names first, then those of others, then beginnings of ours."""
    every = list(entries().values())
    groups = dict.fromkeys(["all", *(entry.group for entry in every)])
    names = dict.fromkeys([*groups, *(entry.source for entry in every), *(entry.dataset for entry in every)])
    if exact := _named(name, every):
        return exact
    if alias := find_alias(name, entries()):
        logger.info("%s is %s here", name, alias)
        return [entries()[alias]]
    beginnings = {other: _named(other, every) for other in names if name and fold(other).startswith(fold(name))}
    sources = {entry.source for meant in beginnings.values() for entry in meant}
    if len(sources) == 1 and sources <= set(beginnings):  # a source and its datasets begin alike: the source is meant
        return _named(sources.pop(), every)
    if len(beginnings) == 1:
        return next(iter(beginnings.values()))
    if beginnings:
        raise UsageError(f"{name!r} is the beginning of several names", found=", ".join(beginnings), todo="say which")
    nearest = [repr(other) for other in _nearest(name, names)]
    hint = f"did you mean {' or '.join(nearest)}? " if nearest else ""
    raise UsageError(
        f"no source, dataset or group is named {name!r}", todo=f"{hint}List all names: embedding-datasets show"
    )


def _named(name: str, every: list[Entry]) -> list[Entry]:
    """The entries of a group, a source or a dataset. Training data belong to no benchmark: `all` leaves them out, and so does a
    source that has other datasets too, because they need raw files that those do not.
    """
    evaluated = [entry for entry in every if entry.group != TRAINING]
    if fold(name) == "all":
        return evaluated
    served = datasets_of_tasks(fold(name))
    named = [
        entry for entry in every if fold(name) in map(fold, (entry.group, entry.dataset)) or entry.dataset in served
    ]
    of_source = [entry for entry in every if fold(entry.source) == fold(name)]
    return named or [entry for entry in of_source if entry in evaluated] or of_source


def _nearest(name: str, names: Iterable[str]) -> list[str]:
    """Up to three of our names that look like a name or the last part of ORG/NAME, or are those of mteb's nearest tasks."""
    known = {fold(task): dataset for task, dataset in TASKS.items()} | {fold(other): other for other in names}
    last = fold(name.rpartition("/")[2])
    near = [last] if last in known else difflib.get_close_matches(last, known, n=3, cutoff=0.5)
    return list(dict.fromkeys(known[other] for other in near))


def _declared(path: Path, group: str) -> Iterable[tuple[str, str]]:
    """The name of every `@dataset("name", ...)` in a file, and its group.

    That is the literal `benchmark`; without one, `training` for the task type Contrastive, in whatever folder, else `group`.
    """
    for node in _decorated(path.read_text("utf-8"), path):
        for call in node.decorator_list if isinstance(node, ast.FunctionDef) else []:
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "dataset":
                words = {word.arg: word.value for word in call.keywords}
                without = TRAINING if _is_training(words.get("task")) else group
                try:
                    name, benchmark = call.args[0], words.get("benchmark", ast.Constant(None))
                    yield ast.literal_eval(name), ast.literal_eval(benchmark) or without
                except (IndexError, ValueError, TypeError):
                    raise ValueError(f"{path}:{call.lineno}: a dataset's name and benchmark must be literal") from None


def _decorated(text: str, path: Path) -> list[ast.stmt]:
    """The statements of a builder with its decorators: parsed alone, each in its line, which takes a fifth of the time.

    All statements where the text has another `@dataset`.
    """
    found = list(DECORATED.finditer(text))
    if not found or len(found) != text.count("@dataset"):
        return ast.parse(text, str(path)).body
    lines = ("\n" * text.count("\n", 0, match.start()) for match in found)
    return [ast.parse(f"{line}{match[0]}_(): ...", str(path)).body[0] for line, match in zip(lines, found, strict=True)]


def _is_training(task: ast.expr | None) -> bool:
    return isinstance(task, ast.Call) and isinstance(task.func, ast.Name) and task.func.id == "Contrastive"
