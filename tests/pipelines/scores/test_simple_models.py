"""pipelines.scores.text_models: models of few lines, and what they do where there is little to learn from."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.neighbors import KNeighborsClassifier

from pipelines.scores import text_models

ROWS = csr_matrix(np.eye(3)[[0, 0, 1, 1, 2, 2]])
LABELS = np.array([0, 0, 1, 1, 1, 1])


def test_a_label_without_rows_is_never_predicted() -> None:
    predicted = text_models.predict_classes(ROWS, LABELS, ROWS, 3)
    assert predicted.argmax(axis=1).tolist() == LABELS.tolist()
    assert (predicted[:, 2] == text_models.NEVER).all()
    assert np.exp(predicted[:, :2]).sum(axis=1) == pytest.approx(1)


def test_of_one_label_alone_each_row_has_it() -> None:
    assert text_models.predict_classes(ROWS, np.ones(6, int), ROWS, 2).argmax(axis=1).tolist() == [1] * 6


def test_there_may_be_as_many_labels_as_rows() -> None:
    rows = csr_matrix(np.eye(30))
    assert text_models.predict_classes(rows, np.arange(30), rows, 30).argmax(axis=1).tolist() == list(range(30))


def test_values_are_predicted_by_a_line() -> None:
    line = np.arange(200.0)[:, np.newaxis]
    assert text_models.predict_values(line, 3 * line[:, 0] + 1, line[:2]) == pytest.approx([1, 4], abs=1e-2)


def test_the_nearest_mean_is_that_of_the_direction() -> None:
    scored = csr_matrix(np.array([[1.0, 0, 0], [0, 0.6, 0.8], [0, 0, 0]]))
    assert text_models.predict_centroids(ROWS, LABELS, scored, 3).tolist() == [0, 1, 0]


def test_neighbours_vote_for_each_label_as_in_mteb() -> None:
    angles = np.array([0.0, 0.1, 0.25, 0.4, 0.7, 1.0, 1.2])
    rows = np.column_stack([np.cos(angles), np.sin(angles)])
    labels = np.array([[1, 0], [1, 1], [0, 1], [1, 0], [0, 0], [0, 1], [1, 1]])
    expected = KNeighborsClassifier(n_neighbors=5).fit(rows, labels).predict(rows)
    assert text_models.predict_by_neighbours(csr_matrix(rows), labels, csr_matrix(rows)).tolist() == expected.tolist()
