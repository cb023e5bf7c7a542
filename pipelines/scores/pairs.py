"""Baselines for pairs of texts: pair classification in average precision, STS in Spearman's rank correlation.

Shared words and letters are scores as they are. Linear models of the lengths, and of one side alone, learn from the other folds,
because these tasks train nothing; pairs that share the side with fewer different texts are in one fold. Lengths are learned too,
because a recipe can make them tell either way: of DIPPER 1.0.0, the pairs more alike in length are the wrong ones.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cards.scores import Labels
from pipelines.scores.folds import Plan, plan_folds
from pipelines.scores.metrics import area_under_curve, average_precision, spearman
from pipelines.scores.overlap import fold, shared_letters, shared_words
from pipelines.scores.records import Results, make_baseline
from pipelines.scores.sides import Sides
from pipelines.scores.simple_models import predict_classes, predict_values
from pipelines.scores.text_features import count_terms, describe_lengths, standardize, weigh_terms
from pipelines.stages import stage

Values = NDArray[np.float64]
Weigh = Callable[[Any, Any], tuple[Any, Any]]

SIDES = ("sentence1", "sentence2")


def score_pair_classification(table: pl.LazyFrame) -> Results:
    """All baselines. table: sentence1, sentence2, labels (0 or 1)."""
    rows = table.select(*SIDES, "labels").collect(engine="streaming")
    labels = rows["labels"].to_numpy().astype(np.int64)

    def predict(training: Any, positions: Any, scored: Any) -> Values:
        logarithms = predict_classes(training, labels[positions], scored, 2)
        odds: Values = logarithms[:, 1] - logarithms[:, 0]
        return odds

    baselines = [make_baseline("chance", float(labels.mean()), auc=0.5)]
    for name, scores, detail in _score_pairs(rows, predict):
        area = area_under_curve(labels, scores)
        learned: Labels = "all" if detail else "none"
        baselines.append(
            make_baseline(name, average_precision(labels, scores), labels=learned, auc=area, detail=detail)
        )
    return Results(baselines, rows.height, int(labels.sum()))


def score_sts(table: pl.LazyFrame) -> Results:
    """All baselines. table: sentence1, sentence2, score."""
    rows = table.select(*SIDES, "score").collect(engine="streaming")
    values = rows["score"].to_numpy().astype(np.float64)

    def predict(training: Any, positions: Any, scored: Any) -> Values:
        return predict_values(training, values[positions], scored)

    baselines = [make_baseline("chance", 0.0)]
    for name, scores, detail in _score_pairs(rows, predict):
        learned: Labels = "all" if detail else "none"
        baselines.append(make_baseline(name, spearman(values, scores), labels=learned, detail=detail))
    return Results(baselines, rows.height)


def _score_pairs(rows: pl.DataFrame, predict: Callable[[Any, Any, Any], Values]) -> Iterator[tuple[str, Values, str]]:
    """For each baseline its name, a score a pair, and what it learns from.

    predict: given the features of some rows, their positions and the features of others, scores for the latter.
    """
    sides = Sides(rows["sentence1"], rows["sentence2"])
    left, right = fold(sides.first), fold(sides.second)
    with stage("baselines: shared words"):
        yield "words", shared_words(left, right), ""
    with stage("baselines: shared letters"):
        yield "letters", shared_letters(left, right), ""
    plan = plan_folds(sides.repeated, [f"{one} {other}" for one, other in zip(left, right, strict=True)])
    with stage("baselines: lengths"):
        lengths = _describe_lengths(sides)
        yield "length", _predict_out_of_fold(lengths, standardize, plan, predict), plan.detail
    for name, side in zip(SIDES, (sides.first, sides.second), strict=True):
        with stage(f"baselines: TF-IDF of {name}"):
            counts = count_terms(side.to_list())
            yield name, _predict_out_of_fold(counts, weigh_terms, plan, predict), plan.detail


def _describe_lengths(sides: Sides) -> Values:
    """The lengths of both sides, their difference in characters (its logarithm), and the shorter one by the longer one."""
    first, second = describe_lengths(sides.first), describe_lengths(sides.second)
    difference = np.log1p(np.abs(np.expm1(first[:, 0]) - np.expm1(second[:, 0])))
    ratio = np.exp(-np.abs(first[:, 0] - second[:, 0]))
    return np.column_stack([first, second, difference, ratio])


def _predict_out_of_fold(features: Any, weigh: Weigh, plan: Plan, predict: Callable[[Any, Any, Any], Values]) -> Values:
    """A score for each row by a model that has not seen its fold; 0 where there is nothing to learn from.

    weigh: turns the features of training and scored rows into what the model sees.
    """
    scores = np.zeros(features.shape[0])
    for part in plan.parts:
        if len(part.training):
            training, scored = weigh(features[part.training], features[part.scored])
            scores[part.scored] = predict(training, part.training, scored)
    return scores
