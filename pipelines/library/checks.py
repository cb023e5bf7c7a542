"""check(), diff() and catalogue() of `import embedding_datasets`."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path

import polars as pl

from builders import catalogue
from builders.catalogue import Definition
from builders.errors import DatasetError, UsageError
from builders.spec import version_key
from builders.tasks import TYPES
from cards.kinds import SAMPLE
from pipelines.checking.checks import CheckResult, check_release, check_tables, check_target
from pipelines.checking.datasets import ForeignOptions, load_profiler, with_rules
from pipelines.checking.frames import as_tables
from pipelines.checking.targets import Target, resolve_target
from pipelines.checking.text import heading
from pipelines.checking.verdict import Verdict
from pipelines.identity import ALLOWED, USUAL
from pipelines.identity.datasets import Side, compare_datasets, read_target
from pipelines.library.findings import Findings, TableKey
from pipelines.library.records import Catalogue, CatalogueEntry, Check, Difference, Release
from pipelines.library.releases import Location, release_folders, require_names
from pipelines.mteb_tasks.checking import PREFIX, check_task, resolve_tasks
from pipelines.raw.pins import is_waiting


def check(
    data: object,
    *,
    task: str | None,
    language: str | Sequence[str],
    subset: str | Sequence[str],
    scale: tuple[float, float] | None,
    columns: Mapping[str, str],
    audit_language: str,
    profile: bool,
    rules: Location | None,
    output: Location | None,
) -> Check:
    """Check a release, a folder, a file, a repository of the Hub, a dataset of the catalogue, or tables in memory."""
    if scale is not None and not (scale[0] < scale[1] and all(map(math.isfinite, scale))):
        raise UsageError(f"scale is {scale}", expected="two numbers, the lower one first")
    if audit_language not in ("sample", "all"):
        raise UsageError(f"audit_language is {audit_language!r}", expected="'sample' or 'all'")
    options = replace(foreign_options(task, subset, columns), languages=as_texts(language), scale=scale)
    options = with_rules(options, Path(rules)) if rules else options
    options = replace(options, profiler=load_profiler(for_programs=True)) if profile else options
    sample = None if audit_language == "all" else SAMPLE
    if isinstance(data, Release):
        return _as_check(
            check_release(data.path, language_sample=sample, rules=options.rules, profiler=options.profiler)
        )
    with in_python():
        if not isinstance(data, str | PathLike):
            return _as_check(check_tables(as_tables(data), "frames", options, language_sample=sample))
        if str(data).startswith(PREFIX):
            return _as_check(_check_task(str(data), options, sample))
        [result] = check_target(find_target(fspath(data), output), options, language_sample=sample, single=True)
    return _as_check(result)


def foreign_options(task: str | None, subset: str | Sequence[str], columns: Mapping[str, str]) -> ForeignOptions:
    """How the rows of others are read. Raises UsageError for an unknown task type."""
    if task is not None and task not in TYPES:
        raise UsageError(f"unknown task type {task!r}", expected=", ".join(TYPES))
    return ForeignOptions(task, subsets=as_texts(subset), columns=columns)


def _check_task(name: str, options: ForeignOptions, language_sample: int | None) -> CheckResult:
    """The check of one task of mteb, and of one of its subsets."""
    if given := [key for key in ("task", "languages", "columns", "scale") if getattr(options, key)]:
        what = "mteb says how its tasks are read"
        raise UsageError(what, where=name, found=", ".join(given), todo="leave out task, language, columns, scale")
    target = catalogue.require_one(name, resolve_tasks(name), lambda target: target.name, "tasks")
    results = check_task(target, options, language_sample=language_sample)
    return catalogue.require_one(name, results, lambda result: result.report["subset"], "subsets", "subset=")


@contextmanager
def in_python(names: Mapping[str, str] | None = None) -> Iterator[None]:
    """Name arguments instead of options of the command in the errors that are raised. names: of files that are not the user's."""
    try:
        yield
    except DatasetError as error:
        texts = {name: getattr(error, name) for name in ("where", "found", "expected", "todo")}
        parts = {name: as_python((names or {}).get(text or "", text)) for name, text in texts.items()}
        raise type(error)(as_python(error.what) or "", **parts) from None


ARGUMENTS = {"releases": "output", "benchmark": "benchmarks"}
OPTIONS = (
    (
        re.compile(r"(--map \S+?=[^\s;,:]+(?: --map \S+?=[^\s;,:]+)*)"),
        lambda match: f"columns={_columns_of(match[1])!r}",
    ),
    (re.compile(r"(?:pass )?--(task|language|subset) (\w[\w-]*)"), lambda match: f'{match[1]}="{match[2]}"'),
    (re.compile(r"--scale LOW HIGH"), lambda _: "scale=(low, high)"),
    (re.compile(r"--map"), lambda _: "columns"),
    (re.compile(r"--(releases|benchmark|text|index)\b"), lambda match: ARGUMENTS.get(match[1], match[1])),
)


def as_python(text: str | None) -> str | None:
    """A part of an error with the arguments of `check` in place of the options of the command."""
    for pattern, argument in OPTIONS if text else ():
        text = pattern.sub(argument, text or "")
    return text and text.replace('" columns=', '", columns=')


def _columns_of(options: str) -> dict[str, str]:
    return dict(option.split("=", 1) for option in options.replace("--map", "").split())


def diff(
    a: object,
    b: object,
    *,
    task: str | None,
    subset: str | Sequence[str],
    columns: Mapping[str, str],
    allow: str | Sequence[str],
    output: Location | None,
) -> Difference:
    """What differs between two datasets; see embedding_datasets."""
    allowed = (*USUAL, *as_texts(allow))
    if unknown := [word for word in allowed if word not in ALLOWED]:
        raise UsageError(f"unknown kind of difference: allow={unknown[0]!r}", expected=", ".join(ALLOWED))
    options = foreign_options(task, subset, columns)
    with in_python():
        sides = [_side(data, options, output) for data in (a, b)]
        return Difference(**compare_datasets(sides[0], sides[1], options, allowed))


def _side(data: object, options: ForeignOptions, output: Location | None) -> Side:
    """A dataset to compare: a Release, what a name means, or tables in memory."""
    if isinstance(data, Release):
        return read_target(Target(str(data.path), data.path), options)
    if isinstance(data, str | PathLike):
        return read_target(find_target(fspath(data), output), options)
    return Side("frames", "in memory", as_tables(data), {})


def find_target(name: str, output: Location | None) -> Target:
    """The one dataset that a name means; one of the catalogue in the first of the folders of releases that has it."""
    if not name:  # as a path, it would be the current folder
        raise UsageError("an empty name", expected="a folder, a file, ORG/NAME@REVISION or a dataset")
    for folder_dir in release_folders(output):
        target = resolve_target(name, folder_dir)
        if target.folder is None or target.folder.is_dir():
            break
    return target


def _as_check(result: CheckResult) -> Check:
    report = result.report
    problems, notes = tuple(report["problems"]), tuple(as_python(note) or "" for note in report["notes"])
    verdict = Verdict(**report["verdict"])
    findings = Findings(result.findings, lambda: _tables_of(result))
    return Check(heading(report), report["task"], verdict, findings, problems, notes, report, result.found)


def _tables_of(result: CheckResult) -> dict[TableKey, pl.LazyFrame]:
    """The tables that findings are about, by the config and split that these name."""
    return {
        (finding.config, finding.split): found.tables[found.finding.split]
        for finding, found in zip(result.findings, result.found, strict=True)
        if found.finding.split in found.tables
    }


def as_texts(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def list_catalogue(names: Sequence[str]) -> Catalogue:
    """The datasets that names mean, all of them without a name. Imports the builders of these datasets."""
    require_names(names)
    return Catalogue(_describe(catalogue.load(entry)) for entry, _ in catalogue.resolve(names or ["all"]))


def _describe(definition: Definition) -> CatalogueEntry:
    dataset, source = definition.dataset, definition.source
    return CatalogueEntry(
        dataset.name,
        tuple(number for number in sorted(dataset.versions, key=version_key) if not is_waiting(definition, number)),
        dataset.task.type.name,
        dataset.languages,
        dataset.task.splits,
        dataset.benchmark.name if dataset.benchmark else None,
        source.name,
        definition.license,
        source.homepage,
        dataset.summary,
    )
