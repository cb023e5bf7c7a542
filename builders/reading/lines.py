"""Read plain text: lines, and documents of lines."""

import codecs
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import IO

import polars as pl

from builders import limits
from builders.reading.archives import open_raw
from builders.reading.errors import malformed, not_utf8, shorten, too_large
from builders.spec import Raw


def read_lines(raw: Raw) -> list[str]:
    r"""The lines of a UTF-8 text, without their line ends.

    Only "\n" and "\r\n" end a line. Other characters that Unicode counts as line ends, and surrounding blanks, stay in the
    text. Blank lines are lines.

    Raises SourceError for text that is not UTF-8.
    """
    return list(islice(iterate_lines(raw), raw.limit))


def read_documents(raw: Raw, separator: str = "<d>") -> pl.DataFrame:
    """Documents with one segment per line; a line that equals the separator begins a document.

    Columns: line (Int64: the line of the separator, from 1), segments (List(String), as `read_lines` returns them; segment i,
    from 1, is in line `line` + i). `raw.limit` counts documents.

    Raises SourceError for text before the first separator, a document without segments, and text that is not UTF-8.
    """
    starts: list[int] = []
    segments: list[list[str]] = []
    for number, line in enumerate(iterate_lines(raw), 1):
        if line == separator:
            _refuse_empty_document(raw, starts, segments)
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
        raise malformed(raw, "", "no documents", found="an empty file", expected=f"a line {separator}, then segments")
    _refuse_empty_document(raw, starts, segments)
    return pl.DataFrame({"line": starts, "segments": segments}, {"line": pl.Int64, "segments": pl.List(pl.String)})


def iterate_lines(raw: Raw) -> Iterator[str]:
    """Yield the lines of a UTF-8 text without their line ends, under the rules of `read_lines`."""
    with open_raw(raw) as file:
        for line in decode_lines(raw, file):
            yield line[:-1].removesuffix("\r") if line.endswith("\n") else line


def decode_lines(raw: Raw, file: IO[bytes]) -> Iterator[str]:
    r"""Yield the lines of an open UTF-8 file with their line ends; only "\n" ends a line. A byte order mark is removed.

    Raises SourceError for text that is not UTF-8, and for a line of more than `limits.MAX_RECORD` bytes.
    """
    for number, line in enumerate(iter(partial(file.readline, limits.MAX_RECORD + 1), b""), 1):
        if len(line) > limits.MAX_RECORD:
            raise too_large(raw, f"line {number}", "a line", limits.MAX_RECORD)
        data = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise not_utf8(raw, f"line {number}", error) from error
        yield text


def _refuse_empty_document(raw: Raw, starts: list[int], segments: list[list[str]]) -> None:
    if segments and not segments[-1]:
        what, found = "a document without segments", "the next document, or the end of the file"
        raise malformed(raw, f"line {starts[-1]}", what, found=found, expected="a segment in the next line")
