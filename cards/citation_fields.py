r"""The author and the year of a BibTeX entry as plain text.

`author = {St{\"u}ker, Sebastian and {Yandex}}` names Sebastian Stüker and the organisation Yandex.
"""

import re
import unicodedata
from dataclasses import dataclass

from cards.citations import read_field

YEAR = re.compile(r"[0-9]{4}")
# The commands of TeX that put a mark on the letter after them, with the Unicode character that does.
MARKS = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", "=": "\u0304", "u": "\u0306", ".": "\u0307", '"': "\u0308",
    "r": "\u030a", "H": "\u030b", "v": "\u030c", "c": "\u0327", "k": "\u0328",
}  # fmt: skip
LETTERS = {"ss": "ß", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "ae": "æ", "AE": "Æ", "aa": "å", "AA": "Å"}
MARKED = re.compile(r"\\(?:([`'^~=.\"])\s*|([urHvck])(?=[\s{])\s*)\{?\\?([A-Za-z])\}?")
COMMAND = re.compile(r"\\([A-Za-z]+)\s*")


@dataclass(frozen=True)
class Author:
    """Who wrote something. organisation: no person, as `{{Yandex}}` says."""

    name: str
    organisation: bool = False


def list_authors(entry: str) -> list[Author]:
    """The authors of an entry, in its order; none where it names none. `and others` is left out."""
    authors = []
    for written in _split_names(read_field(entry, "author")):
        text = _plain(written)
        if written.startswith("{") and written.endswith("}"):
            authors.append(Author(text, organisation=True))
        elif text and text != "others":
            last, *first = (part.strip() for part in text.split(","))  # `Last, First` or `Last, Jr, First`
            authors.append(Author(" ".join([*first[-1:], last]) + "".join(f", {suffix}" for suffix in first[:-1])))
    return authors


def read_year(entry: str) -> str:
    """The year of an entry, four digits; empty where it has none."""
    year = _plain(read_field(entry, "year"))
    return year if YEAR.fullmatch(year) else ""


def _split_names(authors: str) -> list[str]:
    """The names that `and` separates. An `and` in braces is part of a name."""
    names, depth = [""], 0
    for part in re.split(r"(\s+and\s+|[{}])", authors):
        depth += {"{": 1, "}": -1}.get(part, 0)
        if not depth and part.strip() == "and":
            names.append("")
        else:
            names[-1] += part
    return [name.strip() for name in names if name.strip()]


def _plain(latex: str) -> str:
    """A text without TeX: `St{\\"u}ker` is `Stüker`."""
    text = MARKED.sub(lambda found: found[3] + MARKS[found[1] or found[2]], latex)
    text = COMMAND.sub(lambda found: LETTERS.get(found[1], ""), text)
    text = re.sub(r"[{}\\]", "", text).replace("~", " ")
    return unicodedata.normalize("NFC", " ".join(text.split()))
