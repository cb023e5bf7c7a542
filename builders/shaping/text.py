"""Texts: HTML converted to text, white space folded, wrong decoding noticed and undone.

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

builders.shaping.text.html_to_text folds all white space and joins what only tags divide: `<li>one<li>two` becomes `onetwo`. Here
control characters replace white space while it does its work.

A character outside ASCII is two to four bytes in UTF-8: a lead byte and continuation bytes from 0x80 to 0xBF. Read in a one-byte
encoding, each byte becomes a separate character, and some of these sequences occur in no language. The patterns below were
compared with ftfy's detector on 285,000 real texts in Russian, English, German and French: both find the same 144 texts; ftfy
finds three more, which are not mojibake, and takes 30 microseconds a text instead of 0.2.
"""

import re
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

NOT_WHITE_SPACE = f"[^{WHITE_SPACE}]"

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
    texts = frame["text"].scatter(rest["row"], pl.Series([_parse(markup) for markup in rest["html"]], dtype=pl.String))
    return texts.alias(html.name), parsed


def fold_white_space(text: pl.Expr) -> pl.Expr:
    """`" ".join(text.split())`: every run of WHITE_SPACE as one space, none at the ends."""
    spaced = text.str.replace_all(NARROW_SPACE, " ").str.replace_all(WIDE_SPACE, " ")
    return spaced.str.replace_all("  +", " ").str.strip_chars(" ")


def is_blank(text: pl.Expr) -> pl.Expr:
    """Whether a text has nothing but WHITE_SPACE (Boolean)."""
    return ~text.str.contains(NOT_WHITE_SPACE)


def _parse(html: str) -> str | None:
    from bs4 import BeautifulSoup
    from bs4.exceptions import ParserRejectedMarkup

    # BeautifulSoup warns about texts that look like file names or XML. Warning filters are global, hence the lock.
    with _SOUP_LOCK, warnings.catch_warnings(action="ignore", category=UserWarning):
        try:
            return " ".join(BeautifulSoup(html, "html.parser").get_text().split())
        except (ParserRejectedMarkup, ValueError):  # ValueError: a numeric reference of thousands of digits
            return None


LINE, SPACE, TAB = "\x02", "\x03", "\x04"
# Elements that begin and end a line.
BLOCKS = "article|blockquote|br|dd|div|dl|dt|figcaption|figure|h[1-6]|hr|li|ol|p|pre|section|summary|table|td|th|tr|ul"
CODE = re.compile("<pre\\b.*?(?:</pre>|$)", re.IGNORECASE | re.DOTALL)
MARKS = str.maketrans({"\n": LINE, " ": SPACE, "\t": TAB, "\r": None})
BETWEEN_TAGS = re.compile("(<[^>]*>)")


def html_to_lines(html: pl.Series) -> pl.Series:
    """The text of each HTML text (String), in lines without blank ones; null for null and for what cannot be read.

    Within a line white space is folded, except in `<pre>`, whose line breaks, spaces and tabs stay.
    """
    text = pl.col("text")
    frame = html.alias("text").to_frame().with_columns(text.str.replace_all(f"[{LINE}{SPACE}{TAB}]", ""))
    with_code = frame.with_row_index("row").filter(text.str.contains("(?i)<pre\\b"))
    if with_code.height:
        marked = pl.Series([CODE.sub(_mark_spaces, markup) for markup in with_code["text"]], dtype=pl.String)
        frame = pl.DataFrame({"text": frame["text"].scatter(with_code["row"], marked)})
    # html_to_text is fast for `div`, and slow for `pre`, whose spaces no longer need it.
    blocks = frame.select(
        text.str.replace_all(f"(?i)<(/?)({BLOCKS})\\b", f"{LINE}<${{1}}${{2}}").str.replace_all(
            "(?i)(</?)pre\\b", "${1}div"
        )
    )
    known = blocks["text"].is_not_null()
    converted = html_to_text(blocks["text"].fill_null(""))[0]
    lines = (
        text.str.replace_all(f"[ {SPACE}{TAB}]*{LINE}[ {LINE}]*", "\n")
        .str.replace_all("\n\n+", "\n")
        .str.replace_many([SPACE, TAB], [" ", "\t"])
        .str.strip_chars("\n")
        .str.strip_chars_end(" \t")
    )
    result = converted.alias("text").to_frame().with_columns(known=known)
    return result.select(pl.when("known").then(lines).alias(html.name)).to_series()


def _mark_spaces(code: re.Match[str]) -> str:
    """A `pre` element with marks for the white space between its tags."""
    pieces = BETWEEN_TAGS.split(code[0])
    return "".join(piece if number % 2 else piece.translate(MARKS) for number, piece in enumerate(pieces))


CONTINUATION_BYTES = range(0x80, 0xC0)


def _read_as(encoding: str) -> list[str]:
    """What the continuation bytes become: characters of the encoding or, where it defines none, C1 controls, as in Latin-1."""
    characters = [bytes([byte]).decode(encoding, "ignore") for byte in CONTINUATION_BYTES]
    return [*filter(None, characters), *map(chr, range(0x80, 0xA0))]


def _character_class(characters: list[str]) -> str:
    return "[" + "".join(f"\\x{{{ord(character):X}}}" for character in characters) + "]"


WESTERN, CYRILLIC = _read_as("cp1252"), _read_as("cp1251")
# These also follow a capital letter in sound text: a closing quotation mark or a dash after a word in capitals (`AMANHÃ…`), a
# soft hyphen, `Å²`. They count only before a lower-case letter (`Ã–sterreich`).
AMBIGUOUS = [character for character in WESTERN if character in "‘’“”‹›«»–—…•·™®°¹²³\xa0\xad"]
CERTAIN = [character for character in WESTERN if character not in AMBIGUOUS]

# Each pattern begins with few different bytes, so that the search skips most of a text: together they cost 0.8 ns a byte, and a
# single alternation of all of them three times as much (as does an eleventh lead byte in the first).
MOJIBAKE_PATTERNS = (
    # Two characters in a row that were two bytes each: a word in Cyrillic, Greek or Arabic (`Ð¿Ñ€`).
    f"(?:[ÐÑÎÏØÙÃÂÄÅ]{_character_class(WESTERN)}){{2}}",
    # One Latin letter with a diacritic (`Ã©`, `Å‚`), one symbol of Latin-1 (`Â£`), a no-break space (`Â` before it).
    f"[ÃÂÄÅ](?:{_character_class(CERTAIN)}|{_character_class(AMBIGUOUS)}\\p{{Ll}})|Â[\xa0«»°·®]",
    # Punctuation, `€`, `™`, `№`, an emoji, a byte order mark, U+FFFD.
    "â€|â‚¬|â„¢|â„–|â[\x80\x82\x84]|ð[Ÿ\x9f]|ï»¿|ï¿½",
    # Three characters in a row that were Cyrillic: two also occur in sound text (Ukrainian `СІРІ`).
    f"(?:[РС]{_character_class(CYRILLIC)}){{3}}",
    # The third pattern again, read as Windows-1251.
    f"вЂ|в‚¬|в„ў|в„–|рџ{_character_class(CYRILLIC)}{{2}}|п»ї|пїЅ",
)


def is_mojibake(text: pl.Expr) -> pl.Expr:
    """Whether a text contains UTF-8 read in another encoding (Boolean)."""
    return pl.any_horizontal([text.str.contains(pattern) for pattern in MOJIBAKE_PATTERNS])


def is_damaged(text: pl.Expr) -> pl.Expr:
    """Whether a text contains a lost character or mojibake."""
    return text.str.contains("\ufffd", literal=True) | is_mojibake(text)
