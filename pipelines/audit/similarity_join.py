"""Finds for each set of numbers an earlier set that is nearly the same, without comparing every two sets.

Two sets are nearly the same if they share at least MIN_SHARED_PERCENT of the numbers that either has (Jaccard similarity). Let
the numbers of all sets be sorted in one order, and call the first of each set its prefix. Two sets of 20 numbers that are nearly
the same share 19, so that they share one of the first 2 of each (prefix filtering; Bayardo et al. 2007, Xiao et al. 2008). Sorted
from rare to frequent, few sets share a number of their prefixes.

An example is a text that a template made. All such texts share the shingles of the template, but the rarest of each are those of
its own words: it is compared only with texts that share some of these.

A prefix may have frequent numbers all the same. So a set is compared with at most MAX_NEIGHBOURS sets for each number of its
prefix, the nearest first, and with none after the first that is nearly the same.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from pipelines.audit.exact_shingles import COMPARED_PAIRS, count_shared
from pipelines.audit.shingles import Ragged, join_rows, take_rows

Array = npt.NDArray[Any]

MIN_SHARED_PERCENT = 90
MAX_NEIGHBOURS = 50
COUNTER_BITS = 20  # numbers are counted by their first bits: an estimate of their frequency is enough
SET_BITS, NUMBER_BITS = 24, 40  # of a uint64 that holds a set and a number
# Numbers are sorted by the class of their frequency: 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, ...
CLASSES = np.unique([base << power >> 2 for power in range(2, 40) for base in (4, 5, 6, 7)])


@dataclass(frozen=True)
class Sets:
    """Sets of numbers, in the order of their rows.

    rows: the row that each belongs to. columns: for each text of a row, the numbers (uint64) of each set, none of them twice, and
    none in two columns. texts: a number for each set, the same if its texts are. has_letters, is_long: for each set and each of
    its texts, whether the numbers are those of letters, and whether the text is long. Two long texts are compared by their words,
    never by their letters.
    """

    rows: Array
    columns: tuple[Ragged, ...]
    texts: Array
    has_letters: Array
    is_long: Array


@dataclass(frozen=True)
class _Postings:
    """The numbers of all prefixes, sorted by number, then by set.

    keys: number and set. sets: the set. positions: that of the number in the set. sizes: of each set.
    """

    keys: Array
    sets: Array
    positions: Array
    sizes: Array


def join_similar(sets: Sets, split_of_row: Array) -> pl.DataFrame:
    """The rows with a set that is nearly the same as one of an earlier row, for each split that has such a row.

    split_of_row: the number of the split of each row, ascending. Returns the columns row, split, earlier (the row found in that
    split: the first whose texts are the same, else one that is nearly the same), all uint32, and is_same, sorted by row and
    split.
    """
    schema = {"row": pl.UInt32, "split": pl.UInt32, "earlier": pl.UInt32, "is_same": pl.Boolean}
    postings = _index_prefixes(join_rows(sets.columns))
    parts = [pl.DataFrame(schema=schema)]
    split_of_set = split_of_row[sets.rows]
    for split in np.unique(split_of_set):
        first, stop = np.searchsorted(split_of_set, [split, split + 1])
        match = _find_same(sets, first, stop)
        is_same = match >= 0
        _find_similar(sets, postings, first, stop, match)
        rows = np.flatnonzero(match >= 0)
        found = {"row": rows, "split": np.full(len(rows), split), "earlier": match[rows], "is_same": is_same[rows]}
        parts.append(pl.DataFrame(found, schema=schema))
    return pl.concat(parts).sort("row", "split")


def _find_same(sets: Sets, first: int, stop: int) -> Array:
    """For each row, the first of the sets from `first` to `stop` that has its texts and is of an earlier row; -1 for none."""
    match = np.full(int(sets.rows.max(initial=-1)) + 1, -1)
    texts, positions = np.unique(sets.texts[first:stop], return_index=True)
    places = np.minimum(np.searchsorted(texts, sets.texts), max(len(texts) - 1, 0))
    earlier = sets.rows[first:stop][positions[places]]
    has_same = (texts[places] == sets.texts) & (earlier < sets.rows)
    match[sets.rows[has_same]] = earlier[has_same]
    return match


def _index_prefixes(wholes: Ragged) -> _Postings:
    values, sizes = wholes.values, wholes.lengths
    counters = (values >> np.uint64(64 - COUNTER_BITS)).astype(np.int64)
    counts = np.bincount(counters, minlength=1 << COUNTER_BITS)[counters]
    classes = np.searchsorted(CLASSES, counts, "right").astype(np.uint64)
    owners = np.repeat(np.arange(len(sizes), dtype=np.uint64), sizes)
    keys = np.sort(owners << NUMBER_BITS | classes << np.uint64(32) | values >> np.uint64(32))
    positions = np.arange(len(keys)) - np.repeat(wholes.offsets[:-1], sizes)
    prefixes = sizes - -(-MIN_SHARED_PERCENT * sizes // 100) + 1
    in_prefix = positions < np.repeat(prefixes, sizes)
    keys, positions = keys[in_prefix], positions[in_prefix]
    owners = keys >> np.uint64(NUMBER_BITS)
    keys = keys << np.uint64(SET_BITS) | owners
    order = np.argsort(keys, kind="stable")
    return _Postings(keys[order], owners[order].astype(np.int64), positions[order], sizes)


def _find_similar(sets: Sets, postings: _Postings, first: int, stop: int, match: Array) -> None:
    """For each row without a match, write into it an earlier row with a set from `first` to `stop` that is nearly the same."""
    numbers = postings.keys >> np.uint64(SET_BITS) << np.uint64(SET_BITS)
    entries = np.flatnonzero(postings.sets >= first)
    lowest = np.searchsorted(postings.keys, numbers[entries] | np.uint64(first))
    highest = np.minimum(np.searchsorted(postings.keys, numbers[entries] | np.uint64(stop)), entries)
    compared = np.empty(0, np.int64)
    for distance in range(1, MAX_NEIGHBOURS + 1):
        is_open = (highest - distance >= lowest) & (match[sets.rows[postings.sets[entries]]] < 0)
        entries, lowest, highest = entries[is_open], lowest[is_open], highest[is_open]
        if not len(entries):
            break
        pairs = _promising_pairs(sets, postings, entries, highest - distance)
        pairs = _not_in(pairs, compared)
        compared = np.sort(np.concatenate([compared, pairs]), kind="stable")
        while len(pairs):  # the nearest set of each first; the others only if it is different
            later, earlier = pairs >> SET_BITS, pairs & (1 << SET_BITS) - 1
            is_nearest = np.append(later[1:] != later[:-1], True)
            near = _compare_pairs(sets, earlier[is_nearest], later[is_nearest])
            match[sets.rows[later[is_nearest][near]]] = sets.rows[earlier[is_nearest][near]]
            pairs = pairs[~is_nearest & (match[sets.rows[later]] < 0)]


def _promising_pairs(sets: Sets, postings: _Postings, entries: Array, others: Array) -> Array:
    """The pairs of sets of two entries with the same number that may be nearly the same: later and earlier set in one number.

    What follows the two entries must suffice: nothing before them is shared, or the pair has an entry that shows it.
    """
    sizes, later, earlier = postings.sizes, postings.sets[entries], postings.sets[others]
    needed = -(-MIN_SHARED_PERCENT * (sizes[later] + sizes[earlier]) // (100 + MIN_SHARED_PERCENT))
    remaining = np.minimum(sizes[later] - postings.positions[entries], sizes[earlier] - postings.positions[others])
    may_match = (remaining >= needed) & (sets.rows[later] != sets.rows[earlier])
    may_match &= ~(sets.has_letters[later] & sets.is_long[later] & sets.is_long[earlier]).any(axis=1)
    return np.unique(later[may_match] << SET_BITS | earlier[may_match])


def _compare_pairs(sets: Sets, earlier: Array, later: Array) -> Array:
    """Whether pairs of sets share enough numbers in every column."""
    parts = [np.empty(0, np.bool_)]
    for start in range(0, len(earlier), COMPARED_PAIRS):
        one, other = (pairs[start : start + COMPARED_PAIRS] for pairs in (earlier, later))
        parts.append(
            np.all([_share_enough(take_rows(column, one), take_rows(column, other)) for column in sets.columns], 0)
        )
    return np.concatenate(parts)


def _share_enough(earlier: Ragged, later: Ragged) -> Array:
    """Whether rows at the same position share enough numbers."""
    shared = count_shared(earlier, later)
    return 100 * shared >= MIN_SHARED_PERCENT * (earlier.lengths + later.lengths - shared)


def _not_in(pairs: Array, compared: Array) -> Array:
    """The pairs that are not among those compared already; both are sorted."""
    if not len(compared):
        return pairs
    positions = np.minimum(np.searchsorted(compared, pairs), len(compared) - 1)
    is_new: Array = compared[positions] != pairs
    return pairs[is_new]
