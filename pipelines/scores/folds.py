"""Which rows a baseline learns from and which it is scored on: another split, or the other folds of the same one.

Choices are made by hashes of texts (builders.shaping.sampling), never by a random generator.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from builders.shaping.sampling import hash_order

Rows = NDArray[np.int64]

FOLDS = 5
MAX_TRAINING = 20_000  # rows that one model learns from: more cost time, and change the first decimal little


@dataclass(frozen=True)
class Part:
    """A model to train: the rows that it learns from, and those that it is scored on, as positions in one table."""

    training: Rows
    scored: Rows


@dataclass(frozen=True)
class Plan:
    """The models that a baseline trains; together they score every evaluated row once. detail: which rows they learn from."""

    parts: tuple[Part, ...]
    detail: str = ""


def connect(*sides: Sequence[str]) -> list[str]:
    """The component of each row: rows are connected that share a text, on whatever side, directly or by other rows.

    Returns the least text of the component, which does not depend on the order of rows.
    """
    rows, columns = len(sides[0]), len(sides)
    texts = np.concatenate([np.asarray(side, dtype=object) for side in sides]).astype(str)
    names, numbers = np.unique(texts, return_inverse=True)
    edges = (np.ones(rows * columns), (np.tile(np.arange(rows), columns), rows + numbers))
    size = rows + len(names)
    found = connected_components(csr_matrix(edges, shape=(size, size)), directed=False)[1]
    least: dict[int, str] = {}
    for component, name in zip(found[rows:].tolist(), names.tolist(), strict=True):  # ascending
        least.setdefault(component, name)
    return [least[component] for component in found[:rows].tolist()]


def plan_folds(groups: Sequence[str], texts: Sequence[str]) -> Plan:
    """Five folds of the rows of one table; rows of the same group are in one fold.

    The groups, the largest first and equal ones by the hash of their key, go to the fold that has the fewest rows. texts: one a
    row; their hashes decide which rows are left out if there are more than MAX_TRAINING. The plan of a single group has no rows
    to learn from.
    """
    sizes = Counter(groups)
    distinct = pl.Series(list(sizes), dtype=pl.String)
    ordered = sorted(distinct.gather(order_by_hash(distinct, "folds")).to_list(), key=lambda group: -sizes[group])
    folds, filled = dict[str, int](), [0] * FOLDS
    for group in ordered:
        folds[group] = filled.index(min(filled))
        filled[folds[group]] += sizes[group]
    fold_of = np.array([folds[group] for group in groups], dtype=np.int64)
    ranks = rank_by_hash(texts)
    parts, most = [], 0
    for fold in range(min(FOLDS, len(ordered))):
        training = np.flatnonzero(fold_of != fold)
        most = max(most, len(training))
        parts.append(Part(limit_rows(training, ranks), np.flatnonzero(fold_of == fold)))
    words = "learns from the other folds of the same split"
    return Plan(tuple(parts), f"{words}, {MAX_TRAINING:,} of {most:,} rows each" if most > MAX_TRAINING else words)


def select_training(texts: Sequence[str]) -> tuple[Rows, str]:
    """The rows of a training split that a model learns from, and what Baseline.detail says of it. texts: all of the split's."""
    rows = limit_rows(np.arange(len(texts)), rank_by_hash(texts))
    return rows, f"learns from {len(rows):,} of {len(texts):,} train rows" if len(rows) < len(texts) else ""


def limit_rows(rows: Rows, ranks: Rows) -> Rows:
    """The MAX_TRAINING of some rows whose ranks are the lowest, ascending; all of them if they are not more."""
    return np.sort(rows[np.argsort(ranks[rows], kind="stable")[:MAX_TRAINING]])


def rank_by_hash(texts: Sequence[str], seed: str = "training rows") -> Rows:
    """The position of each text in the order of their hashes."""
    # What sorts a permutation is its inverse.
    return np.argsort(order_by_hash(pl.Series(texts, dtype=pl.String), seed)).astype(np.int64)


def order_by_hash(keys: pl.Series, seed: str) -> Rows:
    """The positions of keys in the order of their hashes; of equal keys the earlier one first."""
    return np.argsort(hash_order(keys, seed).to_numpy(), kind="stable").astype(np.int64)


def sample_few(rows: Rows, labels: Sequence[Sequence[int]], texts: Sequence[str], experiment: int, few: int) -> Rows:
    """Rows of an experiment, chosen as mteb chooses them, but by hash: `few` of each label, or all if there are fewer.

    labels: those of each row. A row is taken if one of its labels still lacks rows, so a row without a label never is.
    """
    keys = pl.Series([texts[row] for row in rows.tolist()], dtype=pl.String)
    counts: dict[int, int] = defaultdict(int)
    sample = []
    for row in rows[order_by_hash(keys, f"experiment {experiment}")].tolist():
        if any(counts[label] < few for label in labels[row]):
            sample.append(row)
            for label in labels[row]:
                counts[label] += 1
    return np.array(sample, dtype=np.int64)
