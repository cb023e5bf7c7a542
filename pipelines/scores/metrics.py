"""The main scores of task types, as mteb 2.26 computes them, from 0 (or -1) to 1; and what a random answer gets.

mteb takes its scores from scikit-learn and scipy. An interval needs 2,000 of each, and there most of the time went into checks of
the same arrays again and again: so the formulas are here, and tests compare them with those libraries.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.stats import binom

from pipelines.scores.results import Integers, Values


def average_precision(labels: Integers, scores: Values) -> float:
    """The average precision of an order of rows labelled 0 and 1, the highest scores first; equal scores have one rank."""
    if not labels.any():
        return 0.0
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)  # of the rows with an equal score
    found = np.cumsum(labels[order])[last]
    return float((np.diff(found, prepend=0) * found / (last + 1)).sum() / found[-1])


def area_under_curve(labels: Integers, scores: Values) -> float | None:
    """How often a row labelled 1 has a higher score than one labelled 0; equal scores count half. None without such rows."""
    positives = int(labels.sum())
    negatives = len(labels) - positives
    if not positives or not negatives:
        return None
    ranks = float(_rank(scores)[labels == 1].sum())
    return (ranks - positives * (positives + 1) / 2) / (positives * negatives)


def mean_area_under_curve(labels: Integers, scores: Values) -> float | None:
    """The area of each label against all others, averaged over the labels that have one; of two labels, the area of the second.

    scores: a column a label.
    """
    if scores.shape[1] == 2:
        return area_under_curve(labels, scores[:, 1] - scores[:, 0])
    areas = [area_under_curve((labels == label).astype(np.int64), scores[:, label]) for label in range(scores.shape[1])]
    measured = [area for area in areas if area is not None]
    return float(np.mean(measured)) if measured else None


def spearman(scores: Values, predicted: Values) -> float:
    """The rank correlation; 0 where one side is constant."""
    if len(scores) < 2 or np.ptp(scores) == 0 or np.ptp(predicted) == 0:
        return 0.0
    return float(np.corrcoef(_rank(scores), _rank(predicted))[0, 1])


def _rank(values: Values) -> Values:
    """The rank of each value, from 1; equal values have the mean of theirs."""
    order = np.argsort(values, kind="stable")
    starts = np.concatenate([[True], np.diff(values[order]) != 0])
    edges = np.append(np.flatnonzero(starts), len(values))
    ranks = np.empty(len(values))
    ranks[order] = ((edges[:-1] + edges[1:] + 1) / 2)[np.cumsum(starts) - 1]
    return ranks


def v_measure(labels: Integers, clusters: Integers) -> float:
    """The harmonic mean of homogeneity and completeness: twice the mutual information by the sum of both entropies."""
    entropies = _entropy(labels) + _entropy(clusters)
    if entropies == 0:
        return 1.0
    both = labels * (int(clusters.max()) + 1) + clusters
    return max(0.0, 2 * (entropies - _entropy(both)) / entropies)


def _entropy(numbers: Integers) -> float:
    counts = np.bincount(numbers)
    shares = counts[counts > 0] / len(numbers)
    return -float((shares * np.log(shares)).sum())


def bitext_f1(found: Integers) -> Values:
    """mteb's F1 of a bitext, a row each; their mean is its score. Row i is right if its translation found is number i.

    Each number is right for one row only, so its recall is 1 or 0, and its precision is 1 / how often it was found.
    """
    times = np.bincount(found, minlength=len(found))
    right = found == np.arange(len(found))
    return np.where(right, 2 / (1 + times), 0.0)


def chance_bitext_f1(rows: int) -> float:
    """The expected F1 of a translation drawn at random for each row, all rows independently."""
    times = np.arange(min(rows - 1, 100) + 1)  # how many other rows drew the same: more than 100 never happen
    return float(binom.pmf(times, rows - 1, 1 / rows) @ (2 / (2 + times))) / rows


def chance_accuracy(training: Sequence[object], scored: Sequence[object]) -> float:
    """The expected accuracy of labels drawn as often as they are in training."""
    counts = Counter(training)
    return float(np.mean([counts[label] for label in scored])) / len(training)
