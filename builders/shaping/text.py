r"""HTML to text, and white space: whole columns at once, outside Python's lock.

`html_to_text` gives what `BeautifulSoup(html, "html.parser").get_text()` gives, byte for byte. Most texts never reach
BeautifulSoup: html.parser cuts a text into tags, character references and what is between them, BeautifulSoup joins what is
between them, and of plain markup a regular expression cuts out the same. Plain is, and the rest is left to BeautifulSoup:

- every `<` begins a tag of `ELEMENTS` in lower case: `<name attribute="value" ...>`, also `/>`, or `</name>` (no end tag
  of an element that has no content). A value is in quotes and may hold anything else, or is bare (`WORD`) or left out. So no
  comment, CDATA, doctype, script, style, stray `<` or unclosed tag;
- every `&` that a letter or a `#` follows begins one of `REFERENCES`, with its semicolon;
- there is no U+0000 and no U+0001, which mark the tags here.

BeautifulSoup writes a text between two tags that is nothing but ASCII white space as one newline or one space; so do we.
What is plain is read alike by all versions of html.parser; what is not is read as the installed one reads it.
"""

from __future__ import annotations

import threading
import warnings
from html.entities import name2codepoint
from types import MappingProxyType
from typing import TYPE_CHECKING

import polars as pl
from bs4 import BeautifulSoup
from bs4.exceptions import ParserRejectedMarkup

if TYPE_CHECKING:
    from collections.abc import Mapping


EMPTY = ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "wbr")
# Elements whose content html.parser or BeautifulSoup treats like that of any other: no script, style, template, title,
# textarea, pre, iframe, noscript, rt, rp, ...
ELEMENTS = (
    "a", "abbr", "address", "article", "aside", "b", "big", "blockquote", "body", "caption", "center", "cite", "code",
    "dd", "del", "div", "dl", "dt", "em", "figcaption", "figure", "font", "footer", "form", "h1", "h2", "h3", "h4", "h5",
    "h6", "head", "header", "html", "i", "ins", "kbd", "li", "main", "mark", "nav", "nobr", "noindex", "ol", "p", "q", "s",
    "section", "small", "span", "strike", "strong", "sub", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr",
    "tt", "u", "ul", "var",
)  # fmt: skip
WORD = r"[A-Za-z0-9_.,:;%#?+-]+"
ATTRIBUTE = rf"[ \t\n]+[a-z][a-z0-9_:-]*(?:=(?:\"[^\"]*\"|'[^']*'|{WORD}))?"
TAG = rf"<(?:{'|'.join((*ELEMENTS, *EMPTY))})(?:{ATTRIBUTE})*[ \t\n]*/?>|</(?:{'|'.join(ELEMENTS)})>"

# HTML 4's names but two that HTML 5 gave to other characters, and the numbers of the same characters, of № and visible ASCII.
_NAMED = {name: chr(code) for name, code in name2codepoint.items() if name not in ("lang", "rang")}
_NUMBERED = {f"#{ord(one)}": one for one in ["№", *map(chr, range(0x21, 0x7F)), *_NAMED.values()]}
REFERENCES: Mapping[str, str] = MappingProxyType({f"&{name};": one for name, one in (_NAMED | _NUMBERED).items()})
REFERENCE = "&(?:" + "|".join(_NAMED | _NUMBERED) + ");"
REFERENCE_BEGUN = "&[A-Za-z#]"

# What is between two tags stands between these.
START, END = "\x00", "\x01"
ASCII_SPACES = r" \t\n\f\r"

# What Python's str.split() takes for white space, but the space. Found in two steps, each of which skips through a text at
# several times the speed of `\s+`: a class of single bytes, and a list of whole characters (with two spaces among them, since
# a list of single characters would become a class, which is slow).
NARROW_SPACE = r"[\t-\r\x1c-\x1f]"
WIDE_SPACES = (
    "\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
WIDE_SPACE = "|".join([*WIDE_SPACES, "  "])

_one_at_a_time = threading.Lock()


def html_to_text(html: pl.Series) -> tuple[pl.Series, pl.Series]:
    """The text of each HTML text, and whether BeautifulSoup had to say what it is (Boolean).

    A text is null where BeautifulSoup, too, gives up (`<![x[`). No value of `html` may be null.
    """

    marked = pl.concat_str(pl.lit(START), pl.col("html"), pl.lit(END)).str.replace_all(TAG, END + START)
    cut = html.alias("html").to_frame().with_columns(marked=marked)
    marked = pl.col("marked")
    cut = cut.with_columns(
        parsed=marked.str.contains("<", literal=True)
        | (marked.str.count_matches(REFERENCE_BEGUN) != marked.str.count_matches(REFERENCE))
        | pl.col("html").str.contains(rf"[{START}{END}]"),
        text=marked.str.replace_all(rf"\x00[ \t\f\r]*\n[{ASCII_SPACES}]*\x01", "\x00\n\x01")
        .str.replace_all(r"\x00[ \t\f\r]+\x01", "\x00 \x01")
        .str.replace_many([START, END, *REFERENCES], ["", "", *REFERENCES.values()]),
    )
    rest = cut.with_row_index("row").filter("parsed").select("row", "html")
    texts = cut["text"].scatter(rest["row"], pl.Series([_soup(one) for one in rest["html"]], dtype=pl.String))
    return texts.alias(html.name), cut["parsed"]


def fold_white_space(text: pl.Expr) -> pl.Expr:
    """`" ".join(text.split())`: every run of white space one space, none around the text."""
    spaced = text.str.replace_all(NARROW_SPACE, " ").str.replace_all(WIDE_SPACE, " ")
    return spaced.str.replace_all("  +", " ").str.strip_chars(" ")


def _soup(html: str) -> str | None:

    # What it warns of (a text like a file's name, or like XML) is no news here; filters of warnings are of the whole process.
    with _one_at_a_time, warnings.catch_warnings(action="ignore", category=UserWarning):
        try:
            return BeautifulSoup(html, "html.parser").get_text()
        except (ParserRejectedMarkup, ValueError):  # ValueError: a reference by a number of thousands of digits
            return None
