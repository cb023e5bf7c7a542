"""Baselines for pairs of texts: average precision, Spearman's rank correlation, and weighted F1 for bitext mining.

Shared words and letters are scores as they are. Linear models of the lengths, and of one side alone, learn from the other folds,
because these tasks train nothing; pairs that share the side with fewer different texts are in one fold. Lengths are learned too,
because a recipe can make them tell either way: of DIPPER 1.0.0, the pairs more alike in length are the wrong ones.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl

from cards.scores import Baseline
from pipelines.process.stages import stage
from pipelines.scores.folds import order_by_hash, plan_folds
from pipelines.scores.metrics import area_under_curve, average_precision, bitext_f1, chance_bitext_f1, spearman
from pipelines.scores.results import Results, make_baseline
from pipelines.scores.text_models import (
    Integers,
    Matrix,
    Sides,
    Weigh,
    count_letters,
    count_terms,
    describe_lengths,
    fold,
    predict_odds,
    predict_out_of_fold,
    predict_values,
    shared_letters,
    shared_words,
    standardize,
    weigh_terms,
)

SIDES = ("sentence1", "sentence2")


def score_pair_classification(table: pl.LazyFrame) -> Results:
    """All baselines. table: sentence1, sentence2, labels (0 or 1)."""
    rows = table.select(*SIDES, "labels").collect(engine="streaming")
    labels = rows["labels"].to_numpy().astype(np.int64)

    def judge(scores: Matrix) -> tuple[float, float | None]:
        return average_precision(labels, scores), area_under_curve(labels, scores)

    chance = make_baseline("chance", float(labels.mean()), auc=0.5)
    return Results([chance, *_score_pairs(rows, labels, predict_odds, judge)], rows.height, int(labels.sum()))


def score_sts(table: pl.LazyFrame) -> Results:
    """All baselines. table: sentence1, sentence2, score."""
    rows = table.select(*SIDES, "score").collect(engine="streaming")
    values = rows["score"].to_numpy().astype(np.float64)

    def judge(scores: Matrix) -> tuple[float, None]:
        return spearman(values, scores), None

    return Results([make_baseline("chance", 0.0), *_score_pairs(rows, values, predict_values, judge)], rows.height)


def _score_pairs(
    rows: pl.DataFrame,
    targets: Any,
    predict: Callable[[Any, Any, Any], Matrix],
    judge: Callable[[Matrix], tuple[float, float | None]],
) -> Iterator[Baseline]:
    """All baselines but chance. targets: what is learned, a number a pair. predict: as in `predict_out_of_fold`.

    judge: the main score, and the area under the curve where there are two labels, for a score of each pair.
    """
    sides = Sides(rows["sentence1"], rows["sentence2"])
    left, right = fold(sides.first), fold(sides.second)
    for name, share in (("words", shared_words), ("letters", shared_letters)):
        with stage(f"baselines: shared {name}"):
            score, area = judge(share(left, right))
            yield make_baseline(name, score, auc=area)
    plan = plan_folds(sides.repeated, [f"{one} {other}" for one, other in zip(left, right, strict=True)])

    def learn(name: str, features: Any, weigh: Weigh) -> Baseline:
        score, area = judge(predict_out_of_fold(features, targets, plan, weigh, predict))
        return make_baseline(name, score, labels="all", auc=area, detail=plan.detail)

    with stage("baselines: lengths"):
        yield learn("length", _describe_lengths(sides), standardize)
    for name, side in zip(SIDES, (sides.first, sides.second), strict=True):
        with stage(f"baselines: TF-IDF of {name}"):
            yield learn(name, count_terms(side.to_list()), weigh_terms)


def _describe_lengths(sides: Sides) -> Matrix:
    """The lengths of both sides, their difference in characters (its logarithm), and the shorter one by the longer one."""
    first, second = describe_lengths(sides.first), describe_lengths(sides.second)
    difference = np.log1p(np.abs(np.expm1(first[:, 0]) - np.expm1(second[:, 0])))
    ratio = np.exp(-np.abs(first[:, 0] - second[:, 0]))
    return np.column_stack([first, second, difference, ratio])


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
