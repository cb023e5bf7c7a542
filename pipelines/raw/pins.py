"""What a raw file must be: the digests its source pins, or those the lock file remembers of the first download."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from builders.errors import SourceError
from builders.spec import HEX
from pipelines.raw.digests import LFS_POINTER, Digest, describe, is_html, replace_text
from pipelines.terminal import say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from builders.spec import RawFile

LOCK = Path(__file__).parents[1] / "raw.lock.json"
SPEC = "pinned by the source"


@dataclass(frozen=True)
class Pin:
    """Everything known beforehand about a raw file's bytes. by: who says so, for error messages."""

    sha256: str | None = None
    git_blob: str | None = None
    bytes: int | None = None
    by: str = SPEC

    @property
    def exact(self) -> bool:
        """Whether a digest is known, so that a file can be verified."""
        return self.sha256 is not None or self.git_blob is not None

    def __str__(self) -> str:
        """The digests, as error messages show them."""
        parts = (
            self.sha256 and f"sha256 {self.sha256}",
            self.git_blob and f"git blob {self.git_blob}",
            f"{self.bytes:,} bytes" if self.bytes is not None else None,
        )
        known = ", ".join(part for part in parts if part)
        return f"{known} ({self.by})" if known else "no digest is known"

    def fits(self, digest: Digest) -> bool:
        """Whether a file with these digests may be the pinned one."""
        pairs = (
            (self.sha256, digest.sha256),
            (self.git_blob, digest.git_blob),
            (self.bytes, digest.bytes),
        )
        return all(expected is None or expected == found for expected, found in pairs)


def pin_of(source: str, file: RawFile, locks: tuple[Path, ...]) -> Pin:
    """What the source pins, or else what the first of the lock files that knows the file says of it.

    Raises SourceError for a lock file that is not what this module writes.
    """
    if file.sha256 is None and file.git_blob is None:
        for lock in locks:
            known = read_lock(lock).get(f"{source}/{file.name}")
            if known is not None:
                return Pin(sha256=known.sha256, bytes=known.bytes, by=f"recorded in {lock}")
    return Pin(file.sha256, file.git_blob, file.bytes)


def wrong_file_error(name: str, where: str, head: bytes, found: Digest | int, pin: Pin, *, todo: str) -> SourceError:
    """The error for a file that is not the pinned one: what arrived, what was expected. found: digests, or a size."""
    size = found if isinstance(found, int) else found.bytes
    details = f"{found:,} bytes" if isinstance(found, int) else str(found)
    return SourceError(
        f"{name} is not the pinned file",
        where=where,
        found=f"{describe(head, size)} ({details})",
        expected=str(pin),
        todo=todo,
    )


def placeholder_error(name: str, where: str, head: bytes, size: int, *, todo: str) -> SourceError | None:
    """The error for what no digest is needed to recognise: a web page or a git-lfs pointer in a file's place."""
    page = is_html(head) and not name.lower().endswith((".html", ".htm"))
    if not page and not head.startswith(LFS_POINTER):
        return None
    expected = "the file itself"
    return SourceError(f"{name} is not the file", where=where, found=describe(head, size), expected=expected, todo=todo)


def read_lock(lock: Path) -> Mapping[str, Digest]:
    """The digests in a lock file, by `<source>/<name>`; none where there is no such file.

    Raises SourceError for a lock file that is not what this module writes.
    """
    try:
        text = lock.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise _broken(lock, str(error)) from error
    try:
        content = json.loads(text)
        known = {name: Digest(entry["sha256"], entry["bytes"]) for name, entry in content.items()}
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise _broken(lock, str(error)) from error
    for name, digest in known.items():
        fits = isinstance(digest.sha256, str) and len(digest.sha256) == 64 and HEX.fullmatch(digest.sha256)
        if not fits or not isinstance(digest.bytes, int):
            raise _broken(lock, f"{name}: {content[name]}")
    return known


def _broken(lock: Path, found: str) -> SourceError:
    return SourceError(
        "the lock file of raw files is damaged",
        where=str(lock),
        found=found,
        expected='{"<source>/<name>": {"sha256": "64 hex digits", "bytes": a number}}',
        todo="repair it by hand, or take it back from version control",
    )


def record_digest(name: str, digest: Digest, locks: tuple[Path, ...]) -> None:
    """Add a file's digest to the first of the lock files that can be written, and say so on stderr.

    A file already known keeps its digest. The caller holds whatever keeps two writers apart.

    Raises SourceError for a damaged lock file.
    """
    failure = ""
    for lock in locks:
        known = {key: {"sha256": entry.sha256, "bytes": entry.bytes} for key, entry in read_lock(lock).items()}
        known = {name: {"sha256": digest.sha256, "bytes": digest.bytes}} | known
        try:
            replace_text(lock, json.dumps(known, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
        except OSError as error:
            failure = error.strerror or str(error)
        else:
            say(f"{name}: no digest was known; recorded sha256 {digest.sha256} in {lock}")
            return
    say(f"{name}: no digest was known; sha256 {digest.sha256} could not be recorded: {failure}")
