"""The permutation test of what reads less than a row: data with a trait and without, components, correction."""

import numpy as np
import polars as pl
import pytest

from pipelines.scores import permutations
from pipelines.scores.folds import connect, plan_folds
from pipelines.scores.permutations import answer, claim_shortcuts, correct, held_out_question, interval_of_mean, permute
from pipelines.scores.results import Judged, Question
from pipelines.scores.text_models import count_terms, weigh_terms


@pytest.fixture(autouse=True)
def few_permutations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permutations, "PERMUTATIONS", 199)
    monkeypatch.setattr(permutations, "RESAMPLES", 199)


def test_rows_are_connected_by_a_text_on_whatever_side_and_through_other_rows() -> None:
    left = ["a", "b", "c", "x", "q"]
    right = ["b", "c", "d", "y", "r"]
    assert connect(left, right) == ["a", "a", "a", "x", "q"], "a-b, b-c and c-d are one component"
    assert connect(["p", "p", "q"]) == ["p", "p", "q"]
    assert connect(right, left) == connect(left, right)


def test_no_text_of_a_fold_is_in_its_training_rows_on_either_side() -> None:
    left = [f"t{number}" for number in range(300)]
    right = [f"t{number + 1}" if number % 3 else f"u{number}" for number in range(300)]
    for part in plan_folds(connect(left, right), left).parts:
        seen = {side[row] for side in (left, right) for row in part.training.tolist()}
        assert not seen & {side[row] for side in (left, right) for row in part.scored.tolist()}


def test_a_permutation_keeps_the_labels_of_a_component_together() -> None:
    numbers = np.array([0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 4])
    labels = np.array(["p", "q", "q", "r", "r", "s", "s", "s", "t", "u", "v"])
    blocks = {"".join(sorted(labels[numbers == number])) for number in range(5)}
    drawn = set()
    for permutation in permute(numbers, 50):
        assert sorted(permutation.tolist()) == list(range(11))
        moved = labels[permutation]
        assert {"".join(sorted(moved[numbers == number])) for number in range(5)} == blocks
        drawn.add("".join(moved))
    assert len(drawn) > 20


def texts_with(trait: float, rows: int = 600, group: int = 1) -> tuple[list[str], np.ndarray, list[str]]:
    """Texts of random words, their labels, and components; `trait` of the texts with label 1 hold a telling word."""
    draw = np.random.default_rng(6)
    labels = draw.integers(0, 2, rows).astype(np.float64)
    words = draw.integers(0, 400, (rows, 8))
    texts = [
        " ".join(f"w{word}" for word in row) + (" never" if label and draw.random() < trait else "")
        for row, label in zip(words, labels, strict=True)
    ]
    return texts, labels, [f"c{number // group}" for number in range(rows)]


def question(trait: float, rows: int = 600, group: int = 1) -> Question:
    texts, labels, components = texts_with(trait, rows, group)
    judged = Judged("auc", labels, components, texts)
    return permutations.learned_question("sentence2", judged, count_terms(texts), weigh_terms)


def test_a_trait_of_the_annotation_is_a_shortcut_with_its_interval_and_p() -> None:
    [shortcut] = claim_shortcuts([question(0.6)])
    assert (shortcut.baseline, shortcut.metric, shortcut.p, shortcut.components) == ("sentence2", "auc", 0.005, 600)
    assert shortcut.low is not None
    assert shortcut.high is not None
    assert 70 < shortcut.low < shortcut.score < shortcut.high < 90, "a telling word in 60 % of one label: about 80"
    assert shortcut.chance == pytest.approx(50, abs=2)


def test_texts_without_a_trait_few_components_and_small_gaps_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert claim_shortcuts([question(0.0)]) == []
    assert claim_shortcuts([question(0.6, rows=600, group=10)]) == [], "60 components are too few"
    monkeypatch.setattr(permutations, "GAP", 40.0)
    assert claim_shortcuts([question(0.6)]) == []


def test_among_independent_sets_without_a_trait_few_have_a_low_p() -> None:
    low = 0
    for seed in range(40):
        draw = np.random.default_rng(seed)
        labels = draw.integers(0, 2, 120).astype(np.float64)
        texts = [" ".join(f"w{word}" for word in row) for row in draw.integers(0, 60, (120, 6))]
        judged = Judged("auc", labels, [str(row) for row in range(120)], texts)
        *_, p = answer(permutations.learned_question("length", judged, count_terms(texts), weigh_terms))
        low += p < 0.05
    assert low <= 6, "2 of 40 are expected; more than 6 have a probability below one in a hundred"


def test_what_another_split_does_not_confirm_is_none() -> None:
    """The word tells the label in the judged rows and the contrary in the training rows."""
    texts, labels, components = texts_with(0.6)
    counts = count_terms(texts)
    training, scored = weigh_terms(counts, counts)
    judged = Judged("auc", labels, components, texts)
    confirmed = held_out_question("sentence2", judged, training, labels, scored)
    contrary = held_out_question("sentence2", judged, training, 1 - labels, scored)
    assert len(claim_shortcuts([confirmed])) == 1
    assert claim_shortcuts([contrary]) == []


def test_the_interval_of_independent_rows_is_that_of_a_share() -> None:
    """1.96 standard errors of a share of 0.3 in 400 rows: sqrt(0.3 x 0.7 / 400) = 0.0229, so 0.255 to 0.345."""
    low, high = interval_of_mean([str(row) for row in range(400)], np.array([1.0] * 120 + [0.0] * 280))
    assert (low, high) == pytest.approx((0.255, 0.345), abs=0.006)


def test_rows_of_a_component_count_as_one_in_an_interval() -> None:
    """400 rows in 100 components of four equal ones have the interval of 100: twice as wide."""
    values = np.repeat(np.array([1.0] * 30 + [0.0] * 70), 4)
    low, high = interval_of_mean([str(row // 4) for row in range(400)], values)
    assert (low, high) == pytest.approx((0.21, 0.39), abs=0.01)
    assert interval_of_mean(["one"] * 4, np.array([0.0, 1.0, 1.0, 1.0])) == (0.75, 0.75)


def test_probabilities_are_corrected_by_holm() -> None:
    """By hand: 0.01 x 4, 0.02 x 3, 0.03 x 2 is below the one before, 0.5."""
    assert correct([0.02, 0.5, 0.01, 0.03]) == pytest.approx([0.06, 0.5, 0.04, 0.06])


def test_several_classes_are_judged_by_accuracy_against_the_most_frequent() -> None:
    draw = np.random.default_rng(1)
    labels = np.where(draw.random(600) < 0.7, 0, draw.integers(1, 3, 600)).astype(np.float64)
    texts = [" ".join(f"w{word}" for word in row) for row in draw.integers(0, 50, (600, 6))]
    judged = Judged("accuracy", labels, [str(row) for row in range(600)], texts)
    length = permutations.learned_question("length", judged, count_terms(texts), weigh_terms)
    score, chance, low, high, _ = answer(length)
    assert chance >= np.bincount(labels.astype(int)).max() / 600
    assert pl.Series([low, score, high]).is_sorted()
    assert claim_shortcuts([length]) == []
