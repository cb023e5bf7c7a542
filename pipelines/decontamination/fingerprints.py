"""Fingerprints of texts: the numbers by which a text of a benchmark is recognised in a training corpus.

Texts are read as words in the way of pipelines.audit.shingles: from their bytes, without case and punctuation, roughly. Every
run of words has a number, and prefix sums give that of any run at once. With a factor f, and modulo 2^64, the words a, b, c, d
have the sums

    0,  a,  a + bf,  a + bf + cf²,  a + bf + cf² + df³

The run c, d has the number c + df. It is the last sum minus the third one, (cf² + df³), times f⁻²; f is odd, so it has an
inverse. Rough numbers only propose: texts whose rough number is in the index are folded, and their BLAKE2b hash decides.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from builders.shaping.folding import fold_texts, hash_texts
from pipelines.audit.near_duplicates import BANDS, band_numbers
from pipelines.audit.shingles import FACTORS, Ragged, Words, read_words, rough_shingles, stack_rows, take_rows

Array = npt.NDArray[Any]

ANCHOR_WORDS = 8  # a text with fewer words is not looked for inside longer texts
SHORT_WORDS = 5  # a text with fewer words has no near-duplicates, and is not listed alone
CHUNK_BYTES = 1 << 20  # of texts worked on at a time, so that what is computed of them stays in the processor's cache
CHUNK_ROWS = 4_000
INVERSE = pow(FACTORS[0], -1, 1 << 64)
NOT_A_WORD = r"[^\p{L}\p{M}\p{N}]+"
PROBE = (
    "The quick brown fox jumps over the lazy dog.",
    "Съешь же ещё этих мягких французских булок, да выпей чаю № 5!",
    " ".join(f"слово{number} word{number}" for number in range(33)),
    " ".join(f"Größe {number} ﬁn" for number in range(50)),
    ":)",
)


@dataclass(frozen=True)
class Runs:
    """Texts read as words, with the sums that give the number of every run of words."""

    words: Words
    sums: Array

    def numbers(self, starts: Array, stops: Array) -> Array:
        """The rough numbers (uint32) of the words from `starts` to before `stops`."""
        powers = _powers(INVERSE, len(self.sums))
        return _mix((self.sums[stops] - self.sums[starts]) * powers[starts])

    def anchors(self) -> Array:
        """The rough numbers of all runs of ANCHOR_WORDS words, also those that go from one text into the next."""
        count = max(len(self.sums) - ANCHOR_WORDS, 0)
        return _mix((self.sums[ANCHOR_WORDS:] - self.sums[:count]) * _powers(INVERSE, len(self.sums))[:count])


@dataclass(frozen=True)
class Fingerprints:
    """The fingerprints of texts, one of each array for each text; of an empty text all are 0.

    exact, folded, words: BLAKE2b (uint64) of the text, of the folded text and of the words of the folded text. rough, anchor: the
    rough numbers (uint32) of all of its words and of the first ANCHOR_WORDS; the anchor of a text with fewer is 0. counts: the
    number of words. bands: those of MinHash (uint32): BANDS for each kind of shingles, words before letters.
    """

    exact: Array
    folded: Array
    words: Array
    rough: Array
    anchor: Array
    counts: Array
    bands: Ragged


def fingerprint_texts(texts: pl.Series) -> Fingerprints:
    """The fingerprints of texts (String, without nulls)."""
    folded = fold_texts(texts)
    parts = [_rough_fingerprints(texts[start:stop]) for start, stop in chunk_offsets(texts, np.arange(len(texts)))]
    parts = parts or [_rough_fingerprints(texts.clear())]
    rough, anchor, counts = (np.concatenate([part[number] for part in parts]) for number in range(3))
    folded_numbers = hash_texts(folded)
    without_words = (counts == 0) & (folded_numbers != 0)
    rough[without_words] = rough_without_words(folded_numbers[without_words])
    exact = hash_texts(texts)
    exact[folded_numbers == 0] = 0
    bands = stack_rows([part[3] for part in parts])
    return Fingerprints(exact, folded_numbers, hash_texts(words_of(folded)), rough, anchor, counts, bands)


def words_of(folded: pl.Series) -> pl.Series:
    """The words of folded texts, letters and digits alone, with a space between two."""
    return folded.str.replace_all(NOT_A_WORD, " ").str.strip_chars(" ")


def rough_without_words(folded_numbers: Array) -> Array:
    """The rough numbers of texts that have no words: `:)`."""
    return (folded_numbers >> np.uint64(32)).astype(np.uint32)


def chunk_offsets(texts: pl.Series, starts: Array) -> Iterator[tuple[int, int]]:
    """Where chunks of the texts begin and end: about CHUNK_BYTES and CHUNK_ROWS each, one after another.

    starts: the texts at which a chunk may begin, ascending from 0.
    """
    ends = np.concatenate([[0], np.cumsum(texts.str.len_bytes().to_numpy().astype(np.int64))])
    borders = np.append(starts, len(texts))
    number = 0
    while number < len(starts):
        start = borders[number]
        by_size = np.searchsorted(ends[borders], ends[start] + CHUNK_BYTES, "right") - 1
        number = max(min(int(by_size), int(np.searchsorted(borders, start + CHUNK_ROWS, "right")) - 1), number + 1)
        yield int(start), int(borders[number])


def read_runs(texts: pl.Series) -> Runs:
    """The words and runs of texts (String, without nulls)."""
    # pipelines.audit.shingles takes `№` for a sign, to be fast; the folded text has the letters `no`.
    words = read_words(texts.str.replace_all("№", "no", literal=True))
    sums = np.zeros(len(words.numbers) + 1, np.uint64)
    np.cumsum(words.numbers * _powers(FACTORS[0], len(words.numbers)), out=sums[1:])
    return Runs(words, sums)


def compute_bands(words: Words, *, min_words: int = SHORT_WORDS) -> tuple[Array, Array]:
    """Rows, and the bands of each: words before letters, each ascending. Rows with fewer words than `min_words` have none."""
    rows, shingles = rough_shingles([words])
    is_enough = words.counts[rows] >= min_words
    if not is_enough.all():
        rows, shingles = rows[is_enough], take_rows(shingles, np.flatnonzero(is_enough))
    return rows, band_numbers(shingles)


def probe_digest() -> str:
    """A digest of the fingerprints of fixed texts: other versions of this package or its libraries may compute others."""
    digest, prints = hashlib.sha256(), fingerprint_texts(pl.Series(PROBE))
    for array in (prints.exact, prints.folded, prints.words, prints.rough, prints.anchor, prints.counts):
        digest.update(array.astype("<u8").tobytes())
    digest.update(prints.bands.values.astype("<u4").tobytes())
    return digest.hexdigest()


def _rough_fingerprints(texts: pl.Series) -> tuple[Array, Array, Array, Ragged]:
    runs = read_runs(texts)
    starts, stops = runs.words.first_words[:-1], runs.words.first_words[1:]
    counts = stops - starts
    rough = runs.numbers(starts, stops)
    rough[counts == 0] = 0
    has_anchor = counts >= ANCHOR_WORDS
    anchor = np.zeros(len(texts), np.uint32)
    anchor[has_anchor] = runs.numbers(starts[has_anchor], starts[has_anchor] + ANCHOR_WORDS)
    rows, bands = compute_bands(runs.words)
    order = np.argsort(rows, kind="stable")
    offsets = np.searchsorted(rows[order], np.arange(len(texts) + 1)) * BANDS
    return rough, anchor, counts.astype(np.uint32), Ragged(bands[order].ravel(), offsets)


def _mix(numbers: Array) -> Array:
    """The numbers with all of their bits in each of the 32 that are kept."""
    numbers = numbers ^ numbers >> np.uint64(29)
    numbers *= np.uint64(FACTORS[2])
    return (numbers >> np.uint64(32)).astype(np.uint32)


@cache
def _power_table(base: int, size: int) -> Array:
    table = np.full(size, base, np.uint64)
    table[0] = 1
    return np.multiply.accumulate(table)


def _powers(base: int, count: int) -> Array:
    """At least `count` powers of the base, from 1 on, modulo 2^64."""
    return _power_table(base, max(1 << count.bit_length(), 1 << 19))[:count]
