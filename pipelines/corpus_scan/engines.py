"""Runs the partitions of a scan, in processes of this machine or on a Ray cluster, with the same results.

A result follows from its partition alone, is written once it is complete, and is read in the order of the partitions:
so neither the engine nor the number of workers, nor which of them were killed, changes a byte.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import polars as pl

from builders.errors import UsageError
from pipelines.corpus_scan.checkpoints import unfinished, write_result
from pipelines.corpus_scan.local_engine import run_in_processes
from pipelines.corpus_scan.partitions import Partition
from pipelines.stages import BYTES, stage

Work = Callable[[Partition], pl.DataFrame]

RAY = "ray"


@dataclass(frozen=True)
class Engine:
    """What runs partitions. workers: how many at a time; 1 with `local` is this process. address: of a Ray cluster that
    is there.

    Without an address, Ray runs on this machine while the scan does.
    """

    name: Literal["local", "ray"] = "local"
    workers: int = 1
    address: str | None = None


def run_partitions(partitions: Sequence[Partition], work: Work, engine: Engine, folder: Path) -> None:
    """Have each partition's result in a folder of checkpoints; those that are there are not computed again.

    work: a function of one partition that can be pickled: of a module, or a `functools.partial` of one.

    Raises the first error of `work`; DatasetError where workers are killed again and again by one partition; UsageError
    where Ray is not installed or its cluster does not answer.
    """
    if engine.name == RAY and find_spec(RAY) is None:
        raise UsageError("Ray is not installed", todo="pip install 'embedding-datasets[ray]', or use --engine local")
    rest = unfinished(folder, partitions)
    with stage("scanning", total=sum(partition.size for partition in rest), unit=BYTES) as advance:
        for partition in _run(rest, work, engine, folder):
            advance(partition.size)


def _run(partitions: Sequence[Partition], work: Work, engine: Engine, folder: Path) -> Iterator[Partition]:
    """Each partition once its result is in the folder, in any order."""
    if not partitions:
        return
    if engine.name == RAY:
        run_on_ray = import_module("pipelines.corpus_scan.ray_engine").run_on_ray
        yield from run_on_ray(partitions, work, partial(write_result, folder), engine.workers, engine.address)
    elif engine.workers > 1 and len(partitions) > 1:
        yield from run_in_processes(partitions, work, folder, min(engine.workers, len(partitions)))
    else:
        for partition in partitions:
            write_result(folder, partition, work(partition))
            yield partition
