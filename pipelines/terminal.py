"""What a user sees on stderr: log messages and progress bars, with sizes in words.

tqdm is imported inside the functions that draw: every command imports this module, and `--help` answers without tqdm.
"""

from __future__ import annotations

import logging
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tqdm import tqdm

    from builders.spec import Raw

LOGGERS = ("builders", "cards", "pipelines", "__main__")  # __main__: a command that runs as `python -m pipelines.build`
UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "KB"))


class _TerminalHandler(logging.Handler):
    """Writes messages to stderr, above any progress bar; every level but INFO puts its name before the message."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            from tqdm import tqdm

            level = "" if record.levelno == logging.INFO else f"{record.levelname.lower()}: "
            tqdm.write(level + self.format(record), file=sys.stderr)
        except Exception:  # noqa: BLE001  as every handler of the standard library does
            self.handleError(record)


def configure_logging(verbose: int = 0) -> None:
    """Show the log messages of this project on stderr: INFO and above, DEBUG too where `verbose` is not 0.

    Every command and every worker process calls it; a second call changes the level only.
    """
    for name in LOGGERS:
        configured = logging.getLogger(name)
        configured.setLevel(logging.DEBUG if verbose else logging.INFO)
        if not any(isinstance(handler, _TerminalHandler) for handler in configured.handlers):
            configured.addHandler(_TerminalHandler())


def format_size(size: int) -> str:
    """A number of bytes in decimal units, with at most one decimal: "378.7 MB"."""
    if size < 1000:
        return f"{size} byte" if size == 1 else f"{size} bytes"
    factor, unit = next((factor, unit) for factor, unit in UNITS if size >= factor)
    return f"{size / factor:.1f}".removesuffix(".0") + f" {unit}"


def progress_bar(label: str, total: int | None, *, done: int = 0, delay: float = 0) -> tqdm[NoReturn]:
    """A progress bar in bytes on stderr, shown after `delay` seconds; hidden where stderr is not a terminal."""
    from tqdm import tqdm

    return tqdm(
        desc=label,
        total=total,
        initial=done,
        unit="B",
        unit_scale=True,
        file=sys.stderr,
        disable=None,
        delay=delay,
        leave=False,
    )


@contextmanager
def show_read_progress(files: Mapping[str, Raw]) -> Iterator[dict[str, Raw]]:
    """The same raw files, each with a progress bar while it is read; without bars where stderr is not a terminal."""
    with ExitStack() as stack:
        yield {
            key: replace(raw, watch=_progress_callback(raw, stack)) if sys.stderr.isatty() else raw
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
