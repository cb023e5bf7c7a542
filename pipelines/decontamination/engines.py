"""Runs the partitions of a scan, on processes of this machine or a Ray cluster; keeps the result of each for a killed scan.

    <base>/<digest>/000017.arrow    the result of partition 17, complete: the SHA-256 of what follows, and Arrow's file format
    <base>/.<digest>.lock           held by the scan that writes them

The digest is over all that the results follow from; see `scan_digest`. Another corpus, index or option has another
folder.

A result follows from its partition alone, is written once it is complete, and is read in the order of the partitions:
so neither the engine nor the number of workers, nor which of them were killed, changes a byte.

Ray, which needs the extra `ray`, runs on a cluster, or on this machine while the scan does. A task returns its result to this
process, which writes it. This package, and the files that the work reads, such as the index, go to the nodes of a cluster through
Ray: no folder is shared. Nodes need Python with the libraries, in the same versions, and the corpus, under the same path or at an
address.
"""

import hashlib
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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, TypeVar

import polars as pl
import pyarrow as pa

from builders.errors import DatasetError, ReleaseError, UsageError
from pipelines.checking.corpora import Partition
from pipelines.process import workers
from pipelines.process.files import SharedFile, locked, write_atomically
from pipelines.process.resumable import identity_digest, resumable_folder
from pipelines.process.safe_text import first_line
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
            yield folder
    except OSError as error:
        if error.filename is None or not str(error.filename).startswith(str(base)):
            raise
        raise ReleaseError(
            "checkpoints cannot be written",
            where=str(base),
            found=error.strerror,
            todo="free some space, or name another folder for checkpoints",
        ) from error


def result_path(folder: Path, partition: Partition) -> Path:
    """The file of a partition's result."""
    return folder / f"{partition.number:06d}.arrow"


def write_result(folder: Path, partition: Partition, data: bytes) -> None:
    """Write a partition's encoded result completely or not at all; after a crash of the machine, its digest tells."""
    write_atomically(result_path(folder, partition), hashlib.sha256(data).digest() + data)


def read_results(folder: Path, partitions: Iterable[Partition]) -> Iterator[pl.DataFrame]:
    """The results of partitions in their order."""
    for partition in partitions:
        yield pl.read_ipc(result_path(folder, partition).read_bytes()[DIGEST:])


def _is_complete(path: Path) -> bool:
    """Whether a result is there, and not damaged by a crash of the machine."""
    content = path.read_bytes() if path.exists() else b""
    return hashlib.sha256(memoryview(content)[DIGEST:]).digest() == content[:DIGEST]


POLARS_THREADS = "POLARS_MAX_THREADS"


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
        yield from run_on_ray(pieces, work, engine, killed=killed, on_end=on_end, files=files or {})
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
    rest = [partition for partition in partitions if not _is_complete(result_path(folder, partition))]
    if len(rest) < len(partitions):
        logger.info("resuming: %d of %d partitions were scanned before", len(partitions) - len(rest), len(partitions))
    if not rest:
        return
    in_worker = partial(_run_partition, work=work, folder=None if engine.name == RAY else folder)
    killed = partial(
        workers.killed_error,
        what="a worker was killed {} times while it read the same part of the corpus",
        where=attrgetter("where"),
        todo="if memory was short, use fewer workers; what is finished is not repeated",
    )
    with stage("scanning", total=sum(partition.size for partition in rest), unit=BYTES) as advance:
        for result in run_pieces(
            rest, in_worker, engine, killed=killed, on_end=lambda part: advance(part.size), files=files
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
        raise DatasetError(
            "a partition cannot be read", where=partition.where, found=f"{type(error).__name__}: {error}"[:300]
        ) from None
    return None


AHEAD = 2  # tasks for each worker that Ray has at a time: the next one is there when one ends
# Settings of Ray for all clusters, and for one of our own. Without a token it writes one into the home of the user.
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
OWN = {
    "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_task_oom_retries": str(workers.ATTEMPTS - 1),  # without end by default
}  # fmt: skip
ADDRESS = re.compile(r"(?:ray://)?\[?(?P<host>[^\]/]+)\]?:(?P<port>\d+)", re.ASCII)
MEMORY = 80 << 20  # bytes of Ray's store of objects: results are small
WAIT = 1.0  # seconds after which nodes that came are given tasks, though none has ended
ROOT = Path(__file__).parents[2]
PACKAGES = ("builders", "cards", "embedding_datasets", "pipelines")
LIBRARIES = ("numpy", "polars", "pyarrow", "rensa")  # results follow from their versions


def run_on_ray(
    pieces: Sequence[Piece],
    work: Callable[..., Any],
    engine: Engine,
    *,
    killed: Callable[[Piece, int, str], Exception],
    on_end: Callable[[Piece], None],
    files: Mapping[str, Path],
) -> Iterator[Any]:
    """The results of pieces, in the order in which they finish.

    engine: its workers are the tasks at a time on this machine; a cluster at an address runs as many as it has processors, while
    machines come and go. killed, on_end, files: see run_pieces.

    Raises the first error of `work`, that of `killed` where a piece's worker was killed workers.ATTEMPTS times, UsageError
    where Ray is not installed, and where the cluster does not answer or has other versions of libraries.
    """
    if find_spec(RAY) is None:
        raise UsageError("Ray is not installed", todo="pip install 'embedding-datasets[ray]', or use --engine local")
    with _cluster(engine.workers, engine.address) as ray:
        run = ray.remote(num_cpus=1, max_retries=workers.ATTEMPTS - 1)(_run)
        given: Mapping[str, Any] = (
            files
            if engine.address is None
            else {name: SharedFile(path, pa.memory_map(str(path)).read_buffer()) for name, path in files.items()}
        )
        versions = {name: version(name) for name in LIBRARIES}
        shared = [ray.put((partial(work, **given), versions))]  # in a list, or each task would load it again
        waiting, running = iter(pieces), dict[Any, Piece]()
        while True:
            slots = max(1, int(ray.cluster_resources().get("CPU", engine.workers)))
            for piece in islice(waiting, max(0, slots * AHEAD - len(running))):
                running[run.remote(shared, piece)] = piece
            if not running:
                return
            for task in ray.wait(list(running), timeout=WAIT)[0]:
                piece = running.pop(task)
                yield _result(ray, task, partial(killed, piece, workers.ATTEMPTS))
                on_end(piece)


def _run(shared: list[Any], piece: Any) -> Any:
    """The result of a piece, in a worker."""
    return _load(shared[0])(piece)


@lru_cache(maxsize=1)
def _load(shared: Any) -> Any:
    """The work, once in a process. Raises UsageError where this machine would give other results."""
    work, versions = import_module("ray").get(shared)
    found = {name: version(name) for name in versions}
    if found != versions:
        raise UsageError(
            "a node of the cluster has other versions of libraries",
            where=socket.gethostname(),
            found=str(found),
            expected=str(versions),
            todo="install the same versions on all nodes",
        )
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

    A Ray that is started here listens on this machine alone, answers only clients with its token, and its files are removed.
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
        stack.callback(_read_settings)  # once the environment is as it was
        stack.enter_context(workers.set_environment(environment))
        ray = import_module("ray")
        _read_settings()
        logging.getLogger("ray").setLevel(logging.CRITICAL)
        stack.callback(ray.shutdown)
        try:
            with warnings.catch_warnings(), workers.hold_interrupts(), _keep_signal_handlers():
                warnings.simplefilter("ignore")
                ray.init(**options, configure_logging=False, log_to_driver=False, logging_level=logging.CRITICAL)
        except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            raise _no_answer(address, first_line(error)) from error
        yield ray


def _read_settings() -> None:
    """Let Ray read its settings again: it keeps those of its import, which may have been that of another library."""
    raylet: Any = import_module("ray._raylet")
    constants: Any = import_module("ray._private.ray_constants")
    raylet.Config.initialize("")
    raylet.AuthenticationTokenLoader.instance().reset_cache()
    # By this, Ray listens on all addresses or on loopback alone, whatever the system.
    constants.ENABLE_RAY_CLUSTER = constants.env_bool(
        constants.ENABLE_RAY_CLUSTERS_ENV_VAR, not constants.IS_WINDOWS_OR_OSX
    )


def _require_answer(address: str) -> None:
    """Raise UsageError where nothing listens at HOST:PORT: Ray itself tries for four minutes."""
    if (place := ADDRESS.fullmatch(address)) is None:
        return  # `auto`
    try:
        socket.create_connection((place["host"], int(place["port"])), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise _no_answer(address, str(error)) from error


def _no_answer(address: str | None, found: str) -> DatasetError:
    if address is None:
        return DatasetError("Ray cannot be started", found=found, todo="use --engine local")
    return UsageError(
        "Ray does not answer",
        where=address,
        found=found,
        todo="see that the cluster runs (ray status) and has the same versions of Ray and Python",
    )


@contextmanager
def _keep_signal_handlers() -> Iterator[None]:
    """Ray replaces the handler of SIGTERM while it starts: ours cleans up, with a deadline."""
    numbers = (signal.SIGTERM, signal.SIGINT) if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
