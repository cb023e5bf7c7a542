"""builders.batches: several threads, one order."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.batches import map_in_order, prefetch

if TYPE_CHECKING:
    from collections.abc import Iterator


@given(st.lists(st.integers()))
def test_results_come_in_the_order_of_the_batches(batches: list[int]) -> None:
    assert list(map_in_order(lambda number: number + 1, batches)) == [number + 1 for number in batches]


@pytest.mark.parametrize("cores", [None, 1, 2, 5])
def test_the_order_does_not_depend_on_who_is_first(cores: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    later = threading.Event()

    def work(number: int) -> int:
        if number == 0:
            later.wait(0.2)  # the others pass it, where there is another thread
        else:
            later.set()
        return number

    assert list(map_in_order(work, range(20))) == list(range(20))


def test_batches_are_made_as_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    made: list[int] = []

    def batches() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            yield number

    results = map_in_order(lambda number: number, batches())
    assert next(results) == 0
    assert len(made) == 3, "one for each thread, and one ahead"


def test_the_first_error_in_the_order_of_the_batches_ends_it() -> None:
    def work(number: int) -> int:
        if number in (3, 5):
            raise ValueError(f"batch {number}")
        return number

    results = map_in_order(work, range(100))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="batch 3"):
        next(results)
    assert list(results) == []


def test_an_error_while_a_batch_is_made_is_not_lost() -> None:
    def batches() -> Iterator[int]:
        yield 1
        raise ValueError("cannot be read")

    with pytest.raises(ValueError, match="cannot be read"):
        list(map_in_order(lambda number: number, batches()))


@given(st.lists(st.integers()))
def test_what_is_made_ahead_is_the_same(batches: list[int]) -> None:
    assert list(prefetch(batches)) == batches


def test_only_two_are_made_ahead_and_no_more_once_nobody_asks() -> None:
    made: list[int] = []

    def batches() -> Iterator[int]:
        for number in range(100):
            made.append(number)
            yield number

    results = prefetch(batches())
    assert next(results) == 0
    results.close()
    assert len(made) <= 3


def test_an_error_while_making_ahead_comes_in_its_place() -> None:
    def batches() -> Iterator[int]:
        yield 1
        raise ValueError("cannot be read")

    results = prefetch(batches())
    assert next(results) == 1
    with pytest.raises(ValueError, match="cannot be read"):
        next(results)
