"""map_in_order and prefetch: several threads, one order."""

import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.batches import map_in_order, prefetch


@given(st.lists(st.integers()))
def test_results_come_in_the_order_of_the_batches(batches: list[int]) -> None:
    assert list(map_in_order(lambda number: number + 1, batches)) == [number + 1 for number in batches]


@pytest.mark.parametrize("cores", [None, 1, 2, 5])
def test_the_order_does_not_depend_on_which_thread_finishes_first(
    cores: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: cores)
    overtaken = threading.Event()

    def process(number: int) -> int:
        if number == 0:
            overtaken.wait(0.2)  # later batches overtake the first one if there is another thread
        else:
            overtaken.set()
        return number

    assert list(map_in_order(process, range(20))) == list(range(20))


def count_batches(produced: list[int]) -> Iterator[int]:
    """A hundred batches, each recorded when it is produced."""
    for number in range(100):
        produced.append(number)
        yield number


def test_batches_are_produced_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    produced: list[int] = []
    results = map_in_order(lambda number: number, count_batches(produced))
    assert next(results) == 0
    assert len(produced) == 3, "one for each thread, and one ahead"


def test_the_first_error_in_the_order_of_the_batches_is_raised() -> None:
    def process(number: int) -> int:
        if number in (3, 5):
            raise ValueError(f"batch {number}")
        return number

    results = map_in_order(process, range(100))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="batch 3"):
        next(results)
    assert list(results) == []


def fail_after_one_batch() -> Iterator[int]:
    yield 1
    raise ValueError("cannot be read")


def test_an_error_from_the_source_of_batches_is_raised() -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        list(map_in_order(lambda number: number, fail_after_one_batch()))


@given(st.lists(st.integers()))
def test_prefetching_changes_no_batch(batches: list[int]) -> None:
    assert list(prefetch(batches)) == batches


def test_prefetching_stays_two_batches_ahead_and_stops_with_its_consumer() -> None:
    produced: list[int] = []
    results = prefetch(count_batches(produced))
    assert next(results) == 0
    results.close()
    assert len(produced) <= 3


def test_an_error_while_prefetching_comes_after_the_batches_before_it() -> None:
    results = prefetch(fail_after_one_batch())
    assert next(results) == 1
    with pytest.raises(ValueError, match="cannot be read"):
        next(results)
