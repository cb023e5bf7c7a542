"""Pins: what the bytes of a raw file must be, by its source or by the lock file; errors for files that do not match.

    {"<source>/<name>": {"bytes": 1234, "sha256": "64 hex digits"}, ...}    and "commit": "40 hex digits" of a moving file

A file that is the same for all sources, the index of benchmarks, has one entry, under its name alone.

Committed, it makes every later download of such a file verifiable.
"""

import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import msgspec

from builders.catalogue import Definition
from builders.errors import SourceError
from builders.raw_files import ByHand, RawFile
from builders.spec import AS_PUBLISHED, published_key
from cards.manifest import INVALID_JSON, Count, Sha256
from pipelines.process.files import write_atomically
from pipelines.process.installation import is_checkout
from pipelines.process.terminal import format_size
from pipelines.raw.digests import Digest, default_cache

LOCK_FILE = Path(__file__).parents[1] / "raw.lock.json"
Commit = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{40}$(?!\n)")]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LockEntry:
    """The recorded digest and size of one raw file, and the commit that the Hub sent it from, where it said one."""

    sha256: Sha256
    bytes: Count
    commit: Commit | None = None


def read_lock_file(path: Path) -> dict[str, LockEntry]:
    """The entries of a lock file, by `<source>/<name>`; none where the file does not exist.

    Raises SourceError, with the key of the invalid entry, for a lock file with other content.
    """
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise _invalid(path, str(error)) from error
    try:
        entries = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
    except INVALID_JSON as error:
        raise _invalid(path, str(error)) from error
    return {key: _read_entry(path, key, entry) for key, entry in entries.items()}


def record_entry(name: str, entry: LockEntry, paths: Sequence[Path]) -> None:
    """Add what is known of a file to the first of the lock files that can be written, and log it.

    The lock file of an installed package is never written. An existing entry stays as it is. The caller holds a lock that keeps
    other writers out.

    Raises SourceError for an invalid lock file.
    """
    failure = ""
    for path in paths:
        if path == LOCK_FILE and not is_checkout():
            continue
        entries = {name: entry} | read_lock_file(path)
        content = {key: {k: v for k, v in asdict(known).items() if v is not None} for key, known in entries.items()}
        try:
            write_atomically(path, json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
        except OSError as error:
            failure = error.strerror or str(error)
        else:
            logger.info("%s: no known digest; recorded sha256 %s in %s", name, entry.sha256, path)
            return
    logger.info("%s: no known digest; sha256 %s could not be recorded: %s", name, entry.sha256, failure)


def _read_entry(path: Path, key: str, entry: msgspec.Raw) -> LockEntry:
    """One entry, decoded by itself: errors of msgspec name the field that is invalid, but not the key of the entry."""
    try:
        return msgspec.json.decode(entry, type=LockEntry)
    except INVALID_JSON as error:
        raise _invalid(path, f"{key}: {error}") from error


def _invalid(path: Path, found: str) -> SourceError:
    return SourceError(
        "the lock file of raw files is invalid",
        where=str(path),
        found=found,
        expected='{"<source>/<name>": {"sha256": "64 hex digits", "bytes": a number}}',
        todo="fix it by hand, or restore it from version control",
    )


HEAD = 512  # bytes; enough to recognise an HTML page, a git-lfs pointer or a tar archive
# What a git repository holds in place of a file in git-lfs begins so.
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
# How texts begin, in lower case, behind a byte order mark and white space.
TEXT_SIGNATURES = (
    (b"<!doctype html", "an HTML page"),
    (b"<html", "an HTML page"),
    (b"{", "JSON"),
    (b"[", "JSON"),
    (b"<?xml", "an XML document"),
)


def read_head(path: Path) -> bytes:
    """The first bytes of a file. Raises OSError."""
    with path.open("rb") as stream:
        return stream.read(HEAD)


def describe_content(head: bytes, size: int) -> str:
    """The type and size of a file in words, from its first bytes: "an HTML page of 2 KB"."""
    return f"{_content_type(head)} of {format_size(size)}"


def _content_type(head: bytes) -> str:
    text, tar = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower(), ((b"ustar", "a tar archive"),)
    for start, signatures in ((head, SIGNATURES), (head[257:], tar), (text, TEXT_SIGNATURES)):
        for signature, content_type in signatures:
            if start.startswith(signature):
                return content_type
    if not head:
        return "an empty file"
    return "binary data" if b"\0" in head else "text"


@dataclass(frozen=True)
class Pin:
    """Everything known in advance about the bytes of a raw file, and the commit of a moving one.

    provenance: who says so, for error messages.
    """

    sha256: str | None = None
    git_blob: str | None = None
    bytes: int | None = None
    provenance: str = "pinned by the source"
    commit: str | None = None

    @property
    def has_digest(self) -> bool:
        """Whether a digest is known, so that a file can be verified."""
        return self.sha256 is not None or self.git_blob is not None

    def __str__(self) -> str:
        """The digests, as error messages show them."""
        parts = (
            self.sha256 and f"sha256 {self.sha256}",
            self.git_blob and f"git blob {self.git_blob}",
            f"{self.bytes:,} bytes" if self.bytes is not None else None,
        )
        digests = ", ".join(part for part in parts if part)
        return f"{digests} ({self.provenance})" if digests else "no known digest"

    def matches(self, digest: Digest) -> bool:
        """Whether a file with these digests can be the pinned one."""
        pairs = (
            (self.sha256, digest.sha256),
            (self.git_blob, digest.git_blob),
            (self.bytes, digest.bytes),
        )
        return all(expected is None or expected == found for expected, found in pairs)


def is_pinned(file: RawFile) -> bool:
    """Whether the source itself declares a digest of a file."""
    return file.sha256 is not None or file.git_blob is not None


def is_shared(file: RawFile) -> bool:
    """Whether it is one file for all sources."""
    return isinstance(file.location, ByHand) and file.location.is_shared


def lock_names(source: str, file: RawFile) -> list[str]:
    """The names by which a lock file may have a file, those of its source first."""
    return [f"{source}/{file.name}", *([file.name] if is_shared(file) else [])]


def find_pin(source: str, file: RawFile, lock_files: Sequence[Path]) -> Pin:
    """The digests declared by the source, or else those of the first lock file that has one; a size likewise.

    Raises SourceError for an invalid lock file.
    """
    pin = Pin(file.sha256, file.git_blob, file.bytes)
    for path in lock_files:
        entries = read_lock_file(path)
        entry = next((entries[name] for name in lock_names(source, file) if name in entries), None)
        if entry is not None and not pin.has_digest:
            return Pin(entry.sha256, None, entry.bytes, f"recorded in {path}", entry.commit)
        if entry is not None and pin.bytes is None and entry.sha256 == pin.sha256:
            return replace(pin, bytes=entry.bytes)
    return pin


def is_waiting(definition: Definition, version: str, lock_files: Sequence[Path] = ()) -> bool:
    """Whether a version is not offered yet: it waits for `decide`, as no digest of the file with its keys is known.

    lock_files: default: that of this package, then that of the cache. Raises SourceError for an invalid one.
    """
    source, key = definition.source, published_key(definition.dataset.name)
    return (
        version == AS_PUBLISHED
        and not find_pin(
            source.name, source.files[key], lock_files or (LOCK_FILE, default_cache() / "raw.lock.json")
        ).has_digest
    )


def wrong_file_error(name: str, where: str, head: bytes, found: Digest | int, pin: Pin, *, todo: str) -> SourceError:
    """The error for a file that does not match its pin. head: its first bytes. found: its digests, or its size in bytes."""
    size = found if isinstance(found, int) else found.bytes
    details = f"{found:,} bytes" if isinstance(found, int) else str(found)
    return SourceError(
        f"{name} is not the pinned file",
        where=where,
        found=f"{describe_content(head, size)} ({details})",
        expected=str(pin),
        todo=todo,
    )


def require_content(name: str, where: str, head: bytes, digest: Digest, pin: Pin, *, todo: str) -> None:
    """Raise SourceError for a file that does not match its pin, and for a page or pointer in place of one without a digest."""
    if not pin.matches(digest):
        raise wrong_file_error(name, where, head, digest, pin, todo=todo)
    if not pin.has_digest and (error := placeholder_error(name, where, head, digest.bytes, todo=todo)) is not None:
        raise error


def placeholder_error(name: str, where: str, head: bytes, size: int, *, todo: str) -> SourceError | None:
    """The error for a web page or a git-lfs pointer in place of a file, which is recognised without a digest; else None."""
    page = _content_type(head) == "an HTML page" and not name.lower().endswith((".html", ".htm"))
    if not page and not head.startswith(LFS_POINTER):
        return None
    return SourceError(
        f"{name} is not the file itself",
        where=where,
        found=describe_content(head, size),
        expected="the file itself",
        todo=todo,
    )
