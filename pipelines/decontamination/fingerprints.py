"""Fingerprints of texts: the numbers by which a text of a benchmark is recognised in a training corpus.

Texts are read as words in the way of pipelines.audit.copies.shingles: from their bytes, without case and punctuation, roughly.
Every run of words has a number, and prefix sums give that of any run at once. With a factor f, and modulo 2^64, the words a, b,
c, d have the sums

    0,  a,  a + bf,  a + bf + cf²,  a + bf + cf² + df³

The run c, d has the number c + df. It is the last sum minus the third one, (cf² + df³), times f⁻²; f is odd, so it has an
inverse. Rough numbers only propose: texts whose rough number is in the index are folded, and their BLAKE2b hash decides.

The letters and digits of a text have a rough number too, the sum of a random number for each: spaces do not count, nor the order.

Seeds are the numbers of some runs of SEED_WORDS words, by which an edited text is recognised inside a longer one. A text has
MAX_SEEDS of them or fewer, closer together at its beginning, so that a text that was cut has several. Of a text with m runs they
begin at the words i + (m - 16) i² / 225, for i from 0 to 15: of 100 words at 0, 1, 3, 6, 9, 13, 18, 24, 30, 37, 45, 54, ...
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl
import pyarrow as pa

from builders.shaping.folding import fold_texts, hash_texts
from pipelines.audit.copies.near_duplicates import BANDS, band_numbers
from pipelines.audit.copies.shingles import (
    FACTORS,
    LEAD,
    Array,
    Words,
    expand_ranges,
    read_words,
    rough_shingles,
    take_rows,
)

ANCHOR_WORDS = 8  # a text with fewer words is not looked for inside longer texts
PASSAGE_WORDS = 14  # a text with fewer words has no seeds
SEED_WORDS, MAX_SEEDS = 5, 16
SHORT_WORDS = 5  # a text with fewer words has no near-duplicates, and is not listed alone
CHUNK_BYTES = 1 << 20  # of texts worked on at a time, so that what is computed of them stays in the processor's cache
CHUNK_ROWS = 4_000
LETTERS = (np.arange(256, dtype=np.uint64) * np.uint64(FACTORS[1]) >> np.uint64(20)).astype(np.uint32)  # by symbol
LETTERS *= LETTERS | np.uint32(1)
LETTERS[[0, LEAD]] = 0
NUMBERS = pl.List(pl.UInt32)
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
        return _mix((self.sums[stops] - self.sums[starts]) * _powers(INVERSE, len(self.sums))[starts])

    def all_runs(self, size: int) -> Array:
        """The rough numbers of all runs of so many words, also those that go from one text into the next."""
        count = max(len(self.sums) - size, 0)
        return _mix((self.sums[size:] - self.sums[:count]) * _powers(INVERSE, len(self.sums))[:count])

    def letters(self) -> Array:
        """The rough numbers (uint32) of the letters and digits of each text."""
        words = self.words
        if not len(words.counts):
            return np.empty(0, np.uint32)
        return np.add.reduceat(LETTERS[words.symbols], words.text_starts[:-1], dtype=np.uint32)


def fingerprint_texts(texts: pl.Series) -> pl.DataFrame:
    """The fingerprints of texts (String, without nulls), a row for each text; of an empty text all are 0.

    Columns: exact, folded, words, letters (UInt64): BLAKE2b of the text, of the folded text, of the words of the folded text, and
    of these without spaces. rough, anchor, rough_letters (UInt32): the rough numbers of all of its words, of the first
    ANCHOR_WORDS, 0 for fewer, and of its letters. n_words (UInt32): the number of words. bands (List(UInt32)): those of MinHash,
    BANDS for each kind of shingles, words before letters. seeds (List(UInt32)): see above.
    """
    folded = fold_texts(texts)
    words = words_of(folded)
    parts = [_rough_fingerprints(texts[start:stop]) for start, stop in chunk_offsets(texts, np.arange(len(texts)))]
    prints = pl.concat(parts or [_rough_fingerprints(texts)]).with_columns(
        exact=pl.Series(hash_texts(texts)),
        folded=pl.Series(hash_texts(folded)),
        words=pl.Series(hash_texts(words)),
        letters=pl.Series(hash_texts(without_spaces(words))),
    )
    return prints.with_columns(
        exact=pl.when(pl.col("folded") != 0).then("exact").otherwise(0),
        rough=pl.when(pl.col("n_words") == 0).then(rough_without_words(pl.col("folded"))).otherwise("rough"),
    )


def without_spaces(words: pl.Series) -> pl.Series:
    """The letters and digits of texts, from `words_of`."""
    return words.str.replace_all(" ", "", literal=True)


def seed_positions(numbers: Array, n_words: Array) -> Array:
    """The words at which seeds begin. numbers: of each seed in its text, from 0. n_words: of its text."""
    runs = np.asarray(n_words, np.int64) - SEED_WORDS + 1
    positions: Array = numbers + (runs - MAX_SEEDS).clip(min=0) * numbers**2 // (MAX_SEEDS - 1) ** 2
    return positions


def words_of(folded: pl.Series) -> pl.Series:
    """The words of folded texts, letters and digits alone, with a space between two."""
    return folded.str.replace_all(NOT_A_WORD, " ").str.strip_chars(" ")


def rough_without_words(folded: pl.Expr) -> pl.Expr:
    """The rough numbers (UInt32) of texts that have no words, `:)`, from the hashes of the folded texts."""
    return (folded // (1 << 32)).cast(pl.UInt32)


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
    # pipelines.audit.copies.shingles takes `№` for a sign, to be fast; the folded text has the letters `no`.
    words = read_words(texts.str.replace_all("№", "no", literal=True))
    sums = np.zeros(len(words.numbers) + 1, np.uint64)
    np.cumsum(words.numbers * _powers(FACTORS[0], len(words.numbers)), out=sums[1:])
    return Runs(words, sums)


def compute_bands(words: Words) -> tuple[Array, Array]:
    """Rows, and the bands of each: words before letters, each ascending. Rows with fewer words than SHORT_WORDS have none."""
    rows, shingles = rough_shingles([words])
    is_enough = words.counts[rows] >= SHORT_WORDS
    return rows[is_enough], band_numbers(take_rows(shingles, np.flatnonzero(is_enough)))


def probe_digest(names: Sequence[str]) -> str:
    """A digest of some fingerprints of fixed texts: other versions of this package or its libraries may compute others.

    names: of fields; lists come last.
    """
    digest, prints = hashlib.sha256(), fingerprint_texts(pl.Series(PROBE))
    for name in sorted(names, key=lambda name: prints[name].dtype == NUMBERS):
        is_list = prints[name].dtype == NUMBERS
        values = prints[name].explode().drop_nulls() if is_list else prints[name]
        digest.update(values.to_numpy().astype("<u4" if is_list else "<u8").tobytes())
    return digest.hexdigest()


def _rough_fingerprints(texts: pl.Series) -> pl.DataFrame:
    """The columns of `fingerprint_texts` that need no folded text."""
    runs = read_runs(texts)
    starts, counts = runs.words.first_words[:-1], runs.words.counts
    has_anchor = counts >= ANCHOR_WORDS
    anchor = np.zeros(len(texts), np.uint32)
    anchor[has_anchor] = runs.numbers(starts[has_anchor], starts[has_anchor] + ANCHOR_WORDS)
    rows, bands = compute_bands(runs.words)
    order = np.argsort(rows, kind="stable")
    offsets = np.searchsorted(rows[order], np.arange(len(texts) + 1)) * BANDS
    lengths = np.where(counts >= PASSAGE_WORDS, np.minimum(counts - SEED_WORDS + 1, MAX_SEEDS), 0)
    seeds = expand_ranges(np.zeros_like(lengths), lengths)
    positions = np.repeat(starts, lengths) + seed_positions(seeds.values, np.repeat(counts, lengths))
    return pl.DataFrame(
        {
            "rough": runs.numbers(starts, starts + counts),
            "anchor": anchor,
            "n_words": counts.astype(np.uint32),
            "bands": _to_lists(bands[order].ravel(), offsets),
            "rough_letters": runs.letters(),
            "seeds": _to_lists(runs.numbers(positions, positions + SEED_WORDS), seeds.offsets),
        }
    )


def _to_lists(values: Array, offsets: Array) -> pl.Series:
    return pl.Series(pa.ListArray.from_arrays(offsets.astype(np.int32), values), dtype=NUMBERS)


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
