"""Near-duplicates: texts that are nearly the same as an earlier one, proposed by MinHash and then compared exactly.

Two texts are near-duplicates if they share at least MIN_SHARED_PERCENT of their shingles: of all that either has (Jaccard
similarity). The shingles of a text, folded (builders.shaping.folding), are its runs of SHINGLE_WORDS words if it has
LONG_TEXT_WORDS words or more, else its runs of SHINGLE_CHARACTERS characters. If rows have two texts each, both must be
near-duplicates of their counterparts.

MinHash selects the candidates from their rough shingles (pipelines.audit.shingles). Each text gets BANDS numbers, each made of
ROWS_PER_BAND minimal hashes; texts that agree in MIN_COMMON_BANDS bands are compared.

An example: two minimal hashes are equal with the probability of the Jaccard similarity, so two texts with similarity 0.9 agree in
a band with probability 0.9^5 = 0.59, and in fewer than 2 of 20 bands with 0.41^20 + 20 * 0.59 * 0.41^19 = 0.0000005: one pair in
two million is missed. With similarity 0.5 a pair agrees in a band with probability 0.03, and one pair in eight is compared.

If very many texts are half alike, most of their pairs would be candidates. So each text is compared only with the MAX_NEIGHBOURS
texts before it in each band: if rows 3, 7, 9 and 12 agree in a band, neighbours at distance 1 are (3, 7), (7, 9), (9, 12); at
distance 2 (3, 9), (7, 12); at distance 3 (3, 12).
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pyarrow as pa
from rensa import RMinHash

from builders.batches import map_in_order
from builders.shaping.folding import fold_text
from pipelines.audit.shingles import (
    FACTORS,
    LONG_TEXT_WORDS,
    SHINGLE_CHARACTERS,
    SHINGLE_WORDS,
    Ragged,
    gather_rows,
    hash_runs,
    offsets_from_lengths,
    rough_shingles,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    import numpy.typing as npt

    Array = npt.NDArray[Any]

MIN_SHARED_PERCENT = 90
BANDS, ROWS_PER_BAND, MIN_COMMON_BANDS = 20, 5, 2
SEED = 1
MAX_NEIGHBOURS = 50
BATCH_ROWS = 20_000  # rows read at a time
CHUNK_ROWS = 500  # rows worked on at a time, so that what is computed of them stays in the processor's cache
CANDIDATE_PAIRS, COMPARED_PAIRS = 1_000_000, 20_000  # pairs collected, and pairs compared, at a time


def find_near_duplicates(
    frame: pl.LazyFrame, texts: Mapping[str, pl.Expr], splits: pl.Series, compared: pl.Series
) -> pl.DataFrame:
    """The rows that are near-duplicates of an earlier row, and the splits of such earlier rows.

    texts: one or two of each row, by name, without nulls. splits: the number of the split of each row of the frame, ascending.
    compared: whether a row is compared at all. Returns the columns row (its position) and split, both uint32, without repeats,
    sorted by both.
    """
    split_of_row = splits.to_numpy()
    bands = _compute_bands(frame.select(**texts))
    rows, ranks = _group_rows(bands, compared.arg_true().to_numpy())
    is_candidate = np.zeros(len(split_of_row), np.bool_)
    for pairs in _candidate_pairs(rows, ranks, bands):
        is_candidate[pairs["earlier"].to_numpy()] = is_candidate[pairs["later"].to_numpy()] = True
    shingles = _read_shingles(frame, texts, np.flatnonzero(is_candidate))
    has_match = np.zeros((len(split_of_row), int(split_of_row.max(initial=0)) + 1), np.bool_)
    for pairs in _candidate_pairs(rows, ranks, bands):
        for part in pairs.iter_slices(COMPARED_PAIRS):
            is_open = ~has_match[part["later"].to_numpy(), split_of_row[part["earlier"].to_numpy()]]
            matches = _compare_pairs(part.filter(pl.Series(is_open)), shingles)
            has_match[matches["later"].to_numpy(), split_of_row[matches["earlier"].to_numpy()]] = True
    row, split = np.nonzero(has_match)
    return pl.DataFrame({"row": row, "split": split}, {"row": pl.UInt32, "split": pl.UInt32})


def _compute_bands(texts: pl.LazyFrame) -> Array:
    """A number (uint32, rarely the same for different hashes) for each row and band; zeros for a row without shingles."""
    batches = map_in_order(_compute_batch_bands, _read_batches(texts))
    return np.concatenate([np.zeros((0, BANDS), np.uint32), *batches])


def _read_batches(frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """The rows in batches, each read on demand; `collect_batches` would read ahead without limit."""
    start = 0
    while len(batch := frame.slice(start, BATCH_ROWS).collect(engine="streaming")):
        yield batch
        start += BATCH_ROWS


def _compute_batch_bands(batch: pl.DataFrame) -> Array:
    parts = [np.zeros((0, BANDS), np.uint32)]
    for chunk in batch.iter_slices(CHUNK_ROWS):
        rough = rough_shingles(chunk.get_columns())
        digests = RMinHash.digest_matrix_from_flat_token_hashes(
            rough.values, rough.offsets.astype(np.uint64), BANDS * ROWS_PER_BAND, SEED
        )
        hashes = np.fromiter(chain.from_iterable(digests.to_rows()), np.uint64).reshape(
            len(chunk), BANDS, ROWS_PER_BAND
        )
        numbers = np.zeros((len(chunk), BANDS), np.uint64)
        for position in range(ROWS_PER_BAND):
            numbers = numbers * np.uint64(FACTORS[0]) + hashes[:, :, position]
        numbers[rough.lengths == 0] = 0
        parts.append((numbers >> np.uint64(32)).astype(np.uint32))
    return np.concatenate(parts)


def _group_rows(bands: Array, compared: Array) -> tuple[Array, Array]:
    """The groups of rows that agree in a band, one after another: their rows, ascending, and the rank of each in its group.

    If rows 3, 7 and 9 agree in one band and rows 7 and 8 in another, that is 3 7 9 7 8 and 0 1 2 0 1.
    """
    compared = compared[bands[compared].any(axis=1)]
    rows, ranks = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for band in range(BANDS):
        numbers = bands[compared, band]
        order = np.argsort(numbers, kind="stable")
        is_same = np.zeros(len(order) + 1, np.bool_)  # whether the row before it has its number
        is_same[1:-1] = numbers[order[1:]] == numbers[order[:-1]]
        rank = np.arange(len(order))
        rank -= np.maximum.accumulate(np.where(is_same[:-1], 0, rank))
        is_grouped = is_same[:-1] | is_same[1:]
        rows.append(compared[order[is_grouped]])
        ranks.append(rank[is_grouped])
    return np.concatenate(rows), np.concatenate(ranks)


def _neighbour_pairs(rows: Array, ranks: Array) -> Iterator[pl.DataFrame]:
    """The pairs of rows of a group, `earlier` and `later`, a frame for each distance from 1 to MAX_NEIGHBOURS."""
    later = np.flatnonzero(ranks)
    for distance in range(1, MAX_NEIGHBOURS + 1):
        later = later[ranks[later] >= distance]
        yield pl.DataFrame({"earlier": rows[later - distance], "later": rows[later]})


def _candidate_pairs(rows: Array, ranks: Array, bands: Array) -> Iterator[pl.DataFrame]:
    """The pairs of rows that agree in enough bands, many distances in one frame; a frame repeats no pair."""
    pending = [pl.DataFrame(schema={"earlier": pl.Int64, "later": pl.Int64})]
    for pairs in _neighbour_pairs(rows, ranks):
        common = (bands[pairs["earlier"].to_numpy()] == bands[pairs["later"].to_numpy()]).sum(axis=1)
        pending.append(pairs.filter(pl.Series(common >= MIN_COMMON_BANDS)))
        if sum(map(len, pending)) >= CANDIDATE_PAIRS:
            yield pl.concat(pending).unique(maintain_order=True)
            pending = pending[:1]
    yield pl.concat(pending).unique(maintain_order=True)


def _read_shingles(frame: pl.LazyFrame, texts: Mapping[str, pl.Expr], rows: Array) -> pl.DataFrame:
    """The shingles of some rows: row, and for each of its texts a list of different ones (uint64)."""
    positions = pl.Series(rows, dtype=pl.UInt32)
    empty = pl.DataFrame(schema={"row": pl.UInt32} | dict.fromkeys(texts, pl.List(pl.UInt64)))
    if positions.is_empty():
        return empty
    numbered = frame.with_row_index("__row").filter(pl.col("__row").is_in(positions.implode()))
    batches = numbered.select(row="__row", **texts).collect_batches(
        chunk_size=CHUNK_ROWS, maintain_order=True, engine="streaming"
    )
    parts = map_in_order(lambda batch: batch.select("row", *(_exact_shingles(batch[name]) for name in texts)), batches)
    return pl.concat([empty, *parts])


def _exact_shingles(texts: pl.Series) -> pl.Series:
    """For each text a list of its different shingles, those of the definition."""
    frame = (
        texts.alias("text")
        .to_frame()
        .select(fold_text(pl.col("text")))
        .with_columns(words=pl.col("text").str.split(" "))
    )
    is_long = frame["words"].list.len() >= LONG_TEXT_WORDS
    long, short = frame["words"].filter(is_long), frame["text"].filter(~is_long)
    words = Ragged(long.explode().hash().to_numpy(), offsets_from_lengths(long.list.len().to_numpy()))
    code_points = np.frombuffer("".join(short).encode("utf-32-le"), np.uint32)
    characters = Ragged(code_points, offsets_from_lengths(short.str.len_chars().to_numpy()))
    rows = [is_long.arg_true().to_numpy(), (~is_long).arg_true().to_numpy()]
    parts = [hash_runs(words, SHINGLE_WORDS), hash_runs(characters, SHINGLE_CHARACTERS)]
    shingles = gather_rows(rows, parts, len(texts))
    lists = pl.Series(pa.LargeListArray.from_arrays(shingles.offsets, shingles.values), dtype=pl.List(pl.UInt64))
    return lists.list.unique().alias(texts.name)


def _compare_pairs(pairs: pl.DataFrame, shingles: pl.DataFrame) -> pl.DataFrame:
    """The pairs of rows (earlier, later) whose texts share enough shingles."""
    columns = shingles.columns[1:]
    rows = pairs.join(shingles, left_on="earlier", right_on="row", maintain_order="left")
    rows = rows.join(shingles, left_on="later", right_on="row", maintain_order="left", suffix=" later")
    return rows.filter(pl.all_horizontal(map(_share_enough, columns))).select("earlier", "later")


def _share_enough(column: str) -> pl.Expr:
    """Whether a list of shingles and its counterpart, `<column> later`, share at least MIN_SHARED_PERCENT of all in either."""
    shared = pl.col(column).list.set_intersection(f"{column} later").list.len().cast(pl.Int64)
    either = pl.col(column).list.len().cast(pl.Int64) + pl.col(f"{column} later").list.len() - shared
    return 100 * shared >= MIN_SHARED_PERCENT * either
