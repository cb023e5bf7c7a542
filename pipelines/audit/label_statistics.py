"""Statistics of a column of labels, and of one of scores."""

import math
from dataclasses import dataclass
from typing import Any

import polars as pl

from pipelines.audit.tables import read_column


@dataclass(frozen=True)
class LabelCount:
    """The number of rows with a label."""

    count: int


@dataclass(frozen=True)
class LabelStatistics:
    """mteb's figures of a column of labels.

    labels: by label, ascending; `None`, first, for rows with an empty list of labels.
    """

    min_labels_per_text: int
    average_label_per_text: float
    max_labels_per_text: int
    unique_labels: int
    labels: dict[str, LabelCount]


@dataclass(frozen=True)
class ScoreStatistics:
    """mteb's figures of a column of scores."""

    min_score: float
    avg_score: float
    max_score: float


def describe_labels(frame: pl.LazyFrame, column: str) -> LabelStatistics:
    """The statistics of a column of labels, or of lists of them."""
    is_list = isinstance(frame.collect_schema()[column], pl.List)
    size = pl.col(column).list.len().cast(pl.Int64) if is_list else pl.when(pl.col(column).is_not_null()).then(1)
    sizes = frame.select(rows=pl.len(), total=size.sum(), least=size.min(), most=size.max())
    rows, total, least, most = sizes.collect(engine="streaming").row(0)
    counts = count_labels(frame, column)
    return LabelStatistics(
        min_labels_per_text=least,
        average_label_per_text=total / rows,
        max_labels_per_text=most,
        unique_labels=len(counts),
        labels={str(label): LabelCount(count) for label, count in counts.items()},
    )


def count_labels(frame: pl.LazyFrame, column: str) -> dict[Any, int]:
    """The number of rows with each label, in ascending order of labels; None, first, for rows with an empty list."""
    label, counts = pl.col(column), {}
    if isinstance(frame.collect_schema()[column], pl.List):
        unlabelled = frame.select((label.list.len() == 0).sum()).collect(engine="streaming").item()
        counts = {None: unlabelled} if unlabelled else {}
        frame = frame.select(
            label.explode()
        ).drop_nulls()  # whether an empty list becomes a null depends on the version
    by_label = frame.group_by(column).agg(pl.len()).collect(engine="streaming").sort(column)
    return counts | dict(by_label.iter_rows())


def describe_scores(frame: pl.LazyFrame, column: str) -> ScoreStatistics:
    """The statistics of a column of scores. The average is exact, whatever the order of the rows."""
    scores, score = read_column(frame, column), pl.col(column)
    lowest, highest = scores.to_frame().select(lowest=score.min(), highest=score.max()).row(0)
    return ScoreStatistics(min_score=lowest, avg_score=math.fsum(scores) / scores.len(), max_score=highest)
