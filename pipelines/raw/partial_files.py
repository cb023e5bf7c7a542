"""A download that is under way: the bytes received so far, and the version of the file that they belong to.

<target>.part         the bytes received so far
<target>.part.json    the URL they came from, and the version and size of the file on the server
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from cards.manifest import INVALID_JSON
from pipelines.process.files import write_atomically
from pipelines.raw.digests import Digest, Hasher, hash_stream
from pipelines.raw.pins import Pin


@dataclass(frozen=True)
class FileVersion:
    """What identifies one version of a file on its server: its strong ETag, its Last-Modified date; None where not sent.

    commit: that the Hub sends it from.
    """

    etag: str | None = None
    modified: str | None = None
    commit: str | None = None

    @property
    def validator(self) -> str | None:
        """The value for an If-Range header: the ETag, or else the date."""
        return self.etag or self.modified

    def contradicts(self, other: "FileVersion") -> bool:
        """Whether the two are certainly different versions: a value that both have differs."""
        pairs = ((self.etag, other.etag), (self.modified, other.modified))
        return any(mine and theirs and mine != theirs for mine, theirs in pairs)


@dataclass(frozen=True)
class _Note:
    """The content of `<target>.part.json`."""

    url: str
    etag: str | None = None
    modified: str | None = None
    total: int | None = None
    commit: str | None = None


class PartialFile:
    """The bytes received so far: how many, their digests, and the version and size of the file they belong to.

    total: the size of the whole file in bytes, as the response that began it said; None where that is not known.
    resumed: whether the bytes come from more than one response, so that a wrong digest may be due to mixed versions.
    """

    def __init__(self, target: Path, url: str, pin: Pin) -> None:
        """Continue with what an earlier command left beside `target`, if anything."""
        self.path = target.with_name(target.name + ".part")
        self.pin = pin
        self.size = self.path.stat().st_size if self.path.exists() else 0
        self.resumed = False
        self._url = url
        self._note_path = target.with_name(target.name + ".part.json")
        self._hasher: Hasher | None = None
        self.version, self.total = self._read_note()

    @property
    def is_complete(self) -> bool:
        """Whether it has as many bytes as the pinned file."""
        return 0 < self.size == self.pin.bytes

    @property
    def is_too_long(self) -> bool:
        """Whether it has more bytes than the pinned file."""
        return self.pin.bytes is not None and self.size > self.pin.bytes

    def discard(self) -> None:
        """Delete everything received so far."""
        self.path.unlink(missing_ok=True)
        self._note_path.unlink(missing_ok=True)
        self.size, self.version, self.total, self._hasher, self.resumed = 0, FileVersion(), None, None, False

    def discard_if_unusable(self) -> None:
        """Delete bytes that a resumed download could not use: too many, or neither a digest nor a version to match."""
        if self.is_too_long or not (self.pin.has_digest or self.version.validator):
            self.discard()

    def start(self, version: FileVersion, total: int | None) -> None:
        """Create an empty file, and note which version the server sends. total: its size in bytes, if known."""
        self.version, self.total = version, total
        self.path.touch()
        note = asdict(_Note(self._url, version.etag, version.modified, total, version.commit))
        write_atomically(self._note_path, json.dumps({key: value for key, value in note.items() if value is not None}))
        self._hasher = Hasher(total if self.pin.git_blob else None)

    def resume(self, total: int | None) -> None:
        """Get ready for the rest of the file: bytes from an earlier command are hashed first."""
        self.resumed = True
        if self._hasher is None or self._hasher.size != self.size:
            self._hasher = self._hash_content(total)

    @contextmanager
    def appending(self) -> Iterator[Callable[[bytes], None]]:
        """A function that writes and hashes the next bytes, after `start` or `resume`; at the end all are in the file."""
        hasher = self._hasher
        assert hasher is not None, "appending() is called after start() or resume()"

        def append(chunk: bytes) -> None:
            stream.write(chunk)
            hasher.update(chunk)
            self.size += len(chunk)

        with self.path.open("ab") as stream:
            yield append

    def digest(self) -> Digest:
        """The digests of the bytes received so far."""
        digest = self._hasher.digest() if self._hasher is not None and self._hasher.size == self.size else None
        if digest is None:
            self.resumed = True
        if digest is None or (self.pin.git_blob and digest.git_blob is None):
            digest = self._hash_content(self.size).digest()
        return digest

    def move_to(self, target: Path) -> None:
        """Force the bytes to the disk and replace `target`."""
        with self.path.open("ab") as stream:
            os.fsync(stream.fileno())
        self.path.replace(target)
        self._note_path.unlink(missing_ok=True)

    def _read_note(self) -> tuple[FileVersion, int | None]:
        """Version and size of the file, as an earlier command noted; empty where the note is damaged or of another URL."""
        try:
            note = msgspec.json.decode(self._note_path.read_bytes(), type=_Note)
        except (OSError, *INVALID_JSON):
            return FileVersion(), None
        if note.url != self._url:
            return FileVersion(), None
        return FileVersion(note.etag, note.modified, note.commit), note.total

    def _hash_content(self, total: int | None) -> Hasher:
        with self.path.open("rb") as stream:
            return hash_stream(stream, total if self.pin.git_blob else None)
