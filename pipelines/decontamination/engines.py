"""Runs the partitions of a scan, on processes of this machine or a Ray cluster; keeps the result of each for a killed scan.

    <base>/<digest>/000017.arrow    the result of partition 17, complete: the SHA-256 of what follows, and Arrow's file format
    <base>/.<digest>.lock           held by the scan that writes them

The digest is over all that the results follow from; see `scan_digest`. Another corpus, index or option has another
folder.

A result follows from its partition alone, is written once it is complete, and is read in the order of the partitions:
so neither the engine nor the number of workers, nor which of them were killed, changes a byte.
"""

import hashlib
import io
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, TypeVar

import polars as pl

from builders.errors import DatasetError, ReleaseError, UsageError
from pipelines.checking.corpora import Partition
from pipelines.process import workers
from pipelines.process.files import locked, replacing
from pipelines.process.resumable import identity_digest, resumable_folder
from pipelines.process.stages import BYTES, stage

DIGEST = 32  # bytes of a SHA-256

logger = logging.getLogger(__name__)


def scan_digest(partitions: Sequence[Partition], options: Mapping[str, Any]) -> str:
    """SHA-256 over what the results of a scan follow from: its partitions with the identities of their files, and its
    options.

    options: values that JSON can hold: the digest of the index, of the code, the threshold.
    """
    pieces = [
        [
            part.file.name,
            part.file.identity,
            part.layout.texts,
            part.layout.label,
            part.first_row,
            part.start,
            part.stop,
        ]
        for part in partitions
    ]
    return identity_digest({"options": dict(options), "partitions": pieces, "polars": version("polars")})


@contextmanager
def open_checkpoints(base: Path, digest: str) -> Iterator[Path]:
    """The folder for the results of a scan, with those that an earlier one left; removed when the block ends without an
    error.

    Another scan of the same waits until this one ends.

    Raises ReleaseError where the folder cannot be written.
    """
    lock = locked(base / f".{digest}.lock", "this scan", activity="running", remove=True)
    try:
        with lock, resumable_folder(base / digest) as folder:
            for leftover in folder.glob(".*"):  # of a killed worker
                leftover.unlink()
            yield folder
    except OSError as error:
        if error.filename is None or not str(error.filename).startswith(str(base)):
            raise
        todo = "free some space, or name another folder for checkpoints"
        raise ReleaseError("checkpoints cannot be written", where=str(base), found=error.strerror, todo=todo) from error


def result_path(folder: Path, partition: Partition) -> Path:
    """The file of a partition's result."""
    return folder / f"{partition.number:06d}.arrow"


def write_result(folder: Path, partition: Partition, data: bytes) -> None:
    """Write a partition's encoded result completely or not at all; the file is on disk before it has its name."""
    with replacing(result_path(folder, partition)) as temporary, temporary.open("wb") as file:
        file.write(hashlib.sha256(data).digest())
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def unfinished(folder: Path, partitions: Sequence[Partition]) -> list[Partition]:
    """The partitions without a result; one that is damaged, after a crash of the machine, is removed."""
    rest = [partition for partition in partitions if not _is_complete(result_path(folder, partition))]
    if len(rest) < len(partitions):
        logger.info("resuming: %d of %d partitions were scanned before", len(partitions) - len(rest), len(partitions))
    return rest


def read_results(folder: Path, partitions: Iterable[Partition]) -> Iterator[pl.DataFrame]:
    """The results of partitions in their order."""
    for partition in partitions:
        yield pl.read_ipc(result_path(folder, partition).read_bytes()[DIGEST:])


def _is_complete(path: Path) -> bool:
    if not path.exists():
        return False
    content = path.read_bytes()
    if hashlib.sha256(memoryview(content)[DIGEST:]).digest() == content[:DIGEST]:
        return True
    path.unlink()
    return False


POLARS_THREADS = "POLARS_MAX_THREADS"


def killed_too_often(partition: Partition, attempts: int, found: str) -> DatasetError:
    """The error for a partition whose workers are killed again and again."""
    return DatasetError(
        f"a worker was killed {attempts} times while it read the same part of the corpus",
        where=partition.where,
        found=found,
        todo="if memory was short, use fewer workers; what is finished is not repeated",
    )


RAY = "ray"
Work = Callable[..., pl.DataFrame]
Piece = TypeVar("Piece")


@dataclass(frozen=True)
class Engine:
    """What runs partitions. workers: how many at a time; 1 with `local` is this process. address: of a Ray cluster that
    is there.

    Without an address, Ray runs on this machine while the scan does.
    """

    name: Literal["local", "ray"] = "local"
    workers: int = 1
    address: str | None = None


def run_pieces(
    pieces: Sequence[Piece],
    work: Callable[..., Any],
    engine: Engine,
    *,
    killed: Callable[[Piece, int, str], Exception],
    on_end: Callable[[Piece], None],
    files: Mapping[str, Path] | None = None,
) -> Iterator[Any]:
    """The results of `work` for pieces, in any order.

    work, killed, on_end: as for workers.run_in_processes. files: arguments of `work` by name; a node of a cluster gets a
    SharedFile instead of the path.

    Raises the first error of `work`; that of `killed`; UsageError where Ray is not installed or its cluster does not answer.
    """
    if engine.name == RAY:
        if find_spec(RAY) is None:
            raise UsageError(
                "Ray is not installed", todo="pip install 'embedding-datasets[ray]', or use --engine local"
            )
        run_on_ray = import_module("pipelines.decontamination.ray_engine").run_on_ray
        for piece, result in run_on_ray(pieces, work, engine.workers, engine.address, killed=killed, files=files or {}):
            yield result
            on_end(piece)
        return
    processes = max(1, min(engine.workers, len(pieces)))
    threads = {POLARS_THREADS: str(max(1, (os.cpu_count() or 1) // processes))}
    with workers.set_environment({} if POLARS_THREADS in os.environ else threads):
        bound = partial(work, **(files or {}))
        yield from workers.run_in_processes(bound, pieces, processes, killed=killed, on_end=on_end)


def run_partitions(
    partitions: Sequence[Partition],
    work: Work,
    engine: Engine,
    folder: Path,
    files: Mapping[str, Path] | None = None,
) -> None:
    """Have each partition's result in a folder of checkpoints; those that are there are not computed again.

    work: a function of one partition, and of `files`, that can be pickled: of a module, or a `functools.partial` of one.

    Raises the first error of `work`; DatasetError where workers are killed again and again by one partition; the errors of
    run_pieces.
    """
    rest = unfinished(folder, partitions)
    if not rest:
        return
    in_worker = partial(_run_partition, work=work, folder=None if engine.name == RAY else folder)
    with stage("scanning", total=sum(partition.size for partition in rest), unit=BYTES) as advance:
        for result in run_pieces(
            rest, in_worker, engine, killed=killed_too_often, on_end=lambda part: advance(part.size), files=files
        ):
            if result is not None:
                write_result(folder, *result)


def _run_partition(
    partition: Partition, work: Work, folder: Path | None, **files: Any
) -> tuple[Partition, bytes] | None:
    """Write the encoded result of a partition into the folder; without one, return it."""
    buffer = io.BytesIO()
    try:
        work(partition, **files).write_ipc(buffer, compression="zstd")
        if folder is None:
            return partition, buffer.getvalue()
        write_result(folder, partition, buffer.getvalue())
    except (DatasetError, OSError):
        raise
    except Exception as error:  # a mistake of ours: only this process knows where, and not all errors can be sent
        logger.exception("partition %d", partition.number)
        what = "a partition cannot be read"
        raise DatasetError(what, where=partition.where, found=f"{type(error).__name__}: {error}"[:300]) from None
    return None
