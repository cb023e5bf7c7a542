"""Compares the texts of a corpus with the texts of an index that may be the same: no match follows from a rough number."""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from builders.shaping.folding import fold_texts
from builders.shaping.short_hashes import hash_texts
from pipelines.audit.exact_shingles import COMPARED_PAIRS, EXACT_ROWS, count_shared, exact_shingles
from pipelines.audit.minhash import BANDS, MIN_COMMON_BANDS, ROWS_PER_BAND
from pipelines.audit.shingles import Words, stack_rows, take_rows
from pipelines.corpus_scan.candidates import RunCandidates
from pipelines.corpus_scan.fingerprints import words_of
from pipelines.corpus_scan.lookup import Lookup

Array = npt.NDArray[Any]

SIZE_MARGIN = (
    0.8  # similar texts have similar numbers of different shingles, and so of words, unless they repeat themselves
)
SCALE = 1_000_000  # similarities are compared as whole numbers of this part


class TextSource(Protocol):
    """The texts of the index that are at hand."""

    def texts(self, entries: Array) -> pl.Series:
        """The text of each entry, null where it is not at hand."""
        ...


def compare_whole_texts(lookup: Lookup, texts: pl.Series, rows: Array, groups: Array) -> tuple[Array, Array]:
    """Whether the text at each of `rows` is exactly that of the group, and whether it is the same after folding."""
    if not len(rows):
        return np.empty(0, np.bool_), np.empty(0, np.bool_)
    different, inverse = np.unique(rows, return_inverse=True)
    chosen = texts.gather(different)
    is_exact = hash_texts(chosen)[inverse] == lookup.exact[groups]
    is_folded = hash_texts(fold_texts(chosen))[inverse] == lookup.folded[groups]
    return is_exact, is_folded


def compare_runs(lookup: Lookup, words: Words, candidates: RunCandidates) -> Array:
    """Whether the words of each run, folded, are those of the text of its group."""
    if not len(candidates.starts):
        return np.empty(0, np.bool_)
    text_bytes, symbols = words.text_bytes.tobytes(), words.symbols.tobytes()
    runs, inverse = np.unique(np.stack([candidates.starts, candidates.stops], axis=1), axis=0, return_inverse=True)
    firsts, lasts = words.starts[runs[:, 0]].tolist(), words.starts[runs[:, 1] - 1].tolist()
    ends = [symbols.find(b"\0", last) for last in lasts]
    slices = [text_bytes[first:end].decode("utf-8", "replace") for first, end in zip(firsts, ends, strict=True)]
    hashed = hash_texts(words_of(fold_texts(pl.Series(slices, dtype=pl.String))))
    is_same: Array = hashed[inverse.ravel()] == lookup.words[candidates.groups]
    return is_same


def compare_near_texts(
    lookup: Lookup, texts: pl.Series, rows: Array, groups: Array, source: TextSource | None
) -> tuple[Array, Array]:
    """The similarity of the text at each of `rows` and that of the group, and whether it is still to be estimated.

    source: the texts of the index at hand, if any.
    """
    similarity = np.zeros(len(rows))
    is_estimated = np.ones(len(rows), np.bool_)
    if source is not None and len(rows):
        different, inverse = np.unique(groups, return_inverse=True)
        given = source.texts(lookup.entries.values[lookup.entries.offsets[different]])
        at_hand = given.is_not_null().to_numpy()[inverse]
        own, own_inverse = np.unique(rows[at_hand], return_inverse=True)
        positions = np.cumsum(given.is_not_null().to_numpy()) - 1
        similarity[at_hand] = measure_similarity(
            texts.gather(own), given.drop_nulls(), own_inverse, positions[inverse[at_hand]]
        )
        is_estimated[at_hand] = False
    return similarity, is_estimated


def estimate_similarity(common: Array) -> Array:
    """The similarity at which texts are expected to agree in so many bands."""
    return (common / BANDS) ** (1 / ROWS_PER_BAND)


def bands_for(threshold: float) -> int:
    """In how many bands texts of this similarity agree on average, rounded; texts that are not at hand are compared by it."""
    return max(round(BANDS * threshold**ROWS_PER_BAND), MIN_COMMON_BANDS)


def candidate_recall(threshold: float) -> float:
    """The share of texts of exactly this similarity that are proposed, so that they can be compared at all."""
    agree: float = threshold**ROWS_PER_BAND
    return 1 - (1 - agree) ** BANDS - BANDS * agree * (1 - agree) ** (BANDS - 1)


def is_near(similarity: Array, is_estimated: Array, common: Array, sizes: Array, threshold: float) -> Array:
    """Which candidates are near-duplicates.

    common: in how many bands they agree. sizes: the numbers of words of both, in two rows. Of estimated ones, those that agree in
    too few bands are none, nor those whose sizes differ too much.
    """
    enough = np.round(similarity * SCALE) >= round(threshold * SCALE)
    alike = sizes.min(axis=0) >= threshold * SIZE_MARGIN * sizes.max(axis=0)
    near: Array = np.where(is_estimated, (common >= bands_for(threshold)) & alike, enough)
    return near


def measure_similarity(ones: pl.Series, others: pl.Series, one_rows: Array, other_rows: Array) -> Array:
    """The Jaccard similarity of pairs of texts, as near-duplicates have it; 0 where one has words and the other letters.

    one_rows, other_rows: for each pair, the position of its texts.
    """
    sides = (_shingle_texts(ones), _shingle_texts(others))
    similarity = np.zeros(len(one_rows))
    both_long = sides[0][0][one_rows] & sides[1][0][other_rows]
    for number, is_compared in enumerate((both_long, ~both_long)):
        (own_one, one), (own_other, other) = sides[0][1][number], sides[1][1][number]
        pairs = np.flatnonzero(is_compared & np.isin(one_rows, own_one) & np.isin(other_rows, own_other))
        for start in range(0, len(pairs), COMPARED_PAIRS):
            chosen = pairs[start : start + COMPARED_PAIRS]
            left = take_rows(one, np.searchsorted(own_one, one_rows[chosen]))
            right = take_rows(other, np.searchsorted(own_other, other_rows[chosen]))
            shared = count_shared(left, right)
            similarity[chosen] = shared / (left.lengths + right.lengths - shared)
    return similarity


def _shingle_texts(texts: pl.Series) -> tuple[Array, list[tuple[Array, Any]]]:
    """Which texts are long; for words, then for letters, which texts have such shingles, and these."""
    folded = fold_texts(texts)
    parts = [
        exact_shingles(folded[start : start + EXACT_ROWS], 0) for start in range(0, max(len(folded), 1), EXACT_ROWS)
    ]
    is_long = np.concatenate([long for long, _ in parts])
    kinds = [
        (
            np.concatenate([shingled[kind][0] + number * EXACT_ROWS for number, (_, shingled) in enumerate(parts)]),
            stack_rows([shingled[kind][1] for _, shingled in parts]),
        )
        for kind in (0, 1)
    ]
    return is_long, kinds
