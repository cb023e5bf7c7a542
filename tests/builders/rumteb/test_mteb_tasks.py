"""mteb's built-in tasks load our releases unchanged."""

import json
from collections.abc import Callable
from typing import get_args

import pytest

from pipelines.make import GOLDEN, BuildResult
from pipelines.release.folder import scan_tables
from tests.support.real_releases import read_table
from tests.support.releases import NAMES, definition_of

TASKS = {
    "massive-intent-classification": "MassiveIntentClassification",
    "massive-scenario-classification": "MassiveScenarioClassification",
    "sts22-ru": "STS22",
    "ru-stsbenchmark-sts": "RuSTSBenchmarkSTS",
    "ru-scibench-grnti-classification": "RuSciBenchGRNTIClassification",
    "ru-scibench-oecd-classification": "RuSciBenchOECDClassification",
}


@pytest.mark.extra("mteb")
@pytest.mark.filterwarnings("default")  # warnings of mteb and its libraries are not ours to fix
@pytest.mark.parametrize("name", TASKS)
def test_mtebs_built_in_task_loads_our_release(name: str, golden_release: Callable[[str], BuildResult]) -> None:
    import mteb

    release = golden_release(name)
    task = mteb.get_task(TASKS[name])
    if task.metadata.is_multilingual:
        task = mteb.get_task(TASKS[name], hf_subsets=["ru"])
    task.metadata = task.metadata.model_copy(update={"dataset": {"path": str(release.release_dir), "revision": "main"}})
    task.load_data()
    loaded = task.dataset["ru"] if task.metadata.is_multilingual else task.dataset
    for split in task.metadata.eval_splits:
        ours = read_table(release, split=split)
        theirs = loaded[split].to_polars()
        assert theirs["id"].to_list() == ours["id"].to_list()
        columns = {"text", "label"} if "text" in ours.columns else {"sentence1", "sentence2", "score"}
        assert columns <= set(theirs.columns)


@pytest.mark.extra("mteb")
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("name", "task_name"), [("miracl-retrieval-ru", "MIRACLRetrieval"), ("miracl-reranking-ru", "MIRACLReranking")]
)
def test_mtebs_multilingual_retrieval_task_loads_our_release(
    name: str, task_name: str, golden_release: Callable[..., BuildResult]
) -> None:
    import mteb

    release = golden_release(name)
    task = mteb.get_task(task_name, hf_subsets=["ru"])
    task.metadata = task.metadata.model_copy(update={"dataset": {"path": str(release.release_dir), "revision": "main"}})
    task.load_data()
    loaded = task.dataset["ru"]["dev"]
    tables = scan_tables(release.release_dir, release.manifest.tables)
    ours = {config: splits["dev"].collect() for config, splits in tables.items()}
    assert loaded["corpus"].to_list() == ours["corpus"].to_dicts()
    assert loaded["queries"].to_list() == ours["queries"].to_dicts()
    judged = [(query, *score) for query, scores in loaded["relevant_docs"].items() for score in scores.items()]
    assert sorted(judged) == sorted(ours["qrels"].rows())
    assert loaded["top_ranked"] == (dict(ours["top_ranked"].rows()) if "reranking" in name else None)


def test_datasets_of_multilingual_tasks_have_the_language_column() -> None:
    for name in TASKS.keys() & set(NAMES):
        if name.startswith(("massive", "sts22")):
            for path in (GOLDEN / definition_of(name).source.name / name).glob("*/default.test.jsonl"):
                assert all(json.loads(line)["lang"] == "ru" for line in path.read_text("utf-8").splitlines())


@pytest.mark.extra("mteb")
@pytest.mark.filterwarnings("default")
def test_mteb_knows_the_licence_of_every_benchmark_set() -> None:
    from mteb.types import Licenses

    ours = {definition_of(name).license for name in NAMES if definition_of(name).dataset.task.type.mteb_class}
    assert ours - {"other", "unknown"} <= {*get_args(Licenses)}
    assert "not specified" in get_args(Licenses)
