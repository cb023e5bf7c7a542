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


HOOK = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, path, target=None):
        with open(os.environ["LOOKED_FOR"], "a") as names:
            print(name, file=names)
        if name == os.environ["INTERRUPT_AT"]:
            os.kill(os.getpid(), signal.SIGINT)  # Python raises it before the next line
sys.meta_path.insert(0, Interrupt())
"""


def interrupted_at(module: str, entry: str, folder: Path) -> tuple[int, str, list[str]]:
    """Exit code and stderr of a build that gets Ctrl-C when it looks for a module, and the modules it looked for."""
    (folder / "sitecustomize.py").write_text(HOOK, "utf-8")
    names = folder / "names"
    names.write_text("", "utf-8")
    search = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    result = subprocess.run(
        [sys.executable, "-m", *entry.split(), "terra", "--sample", "--force", "--output", str(folder / "outputs")],
        cwd=ROOT, text=True, capture_output=True, check=False, timeout=LONGEST,
        env=os.environ | {"PYTHONPATH": search, "LOOKED_FOR": str(names), "INTERRUPT_AT": module},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    return result.returncode, result.stderr, names.read_text("utf-8").splitlines()


def assert_interrupted(module: str, entry: str, folder: Path) -> None:
    code, errors, names = interrupted_at(module, entry, folder)
    assert module in names
    assert code == 130, errors[-2000:]
    assert "Traceback" not in errors
    assert "KeyboardInterrupt" not in errors
    assert not list(folder.rglob(".*.new"))


@pytest.mark.parametrize(
    ("module", "entry"),
    [
        *((name, "pipelines.build") for name in ("builders.errors", "pipelines.command", "polars", "pyarrow.lib")),
        *((name, "pipelines.build") for name in ("numpy", "pipelines.release.writing", "builders.rumteb.terra")),
        *((name, "embedding_datasets build") for name in ("builders.errors", "argparse", "polars")),
    ],
)
def test_ctrl_c_while_a_module_loads_ends_in_130_without_a_traceback(module: str, entry: str, tmp_path: Path) -> None:
    assert_interrupted(module, entry, tmp_path)


@pytest.mark.slow
def test_ctrl_c_while_any_module_loads_ends_in_130_without_a_traceback(tmp_path: Path) -> None:
    names = list(dict.fromkeys(interrupted_at("", "pipelines.build", tmp_path)[2]))
    assert len(names) > 400
    for module in names[names.index("pipelines") + 1 :: 10]:  # before ours, Python itself starts
        assert_interrupted(module, "pipelines.build", tmp_path)


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


# A command in which a library turns the exception of a signal into another error, as polars may where it converts a value.
SWALLOWED = """
import os, signal, sys, time
import pipelines.make, pipelines.scores.scoring
from builders.errors import SourceError
from pipelines import build, command, score

def swallow(*_):
    print("working", flush=True)
    try:
        os.kill(os.getpid(), {number})
        time.sleep(60)
    except BaseException:
        raise {error}("cannot create a literal") from None

pipelines.make.make = pipelines.scores.scoring.score_release = swallow
sys.argv[1:] = ["cedr", "terra", *{options!r}]
command.run({command}.main)
"""


@pytest.mark.parametrize(
    ("command", "options", "error"),
    [
        ("build", ("--sample", "--output"), "TypeError"),
        ("build", ("--sample", "--output"), "SourceError"),
        ("score", ("--releases",), "TypeError"),
        ("score", ("--releases",), "SourceError"),
    ],
)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_error_that_a_signal_caused_is_none_of_the_dataset_and_the_command_ends(
    command: str, options: tuple[str, ...], error: str, number: signal.Signals, code: int, tmp_path: Path
) -> None:
    script = SWALLOWED.format(command=command, options=(*options, str(tmp_path)), error=error, number=int(number))
    with start(sys.executable, "-c", script) as process:
        output, errors = process.communicate(timeout=LONGEST)
    assert (process.returncode, output) == (code, "working\n")
    assert "Traceback" not in errors
    assert "literal" not in errors
    assert errors.endswith("interrupted\n" if number == signal.SIGINT else "")


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
