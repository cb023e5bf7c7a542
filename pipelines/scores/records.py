"""Results of baselines as records: times 100, to one decimal, with what each baseline reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from cards.scores import Baseline, Labels, Reads

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
