"""Publish the whole catalogue to a Hub and load it back by tag with datasets, mteb and sentence-transformers."""

import importlib.util
import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cards.front_matter import config_names
from pipelines.hub import publishing
from pipelines.hub.planning import PublishOptions
from pipelines.make import BuildResult, make
from pipelines.release import folder
from tests.support.consumer_process import MTEB, ORG, publish_releases, run_consumer
from tests.support.loopback_hub import WRITER, LoopbackHub
from tests.support.releases import NAMES, definition_of, sample_settings

ONE_PER_TASK_TYPE = (
    "rubq-retrieval",
    "rubq-reranking",
    "hhrlhf-harmlessness-classification",
    "dialfact-classification",  # has no train split
    "cedr-classification",
    "terra-pairclassification",
    "ru-paraphraser-sts",
    "georeview-clustering-p2p",
    "europarl-bitext",
    "miracl-retrieval-ru",  # a subset, as in mteb's multilingual task
    "miracl-reranking-ru",
)


@pytest.fixture(scope="session")
def published(
    golden_release: Callable[[str], BuildResult], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[Iterable[str]], LoopbackHub]]:
    """A function that returns a Hub with the golden releases of some datasets, each tagged with its version."""
    folder = tmp_path_factory.mktemp("published")
    with LoopbackHub() as server:

        def publish(names: Iterable[str]) -> LoopbackHub:
            new = [golden_release(name) for name in names if f"{ORG}/{name}" not in server.repos]
            return publish_releases(server, new, folder, sample=True).server

        yield publish


def read_cards(names: tuple[str, ...], golden_release: Callable[[str], BuildResult]) -> dict[str, str]:
    return {f"{ORG}/{name}": (golden_release(name).release_dir / folder.CARD).read_text("utf-8") for name in names}


def config_names_of(outcome: BuildResult) -> dict[str, str]:
    """The name of every config in the card, by its name in the manifest."""
    return config_names(definition_of(outcome.dataset).dataset, (table.config for table in outcome.manifest.tables))


SUBSETS = ("miracl-retrieval-ru", "massive-intent-classification")  # whose configs have their own names


@pytest.mark.parametrize(
    "names",
    [(*ONE_PER_TASK_TYPE, *SUBSETS), pytest.param(tuple(NAMES), marks=pytest.mark.slow)],
    ids=["every task type", "every dataset"],
)
def test_every_dataset_loads_by_tag_with_the_built_rows(
    published: Callable[[Iterable[str]], LoopbackHub],
    golden_release: Callable[[str], BuildResult],
    tmp_path: Path,
    names: tuple[str, ...],
) -> None:
    hub = published(names)
    outcomes = {f"{ORG}/{name}": golden_release(name) for name in names}
    for version in {outcome.version for outcome in outcomes.values()}:
        tagged = {repo: outcome for repo, outcome in outcomes.items() if outcome.version == version}
        tables = {
            repo: [(config_names_of(outcome)[table.config], table.split) for table in outcome.manifest.tables]
            for repo, outcome in tagged.items()
        }
        loaded = run_consumer(hub, "rows", {"tables": tables, "revision": f"v{version}"}, tmp_path)
        for repo, outcome in tagged.items():
            for config, splits in folder.scan_tables(outcome.release_dir, outcome.manifest.tables).items():
                for split, frame in splits.items():
                    expected = frame.collect().to_dicts()
                    assert loaded[f"{repo} {config_names_of(outcome)[config]} {split}"] == [expected, expected]


@MTEB
def test_the_mteb_snippet_of_a_card_runs_for_every_task_type(
    published: Callable[[Iterable[str]], LoopbackHub], golden_release: Callable[[str], BuildResult], tmp_path: Path
) -> None:
    scores = run_consumer(
        published(ONE_PER_TASK_TYPE), "cards", {"cards": read_cards(ONE_PER_TASK_TYPE, golden_release)}, tmp_path
    )
    assert set(scores) == {f"{ORG}/{name}" for name in ONE_PER_TASK_TYPE}
    assert {definition_of(name).dataset.task.type.name for name in ONE_PER_TASK_TYPE} == {
        "Retrieval", "Reranking", "Classification", "MultilabelClassification", "PairClassification", "STS", "Clustering",
        "BitextMining",
    }  # fmt: skip
    assert all(math.isfinite(score) for score in scores.values()), scores
    assert scores[f"{ORG}/rubq-retrieval"] > 0.3, "shared words should retrieve the paragraph that answers a question"


@MTEB
def test_mteb_evaluates_bm25_on_retrieval_and_reranking(
    published: Callable[[Iterable[str]], LoopbackHub], golden_release: Callable[[str], BuildResult], tmp_path: Path
) -> None:
    names = ("rubq-retrieval", "rubq-reranking")
    scores = run_consumer(published(names), "bm25", {"cards": read_cards(names, golden_release)}, tmp_path)
    assert all(0 < score <= 1 for score in scores.values()), scores


@pytest.fixture(scope="session")
def real_build(real_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], BuildResult]:
    """A function that builds version 1.0.0 of a dataset from real raw files."""
    settings = sample_settings(tmp_path_factory.mktemp("real"))
    settings = replace(settings, sample=False, raw=replace(settings.raw, raw_dir=real_sources))
    return lambda name: make(definition_of(name), "1.0.0", settings)


@pytest.mark.slow
@MTEB
def test_mteb_evaluates_complete_real_datasets(real_build: Callable[[str], BuildResult], tmp_path: Path) -> None:
    names = ("europarl-bitext", "cedr-classification", "terra-pairclassification", "ru-paraphraser-sts")
    with LoopbackHub() as server:
        publish_releases(server, map(real_build, names), tmp_path, sample=False)
        scores = run_consumer(server, "cards", {"cards": read_cards(names, real_build)}, tmp_path)
    assert scores[f"{ORG}/europarl-bitext"] > 10 / 360, (
        "shared names and numbers alone score ten times better than chance"
    )
    assert scores[f"{ORG}/ru-paraphraser-sts"] > 0.3, "paraphrases share words"
    assert all(0 < score <= 1 for score in scores.values()), scores


BUILT_IN = {  # mteb task -> our dataset, and the repository and revision pinned by the task
    "CEDRClassification": (
        "cedr-classification",
        "mteb/CEDRClassification",
        "d872ceae33d049f0ef50e8abb9229b569ebfcf7d",
    ),
    "TERRa": ("terra-pairclassification", "mteb/TERRa", "48312c334eb916d88481dc4a41bd0d8b2fa0d576"),
}


@MTEB
@pytest.mark.slow
def test_built_in_mteb_tasks_run_on_our_builds_and_reproduce_the_published_statistics(
    real_build: Callable[[str], BuildResult], tmp_path: Path
) -> None:
    options = PublishOptions("mteb", tmp_path / "cache", ledger=tmp_path / "ledger.json")
    with LoopbackHub() as server:
        connection = publishing.login(endpoint=server.url, token=WRITER)
        for name, repo, revision in BUILT_IN.values():
            publishing.publish(
                definition_of(name),
                real_build(name).release_dir,
                replace(options, repo_name=repo.split("/")[1]),
                connection,
            )
            repository = server.repos[repo]
            repository.commits[revision] = repository.commits[repository.branches["main"]]
        answers = run_consumer(server, "builtin", {"tasks": list(BUILT_IN)}, tmp_path)
    for task, answer in answers.items():
        assert answer["statistics"] == _published_statistics(task)
        assert 0 < answer["score"] <= 1


def _published_statistics(task: str) -> dict[str, Any]:
    """Return the descriptive statistics of a task that mteb ships."""
    spec = importlib.util.find_spec("mteb")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    [path] = Path(spec.submodule_search_locations[0], "descriptive_stats").rglob(f"{task}.json")
    content: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return content
