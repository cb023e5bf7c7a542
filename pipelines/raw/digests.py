"""Digests of raw files, computed while the bytes stream by; and the cache, which keeps downloads and digests."""

import errno
import hashlib
import io
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import msgspec
import platformdirs

from builders.errors import SourceError
from builders.reading.archives import open_raw
from builders.spec import Raw
from cards.manifest import INVALID_JSON
from pipelines.process.files import locked, write_atomically
from pipelines.process.terminal import progress_bar

CHUNK = 1 << 20
# ns. Two writes within this time may leave the same time stamp: a younger file is not cached, as it may still change unnoticed.
TIMESTAMP_RESOLUTION = 2_000_000_000


@dataclass(frozen=True)
class Digest:
    """The sha256 and the size of a file, its git blob id where a pin needs it, and the commit that the Hub sent it from."""

    sha256: str
    bytes: int
    git_blob: str | None = None
    commit: str | None = None

    def __str__(self) -> str:
        """The digests, as error messages show them."""
        blob = f", git blob {self.git_blob}" if self.git_blob else ""
        return f"sha256 {self.sha256}{blob}, {self.bytes:,} bytes"


class Hasher:
    """Computes the digests of bytes that arrive in chunks.

    blob_size: the expected size where a git blob id is needed, which hashes the size before the content.
    """

    def __init__(self, blob_size: int | None = None) -> None:
        self.size = 0
        self._sha256 = hashlib.sha256()
        self._blob_size = blob_size
        self._blob = None if blob_size is None else hashlib.sha1(b"blob %d\0" % blob_size, usedforsecurity=False)

    def update(self, chunk: bytes) -> None:
        """Add the next bytes."""
        self.size += len(chunk)
        self._sha256.update(chunk)
        if self._blob is not None:
            self._blob.update(chunk)

    def digest(self) -> Digest:
        """The digests of all bytes so far; without a git blob id if their number is not the expected size."""
        blob = self._blob.hexdigest() if self._blob is not None and self.size == self._blob_size else None
        return Digest(self._sha256.hexdigest(), self.size, blob)


def hash_content(content: bytes | Path) -> Digest:
    """All digests of a file, given as its content or its path."""
    with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as stream:
        return hash_stream(stream, len(content) if isinstance(content, bytes) else content.stat().st_size).digest()


def hash_stream(stream: IO[bytes], blob_size: int | None, advance: Callable[[int], object] = lambda _: None) -> Hasher:
    """Hash the rest of a stream. blob_size: as for Hasher. advance: called with the size of each chunk."""
    hasher = Hasher(blob_size)
    while chunk := stream.read(CHUNK):
        hasher.update(chunk)
        advance(len(chunk))
    return hasher


def hash_file(raw: Raw, cache: Path, *, git_blob: bool = False) -> Digest:
    """The digests of a raw file, or of a member of an archive; from the cache if the file has not changed since.

    cache: the directory of cached digests; where an entry is missing or damaged, the file is hashed again. git_blob: compute the
    git blob id too.

    Raises SourceError for a file that cannot be read, and for an archive that is damaged or lacks the member.
    """
    state = _file_state(raw)
    cached = _read_cached(_cache_path(cache, state), state)
    if cached is not None and (cached.git_blob or not git_blob):
        return cached
    size = state["size"] if raw.member is None else None
    digest = _hash(raw, size, git_blob=git_blob)
    if git_blob and digest.git_blob is None:  # the first pass found the size of the archive's member
        digest = _hash(raw, digest.bytes, git_blob=True)
    if time.time_ns() - state["mtime_ns"] > TIMESTAMP_RESOLUTION:
        _write_cached(cache, state, digest)
    return digest


def cache_digest(raw: Raw, cache: Path, digest: Digest) -> None:
    """Cache the digests of a file that was hashed while it was written."""
    _write_cached(cache, _file_state(raw), digest)


def _hash(raw: Raw, size: int | None, *, git_blob: bool) -> Digest:
    with open_raw(raw, as_stored=True) as stream, progress_bar(f"checking {raw.name}", size, delay=1) as bar:
        return hash_stream(stream, size if git_blob else None, bar.update).digest()


def _file_state(raw: Raw) -> dict[str, Any]:
    """What identifies an unchanged file: a cached digest holds as long as all of it is the same."""
    try:
        path = str(raw.path.resolve())
        status = raw.path.stat()
    except OSError as error:
        raise SourceError(
            f"{raw.name} cannot be read", where=str(raw.path), found=error.strerror or str(error)
        ) from error
    times = {"mtime_ns": status.st_mtime_ns, "ctime_ns": status.st_ctime_ns}
    return {"path": path, "member": raw.member, "size": status.st_size, **times, "inode": status.st_ino}


def _cache_path(cache: Path, state: dict[str, Any]) -> Path:
    key = hashlib.sha256(json.dumps([state["path"], state["member"]]).encode()).hexdigest()
    return cache / f"{key[:32]}.json"


def _read_cached(path: Path, state: dict[str, Any]) -> Digest | None:
    """The digest in a file of the digest cache, which also holds the state of the file when it was hashed."""
    try:
        hashed_state, digest = msgspec.json.decode(path.read_bytes(), type=tuple[dict[str, Any], Digest])
    except (OSError, *INVALID_JSON):
        return None
    return digest if hashed_state == state else None


def _write_cached(cache: Path, state: dict[str, Any], digest: Digest) -> None:
    _write_if_possible(_cache_path(cache, state), json.dumps([state, asdict(digest)]))


def _write_if_possible(path: Path, content: str | bytes) -> None:
    """Write a file of the cache. Where that is not possible, the next command computes the content again."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)


def default_cache() -> Path:
    """EMBEDDING_DATASETS_CACHE, or else the directory where this system keeps a user's caches."""
    if configured := os.environ.get("EMBEDDING_DATASETS_CACHE"):
        return Path(configured).expanduser().absolute()
    return Path(platformdirs.user_cache_dir("embedding-datasets"))


def read_cached(name: str) -> bytes | None:
    """What `write_cached` wrote; None where nothing is cached under this name, or it is damaged."""
    try:
        digest, _, content = (default_cache() / name).read_bytes().partition(b"\n")
    except OSError:
        return None
    return content if digest == hashlib.sha256(content).hexdigest().encode() else None


def write_cached(name: str, content: bytes) -> None:
    """Cache what can be computed again, with its SHA-256 in a line before it. Does nothing where the cache cannot be written."""
    _write_if_possible(default_cache() / name, hashlib.sha256(content).hexdigest().encode() + b"\n" + content)


@contextmanager
def lock_cached_file(path: Path, name: str, *, activity: str = "downloading") -> Iterator[None]:
    """Hold `<path>.lock`, so that no other command writes the same file of the cache; see `pipelines.process.files.locked`.

    Raises SourceError where the directory is not writable.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(path.with_name(f"{path.name}.lock"), name, activity=activity))
        except OSError as error:
            raise unusable_cache_error(path.parent, error) from error
        yield


def unusable_cache_error(directory: Path, error: OSError) -> SourceError:
    """The error for a cache that cannot be written."""
    unusable = SourceError(
        "the cache cannot be used",
        where=str(directory),
        found=str(error),
        todo="set EMBEDDING_DATASETS_CACHE to a writable directory",
    )
    return unusable.of_this_machine()


@contextmanager
def disk_errors(name: str, target: Path) -> Iterator[None]:
    """Create the folder of a file of the cache; an OSError in the block becomes the error for a cache that cannot be written."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
            raise unusable_cache_error(target.parent, error) from error
        raise SourceError(
            f"{name}: the disk is full",
            where=str(target.parent),
            found=error.strerror,
            todo="free some space, or set EMBEDDING_DATASETS_CACHE to a directory on a larger disk; the next run resumes",
        ).of_this_machine() from error
