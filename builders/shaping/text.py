r"""Convert HTML to text, and fold white space: on whole columns, and mostly outside Python's global interpreter lock.

`html_to_text` returns `BeautifulSoup(html, "html.parser").get_text()` with folded white space, byte for byte. Few texts need
BeautifulSoup: html.parser divides a text into tags, character references and the text in between, BeautifulSoup joins the text
in between, and for plain markup a regular expression that removes the tags does the same. Markup is plain if

- every `<` begins a tag of `ELEMENTS` or `EMPTY`, in lower case: `<name attribute="value" ...>`, also with `/>`, or `</name>`
  (for `ELEMENTS` only). A value is quoted and may contain anything but its quote, or is bare (`WORD`) or missing. This excludes
  comments, CDATA, doctypes, scripts, styles, stray `<` and unclosed tags;
- every `&` followed by a letter or `#` begins one of `REFERENCES`, including its semicolon;
- the text has neither U+0000, which parsers treat differently, nor U+0001, which marks the tags here.

All other texts go to BeautifulSoup. BeautifulSoup writes text between two tags that is only ASCII white space as one newline or
one space, which makes no difference after folding. All versions of html.parser read plain markup alike; other markup depends on
the installed version.
"""

import threading
import warnings
from collections.abc import Mapping
from html.entities import name2codepoint
from types import MappingProxyType

import polars as pl

# Elements without content, and so without an end tag.
EMPTY = ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "wbr")
# Elements whose content gets no special treatment from html.parser or BeautifulSoup; so not script, style, template, title,
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

# HTML 4's names, except two that HTML 5 reassigned, and the numbers of the same characters, of № and of visible ASCII.
_NAMED = {name: chr(code) for name, code in name2codepoint.items() if name not in ("lang", "rang")}
_NUMBERED = {f"#{ord(char)}": char for char in ["№", *map(chr, range(0x21, 0x7F)), *_NAMED.values()]}
REFERENCES: Mapping[str, str] = MappingProxyType({f"&{name};": char for name, char in (_NAMED | _NUMBERED).items()})
REFERENCE = "&(?:" + "|".join(_NAMED | _NUMBERED) + ");"
REFERENCE_START = "&[A-Za-z#]"

MARK = "\x01"  # in place of a tag, so that `&am<b>p;` does not become a reference

# What Python's str.strip() and str.split() treat as white space, and mteb with them. Polars' strip_chars() and `\s` leave out
# U+001C to U+001F.
WHITE_SPACE = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
# Two patterns that together match every run of white space except single spaces, each several times as fast as `\s+`: a class of
# single bytes, and a list of whole characters. The list includes two spaces, because a list of single characters would become a
# class, which is slow.
NARROW_SPACE = "[" + "".join(char for char in WHITE_SPACE if char.isascii() and char != " ") + "]"
WIDE_SPACE = "|".join([*(char for char in WHITE_SPACE if not char.isascii()), "  "])

_SOUP_LOCK = threading.Lock()


def html_to_text(html: pl.Series) -> tuple[pl.Series, pl.Series]:
    """The text of each HTML text (String) with folded white space, and whether it took BeautifulSoup to get it (Boolean).

    html: String without nulls. A text is null if BeautifulSoup cannot parse the HTML either (`<![x[`).
    """
    marked, text = pl.col("marked"), pl.col("text")
    replacements = {MARK: ""} | {name: " " if char in WHITE_SPACE else char for name, char in REFERENCES.items()}
    frame = (
        html.alias("html")
        .to_frame()
        .with_row_index("row")
        .with_columns(marked=pl.col("html").str.replace_all(TAG, MARK))
    )
    frame = frame.with_columns(
        text=marked.str.replace_many(list(replacements), list(replacements.values())),
        parsed=marked.str.contains("<", literal=True) | pl.col("html").str.contains(rf"[\x00{MARK}]"),
    ).with_columns(fold_white_space(text))
    # What looks like a reference afterwards may come from `&amp;lt;` or be none of REFERENCES. Counting both is slow.
    doubtful = frame.filter(text.str.contains(REFERENCE_START))
    differs = marked.str.count_matches(REFERENCE_START) != marked.str.count_matches(REFERENCE)
    parsed = frame["parsed"].scatter(doubtful["row"], doubtful.select(pl.col("parsed") | differs)["parsed"])
    rest = frame.filter(parsed)
    texts = frame["text"].scatter(rest["row"], pl.Series([_parse(one) for one in rest["html"]], dtype=pl.String))
    return texts.alias(html.name), parsed


def fold_white_space(text: pl.Expr) -> pl.Expr:
    """`" ".join(text.split())`: every run of WHITE_SPACE as one space, none at the ends."""
    spaced = text.str.replace_all(NARROW_SPACE, " ").str.replace_all(WIDE_SPACE, " ")
    return spaced.str.replace_all("  +", " ").str.strip_chars(" ")


def _parse(html: str) -> str | None:
    from bs4 import BeautifulSoup
    from bs4.exceptions import ParserRejectedMarkup

    # BeautifulSoup warns about texts that look like file names or XML. Warning filters are global, hence the lock.
    with _SOUP_LOCK, warnings.catch_warnings(action="ignore", category=UserWarning):
        try:
            return " ".join(BeautifulSoup(html, "html.parser").get_text().split())
        except (ParserRejectedMarkup, ValueError):  # ValueError: a numeric reference of thousands of digits
            return None
