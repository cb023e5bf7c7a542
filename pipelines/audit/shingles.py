"""Rough shingles: what texts that are equal once folded have in common, read off their bytes, many times as fast as folding.

The shingles of a text of LONG words or more are its runs of WORDS words, those of a shorter one its runs of CHARACTERS letters,
the gap between two words among them. They are numbers that do not mind what builders.shaping.folding takes away: case,
punctuation, white space. They forget more than that (the end of a long word, a `+`, which of some letters it is), so that they
tell which texts may be alike; pipelines.audit.near_duplicates compares the folded texts then.

English, German and Russian texts are read as they are. A text with another character (ODD) is folded first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from builders.shaping.folding import fold_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Numbers = npt.NDArray[np.int64]

LONG = 60  # words: where one of them is another, 57 runs of 63 are the same
WORDS, CHARACTERS = 3, 5  # in a run

# All but ASCII, most of Latin-1, the modern Cyrillic letters, dashes, quotation marks, wide spaces, the euro; and №, which is
# folded to the word `no`, but too frequent in Russian for all texts that have it to be folded.
ODD = "[^\x00-\x7f\xa0-\xa7\xa9\xab-\xae\xb0\xb1\xb6\xb7\xbb\xbf-\xff\u0400-\u045f\u2000-\u2016\u2018-\u203d\u203f-\u206f€№]"
LEAD = 0x40  # stands for the first byte of a letter that has two
SIGNS = ((0xC2, 2), (0xE2, 3))  # the first byte of characters that are no letters, and how many they have
# What stands for each byte: 0 where it is of no letter or digit. In UTF-8 a letter and its capital end in bytes with the same
# last five bits, in ASCII, Latin-1 and Cyrillic; but of the capitals from U+0400 to U+040F, Ё among them, the first of the five
# is another.
SYMBOLS = bytes(
    LEAD if byte >= 0xC0 else byte & 0x1F | 0x20 if byte >= 0x80 or chr(byte).isalnum() else 0 for byte in range(256)
)
FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)  # odd, and their bits have no pattern


@dataclass(frozen=True)
class Ragged:
    """Rows of any number of values: row n is values[edges[n] : edges[n + 1]]."""

    values: Array
    edges: Numbers

    @property
    def lengths(self) -> Numbers:
        """How many values each row has."""
        return self.edges[1:] - self.edges[:-1]


def rough_shingles(texts: Sequence[pl.Series]) -> Ragged:
    """The rough shingles (uint64) of each row of texts, as often as they stand there.

    texts: one column of strings or several, of one length, without nulls. The same shingle in two columns is two.
    """

    rows: list[Array] = []
    parts: list[Ragged] = []
    for place, column in enumerate(texts):
        symbols, begins, edges, text_edges = _words(column)
        many = edges[1:] - edges[:-1] >= LONG
        numbers = _numbers(symbols, begins)
        words = _cut(numbers, edges[:-1][many], edges[1:][many])
        few = ~many & (edges[1:] > edges[:-1])
        letters = _letters(_cut(symbols, begins[edges[:-1][few]], text_edges[1:][few]))
        for some, units, size in ((many, words, WORDS), (few, letters, CHARACTERS)):
            rows.append(np.flatnonzero(some))
            parts.append(runs(units, size, salt=place + 1))
    return gather(rows, parts, len(texts[0]))


def _words(texts: pl.Series) -> tuple[Array, Numbers, Numbers, Numbers]:
    """The symbols of all texts, where words begin in them, which is the first word of each text, and where texts begin.

    A symbol is 0 where a byte is of no letter or digit. A text ends with one 0 at least.
    """

    odd = texts.str.contains(ODD)
    if odd.any():
        better = texts.filter(odd).alias("text").to_frame().select(fold_text(pl.col("text")))["text"]
        texts = texts.scatter(odd.arg_true(), better)
    array = (texts + "\n").to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offsets, data = array.buffers()
    text_edges = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    held = np.frombuffer(data, np.uint8)[text_edges[0] : text_edges[-1]]
    text_edges = text_edges - text_edges[0]
    # 16 more: _numbers reads so many bytes from the beginning of a word.
    symbols = np.frombuffer(bytearray(held.tobytes()).translate(SYMBOLS) + bytes(16), np.uint8)
    capital = np.flatnonzero((held[:-1] == 0xD0) & (held[1:] < 0x90))
    symbols[capital + 1] |= 0x10
    for first, size in SIGNS:
        at = np.flatnonzero(held == first)
        for place in range(size):
            symbols[at + place] = 0
    word = symbols != 0
    word[1:] &= symbols[:-1] == 0
    begins = np.flatnonzero(word)
    return symbols, begins, np.searchsorted(begins, text_edges), text_edges


def _numbers(symbols: Array, begins: Numbers) -> Array:
    """A number for each word, of its first 16 bytes."""

    eight = np.ndarray(len(symbols) - 7, "<u8", symbols, strides=(1,))  # the eight bytes from each byte on
    numbers = np.zeros(len(begins), np.uint64)
    ended: Array = np.zeros(len(begins), np.uint64)
    for place, factor in ((0, FACTORS[1]), (8, FACTORS[2])):
        part = eight[begins + place] if place else eight[begins]
        # In bytes below 0x80, the first that is zero sets the lowest bit here; what comes before it belongs to the word.
        zero = ~(part + np.uint64(0x7F7F7F7F7F7F7F7F)) & np.uint64(0x8080808080808080)
        part &= (zero & -zero) - np.uint64(1)
        part[ended != 0] = 0
        ended |= zero
        numbers += part * np.uint64(factor)
    return numbers


def _cut(values: Array, begins: Numbers, ends: Numbers) -> Ragged:
    """The slices values[begins : ends]."""

    edges = edges_from_lengths(ends - begins)
    places = np.repeat(begins - edges[:-1], ends - begins)
    places += np.arange(edges[-1])
    return Ragged(values[places], edges)


def edges_from_lengths(lengths: Numbers) -> Numbers:

    edges = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=edges[1:])
    return edges


def _letters(texts: Ragged) -> Ragged:
    """One symbol for each letter, and one for what is between two words; texts begin with a letter and end with none."""

    symbols = texts.values
    kept = symbols != LEAD
    kept[:-1] &= (symbols[:-1] != 0) | (symbols[1:] != 0)
    kept[texts.edges[1:] - 1] = False
    return Ragged(symbols[kept], edges_from_lengths(kept)[texts.edges])


def runs(units: Ragged, size: int, *, salt: int = 0) -> Ragged:
    """All runs of so many neighbours in each row, as numbers (uint64); the last ones of a row are cut short by its end."""

    factor, values = np.uint64(FACTORS[0]), np.append(units.values, np.zeros(size, units.values.dtype))
    numbers = np.full(len(units.values), salt, np.uint64)
    for place in range(size):
        numbers *= factor
        numbers += values[place : place + len(numbers)]
    for left in range(1, size):
        at = units.edges[1:][units.lengths >= left] - left
        short = np.full(len(at), salt, np.uint64)
        for place in range(size):
            short *= factor
            short += values[at + place] if place < left else np.uint64(0)
        numbers[at] = short
    return Ragged(numbers, units.edges)


def gather(rows: Sequence[Array], parts: Sequence[Ragged], count: int) -> Ragged:
    """The rows of several tables, by the row of another table that each belongs to; of that, how many rows there are."""

    belongs = np.concatenate(rows)
    order = np.argsort(belongs, kind="stable")
    values = np.concatenate([part.values for part in parts])
    starts = np.cumsum([0, *(len(part.values) for part in parts[:-1])])
    begins = np.concatenate([part.edges[:-1] + start for part, start in zip(parts, starts, strict=True)])
    lengths = np.concatenate([part.lengths for part in parts])
    taken = _cut(values, begins[order], (begins + lengths)[order])
    return Ragged(taken.values, taken.edges[np.searchsorted(belongs[order], np.arange(count + 1))])
