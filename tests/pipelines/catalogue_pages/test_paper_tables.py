"""The tables of the benchmarks: the datasets of the papers, and those that only the catalogue has. The table of
docs/training.md is what the builders say. `show training`: the paper's 54 sets beside ours.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from builders import catalogue, papers
from pipelines.catalogue_pages import paper_tables
from pipelines.catalogue_pages.paper_tables import (
    benchmark_page,
    paper_tasks,
    training_markdown,
    training_page,
)
from tests.support.paths import ROOT
from tests.support.processes import run
from tests.support.releases import NAMES, definition_of

UNLISTED = {"rumteb": "cedr-classification", "ateb": "piqa-retrieval"}


@pytest.fixture(params=UNLISTED)
def benchmark(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A benchmark whose table does not have one of the datasets of the catalogue."""
    name: str = request.param
    listed = {dataset: task for dataset, task in paper_tasks(name).items() if dataset != UNLISTED[name]}
    monkeypatch.setattr(paper_tables, "paper_tasks", lambda _: dict(listed))
    return name


def test_show_lists_a_dataset_that_the_table_of_the_paper_does_not_have(benchmark: str, tmp_path: Any) -> None:
    page = run("show", benchmark, "--output", str(tmp_path)).stdout.split("\n\n")[0]
    entries = re.split(r"\n(?! )", re.split(r"\n-[- ]*\n", page)[1])
    assert len(entries) == len(paper_tasks(benchmark))
    assert entries[-1].split()[0] == UNLISTED[benchmark]
    assert "not in the paper" in entries[-1]
    assert not any("not in the paper" in entry for entry in entries[:-1])


def test_a_new_dataset_has_a_line_beside_those_of_the_paper(benchmark: str) -> None:
    description: dict[str, Any] = dict.fromkeys(("task", "source", "license", "status", "built"), "-") | {
        "versions": {}
    }
    listed = paper_tables.paper_tasks(benchmark)
    page = benchmark_page(benchmark, [description | {"dataset": name} for name in [*listed, "new-dataset"]])
    names = [line.split()[0] for line in page.split("\n\n")[0].splitlines() if line[0] not in " -"]
    assert names == ["dataset", *listed, "new-dataset"]


def test_the_versions_in_the_output_folder_are_listed_under_their_dataset() -> None:
    description = {"task": "STS", "versions": {}, "status": "golden sample only", "built": "-"}
    descriptions = [description | {"dataset": name} for name in paper_tasks("rumteb")]
    descriptions[0] = descriptions[0] | {"built": "1.0.0 (sample), 2.0.0"}
    verbose = benchmark_page("rumteb", descriptions, verbose=True)
    assert "\n    in the output folder: 1.0.0 (sample), 2.0.0\n" in verbose
    assert "\n    Table 1: wrong: 4,000 training rows is a misprint" in verbose
    brief = benchmark_page("rumteb", descriptions).splitlines()
    assert brief[2].endswith("  1.0.0 (sample), 2.0.0")
    assert brief.index("") == 2 + len(descriptions), "the heading, then a line for each dataset"
    assert brief[-1] == "-v says why 12 sizes are not those of the paper."


def test_the_page_is_up_to_date() -> None:
    assert training_markdown() in (ROOT / "docs" / "training.md").read_text("utf-8"), (
        "generate it: python -m pipelines.catalogue_pages.paper_tables"
    )


def test_every_set_of_the_paper_is_a_config_of_a_dataset_and_every_config_is_a_set() -> None:
    built = [(row.dataset, row.config) for row in papers.training_sets()]
    training = [catalogue.load(entry).dataset for entry in catalogue.entries().values() if entry.group == "training"]
    assert len(built) == len(set(built)) == 54
    assert set(built) == {(dataset.name, config) for dataset in training for config in dataset.task.configs}


OURS = [name for name in NAMES if definition_of(name).dataset.group == "training"]


def described(name: str, **known: Any) -> dict[str, Any]:
    description = {"dataset": name, "source": "medi", "status": "golden sample only", "rows": None, "counted_in": None}
    return description | {"license": "other", "needs": {}} | known


def need(access: str = "open", size: int | None = None) -> dict[str, Any]:
    return {"access": access, "bytes": size}


def line(page: str, name: str) -> str:
    return next(text for text in page.splitlines() if text.startswith(f"{name} "))


def test_the_prefixes_of_every_config_are_those_of_its_set() -> None:
    """Written by hand from A.1.1: search for answers, clustering for titles, classification for paraphrases and translations."""
    by_task = {"Retrieval": ("search_query", "search_document"), "Clustering": ("clustering",)}
    for row in papers.training_sets():
        prompts = definition_of(row.dataset).dataset.prompts
        assert prompts is not None
        [config] = [config for config in prompts.configs if config.config == row.config]
        assert config.rosberta == by_task.get(row.target_task, ("classification",)), row.set


def test_a_set_shows_our_rows_or_that_it_is_not_built() -> None:
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
    assert "32 sets with about 1,389,000 pairs, in 3 datasets. 0 of 3 datasets verified" in " ".join(page.split())


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
    page = training_page([described("xnli-contrastive", source="a_long_name_of_a_source", license="cc-by-nc-4.0")], 80)
    assert max(map(len, page.splitlines())) <= 80
    assert "cc-by-nc-4.0" in line(page, "XNLI")
    assert "(the terminal is too narrow for: part, source" in page


def test_json_has_the_sets_of_a_dataset_with_all_that_the_table_shows(tmp_path: Path) -> None:
    row = json.loads(run("show", "habr-qna", "--json", "--output", str(tmp_path)).stdout)
    assert [one["config"] for one in row["sets"]] == ["habr-qna-qa", "habr-qna-title-body"]
    first = row["sets"][0]
    assert (first["license"], first["by_hand"], first["gated"]) == ("cc0-1.0", ["tokens", "index", "mined"], [])
    assert row["needs"]["questions"]["access"] == "open"


def test_the_readme_says_how_many_datasets_have_met_their_real_files() -> None:
    """Counted from the ledger by hand: no code of the page."""
    recorded = json.loads((ROOT / "pipelines" / "ledger.json").read_text("utf-8"))
    parts = recorded.pop("parts")
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    for group, title in (
        ("rumteb", "ruMTEB"),
        ("ateb", "ATEB"),
        ("rarb", "RAR-b"),
        ("training", "the training datasets"),
    ):
        names = [name for name in NAMES if definition_of(name).dataset.group == group]
        assert f"{sum(name in recorded for name in names)} of {len(names)} of {title}" in readme
        more = sum(name in parts for name in names if name not in recorded)
        assert not more or f"of {title} ({more} more in part)" in readme
    assert paper_tables.status_summary() in readme
