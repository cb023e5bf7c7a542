"""Data of the site as classic scripts, which a page can load from a folder as well as from a server.

A list of records, such as the rows of a table, is a folder of pages of 1,000 records, `rows-0001.js` and so on, each one call:

    rows_push("table-1",1,[[0,"3f2c","A text"],...]);

Modules and fetch do not work where a page is opened from a folder; a classic script does. The values are JSON without `<`, so
that no text can end a script or open a tag, and without U+2028 and U+2029, which older browsers take for the end of a line.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

PAGE_RECORDS = 1_000
LARGEST_NUMBER = 2**53  # beyond it, JavaScript rounds whole numbers
ESCAPES = ((b"<", b"\\u003c"), ("\u2028".encode(), b"\\u2028"), ("\u2029".encode(), b"\\u2029"))


@dataclass(frozen=True)
class RecordList:
    """A list of records on disk. folder: below that of the page which shows it."""

    folder: str
    records: int
    pages: int


def as_json(value: Any) -> bytes:
    """A value as JSON that may be part of a script or of a data block of a page.

    A character that UTF-8 cannot hold (half of a pair of surrogates) becomes U+FFFD, a number that is not finite null, and a
    whole number that JavaScript would round its text.
    """
    try:
        text = orjson.dumps(value, option=orjson.OPT_STRICT_INTEGER)
    except (TypeError, ValueError):
        text = orjson.dumps(_portable(value))
    for character, escape in ESCAPES:
        text = text.replace(character, escape)
    return text


def _portable(value: Any) -> Any:
    match value:
        case str():
            return _replace_surrogates(value)
        case bool() | None:
            return value
        case int():
            return value if abs(value) < LARGEST_NUMBER else str(value)
        case dict():
            return {_replace_surrogates(str(key)): _portable(one) for key, one in value.items()}
        case list() | tuple():
            return [_portable(one) for one in value]
        case _:
            return value


def _replace_surrogates(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def write_list(page_dir: Path, folder: str, records: Iterable[Any]) -> RecordList:
    """Write records as a list below the folder of a page. They are read one page at a time."""
    (page_dir / folder).mkdir(parents=True)
    source, pages, written = iter(records), 0, 0
    while page := list(islice(source, PAGE_RECORDS)):
        pages, written = pages + 1, written + len(page)
        call = b"rows_push(%b,%d,%b);\n" % (as_json(folder), pages, as_json(page))
        (page_dir / folder / f"rows-{pages:04d}.js").write_bytes(call)
    return RecordList(folder, written, pages)
