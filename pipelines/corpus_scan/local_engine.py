"""Runs partitions in processes of this machine. A killed process is replaced, and its partition is run again.

Each process has a pipe of its own, so that it is known which partition a killed one had; the pools of the standard
library fail as a whole then. Ctrl-C does not reach the processes: the parent ends them, and they end themselves when it
is gone (pipelines/workers.py).
"""

import logging
import os
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path

import polars as pl

from builders.errors import DatasetError
from pipelines import workers
from pipelines.corpus_scan.checkpoints import write_result
from pipelines.corpus_scan.partitions import Partition
from pipelines.terminal import verbosity

Work = Callable[[Partition], pl.DataFrame]

logger = logging.getLogger(__name__)

ATTEMPTS = 4  # for one partition: processes that are killed while they have it
POLARS_THREADS = "POLARS_MAX_THREADS"


@dataclass
class _Worker:
    """A process, our end of its pipe, and the partition that it has."""

    process: SpawnProcess
    pipe: Connection
    partition: Partition


def run_in_processes(partitions: Sequence[Partition], work: Work, folder: Path, processes: int) -> Iterator[Partition]:
    """Each partition once its result is in the folder, in the order in which they finish.

    Raises the first error of `work`, and DatasetError where a partition's process was killed ATTEMPTS times.
    """
    waiting, kills = deque(partitions), Counter[int]()
    running: list[_Worker] = []
    with _end_all(running):
        while waiting or running:
            while waiting and len(running) < processes:
                running.append(_start(work, folder, waiting.popleft(), processes))
            for pipe in connection.wait([one.pipe for one in running]):
                worker = next(one for one in running if one.pipe is pipe)
                try:
                    error = worker.pipe.recv()
                except (EOFError, OSError):  # killed
                    running.remove(worker)
                    waiting.appendleft(worker.partition)
                    kills[worker.partition.number] += 1
                    _bury(worker, kills[worker.partition.number])
                    continue
                if error is not None:
                    raise error
                done = worker.partition
                if waiting:
                    worker.partition = waiting.popleft()
                    with suppress(OSError):  # killed meanwhile: the next wait notices
                        worker.pipe.send(worker.partition)
                else:
                    running.remove(worker)
                    worker.pipe.close()  # its end
                    worker.process.join()
                yield done


def killed_too_often(partition: Partition, attempts: int, found: str) -> DatasetError:
    """The error for a partition whose workers are killed again and again."""
    return DatasetError(
        f"a worker was killed {attempts} times while it read the same part of the corpus",
        where=f"{partition.file.name}, from row {partition.first_row}",
        found=found,
        todo="if memory was short, use fewer workers; what is finished is not repeated",
    )


def _start(work: Work, folder: Path, partition: Partition, processes: int) -> _Worker:
    """Start a process with its first partition."""
    context = get_context("spawn")  # threads of polars do not survive a fork
    ours, theirs = context.Pipe()
    threads = max(1, (os.cpu_count() or 1) // processes)
    process = context.Process(target=_serve, args=(theirs, work, folder, verbosity()), daemon=True)
    workers.start_tracker()
    with workers.hold_interrupts(), workers.own_packages_first(), _environment(POLARS_THREADS, str(threads)):
        process.start()
    theirs.close()
    with suppress(OSError):  # killed already
        ours.send(partition)
    return _Worker(process, ours, partition)


def _serve(pipe: Connection, work: Work, folder: Path, verbose: int) -> None:
    """Run partitions that come from the pipe until it is closed; the answer to each is None or an error."""
    workers.prepare_worker(verbose)
    with workers.clean_termination():
        while True:
            try:
                partition = pipe.recv()
            except EOFError:
                return
            error: Exception | None = None
            try:
                write_result(folder, partition, work(partition))
            except (DatasetError, OSError) as problem:
                error = problem
            except Exception as problem:  # a mistake of ours: only this process knows where, and not all can be sent
                logger.exception("partition %d", partition.number)
                what, place = "a partition cannot be read", f"{partition.file.name}, from row {partition.first_row}"
                error = DatasetError(what, where=place, found=f"{type(problem).__name__}: {problem}"[:300])
            with suppress(OSError):  # the parent is gone
                pipe.send(error)


def _bury(worker: _Worker, kills: int) -> None:
    """Wait for a process that was killed; raise DatasetError after the last attempt."""
    worker.pipe.close()
    worker.process.join()
    if kills >= ATTEMPTS:
        code = worker.process.exitcode or 0
        raise killed_too_often(worker.partition, kills, f"signal {-code}" if code < 0 else f"exit code {code}")


@contextmanager
def _end_all(running: list[_Worker]) -> Iterator[None]:
    """Where the block is left early, end the processes: they clean up, and are waited for."""
    try:
        yield
    finally:
        for one in running:
            one.pipe.close()
            one.process.terminate()
        for one in running:
            one.process.join()


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    """An environment variable for the processes that the block starts, unless the user has set it."""
    if name in os.environ:
        yield
        return
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
