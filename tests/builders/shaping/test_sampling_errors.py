"""Data that do not permit a sample or a split, and wrong arguments, are errors."""

import polars as pl
import pytest

from builders.errors import RecipeError
from builders.shaping import sampling
from builders.shaping.sampling import count_left_over, scarcest_class
from tests.support.sampling import SEED, keys, table


def test_too_few_rows_are_an_error_instead_of_a_smaller_sample() -> None:
    with pytest.raises(RecipeError) as caught:
        sampling.sample(table({"a": "Good"}), 10_000, key="id", seed=SEED, what="titles")
    assert caught.value.what == "too few titles"
    assert (caught.value.found, caught.value.expected) == ("1 titles", "at least 10000 titles")
    two = table({"a": "Good", "b": "Bad"})
    with pytest.raises(RecipeError) as caught:
        sampling.split(two, {"train": 2, "test": 1}, key="id", seed=SEED)
    assert (caught.value.found, caught.value.expected) == ("2 rows", "at least 3 rows")
    with pytest.raises(RecipeError) as caught:
        sampling.sample_stratified(two, 3, by="label", key="id", seed=SEED)
    assert (caught.value.found, caught.value.expected) == ("2 rows", "at least 3 rows")


def test_a_class_with_too_few_rows_is_named() -> None:
    rows = table({"a": "Good", "b": "Good", "c": "Good", "d": "Bad", "e": "Neutral", "f": "Neutral"})
    with pytest.raises(RecipeError) as caught:
        sampling.sample_per_class(rows, 2, by="label", key="id", seed=SEED)
    assert caught.value.found == "1 rows of class 'Bad'"
    assert caught.value.expected == "at least 2 rows of each class"
    with pytest.raises(RecipeError) as caught:
        sampling.split(rows, {"train": 2, "test": 1}, by="label", key="id", seed=SEED)
    assert sorted((caught.value.found or "").split(", ")) == ["1 rows of class 'Bad'", "2 rows of class 'Neutral'"]


def test_of_many_classes_with_too_few_rows_the_first_in_hash_order_are_named() -> None:
    rows = table({str(n): str(n) for n in range(100)})
    first = [f"1 rows of class {name!r}" for name in keys(sampling.sample(rows, 5, key="id", seed=SEED))]
    with pytest.raises(RecipeError) as caught:
        sampling.sample_per_class(rows, 2, by="label", key="id", seed=SEED)
    assert caught.value.found == ", ".join([*first, "and 95 more classes"])


def test_no_class_at_all_is_an_error() -> None:
    with pytest.raises(RecipeError, match="'label'"):
        sampling.sample_per_class(table({}), 2, by="label", key="id", seed=SEED)


def test_groups_that_leave_a_split_short_are_an_error() -> None:
    rows = pl.DataFrame({"id": range(6), "event": [1, 1, 1, 2, 2, 2]})
    assert sampling.split(rows, {"train": 3, "test": 3}, key="id", seed=SEED, group="event")["test"].height == 3
    with pytest.raises(RecipeError, match="plus spare rows so that no event is in two splits"):
        sampling.split(rows, {"train": 2, "test": 4}, key="id", seed=SEED, group="event")


def test_a_group_with_rows_of_two_classes_is_an_error() -> None:
    rows = pl.DataFrame({"id": range(4), "event": [1, 1, 2, 2], "label": ["Good", "Bad", "Good", "Good"]})
    with pytest.raises(RecipeError) as caught:
        sampling.split(rows, {"train": 1}, key="id", seed=SEED, by="label", group="event")
    assert caught.value.found == "for example '1'"
    assert sampling.split(rows, {"train": 1}, key="id", seed=SEED, group="event")["train"].height == 1


def test_a_repeated_key_is_an_error_that_names_column_and_key() -> None:
    rows = pl.DataFrame({"review_id": ["7", "8", "7", "8", "9"]})
    with pytest.raises(RecipeError, match="'review_id'") as caught:
        sampling.sort_by_hash(rows, key="review_id", seed=SEED)
    assert caught.value.found == "2 values on 4 rows, for example '7'"


@pytest.mark.parametrize("column", ["id", "label", "event"])
def test_a_null_key_class_or_group_is_an_error_that_names_the_column(column: str) -> None:
    rows = pl.DataFrame({"id": ["a", "b", "c"], "label": ["Good", "Good", "Bad"], "event": ["1", "2", "3"]})
    rows = rows.with_columns(pl.when(pl.int_range(3) < 2).then(column).alias(column))
    with pytest.raises(RecipeError, match=f"'{column}' is null") as caught:
        sampling.split(rows, {"train": 1}, key="id", seed=SEED, by="label", group="event")
    assert caught.value.found == "1 null of 3"


def test_wrong_arguments_are_errors() -> None:
    rows = table({"a": "Good"})
    with pytest.raises(ValueError, match="not -1"):
        sampling.sample(rows, -1, key="id", seed=SEED)
    with pytest.raises(ValueError, match="not -2"):
        sampling.split(rows, {"train": 1, "test": -2}, key="id", seed=SEED)
    with pytest.raises(ValueError, match="not -2"):
        sampling.sample_stratified(rows, -2, by="label", key="id", seed=SEED)
    with pytest.raises(TypeError, match="'score' must hold strings or integers"):
        sampling.sort_by_hash(pl.DataFrame({"score": [0.5]}), key="score", seed=SEED)
    for seed in ("", "x" * 65):
        with pytest.raises(ValueError, match="1 to 64 bytes"):
            sampling.sort_by_hash(rows, key="id", seed=seed)


def test_the_class_with_the_fewest_rows_left_over_is_named() -> None:
    rows = pl.DataFrame({"label": ["a"] * 5 + ["b"] * 7})
    observed = count_left_over(rows, [rows[:3], rows[3:8]], by="label")
    assert observed == {
        "rows of class a to choose from": 5, "rows of class a left over": 0,
        "rows of class b to choose from": 7, "rows of class b left over": 4,
    }  # fmt: skip
    assert scarcest_class(observed) == "0 of 5 rows of class a, the fewest of 2 classes"
    assert scarcest_class({"clusters": 3}) == ""
