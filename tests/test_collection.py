"""Test ids: the same in every process, whenever it collects, or pytest-xdist ends the run."""

import os
import subprocess
import sys
import time

import pytest

from tests.support.paths import ROOT


def collect(hash_seed: str) -> list[str]:
    """The ids of all tests, collected in a separate process."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
        "--override-ini",
        "addopts=--import-mode=importlib",
    ]
    env = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return [line for line in done.stdout.splitlines() if "::" in line]


@pytest.mark.slow  # workers of CI have different hash seeds, and pytest-xdist compares their ids
def test_ids_do_not_depend_on_the_time_or_on_the_order_of_sets() -> None:
    first = collect("1")
    time.sleep(1.1)  # gzip and zip store whole seconds
    assert collect("2") == first
    assert len(first) > 1000
