"""The tables of the benchmarks: the datasets of the papers, and those that only the catalogue has."""

import re
import sys
from typing import Any

import pytest

from pipelines import show
from pipelines.catalogue_pages import paper_tables
from pipelines.catalogue_pages.paper_tables import TASKS, benchmark_page

UNLISTED = {"rumteb": "cedr-classification", "ateb": "piqa-retrieval"}


@pytest.fixture(params=TASKS)
def benchmark(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A benchmark whose table does not have one of the datasets of the catalogue."""
    name: str = request.param
    listed = {dataset: fact for dataset, fact in TASKS[name].items() if dataset != UNLISTED[name]}
    monkeypatch.setattr(paper_tables, "TASKS", {**TASKS, name: listed})
    return name


def test_show_lists_a_dataset_that_the_table_of_the_paper_does_not_have(
    benchmark: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    monkeypatch.setattr(sys, "argv", ["show", benchmark, "--output", str(tmp_path)])
    assert show.main() == 0
    page = capsys.readouterr().out.split("\n\n")[0]
    entries = re.split(r"\n(?! )", re.split(r"\n-[- ]*\n", page)[1])
    assert len(entries) == len(TASKS[benchmark])
    assert entries[-1].split()[0] == UNLISTED[benchmark]
    assert "not in the paper" in entries[-1]
    assert not any("not in the paper" in entry for entry in entries[:-1])


def test_a_new_dataset_has_a_line_beside_those_of_the_paper(benchmark: str) -> None:
    description: dict[str, Any] = dict.fromkeys(("task", "source", "license", "built"), "-") | {"versions": {}}
    descriptions = [description | {"dataset": name} for name in [*paper_tables.TASKS[benchmark], "new-dataset"]]
    page = benchmark_page(benchmark, descriptions)
    names = [line.split()[0] for line in page.split("\n\n")[0].splitlines() if line[0] not in " -"]
    assert names == ["dataset", *paper_tables.TASKS[benchmark], "new-dataset"]


def test_the_versions_in_the_output_folder_are_listed_under_their_dataset() -> None:
    description = {"task": "STS", "versions": {}, "built": "-"}
    descriptions = [description | {"dataset": name} for name in TASKS["rumteb"]]
    descriptions[0] = descriptions[0] | {"built": "1.0.0 (sample), 2.0.0"}
    assert "\n    in the output folder: 1.0.0 (sample), 2.0.0\n" in benchmark_page("rumteb", descriptions)
