"""Every built-in task of mteb in builders/benchmarks.py runs on our release, by the code on its card."""

import math
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.benchmarks import BENCHMARKS, BUILT_IN, NOT_SERVED, REPOSITORIES, find_alias
from builders.catalogue import entries
from pipelines.make import BuildResult
from tests.support import consumers
from tests.support.consumer_process import MTEB, ORG, Published, publish_releases, run_consumer
from tests.support.loopback_hub import LoopbackHub
from tests.support.paths import ROOT
from tests.support.real_releases import read_table

pytestmark = MTEB
DATASETS = sorted({task.dataset for task in BUILT_IN})


@pytest.fixture(scope="module")
def published(
    golden_release: Callable[[str], BuildResult], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Published]:
    """A Hub with the golden release of every dataset that a built-in task evaluates."""
    with LoopbackHub() as server:
        work = tmp_path_factory.mktemp("published")
        yield publish_releases(server, [golden_release(name) for name in DATASETS], work, sample=True)


@pytest.fixture(scope="module")
def ran(published: Published, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the code of the cards ran: by task, its dataset and its scores."""
    return run_consumer(published.server, "drop_in", {"cards": published.cards()}, tmp_path_factory.mktemp("ran"))


@pytest.mark.slow
def test_every_built_in_task_evaluates_our_release_by_the_code_on_its_card(
    ran: dict[str, Any], published: Published
) -> None:
    assert set(ran) == {task.name for task in BUILT_IN}
    for task in BUILT_IN:
        repo = f"{ORG}/{task.dataset}"
        version = published.releases[repo].version
        assert ran[task.name]["dataset"] == {"path": repo, "revision": f"v{version}"}
        scores = ran[task.name]["scores"]
        assert scores
        for subsets in scores.values():
            assert set(subsets) == {task.subset or "default"}
            assert all(math.isfinite(score) for score in subsets.values()), (task.name, scores)


def table_of(ran: dict[str, Any]) -> list[str]:
    """The lines of the table in docs/publishing.md, from what ran."""
    of_columns = "path, revision, and no renaming of columns"
    changes = {task.name: of_columns if task.renames_columns else "path and revision" for task in BUILT_IN}
    lines = ["| task of mteb | our dataset | subset | splits | what changes |", "| --- | --- | --- | --- | --- |"]
    for name, one in ran.items():
        subsets = {subset for scores in one["scores"].values() for subset in scores} - {"default"}
        dataset, splits = (
            one["dataset"]["path"].removeprefix(f"{ORG}/"),
            ", ".join(f"`{split}`" for split in one["scores"]),
        )
        subset = ", ".join(f"`{subset}`" for subset in sorted(subsets)) or "–"
        lines.append(f"| `{name}` | `{dataset}` | {subset} | {splits} | {changes[name]} |")
    return lines


@pytest.mark.slow
def test_the_table_of_the_documentation_is_what_ran(ran: dict[str, Any]) -> None:
    text = (ROOT / "docs" / "publishing.md").read_text("utf-8")
    expected = "\n".join(table_of({task.name: ran[task.name] for task in BUILT_IN}))
    [table] = re.findall(r"^\| task of mteb .*\n(?:\|.*\n)+", text, re.MULTILINE)
    assert table.rstrip("\n") == expected, f"the tasks that ran:\n\n{expected}"


@pytest.mark.filterwarnings("default")  # warnings of mteb and its libraries are not ours to fix
def test_the_list_has_every_task_of_the_benchmarks_and_says_which_later_versions_are_not_served() -> None:
    import mteb

    names = {task.name for task in BUILT_IN}
    assert {task.metadata.name for task in mteb.get_benchmark("MTEB(rus, v1)").tasks} <= names
    russian = [task.metadata.name for task in mteb.get_benchmark("MTEB(rus, v1.1)").tasks]
    assert sorted(BENCHMARKS["mteb-rus-v1.1"].tasks) == sorted(russian)
    assert set(russian) <= names
    assert {task.metadata.name for task in mteb.get_benchmark("RAR-b").tasks} & names == {
        "AlphaNLI", "ARCChallenge", "HellaSwag", "PIQA", "WinoGrande",
    }  # fmt: skip
    all_tasks = [task.metadata for task in mteb.get_tasks(exclude_superseded=False)]
    replacing = {task.superseded_by for task in all_tasks if task.name in names and task.superseded_by}
    adapted = {task.name for task in all_tasks if "rus" in task.languages and names & set(task.adapted_from or ())}
    assert replacing | adapted <= names | NOT_SERVED.keys()
    assert NOT_SERVED.keys() <= replacing | adapted


@pytest.mark.filterwarnings("default")  # warnings of mteb and its libraries are not ours to fix
def test_the_repositories_that_the_tasks_load_are_names_of_our_datasets() -> None:
    import mteb

    paths = {mteb.get_task(task.name).metadata.dataset["path"]: task.dataset for task in BUILT_IN}
    assert {path: find_alias(path, entries()) for path in paths} == paths
    assert set(REPOSITORIES) <= set(paths)


def subclass_of(name: str, path: Path, **attributes: Any) -> Any:
    """A built-in task that reads the dataset in a folder. attributes: what the subclass has beside that."""
    import mteb

    built_in = type(mteb.get_task(name))
    metadata = built_in.metadata.model_copy(update={"dataset": {"path": str(path), "revision": "main"}})
    return type("OnThisDataset", (built_in,), {"metadata": metadata, **attributes})


def score(name: str, path: Path, **attributes: Any) -> float:
    """The main score of a subclass of a built-in task on the dataset in a folder."""
    import mteb

    task = subclass_of(name, path, **attributes)()
    [result] = mteb.evaluate(consumers.encoder(), task, cache=None).task_results
    return float(result.get_score())


def rewrite_release(release: BuildResult, folder: Path, changes: dict[str, pl.Expr], split: str = "test") -> Path:
    """A copy of a release with other values in a column of some configs."""
    shutil.copytree(release.release_dir, folder)
    for table in release.manifest.tables:
        if table.config in changes and table.split == split:
            [file] = table.files
            pl.read_parquet(folder / file.path).with_columns(changes[table.config]).write_parquet(folder / file.path)
    return folder


@pytest.mark.filterwarnings("default")
def test_the_ten_lines_of_the_python_guide_load_a_dataset_and_hand_it_to_datasets_and_to_mteb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EMBEDDING_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "datasets"))
    text = (ROOT / "docs" / "python.md").read_text("utf-8")
    [code] = [block for block in re.findall(r"(?ms)^```python\n(.*?)^```$", text) if "import mteb" in block]
    assert len(code.split("\n\n")[1].splitlines()) <= 10
    namespace: dict[str, Any] = {"MODEL": consumers.encoder()}
    exec(code.replace('mteb.get_model("intfloat/multilingual-e5-small")', "MODEL"), namespace)
    [result] = namespace["results"].task_results
    assert math.isfinite(result.get_score())
    assert namespace["train"].num_rows == 5
    assert "info duplicate_text default/train 1" in capsys.readouterr().out


@pytest.mark.filterwarnings("default")
def test_mteb_never_finds_the_paragraph_with_the_id_of_its_question(
    golden_release: Callable[..., BuildResult], tmp_path: Path
) -> None:
    first, second = (golden_release("rubq-retrieval", version) for version in ("1.0.0", "2.0.0"))
    shared = [(finding.count, finding.detail) for finding in first.manifest.findings if finding.kind == "shared_ids"]
    assert shared == [(1, "1 of them judged relevant to the document with their id")]
    assert "shared_ids" not in {finding.kind for finding in second.manifest.findings}
    prefixed = {
        config: pl.concat_str(pl.lit("q"), column).alias(column)
        for config, column in (("queries", "id"), ("qrels", "query-id"))
    }
    same_rows = rewrite_release(first, tmp_path / "prefixed", prefixed)
    assert score("RuBQRetrieval", first.release_dir) < score("RuBQRetrieval", same_rows)


@pytest.mark.filterwarnings("default")
def test_with_the_change_in_the_documentation_mtebs_paraphraser_task_reads_both_datasets(
    golden_release: Callable[..., BuildResult], tmp_path: Path
) -> None:
    text = (ROOT / "docs" / "publishing.md").read_text("utf-8")
    [code] = re.findall(r"```python\n(def dataset_transform.*?)```", text, re.DOTALL)
    namespace: dict[str, Any] = {}
    exec(code, namespace)
    release = golden_release("ru-paraphraser-sts")
    original = tmp_path / "original" / "data"
    original.mkdir(parents=True)
    names = {"sentence1": "text_1", "sentence2": "text_2", "score": "class"}
    for split in ("train", "test"):
        rows = read_table(release, split=split).rename(names)
        rows.with_columns(pl.col("class").cast(pl.Int64)).write_parquet(original / f"{split}.parquet")
    changed = {"dataset_transform": namespace["dataset_transform"]}
    assert score("RUParaPhraserSTS", release.release_dir, **changed) == score("RUParaPhraserSTS", original.parent)
    assert score("RUParaPhraserSTS", original.parent, **changed) == score("RUParaPhraserSTS", original.parent)


@pytest.mark.filterwarnings("default")
def test_the_clustering_task_of_ruscibench_takes_its_balanced_2048_papers_from_a_classification_dataset_of_real_size(
    golden_release: Callable[..., BuildResult], tmp_path: Path
) -> None:
    release = golden_release("ru-scibench-grnti-classification")
    (tmp_path / "data").mkdir()
    for split, size in (("train", 1), ("test", 2_772)):  # as many test rows as in 1.0.0
        rows = read_table(release, split=split)
        pl.concat([rows] * -(-size // rows.height)).head(max(size, rows.height)).write_parquet(
            tmp_path / "data" / f"{split}.parquet"
        )
    task = subclass_of("RuSciBenchGRNTIClusteringP2P", tmp_path)()
    task.load_data()
    papers = task.dataset["test"]
    assert {"sentences", "labels"} <= set(papers.column_names)
    counts = Counter(papers["labels"]).values()
    assert (len(counts), sum(counts), max(counts) - min(counts)) == (28, 2_048, 1)
