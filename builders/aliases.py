"""Names that other people use for our datasets: mteb's tasks, and the repositories of mteb and of a paper's authors.

The catalogue resolves them (`resolve` in catalogue.py). tests/test_mteb_built_in.py compares them with mteb.
"""

from collections.abc import Mapping
from types import MappingProxyType

from builders.mteb_tasks import BUILT_IN

# They publish our datasets under the names of TASKS, or under our own: ai-forever/cedr-classification, mteb/CEDRClassification.
PUBLISHERS = ("ai-forever", "mteb")

# mteb's tasks, and our dataset that their benchmark's paper describes under this name.
TASKS: Mapping[str, str] = MappingProxyType({task.name: task.namesake or task.dataset for task in BUILT_IN})

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
