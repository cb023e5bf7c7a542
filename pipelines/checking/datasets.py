"""Reads datasets that this package did not build: their files, the task of their tables, and the tables in the layout of it.

The rules are those of mteb 2.26. What it accepts is accepted silently (`_id` for `id`, one corpus for several splits, labels that
are words); what makes it fail or score wrongly is a finding, and the rows are still audited where that is possible.
"""

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from filecmp import cmp
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

import polars as pl

from builders import limits, tasks
from builders.errors import SourceError, UsageError
from builders.reading.values import COLUMN_TYPES
from cards.front_matter import LANGUAGES, parse_front_matter
from cards.manifest import Finding
from pipelines.audit.findings import FindingRows
from pipelines.audit.rules import NO_RULES, RULES_FILE, Rules, read_rules
from pipelines.audit.tables import Frames, count_rows
from pipelines.checking.columns import (
    LANGUAGE_PAIR,
    REQUIRED_CONFIGS,
    find_subsets,
    fit_table,
    infer_type,
    is_readable,
    no_task_type,
    number_labels,
    rename_columns,
    scale_notes,
    score_range,
)
from pipelines.checking.data_files import Location, Tables, all_paths, list_files, resolve_tables, split_of_file
from pipelines.checking.formats import NAMES, extension, find_dialect, scan_files, unreadable_file
from pipelines.checking.layouts import translate
from pipelines.process.safe_text import first_line
from pipelines.release.resolution import CARD, Files
from pipelines.scores.results import require_packages


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
            raise SourceError(
                "not a data file",
                where=str(path),
                expected=", ".join(NAMES),
                todo="convert it to one of these (a .txt is a .tsv if its first line names the columns, such as text<TAB>label), "
                "or name a folder, ORG/NAME@REVISION or a dataset",
            )
        return DatasetFiles(path, path.parent, {"default": {split_of_file(path.name): [path.name]}}, {})
    paths = list_files(path)
    card = limits.read_at_most(path / CARD, limits.MAX_CARD) if CARD in paths else b""
    front_matter = parse_front_matter(card, str(path))
    return DatasetFiles(path, path, resolve_tables(paths, front_matter, str(path), subsets), front_matter)


@contextmanager
def reading_rows(files: DatasetFiles) -> Iterator[None]:
    """While the rows of a dataset are read, raise the error for what cannot be read: formats.unreadable_file."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable_file([files.folder / path for path in all_paths(files.tables)], error) from error


@contextmanager
def reading_frames(name: str) -> Iterator[None]:
    """While the rows of tables are read, raise a SourceError for what cannot be read. name: of the tables."""
    try:
        yield
    except pl.exceptions.PolarsError as error:
        raise SourceError("cannot read the rows of a table", where=name, found=first_line(error)) from error


def find_shared_files(dataset_dir: Path, files: Files) -> dict[Location, Location]:
    """For each table whose files an earlier split of its config has too, byte for byte, the first such table.

    files: by config and split, relative to the folder.
    """
    shared = {}
    for config, splits in files.items():
        firsts: list[str] = []
        for split, paths in splits.items():
            first = next((earlier for earlier in firsts if _same_files(dataset_dir, splits[earlier], paths)), None)
            if first is None:
                firsts.append(split)
            else:
                shared[config, split] = (config, first)
    return shared


def _same_files(dataset_dir: Path, first: list[str], second: list[str]) -> bool:
    """Whether two lists of files are the same, or copies of each other. Only files of equal size are read."""
    return len(first) == len(second) and all(
        one == other or cmp(dataset_dir / one, dataset_dir / other, shallow=False)
        for one, other in zip(first, second, strict=True)
    )


TASKS: dict[str, Any] = {task.type.name: task for task in get_args(tasks.Task)}
SPLIT_ORDER = ("train", "valid", "val", "dev", "", "test", "eval")  # by prefix; "" for all other names
UNKNOWN_LANGUAGE = "language unknown, wrong-language check skipped (pass --language rus-Cyrl)"

# Finds what is learned from tables without defects, as pipelines.profile.searches.profile_tables does: findings, and sentences.
Profiler = Callable[[tasks.Task, Frames], tuple[list[FindingRows], list[str]]]


def load_profiler(*, for_programs: bool) -> Profiler:
    """What finds damage that is learned; with more rows for programs. Raises UsageError where its packages are not installed."""
    require_packages()
    searches = importlib.import_module("pipelines.profile.searches")
    return partial(searches.profile_tables, listed=searches.LISTED) if for_programs else searches.profile_tables


@dataclass(frozen=True)
class ForeignOptions:
    """What the command line says about a dataset: its task type, its languages and the subsets to read, all as in mteb.

    scale: the lowest and the highest score that its scale has. columns: columns of its files by the name that its task has for
    them. one_file: the dataset is one file, so a classification may lack the split to train on. rules: those of `checks.yaml`.
    keep_ids: tables keep their column `id`, which names their rows. profiler: of releases too; it needs packages of an extra.
    train: the split that a classifier learns from.
    """

    task: str | None = None
    languages: tuple[str, ...] = ()
    subsets: tuple[str, ...] = ()
    scale: tuple[float, float] | None = None
    columns: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    one_file: bool = False
    rules: Rules = NO_RULES
    keep_ids: bool = False
    profiler: Profiler | None = None
    train: str = "train"


def with_rules(options: ForeignOptions, file: Path) -> ForeignOptions:
    """The options with the rules of a file, and its languages and columns where the options name none. Raises UsageError."""
    rules = read_rules(file)
    return replace(
        options,
        rules=rules,
        languages=options.languages or rules.languages,
        columns=options.columns or rules.columns,
    )


@dataclass(frozen=True)
class ForeignDataset:
    """A dataset, or one of its subsets, in the layout of its task.

    subset: its name in mteb; empty where there is only one and none was requested. frames: by config and split of the task.
    own_locations: the dataset's own config and split for each of these. schemas: the columns with their types, by own location.
    shared_files: see find_shared_files. findings: the defects of tables and columns. notes: what was ignored or interpreted
    differently from the files. tables: its own, by own location, as the files have them.
    """

    subset: str
    task: tasks.Task
    frames: Tables
    languages: tuple[str, ...]
    own_locations: Mapping[Location, Location]
    schemas: Mapping[Location, Mapping[str, str]]
    shared_files: Mapping[Location, Location]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    tables: Tables = field(default_factory=dict)


def read_datasets(files: DatasetFiles, options: ForeignOptions) -> list[ForeignDataset]:
    """The datasets in files: one for each subset.

    Raises SourceError for a file that cannot be read and where no table has a task type, UsageError where several types match
    and for a column of the options that does not exist.
    """
    paths = {
        config: {split: splits[split] for split in _sort_splits(splits)} for config, splits in files.tables.items()
    }
    tables = {
        config: {split: scan_files([files.folder / path for path in several]) for split, several in splits.items()}
        for config, splits in paths.items()
    }
    options = replace(options, one_file=files.path != files.folder)
    csv = [files.folder / path for path in all_paths(paths) if extension(path) in (".csv", ".tsv")]
    notes = [f"{file.name}: {note}" for file in csv if (note := find_dialect(file).note)]
    shared = find_shared_files(files.folder, paths)
    datasets = read_tables(tables, str(files.path), files.front_matter, options, shared)
    return [replace(dataset, notes=(*notes, *dataset.notes)) for dataset in datasets]


def read_tables(
    tables: Tables,
    where: str,
    front_matter: Mapping[str, Any],
    options: ForeignOptions,
    shared_files: Mapping[Location, Location],
) -> list[ForeignDataset]:
    """The datasets in tables, from files or from memory: one for each subset.

    where: the folder, or what the tables are called, for errors. shared_files: see find_shared_files.

    Raises SourceError where no table has a task type, UsageError where several types match and for a column of the options that
    does not exist.
    """
    tables = {config: {split: splits[split] for split in _sort_splits(splits)} for config, splits in tables.items()}
    own = tables
    tables, common_notes = rename_columns(tables, options.columns, options.task)
    tables, more_notes = translate(tables, options.task, is_readable)
    # What mteb does not read as it is may lack the split that mteb trains on: the sides of NLI, for example.
    options = replace(options, one_file=options.one_file or bool(more_notes))
    common_notes += [
        *more_notes,
        *(f"{RULES_FILE}: the rule {rule.name!r} was applied" for rule in options.rules.rules),
    ]
    languages = declared_languages(front_matter, options.languages)
    subsets = find_subsets(tables)
    inferred = {name: infer_type(name, configs, tables, options.task) for name, configs in subsets.items()}
    types = {name: task_type for name, task_type in inferred.items() if task_type}
    if not types:
        raise no_task_type(where, tables, options.task)
    ignored = [config for name, configs in subsets.items() if name not in types for config in configs.values()]
    common_notes += [f"{config}: ignored, it has no task type" for config in ignored]
    datasets = []
    for name, task_type in types.items():
        dataset = _read_subset(task_type, subsets[name], tables, languages, options)
        notes = [*common_notes, *dataset.notes, *scale_notes(dataset.task, options.scale)]
        notes += [
            f"{'/'.join(location)}: the same files as {'/'.join(first)}, findings that both have are listed once"
            for location, first in shared_files.items()
            if location in dataset.schemas
        ]
        if not languages and task_type != "BitextMining":
            notes.append(UNKNOWN_LANGUAGE)
        subset = "" if len(types) == 1 and not options.subsets else name
        of_subset = {config: own[config] for config in own if len(types) == 1 or config in subsets[name].values()}
        datasets.append(
            replace(dataset, subset=subset, shared_files=shared_files, notes=tuple(notes), tables=of_subset)
        )
    return datasets


def declared_languages(front_matter: Mapping[str, Any], requested: tuple[str, ...]) -> tuple[str, ...]:
    """The languages of a dataset in mteb's notation: the requested ones, else those of its front matter that can be detected.

    Raises UsageError for a requested language that cannot be detected.
    """
    codes = {key: code for code, (short, name) in reversed(LANGUAGES.items()) for key in (short, name.lower())}
    for code in requested:
        if code.split("-")[0] not in LANGUAGES:
            near = codes.get(code.lower().split("-")[0])
            raise UsageError(
                f"unknown language {code!r}",
                expected=", ".join(sorted(LANGUAGES)),
                todo=(f"did you mean {near!r}? " if near else "") + "use mteb's notation: rus-Cyrl",
            )
    declared = front_matter.get("language") or []
    short = [str(name).lower().split("-")[0] for name in (declared if isinstance(declared, list) else [declared])]
    return requested or tuple(dict.fromkeys(code for name in short if (code := codes.get(name, name)) in LANGUAGES))


def _sort_splits(splits: Mapping[str, Any]) -> list[str]:
    """Splits in the order in which a model uses them: train, validation, others, test."""

    def key(split: str) -> tuple[int, str]:
        prefix = next((prefix for prefix in SPLIT_ORDER if prefix and split.lower().startswith(prefix)), "")
        return SPLIT_ORDER.index(prefix), split

    return sorted(splits, key=key)


def _read_subset(
    task_type: str,
    configs: Mapping[str, str],
    tables: Tables,
    languages: tuple[str, ...],
    options: ForeignOptions,
) -> ForeignDataset:
    findings: list[Finding] = []
    notes: list[str] = []
    fitted: Tables = {}
    schemas: dict[Location, dict[str, str]] = {}
    for layout in tasks.TYPES[task_type].layouts:
        config = configs.get(layout.config, "")
        for split, frame in tables.get(config, {}).items():
            schema = frame.collect_schema()
            schemas[config, split] = {name: COLUMN_TYPES.get(dtype) or str(dtype) for name, dtype in schema.items()}
            table, defects, remarks = fit_table(layout, (config, split), frame, keep_id=options.keep_ids)
            fitted.setdefault(layout.config, {})[split] = table
            findings += defects
            notes += [remark for remark in remarks if remark not in notes]
    if task_type in REQUIRED_CONFIGS:
        splits = tuple(next(fitted[part] for part in ("qrels", "queries", "corpus", "top_ranked") if part in fitted))
        frames, own_locations, remarks = _share_tables(fitted, configs, splits)
        task, notes = TASKS[task_type](splits=splits), [*notes, *remarks]
    else:
        config = configs["default"]
        task, table_frames, of_labels = _single_table_task(task_type, config, fitted["default"], languages, options)
        [layout] = tasks.layouts(task)
        frames = {layout.config: table_frames}
        own_locations = {(layout.config, split): (config, split) for split in task.splits}
        findings += of_labels
    return ForeignDataset("", task, frames, languages, own_locations, schemas, {}, tuple(findings), tuple(notes))


def _single_table_task(
    task_type: str,
    config: str,
    splits: Mapping[str, pl.LazyFrame],
    languages: tuple[str, ...],
    options: ForeignOptions,
) -> tuple[tasks.Task, dict[str, pl.LazyFrame], Sequence[Finding]]:
    """The task of one table with all its splits, the frames with their labels as numbers, and the defects of the labels."""
    names = tuple(splits)
    match task_type:
        case "STS":
            low, high = options.scale or score_range(splits)
            return tasks.STS(low, high, names), dict(splits), ()
        case "PairClassification":
            return tasks.PairClassification(("0", "1"), names), dict(splits), ()
        case "BitextMining":
            return tasks.BitextMining(_language_pair(config, languages), names), dict(splits), ()
        case "Contrastive":
            return tasks.Contrastive((config,), names), dict(splits), ()
        case "Classification" | "MultilabelClassification":
            labels, frames, findings = number_labels(config, splits)
            required = names if options.train in names or options.one_file else (options.train, *names)
            return TASKS[task_type](labels=labels, splits=required), frames, findings
    return TASKS[task_type](splits=names), dict(splits), ()


def _language_pair(config: str, languages: tuple[str, ...]) -> str:
    """The languages of the two sides of a bitext, as the detectors name them, joined by a hyphen.

    Raises UsageError where neither the config nor the command line names two.
    """
    pair = LANGUAGE_PAIR.fullmatch(config)
    sides = pair.groups() if pair else [code.split("-")[0] for code in languages]
    if len(sides) != 2:
        raise UsageError(
            f"the languages of {config} are unknown",
            found=", ".join(languages) or "no --language",
            expected="a config such as en-de, or two languages",
            todo="pass both in the order of the columns: --language eng-Latn --language deu-Latn",
        )
    return "-".join(LANGUAGES[side][0] if side in LANGUAGES else side for side in sides)


def _share_tables(
    fitted: Tables, configs: Mapping[str, str], splits: tuple[str, ...]
) -> tuple[Tables, dict[Location, Location], list[str]]:
    """The tables of every split as mteb finds them, their own locations, and notes.

    A part without a table for a split uses its only table. Of queries that several splits share, a split has those that it
    judges: mteb ignores the others.
    """
    frames: Tables = {}
    own_locations, notes = {}, []
    for part, tables in fitted.items():
        for split in splits:
            source = split if split in tables else next(iter(tables)) if len(tables) == 1 else None
            if source is not None:
                frames.setdefault(part, {})[split] = tables[source]
                own_locations[part, split] = (configs[part], source)
    qrels = {split: frame for split, frame in fitted.get("qrels", {}).items() if "query-id" in frame.collect_schema()}
    sharing = [split for split in qrels if own_locations.get(("queries", split), ("", split))[1] != split]
    if sharing and "id" in frames["queries"][sharing[0]].collect_schema():
        queries = frames["queries"][sharing[0]]
        for split in sharing:
            judged = qrels[split].select(id="query-id").unique()
            frames["queries"][split] = queries.join(judged, on="id", how="semi", maintain_order="left")
        judged = pl.concat([frame.select(id="query-id") for frame in qrels.values()])
        others = count_rows(queries.join(judged, on="id", how="anti"))
        name = "/".join(own_locations["queries", sharing[0]])
        notes += [f"{name}: {others:,} queries without judgements in any split ignored, as in mteb"] if others else []
    return frames, own_locations, notes
