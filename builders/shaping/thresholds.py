"""Thresholds that a paper leaves open, by one rule: as strict as the wanted number of rows permits."""

import math
from collections.abc import Callable, Iterator, Mapping

import polars as pl

from builders.raw_files import RawFile, by_hand
from builders.shaping.measurements import COSINE, Measurements, read_measurements
from builders.shaping.rows import drop
from builders.spec import Dropped, Measurement, Raw

LABSE = "sentence-transformers/LaBSE"
LABSE_REVISION = "e34fab64a3011d2176c99545a93d5cbddc9a91b7"
SPLIT = "train"
STEPS = 100  # a threshold is a whole number of hundredths


def cosines_file(source: str) -> RawFile:
    """The raw file with the LaBSE cosines of a source: the key `cosines` in its files."""
    return by_hand(
        "cosines.parquet",
        f"the cosine of the embeddings of each pair by {LABSE}: pip install '.[measurements]', then "
        f"embedding-datasets decide {source} --raw-dir DIR; or copy the file from somebody who has it",
    )


def measure_cosines(
    inputs: tuple[str, ...], pairs: Callable[[Mapping[str, Raw]], Iterator[pl.DataFrame]]
) -> Measurement:
    """The measurement that writes the raw file `cosines` of a source; see builders.spec.Measurement for its arguments."""
    return Measurement("cosines", COSINE, LABSE, LABSE_REVISION, inputs, pairs)


def read_cosines(raw: Raw) -> Measurements:
    """The LaBSE cosines of a source.

    Raises SourceError for a file that is damaged or of another model.
    """
    return read_measurements(raw, COSINE, f"{LABSE}@{LABSE_REVISION}")


def largest_threshold(values: pl.Series, rows: int) -> float:
    """The largest multiple of 0.01 that at least `rows` of the values reach.

    values: numbers, without null. Of fewer values than `rows` it is the largest that all of them reach; of none it is 0.
    """
    if not len(values):
        return 0.0
    reached: float = values.sort(descending=True)[min(rows, len(values)) - 1]
    step = math.floor(reached * STEPS) + 1  # one too many, or rounding of the product could make it one too few
    while step / STEPS > reached:
        step -= 1
    return step / STEPS


def drop_below(
    frame: pl.DataFrame, column: str, rows: int, *, at_most: float = 1.0
) -> tuple[pl.DataFrame, tuple[Dropped, ...], dict[str, int]]:
    """The rows whose value in a column (Float64) reaches largest_threshold, or `at_most` if that is lower.

    Returns also what was dropped, and the threshold in hundredths, as a number to observe.
    """
    threshold = min(at_most, largest_threshold(frame[column], rows))
    kept, dropped = drop(frame, pl.col(column) < threshold, f"a lower {column} than the threshold", split=SPLIT)
    return kept, dropped, {f"threshold of {column}, in hundredths": round(threshold * STEPS)}
