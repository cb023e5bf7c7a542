"""Files that several commands may write at once: replaced in one step, and locked; the digest of a file; and full disks."""

import errno
import hashlib
import logging
import os
import platform
import re
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from builders.errors import DatasetError, UsageError

DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
_protected: set[Path] = set()  # the inputs of the command
_MACHINE = hashlib.sha256(platform.node().encode()).hexdigest()[:8]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class SharedFile:
    """A file of the machine that runs the command, with its bytes for other machines. data: a buffer of pyarrow."""

    path: Path
    data: Any = field(repr=False)


def protect(paths: Iterable[Path]) -> None:
    """From now on, `replacing` replaces none of these files, and others than an earlier call named."""
    _protected.clear()
    _protected.update(paths)


def refuse_protected(path: Path) -> None:
    """Raise UsageError where a path leads to a protected file, by whatever name, or is a folder with one."""
    if not path.exists():
        return
    for kept in _protected:
        if kept.exists() and (kept.samefile(path) or path.resolve() in kept.resolve().parents):
            raise UsageError(
                "an output has become an input of this command",
                where=str(path),
                found=str(kept),
                todo="name another output; this one is as it was",
            )


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file completely or not at all. content: text is written as UTF-8, with its line ends unchanged.

    Raises OSError with the path; the old file, if any, is then unchanged.
    """
    with replacing(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file, in hex. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside a file, for writing; it replaces the file at the end, unless an error ends the block.

    What killed processes of this machine left in the folder is removed, once for each folder. Raises OSError with the path,
    UsageError where the file is protected; the old file, if any, is then unchanged.
    """
    _remove_leftovers(path.parent)
    temporary = path.with_name(f".{path.name}.{_MACHINE}-{os.getpid()}-{threading.get_ident()}")
    try:
        yield temporary
        refuse_protected(path)
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None:  # that of a full disk names no file
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


@cache
def _remove_leftovers(folder: Path) -> None:
    for file in folder.glob(f".*.{_MACHINE}-*"):
        name = re.fullmatch(rf"\..+\.{_MACHINE}-(\d+)-\d+", file.name)
        if name and not _is_running(int(name[1])):
            file.unlink(missing_ok=True)


def _is_running(pid: int) -> bool:
    """Whether a process of this machine runs; True where that cannot be known."""
    if os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # another user's
        return True
    return True


@contextmanager
def locked(path: Path, what: str, *, activity: str = "writing", remove: bool = False) -> Iterator[None]:
    """Hold the lock file `path`; while another process holds it, log that once and wait.

    what, activity: for the message, as in "rubq-retrieval: waiting for another command that is writing it". remove: delete the
    lock file at the end. Creates missing parent directories.

    Raises OSError where the lock file cannot be created.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        logger.info("%s: waiting for another command that is %s it", what, activity)
        lock.acquire()
    try:
        yield
    finally:
        if remove:
            # Deleted while held: a process that waits for the lock notices that its file is gone and creates a new one.
            path.unlink(missing_ok=True)
        lock.release()


def link_or_copy(source: str | Path, target: str | Path, *, follow_symlinks: bool = True) -> None:
    """Give a file a second name; copy it where the file system cannot do that. follow_symlinks: False for a link as it is."""
    try:
        os.link(source, target, follow_symlinks=follow_symlinks)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=follow_symlinks)


def disk_failure(error: Exception) -> str | None:
    """What the system says of a disk that is full or that fails; None for any other error. polars tells of it in words only."""
    number, words = getattr(error, "errno", None), str(error)
    return next((os.strerror(code) for code in DISK_ERRORS if code == number or os.strerror(code) in words), None)


def temporary_file_error(failure: str) -> DatasetError:
    """The error for the folder of temporary files, where the disk does not take one. failure: what the system says."""
    return DatasetError(
        "a temporary file cannot be written",
        where=tempfile.gettempdir(),
        found=failure,
        todo="free some space, or name a folder on a larger disk in TMPDIR",
    )
