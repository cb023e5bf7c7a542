"""Rough shingles: numbers that texts share if they are equal after folding, read from their bytes much faster than folding is.

Shingles are the runs of SHINGLE_WORDS words of a text of LONG_TEXT_WORDS words or more, and the runs of SHINGLE_CHARACTERS
letters of one with fewer than OVERLAP_WORDS words; the gap between two words counts as a letter. A text between the two bounds
has both kinds, so that it can be compared with a shorter text and with a longer one. Rough shingles ignore what
builders.shaping.folding removes (case, punctuation, white space) and a little more (the end of a long word, a `+`, some
differences between letters). So they only propose which texts may be near-duplicates; pipelines.audit.copies.near_duplicates then
compares the folded texts.

English, German and Russian texts are read as they are. A text with any other character is folded first.

An example: the texts `Bee, ёж!` and `BEE Ёж`. In UTF-8 they are

    B  e  e  ,  _  ё     ж     !        B  E  E  _  Ё     ж
    42 65 65 2c 20 d1 91 d0 b6 21       42 45 45 20 d0 81 d0 b6

SYMBOL_OF_BYTE keeps five bits of a letter, so that case is gone, gives 0 for everything else, and 40 for the first of two bytes
(`Ё` needs one bit more, see read_words):

    22 25 25 00 00 40 31 40 36 00       22 25 25 00 40 31 40 36

Without the 40s, with one 0 for a gap and none at the end, both texts become `22 25 25 00 31 36`. These six letters have two
runs of five: (22 25 25 00 31) and (25 25 00 31 36). Each is hashed to a uint64.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from builders.shaping.folding import fold_texts
from cards.kinds import LONG_TEXT_WORDS, SHINGLE_CHARACTERS, SHINGLE_WORDS

Array = npt.NDArray[Any]
Numbers = npt.NDArray[np.int64]

OVERLAP_WORDS = 80  # a text of 80 words is never a near-duplicate of one with fewer than 60, in practice

# The usual characters: ASCII, most of Latin-1, the modern Cyrillic letters, dashes, quotation marks, wide spaces, the euro; and
# №, which folds to the word `no` but is too frequent in Russian to fold every text that has it. Their first bytes in UTF-8:
LETTER_LEADS, SIGN_LEADS = (0xC3, 0xD0, 0xD1), ((0xC2, 2), (0xE2, 3))  # of signs, with the number of bytes
USUAL_SIGNS = [*map(chr, (*range(0xA0, 0xA8), 0xA9, *range(0xAB, 0xAF), 0xB0, 0xB1, 0xB6, 0xB7, 0xBB, 0xBF)), "€", "№"]
USUAL_SIGNS += [chr(code) for code in range(0x2000, 0x2070) if code not in (0x2017, 0x203E)]
UNUSUAL, LEAD = 0x80, 0x40  # the symbols for the first byte of an unusual character, and of a letter of two bytes
# The symbol for each byte: 0 for anything but a letter or digit. In ASCII, Latin-1 and Cyrillic, a letter and its capital end in
# UTF-8 in bytes with the same last five bits; except the capitals from U+0400 to U+040F, Ё among them, where the first of the
# five differs.
SYMBOL_OF_BYTE = bytes(
    (LEAD if byte in (*LETTER_LEADS, *dict(SIGN_LEADS)) else UNUSUAL)
    if byte >= 0xC0
    else byte & 0x1F | 0x20
    if byte >= 0x80 or chr(byte).isalnum()
    else 0
    for byte in range(256)
)
FACTORS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)  # odd, with bits in no pattern


@dataclass(frozen=True)
class Ragged:
    """Rows with any number of values: row n is values[offsets[n] : offsets[n + 1]]."""

    values: Array
    offsets: Numbers

    @property
    def lengths(self) -> Numbers:
        """The number of values of each row."""
        return self.offsets[1:] - self.offsets[:-1]


@dataclass(frozen=True)
class Words:
    """The words of texts, as their bytes give them.

    text_bytes: the texts in UTF-8, those with unusual characters folded, each with a line end after it. symbols: one for each
    byte, 0 where it belongs to no letter or digit; at least one 0 ends a text. starts: the offsets of words among them. numbers:
    a number (uint64) for each word. first_words: the first word of each text. text_starts: the offsets of texts. The last two
    have one more entry, for the end of the last text.
    """

    text_bytes: Array
    symbols: Array
    starts: Numbers
    numbers: Array
    first_words: Numbers
    text_starts: Numbers

    @property
    def counts(self) -> Numbers:
        """The number of words of each text."""
        return self.first_words[1:] - self.first_words[:-1]


def rough_shingles(texts: Sequence[Words]) -> tuple[Numbers, Ragged]:
    """The rough shingles (uint64) of each row of texts, repeated ones included: rows, and the shingles of each of these.

    texts: the words of one or more columns of texts, of equal length. The same shingle in two columns is two shingles. A row
    occurs once for each choice of kinds that its texts have; it does not occur if one of them has no shingle.
    """
    columns = []
    for position, column in enumerate(texts):
        words_from, words_to = column.first_words[:-1], column.first_words[1:]
        is_long, has_letters = kinds_of_shingles(words_to - words_from)
        words = take_slices(column.numbers, words_from[is_long], words_to[is_long])
        letters = _split_letters(
            take_slices(column.symbols, column.starts[words_from[has_letters]], column.text_starts[1:][has_letters])
        )
        salt = 2 * position
        columns.append(
            (
                (np.flatnonzero(is_long), hash_runs(words, SHINGLE_WORDS, salt=salt + 1)),
                (np.flatnonzero(has_letters), hash_runs(letters, SHINGLE_CHARACTERS, salt=salt + 2)),
            )
        )
    combined = [(rows, join_rows(parts)) for rows, _, parts in combine_kinds(columns, len(texts[0].counts))]
    return np.concatenate([rows for rows, _ in combined]), stack_rows([part for _, part in combined])


def sum_words(texts: Sequence[Words]) -> Array:
    """A number (uint64) for each row of texts, equal for texts with the same words in any order, 0 for texts without words."""
    sums = np.zeros(len(texts[0].counts), np.uint64)
    for factor, column in zip(FACTORS, texts, strict=False):
        mixed = column.numbers ^ column.numbers >> np.uint64(
            29
        )  # numbers alone have equal sums for `cat dog` and `dat cog`
        mixed *= np.uint64(factor)
        mixed ^= mixed >> np.uint64(32)
        totals = np.append(np.uint64(0), np.cumsum(mixed))[column.first_words]
        sums += (totals[1:] - totals[:-1]) * np.uint64(factor)
    return sums


def kinds_of_shingles(words: Numbers) -> tuple[Array, Array]:
    """For texts with these numbers of words: which have shingles of words, and which have shingles of letters."""
    return words >= LONG_TEXT_WORDS, (words > 0) & (words < OVERLAP_WORDS)


def read_words(texts: pl.Series) -> Words:
    """The words of texts (String, without nulls)."""
    text_bytes, text_starts = _read_bytes(texts)
    symbols = _read_symbols(text_bytes)
    unusual = _unusual_bytes(text_bytes, symbols)
    if len(unusual):
        rows = np.unique(np.searchsorted(text_starts, unusual, side="right") - 1)
        folded = fold_texts(texts.gather(rows))
        text_bytes, text_starts = _read_bytes(texts.scatter(rows, folded))
        symbols = _read_symbols(text_bytes)
        symbols[symbols == UNUSUAL] = LEAD
    capitals = np.flatnonzero((text_bytes[:-1] == 0xD0) & (text_bytes[1:] < 0x90))  # U+0400 to U+040F
    symbols[capitals + 1] |= 0x10
    for lead, size in SIGN_LEADS:
        starts = np.flatnonzero(text_bytes == lead)
        for position in range(size):
            symbols[starts + position] = 0
    is_start = symbols != 0
    is_start[1:] &= symbols[:-1] == 0
    word_starts = np.flatnonzero(is_start)
    first_words = np.searchsorted(word_starts, text_starts)
    return Words(text_bytes, symbols, word_starts, _word_numbers(symbols, word_starts), first_words, text_starts)


def _read_bytes(texts: pl.Series) -> tuple[Array, Numbers]:
    """The texts in UTF-8, each with a line end after it; and their offsets, with one more entry for the end of the last text."""
    array = (texts + "\n").to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offsets, data = array.buffers()
    text_starts = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return np.frombuffer(data, np.uint8)[text_starts[0] : text_starts[-1]], text_starts - text_starts[0]


def _read_symbols(text_bytes: Array) -> Array:
    """The symbol of each byte, and 16 more, because _word_numbers reads that many from the start of a word."""
    return np.frombuffer(bytearray(text_bytes.tobytes()).translate(SYMBOL_OF_BYTE) + bytes(16), np.uint8)


def _unusual_bytes(text_bytes: Array, symbols: Array) -> Numbers:
    """The offsets of the first bytes of unusual characters."""
    found = [np.flatnonzero((text_bytes[:-1] == 0xD1) & (text_bytes[1:] >= 0xA0))]  # old Cyrillic, from U+0460
    if symbols.max() >= UNUSUAL:
        found.append(np.flatnonzero(symbols == UNUSUAL))
    for (lead, size), is_usual in zip(SIGN_LEADS, _usual_signs(), strict=True):
        starts = np.flatnonzero(text_bytes == lead)
        rest = text_bytes[starts + 1].astype(np.uint16) << 8
        rest |= text_bytes[starts + 2] if size > 2 else 0
        found.append(starts[~is_usual[rest]])
    return np.concatenate(found)


@cache
def _usual_signs() -> Array:
    """For each of SIGN_LEADS, whether a sign is usual that goes on with these two bytes, or with this byte and 0."""
    is_usual = np.zeros((len(SIGN_LEADS), 1 << 16), np.bool_)
    for sign in map(str.encode, USUAL_SIGNS):
        lead = SIGN_LEADS.index((sign[0], len(sign)))
        is_usual[lead, int.from_bytes(sign[1:].ljust(2, b"\0"), "big")] = True
    return is_usual


def _word_numbers(symbols: Array, word_starts: Numbers) -> Array:
    """A number for each word, of its first 16 bytes.

    Eight bytes are read as one number, and those after the first zero byte are cleared: of `42 65 65 00 20 42 65 65` remain
    `42 65 65`. If a zero was among the first eight, the second eight do not count.
    """
    eight_bytes = np.ndarray(len(symbols) - 7, "<u8", symbols, strides=(1,))  # those from each byte on
    numbers = np.zeros(len(word_starts), np.uint64)
    has_ended: Array = np.zeros(len(word_starts), np.uint64)
    for position, factor in ((0, FACTORS[1]), (8, FACTORS[2])):
        part = eight_bytes[word_starts + position] if position else eight_bytes[word_starts]
        # All bytes are below 0x80, so the top bit of each zero byte is set here; the bits below the lowest one are the word's.
        zeros = ~(part + np.uint64(0x7F7F7F7F7F7F7F7F)) & np.uint64(0x8080808080808080)
        part &= (zeros & -zeros) - np.uint64(1)
        part[has_ended != 0] = 0
        has_ended |= zeros
        numbers += part * np.uint64(factor)
    return numbers


def take_slices(values: Array, starts: Numbers, stops: Numbers) -> Ragged:
    """The slices values[start:stop] as rows."""
    ranges = expand_ranges(starts, stops)
    return Ragged(values[ranges.values], ranges.offsets)


def expand_ranges(starts: Numbers, stops: Numbers) -> Ragged:
    """The integers from each start to before its stop, as rows. Starts 3, 7 and stops 5, 8 give the rows (3, 4) and (7)."""
    offsets = offsets_from_lengths(stops - starts)
    indices = np.repeat(starts - offsets[:-1], stops - starts)
    indices += np.arange(offsets[-1])
    return Ragged(indices, offsets)


def offsets_from_lengths(lengths: Numbers) -> Numbers:
    """The offsets of rows with these lengths, one more than there are rows."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _split_letters(texts: Ragged) -> Ragged:
    """One symbol for each letter, and one 0 for each gap between words. Texts start with a letter and end with a gap."""
    symbols = texts.values
    mask = symbols != LEAD
    mask[:-1] &= (symbols[:-1] != 0) | (symbols[1:] != 0)
    mask[texts.offsets[1:] - 1] = False
    return Ragged(symbols[mask], offsets_from_lengths(mask)[texts.offsets])


def hash_runs(units: Ragged, size: int, *, salt: int = 0) -> Ragged:
    """All runs of `size` neighbours in each row, as numbers (uint64) whose first bits differ; of a shorter row, all of it.

    Of the row a, b, c the runs of two are ab and bc, and the only run of five is abc.
    """
    factor, values = np.uint64(FACTORS[0]), np.append(units.values, np.zeros(size, units.values.dtype))
    numbers = np.full(len(units.values), salt, np.uint64)
    for position in range(size):
        numbers *= factor
        numbers += values[position : position + len(numbers)]
    lengths, starts = units.lengths, units.offsets[:-1]
    for length in range(1, size):  # rows too short for a run; what was computed for them has values of the next row
        short = starts[lengths == length]
        hashed = np.full(len(short), salt + length * FACTORS[1] & 0xFFFFFFFFFFFFFFFF, np.uint64)
        for position in range(length):
            hashed *= factor
            hashed += values[short + position]
        numbers[short] = hashed
    numbers *= np.uint64(
        FACTORS[2]
    )  # the last value, so far in the last bits alone, reaches the first ones, which are kept
    return take_slices(numbers, starts, starts + np.where(lengths < size, np.minimum(lengths, 1), lengths - size + 1))


def combine_kinds(
    columns: Sequence[Sequence[tuple[Numbers, Ragged]]], count: int
) -> Iterator[tuple[Numbers, tuple[int, ...], list[Ragged]]]:
    """For each choice of a kind of shingle for each text of a row: the rows, the kinds, and the shingles of each text.

    columns: for each text of a row, for each kind, the rows whose text has it, ascending, and their shingles. count: the number
    of rows.
    """
    for kinds in product(*(range(len(column)) for column in columns)):
        chosen = [column[kind] for column, kind in zip(columns, kinds, strict=True)]
        frequency = np.bincount(np.concatenate([rows for rows, _ in chosen]), minlength=count)
        rows = np.flatnonzero(frequency == len(chosen))
        yield rows, kinds, [take_rows(part, np.searchsorted(own, rows)) for own, part in chosen]


def take_rows(ragged: Ragged, rows: Numbers) -> Ragged:
    """Some rows, in this order."""
    return take_slices(ragged.values, ragged.offsets[rows], ragged.offsets[rows + 1])


def stack_rows(parts: Sequence[Ragged]) -> Ragged:
    """The rows of several, one below the other."""
    lengths = np.concatenate([part.lengths for part in parts])
    return Ragged(np.concatenate([part.values for part in parts]), offsets_from_lengths(lengths))


def join_rows(parts: Sequence[Ragged]) -> Ragged:
    """Rows made of the rows at the same position of each part, one after another."""
    if len(parts) == 1:
        return parts[0]
    count = len(parts[0].lengths)
    order = np.arange(count * len(parts)).reshape(len(parts), count).T.ravel()
    joined = take_rows(stack_rows(parts), order)
    return Ragged(joined.values, joined.offsets[:: len(parts)])
