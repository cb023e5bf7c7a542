"""The bytes of a corpus file: plain, gzip or zstd; read forwards in pieces, or written."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from builders import limits
from builders.errors import SourceError
from pipelines.safe_text import first_line

Compression = Literal["", "gzip", "zstd"]

PIECE = 4 << 20  # bytes read at a time


class Stream:
    """The decompressed bytes of a file from an offset on. An error names the file and how far it was read."""

    def __init__(self, name: str, file: Any, data: Any) -> None:
        self._name = name
        self._file = file
        self._data = data
        self._count = 0

    def read(self, size: int) -> bytes:
        """The next bytes: fewer than `size` only at the end of the file.

        Raises SourceError for compressed data that are truncated, corrupt, or far larger than a text compresses to.
        """
        try:
            data = bytes(self._data.read(size))
        except (OSError, pa.ArrowException) as error:
            raise SourceError(
                "cannot read the file",
                where=self._name,
                found=f"{first_line(error)}, after {self._count:,} bytes of data",
                expected="a complete file",
                todo="download it again",
            ) from error
        self._count += len(data)
        if self._count > limits.FREE_EXPANSION + limits.MAX_EXPANSION * self.position():
            raise SourceError(
                "compressed data that expand without measure",
                where=self._name,
                found=f"{self._count:,} bytes from {self.position():,}",
                expected=f"at most {limits.MAX_EXPANSION} times as many",
                todo="leave the file out",
            )
        return data

    def position(self) -> int:
        """The offset in the file on disk."""
        return int(self._file.tell())


@contextmanager
def open_stream(path: Path, compression: Compression, name: str, start: int = 0) -> Iterator[Stream]:
    """The bytes of a file from an offset on. name: what errors call it. Raises SourceError."""
    try:
        file = pa.OSFile(str(path))
    except OSError as error:
        todo = "see that it exists and that you may read it"
        raise SourceError("cannot read the file", where=name, found=str(error)[:200], todo=todo) from error
    with file:
        file.seek(start)
        yield Stream(name, file, pa.CompressedInputStream(file, compression) if compression else file)


@contextmanager
def open_output(path: Path, compression: Compression) -> Iterator[Any]:
    """A new file to write bytes into; equal bytes in equal pieces give equal files."""
    with pa.OSFile(str(path), "wb") as file:
        if not compression:
            yield file
            return
        with pa.CompressedOutputStream(file, compression) as stream:
            yield stream
