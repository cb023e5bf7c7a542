"""Splits: their sizes per class, their shares of each class, and groups that stay together."""

from collections import Counter

import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from builders.shaping import sampling
from tests.support.sampling import CLASSES, SEED, corpus, counts, ids, keys, reviews, table


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
    whole = sampling.sample_per_class(table(rows), sum(sizes.values()), by="label", key="id", seed=SEED)
    assert set(keys(together)) == set(keys(whole))


@given(reviews, st.data())
def test_splits_of_all_rows_are_cut_from_the_hash_order_one_after_another(
    rows: dict[str, str], data: st.DataObject
) -> None:
    train = data.draw(st.integers(0, len(rows)))
    test = data.draw(st.integers(0, len(rows) - train))
    splits = sampling.split(table(rows), {"train": train, "test": test}, key="id", seed=SEED)
    assert (splits["train"].height, splits["test"].height) == (train, test)
    assert_frame_equal(pl.concat(splits.values()), sampling.sample(table(rows), train + test, key="id", seed=SEED))


@given(reviews, st.data())
def test_a_stratified_sample_takes_the_same_share_of_each_class(rows: dict[str, str], data: st.DataObject) -> None:
    rows = rows | {"one": "Good"}
    size = data.draw(st.integers(0, len(rows)))
    sample = sampling.sample_stratified(table(rows), size, by="label", key="id", seed=SEED)
    assert sample.height == size
    assert sample.get_column("id").is_unique().all()
    available, taken = Counter(rows.values()), counts(sample)
    for label in CLASSES:
        assert abs(taken[label] * len(rows) - size * available[label]) < len(rows)  # less than a row off
        of_class = pl.col("label") == label
        queue = sampling.sort_by_hash(table(rows).filter(of_class), key="id", seed=SEED)
        assert_frame_equal(sample.filter(of_class), queue.head(taken[label]))


def test_shares_are_rounded_by_largest_remainder() -> None:
    rows = table(
        {f"{label} {n}": label for label, size in zip(CLASSES, (53, 31, 16), strict=True) for n in range(size)}
    )
    test = sampling.sample_stratified(rows, 10, by="label", key="id", seed=SEED)
    assert counts(test) == {"Bad": 5, "Neutral": 3, "Good": 2}  # of 5.3, 3.1 and 1.6


@given(st.sets(ids, min_size=1), st.data())
def test_classes_with_equal_remainders_are_ordered_by_hash_and_not_by_name(
    names: set[str], data: st.DataObject
) -> None:
    rows = table({name: name for name in names})
    n = data.draw(st.integers(0, len(names)))
    taken = sampling.sample_stratified(rows, n, by="label", key="id", seed=SEED)
    assert_frame_equal(taken, sampling.sample(rows, n, key="id", seed=SEED))


def test_each_distinct_list_of_labels_is_a_class() -> None:
    topics: list[list[int]] = [[], [0], [0, 1], [1]] * 10
    rows = pl.DataFrame({"id": range(40), "label": topics})
    sample = sampling.sample_stratified(rows, 8, by="label", key="id", seed=SEED)
    assert Counter(map(tuple, sample.get_column("label"))) == {(): 2, (0,): 2, (0, 1): 2, (1,): 2}
    assert sampling.sample_per_class(rows, 3, by="label", key="id", seed=SEED).height == 12


@given(st.lists(st.integers(1, 4), min_size=6, max_size=20), st.data())
def test_a_group_is_never_in_two_splits(group_sizes: list[int], data: st.DataObject) -> None:
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
        assert_frame_equal(part, sampling.sort_by_hash(part, key="id", seed=SEED))


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
