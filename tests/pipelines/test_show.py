"""The output of `show` for the two benchmarks."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from builders.benchmarks import BUILT_IN
from builders.spec import version_key
from pipelines.catalogue_pages import paper_tables
from pipelines.make import BuildResult
from pipelines.release import figures, ledger
from pipelines.show import describe
from tests.support.processes import run
from tests.support.releases import NAMES, definition_of


def show(*arguments: str) -> str:
    process = run("show", *arguments)
    assert process.returncode == 0, process.stderr
    return process.stdout


def benchmark_rows(name: str, folder: Path) -> Mapping[str, str]:
    """Return what is printed of each dataset of a benchmark, without line breaks; `folder` holds no releases."""
    page = show(name, "-v", "--output", str(folder)).split("\n\n")[0]
    entries = re.split(r"\n(?! )", re.split(r"\n-[- ]*\n", page)[1])
    rows = {entry.split()[0]: " ".join(entry.split()) for entry in entries}
    assert len(rows) == len(entries)
    return rows


@pytest.mark.parametrize(("benchmark", "tasks"), [("rumteb", 23), ("ateb", 21)])
def test_a_benchmark_lists_the_tasks_of_its_paper_and_of_the_catalogue(
    benchmark: str, tasks: int, tmp_path: Path
) -> None:
    group = {name for name in NAMES if definition_of(name).dataset.group == benchmark}
    printed = benchmark_rows(benchmark, tmp_path)
    assert set(printed) == group
    assert len(printed) == tasks


def test_rumteb_quotes_the_table_of_the_paper_and_notes_its_errors(tmp_path: Path) -> None:
    printed = benchmark_rows("rumteb", tmp_path)
    assert "7,529 / 1,882 7,528 / 1,882 7,528 / 1,882 Table 1: wrong" in printed["cedr-classification"]
    assert "the source has 7,528 training rows" in printed["cedr-classification"]
    assert "misprint" in printed["inappropriateness-classification"]
    assert "28,476 / 2,773 28,476 / 2,772 - Table 1: wrong" in printed["ru-scibench-grnti-classification"]
    assert "27,783 / 3,220 27,782 / 3,219 - Table 1: wrong" in printed["ru-scibench-oecd-classification"]
    assert "10,000 queries 704,343 documents, - 10,000 queries" in printed["ria-news-retrieval"]
    assert "the paper gives no reason" in printed["ria-news-retrieval"]
    assert "2,845 judgements" in printed["rubq-retrieval"]
    assert "1,692 queries" in printed["rubq-retrieval"]
    for name, task in paper_tables.paper_tasks("rumteb").items():
        assert task.note or task.size.removesuffix(" queries") == task.expected.removesuffix(" queries"), name


def test_rumteb_calls_real_only_what_the_ledger_has(tmp_path: Path) -> None:
    printed = benchmark_rows("rumteb", tmp_path)
    assert "7,227 / 1,924 7,227 / 1,924 7,227 / 1,924" in printed["ru-paraphraser-sts"]
    assert printed["rubq-reranking"] == "rubq-reranking Reranking 1,551 queries 1,551 queries - golden sample only"
    assert printed["ru-stsbenchmark-sts"].endswith(" 5,224 / 1,336 / 1,264 - golden sample only")
    built = {name for name, entry in printed.items() if not re.search(r" - ", entry)}
    assert built == {name for name in printed if ledger.find_entry(name, "1.0.0")}
    assert {name for name, entry in printed.items() if entry.endswith("verified on complete real files")} == built


def test_the_leaderboard_of_mteb_names_for_each_task_our_dataset_and_the_version_to_use(tmp_path: Path) -> None:
    listed, note = show("mteb-rus-v1.1", "--output", str(tmp_path)).split("\n\n")
    lines = listed.splitlines()
    tasks = [line for line in lines if not line.startswith(" ")]
    page = {
        task: " ".join(part.split())
        for task, part in zip(tasks, re.split(r"(?m)^\S+\n", "\n".join(lines))[1:], strict=True)
    }
    assert len(page) == 23
    verified = {entry.split("@")[0] for entry in page.values() if entry.endswith("verified on complete real files")}
    assert note.startswith(f"{len(verified)} of 21 datasets verified on complete real files. ")
    assert max(map(len, lines)) <= 80
    assert page["CEDRClassification"] == "cedr-classification@1.0.0: 7,528 / 1,882; verified on complete real files"
    assert page["RuSciBenchOECDClusteringP2P"].startswith(
        "ru-scibench-oecd-classification@0.1.0 (waits for decide): 27,782 / 3,219 expected;"
    )
    assert page["RiaNewsRetrievalHardNegatives.v2"] == (
        "ria-news-retrieval-hard-negatives@0.1.0 (waits for decide): 1,000 queries expected; golden sample only"
    )
    assert (
        len(json.loads(f"[{','.join(show('MTEB_rus-v1.1', '--json', '--output', str(tmp_path)).splitlines())}]")) == 21
    )


def test_the_version_with_the_published_rows_is_the_one_to_use() -> None:
    known = {"versions": {"1.0.0": ""}, "waiting": [], "status": "-", "built": "-"}
    rows: list[dict[str, Any]] = [{"dataset": task.dataset, **known} for task in BUILT_IN]
    for row in rows:
        if row["dataset"] == "miracl-retrieval-hard-negatives-ru":
            row["versions"] = {"0.1.0": "", "1.0.0": "", "2.0.0": ""}
    page = paper_tables.benchmark_page("mteb-rus-v1.1", rows)
    assert "    miracl-retrieval-hard-negatives-ru@0.1.0: " in page
    assert "    ria-news-retrieval-hard-negatives@1.0.0: " in page


def test_rumteb_fits_a_terminal_of_80_columns(tmp_path: Path) -> None:
    assert max(map(len, show("rumteb", "-v", "--output", str(tmp_path)).splitlines())) <= 80
    rows = [
        describe(definition_of(name), "1.0.0", tmp_path)
        for name in NAMES
        if definition_of(name).dataset.group == "rumteb"
    ]
    page = paper_tables.benchmark_page("rumteb", [row | {"built": "2.0.0 (sample)"} for row in rows], 80).splitlines()
    assert max(map(len, page)) <= 80
    assert len(page) <= 23 + 14


def test_a_version_is_shown_with_its_own_options_rows_and_findings(
    tmp_path: Path, golden_release: Callable[..., BuildResult]
) -> None:
    first, second = (
        json.loads(show(f"cedr@{version}", "--json", "--output", str(tmp_path))) for version in ("1.0.0", "2.0.0")
    )
    assert (first["options"]["clean"], second["options"]["clean"]) == (False, True)
    assert first["rows"] == {"default/train": 7528, "default/test": 1882}, "from the ledger"
    assert second["rows"] == {"default/train": 7485, "default/test": 1875}
    assert (first["dropped"], first["counted_in"]) == (None, "ledger")
    assert "split_leak" in {finding["kind"] for finding in first["findings"]}, "declared by the builder"
    page = show("cedr@1.0.0", "--output", str(tmp_path))
    assert "clean=False" in page
    assert "default/train 7,528, default/test 1,882" in page
    assert "split_leak 7 (default/test.text)" in " ".join(page.split())
    assert page.rstrip().endswith("embedding-datasets build cedr-classification@1.0.0")

    release = golden_release("cedr-classification", "2.0.0")
    built = json.loads(show("cedr@2.0.0", "--json", "--output", str(release.release_dir.parents[1])))
    assert built["rows"] == release.manifest.rows, "from the release in the output folder"
    assert [drop["count"] for drop in built["dropped"]] == [drop.count for drop in release.manifest.dropped]
    assert built["counted_in"].endswith("2.0.0, sample")


@pytest.mark.parametrize("name", ["cedr@1.0.0", "miracl-retrieval-ru", "terra", "shp"])
def test_the_page_of_a_dataset_fits_80_columns_but_for_addresses(name: str, tmp_path: Path) -> None:
    lines = show(name, "--output", str(tmp_path)).splitlines()
    assert [line for line in lines if len(line) > 80 and not line.strip().startswith("https://")] == []


def test_the_benchmark_sizes_match_the_published_figures() -> None:
    """A size that both data files contain is the same in both."""
    published = json.loads(figures.PUBLISHED.read_text("utf-8"))
    compared = 0
    for name, expected in paper_tables.EXPECTED.items():
        facts = published.get(name, {"facts": []})["facts"]
        sizes = {figure["path"][0]: figure["value"] for figure in facts if figure["path"][1:] == ["num_samples"]}
        table_sizes = [part for part in expected.split(" / ") if part.replace(",", "").isdigit()]
        if table_sizes and len(table_sizes) == len(sizes):
            splits = [split for split in definition_of(name).dataset.task.splits if split in sizes]
            assert table_sizes == [f"{sizes[split]:,}" for split in splits], name
            compared += 1
    assert compared > 15


def test_ateb_lists_group_source_size_license_and_state(tmp_path: Path) -> None:
    printed = benchmark_rows("ateb", tmp_path)
    assert [
        word
        for word in ("factuality", "esnli", "549,367 / 9,842 / 9,824", "cc-by-sa-4.0", " a part ")
        if word not in printed["esnli-classification"]
    ] == []
    assert [
        word
        for word in ("safety", "hh_rlhf", "test 4,620", " a part ")
        if word not in printed["hhrlhf-harmlessness-classification"]
    ] == []
    assert [
        word
        for word in ("instruction following", "lmsys_arena", "golden sample only")
        if word not in printed["lmsys-reranking"]
    ] == []
    assert " complete real files, 3.0.0 " in printed["piqa-retrieval"]
    for name, line in printed.items():
        recorded = [version for version in definition_of(name).dataset.versions if ledger.find_entry(name, version)]
        assert ("complete real files" in line) == bool(recorded)
        assert not recorded or f"complete real files, {max(recorded, key=version_key)}" in line


def test_other_groups_and_json_output_have_the_usual_format(tmp_path: Path) -> None:
    heading = show("rarb", "--output", str(tmp_path)).splitlines()[0].split()
    assert heading == ["dataset", "group", "task", "source", "licence", "newest", "verified", "on", "built"]
    objects = [json.loads(line) for line in show("ateb", "--json", "--output", str(tmp_path)).splitlines()]
    assert {row["dataset"] for row in objects} == set(paper_tables.paper_tasks("ateb"))
    assert all("summary" in row for row in objects)
