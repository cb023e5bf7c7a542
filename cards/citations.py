"""The entries of citations.bib: what a card cites, the fields of an entry, and which entries are on arXiv."""

import re
from collections.abc import Iterable
from pathlib import Path

from builders.errors import ReleaseError

CITATIONS = Path(__file__).parent / "citations.bib"


def bibtex(key: str) -> str:
    """An entry of citations.bib.

    Raises ReleaseError for an unknown key, and for an entry with unbalanced braces.
    """
    text = CITATIONS.read_text("utf-8")
    start = re.search(rf"(?m)^@\w+\{{{re.escape(key)},", text)
    if start is None:
        raise ReleaseError(
            f"no entry {key!r} to cite", where=str(CITATIONS), todo="add it, or correct the key in the builder"
        )
    end = _closing_brace(text, start.start())
    if end is None:
        raise ReleaseError(f"unbalanced braces in the entry {key!r}", where=str(CITATIONS), todo="close its braces")
    return text[start.start() : end + 1]


def read_field(entry: str, name: str) -> str:
    """The value of a field without its outer braces, as BibTeX; empty where the entry lacks it."""
    start = re.search(rf"(?m)^\s*{name}\s*=\s*(?=\{{)", entry)
    end = _closing_brace(entry, start.end()) if start else None
    return entry[start.end() + 1 : end].strip() if start and end else ""


def arxiv_papers(entries: Iterable[str]) -> list[str]:
    """The addresses on arXiv of entries with an `eprint`. The Hub lists a dataset with each paper that its card links so."""
    identifiers = [read_field(entry, "eprint") for entry in entries]
    return [f"https://arxiv.org/abs/{identifier}" for identifier in identifiers if identifier]


def _closing_brace(text: str, start: int) -> int | None:
    """The position of the brace that closes the first one from `start` on; None where none does."""
    depth = 0
    for brace in re.compile(r"[{}]").finditer(text, start):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return brace.start()
    return None
