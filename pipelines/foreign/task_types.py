"""Infers the task type of tables that this package did not build, from their configs and columns.

What a type needs is derived from its layouts in builders.tasks: a new task type is recognised without a change here, unless two
types have the same columns.
"""

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from builders.errors import SourceError, UsageError
from builders.tasks import EVALUATED
from pipelines.audit.tables import Frames
from pipelines.foreign.columns import is_list
from pipelines.foreign.data_files import PART_CONFIGS

# Types with several tables are recognised by their configs, types with one table by its columns.
REQUIRED_CONFIGS = {
    name: tuple(layout.config for layout in one.layouts) for name, one in EVALUATED.items() if len(one.layouts) > 1
}
REQUIRED_COLUMNS = {
    name: tuple(column for column in (*one.layouts[0].text, one.label) if column)
    for name, one in EVALUATED.items()
    if len(one.layouts) == 1
}
[QRELS_COLUMNS] = (frozenset(layout.columns) for layout in EVALUATED["Retrieval"].layouts if layout.config == "qrels")
LANGUAGE_PAIR = re.compile(r"([a-z]{2,3})(?:[_-][A-Z][a-z]{3})?-([a-z]{2,3})(?:[_-][A-Z][a-z]{3})?")


def find_subsets(tables: Frames) -> dict[str, dict[str, str]]:
    """The configs of each subset by part: `corpus`, `queries`, `qrels` and `top_ranked`, or `default` for a single table."""
    subsets: dict[str, dict[str, str]] = {}
    for config in tables:
        name, _, part = ("", "", config) if config in PART_CONFIGS else config.rpartition("-")
        if part in PART_CONFIGS and (not name or f"{name}-corpus" in tables):
            subsets.setdefault(name, {}).setdefault("queries" if part == "query" else part, config)
    if "default" in tables and columns_of(tables["default"]).keys() >= QRELS_COLUMNS:
        subsets.setdefault("", {})["qrels"] = "default"  # mteb prefers it to the config `qrels`
    assigned = {config for configs in subsets.values() for config in configs.values()}
    return subsets | {config: {"default": config} for config in tables if config not in assigned}


def infer_type(name: str, configs: Mapping[str, str], tables: Frames, requested: str | None) -> str | None:
    """The task type of a subset; None where no type matches, or another than the requested one.

    configs: of the subset, as find_subsets returns them.

    Raises UsageError where several types match.
    """
    if "default" not in configs:
        if requested:
            return requested if requested in REQUIRED_CONFIGS else None
        return max(
            REQUIRED_CONFIGS,
            key=lambda one: (len(configs.keys() & set(REQUIRED_CONFIGS[one])), -len(REQUIRED_CONFIGS[one])),
        )
    columns = columns_of(tables[name])
    if requested:
        matches = requested in REQUIRED_COLUMNS and set(EVALUATED[requested].layouts[0].text) & columns.keys()
        return requested if matches else None
    types = _matching_types(columns, name)
    if len(types) > 1:
        raise UsageError(
            f"several task types match the columns of {name}",
            found=", ".join(columns),
            expected="; ".join(f"{one}: {', '.join(REQUIRED_COLUMNS[one])}" for one in types),
            todo="select one: " + " or ".join(f"--task {one}" for one in types),
        )
    return types[0] if types else None


def _matching_types(columns: Mapping[str, Any], config: str) -> list[str]:
    """The types whose columns a table has. A bitext has those of other pairs, so its config must name two languages."""
    types = [one for one, required in REQUIRED_COLUMNS.items() if set(required) <= columns.keys()]
    excluded = {"Classification" if is_list(columns.get("label")) else "MultilabelClassification"}
    if {"PairClassification", "STS"} & set(types) or not LANGUAGE_PAIR.fullmatch(config):
        excluded.add("BitextMining")
    return [one for one in types if one not in excluded]


def no_task_type(where: str, tables: Frames, requested: str | None) -> SourceError:
    """The error for a dataset in which no subset has a task type, or none has the requested one."""
    found = [f"{config}: {', '.join(columns_of(splits))}" for config, splits in tables.items()]
    expected = [f"{one}: configs {', '.join(configs)}" for one, configs in REQUIRED_CONFIGS.items()]
    expected += [f"{one}: {', '.join(columns)}" for one, columns in REQUIRED_COLUMNS.items()]
    pairs = any(columns_of(splits).keys() >= set(REQUIRED_COLUMNS["BitextMining"]) for splits in tables.values())
    todo = "rename its configs or columns, or say which are which: --map text=sentence"
    if pairs and not requested:
        todo = "name a config of translations en-de, for example, or pass --task BitextMining --language eng --language deu"
    return SourceError(
        f"no table of the task type {requested}" if requested else "no table of a known task type",
        where=where,
        found="; ".join(found[:5]) + ("; ..." if len(found) > 5 else ""),
        expected="; ".join(one for one in expected if requested is None or one.startswith(f"{requested}:")),
        todo=todo,
    )


def columns_of(splits: Mapping[str, pl.LazyFrame]) -> Mapping[str, Any]:
    """The columns of a config with their polars types, as its first split has them."""
    return next(iter(splits.values())).collect_schema()
