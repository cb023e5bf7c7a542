"""pipelines.audit.shortcuts: strengths and correlations are those of comparing all pairs of rows."""

from itertools import product

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.audit.shortcuts import rank_correlation, strength_of_labels, strength_within_groups

ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.booleans()), min_size=1, max_size=20)


def compare_all(having: list[int], others: list[int]) -> float:
    wins = [1.0 if one > other else 0.5 if one == other else 0.0 for one, other in product(having, others)]
    return sum(wins) / len(wins)


def split_numbers(rows: list[tuple[int, int, bool]]) -> tuple[list[int], list[int]]:
    return [number for _, number, label in rows if label], [number for _, number, label in rows if not label]


@given(ROWS)
def test_a_strength_is_the_share_of_all_pairs_of_rows_that_are_guessed_right(rows: list[tuple[int, int, bool]]) -> None:
    having, others = split_numbers(rows)
    labels = pl.Series([["yes"] if label else [] for _, _, label in rows], dtype=pl.List(pl.String))
    measured = strength_of_labels(pl.Series([number for _, number, _ in rows]), labels)
    if not having or not others:
        assert measured.is_empty()
        return
    [(label, count, rest, strength, _)] = measured.rows()
    assert (label, count, rest) == ("yes", len(having), len(others))
    assert strength == pytest.approx(compare_all(having, others))


@given(ROWS)
def test_within_groups_it_is_the_mean_over_the_groups_with_both_kinds_of_rows(
    rows: list[tuple[int, int, bool]],
) -> None:
    frame = pl.DataFrame(rows, {"group": pl.UInt32, "number": pl.Int64, "label": pl.Boolean}, orient="row")
    by_group = [split_numbers([row for row in rows if row[0] == group]) for group in range(3)]
    expected = [compare_all(having, others) for having, others in by_group if having and others]
    strength, _, groups = strength_within_groups(frame)
    assert groups == len(expected)
    assert strength == pytest.approx(sum(expected) / len(expected) if expected else 0.5)


def test_the_error_is_that_of_the_rank_sum_test() -> None:
    labels = pl.Series([["yes"]] * 40 + [[]] * 60, dtype=pl.List(pl.String))
    measured = strength_of_labels(pl.Series(range(100)), labels)
    assert measured["error"][0] == pytest.approx((101 / (12 * 40 * 60)) ** 0.5)
    ties = strength_of_labels(pl.Series([0] * 50 + [1] * 50), labels)
    assert ties["error"][0] == pytest.approx(((101 - 2 * (50**3 - 50) / (100 * 99)) / (12 * 40 * 60)) ** 0.5)


def test_the_error_of_a_mean_over_preferences_is_that_of_a_coin() -> None:
    pairs = pl.DataFrame({"group": [0, 0, 1, 1], "number": [1, 2, 1, 2], "label": [True, False, False, True]})
    more = pl.concat([pairs.with_columns(pl.col("group") + 2 * copy) for copy in range(50)])
    assert strength_within_groups(more) == (0.5, pytest.approx(0.5 / 100**0.5), 100)


def test_rows_without_a_number_or_a_label_do_not_count() -> None:
    numbers = pl.Series([1, None, 3, 2])
    labels = pl.Series([["a"], ["a"], None, ["b"]], dtype=pl.List(pl.String))
    assert strength_of_labels(numbers, labels).select("label", "rows", "strength").rows() == [("a", 1, 0), ("b", 1, 1)]


def test_a_rank_correlation_counts_equal_values_as_their_mean_rank() -> None:
    assert rank_correlation(pl.Series([1, 2, 3]), pl.Series([0.1, 0.5, 2.0])) == 1
    assert rank_correlation(pl.Series([1, 2, 3]), pl.Series([3, 2, 1])) == -1
    # Ranks 1.5, 1.5, 3, 4 and 1, 2, 3.5, 3.5: their products around the mean add up to 4, their squares to 4.5 each.
    assert rank_correlation(pl.Series([1, 1, 2, 3]), pl.Series([1, 2, 3, 3])) == pytest.approx(4 / 4.5)
    assert rank_correlation(pl.Series([1, 1, 1]), pl.Series([3, 2, 1])) == 0
