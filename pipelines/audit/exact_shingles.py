"""Exact shingles: those of the folded texts, as the definition of near-duplicates has them (pipelines.audit.near_duplicates).

They are numbers that two texts share if they share a shingle. The numbers differ between versions of polars: never store them.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from pipelines.audit.shingles import (
    SHINGLE_CHARACTERS,
    SHINGLE_WORDS,
    Ragged,
    hash_runs,
    kinds_of_shingles,
    offsets_from_lengths,
)

Array = npt.NDArray[Any]

ROW_BITS = 9
EXACT_ROWS = 1 << ROW_BITS  # texts whose shingles are computed at a time
PAIR_BITS = 14
COMPARED_PAIRS = 1 << PAIR_BITS  # at a time


def exact_shingles(texts: pl.Series, salt: int) -> tuple[Array, list[tuple[Array, Ragged]]]:
    """Which texts are long; for words, then for letters, which texts have such shingles, and these. texts: folded."""
    split = texts.str.split(" ")
    counts = split.list.len().to_numpy().astype(np.int64)
    is_long, has_letters = kinds_of_shingles(np.where((texts == "").to_numpy(), 0, counts))
    long, short = split.filter(pl.Series(is_long)), texts.filter(pl.Series(has_letters))
    words = Ragged(long.explode().hash().to_numpy(), offsets_from_lengths(counts[is_long]))
    code_points = np.frombuffer("".join(short).encode("utf-32-le"), np.uint32)
    letters = Ragged(code_points, offsets_from_lengths(short.str.len_chars().to_numpy()))
    return is_long, [
        (np.flatnonzero(is_long), _without_repeats(hash_runs(words, SHINGLE_WORDS, salt=salt + 1))),
        (np.flatnonzero(has_letters), _without_repeats(hash_runs(letters, SHINGLE_CHARACTERS, salt=salt + 2))),
    ]


def _without_repeats(rows: Ragged) -> Ragged:
    """The different numbers of each row, ascending. The last ROW_BITS bits become 0: the sort needs them for the row."""
    numbers = np.repeat(np.arange(len(rows.lengths), dtype=np.uint64) << np.uint64(64 - ROW_BITS), rows.lengths)
    numbers = np.sort(numbers | rows.values >> np.uint64(ROW_BITS))
    numbers = numbers[np.append(True, numbers[1:] != numbers[:-1])] if len(numbers) else numbers
    lengths = np.bincount((numbers >> np.uint64(64 - ROW_BITS)).astype(np.int64), minlength=len(rows.lengths))
    return Ragged(numbers << np.uint64(ROW_BITS), offsets_from_lengths(lengths))


def count_shared(one: Ragged, other: Ragged) -> Array:
    """How many numbers rows at the same position share, up to COMPARED_PAIRS of them. No row has a number twice.

    The last PAIR_BITS bits are ignored: the sort needs them.
    """
    pairs = np.arange(len(one.lengths), dtype=np.uint64) << np.uint64(64 - PAIR_BITS)
    keys = [np.repeat(pairs, side.lengths) | side.values >> np.uint64(PAIR_BITS) for side in (one, other)]
    merged = np.sort(np.concatenate(keys))
    repeated = merged[1:][merged[1:] == merged[:-1]] >> np.uint64(64 - PAIR_BITS)
    return np.bincount(repeated.astype(np.int64), minlength=len(pairs))
