"""Which columns of a corpus file hold texts: all of strings or lists of strings but ids, addresses and labels, or those
named.

The formats of sentence-transformers (anchor, positive, negative_1, sentence1, score) and BGE (query, pos, neg) need no
rules of their own: their texts are strings or lists of strings, and their labels have names that are known here.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from builders.errors import SourceError, UsageError

LABELS = ("label", "labels", "score", "similarity_score", "similarity")  # the first one that a row has is its label
# Columns of strings that hold no text, by the last word of their names: `doc_id`, `source-url`, `pos_scores`, `sha256`.
NOT_TEXT = re.compile(
    r"(?:.*[-_.\s])?(?:_?ids?|idx|index|uuid|guid|urls?|uri|link|path|file|filename|hash|md5|sha1|sha256|digest|"
    r"date|datetime|time|timestamp|created|modified|lang|language|languages|licen[cs]e|type|split|"
    r"labels?|scores?|similarity)",
    re.IGNORECASE,
)
SHOWN = 30  # columns that an error lists


@dataclass(frozen=True)
class Layout:
    """The columns of a file.

    columns: all of them, in order; of JSON lines those of the first records. texts: those with texts. label: the one
    with labels, if there is one. requested: `texts` are the only ones to read; otherwise records of JSON lines may have
    others too.
    """

    columns: tuple[str, ...]
    texts: tuple[str, ...]
    label: str | None
    requested: bool


@lru_cache(maxsize=4096)
def may_hold_text(name: str) -> bool:
    """Whether a column of strings with this name is read by default."""
    return NOT_TEXT.fullmatch(name) is None


def choose_columns(where: str, columns: Sequence[str], textual: Sequence[str], requested: Sequence[str]) -> Layout:
    """The layout of a file. columns: all that it has. textual: those with strings or lists of strings. requested: of
    --text.

    Raises UsageError where the file has none of the requested columns, or one that holds no texts, SourceError where it
    has no texts.
    """
    label = next((name for name in LABELS if name in columns and name not in requested), None)
    if not requested:
        texts = tuple(name for name in textual if may_hold_text(name))
        if not texts:
            raise SourceError(
                "the file has no column of texts",
                where=where,
                found=f"columns {list_names(columns)}",
                expected="a column of strings, or of lists of strings, that is not an id, an address or a label",
                todo="leave the file out, or name a column with --text",
            )
        return Layout(tuple(columns), texts, label, requested=False)
    texts = tuple(dict.fromkeys(name for name in requested if name in columns))
    if not texts:
        raise UsageError(
            f"the file has no column {' or '.join(repr(name) for name in requested)}",
            where=where,
            found=f"columns {list_names(columns)}",
            todo="name columns of the corpus with --text, or leave the file out",
        )
    if wrong := [name for name in texts if name not in textual]:
        raise UsageError(
            f"the column {wrong[0]!r} holds no texts",
            where=where,
            found="another type",
            expected="strings, or lists of strings",
            todo=f"name another column with --text: {list_names(textual)}",
        )
    return Layout(tuple(columns), texts, label, requested=True)


def list_names(names: Sequence[str]) -> str:
    """The names of columns as an error lists them."""
    shown = [repr(name[:100]) for name in names[:SHOWN]]
    return ", ".join([*shown, "..."] if len(names) > SHOWN else shown) or "none"
