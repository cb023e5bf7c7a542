"""Statistics of a column of texts: lengths, different texts, languages."""

import math
from dataclasses import dataclass, field

import polars as pl

from builders import tasks
from pipelines.audit.languages import SampledTexts, language_shares
from pipelines.audit.tables import Frames, Location, text_columns

QUANTILES = (1, 5, 25, 50, 75, 95, 99)  # per cent


@dataclass(frozen=True)
class LanguageStatistics:
    """The languages of the texts with 30 letters or more; of a large table, of those in a fixed sample of its rows.

    texts: how many these are. shares: of these in each language (ISO 639-1, `und` if uncertain),
    the most frequent first.
    """

    texts: int
    shares: dict[str, float]


@dataclass(frozen=True)
class TextStatistics:
    """mteb's figures of a column of texts, in characters (Unicode code points), and two that mteb does not have.

    unique_texts: the number of different texts. text_length_quantiles: `p05` is the least length that at least 5 % of the texts
    do not exceed. The last two are missing in files from before they were computed.
    """

    total_text_length: int
    min_text_length: int
    average_text_length: float
    max_text_length: int
    unique_texts: int
    text_length_quantiles: dict[str, int] = field(default_factory=dict)
    languages: LanguageStatistics | None = None


def describe_texts(
    task: tasks.Task, frames: Frames, seed: int, sampled_texts: SampledTexts
) -> dict[Location, TextStatistics]:
    """The statistics of every column of texts of a dataset. seed: a `collision_free_seed` of all texts."""
    return {
        (config, split, column): _describe_column(
            frame, seed, sampled_texts[config, split][f"guess {column}"].drop_nulls()
        )
        for (config, split, column), frame in text_columns(task, frames).items()
    }


def _describe_column(frame: pl.LazyFrame, seed: int, guesses: pl.Series) -> TextStatistics:
    length = pl.col("text").str.len_chars().cast(pl.Int64)  # polars sums UInt32 as UInt32, and a corpus may exceed 2^32
    measures = frame.select(length=length, hash=pl.col("text").hash(seed)).collect(engine="streaming")
    lengths = measures["length"].sort()
    total = int(lengths.sum())
    return TextStatistics(
        total_text_length=total,
        min_text_length=lengths[0],
        average_text_length=total / len(lengths),
        max_text_length=lengths[-1],
        unique_texts=measures["hash"].n_unique(),
        text_length_quantiles={f"p{percent:02d}": _quantile(lengths, percent) for percent in QUANTILES},
        languages=LanguageStatistics(texts=len(guesses), shares=language_shares(guesses)),
    )


def _quantile(ascending: pl.Series, percent: int) -> int:
    """The nearest rank: the least value that at least this percentage of all values does not exceed."""
    return int(ascending[max(math.ceil(percent * len(ascending) / 100), 1) - 1])
