"""Ctrl-C, termination and kills, in real processes: exit codes, no traceback, nothing left running."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import pytest

from tests.support.paths import ROOT
from tests.support.processes import LONGEST

BUILD = [sys.executable, "-m", "pipelines.build", "rumteb", "--sample", "--force"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="process groups and /proc")


def start(*command: str, stderr: int | TextIO = subprocess.PIPE) -> subprocess.Popen[str]:
    """Start a command as the leader of a process group of its own, as a shell does, with Ctrl-C enabled."""
    return subprocess.Popen(
        command, cwd=ROOT, text=True, process_group=0, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509 - before any thread
    )  # fmt: skip


def children(pid: int) -> list[int]:
    """The processes that any thread of a process has started: a pool starts its workers in threads."""
    found: set[int] = set()
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
            found |= set(map(int, listed.read_text().split()))
    return sorted(found)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_until_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + LONGEST
    while running := [pid for pid in pids if is_running(pid)]:
        assert time.monotonic() < deadline, f"still running: {running}"
        time.sleep(0.05)


def wait_for_workers(pid: int, count: int) -> list[int]:
    """The children of a process once there are as many: the workers of a pool, and what Python runs for it."""
    deadline = time.monotonic() + LONGEST
    while len(found := children(pid)) < count:
        assert time.monotonic() < deadline, f"only {len(found)} children"
        time.sleep(0.02)
    return found


@pytest.mark.parametrize(
    ("module", "entry"),
    [
        *((name, "pipelines.build") for name in ("pipelines", "builders.errors", "pipelines.command", "polars")),
        *((name, "pipelines.build") for name in ("pyarrow.lib", "numpy")),
        *((name, "embedding_datasets build") for name in ("embedding_datasets", "polars")),
    ],
)
def test_ctrl_c_while_modules_load_ends_in_130_without_a_traceback(module: str, entry: str, tmp_path: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-m", *entry.split(), *BUILD[3:], "--output", str(tmp_path)]
    with start(*command) as process:
        assert process.stderr is not None
        for line in process.stderr:  # a line of `-X importtime` for each module that is loaded
            if line.rstrip().endswith(f"| {module}") or line.rstrip().endswith(f" {module}"):
                break
        os.killpg(process.pid, signal.SIGINT)
        errors = process.communicate(timeout=LONGEST)[1]
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert "KeyboardInterrupt" not in errors


SCRIPT = """
import threading
from concurrent.futures import ThreadPoolExecutor
from pipelines import command
from pipelines.process import interrupts
interrupts.GRACE = {grace}
def main():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(threading.Event().wait)
        print("ready", flush=True)
        threading.Event().wait()
command.run(main)
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_thread_that_never_ends_delays_the_exit_only_until_the_deadline(number: signal.Signals, code: int) -> None:
    with start(sys.executable, "-c", SCRIPT.format(grace=0.2)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait(LONGEST) == code


def test_a_second_ctrl_c_ends_the_process_at_once() -> None:
    with start(sys.executable, "-c", SCRIPT.format(grace=10_000)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + LONGEST
        while process.poll() is None:
            assert time.monotonic() < deadline
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        assert process.returncode == 130


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_workers_of_a_build_end_with_their_parent(number: signal.Signals, tmp_path: Path) -> None:
    with start(*BUILD, "--jobs", "2", "--output", str(tmp_path)) as process:
        started = wait_for_workers(process.pid, 3)  # two workers, and Python's resource tracker
        process.send_signal(number)
        process.wait(LONGEST)
        wait_until_gone(started)
    assert process.returncode == {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGINT: 130}[number]


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_at_any_moment_ends_a_build_and_all_its_processes(jobs: str, tmp_path: Path) -> None:
    """Threads, workers and importers are interrupted at forty moments; a build that hangs fails the test by its timeout."""
    for moment in range(40):
        output, log = tmp_path / str(moment), tmp_path / f"{moment}.log"
        command = [sys.executable, "-X", "importtime", *BUILD[1:], "--jobs", jobs, "--output", str(output)]
        with log.open("w") as stderr, start(*command, stderr=stderr) as process:
            deadline = time.monotonic() + LONGEST
            while "| pipelines\n" not in log.read_text():  # before that, Python itself starts
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.01)
            time.sleep(0.1 * moment)
            started = children(process.pid) if process.poll() is None else []
            os.killpg(process.pid, signal.SIGINT)
            process.communicate(timeout=LONGEST)
            wait_until_gone(started)
        assert process.returncode in {0, 130}, log.read_text()[-2000:]
        assert "Traceback" not in log.read_text()
        assert "Exception ignored" not in log.read_text()
        assert not list(output.rglob(".*.new"))
