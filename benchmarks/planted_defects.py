"""Datasets without findings, and for each kind of finding a planter that makes some of their rows defective."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from builders import tasks

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    Tables = dict[str, dict[str, pl.DataFrame]]  # config -> split -> table
    Row = tuple[Any, ...]  # config, split, and the position of the row, or its name where it is in no table

GERMAN = [
    "Gestern",
    "Abend",
    "saßen",
    "wir",
    "lange",
    "am",
    "Ufer",
    "und",
    "sahen",
    "den",
    "Booten",
    "nach,",
    "während",
    "der",
    "Bäcker",
    "an",
    "der",
    "Ecke",
    "noch",
    "immer",
    "sein",
    "Brot",
    "selbst",
    "machte",
    "und",
    "ohne",
    "Regenschirm",
    "aus",
    "dem",
    "Haus",
    "ging",
]
LABELS = tuple(f"label {number}" for number in range(4))
TASKS: dict[str, tasks.Task] = {
    "Classification": tasks.Classification(labels=LABELS, splits=("train", "test")),
    "MultilabelClassification": tasks.MultilabelClassification(labels=LABELS, splits=("train", "test")),
    "PairClassification": tasks.PairClassification(names=("no", "yes"), splits=("train", "test")),
    "STS": tasks.STS(low=0, high=5, splits=("train", "test")),
    "Clustering": tasks.Clustering(splits=("test",)),
    "Retrieval": tasks.Retrieval(splits=("test",)),
    "Reranking": tasks.Reranking(splits=("test",)),
}


@dataclass(frozen=True)
class Planted:
    """A dataset with defects. rows: those that the kind is about. counts_once: the finding is about a table, column or label."""

    task: tasks.Task
    tables: Tables
    rows: frozenset[Row]
    counts_once: bool = False


@dataclass(frozen=True)
class Planter:
    """Plants one kind of finding. plant: takes the clean tables, the number of rows to change and a generator."""

    task_type: str
    plant: Callable[[Tables, int, random.Random], Planted]

    def __call__(self, tables: Tables, count: int, rng: random.Random) -> Planted:
        return self.plant(tables, count, rng)


@cache
def russian_words() -> tuple[str, ...]:
    """The different words of the generated news, without markup, in order."""
    text = html.unescape((Path(__file__).parent / "ria_paragraphs.txt").read_text("utf-8"))
    return tuple(dict.fromkeys(re.findall(r"[а-яё]{3,}", text.lower())))


def clean_dataset(task_type: str, rows: int, rng: random.Random, texts: list[str] | None = None) -> Tables:
    """The tables of a dataset without findings, with so many rows, or queries, in every split. texts: those to use, if enough."""
    pool = iter(rng.sample(texts, len(texts)) if texts else ())

    def text() -> str:
        words = russian_words()
        return next(pool, None) or " ".join(rng.choice(words) for _ in range(rng.randrange(8, 25))).capitalize() + "."

    def table(split: str) -> pl.DataFrame:
        numbers = [rng.randrange(4) for _ in range(rows)]
        match task_type:
            case "Classification":
                names = [LABELS[number] for number in numbers]
                return pl.DataFrame({"text": [text() for _ in numbers], "label": numbers, "label_text": names})
            case "MultilabelClassification":
                return pl.DataFrame({"text": [text() for _ in numbers], "label": [[number] for number in numbers]})
            case "Clustering":
                return pl.DataFrame({"sentences": [text() for _ in numbers], "labels": [LABELS[n] for n in numbers]})
            case _:
                label = {"labels": [n % 2 for n in numbers]} if task_type == "PairClassification" else {
                    "score": [float(n) for n in numbers]
                }  # fmt: skip
                sides = {side: [text() for _ in numbers] for side in ("sentence1", "sentence2")}
                return pl.DataFrame({"id": [f"{split}-{n}" for n in range(rows)], **sides, **label})

    if task_type not in ("Retrieval", "Reranking"):
        return {"default": {split: table(split) for split in TASKS[task_type].splits}}
    ids = [str(number) for number in range(rows)]
    others = [f"d{(number + 1) % rows}" for number in range(rows)]
    titles = [""] * (2 * rows)
    corpus = {"id": [f"d{number}" for number in range(2 * rows)], "title": titles, "text": [text() for _ in titles]}
    qrels = {"query-id": ids * 2, "corpus-id": [f"d{n}" for n in ids] + others, "score": [1] * rows + [0] * rows}
    tables = {"corpus": pl.DataFrame(corpus), "queries": pl.DataFrame({"id": ids, "text": [text() for _ in ids]})}
    tables["qrels"] = pl.DataFrame(qrels)
    if task_type == "Reranking":
        pairs = [[f"d{number}", other] for number, other in zip(ids, others, strict=True)]
        tables["top_ranked"] = pl.DataFrame({"query-id": ids, "corpus-ids": pairs})
    return {config: {"test": frame} for config, frame in tables.items()}


def change_texts(change: Callable[[str, random.Random], str], column: str = "text") -> Planter:
    """A planter that changes texts of the test split."""

    def plant(tables: Tables, count: int, rng: random.Random) -> Planted:
        frame = tables["default"]["test"]
        positions = sorted(rng.sample(range(frame.height), count))
        values = frame[column].to_list()
        for position in positions:
            values[position] = change(values[position], rng)
        tables["default"]["test"] = frame.with_columns(pl.Series(column, values))
        return Planted(TASKS["Classification"], tables, frozenset(("default", "test", one) for one in positions))

    return Planter("Classification", plant)


def insert(piece: str) -> Callable[[str, random.Random], str]:
    """A change of a text: a piece between two of its words."""

    def change(text: str, rng: random.Random) -> str:
        words = text.split(" ")
        words.insert(rng.randrange(1, len(words)), piece)
        return " ".join(words)

    return change


def copy_rows(
    task_type: str,
    source: str,
    change: Callable[[str, random.Random], str] | None = None,
    columns: tuple[str, ...] = ("text",),
    label: Callable[[Any], Any] | None = None,
) -> Planter:
    """A planter that makes rows of the test split copies of rows of a split, earlier ones if it is the same.

    change: of the copied texts. label: of the copied label; else the copy keeps the label of the original.
    """

    def plant(tables: Tables, count: int, rng: random.Random) -> Planted:
        target, origin = tables["default"]["test"], tables["default"][source]
        name = TASKS[task_type].type.label
        positions = sorted(rng.sample(range(target.height // 2, target.height), count))
        originals = rng.sample(range(target.height // 2), count)
        values = {column: target[column].to_list() for column in target.columns}
        for position, original in zip(positions, originals, strict=True):
            for column in (*columns, *([name] if name else []), *(["label_text"] if "label_text" in values else [])):
                values[column][position] = origin[column][original]
                if column in columns and change:
                    values[column][position] = change(values[column][position], rng)
            if label and name:
                values[name][position] = label(values[name][position])
                if "label_text" in values:
                    values["label_text"][position] = LABELS[values[name][position]]
        tables["default"]["test"] = pl.DataFrame(values, schema=target.schema)
        found = originals if label and source == "test" else positions
        return Planted(TASKS[task_type], tables, frozenset(("default", "test", one) for one in found))

    return Planter(task_type, plant)


def change_cell(
    task_type: str, config: str, column: str, value: Callable[[Any, random.Random], Any], *, named: bool = False
) -> Planter:
    """A planter that changes values of one column of the test split. named: the audit names the rows by their ids."""

    def plant(tables: Tables, count: int, rng: random.Random) -> Planted:
        frame = tables[config]["test"]
        positions = sorted(rng.sample(range(frame.height), count))
        values = frame[column].to_list()
        for position in positions:
            values[position] = value(values[position], rng)
        frame = frame.with_columns(pl.Series(column, values, frame.schema[column]))
        tables[config]["test"] = frame
        names = frame[frame.columns[0]].to_list()
        rows = frozenset((config, "test", names[one] if named else one) for one in positions)
        return Planted(TASKS[task_type], tables, rows)

    return Planter(task_type, plant)


def change_table(task_type: str, config: str, change: Callable[[pl.DataFrame], pl.DataFrame | None]) -> Planter:
    """A planter that changes the whole test table of a config, or removes it; the finding is about the table."""

    def plant(tables: Tables, count: int, rng: random.Random) -> Planted:
        frame = change(tables[config]["test"])
        if frame is None:
            del tables[config]["test"]
        else:
            tables[config]["test"] = frame
        return Planted(TASKS[task_type], tables, frozenset({(config, "test")}), counts_once=True)

    return Planter(task_type, plant)


def shout(text: str, rng: random.Random) -> str:
    """The text in capitals, with other punctuation: the same after folding."""
    return f"«{text.upper().rstrip('.')}»!"


def misspell(text: str, rng: random.Random) -> str:
    """The text with one letter before it: a near-duplicate."""
    return rng.choice("абв") + text


PLANTERS: dict[str, Planter] = {
    "missing_table": change_table("Retrieval", "qrels", lambda frame: None),
    "missing_column": change_table("Retrieval", "queries", lambda frame: frame.drop("text")),
    "unexpected_column": change_table("Retrieval", "qrels", lambda frame: frame.with_columns(rank=1)),
    "wrong_type": change_table("Retrieval", "qrels", lambda frame: frame.with_columns(pl.col("score").cast(pl.String))),
    "empty_table": change_table("Retrieval", "corpus", lambda frame: frame.clear()),
    "one_class_only": change_table("Clustering", "default", lambda frame: frame.with_columns(labels=pl.lit("one"))),
    "label_imbalance": change_table(
        "Clustering",
        "default",
        lambda frame: frame.with_columns(
            labels=pl.when(pl.int_range(pl.len()) < 2).then(pl.lit("rare")).otherwise("labels")
        ),
    ),
    "null_text": change_cell("Classification", "default", "text", lambda value, rng: None),
    "null_value": change_cell("PairClassification", "default", "labels", lambda value, rng: None, named=True),
    "label_out_of_range": change_cell("PairClassification", "default", "labels", lambda value, rng: 2, named=True),
    "label_text_differs": change_cell("Classification", "default", "label_text", lambda value, rng: f"{value}!"),
    "label_unordered": change_cell("MultilabelClassification", "default", "label", lambda value, rng: [2, 1]),
    "score_out_of_range": change_cell("STS", "default", "score", lambda value, rng: 5.5, named=True),
    "dangling_candidate": change_cell(
        "Reranking", "top_ranked", "corpus-ids", lambda value, rng: [*value, f"x{rng.random()}"], named=True
    ),
    "duplicate_candidate": change_cell(
        "Reranking", "top_ranked", "corpus-ids", lambda value, rng: [*value, value[0]], named=True
    ),
    "query_without_negative": change_cell(
        "Reranking", "top_ranked", "corpus-ids", lambda value, rng: value[:1], named=True
    ),
    "empty_text": change_texts(lambda text, rng: rng.choice(["", " ", "\u3000\n"])),
    "short_text": change_texts(lambda text, rng: rng.choice("абв!7")),
    "length_outlier": change_texts(lambda text, rng: " ".join(rng.choice(russian_words()) for _ in range(400))),
    "html_residue": change_texts(insert("<br/>")),
    "encoding_residue": change_texts(insert("\ufffd")),
    "mojibake": change_texts(lambda text, rng: text.encode().decode("cp1251", "ignore")),
    "wrong_language": change_texts(lambda text, rng: " ".join(rng.choice(GERMAN) for _ in range(15))),
    "wrong_script": change_texts(lambda text, rng: " ".join(rng.choice(GERMAN) for _ in range(3))),
    "duplicate_text": copy_rows("Classification", "test"),
    "near_duplicate": copy_rows("Classification", "test", misspell),
    "split_leak": copy_rows("Classification", "train", shout),
    "near_leak": copy_rows("Classification", "train", misspell),
    "conflicting_label": copy_rows("Classification", "test", shout, label=lambda label: (label + 1) % 4),
    "duplicate_pair": copy_rows("STS", "test", columns=("sentence1", "sentence2")),
    "side_leak": copy_rows("STS", "train", columns=("sentence2",)),
}
