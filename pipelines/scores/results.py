"""Results of baselines as records, what each baseline reads, and the packages that compute them.

Far is a fifth of the way from chance to a perfect score, and at least three standard errors. Of two labels, the area under the
ROC curve is judged, whose chance is 50; elsewhere the score itself, against the better of `chance` and `majority`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from types import MappingProxyType

from builders.errors import UsageError
from cards.scores import Baseline, Labels, Reads, Shortcut

# Baselines that read less than the texts of a row.
READS: Mapping[str, Reads] = MappingProxyType(
    {
        "chance": "nothing",
        "majority": "nothing",
        "first": "order",
        "length": "length",
        "longer": "length",
        "shorter": "length",
        "sentence1": "one side",
        "sentence2": "one side",
        "candidate": "one side",
    }
)


@dataclass(frozen=True)
class Results:
    """What the baselines of a task score.

    rows: how many rows or queries the scores are means of. positives: how many of the rows are labelled 1, where there are two
    labels.
    """

    baselines: list[Baseline]
    rows: int
    positives: int | None = None


def make_baseline(
    name: str, score: float, *, labels: Labels = "none", auc: float | None = None, detail: str = ""
) -> Baseline:
    """The record of a baseline. score, auc: from -1 to 1; the other arguments are fields of the record."""
    area = None if auc is None else percent(auc)
    return Baseline(name, percent(score), READS.get(name, "texts"), labels, area, detail)


def percent(value: float) -> float:
    """Times 100, to one decimal. Rounded twice, so that the last bit of a sum does not decide between 62.4 and 62.5."""
    return round(round(100 * float(value), 6), 1) + 0.0


# What baselines are computed with, by the name of its module.
PACKAGES: Mapping[str, str] = MappingProxyType(
    {"numpy": "numpy", "scipy": "scipy", "sklearn": "scikit-learn", "threadpoolctl": "threadpoolctl"}
)


def require_packages() -> None:
    """Raise UsageError where a package is missing that `pipelines.scores.baselines` imports: call this before importing it."""
    missing = [name for module, name in PACKAGES.items() if find_spec(module) is None]
    if missing:
        raise UsageError(
            "packages for baselines are missing",
            found=f"not installed: {', '.join(missing)}",
            todo="pip install 'embedding-datasets[scores]'",
        )


def package_versions() -> dict[str, str]:
    """The versions of the packages that compute baselines, by name."""
    return {name: version(name) for name in PACKAGES.values()}


SHARE, ERRORS = 0.2, 3.0
PARTIAL = ("order", "length", "one side")  # what less than a whole row is, in Baseline.reads


def find_shortcuts(results: Results, metric: str) -> list[Shortcut]:
    """The shortcuts among the baselines, in their order. metric: the main score of the task."""
    two_labels = results.positives is not None
    base = max(
        (baseline.score for baseline in results.baselines if baseline.name in ("chance", "majority")), default=0.0
    )
    shortcuts = []
    for baseline in results.baselines:
        if baseline.reads not in PARTIAL:
            continue
        if two_labels and baseline.auc is not None:
            found = Shortcut(baseline.name, "auc", baseline.auc, 50.0)
        else:
            found = Shortcut(baseline.name, metric, baseline.score, base)
        if _is_far(found, standard_error(results, found.metric)):
            shortcuts.append(found)
    return shortcuts


def standard_error(results: Results, metric: str) -> float:
    """The standard error of a score at chance, times 100.

    For means over rows or queries, it is the largest that values from 0 to 1 can have.
    """
    if metric == "auc" and results.positives is not None:
        negatives = results.rows - results.positives
        return 100 * math.sqrt((results.rows + 1) / (12 * max(results.positives * negatives, 1)))
    if metric.endswith("spearman"):
        return 100 / math.sqrt(max(results.rows - 1, 1))
    return 50 / math.sqrt(results.rows)


def _is_far(found: Shortcut, error: float) -> bool:
    return found.score - found.chance >= max(SHARE * (100 - found.chance), ERRORS * error)
