"""Names that other people use for our datasets: mteb's tasks, and the repositories of mteb and of a paper's authors.

The catalogue resolves them (`resolve` in catalogue.py). tests/builders/test_aliases.py and tests/test_mteb_built_in.py
compare them with cards/mteb_tasks.py and with mteb.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# They publish our datasets under the names of TASKS, or under our own: ai-forever/cedr-classification, mteb/CEDRClassification.
PUBLISHERS = ("ai-forever", "mteb")

# mteb's tasks, and our dataset that their benchmark's paper describes under this name.
TASKS: Mapping[str, str] = MappingProxyType(
    {
        "GeoreviewClassification": "georeview-classification",
        "GeoreviewClassification.v2": "georeview-classification",
        "HeadlineClassification": "headline-classification",
        "HeadlineClassification.v2": "headline-classification",
        "InappropriatenessClassification": "inappropriateness-classification",
        "InappropriatenessClassification.v2": "inappropriateness-classification",
        "KinopoiskClassification": "kinopoisk-sentiment-classification",
        "MassiveIntentClassification": "massive-intent-classification",
        "MassiveScenarioClassification": "massive-scenario-classification",
        "RuReviewsClassification": "ru-reviews-classification",
        "RuReviewsClassification.v2": "ru-reviews-classification",
        "RuSciBenchGRNTIClassification": "ru-scibench-grnti-classification",
        "RuSciBenchOECDClassification": "ru-scibench-oecd-classification",
        "GeoreviewClusteringP2P": "georeview-clustering-p2p",
        "RuSciBenchGRNTIClusteringP2P": "ru-scibench-grnti-clustering-p2p",
        "RuSciBenchOECDClusteringP2P": "ru-scibench-oecd-clustering-p2p",
        "CEDRClassification": "cedr-classification",
        "SensitiveTopicsClassification": "sensitive-topics-classification",
        "TERRa": "terra-pairclassification",
        "TERRa.V2": "terra-pairclassification",
        "MIRACLReranking": "miracl-reranking-ru",
        "RuBQReranking": "rubq-reranking",
        "MIRACLRetrieval": "miracl-retrieval-ru",
        "RiaNewsRetrieval": "ria-news-retrieval",
        "RuBQRetrieval": "rubq-retrieval",
        "RUParaPhraserSTS": "ru-paraphraser-sts",
        "RuSTSBenchmarkSTS": "ru-stsbenchmark-sts",
        "STS22": "sts22-ru",
        "STS22.v2": "sts22-ru",
        "AlphaNLI": "rarb-alphanli",
        "ARCChallenge": "rarb-arc-challenge",
        "HellaSwag": "rarb-hellaswag",
        "PIQA": "rarb-piqa",
        "WinoGrande": "rarb-winogrande",
    }
)

# The repositories that mteb's tasks load, where their name is neither the task's nor ours.
REPOSITORIES: Mapping[str, str] = MappingProxyType(
    {
        "mteb/georeview": "georeview-classification",
        "mteb/headline": "headline-classification",
        "mteb/inappropriateness": "inappropriateness-classification",
        "mteb/amazon_massive_intent": "massive-intent-classification",
        "mteb/amazon_massive_scenario": "massive-scenario-classification",
        "mteb/ru_reviews": "ru-reviews-classification",
        "mteb/sts22-crosslingual-sts": "sts22-ru",
        "merionum/ru_paraphraser": "ru-paraphraser-sts",
    }
)


def fold(name: str) -> str:
    """A name as names are compared: case does not matter, nor whether words are joined by `-` or `_`."""
    return name.casefold().replace("_", "-")


def find_alias(name: str, datasets: Mapping[str, object]) -> str | None:
    """Our dataset that somebody else's name means; None where it is not known.

    datasets: ours, by name.
    """
    owner, _, last = name.rpartition("/")
    if dataset := _folded(REPOSITORIES).get(fold(name)):
        return dataset
    if owner and fold(owner) not in PUBLISHERS:
        return None
    own = {fold(one): one for one in datasets} if owner else {}
    return own.get(fold(last)) or _folded(TASKS).get(fold(last))


def _folded(names: Mapping[str, str]) -> dict[str, str]:
    return {fold(name): dataset for name, dataset in names.items()}
