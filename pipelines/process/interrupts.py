"""Ctrl-C and termination: a command cleans up and ends within seconds.

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
from collections.abc import Iterator
from types import FrameType

INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM  # exit codes, as shells number them
GRACE = 10.0  # seconds for cleaning up

_received: int | None = None  # the first signal


def handle_signals(*numbers: signal.Signals) -> None:
    """From now on, SIGINT raises KeyboardInterrupt and any other of these signals SystemExit, once, with a deadline."""
    for number in numbers:
        signal.signal(number, _stop)


def is_stopping() -> bool:
    """Whether a signal has arrived."""
    return _received is not None


def stop_for(error: Exception) -> None:
    """Raise the exception of a signal that has arrived: a library may have turned it into this error."""
    if _received is not None:
        raise _exception(_received) from error


@contextlib.contextmanager
def stop_at_any_error() -> Iterator[None]:
    """Raise the exception of a signal for any error after it."""
    try:
        yield
    except Exception as error:
        stop_for(error)
        raise


def end_process(code: int) -> None:
    """End this process at once, without waiting for threads."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or there is none
            stream.flush()
    os._exit(code)


def _stop(number: int, _frame: FrameType | None) -> None:
    global _received  # noqa: PLW0603 - a signal is the process's
    code = 128 + number
    if is_stopping():
        if number == signal.SIGTERM:  # programs repeat it: a pool, for one, when the first of its workers has ended
            return
        os._exit(code)
    _received = number
    # Errors in destructors and threads that the exception causes would only hide the reason.
    sys.unraisablehook = _ignore
    threading.excepthook = _ignore
    deadline = threading.Timer(GRACE, os._exit, [code])
    deadline.daemon = True
    deadline.start()
    raise _exception(number)


def _exception(number: int) -> BaseException:
    return KeyboardInterrupt() if number == signal.SIGINT else SystemExit(128 + number)


def _ignore(_: object) -> None:
    pass
