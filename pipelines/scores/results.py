"""Results of baselines as records, what each baseline reads, and the packages that compute them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from builders.errors import UsageError
from cards.scores import Baseline, Labels, Reads
from pipelines.process import installation

Values = NDArray[np.float64]
Integers = NDArray[np.int64]

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
class Judged:
    """The rows that a question is about.

    metric: `auc` (targets are 0 or 1), `accuracy` (classes from 0) or `cosine_spearman` (values). components: a key a row.
    texts: a row each, as in `plan_folds`.
    """

    metric: str
    targets: Values
    components: Sequence[str]
    texts: Sequence[str]

    @property
    def classes(self) -> int:
        """How many columns a model predicts for a row."""
        return int(self.targets.max()) + 1 if self.metric == "accuracy" else 1


@dataclass(frozen=True)
class Question:
    """A baseline that reads less than the task asks for.

    predict: the predictions for columns of targets of the judged rows; None where they are fixed, those in `predicted`.
    """

    name: str
    rows: Judged
    predicted: Values
    predict: Callable[[Values], Values] | None = None


# What the baselines of a task score, and whether those that read less than a row know the labels.
Results = tuple[list[Baseline], list[Question]]


def make_baseline(
    name: str,
    score: float,
    *,
    labels: Labels = "none",
    auc: float | None = None,
    detail: str = "",
    interval: Sequence[float] = (),
) -> Baseline:
    """The record of a baseline. score, auc, interval: from -1 to 1; the other arguments are fields of the record."""
    area = None if auc is None else percent(auc)
    return Baseline(name, percent(score), READS.get(name, "texts"), labels, area, detail, *map(percent, interval))


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
            todo=f"pip install '{installation.DISTRIBUTION}[scores]'",
        )


def package_versions() -> dict[str, str]:
    """The versions of the packages that compute baselines, by name."""
    return {name: version(name) for name in PACKAGES.values()}
