"""An index in memory, arranged for lookups: which of its texts have a number.

Equal texts are one group, so that a text that a thousand rows share is looked up once. Most texts of a corpus are in no index.
A bitmap says so in one read of memory per number; only what it lets through is searched in the sorted numbers.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pipelines.audit.minhash import BANDS
from pipelines.audit.shingles import Ragged, offsets_from_lengths
from pipelines.corpus_scan.fingerprints import ANCHOR_WORDS
from pipelines.corpus_scan.index_file import TextIndex, read_index

Array = npt.NDArray[Any]

MIN_BITS, MAX_BITS = 10, 30
PAIR, POSITIVE = 1, 2  # what a link is: both texts of a row, or a query and a relevant document


@dataclass(frozen=True)
class Numbers:
    """Numbers (uint32), sorted, with the owner of each, and a bitmap of their first bits."""

    sorted: Array
    owners: Array
    bitmap: Array
    shift: int

    def may_have(self, numbers: Array) -> Array:
        """Whether numbers are possibly here; False is certain."""
        bits = numbers >> np.uint32(self.shift)
        found: Array = self.bitmap[bits >> np.uint32(3)] >> (bits & np.uint32(7)).astype(np.uint8) & np.uint8(1)
        return found.view(np.bool_)

    def ranges(self, numbers: Array) -> tuple[Array, Array]:
        """For each number, where its owners begin and end."""
        return np.searchsorted(self.sorted, numbers), np.searchsorted(self.sorted, numbers, "right")

    def find(self, numbers: Array) -> tuple[Array, Array]:
        """The position among `numbers` and the owner, for each owner of each of them."""
        candidates = np.flatnonzero(self.may_have(numbers))
        starts, stops = self.ranges(numbers[candidates])
        return np.repeat(candidates, stops - starts), self.owners[expand_ranges(starts, stops)]


@dataclass(frozen=True)
class Links:
    """Texts that make a whole together: both texts of a row, or a query and a relevant document.

    first, second: the groups of each different pair, sorted; entries: for each pair, all links between rows, as the entry of
    one text, that of the other, and PAIR or POSITIVE. offsets: the pairs of each first group.
    """

    first: Array
    second: Array
    entries: Array
    entry_offsets: Array
    offsets: Array


@dataclass(frozen=True)
class Lookup:
    """An index arranged for lookups.

    index: without its bands and positives, which take half of the memory and are arranged here. group_of_entry: the group of
    each entry, -1 for an empty text. entries: the entries of each group. exact, folded, words, anchor, counts: as in the index,
    for each group. rough: the groups by the number of their whole text. anchors: the texts of ANCHOR_WORDS words or more by the
    number of their first words, as a number of run_lengths; these are the different numbers of words of texts that begin so.
    bands: for each band, the sets by number. group_of_set: sets are the bands of a group, one or two for each.
    """

    index: TextIndex
    group_of_entry: Array
    entries: Ragged
    exact: Array
    folded: Array
    words: Array
    anchor: Array
    counts: Array
    rough: Numbers
    anchors: Numbers
    run_lengths: Ragged
    bands: tuple[Numbers, ...]
    group_of_set: Array
    links: Links


def load_lookup(path: Path) -> Lookup:
    """The index in a file, arranged for lookups: about 400 bytes of memory for each of its texts.

    Raises SourceError as read_index does.
    """
    return arrange_index(read_index(path))


def arrange_index(index: TextIndex) -> Lookup:
    """Arrange an index for lookups."""
    exact, firsts, group_of_entry = np.unique(index.exact, return_index=True, return_inverse=True)
    if len(exact) and exact[0] == 0:
        exact, firsts, group_of_entry = exact[1:], firsts[1:], group_of_entry - 1
    used = np.flatnonzero(group_of_entry >= 0)
    groups = group_of_entry[used]
    lengths = np.bincount(groups, minlength=len(exact))
    entries = Ragged(used[np.argsort(groups, kind="stable")], offsets_from_lengths(lengths))
    anchor, counts = index.anchor[firsts], index.counts[firsts]
    anchors, run_lengths = _arrange_anchors(anchor, counts)
    bands, group_of_set = _arrange_bands(index.bands, firsts)
    nothing = Ragged(np.empty(0, np.uint32), np.zeros(1, np.int64))
    return Lookup(
        replace(index, bands=nothing, positives=nothing),
        group_of_entry,
        entries,
        exact,
        index.folded[firsts],
        index.words[firsts],
        anchor,
        counts,
        arrange_numbers(index.rough[firsts], np.arange(len(firsts))),
        anchors,
        run_lengths,
        bands,
        group_of_set,
        _arrange_links(index, group_of_entry, len(exact)),
    )


def arrange_numbers(numbers: Array, owners: Array, *, bits_per_number: int = 64) -> Numbers:
    """Numbers (uint32) for lookup.

    bits_per_number: of the bitmap, or up to twice as many. With 64, it lets one of 64 other numbers through, or fewer.
    """
    bits = min(max(int(len(numbers) * bits_per_number).bit_length(), MIN_BITS), MAX_BITS)
    keys = np.sort(
        numbers.astype(np.uint64) << np.uint64(32) | owners.astype(np.uint64)
    )  # several times as fast as argsort
    ordered, owners = (keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32)
    is_used = np.zeros(1 << bits, np.bool_)
    is_used[ordered >> np.uint32(32 - bits)] = True
    return Numbers(ordered, owners, np.packbits(is_used, bitorder="little"), 32 - bits)


def expand_ranges(starts: Array, stops: Array) -> Array:
    """All integers of the ranges, one range after another."""
    offsets = offsets_from_lengths(stops - starts)
    indices = np.repeat(starts - offsets[:-1], stops - starts)
    indices += np.arange(offsets[-1])
    return indices


def _arrange_anchors(anchor: Array, counts: Array) -> tuple[Numbers, Ragged]:
    has_anchor = counts >= ANCHOR_WORDS
    combined = np.unique(anchor[has_anchor].astype(np.uint64) << np.uint64(32) | counts[has_anchor])
    numbers, lengths = np.unique((combined >> np.uint64(32)).astype(np.uint32), return_counts=True)
    run_lengths = Ragged((combined & np.uint64(0xFFFFFFFF)).astype(np.int64), offsets_from_lengths(lengths))
    return arrange_numbers(numbers, np.arange(len(numbers)), bits_per_number=128), run_lengths


def _arrange_bands(bands: Ragged, firsts: Array) -> tuple[tuple[Numbers, ...], Array]:
    starts, stops = bands.offsets[firsts], bands.offsets[firsts + 1]
    numbers = bands.values[expand_ranges(starts, stops)].reshape(-1, BANDS)
    group_of_set = np.repeat(np.arange(len(firsts)), (stops - starts) // BANDS)
    sets = np.arange(len(numbers))
    arranged = (arrange_numbers(numbers[:, band], sets, bits_per_number=16) for band in range(BANDS))
    return tuple(arranged), group_of_set


def _arrange_links(index: TextIndex, group_of_entry: Array, groups: int) -> Links:
    of_first = [number for number, table in enumerate(index.tables) if table.pair is not None and table.pair > number]
    left = np.flatnonzero(np.isin(index.table, of_first))
    queries = np.repeat(np.arange(len(index.exact)), index.positives.lengths)
    ones = np.concatenate([left, queries])
    others = np.concatenate([left + 1, index.positives.values.astype(np.int64)])
    kinds = np.repeat([PAIR, POSITIVE], [len(left), len(queries)])
    links = np.stack([ones, others, kinds], axis=1)
    links = links[(group_of_entry[ones] >= 0) & (group_of_entry[others] >= 0)]
    one, other = group_of_entry[links[:, 0]], group_of_entry[links[:, 1]]
    # A text such as `yes` may have many partners. Each pair is kept with the one that has fewer, so that few are looked at.
    degrees = np.bincount(np.concatenate([one, other]), minlength=groups)
    is_reversed = degrees[one] > degrees[other]
    first, second = np.where(is_reversed, other, one), np.where(is_reversed, one, other)
    keys = first * max(groups, 1) + second
    order = np.argsort(keys, kind="stable")
    keys, firsts, counts = np.unique(keys[order], return_index=True, return_counts=True)
    first, second = first[order][firsts], second[order][firsts]
    offsets = np.searchsorted(first, np.arange(groups + 1))
    return Links(
        first, second, links[order], np.append(firsts, firsts[-1:] + counts[-1:] if len(firsts) else [0]), offsets
    )
