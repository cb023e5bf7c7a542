"""Work on one batch after another, on several threads, in the order of the batches."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, repeat
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

Batch = TypeVar("Batch")
Result = TypeVar("Result")

MOST_THREADS = 8  # each holds a batch: this bounds the memory on large machines


def map_in_order(
    work: Callable[[Batch], Result], batches: Iterable[Batch], *, threads: int | None = None
) -> Iterator[Result]:
    """work(batch) for every batch, in their order, whatever the number of threads.

    threads: how many work, one a core unless given; the caller's own makes the batches, no more than one ahead of them. This
    pays where `work` spends its time outside Python's lock, as polars does. The first error, in the order of the batches,
    ends it.
    """

    threads = threads or min(os.cpu_count() or 1, MOST_THREADS)
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for batch in batches:
                waiting.append(pool.submit(work, batch))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def prefetch(batches: Iterable[Batch]) -> Iterator[Batch]:
    """The same batches, made on another thread while those before them are used, no more than two of them."""
    source = iter(batches)
    for next_one in map_in_order(lambda _: list(islice(source, 1)), repeat(None), threads=1):
        if not next_one:
            return
        yield from next_one
