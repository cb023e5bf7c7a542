"""The interval of a model's score: what mteb predicted for each row, judged again for resampled groups of connected rows.

Connected are the rows that a baseline's interval takes as connected. mteb draws what it clusters, so V-measures have no interval.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import polars as pl

from builders import tasks
from pipelines.audit.tables import Frames
from pipelines.scores.classification import connect_texts
from pipelines.scores.folds import Rows, connect
from pipelines.scores.metrics import average_precision, bitext_f1, spearman
from pipelines.scores.permutations import interval
from pipelines.scores.rankings import average_precision as average_precision_of_ranking
from pipelines.scores.rankings import ndcg_at_10
from pipelines.scores.results import Values
from pipelines.scores.retrieval import connect_queries, read_queries
from pipelines.scores.text_models import fold

TOLERANCE = 5e-4  # between mteb's score and that of its predictions: less than what is printed
Judge = Callable[[Rows], float]


def model_interval(
    task: tasks.Task, frames: Frames, split: str, predicted: Any, score: float
) -> tuple[float, float] | None:
    """The 95 % interval of a score, from 0 or -1 to 1.

    predicted: what mteb saves for the split. score: mteb's. None for clustering, and where these predictions have another score:
    mteb judged a sample of the rows.
    """
    match task:
        case tasks.Classification() | tasks.MultilabelClassification():
            components, judge = _classified(frames["default"][split], predicted)
        case tasks.PairClassification() | tasks.STS():
            components, judge = _compared(frames["default"][split], predicted)
        case tasks.BitextMining():
            [table] = [splits[split] for splits in frames.values()]
            components, judge = _translated(table, predicted)
        case tasks.Retrieval() | tasks.Reranking():
            components, judge = _ranked(frames, split, predicted, ndcg=isinstance(task, tasks.Retrieval))
        case _:
            return None
    if abs(judge(np.arange(len(components))) - score) > TOLERANCE:
        return None
    return interval(components, judge)


def _classified(table: pl.LazyFrame, experiments: list[list[Any]]) -> tuple[list[str], Judge]:
    """Accuracy, the mean of experiments. Labels are numbers; of sets of labels, each is 0 or 1, by their numbers."""
    rows = table.select("text", "label").collect(engine="streaming")
    labels: Any = rows["label"].to_list()
    if isinstance(rows.schema["label"], pl.List):
        present = sorted({label for own in labels for label in own})
        labels = [[int(label in own) for label in present] for own in labels]
    right = [
        [one == other for one, other in zip(labels, predicted, strict=False)] + [False] * (len(labels) - len(predicted))
        for predicted in experiments
    ]
    return connect_texts(rows["text"].to_list()), _mean(np.mean(right, axis=0))


def _compared(table: pl.LazyFrame, similarities: Mapping[str, list[float]]) -> tuple[list[str], Judge]:
    """Of pairs with labels, the average precision by the best similarity; of pairs with scores, the correlation of the cosine."""
    rows = table.collect(engine="streaming")
    components = connect(fold(rows["sentence1"]), fold(rows["sentence2"]))
    if "score" in rows.columns:
        scores, cosines = rows["score"].to_numpy(), np.array(similarities["cosine_scores"])
        return components, lambda chosen: spearman(scores[chosen], cosines[chosen])
    labels = rows["labels"].to_numpy()
    orders = [
        np.array(values) * (-1 if name.endswith("distances") else 1) for name, values in similarities.items() if values
    ]
    return components, lambda chosen: max(average_precision(labels[chosen], order[chosen]) for order in orders)


def _translated(table: pl.LazyFrame, neighbours: Mapping[str, list[dict[str, Any]]]) -> tuple[list[str], Judge]:
    rows = table.select("sentence1", "sentence2").collect(engine="streaming")
    [found] = neighbours.values()
    nearest = np.array([int(own["corpus_id"]) for own in found], dtype=np.int64)
    return connect(rows["sentence1"].to_list(), rows["sentence2"].to_list()), _mean(bitext_f1(nearest))


def _ranked(
    frames: Frames, split: str, rankings: Mapping[str, Mapping[str, float]], *, ndcg: bool
) -> tuple[list[str], Judge]:
    queries = read_queries(frames, split)
    position = {name: number for number, name in enumerate(queries.documents.to_list())}
    judge = ndcg_at_10 if ndcg else average_precision_of_ranking
    values = []
    for name, relevant in zip(queries.ids.to_list(), queries.relevant, strict=True):
        scores = rankings.get(name, {})
        best = sorted(scores, key=lambda document: -scores[document])
        values.append(judge([position[document] for document in best], relevant))
    return connect_queries(queries), _mean(np.array(values))


def _mean(values: Values) -> Judge:
    return lambda chosen: float(values[chosen].mean())
