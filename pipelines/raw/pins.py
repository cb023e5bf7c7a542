"""Pins: what the bytes of a raw file must be, by its source or by the lock file; errors for files that do not match."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from builders.errors import SourceError
from builders.raw_files import RawFile
from pipelines.raw.content_types import describe_content, is_html, is_lfs_pointer
from pipelines.raw.digests import Digest
from pipelines.raw.lock_file import read_lock_file


@dataclass(frozen=True)
class Pin:
    """Everything known in advance about the bytes of a raw file. provenance: who says so, for error messages."""

    sha256: str | None = None
    git_blob: str | None = None
    bytes: int | None = None
    provenance: str = "pinned by the source"

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


def find_pin(source: str, file: RawFile, lock_files: Sequence[Path]) -> Pin:
    """The digests declared by the source, or else the entry of the first lock file that has one.

    Raises SourceError for an invalid lock file.
    """
    if not is_pinned(file):
        for path in lock_files:
            entry = read_lock_file(path).get(f"{source}/{file.name}")
            if entry is not None:
                return Pin(sha256=entry.sha256, bytes=entry.bytes, provenance=f"recorded in {path}")
    return Pin(file.sha256, file.git_blob, file.bytes)


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


def placeholder_error(name: str, where: str, head: bytes, size: int, *, todo: str) -> SourceError | None:
    """The error for a web page or a git-lfs pointer in place of a file, which is recognised without a digest; else None."""
    page = is_html(head) and not name.lower().endswith((".html", ".htm"))
    if not page and not is_lfs_pointer(head):
        return None
    found = describe_content(head, size)
    return SourceError(
        f"{name} is not the file itself", where=where, found=found, expected="the file itself", todo=todo
    )
