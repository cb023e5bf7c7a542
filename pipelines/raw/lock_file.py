"""The lock file of raw files: the digests of first downloads, for files that their source pins by no digest.

    {"<source>/<name>": {"bytes": 1234, "sha256": "64 hex digits"}, ...}

Committed, it makes every later download of such a file verifiable.
"""

import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from builders.errors import SourceError
from cards.manifest import INVALID_JSON, Count, Sha256
from pipelines.files import write_atomically
from pipelines.installation import is_checkout
from pipelines.raw.digests import Digest

LOCK_FILE = Path(__file__).parents[1] / "raw.lock.json"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LockEntry:
    """The recorded digest and size of one raw file."""

    sha256: Sha256
    bytes: Count


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


def record_digest(name: str, digest: Digest, paths: Sequence[Path]) -> None:
    """Add the digest of a file to the first of the lock files that can be written, and log it.

    The lock file of an installed package is never written. An existing entry stays as it is. The caller holds a lock that keeps
    other writers out.

    Raises SourceError for an invalid lock file.
    """
    failure = ""
    for path in paths:
        if path == LOCK_FILE and not is_checkout():
            continue
        entries = {name: LockEntry(digest.sha256, digest.bytes)} | read_lock_file(path)
        content = {key: asdict(entry) for key, entry in entries.items()}
        try:
            write_atomically(path, json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
        except OSError as error:
            failure = error.strerror or str(error)
        else:
            logger.info("%s: no known digest; recorded sha256 %s in %s", name, digest.sha256, path)
            return
    logger.info("%s: no known digest; sha256 %s could not be recorded: %s", name, digest.sha256, failure)


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
