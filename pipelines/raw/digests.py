"""What a raw file's bytes are: hashed as they stream, remembered for the next command, and described in words."""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from builders.errors import SourceError
from builders.reading.archives import open_raw
from pipelines.terminal import progress, size_words

if TYPE_CHECKING:
    from pathlib import Path

    from builders.spec import Raw

CHUNK = 1 << 20
HEAD = 512  # enough to tell an HTML page, a git-lfs pointer or a tar archive
SETTLED = 2_000_000_000  # ns: within it two writes may carry one time stamp, so a younger file is not remembered
LFS_POINTER = b"version https://git-lfs.github.com/spec/"
SIGNATURES = (
    (LFS_POINTER, "a git-lfs pointer"),
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"BZh", "bzip2 data"),
    (b"\xfd7zXZ\x00", "xz data"),
    (b"\x28\xb5\x2f\xfd", "zstd data"),
    (b"PAR1", "a Parquet file"),
    (b"%PDF", "a PDF document"),
)


@dataclass(frozen=True)
class Digest:
    """A file's sha256 and size, and its git blob id where it was asked for."""

    sha256: str
    bytes: int
    git_blob: str | None = None

    def __str__(self) -> str:
        """The digests, as error messages show them."""
        blob = f", git blob {self.git_blob}" if self.git_blob else ""
        return f"sha256 {self.sha256}{blob}, {self.bytes:,} bytes"


class Hasher:
    """The digests of bytes as they come.

    blob_size: the size to expect where a git blob id is wanted, for it is hashed before the content.
    """

    def __init__(self, blob_size: int | None = None) -> None:
        self.size = 0
        self._sha256 = hashlib.sha256()
        self._blob_size = blob_size
        self._blob = None if blob_size is None else hashlib.sha1(b"blob %d\0" % blob_size, usedforsecurity=False)

    def update(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self.size += len(chunk)
        self._sha256.update(chunk)
        if self._blob is not None:
            self._blob.update(chunk)

    def digest(self) -> Digest:
        """The digests of what came so far; no git blob id where its size turned out to be another."""
        blob = self._blob.hexdigest() if self._blob is not None and self.size == self._blob_size else None
        return Digest(self._sha256.hexdigest(), self.size, blob)


def file_digest(raw: Raw, memo: Path, *, blob: bool = False) -> Digest:
    """The digests of a raw file (or of an archive's member), from the folder `memo` if it has not changed since.

    What is remembered hangs on the file's path, size, times and inode; a lost or damaged note means hashing anew.

    Raises SourceError for a file that cannot be read and an archive that is damaged or lacks the member.
    """
    note, before = _note(raw, memo)
    remembered = _recall(note, before)
    if remembered is not None and (remembered.git_blob or not blob):
        return remembered
    size = before["size"] if raw.member is None else None
    digest = _hash(raw, size, blob=blob)
    if blob and digest.git_blob is None:  # of an archive's member the size is known only now
        digest = _hash(raw, digest.bytes, blob=True)
    if time.time_ns() - before["mtime_ns"] > SETTLED:
        _write(note, before, digest)
    return digest


def _hash(raw: Raw, size: int | None, *, blob: bool) -> Digest:
    hashing = Hasher(size if blob else None)
    with open_raw(raw, as_stored=True) as stream, progress(f"checking {raw.name}", size, delay=1) as bar:
        while chunk := stream.read(CHUNK):
            hashing.update(chunk)
            bar.update(len(chunk))
    return hashing.digest()


def remember(raw: Raw, memo: Path, digest: Digest) -> None:
    """Note the digests of a file that was hashed while it was written."""
    _write(*_note(raw, memo), digest)


def _note(raw: Raw, memo: Path) -> tuple[Path, dict[str, Any]]:
    """Where the digests of a file are remembered, and what they hang on."""
    try:
        path = str(raw.path.resolve())
        status = raw.path.stat()
    except OSError as error:
        found = error.strerror or str(error)
        raise SourceError(f"{raw.name} cannot be read", where=str(raw.path), found=found) from error
    state = {
        "path": path,
        "member": raw.member,
        "size": status.st_size,
        "mtime_ns": status.st_mtime_ns,
        "ctime_ns": status.st_ctime_ns,
        "inode": status.st_ino,
    }
    key = hashlib.sha256(json.dumps([path, raw.member]).encode()).hexdigest()
    return memo / f"{key[:32]}.json", state


def _recall(note: Path, state: dict[str, Any]) -> Digest | None:
    try:
        content = json.loads(note.read_bytes())
        if content["of"] != state:
            return None
        digest = Digest(**content["digest"])
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return digest if isinstance(digest.sha256, str) and isinstance(digest.bytes, int) else None


def _write(note: Path, state: dict[str, Any], digest: Digest) -> None:
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        replace_text(note, json.dumps({"of": state, "digest": asdict(digest)}))
    except OSError:
        pass  # only time is lost: the next command hashes again


def replace_text(path: Path, text: str) -> None:
    """Write a small file whole or not at all. Raises OSError."""
    beside = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def read_head(path: Path) -> bytes:
    """A file's first bytes. Raises OSError."""
    with path.open("rb") as stream:
        return stream.read(HEAD)


def describe(head: bytes, size: int) -> str:
    """What bytes look like, for a person: "an HTML page of 2 KB"."""
    return f"{_kind(head)} of {size_words(size)}"


def _kind(head: bytes) -> str:
    for signature, kind in SIGNATURES:
        if head.startswith(signature):
            return kind
    if head[257:262] == b"ustar":
        return "a tar archive"
    if is_html(head):
        return "an HTML page"
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith((b"{", b"[")):
        return "JSON"
    if text.startswith(b"<?xml"):
        return "an XML document"
    if not head:
        return "an empty file"
    return "binary data" if b"\0" in head else "text"


def is_html(head: bytes) -> bool:
    """Whether a file begins like an HTML page."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip().lower().startswith((b"<!doctype html", b"<html"))
