"""What the papers print, as data: each table cell by cell as printed, and quotations word for word.

A file holds the `paper`, the `table`, its `caption` and its `rows`, with what each row is in our catalogue (`dataset`, `config`).
Figures are texts, as printed; `note` says where a figure is not what it seems. quotations.json holds the words that cards and
pages quote, by the key under which prose names them: `{{ paper.threshold }}`. No other file repeats a figure or a sentence of a
paper: pages, cards, prompts and scores are made from these.

rumteb: Snegirev et al. (2025), arXiv 2408.12503v2. ateb: arXiv 2502.16766, its section "ATEB Construction" alone.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Size:
    """A row of ruMTEB's Table 1. train, validation, test: as printed, empty for a dash. counts: what the figures count."""

    dataset: str
    task: str
    origin: str
    train: str
    validation: str
    test: str
    counts: str
    note: str


@dataclass(frozen=True)
class TrainingSet:
    """A row of ruMTEB's Table 6. set: without what it cites. thousands: of pairs. prefix: of queries/documents, or of both."""

    part: str
    set: str
    cited: str
    target_task: str
    thousands: str
    prefix: str
    dataset: str
    config: str

    @property
    def pairs(self) -> int:
        """The number of pairs, as far as the table rounds it."""
        return round(float(self.thousands) * 1_000)

    @property
    def prefixes(self) -> tuple[str, ...]:
        """Its prefixes: for queries and documents, or one for both."""
        return tuple(self.prefix.split("/"))


@dataclass(frozen=True)
class Prompt:
    """A row of ruMTEB's Table 7. rosberta, e5: prefixes for queries/documents, or one for both."""

    dataset: str
    task: str
    rosberta: str
    e5: str
    instruction: str


@dataclass(frozen=True)
class Task:
    """A task of ATEB. task: as the paper names it. section: its heading. group: ours, shorter. citation: the paper's key."""

    dataset: str
    task: str
    section: str
    group: str
    citation: str


@dataclass(frozen=True)
class Quotation:
    """Words of a paper, exactly. where: the section or table."""

    paper: str
    where: str
    words: str

    def __str__(self) -> str:
        """In quotation marks, with the place."""
        return f'"{self.words}" ({self.where})'


@cache
def read(name: str) -> Mapping[str, Any]:
    """A file of this folder: rumteb_table_1, rumteb_table_2, rumteb_table_6, rumteb_table_7, rumteb_table_8 or ateb_tasks."""
    return dict(json.loads((FOLDER / f"{name}.json").read_text("utf-8")))


@cache
def sizes() -> Mapping[str, Size]:
    """Table 1 of ruMTEB, by our dataset."""
    return {row["dataset"]: Size(**row) for row in read("rumteb_table_1")["rows"]}


@cache
def training_sets() -> tuple[TrainingSet, ...]:
    """Table 6 of ruMTEB: the sets that ru-en-RoSBERTa was trained on, in the paper's order."""
    return tuple(TrainingSet(**row) for row in read("rumteb_table_6")["rows"])


def sets_of(dataset: str) -> dict[str, TrainingSet]:
    """The sets of Table 6 that one of our training datasets holds, by config."""
    return {row.config: row for row in training_sets() if row.dataset == dataset}


@cache
def prompts() -> Mapping[str, Prompt]:
    """Table 7 of ruMTEB, by our dataset."""
    return {row["dataset"]: Prompt(**row) for row in read("rumteb_table_7")["rows"]}


@cache
def scores() -> Mapping[str, Mapping[str, float]]:
    """Table 8 of ruMTEB: the score of each model, times 100, by our dataset."""
    table = read("rumteb_table_8")
    rows = {row["dataset"]: row["scores"] for row in table["rows"] if row["dataset"]}
    return {dataset: dict(zip(table["models"], map(float, values), strict=True)) for dataset, values in rows.items()}


@cache
def ateb_tasks() -> Mapping[str, Task]:
    """The tasks of ATEB, by our dataset."""
    return {row["dataset"]: Task(**row) for row in read("ateb_tasks")["rows"]}


@cache
def quotations() -> Mapping[str, Quotation]:
    """The quotations of quotations.json, by key."""
    return {row["key"]: Quotation(row["paper"], row["where"], row["words"]) for row in read("quotations")["rows"]}


@cache
def tasks_by_name() -> Mapping[str, str]:
    """Our dataset for each name that Tables 1, 7 and 8 print for a task, misprints included."""
    rows = [*read("rumteb_table_1")["rows"], *read("rumteb_table_7")["rows"], *read("rumteb_table_8")["rows"]]
    return {row["task"]: row["dataset"] for row in rows if row["dataset"]}
