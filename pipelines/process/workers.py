"""A pool of processes for pieces of work: the sources of a build, the partitions of a scan, the files of a clean copy.

Each process has a pipe, so that the pool knows which piece a killed process had: a new process runs that piece again. The pools
of the standard library fail as a whole then. Ctrl-C does not reach the processes: their parent ends them, and they end by
themselves when the parent is gone, however it ended.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, TypeVar

from builders.errors import DatasetError
from pipelines.process import interrupts
from pipelines.process.terminal import configure_logging, verbosity

Piece = TypeVar("Piece")
Result = TypeVar("Result")

ATTEMPTS = 4  # for one piece: processes that are killed while they have it


def run_in_processes(
    work: Callable[[Piece], Result],
    pieces: Sequence[Piece],
    processes: int,
    *,
    killed: Callable[[Piece, int, str], Exception],
    on_end: Callable[[Piece], None],
) -> Generator[Result, None, None]:
    """The result of `work` for each piece, in the order of the pieces.

    work: a function that can be pickled: of a module, or a `functools.partial` of one. processes: how many pieces run at a time;
    with 1, they run in this process. killed: the error for a piece whose process was killed ATTEMPTS times: from the piece, that
    number, and how the last process ended. on_end: called with each piece that has a result, in the order in which they finish,
    by one thread at a time.

    Where the iterator is closed early, the processes clean up and end, and are waited for.

    Raises the error of the first piece, in their order, that has one.
    """
    if processes == 1:
        for piece in pieces:
            yield work(piece)
            on_end(piece)
        return
    pool = _Pool(work)

    def run(piece: Piece) -> Result:
        result: Result = pool.run(piece, killed)
        with pool.lock:
            on_end(piece)
        return result

    threads = ThreadPoolExecutor(processes)
    try:
        for future in [threads.submit(run, piece) for piece in pieces]:
            yield future.result()
    except BaseException:
        pool.terminate()
        raise
    finally:
        threads.shutdown(cancel_futures=True)
        pool.close()


def killed_error(
    piece: Any, attempts: int, found: str, *, what: str, where: Callable[[Any], str], todo: str
) -> DatasetError:
    """The error for a piece whose process was killed again and again.

    what: the sentence, with {} for the number of times. where: what the piece is. The first three are those of `killed`.
    """
    return DatasetError(what.format(attempts), where=where(piece), found=found, todo=todo)


@dataclass(frozen=True)
class _Worker:
    """A process, and our end of its pipe."""

    process: SpawnProcess
    pipe: Connection


class _Pool:
    """Processes that run pieces, each for a thread that waits for its answer."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self.lock = threading.Lock()
        self._work = work
        self._idle: list[_Worker] = []
        self._started: list[_Worker] = []
        self._is_ending = False

    def run(self, piece: Any, killed: Callable[[Any, int, str], Exception]) -> Any:
        """The result for a piece; raises the error of the work, or that of a piece whose process is killed every time."""
        for _ in range(ATTEMPTS):
            worker = self._take()
            try:
                worker.pipe.send(piece)
                result, failure = worker.pipe.recv()
            except (EOFError, OSError):  # killed
                worker.process.join()
                continue
            self._idle.append(worker)
            if failure is not None:
                raise failure
            return result
        code = worker.process.exitcode or 0
        raise killed(piece, ATTEMPTS, f"signal {-code}" if code < 0 else f"exit code {code}")

    def terminate(self) -> None:
        """Ask the processes to clean up and end, and start no others."""
        with self.lock:
            self._is_ending = True
            for worker in self._started:
                worker.process.terminate()

    def close(self) -> None:
        """End the processes, and wait for them. No thread uses their pipes any more."""
        for worker in self._started:
            worker.pipe.close()  # the process reads its end
        for worker in self._started:
            worker.process.join()

    def _take(self) -> _Worker:
        with self.lock:  # starting a process changes sys.path for a moment
            if self._is_ending:
                raise EOFError("the pool is ending")
            if self._idle:
                return self._idle.pop()
            worker = _start(self._work)
            self._started.append(worker)
            return worker


def _start(work: Callable[[Any], Any]) -> _Worker:
    context = get_context("spawn")  # threads of polars do not survive a fork
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, work, verbosity()), daemon=True)
    # multiprocessing starts a tracker together with its first process, unless a queue or a pool has done so. Starting it lets
    # signals through again: within hold_interrupts, Ctrl-C would reach the first process.
    if hasattr(signal, "pthread_sigmask"):  # there is no tracker on Windows
        resource_tracker.ensure_running()
    with hold_interrupts(), own_packages_first():
        process.start()
    theirs.close()
    return _Worker(process, ours)


def _serve(pipe: Connection, work: Callable[[Any], Any], verbose: int) -> None:
    """Answer each piece that comes from the pipe with a result or an error, until the pipe is closed.

    It logs as its parent does, but draws no progress: its terminal is that of its parent and of the other workers. It
    cleans up and ends when the parent asks for it (SIGTERM) or is gone. verbose: as for configure_logging.
    """
    configure_logging(verbose, progress=False)
    threading.Thread(target=_end_with_parent, name="end with parent", daemon=True).start()
    interrupts.handle_signals(signal.SIGTERM)
    try:
        with suppress(EOFError, BrokenPipeError):
            while True:
                piece, result, failure = pipe.recv(), None, None
                try:
                    result = work(piece)
                except Exception as error:  # noqa: BLE001  raised again in the parent
                    failure = error
                pipe.send((result, failure))
    except SystemExit:
        interrupts.end_process(interrupts.TERMINATED)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def hold_interrupts() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach: a terminal sends it to all, and the parent decides for its workers.

    A signal that arrives meanwhile is delivered to this process afterwards.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def own_packages_first() -> Iterator[None]:
    """Start processes that find our packages by their names: the current folder may have a package called pipelines.

    A new process gets a copy of sys.path, but not the packages that are loaded here.
    """
    folder = str(Path(__file__).parents[2])
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


@contextmanager
def set_environment(values: Mapping[str, str]) -> Iterator[None]:
    """Environment variables for the processes that the block starts."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _end_with_parent() -> None:
    """Wait for the end of the parent: the system closes its end of a pipe, also after SIGKILL."""
    parent = parent_process()
    assert parent is not None, "only workers wait for their parent"
    connection.wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
