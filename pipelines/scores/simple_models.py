"""Simple models that give the same decimals everywhere: trained until they have converged, their outputs rounded."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression, Ridge

Matrix = NDArray[np.float64]
Integers = NDArray[np.int64]
Features = Any  # a matrix of scipy or numpy

# With scikit-learn's own tolerance of 1e-4, two of its versions stop at models that differ in the third digit.
TOLERANCE = 1e-7
MAX_ITERATIONS = 100_000
DIGITS = 6  # of outputs: so rows that a model cannot tell apart are equal, whatever was added up in which order
NEIGHBOURS = 5  # as in mteb
NEVER = -1000.0  # the log-probability of a label without rows


def predict_classes(training: Features, labels: Integers, scored: Features, count: int) -> Matrix:
    """The log-probability of each of `count` labels on each scored row, by logistic regression.

    labels: of the training rows, from 0. With one label alone, this is certain.
    """
    predicted = np.full((scored.shape[0], count), NEVER)
    present = np.unique(labels)
    if len(present) < 2:
        predicted[:, present] = 0.0
        return predicted
    with warnings.catch_warnings():
        # Samples, and a few rows a label, may have nearly as many labels as rows.
        warnings.filterwarnings("ignore", message="The number of unique classes is greater", category=UserWarning)
        model = LogisticRegression(tol=TOLERANCE, max_iter=MAX_ITERATIONS).fit(training, labels)
    predicted[:, model.classes_] = np.round(model.predict_log_proba(scored), DIGITS)
    return predicted


def predict_label_sets(training: Features, labels: Integers, scored: Features) -> Integers:
    """Whether each scored row has each label (0 or 1), by one logistic regression a label.

    labels: 0 or 1, a row for each training row, a column for each label.
    """
    columns = [predict_classes(training, column, scored, 2) for column in labels.T]
    return np.stack([np.asarray(column[:, 1] > column[:, 0], dtype=np.int64) for column in columns], axis=1)


def predict_values(training: Features, values: Matrix, scored: Features) -> Matrix:
    """A value for each scored row, by ridge regression."""
    model = Ridge(solver="sparse_cg", tol=1e-10, max_iter=MAX_ITERATIONS).fit(training, values)
    predicted: Matrix = np.round(model.predict(scored), DIGITS)
    return predicted


def predict_centroids(training: Features, labels: Integers, scored: Features, count: int) -> Integers:
    """The label whose mean is nearest by cosine; of equally near ones the lowest. Rows are sparse, of length 1 or 0."""
    rows = np.arange(len(labels))
    members = csr_matrix((np.ones(len(labels)), (labels, rows)), shape=(count, len(labels)))
    sums = members @ training
    norms = np.sqrt(np.asarray(sums.multiply(sums).sum(axis=1)))
    products = np.asarray((scored @ sums.T).todense())
    near = np.round(products / np.where(norms > 0, norms, 1.0).T, DIGITS)
    near[:, norms[:, 0] == 0] = NEVER
    nearest: Integers = np.argmax(near, axis=1)
    return nearest


def predict_by_neighbours(training: Features, labels: Integers, scored: Features) -> Integers:
    """Whether each scored row has each label (0 or 1): whether most of its nearest training rows by cosine do.

    labels: 0 or 1, a row for each training row, a column for each label. Of equally near rows the first are taken.
    """
    near = np.round(np.asarray((scored @ training.T).todense()), DIGITS)
    nearest = np.argsort(-near, axis=1, kind="stable")[:, :NEIGHBOURS]
    votes: Integers = labels[nearest].sum(axis=1)
    predicted: Integers = (votes > nearest.shape[1] / 2).astype(np.int64)
    return predicted
