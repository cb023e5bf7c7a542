"""What each column of a dataset means, for the card."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from builders import tasks
from cards import markdown
from cards.manifest import Table

MEANINGS = {
    ("Retrieval", "corpus", "id"): "the document's id",
    ("Retrieval", "corpus", "title"): "the document's title, may be empty",
    ("Retrieval", "corpus", "text"): "the document",
    ("Retrieval", "queries", "id"): "the query's id",
    ("Retrieval", "queries", "text"): "the query",
    ("Retrieval", "qrels", "query-id"): "the query",
    ("Retrieval", "qrels", "corpus-id"): "the document judged for it",
    ("Retrieval", "qrels", "score"): "the judgement: above 0 is relevant",
    ("Retrieval", "top_ranked", "query-id"): "the query",
    ("Retrieval", "top_ranked", "corpus-ids"): "its candidates, which are to be ranked",
    ("Classification", "default", "text"): "the text",
    ("Classification", "default", "label"): "the label: {labels}",
    ("Classification", "default", "label_text"): "the name of the label",
    ("MultilabelClassification", "default", "text"): "the text",
    (
        "MultilabelClassification",
        "default",
        "label",
    ): "all labels of the text, in ascending order: {labels}; empty for none",
    ("PairClassification", "default", "sentence1"): "the first text",
    ("PairClassification", "default", "sentence2"): "the second text",
    ("PairClassification", "default", "labels"): "{labels}",
    ("BitextMining", "default", "sentence1"): "the text in {first}",
    ("BitextMining", "default", "sentence2"): "its translation into {second}",
    ("STS", "default", "sentence1"): "the first text",
    ("STS", "default", "sentence2"): "the second text",
    ("STS", "default", "score"): "how similar they are: {labels}",
    ("Clustering", "default", "sentences"): "the text",
    ("Clustering", "default", "labels"): "the cluster it belongs to",
    ("Contrastive", "default", "query"): "the query, without a prefix",
    ("Contrastive", "default", "positives"): "the texts that belong to it, one or more, in the order of the source",
    (
        "Contrastive",
        "default",
        "negatives",
    ): "texts that do not belong to it: the source's, if it has any, then random ones",
    (
        "Contrastive",
        "default",
        "negative_kinds",
    ): "for each negative, where it is from: `provided` by the source, or `random`",
    (
        "Contrastive",
        "default",
        "mined",
    ): "more negatives, which an embedding model ranked high for the query, up to 7",
}
MAX_NAMES = 12  # of labels in a cell
ITEM = re.compile(r"(?ms)^- `([\w-]+)`: (.+?)(?=^- |\Z)")


@dataclass(frozen=True)
class DescribedColumn:
    """A column of a config. meaning: Markdown; empty where nobody says."""

    config: str
    name: str
    type: str
    meaning: str


def describe_columns(task: tasks.Task, tables: Sequence[Table], prose: str) -> list[DescribedColumn]:
    """The columns of each config once, in the order of the manifest.

    prose: a list with the columns that only this dataset has: ``- `source`: where the text is from``. It may also say what a
    column of the task is in this dataset.
    """
    own = {name: " ".join(text.split()) for name, text in ITEM.findall(prose)}
    return [
        DescribedColumn(config, column.name, column.type, own.get(column.name) or _meaning(task, config, column.name))
        for config, column in dict.fromkeys((table.config, column) for table in tables for column in table.columns)
    ]


def describe_labels(task: tasks.Task) -> str:
    """The labels of a task by number, or the range of its scores, as Markdown; empty for a task with neither.

    Of more labels than a cell holds, the first and the last; `all_labels` has them all.
    """
    if isinstance(task, tasks.STS):
        return f"{task.low:g} to {task.high:g}, higher is more similar"
    names = [f"{index} {markdown.code(name)}" for index, name in enumerate(tasks.label_names(task))]
    return f"{names[0]} to {names[-1]}" if len(names) > MAX_NAMES else ", ".join(names)


def all_labels(task: tasks.Task) -> list[str]:
    """The labels of a task in the order of their numbers, as Markdown, where `describe_labels` does not name them all."""
    names = tasks.label_names(task)
    return [markdown.code(name) for name in names] if len(names) > MAX_NAMES else []


def label_name(task: tasks.Task, key: object) -> str:
    """The name of a label in the data or in the statistics: its number, or its text where the labels of the task have no names.

    No label at all is None in the data and `None` in the statistics, where it may also be the text of a label.
    """
    names = tasks.label_names(task)
    text = str(key)
    if key is None or (names and text == "None"):
        return "(none)"
    return names[int(text)] if text.isdecimal() and int(text) < len(names) else text


def _meaning(task: tasks.Task, config: str, column: str) -> str:
    if isinstance(task, (tasks.BitextMining, tasks.Contrastive)):
        config = "default"  # every config has the same columns
    name = "Retrieval" if isinstance(task, tasks.Reranking) else task.type.name
    meaning = MEANINGS.get((name, config, column), "the id of the row" if column == "id" else "")
    first, second = map(markdown.code, task.pair.split("-")) if isinstance(task, tasks.BitextMining) else ("", "")
    return meaning.format(labels=describe_labels(task), first=first, second=second)
