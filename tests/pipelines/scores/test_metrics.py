"""pipelines.scores.metrics: the numbers are those of scikit-learn and scipy, which mteb computes its scores with."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score, v_measure_score

from pipelines.scores import metrics

LABELS = np.array([0, 1, 1, 0, 1, 0, 0, 1])
SCORES = np.array([0.1, 0.9, 0.4, 0.4, 0.8, 0.3, 0.8, 0.2])

DRAWS = [(rows, values, seed) for rows in (2, 7, 300) for values in (2, 5, 10_000) for seed in range(5)]


@pytest.mark.parametrize(("rows", "values", "seed"), DRAWS)
def test_scores_are_those_of_the_libraries_however_many_values_are_equal(rows: int, values: int, seed: int) -> None:
    bits = np.random.default_rng(seed)
    labels, others = bits.integers(0, 2, rows), bits.integers(1, values + 1, rows)
    labels[:2] = 0, 1
    scores, targets = bits.integers(0, values, rows) / values - 0.5, bits.normal(size=rows).round(1)
    assert metrics.average_precision(labels, scores) == pytest.approx(average_precision_score(labels, scores))
    assert metrics.area_under_curve(labels, scores) == pytest.approx(roc_auc_score(labels, scores))
    assert metrics.v_measure(labels, others) == pytest.approx(v_measure_score(labels, others), abs=1e-12)
    assert metrics.v_measure(others, others) == pytest.approx(1)
    if np.ptp(scores) and np.ptp(targets):
        assert metrics.spearman(targets, scores) == pytest.approx(spearmanr(targets, scores).statistic)


@pytest.mark.parametrize(
    ("labels", "clusters"), [([2, 2, 2], [1, 1, 1]), ([1, 2, 2], [0, 0, 0]), ([1, 1, 1], [0, 1, 1])]
)
def test_one_label_or_one_cluster_is_scored_as_scikit_learn_scores_it(labels: list[int], clusters: list[int]) -> None:
    assert metrics.v_measure(np.array(labels), np.array(clusters)) == v_measure_score(labels, clusters)


def test_without_a_label_there_is_no_precision() -> None:
    assert metrics.average_precision(np.array([0, 0]), np.array([0.5, 0.1])) == 0


def test_the_area_under_the_curve_counts_equal_scores_half() -> None:
    assert metrics.area_under_curve(LABELS, SCORES) == pytest.approx(roc_auc_score(LABELS, SCORES))
    assert metrics.area_under_curve(np.array([0, 1]), np.array([0.5, 0.5])) == 0.5
    assert metrics.area_under_curve(np.array([1, 1]), np.array([0.1, 0.2])) is None


def test_of_several_labels_each_is_told_from_all_others() -> None:
    labels = np.array([0, 1, 2, 0, 1, 2])
    scores = np.array([[5, 2, 3], [1, 4, 5], [3, 3, 4], [4, 5, 1], [2, 3, 5], [4, 1, 5]]) / 10
    expected = roc_auc_score(labels, scores / scores.sum(axis=1, keepdims=True), multi_class="ovr")
    assert metrics.mean_area_under_curve(labels, scores / scores.sum(axis=1, keepdims=True)) == pytest.approx(expected)


def test_without_an_order_there_is_no_correlation() -> None:
    assert metrics.spearman(np.array([1.0, 2.0, 3.0]), np.array([7.0, 7.0, 7.0])) == 0.0
    assert metrics.spearman(np.array([1.0, 2.0, 3.0]), np.array([1.0, 8.0, 9.0])) == pytest.approx(1)


@pytest.mark.parametrize("found", [[0, 1, 2, 3], [1, 0, 3, 2], [0, 0, 2, 2], [3, 3, 3, 3]])
def test_a_bitext_is_scored_by_weighted_f1(found: list[int]) -> None:
    expected = f1_score(range(4), found, average="weighted", zero_division=0)
    assert metrics.bitext_f1(np.array(found)).mean() == pytest.approx(expected)


@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_the_chance_of_a_bitext_is_the_mean_of_all_that_can_be_drawn(rows: int) -> None:
    draws = [metrics.bitext_f1(np.array(found)).mean() for found in product(range(rows), repeat=rows)]
    assert metrics.chance_bitext_f1(rows) == pytest.approx(np.mean(draws))


def test_chance_draws_labels_as_often_as_they_are_in_training() -> None:
    assert metrics.chance_accuracy([0, 0, 0, 1], [0, 1]) == pytest.approx((0.75 + 0.25) / 2)
    assert metrics.chance_accuracy([0], [1]) == 0
