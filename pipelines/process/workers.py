"""The processes of a parallel build: Ctrl-C reaches them through their parent, and they end when it does, however it ends."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import active_children, connection, parent_process, resource_tracker
from pathlib import Path

from pipelines.process import interrupts
from pipelines.process.terminal import configure_logging


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
    interrupts.handle_signals(signal.SIGTERM)
    try:
        yield
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
