"""What a user sees on stderr: log messages and progress bars, with sizes in words.

tqdm is imported inside the function that draws: every command imports this module, and `--help` answers without tqdm.
"""

import logging
import os
import re
import shutil
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from pipelines.process.safe_text import safe_text
from pipelines.process.tables import wrap

if TYPE_CHECKING:
    from tqdm import tqdm

LOGGERS = ("builders", "cards", "pipelines", "__main__")  # __main__: a command that runs as `embedding-datasets build`
# Words that are coloured where they begin a line of a page or follow a name and a colon: they say how bad something is.
RED, GREEN, YELLOW, CYAN = 31, 32, 33, 36
COLORS = dict.fromkeys(("error", "defective", "damaged", "compromised"), RED)
COLORS |= {"warning": YELLOW, "no problems": GREEN, "next": CYAN}
COLORED = re.compile(rf"^((?:\S+ \S+: |\S+: |  )?)({'|'.join(COLORS)})(?=$|[\s:,;])", re.MULTILINE)
LABEL = re.compile(r"  (?:where|found|expected|to do): +|(?=\S)")  # of a part of an error, or nothing: its first line
# A program that imports this package gets no bars; a command turns them on.
_settings = {"verbose": 0, "progress": False}
UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "KB"))


class _TerminalHandler(logging.Handler):
    """Writes messages to stderr, above any progress bar and made safe; every level but INFO puts its name before the message."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            level = "" if record.levelno == logging.INFO else f"{record.levelname.lower()}: "
            text = safe_text(level + self.format(record))
            text = _wrap_message(text) if not record.exc_info and sys.stderr.isatty() else text
            text = color_words(text) if level and has_colors(sys.stderr) else text
            if (loaded := sys.modules.get("tqdm")) is not None:  # without it, no bar is on the screen
                loaded.tqdm.write(text, file=sys.stderr)
            else:
                print(text, file=sys.stderr, flush=True)
        except OSError:  # the reader of our messages has closed: the command goes on without them
            discard_output(2)
        except Exception:  # noqa: BLE001  as every handler of the standard library does
            self.handleError(record)


def _wrap_message(text: str) -> str:
    """A message with lines that fit the terminal, the text of `  found:    ...` beside its label; no word is broken."""
    width, lines = shutil.get_terminal_size().columns, list[str]()
    for line in text.splitlines():
        label = LABEL.match(line)
        wrapped = wrap(line[label.end() :], label[0], width=width, break_words=False) if label else [line]
        lines += wrapped if len(line) > width else [line]
    return "\n".join(lines)


def configure_logging(verbose: int = 0, *, progress: bool = True) -> None:
    """Show the log messages of this project on stderr: INFO and above.

    verbose: above 0, DEBUG too (--verbose); below 0, errors only and no progress (--quiet). progress: whether progress may be
    drawn; not in worker processes, which share one terminal. Every command and every worker process calls it; a second call
    changes levels and progress only.
    """
    _settings.update(verbose=verbose, progress=progress and verbose >= 0)
    for name in LOGGERS:
        configured = logging.getLogger(name)
        configured.setLevel(logging.DEBUG if verbose > 0 else logging.ERROR if verbose < 0 else logging.INFO)
        if not any(isinstance(handler, _TerminalHandler) for handler in configured.handlers):
            configured.addHandler(_TerminalHandler())


def verbosity() -> int:
    """What configure_logging() was last given: 1 for --verbose, -1 for --quiet."""
    return _settings["verbose"]


def summary_level(*, failed: bool) -> int:
    """The level to log a summary at: INFO, or ERROR where --quiet would hide what failed."""
    return logging.ERROR if failed and _settings["verbose"] < 0 else logging.INFO


def shows_progress() -> bool:
    """Whether progress is drawn: by a command on a terminal, unless it is quiet or this is a worker."""
    return bool(_settings["progress"]) and sys.stderr.isatty()


def discard_output(descriptor: int) -> None:
    """From now on, throw away what is written to stdout (1) or stderr (2)."""
    target = os.open(os.devnull, os.O_WRONLY)
    if target != descriptor:
        os.dup2(target, descriptor)
        os.close(target)


def has_colors(stream: Any) -> bool:
    """Whether colours may be written to a stream: a terminal that has them, without NO_COLOR (https://no-color.org)."""
    return bool(stream.isatty()) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def color_words(text: str) -> str:
    """A text that is safe already, with colours for the words of COLORS."""
    return COLORED.sub(lambda match: f"{match[1]}\x1b[{COLORS[match[2]]}m{match[2]}\x1b[0m", text)


def format_size(size: int) -> str:
    """A number of bytes in decimal units, with at most one decimal: "378.7 MB"."""
    if size < 1000:
        return f"{size} byte" if size == 1 else f"{size} bytes"
    factor, unit = next((factor, unit) for factor, unit in UNITS if size >= factor)
    return f"{size / factor:.1f}".removesuffix(".0") + f" {unit}"


def format_duration(seconds: float) -> str:
    """A time in words, with a decimal below ten seconds: "1.2 s", "41 s", "12 min 5 s", "2 h 3 min"."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


def progress_bar(label: str, total: int | None, *, done: int = 0, delay: float = 0) -> "tqdm[NoReturn]":
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
