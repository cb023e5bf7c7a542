"""The files of a corpus: what a name on the command line means, the format of each file, and its bytes, plain or compressed.

A name is a file, a folder, a glob, or `hf://datasets/ORG/NAME[@REVISION][/PATH]`. A folder or a repository means
all files below it in a format that is read here; the others are skipped, and listed. Hidden files are skipped without a
word.
"""

import glob
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import orjson
import pyarrow as pa

from builders import limits
from builders.errors import SourceError, UsageError
from pipelines.process.safe_text import first_line
from pipelines.raw.pins import describe_content, read_head

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


Format = Literal["Parquet", "JSON lines", "CSV", "TSV"]
Kind = Literal["file", "folder", "glob"]

FORMATS: dict[str, Format] = {
    ".parquet": "Parquet", ".jsonl": "JSON lines", ".ndjson": "JSON lines", ".json": "JSON lines", ".csv": "CSV", ".tsv": "TSV",
}  # fmt: skip
COMPRESSIONS: dict[str, Compression] = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
READABLE = "Parquet (.parquet), JSON lines (.jsonl, .ndjson, .json), CSV or TSV; all but Parquet also with .gz or .zst"
PARQUET_MAGIC = b"PAR1"
SNIFFED = 1 << 20  # bytes of a .json file in which the first of several JSON lines ends


@dataclass(frozen=True)
class CorpusFile:
    """A file of a corpus.

    name: what matches call it: the name on the command line and the path below it. relative: its path in a copy of the
    corpus. root: the folder that was named, or the file itself. size: in bytes. identity: what changes when its bytes do:
    size and time of the last change, or the digest that the Hub lists.
    """

    name: str
    relative: str
    root: Path
    path: Path
    format: Format
    compression: Compression
    size: int
    identity: str


@dataclass(frozen=True)
class Listing:
    """The files that names lead to, in the order of the names, then by path; and the names of those skipped."""

    files: tuple[CorpusFile, ...]
    skipped: tuple[str, ...]


def list_local_files(names: Sequence[str]) -> Listing:
    """The files that names of local files, folders and globs lead to; a file that several names lead to counts once.

    Raises UsageError for a name that leads to nothing, SourceError for a file that is named and cannot be read.
    """
    files: dict[Path, CorpusFile] = {}
    skipped: list[str] = []
    for name in names:
        for base, path, kind in _paths(name):
            if (found := _local_file(base, path, kind)) is None:
                skipped.append(str(path))
            else:
                files.setdefault(path.resolve(), found)
    return Listing(tuple(files.values()), tuple(skipped))


def data_format(name: str) -> tuple[Format, Compression] | None:
    """The format and the compression that the name of a file says; None for any other file."""
    bare = name.lower()
    compression = COMPRESSIONS.get(PurePosixPath(bare).suffix, "")
    known = FORMATS.get(PurePosixPath(PurePosixPath(bare).stem if compression else bare).suffix)
    return None if known is None or (known == "Parquet" and compression) else (known, compression)


def files_below(root: Path, name: str, paths: Iterable[str], identities: dict[str, str]) -> Listing:
    """The data files among the paths below a folder; `name` is what the folder is called. identities: by path, see
    CorpusFile."""
    files, skipped = [], []
    for path in sorted(paths):
        found = describe_file(root / path, f"{name}/{path}", path, identities[path], root, is_named=False)
        if found is None:
            skipped.append(f"{name}/{path}")
        else:
            files.append(found)
    return Listing(tuple(files), tuple(skipped))


def describe_file(
    path: Path, name: str, relative: str, identity: str, root: Path, *, is_named: bool
) -> CorpusFile | None:
    """A file with its format; None for one that is not a data file, unless it is named itself.

    Raises SourceError for a file that is not what its name says.
    """
    known = data_format(path.name)
    if known is None:
        if is_named:
            raise _wrong_content(path, name, READABLE)
        return None
    data = CorpusFile(name, relative, root, path, *known, path.stat().st_size, identity)
    if not is_named and path.name.lower().endswith(".json") and not _holds_lines(data):
        return None
    _check_content(data)
    return data


def _paths(name: str) -> list[tuple[Path, Path, Kind]]:
    """The files that a name leads to: the folder that their paths are relative to, the path, and what the name is."""
    path = Path(name)
    if path.is_dir():
        return [(path, one, "folder") for one in _below(path)]
    if path.exists():
        return [(path.parent, path, "file")]
    if not glob.has_magic(name):
        todo = "name a file, a folder, a glob or hf://datasets/ORG/NAME"
        raise UsageError("no such file or folder", where=name, todo=todo)
    base = Path(*takewhile(lambda part: not glob.has_magic(part), path.parts))
    matches = map(Path, sorted(glob.glob(name, recursive=True)))  # noqa: PTH207  as the name is written
    files = [file for one in matches for file in (_below(one) if one.is_dir() else [one])]
    if not files:
        todo = "see that the folder is right, and that the shell leaves the glob alone: put it in quotes"
        raise UsageError("the glob matches no file", where=name, todo=todo)
    return [(base, one, "glob") for one in dict.fromkeys(files)]


def _below(folder: Path) -> list[Path]:
    """The files below a folder by path, without hidden ones and those in hidden folders."""
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return [paths[relative] for relative in sorted(paths) if "/." not in f"/{relative}"]


def _local_file(base: Path, path: Path, kind: Kind) -> CorpusFile | None:
    relative, root = path.relative_to(base).as_posix(), base if kind == "folder" else path
    try:
        state = path.stat()
        identity = f"{state.st_size}-{state.st_mtime_ns}"
        return describe_file(path, path.as_posix(), relative, identity, root, is_named=kind == "file")
    except OSError as error:
        found, todo = error.strerror or str(error), "see that it exists and that you may read it"
        raise SourceError("cannot read the file", where=str(path), found=found, todo=todo) from error


def _check_content(file: CorpusFile) -> None:
    """Refuse a file whose first bytes are not those of its format: an HTML page, a git-lfs pointer, a zip archive.

    Raises SourceError.
    """
    head = read_head(file.path)
    magic = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd", "": b""}[file.compression]
    if file.format == "Parquet":
        magic = PARQUET_MAGIC
    if not head.startswith(magic) or (file.compression and not head):
        raise _wrong_content(file.path, file.name, f"{file.compression or file.format} data")
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if file.format == "JSON lines" and not file.compression and text:
        if not text.startswith((b"{", b"[")):
            raise _wrong_content(file.path, file.name, "JSON lines: one object a line")
        if file.path.name.lower().endswith(".json") and not _holds_lines(file):
            raise SourceError(
                "not JSON lines",
                where=file.name,
                found="JSON whose first line is not complete",
                expected="one object a line",
                todo="convert it, for example: jq -c '.[]' FILE.json > FILE.jsonl",
            )


def _holds_lines(file: CorpusFile) -> bool:
    """Whether the first line of a file is complete JSON: an object, or a list of texts."""
    with open_stream(file.path, file.compression, file.name) as stream:
        first = stream.read(SNIFFED).removeprefix(b"\xef\xbb\xbf").lstrip()
    line, end, _ = first.partition(b"\n")
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return not end and len(first) >= SNIFFED
    return isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, str) for item in value))


def _wrong_content(path: Path, name: str, expected: str) -> SourceError:
    return SourceError(
        "not a file that a corpus may have"
        if expected == READABLE
        else "the file is not in the format that its name says",
        where=name,
        found=describe_content(read_head(path), path.stat().st_size),
        expected=expected,
        todo="leave it out, or convert it" if expected == READABLE else "download it again, or give it the right name",
    )
