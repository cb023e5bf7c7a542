"""Putting text of any kind into Markdown without letting it become markup: what comes from a raw file is data."""

from __future__ import annotations

import json
import re
from typing import Any

CUT = "[…]"
MARKUP = frozenset("\\`*_[]<>&|~$#")


def plain(text: object) -> str:
    """A text as it reads, on one line: for table cells and list items."""
    line = visible(" ".join(str(text).split()))
    return "".join(f"&#{ord(char)};" if char in MARKUP else char for char in line)


def written(text: str) -> str:
    """Markdown written by hand in a builder (docstrings, notes): its code spans stay, its `<` opens no HTML."""
    return re.sub(r"(?s)(`+)(?!`).*?(?<!`)\1(?!`)|<", lambda found: found[0] if found[1] else "&lt;", text)


def code(value: Any, limit: int = 120) -> str:
    """A value as an inline code span, which a table cell can hold too.

    Strings are written without their quotes and with JSON's escapes, also for backticks, pipes and invisible characters:
    these would end the span or the cell.
    """
    text = _json(shorten(value, limit))
    if isinstance(value, str) and value.strip():
        text = text[1:-1]
    return "`" + text.replace("`", "\\u0060").replace("|", "\\u007c") + "`"


def block(value: Any, limit: int = 300) -> str:
    """A value as a fenced block of indented JSON; long strings and lists are cut, marked with […]."""
    return fenced(_json(shorten(value, limit), indent=2), "json")


def fenced(text: str, language: str = "") -> str:
    """A text in a code fence longer than any run of backticks in it."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"


def link(url: str | None) -> str:
    """An address as a link where it is a plain one, else as code; a dash for none."""
    if url is None:
        return "–"
    return f"<{url}>" if re.fullmatch(r"https?://[^\s<>|\\`]+", url) else code(url, 300)


def number(value: float) -> str:
    """A number for people: thousands apart, two digits after the point unless it is whole."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def percent(share: float) -> str:
    """A share of 0 to 1 in percent, never 0 for what is there."""
    return "&lt;0.01 %" if 0 < share < 0.0001 else f"{share * 100:.2f} %"


def shorten(value: Any, limit: int, items: int = 10) -> Any:
    """The beginning of a value: so many characters of each string and so many items of each list."""
    if isinstance(value, str):
        return value if len(value) <= limit else f"{value[:limit]} {CUT}"
    if isinstance(value, (list, tuple)):
        return [*(shorten(item, limit, items) for item in value[:items]), *([CUT] if len(value) > items else [])]
    if isinstance(value, dict):
        return {key: shorten(item, limit, items) for key, item in value.items()}
    return value


def _json(value: Any, indent: int | None = None) -> str:
    """JSON in which every character can be seen."""
    return visible(json.dumps(value, ensure_ascii=False, indent=indent))


def visible(text: str) -> str:
    """What prints as nothing, or turns the line around, as JSON's escapes."""
    return "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)
