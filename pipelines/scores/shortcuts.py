"""Shortcuts: baselines that read only the order, the lengths or one side of the texts, and score far above chance all the same.

Far is a fifth of the way from chance to a perfect score, and at least three standard errors. Of two labels, the area under the
ROC curve is judged, whose chance is 50; elsewhere the score itself, against the better of `chance` and `majority`.
"""

import math

from cards.scores import Shortcut
from pipelines.scores.records import Results

SHARE, ERRORS = 0.2, 3.0
PARTIAL = ("order", "length", "one side")  # what less than a whole row is, in Baseline.reads


def find_shortcuts(results: Results, metric: str) -> list[Shortcut]:
    """The shortcuts among the baselines, in their order. metric: the main score of the task."""
    two_labels = results.positives is not None
    base = max((one.score for one in results.baselines if one.name in ("chance", "majority")), default=0.0)
    shortcuts = []
    for one in results.baselines:
        if one.reads not in PARTIAL:
            continue
        if two_labels and one.auc is not None:
            found = Shortcut(one.name, "auc", one.auc, 50.0)
        else:
            found = Shortcut(one.name, metric, one.score, base)
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
