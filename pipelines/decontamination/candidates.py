"""Texts of an index that a chunk of a corpus may have, by their rough numbers; matching.py compares them."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from builders.shaping.folding import fold_texts, hash_texts
from pipelines.audit.copies.near_duplicates import BANDS, MIN_COMMON_BANDS
from pipelines.audit.copies.shingles import Array, take_rows, take_slices
from pipelines.decontamination.fingerprints import (
    ANCHOR_WORDS,
    SHORT_WORDS,
    Runs,
    compute_bands,
    rough_without_words,
)
from pipelines.decontamination.index_file import Lookup

# Runs of words that may be a text of the index: the words at which they start, and before which they stop, and the groups.
Candidates = tuple[Array, Array, Array]

EXPANDED_SETS = 1 << 21  # texts of the index with a common band, counted at a time
# The texts of a template are all near-duplicates of each other; a text of the corpus is reported with so many of them at most.
MAX_NEAR_TEXTS = 100


def find_whole_texts(lookup: Lookup, texts: pl.Series, runs: Runs) -> tuple[Array, Array]:
    """Texts, and groups whose folded text may be the same."""
    starts, stops = runs.words.first_words[:-1], runs.words.first_words[1:]
    numbers = runs.numbers(starts, stops)
    without_words = np.flatnonzero(starts == stops)
    if len(without_words):
        folded = pl.Series(hash_texts(fold_texts(texts.gather(without_words))))
        numbers[without_words] = pl.select(rough_without_words(pl.lit(folded))).to_series().to_numpy()
    return lookup.rough.find(numbers)


def find_runs(lookup: Lookup, runs: Runs, row_starts: Array) -> Candidates:
    """The runs of words within one row of the corpus that may be a text of the index.

    row_starts: the first text of each row, and the number of texts. A run may go from a text of a row into the next one.
    """
    anchors = runs.all_runs(ANCHOR_WORDS)
    positions = np.flatnonzero(lookup.anchors.may_have(anchors))
    found, numbers = lookup.anchors.find(anchors[positions])
    positions = positions[found]
    first_words = runs.words.first_words[row_starts]
    ends = first_words[np.searchsorted(first_words, positions, "right").clip(max=len(first_words) - 1)]
    lengths = take_rows(lookup.run_lengths, numbers)
    positions, ends = np.repeat(positions, lengths.lengths), np.repeat(ends, lengths.lengths)
    fits = positions + lengths.values <= ends
    positions, runs_of = positions[fits], lengths.values[fits]
    found, groups = lookup.rough.find(runs.numbers(positions, positions + runs_of))
    positions, runs_of = positions[found], runs_of[found]
    is_same = (lookup.texts["n_words"][groups] == runs_of) & (lookup.texts["anchor"][groups] == anchors[positions])
    return positions[is_same], (positions + runs_of)[is_same], groups[is_same]


PART_ENDS = bytes(byte in b'\n\t:;="[]{}<>|#' for byte in range(256))  # what a prefix or a template has beside a text


def find_parts(lookup: Lookup, runs: Runs, row_starts: Array) -> Candidates:
    """The runs between two PART_ENDS of a row that may be a text of SHORT_WORDS words or more, too short for `find_runs`.

    row_starts: as `find_runs` takes them.
    """
    words, row_ends = runs.words, runs.words.first_words[row_starts[1:]]
    ends = np.flatnonzero(np.frombuffer(words.text_bytes.tobytes().translate(PART_ENDS), np.uint8))
    is_end = np.zeros(len(words.starts) + 1, np.bool_)
    is_end[np.searchsorted(words.starts, np.append(ends, 0))] = True
    parts = []
    for size in range(SHORT_WORDS, ANCHOR_WORDS):
        starts = np.flatnonzero(is_end[:-size] & is_end[size:])
        starts = starts[starts + size <= row_ends[np.searchsorted(row_ends, starts, "right")]]
        found, groups = lookup.rough.find(runs.numbers(starts, starts + size))
        is_same = lookup.texts["n_words"][groups] == size
        parts.append((starts[found][is_same], starts[found][is_same] + size, groups[is_same]))
    starts, stops, groups = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return starts, stops, groups


def find_near_texts(lookup: Lookup, runs: Runs) -> tuple[Array, Array, Array]:
    """Texts, groups that agree with them in MIN_COMMON_BANDS bands or more, and in how many; the MAX_NEAR_TEXTS best of each."""
    rows, bands = compute_bands(runs.words)
    parts = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))]
    if len(lookup.group_of_set):
        parts += list(_find_common_bands(lookup, bands))
    found, sets, common = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    texts, groups = rows[found], lookup.group_of_set[sets]
    order = np.lexsort((-common, groups, texts))
    texts, groups, common = texts[order], groups[order], common[order]
    is_first = np.append(True, (texts[1:] != texts[:-1]) | (groups[1:] != groups[:-1]))[: len(texts)]
    return texts[is_first], groups[is_first], common[is_first]


def _find_common_bands(lookup: Lookup, bands: Array) -> Iterator[tuple[Array, Array, Array]]:
    """Rows of bands, sets of the index that agree in enough of them, and in how many."""
    may_have = np.stack([lookup.bands[band].may_have(bands[:, band]) for band in range(BANDS)])
    rows = np.flatnonzero(may_have.sum(axis=0) >= MIN_COMMON_BANDS)
    starts, stops = np.zeros((BANDS, len(rows)), np.int64), np.zeros((BANDS, len(rows)), np.int64)
    for band in range(BANDS):
        searched = np.flatnonzero(may_have[band, rows])
        starts[band, searched], stops[band, searched] = lookup.bands[band].ranges(bands[rows[searched], band])
    is_enough = (stops > starts).sum(axis=0) >= MIN_COMMON_BANDS
    rows, starts, stops = rows[is_enough], starts[:, is_enough], stops[:, is_enough]
    ends = np.cumsum((stops - starts).sum(axis=0))
    first = 0
    while first < len(rows):
        last = int(np.searchsorted(ends, (ends[first - 1] if first else 0) + EXPANDED_SETS, "right"))
        last = max(last, first + 1)
        owners, sets = [], []
        for band in range(BANDS):
            begin, end = starts[band, first:last], stops[band, first:last]
            owners.append(np.repeat(rows[first:last], end - begin))
            sets.append(take_slices(lookup.bands[band].owners, begin, end).values)
        keys = np.concatenate(owners) << 32 | np.concatenate(sets).astype(np.int64)
        keys, common = np.unique(keys, return_counts=True)
        keys, common = keys[common >= MIN_COMMON_BANDS], common[common >= MIN_COMMON_BANDS]
        yield _keep_most_similar(keys >> 32, keys & 0xFFFFFFFF, common)
        first = last


def _keep_most_similar(rows: Array, sets: Array, common: Array) -> tuple[Array, Array, Array]:
    """The MAX_NEAR_TEXTS sets of each row that agree with it in the most bands; of equal ones those that come first."""
    order = np.lexsort((sets, -common, rows))
    rows, sets, common = rows[order], sets[order], common[order]
    is_kept = np.arange(len(rows)) - np.searchsorted(rows, rows) < MAX_NEAR_TEXTS
    return rows[is_kept], sets[is_kept], common[is_kept]
