"""What a user sees on stderr: log messages and progress bars, with sizes in words.

tqdm is imported inside the function that draws: every command imports this module, and `--help` answers without tqdm.
"""

from __future__ import annotations

import logging
import os
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from pipelines.safe_text import safe_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tqdm import tqdm

    from builders.spec import Raw

LOGGERS = ("builders", "cards", "pipelines", "__main__")  # __main__: a command that runs as `embedding-datasets build`
_settings = {"progress": False}  # a program that imports this package gets no bars; a command turns them on
UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "KB"))


class _TerminalHandler(logging.Handler):
    """Writes messages to stderr, above any progress bar and made safe; every level but INFO puts its name before the message."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            level = "" if record.levelno == logging.INFO else f"{record.levelname.lower()}: "
            text = safe_text(level + self.format(record))
            if (loaded := sys.modules.get("tqdm")) is not None:  # without it, no bar is on the screen
                loaded.tqdm.write(text, file=sys.stderr)
            else:
                print(text, file=sys.stderr, flush=True)
        except OSError:  # the reader of our messages has closed: the command goes on without them
            discard_output(2)
        except Exception:  # noqa: BLE001  as every handler of the standard library does
            self.handleError(record)


def configure_logging(verbose: int = 0) -> None:
    """Show the log messages of this project on stderr: INFO and above, DEBUG too where `verbose` is not 0.

    Every command and every worker process calls it; a second call changes the level only.
    """
    _settings["progress"] = True
    for name in LOGGERS:
        configured = logging.getLogger(name)
        configured.setLevel(logging.DEBUG if verbose else logging.INFO)
        if not any(isinstance(handler, _TerminalHandler) for handler in configured.handlers):
            configured.addHandler(_TerminalHandler())


def shows_progress() -> bool:
    """Whether progress is drawn: by a command, on a terminal."""
    return _settings["progress"] and sys.stderr.isatty()


def discard_output(descriptor: int) -> None:
    """From now on, throw away what is written to stdout (1) or stderr (2)."""
    target = os.open(os.devnull, os.O_WRONLY)
    if target != descriptor:
        os.dup2(target, descriptor)
        os.close(target)


def format_size(size: int) -> str:
    """A number of bytes in decimal units, with at most one decimal: "378.7 MB"."""
    if size < 1000:
        return f"{size} byte" if size == 1 else f"{size} bytes"
    factor, unit = next((factor, unit) for factor, unit in UNITS if size >= factor)
    return f"{size / factor:.1f}".removesuffix(".0") + f" {unit}"


def progress_bar(label: str, total: int | None, *, done: int = 0, delay: float = 0) -> tqdm[NoReturn]:
    """A progress bar in bytes on stderr, shown after `delay` seconds; hidden where shows_progress() is false."""
    from tqdm import tqdm

    return tqdm(
        desc=safe_text(label),
        total=total,
        initial=done,
        unit="B",
        unit_scale=True,
        file=sys.stderr,
        disable=not shows_progress(),
        delay=delay,
        leave=False,
    )


@contextmanager
def show_read_progress(files: Mapping[str, Raw]) -> Iterator[dict[str, Raw]]:
    """The same raw files, each with a progress bar while it is read; without bars where shows_progress() is false."""
    with ExitStack() as stack:
        yield {
            key: replace(raw, watch=_progress_callback(raw, stack)) if shows_progress() else raw
            for key, raw in files.items()
        }


def _progress_callback(raw: Raw, stack: ExitStack) -> Callable[[int], None]:
    """A function of the offset in a file; its first call creates the bar, which `stack` closes."""
    bars: list[tqdm[NoReturn]] = []

    def update(offset: int) -> None:
        if not bars:
            bars.append(stack.enter_context(progress_bar(f"reading {raw.name}", raw.path.stat().st_size, delay=1)))
        bars[0].update(offset - bars[0].n)

    return update
