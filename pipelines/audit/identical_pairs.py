"""Findings about pairs whose two sides are the same text, although their score or label says that they differ.

A model gives both sides one embedding, so such a pair always has the highest similarity, and no model can agree with its score.
"""

import polars as pl

from builders import tasks
from pipelines.audit.duplicates import FOLDED_DETAIL
from pipelines.audit.findings import FindingRows, findings_where


def find_identical_pairs(task: tasks.Task, survey: pl.DataFrame, split: str) -> list[FindingRows]:
    """A finding for the pairs of a split with equal sides and less than the highest score, and one for those equal after folding.

    In pair classification the lower of the two labels takes the place of such a score. None for other tasks.
    """
    match task:
        case tasks.STS(high=high):
            top = f"the highest is {high:g}"
        case tasks.PairClassification(names=names):
            high, top = 1, "labelled 0" if names[0] == "0" else f"labelled 0 ({names[0]})"
        case _:
            return []
    label = task.type.label
    pairs = survey.select(
        "position",
        equal=pl.col("hash sentence1") == pl.col("hash sentence2"),
        folded=pl.col("folded sentence1") == pl.col("folded sentence2"),
        score="label",
        low=pl.col("label") < high,
    )
    findings = []
    for condition, words in ((pl.col("equal"), ""), (pl.col("folded") & ~pl.col("equal"), FOLDED_DETAIL)):
        is_low = condition & pl.col("low")
        detail = f"{_score_range(pairs.filter(is_low)['score'])}, {top}" if isinstance(task, tasks.STS) else top
        detail = "; ".join(filter(None, (words, detail)))
        findings += findings_where("identical_pair", ("default", split, label), pairs, is_low, detail=detail)
    return findings


def _score_range(scores: pl.Series) -> str:
    """`score 4.8`, or `scores 3.2 to 4.8`."""
    if scores.n_unique() < 2:
        return "".join(f"score {score:g}" for score in scores.head(1))
    lowest, highest = scores.sort().gather([0, -1])
    return f"scores {lowest:g} to {highest:g}"
