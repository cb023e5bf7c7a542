"""Plain text: lines, and documents of lines."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import polars as pl

from builders.reading.archives import malformed, open_raw, shorten, text_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from builders.spec import Raw


def read_lines(raw: Raw) -> list[str]:
    r"""The lines of a UTF-8 text without their ends.

    Only "\n" and "\r\n" end a line; whatever else Unicode calls a line end, and blanks, stay in the text. A blank line is a
    line.

    Raises SourceError for text that is no UTF-8.
    """
    return list(islice(_lines(raw), raw.limit))


def read_documents(raw: Raw, separator: str = "<d>") -> pl.DataFrame:
    """Documents of one segment a line: a line that is exactly the separator opens one, none closes it.

    Columns: line (Int64, the line of its separator, from 1), segments (List(String), as `read_lines` gives them; segment i,
    from 1, stands in line + i). `raw.limit` counts documents.

    Raises SourceError for text before the first separator, a document without a segment, text that is no UTF-8.
    """

    starts: list[int] = []
    segments: list[list[str]] = []
    for number, line in enumerate(_lines(raw), 1):
        if line == separator:
            _refuse_empty(raw, starts, segments)
            if len(starts) == raw.limit:
                break
            starts.append(number)
            segments.append([])
        elif starts:
            segments[-1].append(line)
        else:
            what, expected = "text before the first document", f"a line {separator}"
            raise malformed(raw, f"line {number}", what, found=shorten(line), expected=expected)
    if not starts and raw.limit != 0:
        raise malformed(raw, "", "no document", found="an empty file", expected=f"a line {separator}, then segments")
    _refuse_empty(raw, starts, segments)
    return pl.DataFrame({"line": starts, "segments": segments}, {"line": pl.Int64, "segments": pl.List(pl.String)})


def _refuse_empty(raw: Raw, starts: list[int], segments: list[list[str]]) -> None:
    if segments and not segments[-1]:
        what, found = "a document without a segment", "the next document, or the end of the file"
        raise malformed(raw, f"line {starts[-1]}", what, found=found, expected="a segment in the next line")


def _lines(raw: Raw) -> Iterator[str]:
    with open_raw(raw) as file:
        for line in text_lines(raw, file):
            yield line[:-1].removesuffix("\r") if line.endswith("\n") else line
