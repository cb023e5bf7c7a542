"""Gaps: what a dataset lacks before it is finished, as the build, `embedding-datasets new` and the tests report it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from builders.errors import DatasetError

NOT_WRITTEN = "not written yet"
MARK = "TODO(new)"  # in every text that `embedding-datasets new` leaves for a person to write
WRITE = f"write it in place of {MARK}"
Level = Literal["build", "finish", "later"]


@dataclass(frozen=True)
class Gap:
    """Something missing or wrong: what, in which file, what to do, and as in DatasetError what was expected and found.

    level: `build`, nothing can be built before it is closed; `finish`, a sample can be built, a complete release cannot; `later`,
    worth knowing, and no build is refused for it.
    """

    what: str
    where: str
    todo: str
    expected: str | None = None
    found: str | None = None
    level: Level = "build"

    def __str__(self) -> str:
        """One line: what, expected and found."""
        details = [f"{name} {text}" for name, text in (("found", self.found), ("expected", self.expected)) if text]
        return "; ".join([self.what, *details])


def marked_lines(path: Path, *, first: int = 1, text: str | None = None) -> Iterator[Gap]:
    """The lines of a file that still have the mark. text: a part of the file, from the line `first` on; None for all of it."""
    whole = path.read_text("utf-8", errors="replace") if text is None else text
    for number, line in enumerate(whole.splitlines(), first):
        if MARK in line:
            words = line.split(MARK, 1)[1].strip(' :"},|')
            yield Gap(NOT_WRITTEN, f"{path}:{number}", WRITE, expected=words or None, level="finish")


def gaps_error(kind: type[DatasetError], name: str, source: str, gaps: Sequence[Gap]) -> DatasetError:
    """One error for some gaps: that of the gap itself if there is one, else a list of all of them; lines with a mark by file."""
    if len(gaps) == 1:
        gap = gaps[0]
        return kind(gap.what, where=gap.where, found=gap.found, expected=gap.expected, todo=gap.todo)
    marked: dict[str, list[str]] = {}
    listed = []
    for gap in gaps:
        if gap.what == NOT_WRITTEN:
            path, _, line = gap.where.rpartition(":")
            marked.setdefault(path, []).append(line)
        else:
            listed.append(f"{gap.where}: {gap}")
    listed += [f"{path}: {NOT_WRITTEN}: line {', '.join(lines)}" for path, lines in marked.items()]
    return kind(
        f"{name}: {len(gaps)} things are missing or wrong",
        found="".join(f"\n            - {line}" for line in listed),
        todo=f"embedding-datasets new {source} says for each what to do",
    )
