"""Names that other people use for our datasets: mteb's tasks, the published repositories, other cases."""

import logging

import pytest

from builders import catalogue
from builders.benchmarks import REPOSITORIES, TASKS, fold
from builders.errors import UsageError


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
    ],
)
def test_the_names_that_mteb_and_the_authors_of_a_paper_use_are_understood(asked: str, meant: list[str]) -> None:
    assert names(asked) == meant


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
        ("ORG/cedr-classification", "did you mean 'cedr-classification'?"),
        ("mteb/kinopoisk", "did you mean 'kinopoisk'?"),
        ("MIRACLRetrievalHardNegatives", "'miracl-retrieval-ru'"),
        ("MassiveIntent", "'massive-intent-classification'"),
    ],
)
def test_a_name_that_is_only_near_to_ours_is_not_resolved_but_suggested(asked: str, suggested: str) -> None:
    with pytest.raises(UsageError, match="no source, dataset or group is named") as caught:
        catalogue.resolve([asked])
    assert suggested in str(caught.value)


def test_every_alias_means_a_dataset_of_the_catalogue_and_no_two_names_become_one() -> None:
    datasets = catalogue.entries()
    assert {*TASKS.values(), *REPOSITORIES.values()} <= set(datasets)
    for own in ({*datasets}, {entry.source for entry in datasets.values()}, {*TASKS}, {*REPOSITORIES}):
        assert len({fold(name) for name in own}) == len(own)
