"""One raw file as a stream of bytes or lines, wherever it lies, and however it is packed."""

from __future__ import annotations

import codecs
import difflib
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from contextlib import ExitStack, contextmanager
from typing import IO, TYPE_CHECKING, BinaryIO

from isal import igzip, isal_zlib

from builders.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _typeshed import WriteableBuffer

    from builders.spec import Raw

GZIP = b"\x1f\x8b"
ZIP = b"PK"
TAR, TAR_AT = b"ustar", 257
# RuntimeError: how zipfile refuses a password, and (its subclass NotImplementedError) a compression it does not know.
BROKEN = (
    EOFError,
    OSError,
    RuntimeError,
    struct.error,
    zlib.error,
    isal_zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
    tarfile.TarError,
)
CHUNK = 1 << 20

Stream = io.BufferedReader | zipfile.ZipExtFile


@contextmanager
def open_raw(raw: Raw, *, as_stored: bool = False) -> Iterator[BinaryIO]:
    """The bytes of one raw file, from first to last; only forward reads.

    A name that ends in `.gz` (the member's in an archive, else the file's) is decompressed, unless the bytes are wanted
    `as_stored`, for a digest; members of zip, tar and tar.gz archives are read where they are, nothing is extracted.

    Raises SourceError, here or from any read, where the file is missing or no archive, has no such member, or where
    packed data are cut off or damaged: the checksums are compared when the end is read, not before.
    """
    try:
        file = raw.path.open("rb")
    except OSError as error:
        todo = "see that the file is there and may be read"
        raise _unreadable(raw, error.strerror or str(error), "a file", todo) from error
    with ExitStack() as stack:
        stack.enter_context(file)
        member: Stream
        try:
            member, rest = (file, None) if raw.member is None else _member(raw, raw.member, file, stack)
            names = (raw.name, raw.path.name) if raw.member is None else (raw.member,)
            packed = not as_stored and any(name.lower().endswith(".gz") for name in names)
            stream = stack.enter_context(_gunzip(raw, member)) if packed else member
        except BROKEN as error:
            raise _broken(raw, error, 0) from error
        # BufferedReader's C code does the line splitting; the guard under it turns what breaks into a SourceError.
        yield stack.enter_context(io.BufferedReader(_Guard(raw, file, stream, rest), CHUNK))


class _Guard(io.RawIOBase):
    """Reads a stream over a file to its end, then `rest` (what an archive's own checksum needs); damage becomes a SourceError."""

    def __init__(
        self, raw: Raw, file: io.BufferedReader, stream: io.BufferedIOBase, rest: io.BufferedIOBase | None
    ) -> None:
        self._raw = raw
        self._file = file
        self._stream = stream
        self._rest = rest
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        view = memoryview(buffer)
        try:
            data = self._stream.read1(len(view))  # what is whole before a damage comes out first
            while not data and self._rest is not None and self._rest.read(CHUNK):
                pass
        except BROKEN as error:
            raise _broken(self._raw, error, self._count) from error
        view[: len(data)] = data
        self._count += len(data)
        if self._raw.watch is not None:
            self._raw.watch(self._file.tell())
        return len(data)


def _gunzip(raw: Raw, stream: Stream) -> igzip.IGzipFile:
    """Decompress; the first bytes are looked at here, since GzipFile takes an empty file for an empty text."""
    head = stream.peek(len(GZIP))[:16]
    if not head.startswith(GZIP):
        raise _not_packed(raw, "gzip", head)
    return igzip.IGzipFile(fileobj=stream, mode="rb")


def _member(raw: Raw, member: str, file: io.BufferedReader, stack: ExitStack) -> tuple[Stream, igzip.IGzipFile | None]:
    """The member's stream, and what to read to its end after it."""
    head = file.peek(16)[:16]
    if head.startswith(ZIP):
        return _zip_member(raw, member, stack.enter_context(zipfile.ZipFile(file))), None
    unpacked = stack.enter_context(igzip.IGzipFile(fileobj=file, mode="rb")) if head.startswith(GZIP) else None
    archive = unpacked or file
    if not archive.read(512)[TAR_AT:].startswith(TAR):
        raise _not_packed(raw, "zip, tar or tar.gz", head)
    archive.seek(0)
    return _tar_member(raw, member, stack.enter_context(tarfile.TarFile(fileobj=archive))), unpacked


def _zip_member(raw: Raw, member: str, archive: zipfile.ZipFile) -> zipfile.ZipExtFile:
    names = [info.filename for info in archive.infolist() if not info.is_dir()]
    if member not in names:
        raise _no_member(raw, member, names)
    stream = archive.open(member)
    assert isinstance(stream, zipfile.ZipExtFile)
    return stream


def _tar_member(raw: Raw, member: str, archive: tarfile.TarFile) -> io.BufferedReader:
    names: list[str] = []
    for info in archive:
        name = info.name.removeprefix("./")
        if name == member and info.isreg():
            stream = archive.extractfile(info)
            assert isinstance(stream, io.BufferedReader)
            return stream
        if info.isreg():
            names.append(name)
    raise _no_member(raw, member, names)


def text_lines(raw: Raw, file: IO[bytes]) -> Iterator[str]:
    r"""The lines of a UTF-8 text with their ends; only "\n" ends a line. Raises SourceError for what is no UTF-8."""
    for number, line in enumerate(file, 1):
        data = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise not_utf8(raw, f"line {number}", error) from error
        yield text


def malformed(raw: Raw, place: str, what: str, *, found: str, expected: str) -> SourceError:
    """The error for one malformed line or record of a file."""
    return SourceError(
        f"{raw.name}: {what}",
        where=f"{raw.name}, {place}" if place else raw.name,
        found=found,
        expected=expected,
        todo=f"if {raw.path} is not the published file, fetch it again; if it is, its format has changed",
    )


def not_utf8(raw: Raw, place: str, error: UnicodeDecodeError) -> SourceError:
    """The error for bytes that are no UTF-8; `place` is where they begin."""
    found = f"byte 0x{error.object[error.start]:02x} at byte {error.start + 1} of it ({error.reason})"
    return malformed(raw, place, "the text is not UTF-8", found=found, expected="UTF-8")


def shorten(text: str, width: int = 60) -> str:
    """Enough of a text to know it by, in quotes, with control characters escaped."""
    return repr(text if len(text) <= width else text[:width] + "...")


def _broken(raw: Raw, error: Exception, count: int) -> SourceError:
    """What a failing read means to the user; `count` bytes came out before it."""
    if isinstance(error, EOFError | tarfile.ReadError):
        state = "the packed data end too early"
    elif isinstance(error, RuntimeError):
        state = "the archive asks for what no reader can do"
    else:
        state = "the data are damaged"
    found = f"{state}, after {count:,} bytes were read ({str(error) or type(error).__name__})"
    return _unreadable(raw, found, "complete data that match their checksum and have no password", _again(raw))


def _unreadable(raw: Raw, found: str, expected: str, todo: str) -> SourceError:
    return SourceError(f"{raw.name} cannot be read", where=str(raw.path), found=found, expected=expected, todo=todo)


def _again(raw: Raw) -> str:
    return f"fetch it again: delete {raw.path} and repeat the command"


def _not_packed(raw: Raw, kind: str, head: bytes) -> SourceError:
    found = f"a file that begins with {head!r}" if head else "an empty file"
    return _unreadable(raw, found, f"{kind} data", _again(raw))


def _no_member(raw: Raw, member: str, names: list[str]) -> SourceError:
    near = difflib.get_close_matches(member, names, n=5, cutoff=0.5) or sorted(names)[:5]
    found = f"{len(names)} other files: {', '.join(map(repr, near)) or 'none'}"
    if len(names) > len(near):
        found += ", ..."
    return _unreadable(raw, found, f"a file {member!r} in the archive", _again(raw))
