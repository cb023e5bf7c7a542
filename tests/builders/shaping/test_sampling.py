"""Hash order, samples and splits: who is chosen, who is not, and what the choice does not depend on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from builders.errors import RecipeError
from builders.shaping import sampling

SEED = "kinopoisk"
CLASSES = ("Bad", "Neutral", "Good")

quick = settings(deadline=None, max_examples=60)
ids = st.text(max_size=6)
reviews = st.dictionaries(ids, st.sampled_from(CLASSES), max_size=40)


def table(rows: dict[str, str]) -> pl.DataFrame:
    return pl.DataFrame({"id": list(rows), "label": list(rows.values())}, schema={"id": pl.String, "label": pl.String})


def keys(frame: pl.DataFrame) -> list[str]:
    return frame.get_column("id").to_list()


def counts(frame: pl.DataFrame) -> Counter[str]:
    return Counter(frame.get_column("label").to_list())


def corpus(classes: int = 7, rows: int = 4000) -> pl.DataFrame:
    """Rows of unequal classes, of list-valued labels and of clusters that keep to one class."""
    numbers = range(rows)
    return pl.DataFrame(
        {
            "id": [f"row-{n}" for n in numbers],
            "label": [(n // 4) ** 2 % classes for n in numbers],
            "topics": [[t for t in range(3) if n % (t + 2) == 0] for n in numbers],
            "cluster": [n // 4 for n in numbers],
        }
    )


def every_choice(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """One frame for each way to choose, by name."""
    small = {"train": 40, "validation": 7, "test": 20}
    large = {"train": 2001, "test": 999}
    taken = {
        "by class": sampling.split(frame, small, key="id", seed=SEED, by="label"),
        "of all": sampling.split(frame, large, key="id", seed=SEED),
        "by cluster": sampling.split(frame, small, key="id", seed=SEED, by="label", group="cluster"),
        "balance": sampling.split_keeping_balance(frame, large, by="label", key="id", seed=SEED),
        "balance of topics": sampling.split_keeping_balance(frame, large, by="topics", key="id", seed=SEED),
    }
    frames = {f"{way}: {name}": part for way, splits in taken.items() for name, part in splits.items()}
    return frames | {
        "order": sampling.order(frame, key="id", seed=SEED),
        "sample": sampling.sample(frame, 1000, key="id", seed=SEED),
        "balanced": sampling.balanced(frame, 100, by="label", key="id", seed=SEED),
    }


def every_choice_as_json(frame: pl.DataFrame) -> str:
    return json.dumps({name: part.rows() for name, part in every_choice(frame).items()})


# The literals below come from `openssl mac ... BLAKE2BMAC`, as the docstring of hash_order says.
@pytest.mark.parametrize(
    ("key", "under_1", "under_kinopoisk"),
    [
        ("", 0x4A129A4CFBF9AEF4, 0x7A69B41E66826D76),
        ("a", 0x594D9FCA33D87F37, 0x69081D0E67C5842E),
        ("review-1", 0xA083A7475D808328, 0xC4FE125F8618B81F),
        ("отзыв", 0xAFB9C3CC961400A3, 0x840B817C8BA4BF4F),
        ("10", 0xEE6ECF4CCAE73FD1, 0x07E3720A4EB9A8D7),
        ("-7", 0x3D72ADA98912AF68, 0xD9814291AEF4A408),
    ],
)
def test_a_key_has_the_place_it_always_had(key: str, under_1: int, under_kinopoisk: int) -> None:
    places = sampling.hash_order(pl.Series("id", [key]), 1)
    assert places.to_list() == [under_1]
    assert places.dtype == pl.UInt64
    assert sampling.hash_order(pl.Series("id", [key]), "kinopoisk").to_list() == [under_kinopoisk]


def test_rows_have_the_order_they_always_had() -> None:
    rows = pl.DataFrame({"id": ["", "a", "review-1", "отзыв", "10", "-7"]})
    assert keys(sampling.order(rows, key="id", seed=1)) == ["-7", "", "a", "review-1", "отзыв", "10"]
    assert keys(sampling.order(rows, key="id", seed="kinopoisk")) == ["10", "a", "", "отзыв", "review-1", "-7"]


@quick
@given(st.lists(ids, unique=True), st.integers() | st.text(min_size=1, max_size=12))
def test_the_order_is_the_one_plain_python_finds(names: list[str], seed: str | int) -> None:
    def place(name: str) -> tuple[int, bytes]:
        digest = blake2b(name.encode(), digest_size=8, key=str(seed).encode()).digest()
        return int.from_bytes(digest, "big"), name.encode()

    rows = pl.DataFrame({"id": names}, schema={"id": pl.String})
    assert keys(sampling.order(rows, key="id", seed=seed)) == sorted(names, key=place)


@quick
@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.lists(st.integers(0, 2**64 - 1)))
def test_an_integer_has_the_place_of_its_digits(signed: list[int], unsigned: list[int]) -> None:
    for numbers, dtype in ((signed, pl.Int64), (unsigned, pl.UInt64)):
        digits = pl.Series("id", [str(number) for number in numbers], dtype=pl.String)
        places = sampling.hash_order(pl.Series("id", numbers, dtype=dtype), SEED)
        assert places.to_list() == sampling.hash_order(digits, SEED).to_list()


def test_keys_of_equal_hash_go_by_their_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "hash_order", lambda column, _seed: pl.Series(column.name, [7] * column.len()))
    rows = pl.DataFrame({"id": ["я", "b", "😀", "10", "9", "B"]})
    assert keys(sampling.order(rows, key="id", seed=SEED)) == ["10", "9", "B", "b", "я", "😀"]
    numbers = sampling.order(pl.DataFrame({"id": [9, 10, -1]}), key="id", seed=SEED)
    assert numbers.get_column("id").to_list() == [-1, 10, 9]


def test_another_seed_gives_another_sample() -> None:
    first, second = (set(keys(sampling.sample(corpus(), 1000, key="id", seed=seed))) for seed in ("first", "second"))
    assert 150 < len(first & second) < 350  # a quarter of a quarter is expected: 250 of 4000


@quick
@given(reviews, reviews, st.data())
def test_added_rows_change_a_sample_only_by_pushing_rows_out(
    old: dict[str, str], more: dict[str, str], data: st.DataObject
) -> None:
    n = data.draw(st.integers(0, len(old)))
    added = {name: label for name, label in more.items() if name not in old}
    before = set(keys(sampling.sample(table(old), n, key="id", seed=SEED)))
    after = set(keys(sampling.sample(table(old | added), n, key="id", seed=SEED)))
    assert after & set(old) <= before
    assert len(before - after) == len(after & set(added)) <= len(added)


@quick
@given(reviews, reviews)
def test_added_rows_change_a_balanced_sample_only_within_their_class(old: dict[str, str], more: dict[str, str]) -> None:
    old = {f"old {label}": label for label in CLASSES} | old
    added = {name: label for name, label in more.items() if name not in old}
    n = min(Counter(old.values()).values())
    before = sampling.balanced(table(old), n, by="label", key="id", seed=SEED)
    after = sampling.balanced(table(old | added), n, by="label", key="id", seed=SEED)
    for label in CLASSES:
        was, now = (set(keys(frame.filter(pl.col("label") == label))) for frame in (before, after))
        assert now & set(old) <= was
        assert len(was - now) <= sum(of == label for of in added.values())


@quick
@given(reviews, st.data())
def test_a_larger_sample_begins_with_the_smaller_one(rows: dict[str, str], data: st.DataObject) -> None:
    large = data.draw(st.integers(0, len(rows)))
    small = data.draw(st.integers(0, large))
    larger = sampling.sample(table(rows), large, key="id", seed=SEED)
    assert_frame_equal(sampling.sample(table(rows), small, key="id", seed=SEED), larger.head(small))


@quick
@given(reviews)
def test_a_larger_balanced_sample_begins_each_class_with_the_smaller_one(rows: dict[str, str]) -> None:
    rows = {f"one {label}": label for label in CLASSES} | rows
    enough = min(Counter(rows.values()).values())
    larger = sampling.balanced(table(rows), enough, by="label", key="id", seed=SEED)
    smaller = sampling.balanced(table(rows), enough - 1, by="label", key="id", seed=SEED)
    for label in CLASSES:
        of_class = pl.col("label") == label
        assert_frame_equal(smaller.filter(of_class), larger.filter(of_class).head(enough - 1))


@quick
@given(reviews)
def test_a_balanced_sample_has_n_rows_of_each_class_in_common_hash_order(rows: dict[str, str]) -> None:
    rows = {f"one {label}": label for label in CLASSES} | rows
    n = min(Counter(rows.values()).values())
    chosen = sampling.balanced(table(rows), n, by="label", key="id", seed=SEED)
    assert counts(chosen) == dict.fromkeys(CLASSES, n)
    assert_frame_equal(chosen, sampling.order(chosen, key="id", seed=SEED))


@quick
@given(reviews, st.data())
def test_splits_have_their_sizes_of_each_class_and_share_no_row(rows: dict[str, str], data: st.DataObject) -> None:
    rows = {f"one {label}": label for label in CLASSES} | rows
    n = min(Counter(rows.values()).values())
    train = data.draw(st.integers(0, n))
    sizes = {"train": train, "test": data.draw(st.integers(0, n - train))}
    splits = sampling.split(table(rows), sizes, key="id", seed=SEED, by="label")
    assert list(splits) == ["train", "test"]
    for name, size in sizes.items():
        assert counts(splits[name]) == (dict.fromkeys(CLASSES, size) if size else {})
    together = pl.concat(splits.values())
    assert together.get_column("id").is_unique().all()
    whole = sampling.balanced(table(rows), sum(sizes.values()), by="label", key="id", seed=SEED)
    assert set(keys(together)) == set(keys(whole))


@quick
@given(reviews, st.data())
def test_splits_of_all_rows_are_cut_from_the_hash_order_one_after_another(
    rows: dict[str, str], data: st.DataObject
) -> None:
    train = data.draw(st.integers(0, len(rows)))
    test = data.draw(st.integers(0, len(rows) - train))
    splits = sampling.split(table(rows), {"train": train, "test": test}, key="id", seed=SEED)
    assert (splits["train"].height, splits["test"].height) == (train, test)
    assert_frame_equal(pl.concat(splits.values()), sampling.sample(table(rows), train + test, key="id", seed=SEED))


@quick
@given(reviews, st.data())
def test_splits_that_keep_the_balance_take_the_same_share_of_each_class(
    rows: dict[str, str], data: st.DataObject
) -> None:
    rows = rows | {"one": "Good"}
    test = data.draw(st.integers(0, len(rows)))
    sizes = {"test": test, "train": data.draw(st.integers(0, len(rows) - test))}
    splits = sampling.split_keeping_balance(table(rows), sizes, by="label", key="id", seed=SEED)
    left = Counter(rows.values())
    for name, size in sizes.items():
        assert splits[name].height == size
        taken = counts(splits[name])
        for label in CLASSES:
            assert abs(taken[label] * left.total() - size * left[label]) < max(left.total(), 1)  # less than a row off
        left -= taken
    assert pl.concat(splits.values()).get_column("id").is_unique().all()
    for label in CLASSES:
        of_class = pl.col("label") == label
        queue = sampling.order(table(rows).filter(of_class), key="id", seed=SEED)
        taken_in_turn = pl.concat([part.filter(of_class) for part in splits.values()])
        assert_frame_equal(taken_in_turn, queue.head(taken_in_turn.height))


def test_shares_are_rounded_by_largest_remainder() -> None:
    rows = table(
        {f"{label} {n}": label for label, size in zip(CLASSES, (53, 31, 16), strict=True) for n in range(size)}
    )
    test = sampling.split_keeping_balance(rows, {"test": 10}, by="label", key="id", seed=SEED)["test"]
    assert counts(test) == {"Bad": 5, "Neutral": 3, "Good": 2}  # of 5.3, 3.1 and 1.6


@quick
@given(st.sets(ids, min_size=1), st.data())
def test_classes_of_equal_claim_go_by_hash_and_not_by_name(names: set[str], data: st.DataObject) -> None:
    rows = table({name: name for name in names})
    n = data.draw(st.integers(0, len(names)))
    taken = sampling.split_keeping_balance(rows, {"test": n}, by="label", key="id", seed=SEED)["test"]
    assert_frame_equal(taken, sampling.sample(rows, n, key="id", seed=SEED))


def test_each_different_list_of_labels_is_a_class() -> None:
    topics: list[list[int]] = [[], [0], [0, 1], [1]] * 10
    rows = pl.DataFrame({"id": range(40), "label": topics})
    splits = sampling.split_keeping_balance(rows, {"test": 8, "train": 32}, by="label", key="id", seed=SEED)
    for part, each in zip(splits.values(), (2, 8), strict=True):
        assert Counter(map(tuple, part.get_column("label"))) == {(): each, (0,): each, (0, 1): each, (1,): each}
    assert sampling.balanced(rows, 3, by="label", key="id", seed=SEED).height == 12


@quick
@given(st.lists(st.integers(1, 4), min_size=6, max_size=20), st.data())
def test_a_group_never_comes_into_two_splits(group_sizes: list[int], data: st.DataObject) -> None:
    rows = pl.DataFrame([{"id": f"{g}/{n}", "event": g} for g, size in enumerate(group_sizes) for n in range(size)])
    spare = 2 * max(group_sizes)
    train = data.draw(st.integers(0, max(0, rows.height - spare)))
    sizes = {"train": train, "test": data.draw(st.integers(0, max(0, rows.height - spare - train)))}
    splits = sampling.split(rows, sizes, key="id", seed=SEED, group="event")
    assert {name: part.height for name, part in splits.items()} == sizes
    assert not set(splits["train"]["event"]) & set(splits["test"]["event"])
    for part in splits.values():
        whole = Counter(rows["event"].to_list())
        divided = [event for event, count in Counter(part["event"].to_list()).items() if count < whole[event]]
        assert len(divided) <= 1
        assert_frame_equal(part, sampling.order(part, key="id", seed=SEED))


def test_groups_are_taken_in_the_hash_order_of_their_value() -> None:
    events = [str(event) for event in range(50)]
    rows = pl.DataFrame({"id": range(100), "event": events * 2})
    first = sampling.sample(pl.DataFrame({"event": events}), 20, key="event", seed=SEED)["event"].to_list()
    splits = sampling.split(rows, {"train": 30, "test": 10}, key="id", seed=SEED, group="event")
    assert sorted(splits["train"]["event"]) == sorted(first[:15] * 2)
    assert sorted(splits["test"]["event"]) == sorted(first[15:] * 2)


def test_splits_of_groups_have_their_sizes_of_each_class() -> None:
    sizes = {"train": 101, "test": 50}
    splits = sampling.split(corpus(classes=3), sizes, key="id", seed=SEED, by="label", group="cluster")
    present = set(corpus(classes=3)["label"])
    assert {name: counts(part) for name, part in splits.items()} == {
        name: dict.fromkeys(present, size) for name, size in sizes.items()
    }
    assert not set(splits["train"]["cluster"]) & set(splits["test"]["cluster"])


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32), st.lists(st.integers(1, 3999), unique=True, max_size=12))
def test_neither_input_order_nor_chunks_change_a_choice(shuffle: int, cuts: list[int]) -> None:
    rows = corpus()
    mixed = rows.sample(fraction=1, shuffle=True, seed=shuffle)
    pieces = [mixed[start:end] for start, end in pairwise([0, *sorted(cuts), rows.height])]
    chunked = pl.concat(pieces, rechunk=False)
    assert chunked.n_chunks() == len(pieces)
    expected = every_choice(rows)
    for name, chosen in every_choice(chunked).items():
        assert_frame_equal(chosen, expected[name])


@pytest.mark.parametrize(("threads", "hash_seed"), [("1", "0"), ("2", "1")])
def test_neither_threads_nor_pythons_hash_seed_change_a_choice(threads: str, hash_seed: str) -> None:
    here = Path(__file__).resolve()
    program = (
        "import polars, test_sampling as t; print(polars.thread_pool_size()); print(t.every_choice_as_json(t.corpus()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ
        | {
            "POLARS_MAX_THREADS": threads,
            "PYTHONHASHSEED": hash_seed,
            "PYTHONPATH": os.pathsep.join([str(here.parent), str(here.parents[1])]),
        },
        capture_output=True,
        check=True,
        text=True,
    )
    used, chosen = done.stdout.splitlines()
    assert used == threads
    assert chosen == every_choice_as_json(corpus())


def test_columns_come_back_as_they_were() -> None:
    found = {row["id"]: row for row in corpus().iter_rows(named=True)}
    for chosen in every_choice(corpus()).values():
        assert chosen.schema == corpus().schema
        assert all(row == found[row["id"]] for row in chosen.iter_rows(named=True))


def test_too_few_rows_are_an_error_and_not_a_smaller_sample() -> None:
    with pytest.raises(RecipeError) as caught:
        sampling.sample(table({"a": "Good"}), 10_000, key="id", seed=SEED, what="titles")
    assert caught.value.what == "too few titles"
    assert (caught.value.found, caught.value.expected) == ("1 titles", "at least 10000 titles")
    two = table({"a": "Good", "b": "Bad"})
    with pytest.raises(RecipeError) as caught:
        sampling.split(two, {"train": 2, "test": 1}, key="id", seed=SEED)
    assert (caught.value.found, caught.value.expected) == ("2 rows", "at least 3 rows")
    with pytest.raises(RecipeError) as caught:
        sampling.split_keeping_balance(two, {"train": 2, "test": 1}, by="label", key="id", seed=SEED)
    assert (caught.value.found, caught.value.expected) == ("2 rows", "at least 3 rows")


def test_a_class_with_too_few_rows_is_named() -> None:
    rows = table({"a": "Good", "b": "Good", "c": "Good", "d": "Bad", "e": "Neutral", "f": "Neutral"})
    with pytest.raises(RecipeError) as caught:
        sampling.balanced(rows, 2, by="label", key="id", seed=SEED)
    assert caught.value.found == "1 rows of class 'Bad'"
    assert caught.value.expected == "at least 2 rows of each class"
    with pytest.raises(RecipeError) as caught:
        sampling.split(rows, {"train": 2, "test": 1}, by="label", key="id", seed=SEED)
    assert sorted((caught.value.found or "").split(", ")) == ["1 rows of class 'Bad'", "2 rows of class 'Neutral'"]


def test_of_many_classes_with_too_few_rows_the_first_in_hash_order_are_named() -> None:
    rows = table({str(n): str(n) for n in range(100)})
    first = [f"1 rows of class {name!r}" for name in keys(sampling.sample(rows, 5, key="id", seed=SEED))]
    with pytest.raises(RecipeError) as caught:
        sampling.balanced(rows, 2, by="label", key="id", seed=SEED)
    assert caught.value.found == ", ".join([*first, "and 95 more classes"])


def test_no_class_at_all_is_an_error() -> None:
    with pytest.raises(RecipeError, match="'label'"):
        sampling.balanced(table({}), 2, by="label", key="id", seed=SEED)


def test_groups_that_leave_a_split_short_are_an_error() -> None:
    rows = pl.DataFrame({"id": range(6), "event": [1, 1, 1, 2, 2, 2]})
    assert sampling.split(rows, {"train": 3, "test": 3}, key="id", seed=SEED, group="event")["test"].height == 3
    with pytest.raises(RecipeError, match="no event is divided between splits"):
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
        sampling.order(rows, key="review_id", seed=SEED)
    assert caught.value.found == "2 values on 4 rows, for example '7'"


@pytest.mark.parametrize("column", ["id", "label", "event"])
def test_a_null_key_class_or_group_is_an_error_that_names_the_column(column: str) -> None:
    rows = pl.DataFrame({"id": ["a", "b", "c"], "label": ["Good", "Good", "Bad"], "event": ["1", "2", "3"]})
    rows = rows.with_columns(pl.when(pl.int_range(3) < 2).then(column).alias(column))
    with pytest.raises(RecipeError, match=f"'{column}' is null") as caught:
        sampling.split(rows, {"train": 1}, key="id", seed=SEED, by="label", group="event")
    assert caught.value.found == "1 null of 3"


def test_a_caller_who_errs_is_told_so() -> None:
    rows = table({"a": "Good"})
    with pytest.raises(ValueError, match="not -1"):
        sampling.sample(rows, -1, key="id", seed=SEED)
    with pytest.raises(ValueError, match="not -2"):
        sampling.split(rows, {"train": 1, "test": -2}, key="id", seed=SEED)
    with pytest.raises(ValueError, match="not -2"):
        sampling.split_keeping_balance(rows, {"test": -2}, by="label", key="id", seed=SEED)
    with pytest.raises(TypeError, match="'score' must hold strings or integers"):
        sampling.order(pl.DataFrame({"score": [0.5]}), key="score", seed=SEED)
    for seed in ("", "x" * 65):
        with pytest.raises(ValueError, match="1 to 64 bytes"):
            sampling.order(rows, key="id", seed=seed)
