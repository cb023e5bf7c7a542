"""The stages of a long command: what runs now, how much of it is done, how fast, and how long the rest will take.

    with stage("reading back", total=200_000, unit="rows") as advance:
        advance(20_000)

Stages run anywhere, on any thread, and only say what is going on: they are never part of a result. A command draws them with
`show_stages`, as one line on a terminal. Python users and worker processes see nothing. With --verbose each stage is logged when
it ends. `advance` is called per batch, not per row.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pipelines.process.safe_text import safe_text
from pipelines.process.terminal import format_duration, format_size, shows_progress

if TYPE_CHECKING:
    import polars as pl

    from builders.spec import Raw

REFRESH = 0.5  # seconds between two drawings
MIN_TITLE = 8  # characters: a shorter title says nothing
BYTES = "bytes"

logger = logging.getLogger(__name__)


@dataclass
class _Stage:
    """A stage that runs. Times are those of time.monotonic; `advanced` is the last one at which it counted something."""

    name: str
    total: int | None
    unit: str
    started: float
    advanced: float
    done: int = 0

    @property
    def is_finished(self) -> bool:
        """Whether all of it is done, although its block has not ended: a file was read to its end, say."""
        return self.total is not None and 0 < self.total <= self.done


_lock = threading.Lock()
_running: list[_Stage] = []


@contextmanager
def stage(name: str, *, total: int | None = None, unit: str = "") -> Iterator[Callable[[int], None]]:
    """Run the block as a stage. The function that it gets counts what was done since its last call.

    total: how much there is to do, if known. unit: what is counted: `bytes`, `rows`, `files`; empty if nothing is.
    """
    now = time.monotonic()
    own = _Stage(name, total, unit, now, now)

    def advance(amount: int) -> None:
        with _lock:
            own.done += amount
            own.advanced = time.monotonic()

    with _lock:
        _running.append(own)
    try:
        yield advance
    finally:
        with _lock:
            _running[:] = [other for other in _running if other is not own]
        seconds = (own.advanced if own.is_finished else time.monotonic()) - own.started
        amount = f"{format_amount(own.done, own.unit)} in " if own.done else ""
        logger.debug("%s: %s%s", name, amount, format_duration(seconds))


def counted(batches: Iterable[pl.DataFrame], advance: Callable[[int], None]) -> Iterator[pl.DataFrame]:
    """The same batches; the rows of each are counted once the next is asked for."""
    for batch in batches:
        yield batch
        advance(batch.height)


@contextmanager
def show_stages(title: str, *, began: float | None = None) -> Iterator[None]:
    """Draw the stages that run during the block in one line on stderr, twice a second; only commands call this.

    began: since when to count the time, as time.monotonic() says it; by default since now.
    Nothing is drawn where stderr is not a terminal, with --quiet, or in a block that takes less than REFRESH seconds.
    """
    if not shows_progress():
        yield
        return
    ended = threading.Event()
    ticker = threading.Thread(target=_draw, args=(title, began or time.monotonic(), ended), name="stages", daemon=True)
    ticker.start()
    try:
        yield
    finally:
        ended.set()
        ticker.join()


@contextmanager
def read_stages(files: Mapping[str, Raw]) -> Iterator[dict[str, Raw]]:
    """The same raw files; reading one of them is a stage, from its first byte on."""
    with ExitStack() as stack:
        yield {key: replace(raw, watch=_watch(raw, stack)) for key, raw in files.items()}


def _watch(raw: Raw, stack: ExitStack) -> Callable[[int], None]:
    """A function of the offset in a file; its first call begins the stage, which `stack` ends."""
    advances: list[Callable[[int], None]] = []
    before = 0

    def update(offset: int) -> None:
        nonlocal before
        if not advances:
            reading = stage(f"reading {raw.path.name}", total=raw.path.stat().st_size, unit=BYTES)
            advances.append(stack.enter_context(reading))
        advances[0](offset - before)
        before = offset

    return update


def _draw(title: str, began: float, ended: threading.Event) -> None:
    """Draw the line until the block ends. tqdm keeps it apart from progress bars and log messages."""
    from tqdm import tqdm

    # It exists, not drawn yet, before any progress bar of the block: these come below it then.
    with tqdm(bar_format="{desc}", file=sys.stderr, leave=False, delay=REFRESH) as line:
        while not ended.wait(REFRESH):
            line.delay = 0  # drawn from now on, hence erased at the end
            with _lock:
                stages = [replace(running) for running in _running]
            now = time.monotonic()
            line.set_description_str(describe_stages(title, now - began, stages, now, _width()))


def _width() -> int:
    """The characters of a line of the terminal, without the last one, behind which some terminals wrap."""
    try:
        return (os.get_terminal_size(sys.stderr.fileno()).columns or 80) - 1
    except (OSError, ValueError):
        return 79


def describe_stages(title: str, elapsed: float, stages: list[_Stage], now: float, width: int) -> str:
    """The line: title, time since it began, the most informative stage, and the others if there is space for them.

    That stage is the last one that began: of those that have counted something, if there are any, but not all of their total.
    """
    order = sorted(stages, key=lambda running: (not running.is_finished, running.done > 0))
    text = f"{format_clock(elapsed)}  {_progress(order[-1], now)}" if order else format_clock(elapsed)
    others = ", ".join(dict.fromkeys(running.name for running in reversed(order[:-1]) if not running.is_finished))
    space = width - len(text) - 1
    if len(title) > space:
        title = f"{title[: space - 3]}..." if space >= MIN_TITLE else ""
    line = f"{title} {text}".lstrip()
    with_others = f"{line}; also {others}" if others else line
    return safe_text(with_others if len(with_others) <= width else line)[:width]


def _progress(running: _Stage, now: float) -> str:
    """`writing corpus/test 63 %, 14,000 rows/s, 0:05 left`; without a total the amount, else the time."""
    seconds = now - running.started
    if (
        running.total is not None and running.unit and 1 < running.total < 100
    ):  # a few files or sources: each takes its own time
        return f"{running.name} {running.done} of {format_amount(running.total, running.unit)}"
    if not running.done or running.is_finished or seconds <= 0:
        return f"{running.name} {format_clock(seconds)}"
    rate = running.done / seconds
    if running.total is None:
        return f"{running.name} {format_amount(running.done, running.unit)}, {_rate(rate, running.unit)}"
    left = format_clock((running.total - running.done) / rate)
    return f"{running.name} {100 * running.done // running.total} %, {_rate(rate, running.unit)}, {left} left"


def _rate(rate: float, unit: str) -> str:
    return f"{format_size(round(rate))}/s" if unit == BYTES else f"{rate:,.0f} {unit}/s"


def format_amount(count: int, unit: str) -> str:
    """`1 row`, `2,000 rows`, `1.5 MB`. unit: a plural."""
    if unit == BYTES:
        return format_size(count)
    return f"{count:,} {unit.removesuffix('s') if count == 1 else unit}"


def format_clock(seconds: float) -> str:
    """A time as a clock shows it: `0:41`, `1:02:03`."""
    minutes, rest = divmod(max(int(seconds), 0), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
