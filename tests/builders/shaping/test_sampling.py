"""Hash order and samples: which rows are chosen, and what the choice does not depend on."""

import os
import subprocess
import sys
from collections import Counter
from functools import cache
from hashlib import blake2b
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from builders.shaping import sampling
from tests.support.paths import ROOT
from tests.support.sampling import (
    CLASSES,
    SEED,
    all_choices,
    all_choices_as_json,
    corpus,
    counts,
    ids,
    keys,
    reviews,
    table,
)


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
def test_the_hash_of_a_key_never_changes(key: str, under_1: int, under_kinopoisk: int) -> None:
    hashes = sampling.hash_order(pl.Series("id", [key]), 1)
    assert hashes.to_list() == [under_1]
    assert hashes.dtype == pl.UInt64
    assert sampling.hash_order(pl.Series("id", [key]), "kinopoisk").to_list() == [under_kinopoisk]


def test_the_order_of_rows_never_changes() -> None:
    rows = pl.DataFrame({"id": ["", "a", "review-1", "отзыв", "10", "-7"]})
    assert keys(sampling.sort_by_hash(rows, key="id", seed=1)) == ["-7", "", "a", "review-1", "отзыв", "10"]
    assert keys(sampling.sort_by_hash(rows, key="id", seed="kinopoisk")) == ["10", "a", "", "отзыв", "review-1", "-7"]


@given(st.lists(ids, unique=True), st.integers() | st.text(min_size=1, max_size=12))
def test_the_order_is_the_same_in_plain_python(names: list[str], seed: str | int) -> None:
    def sort_key(name: str) -> tuple[int, bytes]:
        digest = blake2b(name.encode(), digest_size=8, key=str(seed).encode()).digest()
        return int.from_bytes(digest, "big"), name.encode()

    rows = pl.DataFrame({"id": names}, schema={"id": pl.String})
    assert keys(sampling.sort_by_hash(rows, key="id", seed=seed)) == sorted(names, key=sort_key)


@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.lists(st.integers(0, 2**64 - 1)))
def test_an_integer_is_hashed_as_its_digits(signed: list[int], unsigned: list[int]) -> None:
    for numbers, dtype in ((signed, pl.Int64), (unsigned, pl.UInt64)):
        digits = pl.Series("id", [str(number) for number in numbers], dtype=pl.String)
        hashes = sampling.hash_order(pl.Series("id", numbers, dtype=dtype), SEED)
        assert hashes.to_list() == sampling.hash_order(digits, SEED).to_list()


def test_keys_with_equal_hashes_are_ordered_by_their_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "hash_order", lambda column, _seed: pl.Series(column.name, [7] * column.len()))
    rows = pl.DataFrame({"id": ["я", "b", "😀", "10", "9", "B"]})
    assert keys(sampling.sort_by_hash(rows, key="id", seed=SEED)) == ["10", "9", "B", "b", "я", "😀"]
    numbers = sampling.sort_by_hash(pl.DataFrame({"id": [9, 10, -1]}), key="id", seed=SEED)
    assert numbers.get_column("id").to_list() == [-1, 10, 9]


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


@given(reviews, reviews)
def test_added_rows_change_a_sample_per_class_only_within_their_class(
    old: dict[str, str], more: dict[str, str]
) -> None:
    old = {f"old {label}": label for label in CLASSES} | old
    added = {name: label for name, label in more.items() if name not in old}
    n = min(Counter(old.values()).values())
    before = sampling.sample_per_class(table(old), n, by="label", key="id", seed=SEED)
    after = sampling.sample_per_class(table(old | added), n, by="label", key="id", seed=SEED)
    for label in CLASSES:
        was, now = (set(keys(frame.filter(pl.col("label") == label))) for frame in (before, after))
        assert now & set(old) <= was
        assert len(was - now) <= sum(of == label for of in added.values())


@given(reviews, st.data())
def test_a_larger_sample_begins_with_the_smaller_one(rows: dict[str, str], data: st.DataObject) -> None:
    large = data.draw(st.integers(0, len(rows)))
    small = data.draw(st.integers(0, large))
    larger = sampling.sample(table(rows), large, key="id", seed=SEED)
    assert_frame_equal(sampling.sample(table(rows), small, key="id", seed=SEED), larger.head(small))


@given(reviews)
def test_a_larger_sample_per_class_begins_each_class_with_the_smaller_one(rows: dict[str, str]) -> None:
    rows = {f"one {label}": label for label in CLASSES} | rows
    enough = min(Counter(rows.values()).values())
    larger = sampling.sample_per_class(table(rows), enough, by="label", key="id", seed=SEED)
    smaller = sampling.sample_per_class(table(rows), enough - 1, by="label", key="id", seed=SEED)
    for label in CLASSES:
        of_class = pl.col("label") == label
        assert_frame_equal(smaller.filter(of_class), larger.filter(of_class).head(enough - 1))


@given(reviews)
def test_a_sample_per_class_has_n_rows_of_each_class_all_in_hash_order(rows: dict[str, str]) -> None:
    rows = {f"one {label}": label for label in CLASSES} | rows
    n = min(Counter(rows.values()).values())
    sample = sampling.sample_per_class(table(rows), n, by="label", key="id", seed=SEED)
    assert counts(sample) == dict.fromkeys(CLASSES, n)
    assert_frame_equal(sample, sampling.sort_by_hash(sample, key="id", seed=SEED))


@cache
def choices_of_corpus() -> dict[str, pl.DataFrame]:
    return all_choices(corpus())


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.lists(st.integers(1, 3999), unique=True, max_size=12))
def test_neither_input_order_nor_chunks_change_a_choice(shuffle: int, cuts: list[int]) -> None:
    rows, expected = corpus(), choices_of_corpus()
    mixed = rows.sample(fraction=1, shuffle=True, seed=shuffle)
    pieces = [mixed[start:end] for start, end in pairwise([0, *sorted(cuts), rows.height])]
    chunked = pl.concat(pieces, rechunk=False)
    assert chunked.n_chunks() == len(pieces)
    for name, choice in all_choices(chunked).items():
        assert_frame_equal(choice, expected[name])


@pytest.mark.parametrize(("threads", "hash_seed"), [("1", "0"), ("2", "1")])
def test_neither_threads_nor_pythons_hash_seed_change_a_choice(threads: str, hash_seed: str) -> None:
    program = (
        "import polars; from tests.support.sampling import all_choices_as_json, corpus; "
        "print(polars.thread_pool_size()); print(all_choices_as_json(corpus()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"POLARS_MAX_THREADS": threads, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
        text=True,
    )
    used, choices = done.stdout.splitlines()
    assert used == threads
    assert choices == all_choices_as_json(corpus())


def test_columns_come_back_unchanged() -> None:
    originals = {row["id"]: row for row in corpus().iter_rows(named=True)}
    for choice in choices_of_corpus().values():
        assert choice.schema == corpus().schema
        assert all(row == originals[row["id"]] for row in choice.iter_rows(named=True))


def test_candidates_are_listed_per_query_in_hash_order() -> None:
    pairs = pl.DataFrame({"query-id": ["q", "r", "q", "q"], "corpus-id": ["a", "a", "b", "c"]})
    lists = dict(sampling.list_candidates(pairs, seed=SEED).rows())
    hashes = dict(zip(pairs.rows(), sampling.hash_order(pl.Series(["q a", "r a", "q b", "q c"]), SEED), strict=True))
    assert lists["r"] == ["a"]
    assert lists["q"] == sorted("abc", key=lambda document: hashes["q", document])
