"""The pool of processes: results in order, and a killed process costs one attempt at one piece."""

import os
import signal
from functools import partial
from multiprocessing import active_children
from pathlib import Path

import pytest

from builders.errors import DatasetError
from pipelines.process.workers import run_in_processes


def square(number: int, *, log: str) -> int:
    """The square of a number. 2 kills its process once, 5 every time, and 7 is an error."""
    attempt = len([*Path(log).glob(f"{number}-*")])
    (Path(log) / f"{number}-{attempt}").touch()
    if number == 5 or (number == 2 and attempt == 0):
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 7:
        raise DatasetError("seven")
    return number**2


def killed(number: int, attempts: int, found: str) -> Exception:
    return DatasetError(f"{number} was killed {attempts} times: {found}")


def test_results_are_in_the_order_of_the_pieces_and_a_killed_process_is_replaced(tmp_path: Path) -> None:
    ended: list[int] = []
    work = partial(square, log=str(tmp_path))
    assert [*run_in_processes(work, [4, 2, 3, 1], 2, killed=killed, on_end=ended.append)] == [16, 4, 9, 1]
    assert sorted(ended) == [1, 2, 3, 4]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1-0", "2-0", "2-1", "3-0", "4-0"]
    assert not active_children()


def test_one_process_is_this_one(tmp_path: Path) -> None:
    ended: list[int] = []
    results = run_in_processes(partial(square, log=str(tmp_path)), [4, 3, 7], 1, killed=killed, on_end=ended.append)
    assert [next(results), next(results), active_children()] == [16, 9, []]
    with pytest.raises(DatasetError, match="seven"):
        next(results)
    assert ended == [4, 3]


@pytest.mark.parametrize(("number", "words"), [(5, "5 was killed 4 times: signal 9"), (7, "seven")])
def test_an_error_comes_after_the_results_before_it_and_ends_the_processes(
    tmp_path: Path, number: int, words: str
) -> None:
    results = run_in_processes(
        partial(square, log=str(tmp_path)), [1, number, 3], 2, killed=killed, on_end=lambda _: None
    )
    assert next(results) == 1
    with pytest.raises(DatasetError, match=words):
        next(results)
    assert not active_children()


def test_the_processes_end_where_the_results_are_not_awaited(tmp_path: Path) -> None:
    results = run_in_processes(partial(square, log=str(tmp_path)), range(1, 5), 2, killed=killed, on_end=lambda _: None)
    assert next(results) == 1
    results.close()
    assert not active_children()
