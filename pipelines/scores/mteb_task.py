"""The mteb task that scores a release: mteb's own where there is one, else the class that the card shows.

Both read the folder of the release, with `datasets`, from the disk.

One thing is not as mteb 2 does it. For multilabel classification a k-nearest-neighbours classifier learns from 8 texts a label,
drawn at random, ten times. mteb 2.0 took another random generator, so with the same seed it draws other texts than mteb 1, by
which all published scores were computed, those of the ruMTEB paper too. (For classification it kept the old one.) Which texts are
drawn matters: over 60 seeds the mean of ten experiments on CEDR has a standard deviation of 0.95 points, and mteb 2's own draw
is the second lowest of them. Here the texts are those that mteb 1 draws.
"""

import importlib
from pathlib import Path
from typing import Any

import numpy as np

from builders.errors import UsageError
from builders.mteb_tasks import BuiltInTask, built_in_tasks
from builders.spec import Dataset
from builders.tasks import MultilabelClassification
from cards.manifest import Manifest
from cards.mteb_task import MtebTask, mteb_task

DRAWN_AS_PUBLISHED = "training texts drawn as by mteb 1, which the published scores are from"


def evaluation_task(dataset: Dataset, manifest: Manifest) -> MtebTask:
    """The values of the mteb task of a release.

    Raises UsageError for a release without a split that mteb needs.
    """
    task = mteb_task(dataset, manifest)
    if task is None:
        raise UsageError(
            f"{manifest.name} cannot be scored with a model: mteb needs a split that it lacks",
            found=", ".join(dict.fromkeys(table.split for table in manifest.tables)),
            expected=", ".join(dataset.task.splits),
            todo="build all of its splits",
        )
    return task


def load_task(dataset: Dataset, manifest: Manifest, release_dir: Path) -> Any:
    """An mteb task that evaluates one split of one subset of a release in a folder: mteb's own where the dataset serves one.

    Raises UsageError for a release without a split that mteb needs.
    """
    values = evaluation_task(dataset, manifest)
    location = {"path": str(release_dir.resolve()), "revision": f"v{manifest.version}"}
    built_in = built_in_task(dataset, manifest)
    task = _built_in(built_in, values, location) if built_in else _own(values, location)
    subset = (built_in.subset or "default") if built_in else values.subset
    loaded = task().filter_languages(None, hf_subsets=[subset]).filter_eval_splits([values.split])
    if isinstance(dataset.task, MultilabelClassification):
        loaded.np_rng = np.random.RandomState(loaded.seed)  # the one of mteb 1
    return loaded


def deviation(dataset: Dataset) -> str:
    """In what the evaluation of a dataset differs from a run of mteb on the task of the card; empty where it does not."""
    return DRAWN_AS_PUBLISHED if isinstance(dataset.task, MultilabelClassification) else ""


def built_in_task(dataset: Dataset, manifest: Manifest) -> BuiltInTask | None:
    """The built-in task of mteb that evaluates a release, the first of several; None where its card shows none."""
    tasks = built_in_tasks(dataset.name)
    return tasks[0] if tasks and not manifest.partial else None


def _built_in(one: BuiltInTask, values: MtebTask, location: dict[str, str]) -> Any:
    """mteb's class, changed as the card says: path and revision, and no renaming of columns that have their final names."""
    built_in = type(importlib.import_module("mteb").get_task(one.name))
    attributes = {"metadata": built_in.metadata.model_copy(update={"dataset": location})}
    if one.renames_columns:
        attributes["dataset_transform"] = _base_class(values).dataset_transform
    return type("OnThisDataset", (built_in,), attributes)


def _own(values: MtebTask, location: dict[str, str]) -> Any:
    """The class of the card."""
    metadata = importlib.import_module("mteb").TaskMetadata(
        name=values.name,
        description=values.description,
        type=values.type.name,
        category=values.type.mteb_category,
        dataset=location,
        eval_splits=[values.split],
        eval_langs=values.languages,
        main_score=values.type.main_score,
        prompt=values.prompt,
    )
    return type(values.name, (_base_class(values),), {"metadata": metadata, **values.settings})


def _base_class(values: MtebTask) -> Any:
    return getattr(importlib.import_module("mteb.abstasks"), values.type.mteb_class)
