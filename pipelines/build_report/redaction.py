"""Errors as a report may carry them: what happened, and in which file and line, without a row of data, a path or a secret.

An error of a reader or a recipe quotes what it found. The maintainers need the place and the kind of value, not the value:

    found: "yes" (a string)            ->  a string
    found: 'Text of a row' (the first of 12)  ->  '...' (the first of 12)
    found: the keys: 'text', 'label'   ->  the same: names of keys, columns and files are not rows
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from traceback import walk_tb

from builders.errors import DatasetError, FindingsError, last_line
from pipelines.build_report.records import ReportedError
from pipelines.process.installation import ROOT
from pipelines.process.safe_text import mask_tokens

PACKAGES = ("builders", "cards", "embedding_datasets", "pipelines")
# The modules whose errors quote digests and counts only.
OWN_WORDS = ("pipelines.raw.", "pipelines.release.", "pipelines.hub.", "pipelines.make")
MASK = "..."
LONGEST = 600  # characters; describing all keys of a record takes fewer
# A quoted text as Python and JSON write it; one that was cut off lasts to the end.
QUOTED = re.compile(r"""(?<!\w)b?(?:'(?:[^'\\]|\\.)*(?:'|$)|"(?:[^"\\]|\\.)*(?:"|$))""", re.DOTALL)
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]{0,39}")
LIST_OF_NAMES = re.compile(r"the keys: |\d+ other files: |values named ")
TYPED_VALUE = re.compile(r".* \((an? [a-z]+|null)\)", re.DOTALL)
COUNTED_FINDING = re.compile(r"[a-z_]+ in [\w./-]+(?: \([\w ,;:-]+\))?: [\d,]+", re.ASCII)
FOREIGN_WORD = re.compile(r"[^\W\d_]*[^\x00-\x7f][^\W\d_]*")
URL = re.compile(r"(https?://)(?:[^\s/@]*@)?([^\s?#]*)(?:\?[^\s#]*)?")
ABSOLUTE_PATH = re.compile(r"(?<![\w:/<>.~])(?:/|[A-Za-z]:[\\/])(?:[^\s/\\:;,'\"]+[/\\])+(?=[^\s/\\])")


@dataclass(frozen=True)
class Failure:
    """An error with the module that raised it, which decides what a report may repeat; lost when it is sent between processes."""

    error: DatasetError
    module: str


def failure_of(error: DatasetError) -> Failure:
    """An error that was just caught, with the module that raised it."""
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    return Failure(error, frames[-1].f_globals.get("__name__", "") if frames else "")


def unexpected_failure(name: str, error: Exception) -> Failure:
    """The failure for an exception that no command expects: its type and the line of our code, not its message.

    name: the dataset and its version.
    """
    line = last_line(error, *(ROOT / package for package in PACKAGES))
    return Failure(
        DatasetError(
            f"{name}: unexpected {type(error).__name__}",
            where=f"{line[0].relative_to(ROOT).as_posix()}, line {line[1]}" if line else None,
            todo="this is a defect of this package: report it to the maintainers, with the traceback above",
        ),
        "",
    )


def report_error(failure: Failure, roots: Mapping[str, Path | None]) -> ReportedError:
    """An error for the report. roots: folders of this machine, by the name that the report gives them (`<cache>`)."""
    error = failure.error
    parts = {
        "what": error.what,
        "where": error.where or "",
        "found": error.found or "",
        "expected": error.expected or "",
    }
    if isinstance(error, FindingsError):
        parts["found"] = "; ".join(COUNTED_FINDING.findall(parts["found"]))
    elif not failure.module.startswith(OWN_WORDS):
        lists_names = LIST_OF_NAMES.match(parts["found"]) is not None or _is_header(error)
        parts = {part: _without_data(text, names=part != "found" or lists_names) for part, text in parts.items()}
    return ReportedError(
        type(error).__name__, error.exit_code, **{part: _scrub(text, roots) for part, text in parts.items()}
    )


def _is_header(error: DatasetError) -> bool:
    """Whether an error about a header quotes one: a first line with none of the expected names may be a row."""
    found, expected = (set(QUOTED.findall(text or "")) for text in (error.found, error.expected))
    return "the header has" in error.what and not found.isdisjoint(expected)


def _without_data(text: str, *, names: bool) -> str:
    """A text without its quotations. names: those that look like the name of a key or a file stay."""
    typed = TYPED_VALUE.fullmatch(text)
    if typed:
        return typed[1]

    def mask(quotation: re.Match[str]) -> str:
        return quotation[0] if names and NAME.fullmatch(quotation[0][1:-1]) else f"'{MASK}'"

    return FOREIGN_WORD.sub(MASK, QUOTED.sub(mask, text))


def _scrub(text: str, roots: Mapping[str, Path | None]) -> str:
    """A text without folders of this machine, tokens, passwords and signatures in addresses."""
    folders = {
        str(form): name for name, path in roots.items() if path for form in (path, path.absolute(), path.resolve())
    }
    for folder in sorted(folders, key=len, reverse=True):
        if Path(folder).is_absolute():
            text = text.replace(folder, folders[folder])
    text = URL.sub(r"\1\2", mask_tokens(text))
    return ABSOLUTE_PATH.sub(f"{MASK}/", text)[:LONGEST]
