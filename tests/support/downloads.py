"""What the tests of downloads share: a file of 300 KB with its pins, and what a killed download leaves behind."""

import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path

from pipelines.raw.digests import Digest
from pipelines.raw.pins import Pin

CONTENT = random.Random(7).randbytes(300_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
BLOB = hashlib.sha1(b"blob %d\0" % len(CONTENT) + CONTENT).hexdigest()
PINNED = Pin(sha256=SHA256, bytes=len(CONTENT))
UNKNOWN = Pin()
PAGE = (b"<!DOCTYPE html>\n<html><body>" + b"Please log in. " * 135)[:2048]

Download = Callable[..., Digest]


class Waits(list[float]):
    """A sleep() that returns at once and records the seconds."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def names(directory: Path) -> list[str]:
    """The names of the files in a directory; none where it does not exist."""
    return sorted(path.name for path in directory.iterdir()) if directory.exists() else []


def leave_partial(cache: Path, content: bytes, url: str, etag: str | None = None, total: int | None = None) -> None:
    """Write what a killed download of file.bin leaves behind. total: the size of the whole file, if the server said it."""
    cache.mkdir(exist_ok=True)
    (cache / "file.bin.part").write_bytes(content)
    if etag is not None:
        (cache / "file.bin.part.json").write_text(
            json.dumps({"url": url, "etag": etag} | ({"total": total} if total else {}))
        )
