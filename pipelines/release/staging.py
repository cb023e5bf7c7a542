"""Writing a release so that its folder always holds a whole one, and that a killed build need not begin again.

    outputs/<dataset>/<version>/             the release
    outputs/<dataset>/.<version>.new/        the one being written (after a kill: a leftover)
    outputs/<dataset>/.<version>.old/        the previous one, where the system cannot exchange two folders in one step
    outputs/.<dataset>.lock                  held by the command that writes any version of the dataset

Where `<version>` is a symbolic link, all this happens in the folder that it leads to, and the link stays.

At every moment `<version>/` is the old release or the new one. One exception: where folders cannot be exchanged, a kill between
two renames leaves it absent with both beside it, and the next command finishes the move.

    <cache>/checkpoints/<dataset>/<digest>/    the files of one build (of a sample: `sample-<digest>`)
    <cache>/checkpoints/.<dataset>.lock        held by the build that uses them, whatever its --output

They are removed once the release is complete. If that removal is killed, the dataset's next build removes the rest.
"""

import ctypes
import errno
import logging
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import polars as pl

from builders.errors import ReleaseError
from cards.manifest import Manifest
from pipelines.process import installation
from pipelines.process.files import disk_failure, locked, refuse_protected
from pipelines.process.resumable import discard, identity_digest, resumable_folder
from pipelines.process.stages import stage
from pipelines.release import fingerprint
from pipelines.release.folder import MANIFEST


def dataset_lock(output: Path, dataset: str) -> AbstractContextManager[None]:
    """Hold a dataset's lock below an output folder; it is removed afterwards."""
    return locked(output / f".{dataset}.lock", dataset, remove=True)


@contextmanager
def staged_folder(final: Path, what: str = "the release", *, marker: str = MANIFEST) -> Iterator[Path]:
    """A folder to write into: it becomes `final` when the block ends, and is removed if the block raises.

    Call it, and everything that reads `final`, while a lock is held: for a release that of its dataset. what: for the message, as
    in "the release cannot be written". marker: the name of the file that is written last: a folder that has it is complete.

    Raises ReleaseError, with the place, for a disk that is full or that fails: libraries name none.
    """
    recover_release(final, marker)
    final = _real(final)
    new = _beside(final, "new")
    try:
        new.mkdir(parents=True)
        yield new
        with stage("moving into place"):
            _sync(new)
            refuse_protected(final)
            _replace(final, new)
    except (OSError, pl.exceptions.ComputeError) as error:
        failure = disk_failure(error)
        if failure is None:
            raise
        todo = "free some space, or name another folder"
        raise ReleaseError(f"{what} cannot be written", where=str(final.parent), found=failure, todo=todo) from error
    finally:
        shutil.rmtree(new, ignore_errors=True)
        _remove_if_empty(final.parent)


def recover_release(release_dir: Path, marker: str = MANIFEST) -> None:
    """Finish the exchange that a killed command began, and remove its leftovers. marker: the file that is written last."""
    release_dir = _real(release_dir)
    new, old = _beside(release_dir, "new"), _beside(release_dir, "old")
    if old.exists() and not release_dir.exists():
        # Killed between two renames. The new folder is complete if it has the file that is written last.
        (new if (new / marker).exists() else old).rename(release_dir)
    for leftover in (new, old):
        if leftover.is_symlink():
            leftover.unlink()
        elif leftover.exists():
            shutil.rmtree(leftover)
    _remove_if_empty(release_dir.parent)


def _real(release_dir: Path) -> Path:
    """The folder that a symbolic link leads to: exchanged, the link itself would become the leftover."""
    return release_dir.resolve() if release_dir.is_symlink() else release_dir


def _beside(release_dir: Path, suffix: str) -> Path:
    return release_dir.with_name(f".{release_dir.name}.{suffix}")


def _replace(release_dir: Path, new: Path) -> None:
    if release_dir.exists() and not _exchange(new, release_dir):
        old = _beside(release_dir, "old")
        release_dir.rename(old)
        new.rename(release_dir)
        shutil.rmtree(old)
    elif not release_dir.exists():
        new.rename(release_dir)
    _sync_folder(release_dir.parent)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; False where the system or the file system cannot.

    `rename` cannot replace a folder that is not empty, but Linux's renameat2 can swap two names: before, `.1.0.0.new` is the new
    release and `1.0.0` the old one; after, the other way round, and no moment in between.
    """
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
    """Flush a folder's files to disk, so that a rename never outlives the bytes it names."""
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
    if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
        folder.rmdir()


logger = logging.getLogger(__name__)


@contextmanager
def checkpoint_dir(cache: Path, planned: Manifest) -> Iterator[Path]:
    """A folder for the checkpoints of one build, with those an earlier one left; removed when the block ends without an error.

    planned: what the rows follow from. The folders of the dataset's other builds are removed first, so each dataset has at
    most one; a sample has a folder apart, so that it never throws away hours of work.
    """
    prefix = "sample-" if planned.sample else ""
    with dataset_lock(cache / "checkpoints", planned.dataset):
        of_dataset = cache / "checkpoints" / planned.dataset
        folder = of_dataset / f"{prefix}{_digest(planned, fingerprint.tools())}"
        before = [of_dataset / f"{prefix}{digest}" for digest in _earlier_digests(planned)]
        if not folder.exists() and (left := next(filter(Path.is_dir, before), None)):
            left.rename(folder)
        try:
            with resumable_folder(folder):
                if any(folder.iterdir()):
                    logger.info("%s: resuming from the checkpoints in %s", planned.dataset, folder)
                for other in sorted(of_dataset.iterdir()):
                    if other != folder and other.name.startswith("sample-") == bool(prefix):
                        discard(other)
                yield folder
        finally:
            _remove_if_empty(of_dataset)


def _earlier_digests(planned: Manifest) -> Iterator[str]:
    """The digests under which earlier states of this package kept the checkpoints of the same rows."""
    for package, recipe in fingerprint.earlier_recipes(planned.dataset, planned.version):
        tools = fingerprint.tools() | {installation.NAME: package}
        yield _digest(replace(planned, recipe=replace(planned.recipe, sha256=recipe)), tools)


def _digest(planned: Manifest, tools: Mapping[str, str]) -> str:
    """SHA-256 over what the checkpoints follow from: the raw bytes, the recipe, and the libraries that write them."""
    return identity_digest(
        {
            "dataset": planned.dataset,
            "splits": planned.splits,
            "limit": planned.limit,
            "recipe": asdict(planned.recipe),
            "raw": [file.sha256 for file in planned.raw],
            "tools": dict(tools),
        }
    )
