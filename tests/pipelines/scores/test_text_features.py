"""pipelines.scores: what is read of texts, by models and without one."""

import numpy as np
import polars as pl
import pytest

from pipelines.scores.text_models import (
    count_terms,
    describe_lengths,
    fold,
    shared_letters,
    shared_words,
    split_sides,
    standardize,
    weigh_terms,
)


def test_terms_are_words_and_single_characters_of_punctuation() -> None:
    counts = count_terms(["Is it? It is!", "?"])
    assert counts.toarray().tolist() == [[1, 1, 2, 2], [0, 1, 0, 0]]
    assert count_terms(["", " "]).toarray().tolist() == [[0], [0]]


def test_only_terms_of_training_rows_have_a_weight() -> None:
    counts = count_terms(["red bee", "red ant", "blue ant"])
    training, scored = weigh_terms(counts[:2], counts[2:])
    assert training.shape[1] == 3
    assert scored.toarray().max() == 1.0
    assert np.allclose(np.sqrt(training.multiply(training).sum(axis=1)), 1)


def test_lengths_are_characters_words_and_shares_of_kinds_of_characters() -> None:
    [row] = describe_lengths(pl.Series(["Два 22!?"])).tolist()
    assert row == pytest.approx([np.log(9), np.log(3), 2 / 8, 2 / 8, 1 / 8])
    assert describe_lengths(pl.Series([""])).tolist() == [[0, 0, 0, 0, 0]]


def test_a_constant_feature_is_zero() -> None:
    training, scored = standardize(np.array([[1.0, 2.0], [1.0, 4.0]]), np.array([[9.0, 3.0]]))
    assert training.tolist() == [[0, -1], [0, 1]]
    assert scored.tolist() == [[0, 0]]


def test_overlap_ignores_case_and_punctuation() -> None:
    left, right = fold(pl.Series(["A red bee!", "!"])), fold(pl.Series(["red, Bee?", "?"]))
    assert shared_words(left, right).tolist() == [2 / 3, 0]
    assert shared_letters(["ab"], ["ab"]).tolist() == [1]
    assert shared_letters(["ab"], ["b"]).tolist() == [0]


def test_texts_of_two_sides_are_divided_and_others_are_not() -> None:
    sides = split_sides(["Premise: a Hypothesis: b Hypothesis: c", "Premise: a Hypothesis: "])
    assert sides is not None
    assert (sides.first.to_list(), sides.second.to_list()) == (["a", "a"], ["b Hypothesis: c", ""])
    assert sides.repeated == ["a", "a"]
    assert split_sides(["Premise: a Hypothesis: b", "Premise: a"]) is None
