"""The entries of citations.bib: what a card cites, and which of it is on arXiv."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from builders.errors import ReleaseError

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    depth = 0
    for brace in re.finditer(r"[{}]", text[start.start() :]):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return text[start.start() :][: brace.end()]
    raise ReleaseError(f"unbalanced braces in the entry {key!r}", where=str(CITATIONS), todo="close its braces")


def arxiv_papers(entries: Iterable[str]) -> list[str]:
    """The addresses on arXiv of entries with an `eprint`. The Hub lists a dataset with each paper that its card links so."""
    identifiers = [found[1] for entry in entries if (found := re.search(r"(?m)^  eprint = \{(.+)\},$", entry))]
    return [f"https://arxiv.org/abs/{identifier}" for identifier in identifiers]
