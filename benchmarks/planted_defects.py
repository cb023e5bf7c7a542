"""Datasets without findings, and for each kind of finding a planter that makes some of their rows defective."""

import html
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from builders import tasks

Tables = dict[str, dict[str, pl.DataFrame]]  # config -> split -> table
# Config, split, and the position of the row, or its name where it is in no table; of a finding about a table, a column or a label
# config and split alone.
Row = tuple[Any, ...]

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
    "Contrastive": tasks.Contrastive(configs=("pairs",), splits=("test",)),
}


@dataclass(frozen=True)
class Planter:
    """Plants one kind of finding.

    plant: changes clean tables; takes them, the number of rows to change and a generator, and returns the rows that the kind is
    about.
    """

    task_type: str
    plant: Callable[[Tables, int, random.Random], set[Row]]


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
        return (
            next(pool, None)
            or " ".join(rng.choice(words) for _ in range(rng.randrange(8, 25))).replace(" ", ", ", 1).capitalize() + "."
        )

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
                sides = {side: [f"{row} {text()}" for row in range(rows)] for side in ("sentence1", "sentence2")}
                return pl.DataFrame({"id": [f"{split}-{n}" for n in range(rows)], **sides, **label})

    if task_type == "Contrastive":
        lists = {
            "positives": [[f"{row} {text()}", text()] for row in range(rows)],
            "negatives": [[text() for _ in range(7)] for _ in range(rows)],
        }
        ids = {"id": [str(row) for row in range(rows)], "query": [f"{row} {text()}" for row in range(rows)]}
        return {"pairs": {"test": pl.DataFrame(ids | lists | {"negative_kinds": [["provided"] * 7] * rows})}}
    if task_type not in ("Retrieval", "Reranking"):
        return {"default": {split: table(split) for split in TASKS[task_type].splits}}
    ids = [str(number) for number in range(rows)]
    others = [f"d{(number + 1) % rows}" for number in range(rows)]
    titles = [""] * (2 * rows)
    # Both candidates of a query have its number, and no others do: texts that belong together have a rare word in common.
    texts = [f"{row} {text()} {(row - 1) % rows}" if row < rows else text() for row in range(2 * rows)]
    corpus = {"id": [f"d{number}" for number in range(2 * rows)], "title": titles, "text": texts}
    qrels = {"query-id": ids * 2, "corpus-id": [f"d{n}" for n in ids] + others, "score": [1] * rows + [0] * rows}
    queries = pl.DataFrame({"id": ids, "text": [f"{row} {text()}" for row in ids]})
    tables = {"corpus": pl.DataFrame(corpus), "queries": queries}
    tables["qrels"] = pl.DataFrame(qrels)
    if task_type == "Reranking":
        pairs = [rng.sample([f"d{number}", other], 2) for number, other in zip(ids, others, strict=True)]
        tables["top_ranked"] = pl.DataFrame({"query-id": ids, "corpus-ids": pairs})
    return {config: {"test": frame} for config, frame in tables.items()}


def change_texts(change: Callable[[str, random.Random], str]) -> Planter:
    """A planter that changes texts of the test split."""
    return change_cell("Classification", "default", "text", change)


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

    def plant(tables: Tables, count: int, rng: random.Random) -> set[Row]:
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
        return {("default", "test", name) for name in found}

    return Planter(task_type, plant)


def change_cell(
    task_type: str, config: str, column: str, value: Callable[[Any, random.Random], Any], *, named: bool = False
) -> Planter:
    """A planter that changes values of one column of the test split. named: the audit names the rows by their ids."""

    def plant(tables: Tables, count: int, rng: random.Random) -> set[Row]:
        frame = tables[config]["test"]
        positions = sorted(rng.sample(range(frame.height), count))
        values = frame[column].to_list()
        for position in positions:
            values[position] = value(values[position], rng)
        frame = frame.with_columns(pl.Series(column, values, frame.schema[column]))
        tables[config]["test"] = frame
        names = frame[frame.columns[0]].to_list()
        return {(config, "test", names[position] if named else position) for position in positions}

    return Planter(task_type, plant)


def change_pair(change: Callable[[dict[str, Any], random.Random], dict[str, Any]], *, named: bool = False) -> Planter:
    """A planter that changes values of rows of training pairs. named: the audit names the rows by their ids."""

    def plant(tables: Tables, count: int, rng: random.Random) -> set[Row]:
        frame = tables["pairs"]["test"]
        rows = frame.to_dicts()
        positions = sorted(rng.sample(range(frame.height), count))
        for position in positions:
            rows[position] |= change(rows[position], rng)
        tables["pairs"]["test"] = pl.DataFrame(rows, frame.schema)
        return {("pairs", "test", str(position) if named else position) for position in positions}

    return Planter("Contrastive", plant)


def change_table(task_type: str, config: str, change: Callable[[pl.DataFrame], pl.DataFrame | None]) -> Planter:
    """A planter that changes the whole test table of a config, or removes it; the finding is about the table."""

    def plant(tables: Tables, count: int, rng: random.Random) -> set[Row]:
        frame = change(tables[config]["test"])
        if frame is None:
            del tables[config]["test"]
        else:
            tables[config]["test"] = frame
        return {(config, "test")}

    return Planter(task_type, plant)


def append_rows(
    task_type: str, config: str, rows: Callable[[Tables, int, random.Random], list[dict[str, Any]]], location: str = ""
) -> Planter:
    """A planter that appends rows to a test table. location: the config that the finding names, if that is another one."""

    def plant(tables: Tables, count: int, rng: random.Random) -> set[Row]:
        frame = tables[config]["test"]
        added = pl.DataFrame(rows(tables, count, rng), schema=frame.schema)
        tables[config]["test"] = pl.concat([frame, added])
        names = [" ".join(map(str, row[: 2 if config == "qrels" else 1])) for row in added.iter_rows()]
        return {(location or config, "test", name) for name in names}

    return Planter(task_type, plant)


def drop_rows(task_type: str, config: str, location: str, column: str) -> Planter:
    """A planter that drops rows of a test table of ids; the finding names the ids in another table."""

    def plant(tables: Tables, count: int, rng: random.Random) -> set[Row]:
        frame = tables[config]["test"]
        if config == "qrels":
            frame = frame.filter(pl.col("score") > 0)
        dropped = rng.sample(frame[column].to_list(), count)
        keep = ~pl.col(column).is_in(dropped)
        if config == "qrels":
            keep |= pl.col("score") == 0
        tables[config]["test"] = tables[config]["test"].filter(keep)
        return {(location, "test", name) for name in dropped}

    return Planter(task_type, plant)


def plant_rare_label(tables: Tables, count: int, rng: random.Random) -> set[Row]:
    """Give train three rows of the last label, and the others of the first three."""
    label = pl.when(pl.int_range(pl.len()) < 3).then(3).otherwise(pl.col("label") % 3)
    names = pl.col("label").replace_strict(range(4), pl.Series(LABELS))
    tables["default"]["train"] = tables["default"]["train"].with_columns(label=label).with_columns(label_text=names)
    return {("default", "train")}


def plant_unexpected_table(tables: Tables, count: int, rng: random.Random) -> set[Row]:
    """Add a table that the task does not have."""
    tables["notes"] = {"test": pl.DataFrame({"id": ["a"]})}
    return {("notes", "")}


def plant_untrained_label(tables: Tables, count: int, rng: random.Random) -> set[Row]:
    """Remove the train rows of one label."""
    tables["default"]["train"] = tables["default"]["train"].filter(pl.col("label") != 3)
    rows = tables["default"]["test"]["label"].to_list()
    return {("default", "test", position) for position, label in enumerate(rows) if label == 3}


def plant_leaking_column(tables: Tables, count: int, rng: random.Random) -> set[Row]:
    """Add a column that tells one of the labels."""
    source = pl.when(pl.col("label") == 0).then(pl.lit("forum")).otherwise(pl.lit("news"))
    tables["default"] = {split: frame.with_columns(source=source) for split, frame in tables["default"].items()}
    return {("default", "train"), ("default", "test")}


def double_second(frame: pl.DataFrame) -> pl.DataFrame:
    """The second texts of the pairs with one of the labels twice as long."""
    doubled = pl.format("{} {}", "sentence2", "sentence1")
    return frame.with_columns(sentence2=pl.when(pl.col("labels") == 1).then(doubled).otherwise("sentence2"))


def plant_label_by_overlap(tables: Tables, count: int, rng: random.Random) -> set[Row]:
    """Give pairs with one of the labels the same words in another order."""
    shuffled = pl.Series(
        [" ".join(rng.sample(text.split(" "), text.count(" ") + 1)) for text in tables["default"]["test"]["sentence1"]]
    )
    changed = pl.when(pl.col("labels") == 1).then(shuffled).otherwise("sentence2")
    tables["default"]["test"] = tables["default"]["test"].with_columns(sentence2=changed)
    return {("default", "test")}


def list_relevant_first(frame: pl.DataFrame) -> pl.DataFrame:
    """The relevant candidate of every query first."""
    first = pl.concat_list(pl.format("d{}", "query-id"))
    return frame.with_columns(
        pl.concat_list(first, pl.col("corpus-ids").list.set_difference(first)).alias("corpus-ids")
    )


def plant_swapped_pairs(tables: Tables, count: int, rng: random.Random) -> set[Row]:
    """Make rows of the second half the reverse of rows of the first."""
    frame = tables["default"]["test"]
    half, values = frame.height // 2, {column: frame[column].to_list() for column in frame.columns}
    positions = sorted(rng.sample(range(half, frame.height), count))
    for position, original in zip(positions, rng.sample(range(half), count), strict=True):
        values["sentence1"][position], values["sentence2"][position] = (
            values[side][original] for side in ("sentence2", "sentence1")
        )
        values["score"][position] = values["score"][original]
    tables["default"]["test"] = pl.DataFrame(values, schema=frame.schema)
    return {("default", "test", position) for position in positions}


def plant_identical_pairs(tables: Tables, count: int, rng: random.Random) -> set[Row]:
    """Give rows two equal sides and a low score."""
    frame = tables["default"]["test"]
    positions = sorted(rng.sample(range(frame.height), count))
    is_planted = pl.int_range(pl.len()).is_in(positions)
    tables["default"]["test"] = frame.with_columns(
        sentence2=pl.when(is_planted).then("sentence1").otherwise("sentence2"),
        score=pl.when(is_planted).then(1.0).otherwise("score"),
    )
    return {("default", "test", position) for position in positions}


def plant_unjudged_twins(tables: Tables, count: int, rng: random.Random) -> set[Row]:
    """Append copies of relevant documents."""
    corpus = tables["corpus"]["test"]
    originals = rng.sample(range(tables["queries"]["test"].height), count)
    texts = corpus["text"].to_list()
    copies = {
        "id": [f"c{original}" for original in originals],
        "title": [""] * count,
        "text": [texts[original] for original in originals],
    }
    tables["corpus"]["test"] = pl.concat([corpus, pl.DataFrame(copies)])
    return {("qrels", "test", f"{original} c{original}") for original in originals}


def plant_queries_in_corpus(tables: Tables, count: int, rng: random.Random) -> set[Row]:
    """Make queries the texts of documents."""
    queries, texts = tables["queries"]["test"], tables["corpus"]["test"]["text"].to_list()
    positions = sorted(rng.sample(range(queries.height), count))
    values = queries["text"].to_list()
    for position in positions:
        values[position] = f" {texts[-position - 1]}"
    tables["queries"]["test"] = queries.with_columns(pl.Series("text", values))
    return {("queries", "test", str(position)) for position in positions}


def plant_shared_ids(tables: Tables, count: int, rng: random.Random) -> set[Row]:
    """Give queries the ids of documents, half of them that of one judged relevant."""
    chosen = rng.sample(tables["queries"]["test"]["id"].to_list(), count)
    last = tables["corpus"]["test"].height - 1
    ids = {one: f"d{one if number % 2 else last - int(one)}" for number, one in enumerate(chosen)}
    for config, column in (("queries", "id"), ("qrels", "query-id")):
        tables[config]["test"] = tables[config]["test"].with_columns(pl.col(column).replace(ids))
    return {("queries", "test", query) for query in ids.values()}


def plant_contained_texts(tables: Tables, count: int, rng: random.Random) -> set[Row]:
    """Put test texts into longer train texts."""
    train, test = tables["default"]["train"], tables["default"]["test"]["text"].to_list()
    positions = sorted(rng.sample(range(len(test)), count))
    texts = train["text"].to_list()
    for position, original in zip(positions, rng.sample(range(len(texts)), count), strict=True):
        texts[original] = f"{texts[original]} «{test[position].upper()}» {' '.join(rng.sample(russian_words(), 9))}"
    tables["default"]["train"] = train.with_columns(text=pl.Series(texts))
    return {("default", "test", position) for position in positions}


def judge_one_document(frame: pl.DataFrame) -> pl.DataFrame:
    """One document relevant for a third of the queries."""
    return frame.with_columns(
        pl.when(pl.int_range(pl.len()) < pl.len() // 3).then(pl.lit("d0")).otherwise("corpus-id").alias("corpus-id")
    )


def repeat_rows(config: str) -> Callable[[Tables, int, random.Random], list[dict[str, Any]]]:
    """Rows of a table that are there already."""
    return lambda tables, count, _: tables[config]["test"].head(count).to_dicts()


def judge_unknown(tables: Tables, count: int, rng: random.Random) -> list[dict[str, Any]]:
    """Judgements of documents that do not exist."""
    return [{"query-id": str(number), "corpus-id": f"x{number}", "score": 1} for number in range(count)]


def judge_unlisted(tables: Tables, count: int, rng: random.Random) -> list[dict[str, Any]]:
    """Judgements of documents that are not among the candidates of their queries."""
    last = tables["corpus"]["test"].height - 1
    return [{"query-id": str(number), "corpus-id": f"d{last - number}", "score": 1} for number in range(count)]


def keep_relevant(value: list[str], rng: random.Random) -> list[str]:
    """Of the two candidates of a query, the relevant one: the other is the document after it, that of the last is the first."""
    lower, higher = sorted(int(name.removeprefix("d")) for name in value)
    return [f"d{lower if higher == lower + 1 else higher}"]


def shout(text: str, rng: random.Random) -> str:
    """The text in capitals, with other punctuation: the same after folding."""
    return f"«{text.upper().rstrip('.')}»…"


def misspell(text: str, rng: random.Random) -> str:
    """The text with one letter before it: a near-duplicate."""
    return rng.choice("абв") + text


def add_without_id(tables: Tables, count: int, rng: random.Random) -> list[dict[str, Any]]:
    """A document whose id is empty."""
    return [{"id": "", "title": "", "text": "Пустой идентификатор."}]


def plant_cut_texts(tables: Tables, count: int, rng: random.Random) -> set[Row]:
    """Cut the texts of the test split."""
    frame = tables["default"]["test"].with_columns(pl.col("text").str.head(60))
    tables["default"]["test"] = frame
    return {("default", "test", row) for row, text in enumerate(frame["text"]) if len(text) == 60}


def plant_boilerplate(tables: Tables, count: int, rng: random.Random) -> set[Row]:
    """Append one sentence to a fifth of the texts of the test split."""
    frame = tables["default"]["test"]
    positions = rng.sample(range(frame.height), frame.height // 5)
    appended = pl.format("{} Подробности читайте на нашем сайте.", "text")
    is_planted = pl.int_range(pl.len()).is_in(positions)
    tables["default"]["test"] = frame.with_columns(text=pl.when(is_planted).then(appended).otherwise("text"))
    return {("default", "test", row) for row in positions}


def plant_missing_labels(tables: Tables, count: int, rng: random.Random) -> set[Row]:
    """Give clusters numbers, and rows the number -1."""
    frame = tables["default"]["test"]
    positions = rng.sample(range(frame.height), count)
    numbers = (
        pl.when(pl.int_range(pl.len()).is_in(positions)).then(pl.lit("-1")).otherwise(pl.col("labels").str.tail(1))
    )
    tables["default"]["test"] = frame.with_columns(labels=numbers)
    return {("default", "test", row) for row in positions}


def drop_full_stops(frame: pl.DataFrame) -> pl.DataFrame:
    """The texts with one of the labels without the full stop at their end."""
    stripped = pl.col("text").str.strip_suffix(".")
    return frame.with_columns(text=pl.when(pl.col("label") == 0).then(stripped).otherwise("text"))


def plant_swapped_texts(tables: Tables, count: int, rng: random.Random) -> set[Row]:
    """Make a question of every first text, and exchange the sides of some pairs."""
    is_swapped = pl.int_range(pl.len()).is_in(rng.sample(range(tables["default"]["test"].height), 3 * count))
    first, second = pl.col("sentence1").str.strip_suffix(".") + "?", pl.col("sentence2")
    tables["default"]["test"] = tables["default"]["test"].with_columns(
        sentence1=pl.when(is_swapped).then(second).otherwise(first),
        sentence2=pl.when(is_swapped).then(first).otherwise(second),
    )
    return {("default", "test")}


PLANTERS: dict[str, Planter] = {
    "unexpected_table": Planter("Retrieval", plant_unexpected_table),
    "label_without_training_rows": Planter("Classification", plant_untrained_label),
    "few_rows_of_label": Planter("Classification", plant_rare_label),
    "label_leaking_column": Planter("Classification", plant_leaking_column),
    "label_by_length": change_table("PairClassification", "default", double_second),
    "label_by_overlap": Planter("PairClassification", plant_label_by_overlap),
    "label_by_position": change_table("Reranking", "top_ranked", list_relevant_first),
    "label_sorted": change_table("Classification", "default", lambda frame: frame.sort("label", maintain_order=True)),
    "swapped_pair": Planter("STS", plant_swapped_pairs),
    "identical_pair": Planter("STS", plant_identical_pairs),
    "unjudged_twin": Planter("Retrieval", plant_unjudged_twins),
    "query_in_corpus": Planter("Retrieval", plant_queries_in_corpus),
    "shared_ids": Planter("Retrieval", plant_shared_ids),
    "dangling_qrel": append_rows("Retrieval", "qrels", judge_unknown),
    "duplicate_judgement": append_rows("Retrieval", "qrels", repeat_rows("qrels")),
    "positive_not_listed": append_rows("Reranking", "qrels", judge_unlisted, "top_ranked"),
    "query_without_positive": drop_rows("Retrieval", "qrels", "queries", "query-id"),
    "query_without_candidates": drop_rows("Reranking", "top_ranked", "queries", "query-id"),
    "dangling_candidate": drop_rows("Reranking", "queries", "top_ranked", "id"),
    "duplicate_id": append_rows("Retrieval", "corpus", repeat_rows("corpus")),
    "empty_id": append_rows("Retrieval", "corpus", add_without_id),
    "invisible_character": change_texts(insert("\u200b")),
    "lookalike_word": change_texts(insert("мoлoко")),
    "surrounding_whitespace": change_texts(lambda text, rng: f" {text}"),
    "double_full_stop": change_texts(lambda text, rng: f"{text}."),
    "personal_data": change_texts(lambda text, rng: f"{text} Пишите на ivan.petrov@example.org"),
    "preprocessing_residue": change_texts(insert("-LRB-")),
    "prompt_residue": change_texts(lambda text, rng: f"{text}\nHuman: и что дальше?"),
    "repeated_sentence": change_texts(lambda text, rng: f"{text} {text}"),
    "missing_table": change_table("Retrieval", "qrels", lambda frame: None),
    "missing_column": change_table("Retrieval", "queries", lambda frame: frame.drop("text")),
    "unexpected_column": change_table("Reranking", "top_ranked", lambda frame: frame.with_columns(rank=pl.lit("1"))),
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
    "duplicate_candidate": change_cell(
        "Reranking", "top_ranked", "corpus-ids", lambda value, rng: [*value, value[0]], named=True
    ),
    "query_without_negative": change_cell("Reranking", "top_ranked", "corpus-ids", keep_relevant, named=True),
    "empty_query": change_pair(lambda row, rng: {"query": rng.choice(["", " "])}, named=True),
    "empty_positive": change_pair(lambda row, rng: {"positives": [*row["positives"], "\n"]}, named=True),
    "negatives_without_kinds": change_pair(lambda row, rng: {"negative_kinds": ["provided"] * 3}, named=True),
    "unknown_negative_kind": change_pair(lambda row, rng: {"negative_kinds": ["mined"] * 7}, named=True),
    "negative_is_positive": change_pair(
        lambda row, rng: {"negatives": [*row["negatives"][:6], shout(row["positives"][1], rng)]}
    ),
    "positive_is_query": change_pair(lambda row, rng: {"positives": [row["positives"][0], shout(row["query"], rng)]}),
    "duplicate_negative": change_pair(
        lambda row, rng: {"negatives": [*row["negatives"][:6], shout(row["negatives"][0], rng)]}
    ),
    "too_few_negatives": change_pair(lambda row, rng: {"negatives": ["нет"], "negative_kinds": ["random"]}),
    "number_text": change_pair(
        lambda row, rng: {"negatives": [*row["negatives"][:6], rng.choice(["451", "3,5", "50 %"])]}
    ),
    "contained_text": Planter("Classification", plant_contained_texts),
    "qrels_at_chance": change_table(
        "Retrieval",
        "qrels",
        lambda frame: frame.filter(pl.col("score") > 0).with_columns(pl.col("corpus-id").reverse()),
    ),
    "pairs_at_chance": change_table("STS", "default", lambda frame: frame.with_columns(pl.col("sentence2").reverse())),
    "shifted_pairs": change_table(
        "PairClassification",
        "default",
        lambda frame: frame.with_columns(pl.col("sentence2").shift(1, fill_value=pl.col("sentence2").last())),
    ),
    "frequent_positive": change_table("Retrieval", "qrels", judge_one_document),
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
    "missing_value_text": change_texts(lambda text, rng: rng.choice(["N/A", "#REF!", "[deleted]", "не указано"])),
    "decomposed_letter": change_texts(insert("и\u0306")),
    "junk_text": change_texts(lambda text, rng: f"{text.split(' ')[0]} " * 20),
    "markup_residue": change_texts(insert("[b]жирно[/b]")),
    "placeholder": change_texts(insert("{name}")),
    "swapped_texts": Planter("STS", plant_swapped_texts),
    "absent_characters": change_table(
        "Classification", "default", lambda frame: frame.with_columns(pl.col("text").str.to_lowercase())
    ),
    "spacing": change_texts(lambda text, rng: text.replace(" ", "  ")),
    "cut_text": Planter("Classification", plant_cut_texts),
    "boilerplate": Planter("Classification", plant_boilerplate),
    "csv_residue": change_texts(insert('""слово""')),
    "missing_label": Planter("Clustering", plant_missing_labels),
    "label_by_token": change_table("Classification", "default", drop_full_stops),
    "split_differs": change_table(
        "Classification", "default", lambda frame: frame.with_columns(pl.col("text").str.to_lowercase())
    ),
    "binary_score": change_table(
        "STS", "default", lambda frame: frame.with_columns(score=(pl.col("score") > 1).cast(pl.Float64))
    ),
}
