"""Decompress zstd data as a stream."""

import io
from typing import BinaryIO, cast

import pyarrow as pa

MAGIC = b"\x28\xb5\x2f\xfd"
SKIPPABLE = tuple(bytes([low]) + b"\x2a\x4d\x18" for low in range(0x50, 0x60))  # frames that hold no data
PIECE = 1 << 16  # bytes per read: what lies before damage in the same piece is lost


class ZstdReader(io.BufferedIOBase):
    """The data of all frames of an open zstd file, in their order; a window is at most 128 MB, as zstd has it by default.

    Its reads raise EOFError for a frame that is cut off, and OSError for anything else that is not a frame.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._data = pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd")

    def read1(self, size: int = -1, /) -> bytes:
        """The next bytes, at most PIECE of them; none at the end."""
        try:
            return cast("bytes", self._data.read(PIECE if size < 0 else min(size, PIECE)))
        except OSError as error:
            problem = str(error).partition("\n")[0][:200]
            if "Truncated" in problem:
                raise EOFError(problem) from error
            raise OSError(problem) from error
