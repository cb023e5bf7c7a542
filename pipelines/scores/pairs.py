"""Baselines for pairs of texts: average precision, Spearman's rank correlation, and weighted F1 for bitext mining.

Shared words and letters are scores as they are. Linear models of the lengths, and of one side alone, learn from a training split,
the release's or the source's, without the pairs that are connected to an evaluated one by their texts; where there is none, from
the other folds. These tasks train nothing: what a side alone tells is a trait of the annotation. Lengths are learned too,
because a recipe can make them tell either way: of DIPPER 1.0.0, the pairs more alike in length are the wrong ones.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cards.scores import Baseline, Labels
from pipelines.process.stages import stage
from pipelines.scores.folds import Part, Plan, connect, limit_rows, order_by_hash, plan_folds, rank_by_hash
from pipelines.scores.metrics import area_under_curve, average_precision, bitext_f1, chance_bitext_f1, spearman
from pipelines.scores.permutations import held_out_question, interval, learned_question, mean_baseline
from pipelines.scores.results import Integers, Judged, Question, Results, Values, make_baseline
from pipelines.scores.text_models import (
    SIDES,
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


def score_pair_classification(
    splits: Mapping[str, pl.LazyFrame], split: str, training: pl.LazyFrame | None = None
) -> Results:
    """All baselines. splits: sentence1, sentence2, labels (0 or 1)."""
    pairs = _read(splits, split, training, "labels")
    chance = make_baseline("chance", float(pairs.targets[pairs.evaluated :].mean()), auc=0.5)
    return _score_pairs(pairs, "auc", predict_odds, average_precision, chance)


def score_sts(splits: Mapping[str, pl.LazyFrame], split: str, training: pl.LazyFrame | None = None) -> Results:
    """All baselines. splits: sentence1, sentence2, score."""
    pairs = _read(splits, split, training, "score")
    return _score_pairs(pairs, "cosine_spearman", predict_values, spearman, make_baseline("chance", 0.0))


@dataclass(frozen=True)
class Pairs:
    """Pairs to learn from, if there are any, then the evaluated ones.

    left, right: the sides, folded. components: a key a row. evaluated: where the evaluated rows begin.
    """

    sides: Sides
    left: list[str]
    right: list[str]
    targets: Values
    components: list[str]
    plan: Plan
    evaluated: int


def _read(splits: Mapping[str, pl.LazyFrame], split: str, training: pl.LazyFrame | None, column: str) -> Pairs:
    learned = splits.get("train", training) if split != "train" else None
    tables = [
        table.select(*SIDES, pl.col(column).cast(pl.Float64)).collect(engine="streaming")
        for table in (learned, splits[split])
        if table is not None
    ]
    rows, evaluated = pl.concat(tables), sum(table.height for table in tables[:-1])
    sides = rows["sentence1"], rows["sentence2"]
    left, right = map(fold, sides)
    components, texts = connect(left, right), [f"{one} {other}" for one, other in zip(left, right, strict=True)]
    own = set(components[evaluated:])
    free = np.array([row for row in range(evaluated) if components[row] not in own], dtype=np.int64)
    if len(free):
        part = Part(limit_rows(free, rank_by_hash(texts)), np.arange(evaluated, len(texts)))
        plan = Plan((part,), f"learns from {len(part.training):,} training pairs that share no text with these")
    else:
        plan = plan_folds(components[evaluated:], texts[evaluated:])
        plan = Plan(tuple(Part(part.training + evaluated, part.scored + evaluated) for part in plan.parts), plan.detail)
    return Pairs(sides, left, right, rows[column].to_numpy(), components, plan, evaluated)


def _score_pairs(
    pairs: Pairs,
    metric: str,
    predict: Callable[[Any, Any, Any], Values],
    judge: Callable[[Any, Values], float],
    chance: Baseline,
) -> Results:
    """All baselines. metric: of the questions. predict: as in `predict_out_of_fold`.

    judge: the main score, for targets and a score of each evaluated pair.
    """
    baselines, questions, begin = [chance], list[Question](), pairs.evaluated
    targets: Any = pairs.targets if metric != "auc" else pairs.targets.astype(np.int64)
    own, components = targets[begin:], pairs.components[begin:]

    def record(name: str, scores: Values, labels: Labels, detail: str = "") -> None:
        area = area_under_curve(own, scores) if metric == "auc" else None
        low_high = interval(components, lambda chosen: judge(own[chosen], scores[chosen]))
        score = judge(own, scores)
        baselines.append(make_baseline(name, score, labels=labels, auc=area, detail=detail, interval=low_high))

    for name, share in (("words", shared_words), ("letters", shared_letters)):
        with stage(f"baselines: shared {name}"):
            record(name, share(pairs.left[begin:], pairs.right[begin:]), "none")
    texts = [f"{one} {other}" for one, other in zip(pairs.left, pairs.right, strict=True)]
    judged = Judged(metric, pairs.targets[begin:], components, texts[begin:])

    def learn(name: str, features: Any, weigh: Weigh) -> None:
        predicted = predict_out_of_fold(features, targets, pairs.plan, weigh, predict)[begin:]
        record(name, predicted, "all", pairs.plan.detail)
        part = pairs.plan.parts[0]
        if len(pairs.plan.parts) == 1 and len(part.training):
            seen, scored = weigh(features[part.training], features[part.scored])
            questions.append(held_out_question(name, judged, seen, pairs.targets[part.training], scored))
        else:
            questions.append(learned_question(name, judged, features[begin:], weigh))

    with stage("baselines: lengths"):
        learn("length", _describe_lengths(pairs.sides), standardize)
    for name, side in zip(SIDES, pairs.sides, strict=True):
        with stage(f"baselines: TF-IDF of {name}"):
            learn(name, count_terms(side.to_list()), weigh_terms)
    return baselines, questions


def _describe_lengths(sides: Sides) -> Values:
    """The lengths of both sides, their difference in characters (its logarithm), and the shorter one by the longer one."""
    first, second = map(describe_lengths, sides)
    difference = np.log1p(np.abs(np.expm1(first[:, 0]) - np.expm1(second[:, 0])))
    ratio = np.exp(-np.abs(first[:, 0] - second[:, 0]))
    return np.column_stack([first, second, difference, ratio])


BLOCK = 500  # rows whose similarities with all others are in memory at once
DIGITS = 9  # of a similarity: what differs less is equal


def score_bitext(table: pl.LazyFrame) -> Results:
    """All baselines. table: sentence1, sentence2, row by row translations of each other."""
    rows = table.select("sentence1", "sentence2").collect(engine="streaming")
    # Of equally similar texts, the first in this order is taken.
    order = order_by_hash(rows["sentence2"], "translations")
    left, right = rows["sentence1"], rows["sentence2"].gather(order)
    components = connect(rows["sentence1"].to_list(), rows["sentence2"].to_list())
    baselines = [make_baseline("chance", chance_bitext_f1(rows.height))]
    with stage("baselines: lengths", total=rows.height, unit="rows") as advance:
        found = _find_in_blocks(rows.height, _length_similarity(left, right), advance)
        baselines.append(mean_baseline("length", bitext_f1(order[found]), components))
    texts = fold(left) + fold(right)
    for name, count in (("words", count_terms), ("letters", count_letters)):
        with stage(f"baselines: shared {name}", total=rows.height, unit="rows") as advance:
            found = _find_in_blocks(rows.height, _cosine_similarity(count(texts), rows.height), advance)
            baselines.append(mean_baseline(name, bitext_f1(order[found]), components))
    return baselines, []


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
