"""What a user sees beside the results, on stderr: words, bars, sizes."""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from builders.spec import Raw


def size_words(size: int) -> str:
    """A size in decimal units, with one decimal at most."""
    if size < 1000:
        return f"{size} byte" if size == 1 else f"{size} bytes"
    power, unit = next((p, u) for p, u in ((9, "GB"), (6, "MB"), (3, "KB")) if size >= 10**p)
    return f"{size / 10**power:.1f}".removesuffix(".0") + f" {unit}"


def progress(label: str, total: int | None, *, done: int = 0, delay: float = 0) -> Any:
    """A bar of bytes on stderr; silent where stderr is no terminal, and for the first `delay` seconds."""

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
def watched(files: Mapping[str, Raw]) -> Iterator[dict[str, Raw]]:
    """The same raw files, each with a bar of its own while it is read; none where stderr is no terminal."""
    with ExitStack() as stack:
        yield {
            key: replace(raw, watch=_watcher(raw, stack)) if sys.stderr.isatty() else raw for key, raw in files.items()
        }


def _watcher(raw: Raw, stack: ExitStack) -> Callable[[int], None]:
    bars: list[Any] = []

    def watch(place: int) -> None:
        if not bars:
            bars.append(stack.enter_context(progress(f"reading {raw.name}", raw.path.stat().st_size, delay=1)))
        bars[0].update(place - bars[0].n)

    return watch


def say(text: str) -> None:
    """A line on stderr that does not tear a progress bar."""

    tqdm.write(text, file=sys.stderr)
