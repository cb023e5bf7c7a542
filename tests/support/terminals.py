"""Terminals in place of standard streams: one that is only said to be one, and one of 80 columns."""

import io
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pipelines.process import stages
from pipelines.process.safe_text import SafeOutput

CONTROLS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Terminal(io.StringIO):
    """A stream in place of a terminal: what a program writes to it, or what a person types."""

    def isatty(self) -> bool:
        return True


class Screen:
    """What was written to the terminal; complete once its block has ended."""

    def __init__(self) -> None:
        self.raw = ""

    @property
    def lines(self) -> list[str]:
        """Every line that was drawn, also those that were overwritten; without controls and empty lines."""
        lines = re.split(r"[\r\n]+", CONTROLS.sub("", self.raw))
        return [line.rstrip() for line in lines if line.strip()]


def watch_lines(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A function that waits until a line of stages that was composed after its call has been drawn."""
    composed, compose = threading.Semaphore(0), stages.describe_stages

    def describe(*arguments: Any) -> str:
        composed.release()
        return compose(*arguments)

    def wait() -> None:
        while composed.acquire(blocking=False):
            pass
        for _ in range(2):  # a line is composed once the line before it has been drawn
            assert composed.acquire(timeout=60), "no line was drawn"

    monkeypatch.setattr(stages, "describe_stages", describe)
    return wait


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Screen]:
    """Make both streams of this process a terminal of 80 columns, as pipelines.command opens them, while the block runs."""
    import fcntl  # not on Windows
    import pty
    import struct
    import termios

    screen, chunks = Screen(), list[bytes]()
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def read() -> None:
        while True:
            try:
                chunk = os.read(leader, 65536)
            except OSError:  # the other end has closed
                return
            if not chunk:
                return
            chunks.append(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        with (
            os.fdopen(os.dup(follower), "w", encoding="utf-8") as out,
            os.fdopen(follower, "w", encoding="utf-8") as err,
            monkeypatch.context() as patch,
        ):
            patch.setattr(sys, "stdout", SafeOutput(out, "standard output"))
            patch.setattr(sys, "stderr", err)
            patch.setenv("COLUMNS", "80")
            patch.setenv("TERM", "xterm")
            patch.delenv("NO_COLOR", raising=False)
            yield screen
    finally:
        reader.join()
        os.close(leader)
        screen.raw = b"".join(chunks).decode()
