"""Datasets with complete real raw files get the rows of the ledger, in any process."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.make import BuildResult
from pipelines.release import ledger
from tests.support.paths import ROOT
from tests.support.real_releases import COMPLETE

ALL = tuple(name for name, splits in COMPLETE.items() if splits is None)
QUICK = ("terra-pairclassification", "arc-challenge-retrieval")


@pytest.mark.parametrize("name", COMPLETE)
def test_the_rows_are_those_of_the_ledger(name: str, complete_release: Callable[[str], BuildResult]) -> None:
    manifest = complete_release(name).manifest
    assert all(file.verified for file in manifest.raw)
    if not manifest.partial:
        entry = ledger.find_entry(name, "1.0.0")
        assert entry is not None
        assert manifest.content_sha256 == entry.content_sha256


@pytest.mark.parametrize(("names", "jobs"), [(QUICK, 1), pytest.param(ALL, 2, marks=pytest.mark.slow)])
def test_another_process_with_one_thread_builds_the_same_rows(
    names: tuple[str, ...],
    jobs: int,
    complete_release: Callable[[str], BuildResult],
    real_sources: Path,
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pipelines.build", *(f"{name}@1.0.0" for name in names), "--json", "--offline",
         "--jobs", str(jobs), "--raw-dir", str(real_sources), "--output", str(tmp_path / "out"),
         "--cache", str(tmp_path / "cache")],
        cwd=ROOT, env=os.environ | {"POLARS_MAX_THREADS": "1", "PYTHONHASHSEED": "7"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    hashes = {row["dataset"]: row["content_sha256"] for row in map(json.loads, done.stdout.splitlines())}
    assert hashes == {name: complete_release(name).manifest.content_sha256 for name in names}
