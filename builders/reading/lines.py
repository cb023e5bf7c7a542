"""Read plain text: lines, documents of lines, and bitexts, where line n of one file is the translation of line n of the other."""

import codecs
import io
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice, zip_longest
from typing import IO

import polars as pl

from builders import limits
from builders.reading.archives import open_raw
from builders.reading.values import malformed, not_utf8, shorten, too_large
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
            raise malformed(
                raw,
                f"line {number}",
                "text before the first document",
                found=shorten(line),
                expected=f"a line {separator}",
            )
    if not starts and raw.limit != 0:
        raise malformed(raw, "", "no documents", found="an empty file", expected=f"a line {separator}, then segments")
    _refuse_empty_document(raw, starts, segments)
    return pl.DataFrame({"line": starts, "segments": segments}, {"line": pl.Int64, "segments": pl.List(pl.String)})


def iterate_lines(raw: Raw) -> Iterator[str]:
    """Yield the lines of a UTF-8 text without their line ends, under the rules of `read_lines`."""
    with open_raw(raw) as file:
        for line in decode_lines(raw, file):
            yield line[:-1].removesuffix("\r") if line.endswith("\n") else line


def split_lines(pieces: Iterable[bytes], too_large: Callable[[int], Exception]) -> Iterator[list[bytes]]:
    r"""Yield the lines of a file in lists, with their line ends; only "\n" ends a line.

    pieces: of the file, in order; a line may begin in one and end in another. too_large: the error for a line of more than
    `limits.MAX_RECORD` bytes, from the number of lines before it.
    """
    rest, count = b"", 0
    for piece in pieces:
        if end := piece.rfind(b"\n") + 1:
            lines = io.BytesIO(rest + piece[:end]).readlines()
            rest, count = piece[end:], count + len(lines)
            yield lines
        else:
            rest += piece
            if len(rest) > limits.MAX_RECORD:
                raise too_large(count)
    if rest:
        yield [rest]


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
        raise malformed(
            raw,
            f"line {starts[-1]}",
            "a document without segments",
            found="the next document, or the end of the file",
            expected="a segment in the next line",
        )


BATCH = 50_000  # lines of a frame


def moses_batches(first: Raw, second: Raw) -> Iterator[pl.DataFrame]:
    r"""Yield frames of the pairs of lines: number (Int64: the line, from 0), first, second (String, perhaps empty).

    Only "\n" and "\r\n" end a line. `limit` of the first file counts pairs.

    Raises SourceError for text that is not UTF-8, and where one file has more lines than the other.
    """
    pairs = islice(zip_longest(iterate_lines(first), iterate_lines(second)), first.limit)
    start = 0
    while batch := list(islice(pairs, BATCH)):
        for shorter, longer, side in ((first, second, 0), (second, first, 1)):
            if batch[-1][side] is None:
                lines = start + next(number for number, pair in enumerate(batch) if pair[side] is None)
                raise malformed(
                    shorter,
                    "",
                    "the two files of the bitext have different numbers of lines",
                    found=f"{lines:,} lines",
                    expected=f"as many lines as {longer.name}",
                )
        numbers = pl.int_range(start, start + len(batch), dtype=pl.Int64, eager=True).alias("number")
        yield pl.DataFrame(batch, {"first": pl.String, "second": pl.String}, orient="row").insert_column(0, numbers)
        start += len(batch)
