"""Batches on several threads, in their order; and steps of a recipe that the build after a killed one does not repeat."""

import logging
import os
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice, repeat
from pathlib import Path
from typing import TypeVar

Batch = TypeVar("Batch")
Result = TypeVar("Result")

MAX_THREADS = 8  # each thread holds one batch: this bounds memory on large machines


def map_in_order(
    function: Callable[[Batch], Result], batches: Iterable[Batch], *, threads: int | None = None
) -> Iterator[Result]:
    """Yield function(batch) for every batch, in the order of the batches, however many threads run.

    threads: the size of the pool; by default one per core, up to MAX_THREADS. The caller's thread reads the batches, at most
    one more than the pool has threads. This pays off where `function` releases the GIL, as polars does. The first error, in
    the order of the batches, stops the iteration and is raised.
    """
    threads = threads or min(os.cpu_count() or 1, MAX_THREADS)
    pending: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for batch in batches:
                pending.append(pool.submit(function, batch))
                if len(pending) > threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def prefetch(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Yield the same batches; another thread produces up to two of them ahead of the consumer."""
    source = iter(batches)
    for batch_or_end in map_in_order(lambda _: list(islice(source, 1)), repeat(None), threads=1):
        if not batch_or_end:
            return
        yield from batch_or_end


logger = logging.getLogger(__name__)


def log_taken_over(what: str, folders: Sequence[Path]) -> None:
    """Log how many of some steps an earlier build has finished, if any. what: a noun for them, such as `shards of passages`."""
    if finished := sum(folder.is_dir() for folder in folders):
        logger.info("%d of %d %s taken over from an earlier build", finished, len(folders), what)


def run_once(folder: Path, step: Callable[[Path], object], *, resumes: bool = False) -> Path:
    """Run a step that writes files into a folder, unless the folder exists. Returns the folder.

    step: writes into an empty folder with a temporary name, which is renamed once all files are on disk. So a folder under its
    final name is always complete, whenever the build is killed. resumes: the folder with the temporary name may hold steps of
    this step, folders that `run_once` wrote for a killed build.
    """
    if not folder.is_dir():
        part = folder.with_name(f"{folder.name}.part")
        if not resumes:
            shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True, exist_ok=True)
        step(part)
        for path in sorted(filter(Path.is_file, part.iterdir())):
            with path.open("rb") as file:
                os.fsync(file.fileno())
        part.rename(folder)
    return folder
