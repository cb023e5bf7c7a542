"""MinHash: which rows may be near-duplicates of another row, from their rough shingles (pipelines.audit.shingles).

Each row gets BANDS numbers, each made of ROWS_PER_BAND minimal hashes. Rows that agree in MIN_COMMON_BANDS bands are candidates.

An example: two minimal hashes are equal with the probability of the Jaccard similarity, so two texts with similarity 0.9 agree in
a band with probability 0.9^5 = 0.59, and in fewer than 2 of 14 bands with 0.41^14 + 14 * 0.59 * 0.41^13 = 0.00008: one pair in
12,000 is missed. With similarity 0.5 a pair agrees in a band with probability 0.03, and one pair in fifteen are candidates.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from rensa import RMinHash

from builders.batches import map_in_order
from pipelines.audit.shingles import FACTORS, Ragged, read_words, rough_shingles

Array = npt.NDArray[Any]

BANDS, ROWS_PER_BAND, MIN_COMMON_BANDS = 14, 5, 2
SEED = 1
# Rows that agree in a band are checked in pairs at these distances among them; all rows of a larger group are candidates.
DISTANCES = range(1, 9)
CHUNK_ROWS = 500  # rows worked on at a time, so that what is computed of them stays in the processor's cache


def compute_bands(batches: Iterable[pl.DataFrame]) -> tuple[Array, Array]:
    """Rows, ascending or repeated, and for each the numbers of its bands (uint32, rarely the same for different hashes).

    batches: columns of texts, without nulls. A row without shingles is left out; one whose texts have two kinds of shingles
    occurs once for each.
    """
    rows, bands, start = [np.empty(0, np.int64)], [np.empty((0, BANDS), np.uint32)], 0
    for height, batch_rows, batch_bands in map_in_order(_compute_batch, batches):
        rows.append(batch_rows + start)
        bands.append(batch_bands)
        start += height
    return np.concatenate(rows), np.concatenate(bands)


def candidate_rows(rows: Array, bands: Array) -> Array:
    """The rows, ascending, that agree with another row in enough bands.

    rows, bands: what `compute_bands` returns, or some of it.
    """
    is_candidate, in_large_groups = np.zeros(len(rows), np.bool_), np.zeros(len(rows), np.int64)
    for band in range(BANDS):
        order = np.argsort(bands[:, band], kind="stable")
        numbers = bands[order, band]
        distance = DISTANCES.stop
        in_large_groups[order[_has_equal(numbers, distance)]] += 1
        for earlier, later in _neighbours(order, numbers):
            is_open = ~(is_candidate[earlier] & is_candidate[later])
            one, other = earlier[is_open], later[is_open]
            agree = (bands[one] == bands[other]).sum(axis=1) >= MIN_COMMON_BANDS
            is_candidate[one[agree]] = is_candidate[other[agree]] = True
    is_candidate |= in_large_groups >= MIN_COMMON_BANDS
    return np.unique(rows[is_candidate])


def _compute_batch(batch: pl.DataFrame) -> tuple[int, Array, Array]:
    rows, bands = [np.empty(0, np.int64)], [np.empty((0, BANDS), np.uint32)]
    for number, chunk in enumerate(batch.iter_slices(CHUNK_ROWS)):
        chunk_rows, rough = rough_shingles([read_words(column) for column in chunk.get_columns()])
        rows.append(chunk_rows + number * CHUNK_ROWS)
        bands.append(band_numbers(rough))
    return batch.height, np.concatenate(rows), np.concatenate(bands)


def band_numbers(shingles: Ragged) -> Array:
    """The numbers (uint32) of the bands of rows of rough shingles: a row of BANDS for each."""
    digests = RMinHash.digest_matrix_from_flat_token_hashes(
        shingles.values, shingles.offsets.astype(np.uint64), BANDS * ROWS_PER_BAND, SEED
    )
    hashes = np.fromiter(chain.from_iterable(digests.to_rows()), np.uint64)
    hashes = hashes.reshape(len(shingles.lengths), BANDS, ROWS_PER_BAND)
    numbers = np.zeros((len(hashes), BANDS), np.uint64)
    for position in range(ROWS_PER_BAND):
        numbers = numbers * np.uint64(FACTORS[0]) + hashes[:, :, position]
    return (numbers >> np.uint64(32)).astype(np.uint32)


def _neighbours(order: Array, numbers: Array) -> Iterator[tuple[Array, Array]]:
    """The positions, earlier and later, that are each of DISTANCES apart among those with the same number."""
    later = np.arange(len(order))
    for distance in DISTANCES:
        later = later[later >= distance]
        later = later[numbers[later] == numbers[later - distance]]
        yield order[later - distance], order[later]


def _has_equal(numbers: Array, distance: int) -> Array:
    """Whether sorted numbers occur more than `distance` times."""
    later = (
        np.flatnonzero(numbers[distance:] == numbers[:-distance]) if len(numbers) > distance else np.empty(0, np.int64)
    )
    change = np.zeros(len(numbers) + 1, np.int64)
    np.add.at(change, later, 1)
    np.add.at(change, later + distance + 1, -1)
    return np.cumsum(change[:-1]) > 0
