"""The tables of the benchmarks: the datasets of the papers, and those that only the catalogue has. The table of
docs/training.md is what the builders say. `show training`: the paper's 54 sets beside ours.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from builders import catalogue
from builders.training.medi import SETS as MEDI
from pipelines import show
from pipelines.catalogue_pages import paper_tables
from pipelines.catalogue_pages.paper_tables import (
    NO_BUILDER,
    SETS,
    TASKS,
    benchmark_page,
    training_markdown,
    training_page,
)
from tests.support.paths import ROOT
from tests.support.releases import NAMES, definition_of

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


def test_the_page_is_up_to_date() -> None:
    assert training_markdown() in (ROOT / "docs" / "training.md").read_text("utf-8"), (
        "generate it: python -m pipelines.catalogue_pages.paper_tables"
    )


def test_every_set_of_the_paper_is_a_config_of_a_dataset_and_every_config_is_a_set() -> None:
    built = [(one["dataset"], one["config"]) for one in SETS]
    training = [catalogue.load(entry).dataset for entry in catalogue.entries().values() if entry.group == "training"]
    assert len(built) == len(set(built)) == 54
    assert set(built) == {(dataset.name, config) for dataset in training for config in dataset.task.configs}


OURS = [name for name in NAMES if definition_of(name).dataset.group == "training"]


def described(name: str, **known: Any) -> dict[str, Any]:
    return {"dataset": name, "rows": None, "counted_in": None, "license": "other", "needs": {}} | known


def need(access: str = "open", size: int | None = None) -> dict[str, Any]:
    return {"access": access, "bytes": size}


def line(page: str, name: str) -> str:
    return next(text for text in page.splitlines() if text.startswith(f"{name} "))


def test_the_table_has_the_sets_and_rows_of_the_paper() -> None:
    assert (len(SETS), sum(one["thousands"] for one in SETS)) == (54, 3_797)
    parts = {one["part"]: 0 for one in SETS}
    for one in SETS:
        parts[one["part"]] += one["thousands"]
    assert parts == {"basic English": 1255, "basic Russian": 1775, "synthetic": 747, "retrieval": 20}


def test_every_set_with_a_builder_has_the_prefix_of_its_config_and_every_config_is_in_the_table() -> None:
    named = {(one["dataset"], one["config"]): one["prefix"] for one in SETS if "dataset" in one}
    declared = {
        (name, config.config): config.rosberta[0].removesuffix("_query")
        for name in OURS
        for config in definition_of(name).dataset.prompts.configs  # type: ignore[union-attr]
    }
    assert named == declared
    assert len(named) == len([one for one in SETS if "dataset" in one]), "a config is one set of the table"
    assert {one["config"]: one["thousands"] for one in SETS if one.get("dataset") == "medi-contrastive"} == {
        config: thousands for config, (thousands, _, _) in MEDI.items()
    }


def test_a_set_shows_our_rows_that_it_is_not_built_or_that_there_is_no_builder() -> None:
    page = training_page(
        [
            described("ru-hnp-contrastive", rows={"ru-hnp/train": 12}, counted_in="outputs/x, sample"),
            described("medi-contrastive", rows={"agnews/train": 45_000}, counted_in="ledger"),
            described("ru-wanli-contrastive"),
        ],
        200,
    )
    assert line(page, "RuHNP").split("  ")[-1].strip() == "12 (sample)"
    assert line(page, "AGNews").endswith(" 45,000")
    assert line(page, "RuWANLI").endswith(" not built")
    assert page.count(NO_BUILDER) == 22
    assert "32 of them, with 1,389K rows, have a builder" in " ".join(page.split())


def test_a_set_shows_its_licence_its_raw_files_and_what_must_be_got_by_hand() -> None:
    hands = {"index": need("by hand"), "mined-agnews": need("by hand"), "mined-nq": need("by hand")}
    page = training_page(
        [
            described("medi-contrastive", needs={"0": need(), "1": need()} | hands),
            described("xnli-contrastive", license="cc-by-nc-4.0", needs={"train": need(size=5_000_000), "dev": need()}),
            described("ru-hnp-contrastive", needs={"train": need("gated", 2_000)}),
        ],
        250,
    )
    assert re.split("  +", line(page, "AGNews"))[5:] == ["other", "unknown", "by hand: index, mined", "not built"]
    assert re.split("  +", line(page, "XNLI"))[5:] == ["cc-by-nc-4.0", "5 MB + 1 unknown", "-", "not built"]
    assert re.split("  +", line(page, "RuHNP"))[5:] == ["other", "2 KB", "gated: train", "not built"]


def test_the_table_fits_80_columns_with_the_licence() -> None:
    page = training_page([described("xnli-contrastive", license="cc-by-nc-4.0")], 80)
    assert max(map(len, page.splitlines())) <= 80
    assert "cc-by-nc-4.0" in line(page, "XNLI")
    assert "(the terminal is too narrow for: part, source, to get" in page


def test_json_has_the_sets_of_a_dataset_with_all_that_the_table_shows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.argv", ["show", "habr-qna", "--json", "--output", str(tmp_path)])
    assert show.main() == 0
    row = json.loads(capsys.readouterr().out)
    assert [one["config"] for one in row["sets"]] == ["habr-qna-qa", "habr-qna-title-body"]
    first = row["sets"][0]
    assert (first["license"], first["by_hand"], first["gated"]) == ("cc0-1.0", ["tokens", "index", "mined"], [])
    assert row["needs"]["questions"]["access"] == "open"
