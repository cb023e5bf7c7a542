"""The lines of text files, a few megabytes at a time, and where such a file can be divided."""

import io
from collections.abc import Callable, Iterator

from builders import limits
from pipelines.corpus_scan.batches import row_error
from pipelines.corpus_scan.corpus_files import CorpusFile
from pipelines.corpus_scan.streams import PIECE, open_stream


def read_lines(
    file: CorpusFile,
    start: int = 0,
    stop: int | None = None,
    first_row: int = 0,
    advance: Callable[[int], None] | None = None,
) -> Iterator[list[bytes]]:
    """The lines between two offsets, with their line ends, in lists of a few megabytes.

    start, stop: offsets of the beginnings of lines, in the decompressed data; stop may be None, for the end. first_row:
    of the first line, for errors. advance: gets the bytes on disk that were read since its last call.

    Raises SourceError for data that cannot be decompressed, and for a line of more than `limits.MAX_RECORD` bytes.
    """
    offset = 0 if file.compression else start
    with open_stream(file.path, file.compression, file.name, offset) as stream:
        while offset < start and (skipped := stream.read(min(PIECE, start - offset))):
            offset += len(skipped)
        rest, row, position = b"", first_row, stream.position()
        while data := stream.read(PIECE if stop is None else min(PIECE, stop - offset)):
            offset += len(data)
            if advance is not None:
                advance(stream.position() - position)
                position = stream.position()
            end = data.rfind(b"\n") + 1
            if not end:
                rest += data
                if len(rest) > limits.MAX_RECORD:
                    found, expected = f"more than {limits.MAX_RECORD:,} bytes", f"at most {limits.MAX_RECORD:,} bytes"
                    todo = "see that the file has line ends, or leave it out"
                    raise row_error(file.name, row, "a line is too large", found=found, expected=expected, todo=todo)
                continue
            lines = io.BytesIO(rest + data[:end]).readlines()
            rest, row = data[end:], row + len(lines)
            yield lines
        if rest:
            yield [rest]


def find_line_borders(file: CorpusFile, size: int) -> Iterator[tuple[int, int]]:
    """Where a plain file is divided into pieces of at least `size` bytes: offset and row of the first line of each.

    The lines are counted at the speed of the disk.
    """
    with open_stream(file.path, "", file.name) as stream:
        offset, row, target = 0, 0, size
        yield offset, row
        while data := stream.read(PIECE):
            counted = 0
            while end := data.find(b"\n", max(counted, target - 1 - offset)) + 1:
                row, counted, target = row + data.count(b"\n", counted, end), end, offset + end + size
                if offset + end < file.size:
                    yield offset + end, row
            row, offset = row + data.count(b"\n", counted), offset + len(data)
