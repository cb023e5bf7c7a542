"""pipelines.scores.folds: who learns from what is decided by hashes of texts."""

from collections import Counter

import numpy as np
import pytest

from pipelines.scores import folds

PROMPTS = [f"prompt {number}" for number in range(20) for _ in range(3)]
TEXTS = [f"text {number}" for number in range(60)]


def test_rows_of_a_group_are_in_one_fold_and_every_row_is_scored_once() -> None:
    plan = folds.plan_folds(PROMPTS, TEXTS)
    scored = [{PROMPTS[row] for row in part.scored} for part in plan.parts]
    assert [len(prompts) for prompts in scored] == [4] * 5
    assert sorted(row for part in plan.parts for row in part.scored.tolist()) == list(range(60))
    assert all(not {PROMPTS[row] for row in part.training} & own for part, own in zip(plan.parts, scored, strict=True))


def test_folds_depend_on_texts_not_on_their_order() -> None:
    order = np.arange(60)[::-1]
    plan = folds.plan_folds(PROMPTS, TEXTS)
    turned = folds.plan_folds([PROMPTS[row] for row in order], [TEXTS[row] for row in order])
    for part, other in zip(plan.parts, turned.parts, strict=True):
        assert {TEXTS[row] for row in part.scored} == {TEXTS[order[row]] for row in other.scored}


def test_a_model_learns_from_a_limited_number_of_rows_and_the_detail_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folds, "MAX_TRAINING", 10)
    plan = folds.plan_folds(PROMPTS, TEXTS)
    assert {len(part.training) for part in plan.parts} == {10}
    assert plan.detail == "learns from the other folds of the same split, 10 of 48 rows each"
    rows, detail = folds.select_training(TEXTS[:40])
    assert len(set(rows.tolist())) == 10
    assert detail == "learns from 10 of 40 train rows"


def test_a_few_rows_of_each_label_are_chosen_and_none_without_a_label() -> None:
    labels = [(row % 3,) if row < 50 else () for row in range(60)]
    few = folds.sample_few(np.arange(60), labels, TEXTS, 0, 8)
    assert Counter(labels[row][0] for row in few) == {0: 8, 1: 8, 2: 8}
    assert few.tolist() != folds.sample_few(np.arange(60), labels, TEXTS, 1, 8).tolist()
