"""The command `fetch`: its JSON, and what `--help` costs."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from pipelines.make import GOLDEN
from tests.support.paths import ROOT
from tests.support.processes import run


def test_json_is_one_object_per_file(tmp_path: Path) -> None:
    # A file fetched by hand, without a known digest, so that the golden one is accepted.
    shutil.copytree(GOLDEN / "genie" / "raw", tmp_path / "raw" / "genie")
    path = tmp_path / "raw" / "genie" / "ratings.jsonl"
    done = run("fetch", "genie-reranking", "--raw-dir", str(tmp_path / "raw"), "--cache", str(tmp_path), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {
        "name": "genie/ratings.jsonl",
        "url": None,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "bytes": path.stat().st_size,
        "verified": False,
        "origin": "raw-dir",
        "path": str(path),
        "member": None,
    }


def processor_time(*arguments: str) -> float:
    """Seconds of processor time that Python takes with these arguments: the fewest of several runs."""
    seconds = []
    for _ in range(4):  # the first run may compile modules
        before = os.times()
        subprocess.run([sys.executable, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
        after = os.times()
        seconds.append(after.children_user - before.children_user + after.children_system - before.children_system)
    return min(seconds)


def test_help_costs_less_than_the_import_of_polars() -> None:
    assert processor_time("-m", "pipelines.fetch", "--help") < processor_time("-c", "import polars")
