"""Ctrl-C, termination, and processes of a parallel build: a command cleans up within seconds, and what it started ends with it.

Ctrl-C and SIGTERM raise an exception in the main thread, so that staging folders are removed on the way out. That way can be
blocked: by a thread that computes for minutes, or for ever by a lock of Python's importer that the exception left taken. So the
first signal also starts a deadline, after which the process ends as it is; a second Ctrl-C ends it at once. What stays behind
then is what a kill leaves, and the next command removes it.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import active_children, connection, parent_process, resource_tracker
from pathlib import Path
from types import FrameType

from pipelines.process.terminal import configure_logging

INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM  # exit codes, as shells number them
GRACE = 10.0  # seconds for cleaning up

_stopping = threading.Event()


def handle_signals(*numbers: signal.Signals) -> None:
    """From now on, SIGINT raises KeyboardInterrupt and any other of these signals SystemExit, once, with a deadline."""
    for number in numbers:
        signal.signal(number, _stop)


def is_stopping() -> bool:
    """Whether a signal has arrived: an error after that may be its consequence."""
    return _stopping.is_set()


def end_process(code: int) -> None:
    """End this process at once, without waiting for threads."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or there is none
            stream.flush()
    os._exit(code)


def _stop(number: int, _frame: FrameType | None) -> None:
    code = 128 + number
    if _stopping.is_set():
        if number == signal.SIGTERM:  # programs repeat it: a pool, for one, when the first of its workers has ended
            return
        os._exit(code)
    _stopping.set()
    # Errors in destructors and threads that the exception causes would only hide the reason.
    sys.unraisablehook = _ignore
    threading.excepthook = _ignore
    threading.Thread(target=_end_after_grace, args=(code,), name="deadline", daemon=True).start()
    raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(code)


def _ignore(_: object) -> None:
    pass


def _end_after_grace(code: int) -> None:
    time.sleep(GRACE)
    os._exit(code)


def prepare_worker(verbose: int = 0) -> None:
    """Prepare a process of a pool: it logs as its parent does, and ends when the parent asks for it (SIGTERM) or is gone.

    verbose: as for configure_logging. A worker draws no progress: its terminal is that of its parent and of the other workers.
    """
    configure_logging(verbose, progress=False)
    threading.Thread(target=_end_with_parent, name="end with parent", daemon=True).start()


@contextmanager
def clean_termination() -> Iterator[None]:
    """In a worker, let SIGTERM end the block with an exception that cleans up, and then the process.

    Between two blocks a worker has nothing to clean up, and SIGTERM ends it at once.
    """
    handle_signals(signal.SIGTERM)
    try:
        yield
    except SystemExit:
        end_process(TERMINATED)
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


def start_tracker() -> None:
    """Start the process that multiprocessing starts together with its first process, unless a queue or a pool has done so.

    Starting it lets signals through again: within hold_interrupts, Ctrl-C would reach the first process.
    """
    if hasattr(signal, "pthread_sigmask"):  # there is none on Windows
        resource_tracker.ensure_running()


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
def terminate_workers() -> Iterator[None]:
    """Where the block is left early, ask the processes of its pool to clean up and end."""
    try:
        yield
    except BaseException:
        for process in active_children():
            process.terminate()
        raise


def _end_with_parent() -> None:
    """Wait for the end of the parent: the system closes its end of a pipe, also after SIGKILL."""
    parent = parent_process()
    assert parent is not None, "prepare_worker() is called in a worker"
    connection.wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGTERM)
