"""benchmarks/all.py: measurements become the tables of docs/performance.md."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

import benchmarks.all
from benchmarks import peers, ria_news
from benchmarks.programs import Measurement, measure, tree_memory
from tests.support.paths import ROOT

HOW = {
    "runs": 3, "commit": "0123abcd", "date": "2026-11-28", "machine": "2 cores (AMD EPYC), 24 GB", "versions": {"polars": "2.1.0"}
}  # fmt: skip
TINY = {
    "task": "duplicates",
    "size": 100,
    "unit": "documents",
    "programs": {"ours": {"processor": 2.0, "seconds": 1.25, "memory": 150_000_000}},
    "agreement": "2 near-duplicates",
    "missing": {"datasketch": "datasketch"},
    **HOW,
}
TABLE = """\
| task | program | processor seconds | ratio | seconds | peak memory |
| --- | --- | ---: | ---: | ---: | ---: |
| duplicates, 100 documents | ours | 2.0 | 1.00 | 1.2 | 150 MB |
| duplicates, 100 documents | datasketch | datasketch was not installed | | | |
"""


def test_a_run_of_the_smallest_task_is_the_medians_and_what_was_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    costs = iter(
        [Measurement(1.0, 2.0, 150_000_000), Measurement(9.0, 1.5, 90_000_000), Measurement(1.25, 8.0, 170_000_000)]
    )

    def run(command: Sequence[str]) -> Measurement:
        peers.TASKS[command[-3]].programs[command[-2]](Path(command[-1]))
        return next(costs)

    monkeypatch.setattr(benchmarks.all, "measure", run)
    monkeypatch.setattr(benchmarks.all, "find_spec", lambda _: None)
    assert benchmarks.all.measure_task("duplicates", 100, HOW, [], tmp_path) == TINY
    assert "because datasketch is not installed; the extra `benchmarks` installs it" in capsys.readouterr().err


def test_a_task_that_was_measured_at_the_commit_is_not_measured_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(benchmarks.all, "find_spec", lambda _: None)
    monkeypatch.setattr(benchmarks.all, "measure", lambda _: Measurement(1, 1, 1))
    monkeypatch.setitem(
        peers.TASKS, "duplicates", peers.Task("documents", (1,), (2,), lambda *_: None, {"ours": print})
    )
    known = TINY | {"missing": {}}
    task = benchmarks.all.measure_task
    assert task("duplicates", 100, HOW | {"date": "2026-11-29"}, [known], tmp_path) is None
    assert capsys.readouterr().out == "measured at this commit: duplicates, 100 documents\n"
    assert task("duplicates", 101, HOW, [known], tmp_path)
    assert task("duplicates", 100, HOW | {"commit": "4567abcd"}, [known], tmp_path)
    assert task("duplicates", 100, HOW | {"commit": "0123abcd+"}, [known | {"commit": "0123abcd+"}], tmp_path)


def test_records_become_the_tables_of_the_page() -> None:
    marker = "<!-- generated: python benchmarks/all.py"
    page = f"A\n\n{marker} -->\n\n| old |\n\nB\n\n{marker} duplicates -->\nC\n"
    script = {"processor": 8.0, "seconds": 1234.56, "memory": 1_234_567_890}
    small = TINY | {"programs": TINY["programs"] | {"script": script}, "missing": {}}
    assert benchmarks.all.write_tables(page, [TINY]).partition("B\n")[2].partition("-->\n")[2] == f"\n{TABLE}\nC\n"
    assert benchmarks.all.write_tables(page, [small]) == (
        """\
A

<!-- generated: python benchmarks/all.py -->

| tasks | machine | versions | commit, date | runs |
| --- | --- | --- | --- | ---: |
| duplicates | 2 cores (AMD EPYC), 24 GB | polars 2.1.0 | 0123abcd, 2026-11-28 | 3 |

B

<!-- generated: python benchmarks/all.py duplicates -->

| task | program | processor seconds | ratio | seconds | peak memory |
| --- | --- | ---: | ---: | ---: | ---: |
| duplicates, 100 documents | ours | 2.0 | 1.00 | 1.2 | 150 MB |
| duplicates, 100 documents | script | 8.0 | 4.00 | 1,234.6 | 1,235 MB |

C
"""
    )
    true = TINY | {"size": 200_000}
    assert "100 documents" not in benchmarks.all.write_tables(page, [TINY, true]), "the true size was measured"


def test_the_page_has_the_tables_of_what_was_measured_and_a_place_for_each_task() -> None:
    page = (ROOT / "docs" / "performance.md").read_text("utf-8")
    records = json.loads((ROOT / "benchmarks" / "performance.json").read_bytes())
    assert benchmarks.all.write_tables(page, records) == page, "python benchmarks/all.py --page"
    placed = [name for marker in benchmarks.all.TABLE.finditer(page) for name in marker[2].split()]
    assert sorted(placed) == sorted(benchmarks.all.MODULES)


def test_a_program_runs_by_its_name_in_a_process_of_its_own(tmp_path: Path) -> None:
    ria_news.prepare(tmp_path, 3)
    command = [sys.executable, "benchmarks/all.py", "--run", "ria", "floor", str(tmp_path)]
    measured = measure([*command])
    assert pl.read_parquet(tmp_path / "floor.parquet").shape == (3, 2)
    assert measured.processor > 0
    assert 10_000_000 < measured.memory < 2_000_000_000
    with pytest.raises(subprocess.CalledProcessError):
        measure([*command, "one too many"])


def test_a_task_is_loaded_without_what_other_tasks_need() -> None:
    code = "import sys, benchmarks.all; benchmarks.all.load('ria'); print({'polars', 'benchmarks.miracl'} & sys.modules.keys())"
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert process.stdout == "set()\n"


def test_the_memory_of_a_tree_is_that_of_all_its_processes() -> None:
    child = "import sys; held = b'1' * 90_000_000; print('ready', flush=True); sys.stdin.read()"
    parent = f"import subprocess, sys; held = b'1' * 90_000_000; subprocess.run([sys.executable, '-c', {child!r}])"
    process = subprocess.Popen([sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    assert 180_000_000 < tree_memory(process.pid) < 400_000_000
    process.communicate()
    assert tree_memory(process.pid) == 0
