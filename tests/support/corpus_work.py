"""Work on partitions of a corpus for tests of the engines: processes import it, so it is not in a test module."""

import os
import signal
import time
from pathlib import Path

import polars as pl

from builders.errors import SourceError
from pipelines.checking.corpora import Partition, read_partition


def list_texts(partition: Partition, *, seconds: float = 0, log: str = "") -> pl.DataFrame:
    """The texts of a partition with file, row and column. log: a folder that gets a file for each call, with the process."""
    if log:
        (Path(log) / f"{partition.number}-{os.getpid()}-{time.monotonic_ns()}").touch()
    time.sleep(seconds)
    frames = [batch.texts.insert_column(0, pl.lit(batch.file).alias("file")) for batch in read_partition(partition)]
    return pl.concat(frames)


def list_listening_addresses(_: Partition) -> pl.DataFrame:
    """The addresses (hexadecimal, as in /proc/net/tcp) at which the parent of this process waits for connections."""
    sockets = {path.resolve().name for path in Path(f"/proc/{os.getppid()}/fd").iterdir()}
    lines = [line.split() for name in ("tcp", "tcp6") for line in Path("/proc/net", name).read_text().splitlines()[1:]]
    waiting = {line[1].split(":")[0] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in sockets}
    return pl.DataFrame({"address": sorted(waiting)}, {"address": pl.String})


def kill_once(partition: Partition, *, log: str, numbers: tuple[int, ...]) -> pl.DataFrame:
    """As list_texts, but a process is killed when it first gets one of these partitions."""
    if partition.number in numbers and not any(Path(log).glob(f"{partition.number}-*")):
        (Path(log) / f"{partition.number}-killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return list_texts(partition)


def kill_always(partition: Partition, *, number: int) -> pl.DataFrame:
    """As list_texts, but a process is killed whenever it gets this partition."""
    if partition.number == number:
        os.kill(os.getpid(), signal.SIGKILL)
    return list_texts(partition)


def fail(partition: Partition, *, number: int) -> pl.DataFrame:
    """As list_texts, but this partition is an error."""
    if partition.number == number:
        raise SourceError("invalid JSON", where=f"{partition.file.name}, row {partition.first_row}", found="{")
    return list_texts(partition)
