"""Files at addresses, such as s3://bucket/folder: listed here, and read by whoever needs their bytes, through fsspec.

Names and passwords are not ours: each process finds its own, as the library of the file system does (AWS_ACCESS_KEY_ID,
~/.aws, the role of a machine, HF_TOKEN, ~/.config/fsspec).
"""

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from glob import has_magic
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Any

import fsspec

from builders.errors import DatasetError, SourceError, UsageError
from pipelines.process.safe_text import first_line, mask_tokens

ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^:]+", re.ASCII)
HUB = "hf://"
BLOCK = 4 << 20  # bytes of a request
BLOCKS = 16  # that an open file holds: columns of Parquet are read side by side
LINE = 1 << 18  # bytes in which the end of a line is looked for
VERSIONS = (
    "ETag",
    "etag",
    "LastModified",
    "mtime",
    "created",
    "blob_id",
)  # what changes with the bytes, in the terms of file systems


@dataclass(frozen=True)
class AddressedFile:
    """A file at an address. relative: its path below the folder that was named. version: what changes when its bytes do."""

    address: str
    relative: str
    size: int
    version: str


def list_addresses(name: str) -> list[AddressedFile]:
    """The files at an address, below it, or that it matches as a glob, by path; without hidden ones.

    Raises SourceError where nothing is there or it cannot be read, UsageError for a file system that is not installed.
    """
    with _reading(name) as (system, path):
        system.invalidate_cache()
        if has_magic(path):
            base = PurePosixPath(*takewhile(lambda part: not has_magic(part), PurePosixPath(path).parts))
            found = system.glob(path, detail=True)
        elif (info := system.info(path))["type"] == "directory":
            base, found = PurePosixPath(path), system.find(path, detail=True)
        else:
            base, found = PurePosixPath(path).parent, {path: info}
        files = []
        for key, info in sorted(found.items()):
            relative = PurePosixPath(key).relative_to(base).as_posix()
            if info["type"] == "file" and "/." not in f"/{relative}":
                files.append(AddressedFile(system.unstrip_protocol(key), relative, info["size"], _version(info)))
    if not files:
        raise SourceError("no file at the address", where=name, todo="see that the address is right")
    return files


def find_version(address: str) -> str:
    """The version of a file, as it is now: its size, a space, and its ETag or time of change; `0 no file` where it is gone.

    Raises SourceError as `list_addresses` does.
    """
    with _reading(address) as (system, path):
        system.invalidate_cache()
        try:
            return _version(system.info(path))
        except FileNotFoundError:
            return "0 no file"


def read_range(address: str, start: int, stop: int) -> bytes:
    """Some bytes of a file; fewer at its end. Raises SourceError as `list_addresses` does."""
    with _reading(address) as (system, path):
        exactly = {} if system.async_impl else {"cache_type": "none"}  # or it reads ahead
        return bytes(system.cat_file(path, start=start, end=stop, **exactly))


def find_line(address: str, offset: int, size: int) -> int:
    """Where the first line begins at or after an offset of a plain file; its size where none does.

    Raises SourceError as `list_addresses` does.
    """
    position = offset - 1
    while 0 <= position < size:
        data = read_range(address, position, min(position + LINE, size))
        if end := data.find(b"\n") + 1:
            return position + end
        position += len(data)
    return max(position, 0)


def open_address(address: str) -> "AddressReader":
    """A file, to be read in blocks, anywhere. Raises SourceError as `list_addresses` does, also from any read."""
    with _reading(address) as (system, path):
        options = {"cache_type": "blockcache", "cache_options": {"maxblocks": BLOCKS}}
        return AddressReader(address, system.open(path, "rb", block_size=BLOCK, **options))


def upload(path: Path, address: str, relative: str) -> None:
    """Write a local file below an address. Raises SourceError as `list_addresses` does."""
    with _reading(f"{address}/{relative}") as (system, target):
        system.put_file(str(path), target)


def require_free(address: str, marker: str, *, overwrite: bool) -> None:
    """Raise UsageError where files are below an address, unless they may be replaced. marker: a file there that is removed."""
    with _reading(address) as (system, folder):
        system.invalidate_cache()
        if (found := sorted(system.find(folder))) and not overwrite:
            todo = "name an address without files, or pass --overwrite, which replaces files of the same names"
            raise UsageError("files are at the address of an output", where=address, found=found[0], todo=todo)
        if f"{folder}/{marker}" in found:
            system.rm_file(f"{folder}/{marker}")


class AddressReader(io.RawIOBase):
    """The bytes of a file at an address; what goes wrong is an error of this package."""

    def __init__(self, address: str, file: Any) -> None:
        self._address = address
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with _reading(self._address):
            data = self._file.read(len(buffer))
        memoryview(buffer)[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        self._file.close()
        super().close()


def _version(info: Mapping[str, Any]) -> str:
    """The size of a file, and its ETag or the time of its last change."""
    return f"{info['size']} {next((info[name] for name in VERSIONS if info.get(name)), '')}"


@contextmanager
def _reading(address: str) -> Iterator[tuple[Any, str]]:
    """The file system of an address, and the path in it. What it says in exceptions of its own is said in words."""
    try:
        yield fsspec.core.url_to_fs(address)
    except DatasetError:
        raise
    except Exception as error:
        kind, (what, todo) = _error_kind(error), _ERRORS[_error_kind(error)]
        found = mask_tokens(first_line(error) if kind else f"{type(error).__name__}: {first_line(error)}")
        wrong = UsageError if kind == "unknown" else SourceError
        raise wrong(what, where=address, found=found, todo=todo) from error


_ERRORS = {
    "unknown": (
        "addresses of this kind cannot be read",
        "for s3://, pip install 'embedding-datasets[s3]'; for others, the package that fsspec names",
    ),
    "missing": ("nothing is at the address", "see that the names of the bucket, folder and file are right"),
    "denied": (
        "access to the address is denied",
        "see that the credentials may read it, on every node of a cluster: AWS_ACCESS_KEY_ID, ~/.aws, HF_TOKEN, hf auth login",
    ),
    "changed": (
        "the file was changed while it was read",
        "run it again when nothing writes to the file; nothing was written of this run",
    ),
    "": (
        "the address cannot be read",
        "see that the address answers, and run it again: what is finished is not repeated",
    ),
}


def _error_kind(error: Exception) -> str:
    name = type(error).__name__
    if "Repo" in f"{name} {type(error.__cause__).__name__}":  # of the Hub: private, gated, disabled or gone since
        return "denied"
    if isinstance(error, ImportError | ValueError):
        return "unknown"
    if isinstance(error, FileNotFoundError):
        return "missing"
    if name == "FileExpired":  # of s3fs, whose reads name the ETag that they expect
        return "changed"
    return "denied" if isinstance(error, PermissionError) or "Credentials" in name else ""
