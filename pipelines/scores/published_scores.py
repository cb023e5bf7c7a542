"""Scores of models that papers publish, by mteb task: published_scores.json, and which of them compares with a release."""

from functools import cache
from pathlib import Path

import msgspec

from builders.mteb_tasks import BUILT_IN
from builders.spec import Dataset
from cards.scores import Published
from pipelines.scores.models import published_name

FILE = Path(__file__).parent / "published_scores.json"


class _Table(msgspec.Struct, forbid_unknown_fields=True):
    """The scores of a paper.

    source: the paper and its table. metrics: of each type of task, as mteb calls it. other_metrics: of tasks that have another
    one. scores: times 100, by task and model.
    """

    source: str
    metrics: dict[str, str]
    other_metrics: dict[str, str]
    scores: dict[str, dict[str, float]]


@cache
def _table() -> _Table:
    return msgspec.json.decode(FILE.read_bytes(), type=_Table)


def published_task(dataset: Dataset) -> str:
    """The task under which the paper publishes scores on a dataset; empty where it does not.

    It is mteb's built-in task, or the one that has the paper's name of the dataset although mteb reads another one.
    """
    names = [one.name for one in BUILT_IN if (one.namesake or one.dataset) == dataset.name]
    return next((name for name in names if name in _table().scores), "")


def published_score(dataset: Dataset, model: str) -> Published | None:
    """The published score of a model on a dataset; None where there is none. model: its name on our command line."""
    table, task, name = _table(), published_task(dataset), published_name(model)
    score = table.scores.get(task, {}).get(name)
    if score is None:
        return None
    metric = table.other_metrics.get(task, table.metrics[dataset.task.type.name])
    return Published(model=name, metric=metric, score=score, source=table.source)
