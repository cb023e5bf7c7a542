"""The nine task types: for each, its tables with their columns and types in the layout that mteb reads, and its names elsewhere.

Eight are evaluated by mteb. The ninth, Contrastive, is training data: mteb does not read it, and nothing is scored.

A table is a (config, split). A release holds the types `string`, `int64`, `float64`, `bool`, `list<string>` and `list<int64>`
only, because every reader understands these. Tables may have further columns (ids, label_text, source), except `top_ranked`.
pipelines.audit.integrity checks what must hold between rows and tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar, Literal, get_args


@dataclass(frozen=True)
class Layout:
    """The columns a table must have, with their types; `text` are those that hold text to embed; `closed`: no others.

    Of a column of lists in `text`, the first text of each list is compared and measured (pipelines.audit.tables.model_input).
    """

    config: str
    columns: Mapping[str, str]
    text: tuple[str, ...] = ()
    closed: bool = False


@dataclass(frozen=True)
class TaskType:
    """All that is known of a task type, wherever it is needed.

    name: mteb's name. layouts: its tables, in the order in which cards and manifests list them. label: the column that says what
    its texts are (a label, a score or a cluster), empty where there is none. mteb_class, mteb_category, main_score: what an mteb
    task of this type is written with; empty for training data, which mteb does not evaluate. summary: the task in a sentence.
    hub_categories, hub_ids: the Hub's task_categories, and the task_ids of all its datasets.
    """

    name: str
    layouts: tuple[Layout, ...]
    label: str
    mteb_class: str
    mteb_category: str
    main_score: str
    summary: str
    hub_categories: tuple[str, ...]
    hub_ids: tuple[str, ...] = ()


def _default(text: tuple[str, ...], **others: str) -> tuple[Layout, ...]:
    return (Layout("default", MappingProxyType(dict.fromkeys(text, "string") | others), text),)


_RETRIEVAL = (
    Layout("corpus", MappingProxyType({"id": "string", "title": "string", "text": "string"}), ("text",)),
    Layout("queries", MappingProxyType({"id": "string", "text": "string"}), ("text",)),
    Layout("qrels", MappingProxyType({"query-id": "string", "corpus-id": "string", "score": "int64"})),
)
_TOP_RANKED = Layout("top_ranked", MappingProxyType({"query-id": "string", "corpus-ids": "list<string>"}), closed=True)


@dataclass(frozen=True)
class Retrieval:
    """Queries over a corpus, with relevance judgements. The split is named after the evaluated one."""

    type: ClassVar[TaskType] = TaskType(
        "Retrieval",
        _RETRIEVAL,
        label="",
        mteb_class="AbsTaskRetrieval",
        mteb_category="t2t",
        main_score="ndcg_at_10",
        summary="for every query, find the relevant documents of a corpus",
        hub_categories=("text-retrieval",),
    )
    splits: tuple[str, ...] = ("test",)


@dataclass(frozen=True)
class Reranking:
    """Retrieval in which every query brings the candidates to rank (`top_ranked`)."""

    type: ClassVar[TaskType] = TaskType(
        "Reranking",
        (*_RETRIEVAL, _TOP_RANKED),
        label="",
        mteb_class="AbsTaskRetrieval",
        mteb_category="t2t",
        main_score="map_at_1000",
        summary="for every query, put the relevant ones of its candidates first",
        hub_categories=("text-ranking",),
    )
    splits: tuple[str, ...] = ("test",)


@dataclass(frozen=True)
class Classification:
    """One label a text: `label` is an index into `labels`, `label_text` the name at it.

    bare_labels: the card gives the numbers no names. mteb draws test rows for some of its tasks; of more than ten labels with
    names it draws other rows than of bare numbers, because it sorts the latter as strings.
    """

    type: ClassVar[TaskType] = TaskType(
        "Classification",
        _default(("text",), label="int64", label_text="string"),
        label="label",
        mteb_class="AbsTaskClassification",
        mteb_category="t2c",
        main_score="accuracy",
        summary="predict the label of a text from its embedding",
        hub_categories=("text-classification",),
        hub_ids=("multi-class-classification",),
    )
    labels: tuple[str, ...]
    splits: tuple[str, ...] = ("train", "validation", "test")
    bare_labels: bool = False


@dataclass(frozen=True)
class MultilabelClassification:
    """Any number of labels a text: `label` is an ascending list of indices into `labels`, empty for none."""

    type: ClassVar[TaskType] = TaskType(
        "MultilabelClassification",
        _default(("text",), label="list<int64>"),
        label="label",
        mteb_class="AbsTaskMultilabelClassification",
        mteb_category="t2c",
        main_score="accuracy",
        summary="predict all labels of a text from its embedding",
        hub_categories=("text-classification",),
        hub_ids=("multi-label-classification",),
    )
    labels: tuple[str, ...]
    splits: tuple[str, ...] = ("train", "test")


@dataclass(frozen=True)
class PairClassification:
    """Two texts and whether they belong together: `labels` is 0 or 1, named by `names`."""

    type: ClassVar[TaskType] = TaskType(
        "PairClassification",
        _default(("sentence1", "sentence2"), labels="int64"),
        label="labels",
        mteb_class="AbsTaskPairClassification",
        mteb_category="t2t",
        main_score="max_ap",
        summary="tell from the embeddings of two texts whether they belong together",
        hub_categories=("text-classification",),
        hub_ids=("multi-input-text-classification",),
    )
    names: tuple[str, str]
    splits: tuple[str, ...] = ("test",)


@dataclass(frozen=True)
class STS:
    """Two texts and how similar they are: `score` between `low` and `high`, more is more similar."""

    type: ClassVar[TaskType] = TaskType(
        "STS",
        _default(("sentence1", "sentence2"), score="float64"),
        label="score",
        mteb_class="AbsTaskSTS",
        mteb_category="t2t",
        main_score="cosine_spearman",
        summary="order pairs of texts by how alike they are, as people did",
        hub_categories=("sentence-similarity",),
        hub_ids=("semantic-similarity-scoring",),
    )
    low: float
    high: float
    splits: tuple[str, ...] = ("test",)


@dataclass(frozen=True)
class Clustering:
    """Texts with the cluster each belongs to."""

    type: ClassVar[TaskType] = TaskType(
        "Clustering",
        _default(("sentences",), labels="string"),
        label="labels",
        mteb_class="AbsTaskClustering",
        mteb_category="t2c",
        main_score="v_measure",
        summary="group texts by their embeddings as their labels do",
        hub_categories=("text-classification",),  # the Hub has none for clustering
    )
    splits: tuple[str, ...] = ("test",)


@dataclass(frozen=True)
class BitextMining:
    """Texts and their translations, row by row; `pair` (`en-de`) names the config and the languages of its two sides."""

    type: ClassVar[TaskType] = TaskType(
        "BitextMining",
        _default(("sentence1", "sentence2")),
        label="",
        mteb_class="AbsTaskBitextMining",
        mteb_category="t2t",
        main_score="f1",
        summary="for every text, find its translation among all those of the other language",
        hub_categories=("translation",),
    )
    pair: str
    splits: tuple[str, ...] = ("test",)


@dataclass(frozen=True)
class Contrastive:
    """Training data: queries with texts that belong to them (`positives`) and texts that do not (`negatives`).

    Each set of pairs is a config of `configs`, so that a trainer can take every batch from one set. positives: at least one, in
    the order of the source. negatives, negative_kinds: as many of each; a kind is one of NEGATIVE_KINDS. Texts have no prefixes:
    those of each config are in Prompts.
    """

    type: ClassVar[TaskType] = TaskType(
        "Contrastive",
        (
            Layout(
                "default",
                MappingProxyType(
                    {
                        "id": "string",
                        "query": "string",
                        "positives": "list<string>",
                        "negatives": "list<string>",
                        "negative_kinds": "list<string>",
                    }
                ),
                ("query", "positives"),
            ),
        ),
        label="",
        mteb_class="",
        mteb_category="",
        main_score="",
        summary="train a model to place a query near its positives and far from its negatives",
        hub_categories=("sentence-similarity", "feature-extraction"),
    )
    configs: tuple[str, ...]
    splits: tuple[str, ...] = ("train",)


NEGATIVE_KINDS = ("provided", "random")  # by the source, or drawn from the documents of the config

Task = (
    Retrieval
    | Reranking
    | Classification
    | MultilabelClassification
    | PairClassification
    | STS
    | Clustering
    | BitextMining
    | Contrastive
)
TYPES: Mapping[str, TaskType] = MappingProxyType({kind.type.name: kind.type for kind in get_args(Task)})
EVALUATED: Mapping[str, TaskType] = MappingProxyType({name: kind for name, kind in TYPES.items() if kind.mteb_class})


def layouts(task: Task) -> tuple[Layout, ...]:
    """The tables of a task; that of a bitext is named after its pair of languages, those of training data after their sets."""
    if isinstance(task, Contrastive):
        return tuple(replace(layout, config=config) for config in task.configs for layout in task.type.layouts)
    if isinstance(task, BitextMining):
        return tuple(replace(layout, config=task.pair) for layout in task.type.layouts)
    return task.type.layouts


def evaluated_split(task: Task) -> str:
    """The split that a benchmark scores: `test` where there is one, else the last."""
    return "test" if "test" in task.splits else task.splits[-1]


def config_folder(config: str) -> str:
    """The folder of a release that holds the files of a config."""
    return "data" if config == "default" else config


def label_names(task: Task) -> tuple[str, ...]:
    """The names of a task's labels, by number; empty where its labels are not numbers, and where it has no labels."""
    match task:
        case Classification(labels=names) | MultilabelClassification(labels=names):
            return names
        case PairClassification(names=pair):
            return pair
        case _:
            return ()


ColumnType = Literal["string", "int64", "float64", "bool", "list<string>", "list<int64>"]
