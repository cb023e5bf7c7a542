"""Statistics of training data: rows, positives, negatives by kind, and the texts of each set of pairs."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from builders import tasks
from pipelines.audit.tables import Location, count_rows
from pipelines.audit.text_statistics import TextStatistics


@dataclass(frozen=True)
class TrainingSetStatistics:
    """A set of pairs of training data.

    num_negatives: how many there are of each kind. positive_statistics: of the first positive of each row.
    """

    num_samples: int
    num_positives: int
    num_negatives: dict[str, int]
    query_statistics: TextStatistics
    positive_statistics: TextStatistics


@dataclass(frozen=True)
class TrainingStatistics:
    """A split of training data: its rows, and the figures of each set of pairs. mteb has no such statistics."""

    num_samples: int
    num_positives: int
    num_negatives: dict[str, int]
    training_sets: dict[str, TrainingSetStatistics]


def describe_training(
    frames: Mapping[str, pl.LazyFrame], split: str, texts: Mapping[Location, TextStatistics]
) -> TrainingStatistics:
    """The statistics of a split. frames: its tables by config. texts: the statistics of the texts, by location."""
    sets = {}
    for config, frame in frames.items():
        kinds = pl.col("negative_kinds")
        counted = {kind: kinds.list.count_matches(kind).cast(pl.Int64).sum() for kind in tasks.NEGATIVE_KINDS}
        counts = frame.select(positives=pl.col("positives").list.len().cast(pl.Int64).sum(), **counted)
        positives, *negatives = counts.collect(engine="streaming").row(0)
        by_kind = dict(zip(tasks.NEGATIVE_KINDS, negatives, strict=True))
        query, positive = (texts[config, split, column] for column in ("query", "positives"))
        sets[config] = TrainingSetStatistics(count_rows(frame), positives, by_kind, query, positive)
    return TrainingStatistics(
        num_samples=sum(one.num_samples for one in sets.values()),
        num_positives=sum(one.num_positives for one in sets.values()),
        num_negatives={kind: sum(one.num_negatives[kind] for one in sets.values()) for kind in tasks.NEGATIVE_KINDS},
        training_sets=sets,
    )
