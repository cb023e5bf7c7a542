"""Does a baseline that reads less than a row know its labels? A permutation test that keeps connected rows together.

Rows that share a text, on either side, are of one component. Labels change places so that those of a component stay together:
they go, in any order, to the rows of a component of the same size. A linear model learns from each of these permutations as it
did from the true labels: ridge regression, whose predictions are a fixed matrix times the labels. Where another split is learned
from, its predictions stay, and the judged labels are permuted.

A shortcut is claimed where p = (1 + permutations that score as high) / (1 + permutations), corrected by Holm over all questions
of a dataset, is below ALPHA, the score is GAP points above chance, and there are LEAST components.
Intervals (95 %) are percentiles of resampled components. Random bits are those of Philox with fixed keys; numpy
promises its stream.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy.linalg import solve

from cards.scores import Baseline, Shortcut
from pipelines.process.stages import stage
from pipelines.scores.folds import Rows, order_by_hash, plan_folds
from pipelines.scores.metrics import area_under_curve, spearman
from pipelines.scores.results import Judged, Question, Values, make_baseline, percent
from pipelines.scores.text_models import DIGITS, Weigh

PERMUTATIONS = RESAMPLES = 1_999
MOST = 10_000  # rows of a question: the matrix of a model has the square of them
ALPHA, GAP, LEAST = 0.05, 5.0, 100
PENALTY = 1.0  # of the ridge regression, as scikit-learn's default
CHUNK = 100  # permutations that a model learns from at once


def learned_question(name: str, rows: Judged, features: Any, weigh: Weigh) -> Question:
    """A question to a linear model that learns from the other folds. features: of all rows."""
    kept = limit_to_components(rows.components, MOST if rows.classes < 5 else MOST * 4 // rows.classes)
    own = _choose(rows, kept)
    parts = [part for part in plan_folds(own.components, own.texts).parts if len(part.training)]
    features = features[kept]
    hats = [_hat(*weigh(features[part.training], features[part.scored])) for part in parts]

    def predict(columns: Values) -> Values:
        predicted = np.zeros(columns.shape)
        for part, hat in zip(parts, hats, strict=True):
            mean = columns[part.training].mean(axis=0)
            predicted[part.scored] = hat @ (columns[part.training] - mean) + mean
        return np.round(predicted, DIGITS)

    return Question(name, own, _decide(predict(_columns(own, own.targets)), own.classes)[:, 0], predict)


def fixed_question(name: str, rows: Judged, predicted: Values) -> Question:
    """A question to a rule that learns nothing."""
    kept = limit_to_components(rows.components, MOST)
    return Question(name, _choose(rows, kept), predicted[kept])


def held_out_question(name: str, rows: Judged, training: Any, targets: Values, scored: Any) -> Question:
    """A question to a linear model that learned from other rows. training, scored: what the model sees; targets: of training."""
    columns = _columns(rows, targets[:MOST])
    mean = columns.mean(axis=0)
    predicted = np.round(_hat(training[:MOST], scored) @ (columns - mean) + mean, DIGITS)
    return Question(name, rows, _decide(predicted, rows.classes)[:, 0])


def answer(question: Question) -> tuple[float, float, float, float, float]:
    """The score of a question, its chance, the low and high end of its interval, all from -1 to 1, and p, not corrected.

    chance: the mean over the permutations; in accuracy the share of the most frequent class, where that is more.
    """
    rows, predicted = question.rows, question.predicted
    score = _judge(rows.metric, rows.targets, predicted)
    null = np.array([_judge(rows.metric, *drawn) for drawn in _permuted(question)])
    low, high = interval(rows.components, lambda chosen: _judge(rows.metric, rows.targets[chosen], predicted[chosen]))
    p = (1 + int((null >= score).sum())) / (1 + PERMUTATIONS)
    chance = float(null.mean())
    if rows.metric == "accuracy":
        chance = max(chance, float(np.bincount(rows.targets.astype(np.int64)).max()) / len(rows.targets))
    return score, chance, low, high, p


def interval(components: Sequence[str], judge: Callable[[Rows], float]) -> tuple[float, float]:
    """The 95 % interval of a score, by resampling components. judge: the score of rows, some of them several times."""
    numbers, bits, resampled = _number(components), np.random.Philox(key=2), []
    count = int(numbers.max()) + 1
    for _ in range(RESAMPLES):
        times = np.bincount((bits.random_raw(count) % np.uint64(count)).astype(np.int64), minlength=count)
        resampled.append(judge(np.repeat(np.arange(len(numbers)), times[numbers])))
    low, high = np.percentile(resampled, [2.5, 97.5]).tolist()
    return low, high


def interval_of_mean(components: Sequence[str], values: Values) -> tuple[float, float]:
    """The 95 % interval of the mean of a value a row."""
    return interval(components, lambda chosen: float(values[chosen].mean()))


def mean_baseline(name: str, values: Any, components: Sequence[str], **fields: Any) -> Baseline:
    """The record of a baseline whose score is the mean of a value a row, with its interval. fields: as for `make_baseline`."""
    values = np.asarray(values, dtype=np.float64)
    return make_baseline(name, float(values.mean()), interval=interval_of_mean(components, values), **fields)


def _number(components: Sequence[str]) -> Rows:
    return np.unique(np.asarray(components, dtype=object).astype(str), return_inverse=True)[1]


def claim_shortcuts(questions: Sequence[Question]) -> list[Shortcut]:
    """The shortcuts among all questions of a dataset, in their order."""
    answers, shortcuts = [], list[Shortcut]()
    with stage("baselines: permutations", total=len(questions), unit="questions") as advance:
        for question in questions:
            answers.append(answer(question))
            advance(1)
    corrected = correct([p for *_, p in answers])
    for question, (score, chance, low, high, _), p in zip(questions, answers, corrected, strict=True):
        components = int(_number(question.rows.components).max()) + 1
        if p < ALPHA and 100 * (score - chance) >= GAP and components >= LEAST:
            percents = percent(score), percent(chance), percent(low), percent(high)
            shortcuts.append(Shortcut(question.name, question.rows.metric, *percents, round(p, 4), components))
    return shortcuts


def correct(values: Sequence[float]) -> list[float]:
    """Probabilities corrected by Holm: the lowest times their number, the next times one less; none below the one before."""
    corrected, highest = [0.0] * len(values), 0.0
    for rank, number in enumerate(sorted(range(len(values)), key=lambda number: values[number])):
        highest = corrected[number] = max(highest, min(1.0, values[number] * (len(values) - rank)))
    return corrected


def permute(numbers: Rows, count: int) -> Iterator[Rows]:
    """Permutations that keep components whole: row i gets the label of row permutation[i]. numbers: the component of each row."""
    bits, sizes = np.random.Philox(key=1), np.bincount(numbers)[numbers]
    layout = np.lexsort((numbers, sizes))
    for _ in range(count):
        keys, own = bits.random_raw(int(numbers.max()) + 1), bits.random_raw(len(numbers))
        permutation = np.empty(len(numbers), dtype=np.int64)
        permutation[layout] = np.lexsort((own, numbers, keys[numbers], sizes))
        yield permutation


def _permuted(question: Question) -> Iterator[tuple[Values, Values]]:
    """Permuted targets, with the predictions of what learned from them."""
    rows, drawn = question.rows, list[Values]()
    for number, permutation in enumerate(permute(_number(rows.components), PERMUTATIONS), 1):
        drawn.append(rows.targets[permutation])
        if question.predict is None:
            yield drawn.pop(), question.predicted
        elif len(drawn) == CHUNK or number == PERMUTATIONS:
            predicted = question.predict(np.hstack([_columns(rows, targets) for targets in drawn]))
            yield from zip(drawn, _decide(predicted, rows.classes).T, strict=True)
            drawn = []


def _columns(rows: Judged, targets: Values) -> Values:
    """What a model learns of targets: a column a class, or one."""
    if rows.classes == 1:
        return targets[:, np.newaxis]
    return np.eye(rows.classes)[targets.astype(np.int64)]


def _decide(predicted: Values, classes: int) -> Values:
    """For each group of columns, the prediction of a row: the class with the highest, or the value."""
    if classes == 1:
        return predicted
    decided: Values = predicted.reshape(len(predicted), -1, classes).argmax(axis=2).astype(np.float64)
    return decided


def _judge(metric: str, targets: Values, predicted: Values) -> float:
    if metric == "auc":
        area = area_under_curve(targets.astype(np.int64), predicted)
        return 0.5 if area is None else area
    if metric == "accuracy":
        return float(np.mean(targets == predicted))
    return spearman(targets, predicted)


def _hat(training: Any, scored: Any) -> Values:
    """The matrix that turns the targets of training rows into predictions, both without their mean."""
    # What is solved has as many rows as there are features or as there are training rows.
    few = training.shape[1] < training.shape[0]
    kernel = _dense(training.T @ training if few else training @ training.T)
    kernel[np.diag_indices_from(kernel)] += PENALTY
    if few:
        hat: Values = scored @ solve(kernel, _dense(training).T, assume_a="pos")
    else:
        hat = solve(kernel, _dense(scored @ training.T).T, assume_a="pos", overwrite_a=True).T
    return hat


def _dense(matrix: Any) -> Values:
    return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)


def _choose(rows: Judged, kept: Rows) -> Judged:
    components, texts = ([column[row] for row in kept.tolist()] for column in (rows.components, rows.texts))
    return Judged(rows.metric, rows.targets[kept], components, texts)


def limit_to_components(components: Sequence[str], most: int) -> Rows:
    """Rows of whole components in the order of their hashes, at most so many (but one component at least), ascending."""
    keys = pl.Series(list(dict.fromkeys(components)), dtype=pl.String)
    rank = {key: number for number, key in enumerate(keys.gather(order_by_hash(keys, "questions")).to_list())}
    ranks = np.array([rank[key] for key in components], dtype=np.int64)
    total = np.cumsum(np.bincount(ranks))
    return np.flatnonzero(ranks < max(1, int((total <= most).sum())))
