"""pandas, polars, duckdb and the evaluators of sentence-transformers read what is published, one dataset of each task type."""

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from builders.tasks import EVALUATED
from pipelines.make import BuildResult
from pipelines.release import folder
from tests.support.consumer_process import ORG, Published, publish_releases, run_consumer
from tests.support.loopback_hub import LoopbackHub
from tests.support.releases import definition_of

DUCKDB = pytest.mark.extra("duckdb")
ONE_PER_TASK_TYPE = (
    "rubq-retrieval",
    "rubq-reranking",
    "inappropriateness-classification",
    "cedr-classification",
    "terra-pairclassification",
    "ru-paraphraser-sts",
    "georeview-clustering-p2p",
    "europarl-bitext",
)
EVALUATORS = {  # evaluator of sentence-transformers -> the dataset it is run on, and the main score of its answer
    "InformationRetrievalEvaluator": ("rubq-retrieval", "cosine_ndcg@10"),
    "RerankingEvaluator": ("rubq-reranking", "ndcg@10"),
    "EmbeddingSimilarityEvaluator": ("ru-paraphraser-sts", "spearman_cosine"),
    "BinaryClassificationEvaluator": ("terra-pairclassification", "cosine_ap"),
    "TranslationEvaluator": ("europarl-bitext", "mean_accuracy"),
    "TripletEvaluator": ("georeview-clustering-p2p", "cosine_accuracy"),
}


@pytest.fixture(scope="module")
def published(
    golden_release: Callable[[str], BuildResult], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Published]:
    """A Hub with the golden release of one dataset of each task type."""
    assert {definition_of(name).dataset.task.type.name for name in ONE_PER_TASK_TYPE} == set(EVALUATED)
    with LoopbackHub() as server:
        work = tmp_path_factory.mktemp("published")
        yield publish_releases(server, [golden_release(name) for name in ONE_PER_TASK_TYPE], work, sample=True)


@DUCKDB
def test_pandas_polars_and_duckdb_read_the_built_rows_from_the_hub(published: Published, tmp_path: Path) -> None:
    files = {
        repo: (
            f"v{release.version}",
            {f"{table.config} {table.split}": [file.path for file in table.files] for table in release.manifest.tables},
        )
        for repo, release in published.releases.items()
    }
    read = run_consumer(published.server, "readers", {"files": files}, tmp_path)
    for repo, release in published.releases.items():
        for config, splits in folder.scan_tables(release.release_dir, release.manifest.tables).items():
            for split, frame in splits.items():
                rows = frame.collect().to_dicts()
                assert read[f"{repo} {config} {split}"] == {"pandas": rows, "polars": rows, "duckdb": rows}


@pytest.mark.extra("sentence_transformers")
def test_sentence_transformers_evaluates_each_kind_of_task(published: Published, tmp_path: Path) -> None:
    repos = {}
    for evaluator, (name, _) in EVALUATORS.items():
        release = published.releases[f"{ORG}/{name}"]
        split = "dev" if name.startswith("terra") else "test"
        repos[evaluator] = (f"{ORG}/{name}", f"v{release.version}", split)
    scores = run_consumer(published.server, "evaluators", {"repos": repos}, tmp_path)
    assert set(scores) == set(EVALUATORS)
    for evaluator, (_, main) in EVALUATORS.items():
        assert main in scores[evaluator], scores[evaluator]
        assert math.isfinite(scores[evaluator][main]), scores[evaluator]
    assert 0 < scores["InformationRetrievalEvaluator"]["cosine_ndcg@10"] <= 1
