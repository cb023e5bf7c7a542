"""The eight task types: for each, its tables with their columns and types, in the layout that mteb reads.

A table is a (config, split). Types are `string`, `int64`, `float64`, `bool`, `list<string>`, `list<int64>` and no others:
what a release may hold is what every reader understands. Columns beyond those named here (ids, label_text, source) are
welcome, but in `top_ranked`. What must hold between rows and tables stands in pipelines.audit.integrity.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Retrieval:
    """Queries over a corpus, with relevance judgements. The split is named after the evaluated one."""

    type: ClassVar[str] = "Retrieval"
    splits: tuple[str, ...] = ("test",)


@dataclass(frozen=True)
class Reranking:
    """Retrieval in which every query brings the candidates to rank (`top_ranked`)."""

    type: ClassVar[str] = "Reranking"
    splits: tuple[str, ...] = ("test",)


@dataclass(frozen=True)
class Classification:
    """One label a text: `label` is an index into `labels`, `label_text` the name at it."""

    type: ClassVar[str] = "Classification"
    labels: tuple[str, ...]
    splits: tuple[str, ...] = ("train", "validation", "test")


@dataclass(frozen=True)
class MultilabelClassification:
    """Any number of labels a text: `label` is an ascending list of indices into `labels`, empty for none."""

    type: ClassVar[str] = "MultilabelClassification"
    labels: tuple[str, ...]
    splits: tuple[str, ...] = ("train", "test")


@dataclass(frozen=True)
class PairClassification:
    """Two texts and whether they belong together: `labels` is 0 or 1, named by `names`."""

    type: ClassVar[str] = "PairClassification"
    names: tuple[str, str]
    splits: tuple[str, ...] = ("test",)


@dataclass(frozen=True)
class STS:
    """Two texts and how alike they are: `score` between `low` and `high`, more is more alike."""

    type: ClassVar[str] = "STS"
    low: float
    high: float
    splits: tuple[str, ...] = ("test",)


@dataclass(frozen=True)
class Clustering:
    """Texts with the cluster each belongs to."""

    type: ClassVar[str] = "Clustering"
    splits: tuple[str, ...] = ("test",)


@dataclass(frozen=True)
class BitextMining:
    """Texts and their translations, row by row; `pair` (`en-de`) names the config and the languages of its two sides."""

    type: ClassVar[str] = "BitextMining"
    pair: str
    splits: tuple[str, ...] = ("test",)


Task = (
    Retrieval
    | Reranking
    | Classification
    | MultilabelClassification
    | PairClassification
    | STS
    | Clustering
    | BitextMining
)


@dataclass(frozen=True)
class Layout:
    """The columns a table must have, with their types; `text` are those that hold text to embed; `closed`: no others."""

    config: str
    columns: Mapping[str, str]
    text: tuple[str, ...] = ()
    closed: bool = False


_CORPUS = Layout("corpus", MappingProxyType({"id": "string", "title": "string", "text": "string"}), ("text",))
_QUERIES = Layout("queries", MappingProxyType({"id": "string", "text": "string"}), ("text",))
_QRELS = Layout("qrels", MappingProxyType({"query-id": "string", "corpus-id": "string", "score": "int64"}))
_TOP_RANKED = Layout("top_ranked", MappingProxyType({"query-id": "string", "corpus-ids": "list<string>"}), closed=True)


def _default(text: tuple[str, ...], **others: str) -> tuple[Layout, ...]:
    return (Layout("default", MappingProxyType(dict.fromkeys(text, "string") | others), text),)


def layouts(task: Task) -> tuple[Layout, ...]:
    """The tables of a task, in the order in which cards and manifests list them."""
    match task:
        case Retrieval():
            return (_CORPUS, _QUERIES, _QRELS)
        case Reranking():
            return (_CORPUS, _QUERIES, _QRELS, _TOP_RANKED)
        case Classification():
            return _default(("text",), label="int64", label_text="string")
        case MultilabelClassification():
            return _default(("text",), label="list<int64>")
        case PairClassification():
            return _default(("sentence1", "sentence2"), labels="int64")
        case STS():
            return _default(("sentence1", "sentence2"), score="float64")
        case Clustering():
            return _default(("sentences",), labels="string")
        case BitextMining():
            sides = ("sentence1", "sentence2")
            return (Layout(task.pair, MappingProxyType(dict.fromkeys(sides, "string")), sides),)


def evaluated_split(task: Task) -> str:
    """The split that a benchmark scores: `test` where there is one, else the last."""
    return "test" if "test" in task.splits else task.splits[-1]


def label_names(task: Task) -> tuple[str, ...]:
    """The names of a task's labels, by number; none where its labels are no numbers, and where it has none."""
    match task:
        case Classification(labels=names) | MultilabelClassification(labels=names):
            return names
        case PairClassification(names=pair):
            return pair
        case _:
            return ()


def type_name(dtype: pl.DataType) -> str | None:
    """The name of a polars type among the six that a release may hold; None for any other."""

    names: dict[pl.DataType, str] = {
        pl.String(): "string",
        pl.Int64(): "int64",
        pl.Float64(): "float64",
        pl.Boolean(): "bool",
        pl.List(pl.String()): "list<string>",
        pl.List(pl.Int64()): "list<int64>",
    }
    return names.get(dtype)
