"""A file that is still arriving: kept beside its place, so that a broken download can go on where it broke."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from pipelines.raw.digests import CHUNK, Digest, Hasher, replace_text

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.raw.pins import Pin


class Part:
    """The file that is arriving: how much is there, its digests so far, and which version of it the server sent."""

    def __init__(self, target: Path, url: str, pin: Pin) -> None:
        """Take up what an earlier command left beside `target`."""
        self.path = target.with_name(target.name + ".part")
        self.note = target.with_name(target.name + ".part.json")
        self.url, self.pin = url, pin
        self.size = self.path.stat().st_size if self.path.exists() else 0
        self.spliced = False
        self.hashing: Hasher | None = None
        self.version = self._noted()

    def _noted(self) -> dict[str, str]:
        try:
            noted = json.loads(self.note.read_bytes())
            texts = {key: str(noted[key]) for key in ("url", "etag", "modified") if noted.get(key)}
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return {}
        return texts if texts.get("url") == self.url else {}

    @property
    def validator(self) -> str | None:
        """What If-Range may hold: the strong ETag, or else the date."""
        return self.version.get("etag") or self.version.get("modified")

    @property
    def complete(self) -> bool:
        """Whether as many bytes are there as the pinned file has."""
        return 0 < self.size == self.pin.bytes

    def clear(self) -> None:
        """Forget what has arrived."""
        self.path.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)
        self.size, self.version, self.hashing, self.spliced = 0, {}, None, False

    def resumable(self) -> int:
        """How many bytes can be gone on from; forgets those of which nothing would tell that the rest belongs to them."""
        too_long = self.pin.bytes is not None and self.size > self.pin.bytes
        if too_long or not (self.pin.exact or self.validator):
            self.clear()
        return self.size

    def begin(self, version: dict[str, str], total: int | None) -> None:
        """Start with nothing, in the version that the server sends now."""
        self.version = version
        self.path.touch()
        replace_text(self.note, json.dumps(version | {"url": self.url}))
        self.hashing = Hasher(total if self.pin.git_blob else None)

    def resume(self, total: int | None) -> None:
        """Go on behind what is there, which is hashed first if an earlier command left it."""
        self.spliced = True
        if self.hashing is None or self.hashing.size != self.size:
            self.hashing = self._hashed(total)

    def _hashed(self, total: int | None) -> Hasher:
        hashing = Hasher(total if self.pin.git_blob else None)
        with self.path.open("rb") as stream:
            while chunk := stream.read(CHUNK):
                hashing.update(chunk)
        return hashing

    def digest(self) -> Digest:
        """The digests of what is there."""
        digest = self.hashing.digest() if self.hashing is not None and self.hashing.size == self.size else None
        if digest is None or (self.pin.git_blob and digest.git_blob is None):
            self.spliced = self.spliced or digest is None
            digest = self._hashed(self.size).digest()
        return digest

    def finish(self, target: Path) -> None:
        """Put the file in its place."""
        with self.path.open("ab") as stream:
            os.fsync(stream.fileno())
        self.path.replace(target)
        self.note.unlink(missing_ok=True)
