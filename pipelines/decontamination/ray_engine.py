"""Runs partitions on a Ray cluster, or on a Ray that runs on this machine while they do. Needs the extra `ray`.

A task returns its result to this process, which writes it: workers on other machines need the corpus and the index
under the same paths, and this package, but no folder of checkpoints.
"""

import importlib
import io
import logging
import os
import re
import secrets
import shutil
import signal
import socket
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from builders.errors import DatasetError, UsageError
from pipelines.checking.corpora import Partition
from pipelines.decontamination.engines import Work, killed_too_often
from pipelines.process import workers
from pipelines.process.safe_text import first_line
from pipelines.process.workers import ATTEMPTS

AHEAD = 2  # tasks for each worker that Ray has at a time: the next one is there when one ends
# Settings of Ray for all clusters, and for one of our own. Without a token it writes one into the home of the user.
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
OWN = {
    "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_task_oom_retries": str(ATTEMPTS - 1),  # without end by default
}  # fmt: skip
ADDRESS = re.compile(r"(?:ray://)?\[?(?P<host>[^\]/]+)\]?:(?P<port>\d+)", re.ASCII)
MEMORY = 80 << 20  # bytes of Ray's store of objects: results are small


def run_on_ray(
    partitions: Sequence[Partition],
    work: Work,
    write: Callable[[Partition, pl.DataFrame], None],
    processes: int,
    address: str | None,
) -> Iterator[Partition]:
    """Each partition once its result is written, in the order in which they finish.

    processes: how many tasks run at a time on this machine; a cluster at an address runs as many as it has processors.

    Raises the first error of `work`, DatasetError where a partition's worker was killed ATTEMPTS times, UsageError
    where the cluster does not answer.
    """
    with _cluster(processes, address) as (ray, slots):
        run = ray.remote(num_cpus=1, max_retries=ATTEMPTS - 1)(_run)
        shared, waiting = ray.put(work), iter(partitions)
        running: dict[Any, Partition] = {}
        while True:
            for partition in waiting:
                running[run.remote(shared, partition)] = partition
                if len(running) >= slots * AHEAD:
                    break
            if not running:
                return
            finished, _ = ray.wait(list(running), num_returns=1)
            for task in finished:
                partition = running.pop(task)
                write(partition, pl.read_ipc(_result(ray, task, partition)))
                yield partition


def _run(work: Work, partition: Partition) -> bytes:
    """The result of a partition as bytes, in a worker."""
    buffer = io.BytesIO()
    work(partition).write_ipc(buffer, compression="zstd")
    return buffer.getvalue()


def _result(ray: Any, task: Any, partition: Partition) -> bytes:
    try:
        data: bytes = ray.get(task)
    except ray.exceptions.RayTaskError as error:
        raise error.cause or error from None
    except ray.exceptions.RayError as error:  # killed, out of memory, its machine gone
        raise killed_too_often(partition, ATTEMPTS, first_line(error)) from error
    return data


@contextmanager
def _cluster(processes: int, address: str | None) -> Iterator[tuple[Any, int]]:
    """Ray, connected, and how many tasks it runs at a time. Its output is hidden, and its usage reports are off.

    A Ray that is started here listens on this machine alone, answers only clients with its token, and its files are removed. Ray
    reads some of its settings when it is imported.
    """
    options: dict[str, Any] = {"address": address}
    environment = dict(QUIET)
    with ExitStack() as stack:
        if address is None:
            folder = tempfile.mkdtemp(prefix="ray-")
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            options = {
                "address": "local", "num_cpus": processes, "num_gpus": 0, "include_dashboard": False,
                "object_store_memory": MEMORY, "_temp_dir": folder,
            }  # fmt: skip
            environment |= OWN | {"PYTHONPATH": _python_path()}
        else:
            _require_answer(address)
        stack.enter_context(workers.set_environment(environment))
        ray = importlib.import_module("ray")
        logging.getLogger("ray").setLevel(logging.CRITICAL)
        stack.callback(ray.shutdown)
        try:
            with warnings.catch_warnings(), workers.hold_interrupts(), _keep_signal_handlers():
                warnings.simplefilter("ignore")
                ray.init(**options, configure_logging=False, log_to_driver=False, logging_level=logging.CRITICAL)
        except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            raise _no_answer(address, first_line(error)) from error
        yield ray, max(1, int(ray.cluster_resources().get("CPU", processes)))


def _require_answer(address: str) -> None:
    """Raise UsageError where nothing listens at HOST:PORT: Ray itself tries for four minutes."""
    place = ADDRESS.fullmatch(address)
    if place is None:
        return  # `auto`
    try:
        socket.create_connection((place["host"], int(place["port"])), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise _no_answer(address, str(error)) from error


def _no_answer(address: str | None, found: str) -> DatasetError:
    if address is None:
        return DatasetError("Ray cannot be started", found=found, todo="use --engine local")
    todo = "see that the cluster runs (ray status) and has the same versions of Ray and Python"
    return UsageError("Ray does not answer", where=address, found=found, todo=todo)


def _python_path() -> str:
    """Where workers find our packages: the current folder may have a package called pipelines."""
    own = str(Path(__file__).parents[2])
    return os.pathsep.join(filter(None, [own, os.environ.get("PYTHONPATH", "")]))


@contextmanager
def _keep_signal_handlers() -> Iterator[None]:
    """Ray replaces the handler of SIGTERM while it starts: ours cleans up, with a deadline."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
