"""A release on disk: written beside its place, checked, and moved in whole; found again after a kill; compared.

    outputs/<dataset>/<version>/             the release
    outputs/<dataset>/.<version>.new/        one that is being written (after a kill: a leftover)
    outputs/<dataset>/.<version>.old/        the one before, where the system cannot exchange two folders in one step
    outputs/.<dataset>.lock                  held by the command that writes any version of the dataset

At every moment `<version>/` is the old release or the new one, or, only where folders cannot be exchanged and only between
two renames, absent with both beside it: the next command finishes that move.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import polars as pl
from filelock import FileLock, Timeout

from builders.errors import ReleaseError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path


MANIFEST, STATISTICS, CARD = "manifest.json", "statistics.json", "README.md"


@contextmanager
def locked(output: Path, dataset: str, say: Callable[[str], None]) -> Iterator[None]:
    """Hold a dataset's lock; while another command holds it, say so and wait."""

    output.mkdir(parents=True, exist_ok=True)
    path = output / f".{dataset}.lock"
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        say(f"{dataset}: another command is writing it; waiting for it to end")
        lock.acquire()
    try:
        yield
    finally:
        # Unlinked while held: whoever waits sees that its file is gone and makes a new one.
        path.unlink(missing_ok=True)
        lock.release()


@contextmanager
def staged_release(place: Path) -> Iterator[Path]:
    """A folder to write a release into; moved into its place when the block ends well, removed when it does not.

    Call it, and everything that looks at `place`, under `locked`.
    """
    new = _beside(place, "new")
    recover_release(place)
    new.mkdir(parents=True)
    try:
        yield new
        _sync(new)
        _move_in(new, place)
    finally:
        shutil.rmtree(new, ignore_errors=True)
        _remove_if_empty(place.parent)


def recover_release(place: Path) -> None:
    """Finish what a killed command left half done, and remove what it left lying about."""
    new, old = _beside(place, "new"), _beside(place, "old")
    if old.exists() and not place.exists():
        # Killed between two renames: the new release was complete, for only then is the old one moved away.
        (new if (new / MANIFEST).exists() else old).rename(place)
    for leftover in (new, old):
        if leftover.exists():
            shutil.rmtree(leftover)
    _remove_if_empty(place.parent)


def read_manifest(place: Path) -> dict[str, Any] | None:
    """The manifest of the release at a place; None where there is no folder.

    Raises ReleaseError where the folder is something else.
    """
    path = place / MANIFEST
    try:
        manifest = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        if not place.exists() or (place.is_dir() and not any(place.iterdir())):
            return None
        found = "a folder without a manifest" if place.is_dir() else "a file"
        raise ReleaseError(
            "this is no release", where=str(place), found=found, todo="move it away, or choose another --output"
        ) from None
    except ValueError as error:
        raise ReleaseError(
            "the manifest of this release is damaged",
            where=str(path),
            found=str(error),
            todo="remove the folder and build the release again",
        ) from None
    if (
        not isinstance(manifest, dict)
        or not isinstance(manifest.get("tables"), list)
        or "content_sha256" not in manifest
    ):
        raise ReleaseError("this manifest is of another program", where=str(path), expected="tables and content_sha256")
    return manifest


def is_whole(place: Path, manifest: Mapping[str, Any]) -> bool:
    """Whether every file that a manifest names is there in its size; `check` looks at the bytes too."""
    try:
        sizes = [(place / file["path"]).stat().st_size == file["bytes"] for file in files_of(manifest)]
        return all(sizes) and (place / CARD).is_file() and (place / STATISTICS).is_file()
    except FileNotFoundError:
        return False


def files_of(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The data files that a manifest names."""
    return [file for table in manifest["tables"] for file in table["files"]]


def frames_of(place: Path, manifest: Mapping[str, Any]) -> dict[str, dict[str, pl.LazyFrame]]:
    """Lazy frames over a release, by config and split."""

    frames: dict[str, dict[str, pl.LazyFrame]] = {}
    for table in manifest["tables"]:
        paths = [place / file["path"] for file in table["files"]]
        frames.setdefault(table["config"], {})[table["split"]] = pl.scan_parquet(paths, glob=False)
    return frames


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """What differs between the tables of two manifests (or ledger entries), in a line."""

    def tables(manifest: Mapping[str, Any]) -> dict[str, tuple[int, str]]:
        return {f"{t['config']}/{t['split']}": (t["rows"], t["content_sha256"]) for t in manifest["tables"]}

    before, after = tables(old), tables(new)
    changes = []
    for name in dict.fromkeys([*before, *after]):
        if name not in after:
            changes.append(f"{name} is gone ({before[name][0]} rows)")
        elif name not in before:
            changes.append(f"{name} is new ({after[name][0]} rows)")
        elif before[name] != after[name]:
            rows = f"{before[name][0]} -> {after[name][0]} rows" if before[name][0] != after[name][0] else "other rows"
            changes.append(f"{name}: {rows}, {before[name][1][:12]} -> {after[name][1][:12]}")
    return "; ".join(changes) or "only the order of tables"


def write_json(path: Path, value: Any) -> None:
    """JSON as people read it: indented, UTF-8, with a last newline."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8", newline="\n")


def _beside(place: Path, what: str) -> Path:
    return place.with_name(f".{place.name}.{what}")


def _move_in(new: Path, place: Path) -> None:
    if place.exists() and not _exchange(new, place):
        old = _beside(place, "old")
        place.rename(old)
        new.rename(place)
        shutil.rmtree(old)
    elif not place.exists():
        new.rename(place)
    _sync_folder(place.parent)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; False where the system or the file system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    at_cwd, rename_exchange = -100, 2
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    if renameat2(at_cwd, os.fsencode(one), at_cwd, os.fsencode(other), rename_exchange) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code), str(one), None, str(other))


def _sync(folder: Path) -> None:
    """Force a folder's files to the disk, so that a rename never outlives the bytes it names."""
    for path in sorted(folder.rglob("*")):
        if path.is_dir():
            _sync_folder(path)
        else:
            with path.open("rb") as stream:
                os.fsync(stream.fileno())
    _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    if sys.platform != "win32":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _remove_if_empty(folder: Path) -> None:
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
