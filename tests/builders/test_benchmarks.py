"""Names that other people use for our datasets: mteb's tasks, the published repositories, other cases.
builders.benchmarks, and what a card says of mteb's built-in tasks; tests/test_mteb_built_in.py runs the code.
"""

import ast
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from builders import catalogue
from builders.benchmarks import BUILT_IN, NOT_SERVED, REPOSITORIES, TASKS, built_in_tasks, fold, namesake_tasks
from builders.errors import UsageError
from pipelines.make import BuildResult, make
from tests.support.releases import NAMES, definition_of, sample_settings


def names(*asked: str) -> list[str]:
    return [entry.dataset for entry, _ in catalogue.resolve(asked)]


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("CEDR", ["cedr-classification"]),
        ("RuBQ_Retrieval", ["rubq-retrieval"]),
        ("ru-sci-bench", names("ru_sci_bench")),
        ("RUMTEB", names("rumteb")),
        ("CEDRClassification", ["cedr-classification"]),
        ("headlineclassification.V2", ["headline-classification"]),
        ("RuSciBenchGRNTIClusteringP2P", ["ru-scibench-grnti-clustering-p2p"]),
        ("ARCChallenge", ["rarb-arc-challenge"]),
        ("PIQA", ["piqa-retrieval", "rarb-piqa"]),
        ("mteb/PIQA", ["rarb-piqa"]),
        ("mteb/CEDRClassification", ["cedr-classification"]),
        ("ai-forever/cedr-classification", ["cedr-classification"]),
        ("ai-forever/ru-stsbenchmark-sts", ["ru-stsbenchmark-sts"]),
        ("mteb/amazon_massive_intent", ["massive-intent-classification"]),
        ("merionum/ru_paraphraser", ["ru-paraphraser-sts"]),
        ("MIRACLRetrievalHardNegatives.v2", ["miracl-retrieval-hard-negatives-ru"]),
        ("mteb/RiaNewsRetrieval_test_top_250_only_w_correct-v2", ["ria-news-retrieval-hard-negatives"]),
        ("MTEB-RUS-v1.1", names("mteb-rus-v1.1")),
    ],
)
def test_the_names_that_mteb_and_the_authors_of_a_paper_use_are_understood(asked: str, meant: list[str]) -> None:
    assert names(asked) == meant


def test_the_group_of_a_benchmark_of_mteb_has_the_datasets_of_its_tasks_and_no_others() -> None:
    group = names("mteb-rus-v1.1")
    assert len(group) == 21, "two clustering tasks read the datasets of classification tasks"
    assert {"cedr-classification", "miracl-retrieval-hard-negatives-ru", "ria-news-retrieval-hard-negatives"} < set(
        group
    )
    assert not {"ria-news-retrieval", "miracl-retrieval-ru", "ru-scibench-oecd-clustering-p2p"} & set(group)
    assert "ria-news-retrieval-hard-negatives" not in names("rumteb")


def test_a_name_of_somebody_else_may_carry_a_version() -> None:
    [(entry, version)] = catalogue.resolve(["ai-forever/cedr-classification@1.0.0"])
    assert (entry.dataset, version) == ("cedr-classification", "1.0.0")


def test_it_is_said_which_dataset_a_name_of_somebody_else_means(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "builders.catalogue")
    names("ai-forever/cedr-classification", "rubq", "RUBQ")
    assert caplog.messages == ["ai-forever/cedr-classification is cedr-classification here"]


@pytest.mark.parametrize(
    ("asked", "suggested"),
    [
        ("rubk", "'rubq'"),
        ("ORG/cedr-classification", "did you mean 'cedr-classification'?"),
        ("mteb/kinopoisk", "did you mean 'kinopoisk'?"),
        ("MIRACLRetrieval.v3", "'miracl-retrieval-ru'"),
        ("MassiveIntent", "'massive-intent-classification'"),
    ],
)
def test_a_name_that_is_only_near_to_ours_is_not_resolved_but_suggested(asked: str, suggested: str) -> None:
    with pytest.raises(UsageError, match="no source, dataset or group is named") as caught:
        catalogue.resolve([asked])
    assert suggested in str(caught.value)
    assert "embedding-datasets show" in str(caught.value)


def test_every_alias_means_a_dataset_of_the_catalogue_and_no_two_names_become_one() -> None:
    datasets = catalogue.entries()
    assert {*TASKS.values(), *REPOSITORIES.values()} <= set(datasets)
    for own in ({*datasets}, {entry.source for entry in datasets.values()}, {*TASKS}, {*REPOSITORIES}):
        assert len({fold(name) for name in own}) == len(own)


def code_of(card: str) -> list[str]:
    """The code blocks of a card that make a subclass of a built-in task."""
    return [block.split("```")[0] for block in card.split("```python\n")[1:] if "mteb.get_task(" in block]


def test_every_built_in_task_is_listed_once_with_a_dataset_of_ours() -> None:
    names = [task.name for task in BUILT_IN]
    assert len(names) == len(set(names)) == 38
    assert not set(names) & NOT_SERVED.keys()
    assert {task.dataset for task in BUILT_IN} | {task.namesake for task in BUILT_IN} - {""} <= set(NAMES)


@pytest.mark.parametrize("name", [name for name in NAMES if definition_of(name).dataset.group in ("rumteb", "rarb")])
def test_every_dataset_of_rumteb_and_rarb_is_that_of_a_built_in_task(name: str) -> None:
    assert bool(built_in_tasks(name)) != bool(namesake_tasks(name))


def test_the_tasks_of_a_dataset_agree_in_what_its_code_needs() -> None:
    for name in NAMES:
        assert len({(task.subset, task.renames_columns) for task in built_in_tasks(name)}) <= 1


def test_a_card_has_the_code_for_its_built_in_tasks(golden_release: Callable[[str], BuildResult]) -> None:
    release = golden_release("ru-scibench-grnti-classification")
    card = (release.release_dir / "README.md").read_text("utf-8")
    [code] = code_of(card)
    ast.parse(code)
    assert 'for name in ["RuSciBenchGRNTIClassification", "RuSciBenchGRNTIClusteringP2P"]:' in code
    assert f'dataset = {{"path": repo, "revision": "v{release.version}"}}' in code
    assert "`RuSciBenchGRNTIClusteringP2P` clusters the texts of the split `test`." in card


def test_the_card_of_a_clustering_dataset_that_mteb_does_not_read_names_the_one_that_it_reads(
    golden_release: Callable[[str], BuildResult],
) -> None:
    card = (golden_release("ru-scibench-oecd-clustering-p2p").release_dir / "README.md").read_text("utf-8")
    assert not code_of(card)
    assert "`RuSciBenchOECDClusteringP2P` does not read this dataset" in card
    assert "the split `test` of `ru-scibench-oecd-classification`" in card


def test_the_code_of_a_task_that_renames_columns_leaves_that_out_in_a_subclass_of_two_lines(
    golden_release: Callable[[str], BuildResult],
) -> None:
    [code] = code_of((golden_release("ru-paraphraser-sts").release_dir / "README.md").read_text("utf-8"))
    [subclass] = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ClassDef)]
    assert [ast.unparse(line) for line in subclass.body] == [
        "metadata = built_in.metadata.model_copy(update={'dataset': dataset})",
        "dataset_transform = AbsTaskSTS.dataset_transform",
    ]


def test_a_dataset_that_mteb_does_not_have_and_a_partial_release_have_no_such_code(
    golden_release: Callable[[str], BuildResult], tmp_path: Path
) -> None:
    assert not code_of((golden_release("esnli-classification").release_dir / "README.md").read_text("utf-8"))
    definition = definition_of("massive-intent-classification")  # mteb evaluates its validation split too
    partial = make(definition, "1.0.0", replace(sample_settings(tmp_path), splits=("train", "test")))
    card = (partial.release_dir / "README.md").read_text("utf-8")
    assert "mteb.TaskMetadata(" in card
    assert not code_of(card)
