"""Build or export one dataset repeatedly, and kill each run (SIGKILL) a few steps later than the previous one.

`run_killed` runs it as `python -m tests.support.killed_builds JOB.json`: for test_make.py over an older release, for
test_pikabu.py and test_multi_para_crawl.py without one. So do test_miracl_checkpoints.py, and test_export.py for exports. It
prints the number of steps of a complete run. A step is a Python audit event that names a path below the watched folder
(outputs or cache): open, mkdir, rename, remove and so on. The lookup of the system call that exchanges two folders is a step
too.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from builders import catalogue
from builders.reading import lines
from builders.shaping import popularity
from pipelines.exporting.export import write_export
from pipelines.exporting.sets import Choices, find_releases, select_sets
from pipelines.make import GOLDEN, BuildSettings, make
from pipelines.raw.settings import RawSettings
from pipelines.release import staging
from tests.support.paths import ROOT


def run_killed(folder: Path, dataset: str, **job: Any) -> list[Path]:
    """Run this module for the golden sample of a dataset; returns the folders of its runs. Only the last run ended."""
    job = {"dataset": dataset, "golden": str(GOLDEN), "exchange": True, "folder": str(folder / "killed")} | job
    (folder / "job.json").write_text(json.dumps(job))
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.killed_builds", str(folder / "job.json")],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["exit"] == 0
    return sorted((folder / "killed").iterdir())


def build(job: dict[str, Any], output: Path) -> None:
    raw = RawSettings(cache=output.parent / "cache", offline=True, lock=output.parent / "lock.json")
    settings = BuildSettings(
        output, raw, sample=True, force=True, ledger=output.parent / "ledger.json", golden=Path(job["golden"])
    )
    dataset = catalogue.load(catalogue.entries()[job["dataset"]])
    make(dataset, job.get("version", "1.0.0"), settings)


def export_release(job: dict[str, Any], output: Path) -> None:
    choices = Choices(job["trainer"], 1, "first", "text")
    write_export(select_sets(find_releases([job["release"]], output), None), output / "to", choices)


def kill_before(step: int, folder: Path) -> None:
    """Count the steps from now on, and kill this process before the given one."""
    prefix, count = str(folder), 0

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        # Other symbol lookups do not count: their number depends on the libraries imported so far.
        is_exchange = event == "ctypes.dlsym" and arguments[1] == "renameat2"
        if is_exchange or any(
            isinstance(value, str | os.PathLike) and str(value).startswith(prefix) for value in arguments
        ):
            if count == step:
                os.kill(os.getpid(), signal.SIGKILL)
            count += 1

    sys.addaudithook(watch)


def main() -> None:
    job = json.loads(Path(sys.argv[1]).read_text())
    if not job["exchange"]:
        staging._exchange = lambda *_: False
    if "batch" in job:
        lines.BATCH = popularity.BATCH_ROWS = job["batch"]
    for step in range(0, job["most"], job.get("every", 1)):
        output = Path(job["folder"]) / f"{step:03d}" / "outputs"
        if "old" in job:
            shutil.copytree(job["old"], output)
        # Forking is safe: polars starts its threads at the first query, and only the children run queries.
        child = os.fork()
        if child == 0:
            kill_before(step, output.with_name(job.get("below", "outputs")))
            (export_release if "release" in job else build)(job, output)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            print(json.dumps({"steps": step, "exit": os.waitstatus_to_exitcode(status)}))
            return
    raise SystemExit(f"not finished after {job['most']} steps")


if __name__ == "__main__":
    main()
