"""Checkpoints of a scan: the result of each partition in a file of its own, so that a killed scan resumes where it was.

    <base>/<digest>/000017.arrow    the result of partition 17, complete
    <base>/.<digest>.lock           held by the scan that writes them

The digest is over all that the results follow from; see `scan_digest`. Another corpus, index or option has another
folder.
"""

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from builders.errors import ReleaseError
from pipelines.corpus_scan.partitions import Partition
from pipelines.files import locked, replacing

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
    inputs = {"options": dict(options), "partitions": pieces, "polars": version("polars")}
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


@contextmanager
def open_checkpoints(base: Path, digest: str) -> Iterator[Path]:
    """The folder for the results of a scan, with those that an earlier one left; removed when the block ends without an
    error.

    Another scan of the same waits until this one ends.

    Raises ReleaseError where the folder cannot be written.
    """
    folder = base / digest
    try:
        with locked(base / f".{digest}.lock", "this scan", activity="running", remove=True):
            folder.mkdir(exist_ok=True)
            for leftover in folder.glob(".*"):  # of a killed worker
                leftover.unlink()
            yield folder
            shutil.rmtree(folder)
    except OSError as error:
        if error.filename is None or not str(error.filename).startswith(str(base)):
            raise
        todo = "free some space, or name another folder for checkpoints"
        raise ReleaseError("checkpoints cannot be written", where=str(base), found=error.strerror, todo=todo) from error


def result_path(folder: Path, partition: Partition) -> Path:
    """The file of a partition's result."""
    return folder / f"{partition.number:06d}.arrow"


def write_result(folder: Path, partition: Partition, result: pl.DataFrame) -> None:
    """Write a partition's result completely or not at all; the file is on disk before it has its name."""
    with replacing(result_path(folder, partition)) as temporary, temporary.open("wb") as file:
        result.write_ipc(file, compression="zstd")
        file.flush()
        os.fsync(file.fileno())


def unfinished(folder: Path, partitions: Sequence[Partition]) -> list[Partition]:
    """The partitions without a result; one that cannot be read, after a crash of the machine, is removed."""
    rest = [partition for partition in partitions if not _is_complete(result_path(folder, partition))]
    if len(rest) < len(partitions):
        logger.info("resuming: %d of %d partitions were scanned before", len(partitions) - len(rest), len(partitions))
    return rest


def read_results(folder: Path, partitions: Iterable[Partition]) -> Iterator[pl.DataFrame]:
    """The results of partitions in their order."""
    for partition in partitions:
        yield pl.read_ipc(result_path(folder, partition))


def _is_complete(path: Path) -> bool:
    try:
        pl.read_ipc_schema(path)
    except FileNotFoundError:
        return False
    except (OSError, pl.exceptions.PolarsError):
        path.unlink()
        return False
    return True
