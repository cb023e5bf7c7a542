"""Tiny datasets of each task type without any problem, and changes that plant one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from builders import tasks
from cards.kinds import SAMPLE
from cards.manifest import Finding
from pipelines.audit.findings import name_rows
from pipelines.audit.integrity import audit_integrity
from pipelines.audit.quality import audit_tables
from pipelines.audit.tables import Frames

Tables = dict[str, dict[str, pl.DataFrame]]  # config -> split -> table
Change = Callable[[Tables], Tables]

COLOURS = ("red", "green", "blue")
# Of 24 sentences without near-duplicates: `1 ... 1` and `11 ... 11` would be.
NUMBERS = tuple(number for number in range(26) if number not in (11, 22))

TASKS: dict[str, tasks.Task] = {
    task.type.name: task
    for task in (
        tasks.Retrieval(),
        tasks.Reranking(splits=("validation", "test")),
        tasks.Classification(labels=COLOURS),
        tasks.MultilabelClassification(labels=COLOURS),
        tasks.PairClassification(names=("no", "yes"), splits=("train", "test")),
        tasks.STS(low=0, high=5, splits=("train", "test")),
        tasks.Clustering(),
        tasks.BitextMining(pair="en-de"),
        tasks.Contrastive(configs=("faq", "news")),
    )
}


def clean_tables(task_type: str) -> Tables:
    """A tiny dataset of a task type, without any finding."""
    by_split = {split: _CLEAN_SPLIT[task_type](split) for split in TASKS[task_type].splits}
    configs = next(iter(by_split.values()))
    return {config: {split: tables[config] for split, tables in by_split.items()} for config in configs}


def _retrieval(split: str) -> dict[str, pl.DataFrame]:
    documents = [("d1", "", "Bees make honey."), ("d2", "Wax", "They build with it."), ("d3", "", "Ants bite.")]
    queries = [("q1", f"who makes honey ({split})"), ("q2", f"what do bees build with ({split})")]
    qrels = [("q1", "d1", 1), ("q2", "d2", 2), ("q2", "d3", 0)]
    return {
        "corpus": pl.DataFrame(documents, ["id", "title", "text"], orient="row"),
        "queries": pl.DataFrame(queries, ["id", "text"], orient="row"),
        "qrels": pl.DataFrame(qrels, ["query-id", "corpus-id", "score"], orient="row"),
    }


def _reranking(split: str) -> dict[str, pl.DataFrame]:
    ranked = {"query-id": ["q1", "q2"], "corpus-ids": [["d3", "d1"], ["d1", "d2", "d3"]]}
    return _retrieval(split) | {"top_ranked": pl.DataFrame(ranked)}


def _classification(split: str) -> dict[str, pl.DataFrame]:
    labels = [0, 1, 2] * 8
    texts = [f"{number} {split} sentence number {number}" for number in NUMBERS]
    names = [COLOURS[label] for label in labels]
    return {"default": pl.DataFrame({"text": texts, "label": labels, "label_text": names})}


def _multilabel(split: str) -> dict[str, pl.DataFrame]:
    texts = [f"{number} {split} sentence number {number}" for number in NUMBERS]
    return {"default": pl.DataFrame({"text": texts, "label": [[0, 1], [1, 2], [0, 2], []] * 6})}


def _pairs(split: str, **column: list[Any]) -> dict[str, pl.DataFrame]:
    first = [f"{number} {split} sentence number {number}" for number in range(4)]
    second = [f"{number} {split} Satz Nummer {number}" for number in range(4)]
    return {"default": pl.DataFrame({"id": list("abcd"), "sentence1": first, "sentence2": second} | column)}


def _clustering(split: str) -> dict[str, pl.DataFrame]:
    texts = [f"{number} {split} sentence number {number}" for number in range(4)]
    return {"default": pl.DataFrame({"sentences": texts, "labels": ["wax", "honey"] * 2})}


def _training_pairs(what: str) -> pl.DataFrame:
    rows = [
        {
            "id": f"{what}:{number}",
            "query": f"{number} {what} number {number}",
            "positives": [f"{number} text for {what} {number}", f"{number} other text for {what} {number}"],
            "negatives": [f"{number} text against {what} {other}" for other in range(7)],
            "negative_kinds": ["provided"] * 3 + ["random"] * 4,
        }
        for number in range(4)
    ]
    return pl.DataFrame(rows)


_CLEAN_SPLIT: dict[str, Callable[[str], dict[str, pl.DataFrame]]] = {
    "Retrieval": _retrieval,
    "Reranking": _reranking,
    "Classification": _classification,
    "MultilabelClassification": _multilabel,
    "PairClassification": lambda split: _pairs(split, labels=[0, 1, 0, 1]),
    "STS": lambda split: _pairs(split, score=[0.0, 2.5, 5.0, 1.0]),
    "Clustering": _clustering,
    "BitextMining": lambda split: {"en-de": _pairs(split)["default"]},
    "Contrastive": lambda split: {"faq": _training_pairs("question"), "news": _training_pairs("title")},
}


def resolve_names(tables: Tables, config: str, split: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names of rows in tests as the audit has them: `row 3`, the fourth row of a table, as the name of its values."""

    def resolve(name: str) -> str:
        is_position = name.startswith("row ")
        return row_names(tables[config][split], int(name.removeprefix("row ")))[0] if is_position else name

    return tuple(resolve(name) for name in names)


def row_names(frame: pl.DataFrame, *positions: int) -> tuple[str, ...]:
    """The names of the rows at some positions of a table."""
    return tuple(name_rows(frame.lazy(), pl.Series(positions, dtype=pl.UInt32)))


def as_lazy(tables: Tables) -> dict[str, dict[str, pl.LazyFrame]]:
    return {config: {split: frame.lazy() for split, frame in splits.items()} for config, splits in tables.items()}


def integrity_findings(task_type: str, tables: Tables, *, sample: bool = False) -> list[Finding]:
    found = audit_integrity(TASKS[task_type], as_lazy(tables), TASKS[task_type].splits, sample=sample)
    return [one.finding for one in found]


def audit_rows(
    task: tasks.Task,
    frames: Frames,
    splits: tuple[str, ...],
    languages: tuple[str, ...] = (),
    *,
    language_sample: int | None = SAMPLE,
) -> list[Finding]:
    """The findings of `audit_tables`, without their rows."""
    found = audit_tables(task, frames, splits, languages, language_sample=language_sample)
    return [one.finding for one in found]


def quality_findings(task_type: str, tables: Tables) -> list[Finding]:
    return audit_rows(TASKS[task_type], as_lazy(tables), TASKS[task_type].splits)


def with_table(config: str, split: str, frame: pl.DataFrame) -> Change:
    return lambda tables: tables | {config: tables.get(config, {}) | {split: frame}}


def without_table(config: str, split: str) -> Change:
    def remove(tables: Tables) -> Tables:
        return tables | {config: {name: frame for name, frame in tables[config].items() if name != split}}

    return remove


def with_edit(config: str, split: str, edit: Callable[[pl.DataFrame], pl.DataFrame]) -> Change:
    return lambda tables: with_table(config, split, edit(tables[config][split]))(tables)


def with_value(config: str, split: str, column: str, row: int, value: Any) -> Change:
    def edit(frame: pl.DataFrame) -> pl.DataFrame:
        values = frame[column].to_list()
        values[row] = value
        return frame.with_columns(pl.Series(column, values, frame.schema[column]))

    return with_edit(config, split, edit)


def with_rows(config: str, split: str, *rows: tuple[Any, ...]) -> Change:
    def edit(frame: pl.DataFrame) -> pl.DataFrame:
        return pl.concat([frame, pl.DataFrame(list(rows), frame.schema, orient="row")])

    return with_edit(config, split, edit)


def combine(*changes: Change) -> Change:
    def apply(tables: Tables) -> Tables:
        for change in changes:
            tables = change(tables)
        return tables

    return apply


@dataclass(frozen=True)
class PlantedFinding:
    """A change of a clean dataset, and the finding that it causes.

    examples: names of rows; `row 3` for the name of the fourth row of a table without ids. twins: those of the examples, if any.
    other_kinds: those of the findings that come with it. severity: where it is not that of the kind.
    """

    kind: str
    task_type: str
    change: Change
    location: str
    count: int
    share: float
    examples: tuple[str, ...] = ()
    other_kinds: tuple[str, ...] = ()
    detail: str = ""
    twins: tuple[str, ...] = ()
    texts_checked: int | None = None
    severity: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.task_type} {self.location}"
