"""The code on a card: the mteb task that evaluates a dataset, and the repository in it, a placeholder until it is published."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from builders import tasks
from builders.spec import Dataset
from cards.manifest import Manifest


@dataclass(frozen=True)
class MtebTask:
    """The values of a class that is an mteb task.

    name: of the class. type: which of the eight it is, with mteb's base class. split: the one evaluated. subset: the config of
    mteb that is evaluated, `default` for all tasks with one. languages: a list, or a list by subset. prompt: for instruct models,
    by what a text is where queries alone have one. settings: further attributes of the class.
    """

    name: str
    type: tasks.TaskType
    split: str
    subset: str
    description: str
    languages: list[str] | dict[str, list[str]]
    prompt: str | dict[str, str] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)


def mteb_task(dataset: Dataset, manifest: Manifest) -> MtebTask | None:
    """The mteb task of a release; None for training data, and where a split that mteb needs is missing."""
    if not dataset.task.type.mteb_class:
        return None
    task, split = dataset.task, tasks.evaluated_split(dataset.task)
    needed = {split}
    settings: dict[str, Any] = {}
    if isinstance(task, (tasks.Classification, tasks.MultilabelClassification)):
        trained_on = "train" if "train" in task.splits else next(other for other in task.splits if other != split)
        needed.add(trained_on)
        if trained_on != "train":
            settings = {"train_split": trained_on}
    if not needed <= {table.split for table in manifest.tables}:
        return None
    languages: list[str] | dict[str, list[str]] = list(dataset.languages)
    if subset := task.pair if isinstance(task, tasks.BitextMining) else dataset.subset:
        languages = {subset: list(dataset.languages)}
    if isinstance(task, tasks.STS):
        settings = {"min_score": task.low, "max_score": task.high}
    if isinstance(task, tasks.Clustering):
        settings = {"max_fraction_of_documents_to_embed": None}  # all of them
    instruction = manifest.prompts.instruction if manifest.prompts else ""
    of_queries = isinstance(task, (tasks.Retrieval, tasks.Reranking))
    return MtebTask(
        name="".join(word.capitalize() for word in re.split("[-_]", dataset.name)),
        type=task.type,
        split=split,
        subset=subset or "default",
        description=dataset.summary,
        languages=languages,
        prompt=({"query": instruction} if of_queries else instruction) if instruction else None,
        settings=settings,
    )


PYTHON = re.compile(r"(?ms)^```python\n.*?^```$")
OR_FOLDER = "  # or the path of this folder"


def unnamed_repository(dataset: str) -> str:
    """What the code of a card says for the repository of a dataset that is not published."""
    return f"<organisation>/{dataset}"


def name_repository(card: str, dataset: str, repo: str) -> str:
    """The card of a release with its repository in every block of Python code. Nothing else changes.

    repo: `ORG/NAME`.
    """
    placeholder = re.compile(
        rf"{re.escape(unnamed_repository(dataset))}(?![\w-])(?:(.*){re.escape(OR_FOLDER)}$)?", re.MULTILINE
    )

    def name(block: re.Match[str]) -> str:
        return placeholder.sub(lambda found: repo + (found[1] or ""), block[0])

    return PYTHON.sub(name, card)
