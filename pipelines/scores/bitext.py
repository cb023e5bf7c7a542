"""Baselines for bitext mining, in mteb's weighted F1: the translation of a text is the most similar text of the other side."""

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pipelines.scores.folds import order_by_hash
from pipelines.scores.metrics import bitext_f1, chance_bitext_f1
from pipelines.scores.overlap import fold
from pipelines.scores.records import Results, make_baseline
from pipelines.scores.text_features import count_letters, count_terms, weigh_terms
from pipelines.stages import stage

Integers = NDArray[np.int64]

BLOCK = 500  # rows whose similarities with all others are in memory at once
DIGITS = 9  # of a similarity: what differs less is equal


def score_bitext(table: pl.LazyFrame) -> Results:
    """All baselines. table: sentence1, sentence2, row by row translations of each other."""
    rows = table.select("sentence1", "sentence2").collect(engine="streaming")
    order = order_by_hash(
        rows["sentence2"], "translations"
    )  # of equally similar texts, the first in this order is taken
    left, right = rows["sentence1"], rows["sentence2"].gather(order)
    baselines = [make_baseline("chance", chance_bitext_f1(rows.height))]
    with stage("baselines: lengths", total=rows.height, unit="rows") as advance:
        found = _find_in_blocks(rows.height, _length_similarity(left, right), advance)
        baselines.append(make_baseline("length", bitext_f1(order[found])))
    texts = fold(left) + fold(right)
    for name, count in (("words", count_terms), ("letters", count_letters)):
        with stage(f"baselines: shared {name}", total=rows.height, unit="rows") as advance:
            found = _find_in_blocks(rows.height, _cosine_similarity(count(texts), rows.height), advance)
            baselines.append(make_baseline(name, bitext_f1(order[found])))
    return Results(baselines, rows.height)


def _find_in_blocks(rows: int, similarity: Callable[[slice], Any], advance: Callable[[int], None]) -> Integers:
    """For each row, the position of the most similar text; of equally similar ones the first.

    similarity: for a slice of the rows, their similarities with all texts, as a table of rows by texts.
    """
    found = np.zeros(rows, dtype=np.int64)
    for start in range(0, rows, BLOCK):
        block = slice(start, min(start + BLOCK, rows))
        found[block] = np.argmax(np.round(similarity(block), DIGITS), axis=1)
        advance(block.stop - start)
    return found


def _length_similarity(left: pl.Series, right: pl.Series) -> Callable[[slice], Any]:
    """How near a text's length is to that expected of the translation, if all were equally much longer or shorter."""
    one = left.str.len_chars().to_numpy().astype(np.float64)
    other = right.str.len_chars().to_numpy().astype(np.float64)
    expected = one * (other.sum() / max(one.sum(), 1.0))
    return lambda block: -np.abs(expected[block, np.newaxis] - other[np.newaxis, :])


def _cosine_similarity(counts: Any, rows: int) -> Callable[[slice], Any]:
    """The cosine of TF-IDF. counts: the terms of the texts, followed by those of the other language."""
    weights, _ = weigh_terms(counts, counts[:1])
    right = weights[rows:].T.tocsr()
    return lambda block: (weights[:rows][block] @ right).toarray()
