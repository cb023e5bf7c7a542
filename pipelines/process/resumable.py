"""Work that a command takes up again after it was killed: a file that grows item by item, or a folder of finished parts.

    <target>.part               a file: its first bytes say what it follows from, whole items come after them
    <target>.parts/, <digest>/  a folder: what a part follows from is in the part itself, or in the name of the folder

Another run's work is never taken over: it has another head or another digest. The complete result replaces the unfinished work.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock, Timeout


def identity_digest(inputs: Mapping[str, Any]) -> str:
    """SHA-256 over all that a result follows from, in hex. inputs: values that JSON can hold."""
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


@contextmanager
def resumable_file(
    part: Path, head: bytes, finished: Callable[[BinaryIO], Iterable[int]]
) -> Iterator[tuple[BinaryIO, int]]:
    """An unfinished file, open for appending, and the number of items that an earlier call has finished.

    head: the first bytes of the file. A file that begins otherwise is another run's and is begun again. finished: reads the file
    from the end of its head and yields the length in bytes of each item that is complete and still applies; the rest is cut off.
    When the block ends without an error, the bytes are on disk.
    """
    part.parent.mkdir(parents=True, exist_ok=True)
    with part.open("a+b") as file:
        file.seek(0)
        if file.read(len(head)) == head:
            lengths = list(finished(file))
            file.truncate(len(head) + sum(lengths))
        else:
            lengths = []
            file.truncate(0)
            file.write(head)
        yield file, len(lengths)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def resumable_folder(folder: Path) -> Iterator[Path]:
    """A folder of finished parts, with those that an earlier call left; removed when the block ends without an error.

    A part must get its name once it is complete. Where several commands may use the folder, hold a lock.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield folder
        discard(folder)
    finally:
        with suppress(OSError):  # not empty, or removed already
            folder.rmdir()


@contextmanager
def scratch_folder(base: Path, prefix: str) -> Iterator[Path]:
    """A folder below `base` for the time of the block. What killed commands left there under the prefix is removed first.

    A command that uses such a folder holds the lock in it; a folder whose lock can be taken is left over.
    """
    base.mkdir(parents=True, exist_ok=True)
    for lock in base.glob(f"{prefix}*/lock"):
        with suppress(Timeout, OSError), FileLock(lock, timeout=0):
            shutil.rmtree(lock.parent, ignore_errors=True)
    with (
        tempfile.TemporaryDirectory(prefix=prefix, dir=base, ignore_cleanup_errors=True) as scratch,
        FileLock(Path(scratch, "lock")),
    ):
        yield Path(scratch)


def discard(folder: Path) -> None:
    """Remove a folder of parts, if there is one, and what a killed removal left of it.

    It is renamed first: a kill half-way must not leave a part of it under a name that counts as complete.
    """
    removed = folder.with_name(f"{folder.name}.removed")
    shutil.rmtree(removed, ignore_errors=True)
    if folder.is_dir():
        folder.rename(removed)
        shutil.rmtree(removed)
