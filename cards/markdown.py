"""Escapes text for Markdown: values from raw files are data and must not become markup."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

CUT = "[…]"
NO_BREAK = "\u00a0"  # a space at which a line does not wrap
MARKUP = frozenset("\\`*_[]<>&|~$#")


def plain(text: object) -> str:
    """A text on one line, with all markup escaped: for table cells and list items."""
    line = visible(" ".join(str(text).split()))
    return "".join(f"&#{ord(char)};" if char in MARKUP else char for char in line)


def hand_written(text: str) -> str:
    """Markdown from a builder's docstrings and notes, with every `<` outside code spans escaped."""
    return re.sub(r"(?s)(`+)(?!`).*?(?<!`)\1(?!`)|<", lambda match: match[0] if match[1] else "&lt;", text)


def code(value: Any, limit: int = 120) -> str:
    """A value as an inline code span, also for table cells.

    A string has no quotes and JSON's escapes. Backticks, pipes and invisible characters are escaped too: they would end the span
    or the cell.
    """
    text = visible(json.dumps(shorten(value, limit), ensure_ascii=False))
    if isinstance(value, str) and value.strip():
        text = text[1:-1]
    return "`" + text.replace("`", "\\u0060").replace("|", "\\u007c") + "`"


def fenced(text: str, language: str = "") -> str:
    """A text in a code fence longer than any run of backticks in it."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def table(columns: Mapping[str, str], rows: Iterable[Sequence[object]]) -> list[str]:
    """The lines of a table. columns: the rule below each heading, `---` or `---:` for numbers. rows: escaped cells."""
    return [f"| {' | '.join(map(str, cells))} |" for cells in (columns, columns.values(), *rows)]


def link(url: str | None) -> str:
    """A URL as a link, or as code if it has characters that a link cannot hold; a dash for None."""
    if url is None:
        return "–"
    return f"<{url}>" if re.fullmatch(r"https?://[^\s<>|\\`]+", url) else code(url, 300)


def number(value: float) -> str:
    """A number with thousands separators, and two decimals unless it is an int."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def share_text(share: float) -> str:
    """A share, 0 to 1, in percent, not escaped; a share above 0 never reads as 0."""
    return "<0.01 %" if 0 < share < 0.0001 else f"{share * 100:.2f} %"


def percent(share: float) -> str:
    """The same, escaped."""
    return share_text(share).replace("<", "&lt;")


def join_with_and(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`. parts: at least one."""
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def shorten(value: Any, limit: int, items: int = 10) -> Any:
    """A value with each string cut to `limit` characters and each list to `items` items."""
    if isinstance(value, str):
        return value if len(value) <= limit else f"{value[:limit]} {CUT}"
    if isinstance(value, (list, tuple)):
        return [*(shorten(item, limit, items) for item in value[:items]), *([CUT] if len(value) > items else [])]
    if isinstance(value, dict):
        return {key: shorten(item, limit, items) for key, item in value.items()}
    return value


def visible(text: str) -> str:
    """A text with JSON's escapes for characters that are invisible or reverse the line, as the site has them (records.js)."""
    shown = (char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)
    return "".join(shown).replace("\x7f", r"\u007f")  # which JSON does not escape
