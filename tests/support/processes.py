"""Run commands in separate processes, and prepare their environments and checkouts."""

import contextlib
import gc
import importlib
import io
import os
import shutil
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from pipelines import command
from pipelines.process.terminal import configure_logging
from tests.support.loopback_hub import WRITER, LoopbackHub
from tests.support.paths import ROOT

LONGEST = 120  # seconds until a test gives up; nothing takes as long


def run(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a command in this process as `python -m pipelines.NAME` runs it, without a terminal; its output is kept in memory.

    This saves a second of imports each time. A test of what differs in a process starts one itself.
    """
    out, err = io.StringIO(), io.StringIO()
    name, *options = arguments
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patch.setattr(sys, "argv", [f"pipelines/{name}.py", *options])
        try:
            command.run(importlib.import_module(f"pipelines.{name}").main)
        except SystemExit as ended:
            code = ended.code
        finally:
            gc.unfreeze()
            for number, handler in handlers.items():
                signal.signal(number, handler)
            configure_logging()
    assert isinstance(code, int)
    return subprocess.CompletedProcess(list(arguments), code, out.getvalue(), err.getvalue())


def environment(hub: LoopbackHub, folder: Path, **more: str) -> dict[str, str]:
    """Return the environment variables that point a new process to the Hub, a token and caches in `folder`."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    settings = {"HF_ENDPOINT": hub.url, "HF_TOKEN": WRITER, "HF_HUB_DISABLE_TELEMETRY": "1"}
    return (
        inherited | settings | {"HF_HOME": str(folder / "hf"), "EMBEDDING_DATASETS_CACHE": str(folder / "cache")} | more
    )


def tracked_files() -> list[str]:
    """The files of this repository that git tracks or would add, by their path below it.

    Raises CalledProcessError where this is not a repository.
    """
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    return [name for name in listed if name and (ROOT / name).is_file()]


@cache
def has_history() -> bool:
    """Whether this is a repository with all of its commits; a copy of its files has none."""
    command = ["git", "rev-parse", "--is-shallow-repository", "HEAD"]
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.startswith("false")
    except (OSError, subprocess.CalledProcessError):
        return False


def checkout(folder: Path) -> Path:
    """Copy the files of this repository that git tracks or would add into `folder`, and make it a repository like a clone.

    The tests that run inside the copy list its files with git too.
    """
    for name in tracked_files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, folder / name)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    return folder
