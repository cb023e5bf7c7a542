"""Open a raw file as a stream of bytes: plain, compressed by gzip or zstd, or inside a zip, tar or tar.gz archive."""

import difflib
import io
import lzma
import os
import re
import shutil
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, cast

import pyarrow as pa
from isal import igzip, isal_zlib

from builders import limits
from builders.errors import SourceError
from builders.reading.values import malformed, too_large
from builders.spec import Raw

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


GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK"
TAR_MAGIC, TAR_MAGIC_OFFSET = b"ustar", 257
# zipfile raises RuntimeError for a password, its subclass NotImplementedError for an unknown compression, and ValueError for
# names that are not UTF-8 and for offsets before the file, and IndexError for an empty name.
READ_ERRORS = (
    EOFError,
    LookupError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
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
    """Open a raw file for reading forwards from its first byte to its last.

    Data are decompressed if the name ends in `.gz` or `.zst`: the member's name in an archive, otherwise the file's. All members
    of a gzip file and all frames of a zstd file are read. `as_stored` leaves them compressed, for a digest. Members of zip, tar
    and tar.gz archives are read in place; nothing is extracted.

    Raises SourceError, on opening or from any read, if the file is missing, is not an archive, lacks the member or has it twice,
    if compressed data are truncated or corrupt, and if they exceed a limit of builders.limits. Checksums are compared at the end
    of the data, not before.
    """
    file = _open_file(raw)
    with ExitStack() as stack:
        stack.enter_context(file)
        member: Stream
        try:
            member, trailer = (file, None) if raw.member is None else _open_member(raw, raw.member, file, stack)
            names = (raw.name, raw.path.name) if raw.member is None else (raw.member,)
            stream: io.BufferedIOBase = member
            if not as_stored:
                stream = stack.enter_context(_decompress(raw, names, member))
        except READ_ERRORS as error:
            raise _read_error(raw, error, 0) from error
        # BufferedReader splits lines in C; the reader below it turns read errors into SourceError.
        yield stack.enter_context(io.BufferedReader(_CheckedReader(raw, file, stream, trailer), CHUNK))


def tar_files(raw: Raw) -> Iterator[tuple[str, BinaryIO]]:
    """Yield name and stream of every file of a tar or tar.gz archive, in its order: one pass, in which nothing is read twice.

    A stream can be read until the next one is asked for. `raw.limit` and `raw.member` are ignored, names do not matter for
    compression, and what is left of a file is skipped.

    Raises SourceError as `open_raw` does.
    """
    with ExitStack() as stack:
        try:
            file = stack.enter_context(_open_file(raw))
            archive, decompressed = _open_tar(raw, file, stack)
            for name, stream in _tar_files(raw, archive, os.fstat(file.fileno()).st_size):
                yield name, io.BufferedReader(_CheckedReader(raw, file, stream, None), CHUNK)
            while decompressed is not None and decompressed.read(CHUNK):  # compares the checksum at its end
                pass
        except READ_ERRORS as error:
            raise _read_error(raw, error, 0) from error


def _open_file(raw: Raw) -> io.BufferedReader:
    try:
        return raw.path.open("rb") if raw.opener is None else io.BufferedReader(raw.opener(), CHUNK)
    except OSError as error:
        raise _unreadable(
            raw, error.strerror or str(error), "a file", todo="check that the file exists and that you may read it"
        ) from error


class _CheckedReader(io.RawIOBase):
    """Reads a stream to its end, then `trailer`, so that the archive's own checksum is compared too.

    Read errors become SourceError. `raw.watch` gets the position in the file on disk after every read.
    """

    def __init__(
        self, raw: Raw, file: io.BufferedReader, stream: io.BufferedIOBase, trailer: io.BufferedIOBase | None
    ) -> None:
        self._raw = raw
        self._file = file
        self._stream = stream
        self._trailer = trailer
        self._count = self._lines = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        try:
            data = self._stream.read1(len(view))  # read1 returns the intact data before a corrupt block
            while not data and self._trailer is not None and self._trailer.read(CHUNK):
                pass
        except READ_ERRORS as error:
            raise _read_error(self._raw, error, self._count, self._lines) from error
        view[: len(data)] = data
        self._count += len(data)
        self._lines += data.count(b"\n")
        _refuse_expansion(self._raw, self._count, self._file.tell())
        if self._raw.watch is not None:
            self._raw.watch(self._file.tell())
        return len(data)


class _BoundedReads:
    """A file whose single reads are bounded."""

    def __init__(self, file: io.BufferedIOBase, limit: int) -> None:
        self._file = file
        self._limit = limit
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int) -> bytes:
        if size > self._limit:
            raise tarfile.ReadError(f"a header of {size:,} bytes")
        return self._file.read(size)


def _decompress(raw: Raw, names: tuple[str, ...], stream: Stream) -> io.BufferedIOBase:
    """Decompress data as the names say. The magic bytes are checked here: decompressors read an empty file as empty data."""
    head = stream.peek(len(MAGIC))[:16]
    if any(name.lower().endswith(".gz") for name in names):
        if not head.startswith(GZIP_MAGIC):
            raise _wrong_format(raw, "gzip", head)
        return cast("io.BufferedIOBase", igzip.IGzipFile(fileobj=stream, mode="rb"))
    if any(name.lower().endswith(".zst") for name in names):
        if not head.startswith((MAGIC, *SKIPPABLE)):
            raise _wrong_format(raw, "zstd", head)
        return ZstdReader(cast("BinaryIO", stream))
    return stream


def _open_member(
    raw: Raw, member: str, file: io.BufferedReader, stack: ExitStack
) -> tuple[Stream, igzip.IGzipFile | None]:
    """The member's stream, and the stream to read to its end after it (the decompressed tar of a tar.gz)."""
    head = file.peek(16)[:16]
    if head.startswith(ZIP_MAGIC):
        return _open_zip_member(raw, member, stack.enter_context(zipfile.ZipFile(file))), None
    archive, decompressed = _open_tar(raw, file, stack)
    return _open_tar_member(raw, member, archive, os.fstat(file.fileno()).st_size), decompressed


def _open_tar(raw: Raw, file: io.BufferedReader, stack: ExitStack) -> tuple[tarfile.TarFile, igzip.IGzipFile | None]:
    """A tar archive, and its decompressed stream if it is a tar.gz."""
    head = file.peek(16)[:16]
    decompressed = (
        stack.enter_context(igzip.IGzipFile(fileobj=file, mode="rb")) if head.startswith(GZIP_MAGIC) else None
    )
    archive = decompressed or file
    if not archive.read(512)[TAR_MAGIC_OFFSET:].startswith(TAR_MAGIC):
        raise _wrong_format(raw, "zip, tar or tar.gz", head)
    archive.seek(0)
    # tarfile reads headers of any size into memory.
    bounded = cast("BinaryIO", _BoundedReads(archive, limits.MAX_RECORD))
    return stack.enter_context(tarfile.TarFile(fileobj=bounded)), decompressed


def _open_zip_member(raw: Raw, member: str, archive: zipfile.ZipFile) -> zipfile.ZipExtFile:
    names = [info.filename for info in archive.infolist() if not info.is_dir()]
    if len(names) > limits.MAX_ARCHIVE_MEMBERS:
        raise too_many_members(raw)
    if member not in names:
        raise _no_member(raw, member, names)
    if names.count(member) > 1:
        raise _unreadable(raw, f"several files {member!r} in the archive", "one")
    return cast("zipfile.ZipExtFile", archive.open(member))


def _open_tar_member(raw: Raw, member: str, archive: tarfile.TarFile, size: int) -> io.BufferedReader:
    """The stream of the first member of that name. size: of the archive's file, in bytes."""
    names: list[str] = []
    for name, stream in _tar_files(raw, archive, size):
        if name == member:
            return stream
        names.append(name)
    raise _no_member(raw, member, names)


def _tar_files(raw: Raw, archive: tarfile.TarFile, size: int) -> Iterator[tuple[str, io.BufferedReader]]:
    """Name and stream of the regular files of an archive, in its order."""
    for count, info in enumerate(archive, 1):
        if info.size < 0:
            raise tarfile.ReadError(f"{info.name!r} has the size {info.size}")
        if count > limits.MAX_ARCHIVE_MEMBERS:
            raise too_many_members(raw)
        _refuse_expansion(raw, info.offset_data + info.size, size)
        if info.isreg():
            yield info.name.removeprefix("./"), cast("io.BufferedReader", archive.extractfile(info))


def _read_error(raw: Raw, error: Exception, count: int, lines: int = 0) -> SourceError:
    """The SourceError for a failed read, after `count` bytes of data with `lines` line ends."""
    if isinstance(error, EOFError | tarfile.ReadError):
        problem = "truncated data"
    elif isinstance(error, RuntimeError):
        problem = "a password or an unknown compression"
    else:
        problem = "corrupt data"
    read = f"{count:,} bytes" + (f" and {lines:,} lines" if lines else "")
    return _unreadable(
        raw,
        f"{problem}, after {read} ({str(error) or type(error).__name__})",
        "complete data that match their checksum, without a password",
    )


def _unreadable(raw: Raw, found: str, expected: str, todo: str | None = None) -> SourceError:
    return SourceError(
        f"{raw.name} cannot be read",
        where=str(raw.path),
        found=found,
        expected=expected,
        todo=todo or f"fetch it again: delete {raw.path} and repeat the command",
    )


def _wrong_format(raw: Raw, expected: str, head: bytes) -> SourceError:
    return _unreadable(raw, f"a file that begins with {head!r}" if head else "an empty file", f"{expected} data")


def _refuse_expansion(raw: Raw, size: int, compressed: int) -> None:
    """Refuse data that are far larger than what they are compressed to; both in bytes."""
    if size > limits.FREE_EXPANSION + limits.MAX_EXPANSION * compressed:
        raise _unreadable(
            raw,
            f"compressed data that expand without measure: {size:,} bytes from {compressed:,}",
            f"at most {limits.MAX_EXPANSION} times as many",
        )


def too_many_members(raw: Raw) -> SourceError:
    """The error for an archive with more files than `limits.MAX_ARCHIVE_MEMBERS`."""
    most = f"{limits.MAX_ARCHIVE_MEMBERS:,}"
    return _unreadable(raw, f"an archive of more than {most} files", f"at most {most}")


def _no_member(raw: Raw, member: str, names: list[str]) -> SourceError:
    nearest = difflib.get_close_matches(member, names, n=5, cutoff=0.5) or sorted(names)[:5]
    found = f"{len(names)} other files: {', '.join(map(repr, nearest)) or 'none'}"
    if len(names) > len(nearest):
        found += ", ..."
    return _unreadable(raw, found, f"a file {member!r} in the archive")


def read_members(raw: Raw, names: Collection[str]) -> Iterator[tuple[str, bytes]]:
    """Yield base name and bytes of the files with these base names, from any folder of a zip archive, in its order.

    Nothing is extracted. Names that the archive lacks are skipped. `raw.limit` is ignored.

    Raises SourceError if the archive is missing, not a zip archive, corrupt or password-protected, and if two folders hold a
    file with the same requested name or the archive exceeds a limit of builders.limits.
    """
    requested, paths = frozenset(names), dict[str, str]()
    try:
        with zipfile.ZipFile(raw.path) as archive:
            if len(archive.infolist()) > limits.MAX_ARCHIVE_MEMBERS:
                raise too_many_members(raw)
            for info in archive.infolist():
                name = PurePosixPath(info.filename).name
                if info.is_dir() or name not in requested:
                    continue
                if name in paths:
                    raise malformed(
                        raw,
                        "",
                        "two files with the same name",
                        found=f"{paths[name]} and {info.filename}",
                        expected=f"one {name}",
                    )
                paths[name] = info.filename
                if info.file_size > limits.MAX_MEMBER:  # zipfile reads no more than this size says
                    raise too_large(raw, info.filename, "a file in the archive", limits.MAX_MEMBER)
                yield name, archive.read(info)
    except READ_ERRORS as error:
        raise _unreadable(
            raw,
            str(error) or type(error).__name__,
            "a complete zip archive without a password",
            todo="create the archive again",
        ) from error


SHOWN = 5


@dataclass(frozen=True)
class TarMember:
    """A file of an archive. match: of its name; raw: its bytes, for any reader."""

    match: re.Match[str]
    raw: Raw


def take_members(raw: Raw, pattern: re.Pattern[str], folder: Path) -> list[TarMember]:
    """The files of a tar or tar.gz archive whose names match a pattern as a whole, in the order of the archive.

    Read in one pass; those that match are stored in `folder`, as bytes, under numbers and not their names. `raw.limit` is that of
    each of them.

    Raises SourceError for an archive that is damaged, has no file that matches, or has one of these twice.
    """
    members: list[TarMember] = []
    others: list[str] = []
    folder.mkdir()
    for name, stream in tar_files(raw):
        if (match := pattern.fullmatch(name)) is None:
            others.append(name)
            continue
        if any(member.match.string == name for member in members):
            raise malformed(raw, "", "two files with the same name", found=repr(name), expected="one")
        path = folder / f"{len(members):06d}"
        with path.open("wb") as file:
            shutil.copyfileobj(stream, file)
        members.append(TarMember(match, replace(raw, name=f"{raw.name}: {name}", path=path, watch=None)))
    if not members:
        shown = ", ".join(map(repr, others[:SHOWN])) + (", ..." if len(others) > SHOWN else "")
        raise malformed(
            raw,
            "",
            "no file of the archive is wanted",
            found=shown or "no files",
            expected=f"names that match {pattern.pattern}",
        )
    return members
