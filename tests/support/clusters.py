"""A Ray cluster on loopback, whose nodes come, go and are killed, and a program that scans a corpus on it."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipelines.process.workers import set_environment

SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_health_check_period_ms": "500"}
# `contamination scan` of a corpus in partitions of so many bytes.
SCAN = """
import sys
from pipelines import command, contamination
from pipelines.checking import corpora

if __name__ == "__main__":
    corpora.open_corpus.__kwdefaults__["partition_bytes"] = int(sys.argv.pop(1))
    command.run(contamination.main)
"""


@contextmanager
def open_cluster() -> Iterator[Any]:
    """A cluster (ray.cluster_utils.Cluster) with a head that runs no tasks."""
    from ray.cluster_utils import Cluster

    folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")  # the path of a socket has at most 107 bytes
    try:
        with set_environment(SETTINGS | {"RAY_TMPDIR": folder}):
            cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
            try:
                yield cluster
            finally:
                cluster.shutdown()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def blind_node(address: str, *hidden: Path) -> Iterator[None]:
    """A node with one processor that has empty folders in place of some. It needs unshare."""
    mounts = " && ".join(f"mount -t tmpfs none '{folder}'" for folder in hidden)
    start = f"{sys.executable} -m ray.scripts.scripts start --address={address} --num-cpus=1 --block"
    options = "--dashboard-agent-listen-port=0 --min-worker-port=0 --max-worker-port=0 --object-store-memory=100000000"
    command = ["unshare", "-m", "sh", "-c", f"{mounts} && exec {start} {options}"]
    node = subprocess.Popen(
        command, cwd="/", env=os.environ | SETTINGS, start_new_session=True, stdout=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        os.killpg(node.pid, signal.SIGKILL)
        node.wait()


@contextmanager
def start_scan(folder: Path, partition_bytes: int, *arguments: object) -> "Iterator[subprocess.Popen[str]]":
    """A process that scans a corpus, in a folder; its errors are in its pipe. It ends with the block."""
    command = [sys.executable, "-c", SCAN, str(partition_bytes), "scan", *map(str, arguments)]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as scan:
        try:
            yield scan
        finally:
            scan.kill()


def finish(scan: "subprocess.Popen[str]") -> None:
    """Wait for the end of a scan, which must be a good one."""
    errors = scan.communicate(timeout=180)[1]
    assert scan.returncode == 0, errors
