"""The tables of the benchmarks: the datasets of the papers, and those that only the catalogue has."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from pipelines import show
from pipelines.report import benchmark_table
from pipelines.report.benchmark_table import TASKS, table_rows

UNLISTED = {"rumteb": "cedr-classification", "ateb": "piqa-retrieval"}


@pytest.fixture(params=TASKS)
def benchmark(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A benchmark whose table does not have one of the datasets of the catalogue."""
    name: str = request.param
    listed = {dataset: fact for dataset, fact in TASKS[name].items() if dataset != UNLISTED[name]}
    monkeypatch.setattr(benchmark_table, "TASKS", {**TASKS, name: listed})
    return name


def test_show_lists_a_dataset_that_the_table_of_the_paper_does_not_have(
    benchmark: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    monkeypatch.setattr(sys, "argv", ["show", benchmark, "--output", str(tmp_path)])
    assert show.main() == 0
    rows = capsys.readouterr().out.split("\n\n")[0].splitlines()[2:]
    assert len(rows) == len(TASKS[benchmark])
    assert rows[-1].split()[0] == UNLISTED[benchmark]
    assert "not in the paper" in rows[-1]
    assert not any("not in the paper" in row for row in rows[:-1])


def test_every_row_has_a_cell_for_each_heading(benchmark: str) -> None:
    description: dict[str, Any] = dict.fromkeys(("task", "source", "license", "built"), "-") | {"versions": {}}
    descriptions = [description | {"dataset": name} for name in [*benchmark_table.TASKS[benchmark], "new-dataset"]]
    heading, *rows = table_rows(benchmark, descriptions)
    assert heading[0] == "dataset"
    assert [row[0] for row in rows] == [*benchmark_table.TASKS[benchmark], "new-dataset"]
    assert {len(row) for row in rows} == {len(heading)}
