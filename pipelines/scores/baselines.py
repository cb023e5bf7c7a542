"""The baselines of a release: what rules and simple models score that read words, lengths or nothing, and understand nothing.

Each is computed in the main score of its task type, as mteb computes it. The numbers are the same on every machine: one thread,
models that have converged, no random generator. Ties, folds and samples are decided by hashes of texts and ids.
"""

from dataclasses import dataclass

import polars as pl
from threadpoolctl import threadpool_limits

from builders import tasks
from cards.scores import BASELINES, Baseline, Shortcut
from pipelines.audit.tables import Frames
from pipelines.scores.classification import score_classification
from pipelines.scores.clustering import score_clustering
from pipelines.scores.pairs import score_bitext, score_pair_classification, score_sts
from pipelines.scores.permutations import claim_shortcuts
from pipelines.scores.results import Results, package_versions
from pipelines.scores.retrieval import score_reranking, score_retrieval


@dataclass(frozen=True)
class Baselines:
    """The baselines of a release: the fields of cards.scores.Scores that they fill."""

    baselines: tuple[Baseline, ...]
    shortcuts: tuple[Shortcut, ...]
    packages: dict[str, str]


def compute_baselines(
    task: tasks.Task,
    frames: Frames,
    split: str | None = None,
    training: pl.LazyFrame | None = None,
    *,
    asks: bool = True,
) -> Baselines:
    """All baselines of a release, in the order of cards.scores.BASELINES.

    frames: its tables by config and split (pipelines.release.folder.scan_tables). split: the one to score, by default the one
    that a benchmark scores. training: rows of the source's training split, where the release lacks it. asks: look for shortcuts.

    Call pipelines.scores.results.require_packages before this module is imported.
    """
    split = split or tasks.evaluated_split(task)
    with threadpool_limits(1):
        baselines, questions = _score(task, frames, split, training)
        shortcuts = claim_shortcuts(questions if asks else [])
    order = list(BASELINES)
    baselines.sort(key=lambda baseline: order.index(baseline.name))
    return Baselines(tuple(baselines), tuple(shortcuts), package_versions())


def _score(task: tasks.Task, frames: Frames, split: str, training: pl.LazyFrame | None) -> Results:
    match task:
        case tasks.Classification() | tasks.MultilabelClassification():
            return score_classification(task, frames["default"], split)
        case tasks.PairClassification():
            return score_pair_classification(frames["default"], split, training)
        case tasks.STS():
            return score_sts(frames["default"], split, training)
        case tasks.Clustering():
            return score_clustering(frames["default"][split])
        case tasks.BitextMining(pair=pair):
            return score_bitext(frames[pair][split])
        case tasks.Retrieval():
            return score_retrieval(frames, split)
        case tasks.Reranking():
            return score_reranking(frames, split)
        case tasks.Contrastive():
            raise ValueError("training data have no score")  # commands refuse them before
