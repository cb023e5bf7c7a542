"""Every error that a command reports, and the exit code it ends in.

DatasetError                 1  the build or the check failed
├── RecipeError              1  the raw data cannot satisfy the recipe (too few rows of a class, ...)
├── ReleaseError             1  a release cannot be written, read or replaced
├── UsageError               2  the command line asks for something that does not exist
├── SourceError              3  a raw file is missing, malformed or not the pinned one
├── FindingsError            4  defects in the data block the release
└── PublishError             5  publishing failed
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from traceback import walk_tb
from typing import Literal

# offline: it can be downloaded, and --offline is set. gated: the Hub gives it to those who accept its terms. by hand: no program
# may fetch it. unavailable: its download failed.
MissingReason = Literal["offline", "gated", "by hand", "unavailable"]


@dataclass(frozen=True)
class MissingFile:
    """A raw file that is not on this machine. name: `<source>/<name>`; where a member of an archive is needed, of the archive."""

    name: str
    reason: MissingReason


class DatasetError(Exception):
    """An error that the user can act on: what happened, where, what was found, what was expected, what to do.

    missing: the raw file that is missing, where one is. repeated: whether the cause was said of an earlier file.
    """

    exit_code = 1
    missing: MissingFile | None = None
    repeated: bool = False

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        found: str | None = None,
        expected: str | None = None,
        todo: str | None = None,
    ) -> None:
        super().__init__(what, where, found, expected, todo)
        self.what = what
        self.where = where
        self.found = found
        self.expected = expected
        self.todo = todo

    @property
    def parts(self) -> list[tuple[str, str]]:
        """The label and the text of each part but `what`, always in the same order; missing parts are left out."""
        parts = [("where", self.where), ("found", self.found), ("expected", self.expected), ("to do", self.todo)]
        return [(label, text) for label, text in parts if text is not None]

    def __str__(self) -> str:
        return "\n".join([self.what, *(f"  {label + ':':<10}{text}" for label, text in self.parts)])

    def __reduce__(self) -> tuple[object, ...]:
        """Let worker processes pass errors back: the default pickling of exceptions loses keyword arguments."""
        parts = {"where": self.where, "found": self.found, "expected": self.expected, "todo": self.todo}
        return partial(type(self), self.what, **parts), (), vars(self)


class RecipeError(DatasetError):
    """The raw data cannot satisfy the recipe."""


class ReleaseError(DatasetError):
    """A release cannot be written, read or replaced."""


class UsageError(DatasetError):
    """The command line asks for something that does not exist."""

    exit_code = 2


class SourceError(DatasetError):
    """A raw file is missing, malformed or not the pinned one.

    local: whether this machine is the cause, so that no other address would help. unresolved: the host whose name was not found.
    gone: whether the server says that there is no such file.
    """

    exit_code = 3
    local: bool = False
    unresolved: str = ""
    gone: bool = False

    def lacking(self, name: str, reason: MissingReason) -> "SourceError":
        """This error, which says that a raw file is missing."""
        self.missing = MissingFile(name, reason)
        return self

    def of_this_machine(self) -> "SourceError":
        """This error, which says that this machine is the cause."""
        self.local = True
        return self


class FindingsError(DatasetError):
    """Defects in the data block the release."""

    exit_code = 4


class PublishError(DatasetError):
    """Publishing failed."""

    exit_code = 5


def error_line(error: BaseException, folder: Path) -> str | None:
    """The last line of a file in a folder that an error passed through, as `path:line`; None if it passed through none."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}"
    line = last_line(error, folder)
    return f"{line[0]}:{line[1]}" if line else None


def last_line(error: BaseException, *folders: Path) -> tuple[Path, int] | None:
    """The last line below some folders that an error passed through, as file and number; None if it passed through none."""
    lines = [(Path(frame.f_code.co_filename), number) for frame, number in walk_tb(error.__traceback__)]
    return next((line for line in reversed(lines) if any(map(line[0].is_relative_to, folders))), None)
