"""Datasets that this package did not build: what task their tables are of, and the tables as that task's.

The model is what mteb 2.26 reads. What it takes is taken in silence (`_id` for `id`, one corpus for several splits, labels that
are words); what it fails on or scores wrongly is a finding, and the rows are looked at all the same where they can be.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from builders import tasks
from builders.column_types import type_name
from builders.errors import SourceError, UsageError
from cards.front_matter import LANGUAGES
from pipelines.foreign import columns, data_files

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cards.manifest import Finding

    Tables = dict[str, dict[str, pl.LazyFrame]]
    Place = tuple[str, str]  # a config and a split

RETRIEVAL = ("Retrieval", "Reranking")
NEEDED = {  # the columns that tell the type of a table by itself
    "PairClassification": ("sentence1", "sentence2", "labels"),
    "STS": ("sentence1", "sentence2", "score"),
    "BitextMining": ("sentence1", "sentence2"),
    "MultilabelClassification": ("text", "label"),
    "Classification": ("text", "label"),
    "Clustering": ("sentences", "labels"),
}
TYPES = (*RETRIEVAL, *NEEDED)
PAIR = re.compile(r"([a-z]{2,3})(?:[_-][A-Z][a-z]{3})?-([a-z]{2,3})(?:[_-][A-Z][a-z]{3})?")
JUDGED = {"query-id", "corpus-id", "score"}
ORDER = ("train", "valid", "val", "dev", "", "test", "eval")  # of splits, by how they begin
UNTOLD = "no language is told: texts in a wrong one are not looked for (say it: --language rus-Cyrl)"


@dataclass(frozen=True)
class ForeignOptions:
    """What the user says of a dataset: the type of its task, its languages as mteb writes them, the subsets to look at."""

    task: str | None = None
    languages: tuple[str, ...] = ()
    subsets: tuple[str, ...] = ()


@dataclass(frozen=True)
class ForeignDataset:
    """A dataset, or a subset of one, as its task's tables.

    subset: as mteb names it, empty where there is but one and none was asked for. frames: by config and split of the task. real:
    what the set itself calls these. schemas: the columns that it has, with their types, by what it calls a table. found: what
    these alone show. notes: what was left out, or taken otherwise than it stands.
    """

    subset: str
    task: tasks.Task
    frames: Tables
    languages: tuple[str, ...]
    real: Mapping[Place, Place]
    schemas: Mapping[Place, Mapping[str, str]]
    found: tuple[Finding, ...]
    notes: tuple[str, ...]


def read_datasets(
    folder: Path, files: data_files.Files, head: Mapping[str, Any], asked: ForeignOptions
) -> list[ForeignDataset]:
    """The datasets in a folder: one, or one a subset where there are several languages or pairs of them.

    files: see pipelines.foreign.data_files. head: the front matter of its card.

    Raises SourceError for files that cannot be read and for tables in none of the eight layouts, UsageError where it is not clear
    which type of task they are of.
    """
    tables = {
        config: {split: data_files.scan([folder / path for path in splits[split]]) for split in _ordered(splits)}
        for config, splits in files.items()
    }
    languages = declared_languages(head, asked.languages)
    subsets = _subsets(tables)
    types = {name: _type(name, configs, tables, asked.task) for name, configs in subsets.items()}
    if not any(types.values()):
        raise _unknown(str(folder), tables, asked.task)
    unread = [config for name, configs in subsets.items() if not types[name] for config in configs.values()]
    notes = [f"{config}: not looked at, it is no table of a task" for config in unread]
    known = {name: kind for name, kind in types.items() if kind}
    read = []
    for name, kind in known.items():
        one = _foreign(kind, subsets[name], tables, languages)
        told = [*notes, *one.notes, *([] if languages or kind == "BitextMining" else [UNTOLD])]
        read.append(replace(one, subset="" if len(known) == 1 and not asked.subsets else name, notes=tuple(told)))
    return read


def declared_languages(head: Mapping[str, Any], asked: tuple[str, ...]) -> tuple[str, ...]:
    """The languages of a dataset, as mteb writes them: as asked, else those of the front matter that the detectors know.

    Raises UsageError for one asked for that they do not know.
    """
    for code in asked:
        if code.split("-")[0] not in LANGUAGES:
            todo = "write it as mteb does: rus-Cyrl"
            raise UsageError(f"no language is known as {code!r}", expected=", ".join(sorted(LANGUAGES)), todo=todo)
    told = head.get("language") or []
    short = [str(one).lower().split("-")[0] for one in (told if isinstance(told, list) else [told])]
    codes = {short: code for code, (short, _) in reversed(LANGUAGES.items())}
    return asked or tuple(dict.fromkeys(code for one in short if (code := codes.get(one, one)) in LANGUAGES))


def _ordered(splits: Mapping[str, Any]) -> list[str]:
    """Splits as a model meets them: train, validation, any others, test."""

    def place(split: str) -> tuple[int, str]:
        begin = next((begin for begin in ORDER if begin and split.lower().startswith(begin)), "")
        return ORDER.index(begin), split

    return sorted(splits, key=place)


def _subsets(tables: Tables) -> dict[str, dict[str, str]]:
    """The configs of each subset by what they are of it: `corpus`, `queries`, `qrels`, `top_ranked`, or `default`, all of it."""
    found: dict[str, dict[str, str]] = {}
    for config in tables:
        name, _, part = ("", "", config) if config in data_files.PARTS else config.rpartition("-")
        if part in data_files.PARTS and (not name or f"{name}-corpus" in tables):
            found.setdefault(name, {}).setdefault("queries" if part == "query" else part, config)
    if "default" in tables and _schema(tables["default"]).keys() >= JUDGED:
        found.setdefault("", {})["qrels"] = "default"  # where there are both, mteb reads this one
    taken = {config for configs in found.values() for config in configs.values()}
    return found | {config: {"default": config} for config in tables if config not in taken}


def _schema(splits: Mapping[str, pl.LazyFrame]) -> Mapping[str, Any]:
    return next(iter(splits.values())).collect_schema()


def _type(name: str, configs: Mapping[str, str], tables: Tables, asked: str | None) -> str | None:
    """The type of a subset's task; None where it has none, or another than was asked for.

    Raises UsageError where several fit.
    """
    if "default" not in configs:
        return asked if asked in RETRIEVAL else None if asked else RETRIEVAL["top_ranked" in configs]
    schema = _schema(tables[name])
    if asked:
        [*_, layout] = tasks.layouts(columns.FORMS[asked])
        return asked if asked not in RETRIEVAL and set(layout.text) & schema.keys() else None
    fitting = _fitting(schema, name)
    if len(fitting) > 1:
        raise UsageError(
            f"several types of task fit the columns of {name}",
            found=", ".join(schema),
            expected="; ".join(f"{kind}: {', '.join(NEEDED[kind])}" for kind in fitting),
            todo="say which: " + " or ".join(f"--task {kind}" for kind in fitting),
        )
    return fitting[0] if fitting else None


def _fitting(schema: Mapping[str, Any], config: str) -> list[str]:
    """The types of task that a table may be of, by its columns."""
    fitting = [kind for kind, needed in NEEDED.items() if set(needed) <= schema.keys()]
    wrong = {"Classification" if columns.is_list(schema.get("label")) else "MultilabelClassification"}
    if {"PairClassification", "STS"} & set(fitting) or not PAIR.fullmatch(config):
        wrong.add("BitextMining")
    return [kind for kind in fitting if kind not in wrong]


def _unknown(where: str, tables: Tables, asked: str | None) -> SourceError:
    found = [f"{config}: {', '.join(_schema(splits))}" for config, splits in tables.items()]
    layouts = ["Retrieval: configs corpus, queries and qrels"]
    layouts += [f"{kind}: {', '.join(needed)}" for kind, needed in NEEDED.items() if asked in (None, kind)]
    pairs = any(_schema(splits).keys() >= set(NEEDED["BitextMining"]) for splits in tables.values())
    todo = "name its columns so"
    if pairs and not asked:
        todo = "translations are in a config such as en-de, or else: --task BitextMining --language eng --language deu"
    return SourceError(
        f"no table here is of the type {asked}" if asked else "no table here is in one of the eight layouts",
        where=where,
        found="; ".join(found[:5]) + ("; ..." if len(found) > 5 else ""),
        expected="; ".join(layouts),
        todo=todo,
    )


def _foreign(kind: str, configs: Mapping[str, str], tables: Tables, languages: tuple[str, ...]) -> ForeignDataset:
    """One subset as the tables of its task."""
    found: list[Finding] = []
    notes: list[str] = []
    fitted: Tables = {}
    schemas: dict[Place, dict[str, str]] = {}
    for layout in tasks.layouts(columns.FORMS[kind]):
        config = configs.get(layout.config, "")
        for split, frame in tables.get(config, {}).items():
            schema = frame.collect_schema()
            schemas[config, split] = {name: type_name(dtype) or str(dtype) for name, dtype in schema.items()}
            fit = columns.fit_table(layout, (config, split), frame)
            fitted.setdefault(layout.config, {})[split] = fit.frame
            found += fit.found
            notes += [note for note in fit.notes if note not in notes]
    if kind in RETRIEVAL:
        splits = tuple(next(fitted[part] for part in ("qrels", "queries", "corpus", "top_ranked") if part in fitted))
        frames, real, remarks = _shared(fitted, configs, splits)
        task: tasks.Task = tasks.Reranking(splits) if kind == "Reranking" else tasks.Retrieval(splits)
        return ForeignDataset("", task, frames, languages, real, schemas, tuple(found), (*notes, *remarks))
    config = configs["default"]
    pair = _sides(config, languages) if kind == "BitextMining" else ""
    task, own, defects = columns.infer_task(kind, config, fitted["default"], pair)
    [layout] = tasks.layouts(task)
    real = {(layout.config, split): (config, split) for split in task.splits}
    return ForeignDataset("", task, {layout.config: own}, languages, real, schemas, (*found, *defects), tuple(notes))


def _sides(config: str, languages: tuple[str, ...]) -> str:
    """The languages of the two sides of a bitext as the detectors name them, joined by a hyphen.

    Raises UsageError where neither the config's name nor the user tells them.
    """
    pair = PAIR.fullmatch(config)
    sides = pair.groups() if pair else [code.split("-")[0] for code in languages]
    if len(sides) != 2:
        raise UsageError(
            f"the languages of the two sides of {config} are not known", found=", ".join(languages) or "none told",
            expected="a config such as en-de", todo="say both, in their order: --language eng-Latn --language deu-Latn",
        )  # fmt: skip
    return "-".join(LANGUAGES[side][0] if side in LANGUAGES else side for side in sides)


def _shared(
    fitted: Tables, configs: Mapping[str, str], splits: tuple[str, ...]
) -> tuple[Tables, dict[Place, Place], list[str]]:
    """The tables of every split, as mteb finds them: the split of that name, else the only one that there is.

    Of queries that several splits may share, a split has those that it judges: mteb leaves out the others.
    """

    frames: Tables = {}
    real, notes = {}, []
    for part, own in fitted.items():
        for split in splits:
            there = split if split in own else next(iter(own)) if len(own) == 1 else None
            if there is not None:
                frames.setdefault(part, {})[split] = own[there]
                real[part, split] = (configs[part], there)
    judged = {split: frame for split, frame in fitted.get("qrels", {}).items() if "query-id" in _columns(frame)}
    shared = [split for split in judged if real.get(("queries", split), ("", split))[1] != split]
    if shared and "id" in _columns(frames["queries"][shared[0]]):
        queries = frames["queries"][shared[0]]
        for split in shared:
            asked = judged[split].select(id="query-id").unique()
            frames["queries"][split] = queries.join(asked, on="id", how="semi", maintain_order="left")
        asked = pl.concat([frame.select(id="query-id") for frame in judged.values()])
        others = queries.join(asked, on="id", how="anti").select(pl.len()).collect(engine="streaming").item()
        name = "/".join(real["queries", shared[0]])
        notes += [f"{name}: {others:,} queries that no split judges are left out, as mteb does"] if others else []
    return frames, real, notes


def _columns(frame: pl.LazyFrame) -> list[str]:
    return frame.collect_schema().names()
