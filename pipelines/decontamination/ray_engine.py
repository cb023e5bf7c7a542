"""Runs partitions on a Ray cluster, or on a Ray that runs on this machine while they do. Needs the extra `ray`.

A task returns its result to this process, which writes it. This package, and the files that the work reads, such as the index, go
to the nodes of a cluster through Ray: no folder is shared. Nodes need Python with the libraries, in the same versions, and the
corpus, under the same path or at an address.
"""

import importlib
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache, partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from builders.errors import DatasetError, UsageError
from pipelines.process import workers
from pipelines.process.files import SharedFile
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
WAIT = 1.0  # seconds after which nodes that came are given tasks, though none has ended
ROOT = Path(__file__).parents[2]
PACKAGES = ("builders", "cards", "embedding_datasets", "pipelines")
LIBRARIES = ("numpy", "polars", "pyarrow", "rensa")  # results follow from their versions

Piece = TypeVar("Piece")


def run_on_ray(
    pieces: Sequence[Piece],
    work: Callable[..., Any],
    processes: int,
    address: str | None,
    *,
    killed: Callable[[Piece, int, str], Exception],
    files: Mapping[str, Path],
) -> Iterator[tuple[Piece, Any]]:
    """Each piece with its result, in the order in which they finish.

    processes: how many tasks run at a time on this machine; a cluster at an address runs as many as it has processors, while
    machines come and go. killed, files: see run_pieces.

    Raises the first error of `work`, that of `killed` where a piece's worker was killed ATTEMPTS times, UsageError where the
    cluster does not answer or has other versions of libraries.
    """
    with _cluster(processes, address) as ray:
        run = ray.remote(num_cpus=1, max_retries=ATTEMPTS - 1)(_run)
        given: Mapping[str, Any] = files
        if address is not None:
            given = {name: SharedFile(path, pa.memory_map(str(path)).read_buffer()) for name, path in files.items()}
        versions = {name: version(name) for name in LIBRARIES}
        shared = [ray.put((partial(work, **given), versions))]  # in a list, or each task would load it again
        waiting, running = iter(pieces), dict[Any, Piece]()
        while True:
            slots = max(1, int(ray.cluster_resources().get("CPU", processes)))
            for piece in islice(waiting, max(0, slots * AHEAD - len(running))):
                running[run.remote(shared, piece)] = piece
            if not running:
                return
            for task in ray.wait(list(running), timeout=WAIT)[0]:
                piece = running.pop(task)
                yield piece, _result(ray, task, partial(killed, piece, ATTEMPTS))


def _run(shared: list[Any], piece: Any) -> Any:
    """The result of a piece, in a worker."""
    return _load(shared[0])(piece)


@lru_cache(maxsize=1)
def _load(shared: Any) -> Any:
    """The work, once in a process. Raises UsageError where this machine would give other results."""
    work, versions = importlib.import_module("ray").get(shared)
    found = {name: version(name) for name in versions}
    if found != versions:
        what, todo = "a node of the cluster has other versions of libraries", "install the same versions on all nodes"
        raise UsageError(what, where=socket.gethostname(), found=str(found), expected=str(versions), todo=todo)
    return work


def _result(ray: Any, task: Any, killed: Callable[[str], Exception]) -> Any:
    try:
        return ray.get(task)
    except ray.exceptions.RayTaskError as error:
        raise error.cause or error from None
    except ray.exceptions.RayError as error:  # killed, out of memory, its machine gone
        raise killed(first_line(error)) from error


@contextmanager
def _cluster(processes: int, address: str | None) -> Iterator[Any]:
    """Ray, connected. Its output is hidden, and its usage reports are off.

    A Ray that is started here listens on this machine alone, answers only clients with its token, and its files are removed. Ray
    reads some of its settings when it is imported.
    """
    options: dict[str, Any] = {
        "address": address, "runtime_env": {"py_modules": [str(ROOT / name) for name in PACKAGES]},
    }  # fmt: skip
    environment = dict(QUIET)
    with ExitStack() as stack:
        if address is None:
            folder = tempfile.mkdtemp(prefix="ray-")
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            options = {
                "address": "local", "num_cpus": processes, "num_gpus": 0, "include_dashboard": False,
                "object_store_memory": MEMORY, "_temp_dir": folder,
            }  # fmt: skip
            # The current folder may have a package called pipelines.
            environment |= OWN | {
                "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
            }
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
        yield ray


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
