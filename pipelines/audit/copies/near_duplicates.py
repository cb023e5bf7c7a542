"""Near-duplicates: texts that are nearly the same as an earlier text, proposed by MinHash and then compared.

Two texts are near-duplicates if they share at least MIN_SHARED_PERCENT of their shingles: of all that either has (Jaccard
similarity). The shingles of a text, folded (builders.shaping.folding), are its runs of SHINGLE_WORDS words if both texts have
LONG_TEXT_WORDS words or more, else its runs of SHINGLE_CHARACTERS characters; the shingle of a shorter text is all of it. If
rows have two texts each, both must be near-duplicates of their counterparts.

MinHash selects the rows that may have a near-duplicate. Each row gets BANDS numbers, each made of ROWS_PER_BAND minimal hashes
of its rough shingles (pipelines.audit.copies.shingles); rows that agree in MIN_COMMON_BANDS bands are candidates. An example: two
minimal hashes are equal with the probability of the Jaccard similarity, so two texts with similarity 0.9 agree in a band with
probability 0.9^5 = 0.59, and in fewer than 2 of 14 bands with 0.41^14 + 14 * 0.59 * 0.41^13 = 0.00008: one pair in 12,000 is
missed. With similarity 0.5 a pair agrees in a band with probability 0.03, and one pair in fifteen are candidates.

The candidates are compared by the hashes of their exact shingles, as sets of numbers. Let the numbers of all sets be sorted in
one order, and call the first of each set its prefix. Two sets of 20 numbers that are nearly the same share 19, so that they
share one of the first 2 of each (prefix filtering; Bayardo et al. 2007, Xiao et al. 2008). Sorted from rare to frequent, few
sets share a number of their prefixes. An example is a text that a template made. All such texts share the shingles of the
template, but the rarest of each are its own words: it is compared only with texts that share some of these. A prefix
may have frequent numbers all the same. So a set is compared with at most MAX_NEIGHBOURS sets for each number of its prefix, the
nearest first, and with none after the first that is nearly the same. Bands and sets are in files: of ten million rows and a
million candidates they would take gigabytes of memory.

Texts with the same words in another order are found by the sum of the numbers of their words, then by their sorted folded words.

All numbers differ between versions of polars: never store them.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from io import BufferedRandom
from itertools import chain, pairwise

import numpy as np
import polars as pl
from rensa import RMinHash

from builders.batches import map_in_order
from builders.shaping.folding import fold_text_1
from cards.kinds import MIN_SHARED_PERCENT, SHINGLE_CHARACTERS, SHINGLE_WORDS
from pipelines.audit.copies.shingles import (
    FACTORS,
    Array,
    Numbers,
    Ragged,
    combine_kinds,
    hash_runs,
    join_rows,
    kinds_of_shingles,
    offsets_from_lengths,
    read_words,
    rough_shingles,
    stack_rows,
    sum_words,
    take_rows,
    take_slices,
)
from pipelines.audit.tables import duplicated
from pipelines.process.files import temporary_file_error
from pipelines.process.stages import counted, stage

BANDS, ROWS_PER_BAND, MIN_COMMON_BANDS = 14, 5, 2
SEED = 1
# Rows that agree in a band are checked in pairs at these distances among them; all rows of a larger group are candidates.
DISTANCES = range(1, 9)
CHUNK_ROWS = 500  # rows worked on at a time, so that what is computed of them stays in the processor's cache
BATCH_ROWS = 20_000  # rows read at a time
ROW_BITS = 9
EXACT_ROWS = 1 << ROW_BITS  # texts whose shingles are computed at a time
PAIR_BITS = 14
COMPARED_PAIRS = 1 << PAIR_BITS  # at a time, at most
AT_ONCE = 1 << 20  # numbers in memory at a time, about
# Numbers in memory all the time, at most: to read those of a set from a file costs more than to compare it.
HELD = 1 << 24
MAX_NEIGHBOURS = 50
# Numbers are counted by their first bits, which estimates their frequency: about 16 numbers, not all different, for each counter.
NUMBERS_BITS, LEAST_COUNTER_BITS, MOST_COUNTER_BITS = 4, 20, 25
# Of a uint64 that holds a set and a number with its class: bits of the class, and least bits of the set.
CLASS_BITS, SET_BITS = 8, 24
SIDE_BITS = 31  # of an int64 that holds the two sets of a pair
# Numbers are sorted by the class of their frequency: less than 4, 4, 5, 6, 7, less than 10, 12, 14, 16, 20, ...
CLASSES = np.unique([base << power >> 2 for power in range(2, 40) for base in (4, 5, 6, 7)])


@dataclass(frozen=True)
class Sets:
    """What is in memory of sets of numbers, in the order of their rows. `Stored` has the numbers.

    rows: the row that each belongs to. texts: a number for each set, the same if its texts are. has_letters, is_long: for each
    set and each of its texts, whether the numbers are those of letters, and whether the text is long. Two long texts are compared
    by their words, never by their letters.
    """

    rows: Array
    texts: Array
    has_letters: Array
    is_long: Array


@dataclass(frozen=True)
class Stored:
    """The numbers (uint64) of sets, for one text of a row: none twice in a set, none for two texts of a row.

    file: has those of each set behind those of the one before. offsets: of each set in numbers, and the end of the last. held:
    all numbers, where they are few.
    """

    file: BufferedRandom
    offsets: Numbers
    held: Array | None

    def take(self, sets: Array) -> Ragged:
        """The numbers of some sets, in this order."""
        if self.held is not None:
            return take_slices(self.held, self.offsets[sets], self.offsets[sets + 1])
        own, places = np.unique(sets, return_inverse=True)
        # Sets that are side by side are read at once.
        is_first = np.append(True, own[1:] != own[:-1] + 1)[: len(own)]
        starts, stops = self.offsets[own[is_first]], self.offsets[own[np.roll(is_first, -1)] + 1]
        values = np.empty((stops - starts).sum(), np.uint64)
        unread = values.data.cast("B")
        for start, size in zip((8 * starts).tolist(), (8 * (stops - starts)).tolist(), strict=True):
            self.file.seek(start)
            self.file.readinto(unread[:size])
            unread = unread[size:]
        return take_rows(Ragged(values, offsets_from_lengths(self.count(own))), places)

    def count(self, sets: Array) -> Numbers:
        """How many numbers some sets have."""
        counts: Numbers = self.offsets[sets + 1] - self.offsets[sets]
        return counts


def find_near_duplicates(
    frames: Sequence[pl.LazyFrame], texts: Mapping[str, pl.Expr], splits: pl.Series, compared: pl.Series
) -> pl.DataFrame:
    """The rows that are near-duplicates of an earlier row, for each split that has such a row.

    frames: the rows, one frame after another. texts: one or two of each row, by name, without nulls. splits: the number of the
    split of each row, ascending. compared: whether a row is compared at all. Returns the columns row (its position), split,
    earlier (the position of the row found in that split: the first that is the same after folding, else another near-duplicate,
    else the first with the same words in another order), all uint32, is_same (after folding) and is_reordered, without repeats of
    row and split, sorted by both.
    """
    frames = [frame.select(**texts) for frame in frames]
    candidates, bags = _find_candidates(frames, compared.to_numpy())
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in texts]
        with stage("near-duplicates: reading candidates", total=len(candidates), unit="rows") as advance:
            sets, stored = _store_sets(frames, candidates, files, advance)
        with stage("near-duplicates: comparing candidates"):
            similar = join_similar(sets, stored, splits.to_numpy()).with_columns(is_reordered=pl.lit(value=False))
    with stage("near-duplicates: comparing words in any order"):
        reordered = _find_reordered(frames, splits, np.flatnonzero(compared.to_numpy()), bags)
    reordered = reordered.join(similar, on=["row", "split"], how="anti")
    return pl.concat([similar, reordered]).sort("row", "split")


def _find_candidates(frames: Sequence[pl.LazyFrame], compared: Array) -> tuple[Array, Array]:
    """The rows that may be near-duplicates, ascending; and for each row what compute_bands says of its words in any order."""
    rows, bags = _Growing(np.uint32), _Growing(np.uint64)
    with ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(BANDS)]
        with stage("near-duplicates", total=len(compared), unit="rows") as advance:
            for own_rows, bands, own_bags in map_in_order(compute_bands, counted(read_batches(*frames), advance)):
                rows.add(own_rows + bags.count)
                bags.add(own_bags)
                for file, band in zip(files, bands.T, strict=True):
                    _write(file, np.ascontiguousarray(band))
        with stage("near-duplicates: selecting candidates"):
            return candidate_rows(rows.finish(), files, compared), bags.finish()


def _find_reordered(frames: Sequence[pl.LazyFrame], splits: pl.Series, compared: Array, bags: Array) -> pl.DataFrame:
    """The compared rows with the words of an earlier row in another order: what find_near_duplicates returns of them."""
    own = pl.Series(bags[compared])
    candidates = compared[(duplicated(own) & (own != 0)).to_numpy()]
    parts = [pl.DataFrame(schema={"row": pl.UInt32, "text": pl.UInt64, "bag": pl.UInt64})]
    for batch in read_rows(frames, candidates):
        folded = batch.select(fold_text_1(pl.exclude("__row")))
        words = folded.select(pl.all().str.split(" ").list.sort().list.join(" "))
        parts.append(batch.select(row="__row").with_columns(text=folded.hash_rows(), bag=words.hash_rows()))
    rows = pl.concat(parts).with_columns(split=splits.gather(candidates).cast(pl.UInt32))
    firsts = rows.unique(["bag", "split"], keep="first", maintain_order=True)
    pairs = rows.join(firsts, on="bag", suffix="_earlier").filter(
        pl.col("row_earlier") < pl.col("row"), pl.col("text_earlier") != pl.col("text")
    )
    return pairs.select("row", split="split_earlier", earlier="row_earlier", is_same=False, is_reordered=True)


def read_batches(*frames: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """The rows of frames, one after another, in batches of at most BATCH_ROWS.

    Of a concatenation, polars reads all frames at once and keeps the rows of the later ones, and of a slice of it those before.
    """
    for frame in frames:
        for batch in frame.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True, engine="streaming"):
            yield from batch.iter_slices(BATCH_ROWS)


class _Growing:
    """An array that grows at its end. To keep the parts and join them would take the memory of all of them twice."""

    def __init__(self, kind: type[np.generic]) -> None:
        self._array: Array = np.empty(0, kind)
        self.count = 0

    def add(self, part: Array) -> None:
        """Write a part behind the others."""
        stop = self.count + len(part)
        if stop > len(self._array):  # by an eighth more: a large array grows where it is, and what is added is set to 0
            self._array.resize(stop + stop // 8, refcheck=False)
        self._array[self.count : stop] = part
        self.count = stop

    def finish(self) -> Array:
        """What was written; nothing is added to it any more."""
        self._array.resize(self.count, refcheck=False)
        return self._array


def compute_bands(batch: pl.DataFrame) -> tuple[Array, Array, Array]:
    """Rows, ascending or repeated, and for each the numbers of its bands (uint32; rarely the same for different hashes); and a
    number for each row of the batch (uint64), equal for the same words in any order, 0 for a row without words.

    batch: columns of texts, without nulls. A row without shingles is left out; one whose texts have two kinds of shingles
    occurs once for each.
    """
    rows, bands, bags = [np.empty(0, np.int64)], [np.empty((0, BANDS), np.uint32)], [np.empty(0, np.uint64)]
    for number, chunk in enumerate(batch.iter_slices(CHUNK_ROWS)):
        texts = [read_words(column) for column in chunk.get_columns()]
        chunk_rows, rough = rough_shingles(texts)
        rows.append(chunk_rows + number * CHUNK_ROWS)
        bands.append(band_numbers(rough))
        bags.append(sum_words(texts))
    return np.concatenate(rows), np.concatenate(bands), np.concatenate(bags)


def band_numbers(shingles: Ragged) -> Array:
    """The numbers (uint32) of the bands of rows of rough shingles: a row of BANDS for each."""
    digests = RMinHash.digest_matrix_from_flat_token_hashes(
        shingles.values, shingles.offsets.astype(np.uint64), BANDS * ROWS_PER_BAND, SEED
    )
    hashes = np.fromiter(chain.from_iterable(digests.to_rows()), np.uint64)
    hashes = hashes.reshape(len(shingles.lengths), BANDS, ROWS_PER_BAND)
    numbers = np.zeros((len(hashes), BANDS), np.uint64)
    for position in range(ROWS_PER_BAND):
        numbers = numbers * np.uint64(FACTORS[0]) + hashes[:, :, position]
    return (numbers >> np.uint64(32)).astype(np.uint32)


def candidate_rows(rows: Array, files: Sequence[BufferedRandom], compared: Array) -> Array:
    """The rows, ascending, that agree with another row in enough bands.

    rows: what compute_bands returns of all. files: one for each band, with its number (uint32) for each of these. compared:
    whether a row is compared at all.
    """
    entries = np.flatnonzero(compared[rows])
    repeated, in_large_groups = np.zeros(len(rows), np.uint8), np.zeros(len(rows), np.uint8)
    for file in files:
        band = _read_all(file, np.uint32)
        order = entries[np.argsort(band[entries])]
        numbers = band[order]
        is_repeated = _is_repeated(numbers)
        order, numbers = order[is_repeated], numbers[is_repeated]
        repeated[order] += 1
        # What is equal to the number so many places further down is in a larger group than the distances reach.
        is_frequent = numbers[DISTANCES.stop :] == numbers[: -DISTANCES.stop]
        in_large_groups[order[np.isin(numbers, numbers[DISTANCES.stop :][is_frequent])]] += 1
    entries = np.flatnonzero(repeated >= MIN_COMMON_BANDS)
    is_candidate = in_large_groups[entries] >= MIN_COMMON_BANDS
    bands = np.empty((len(entries), len(files)), np.uint32)
    for number, file in enumerate(files):
        bands[:, number] = _read_all(file, np.uint32)[entries]
    for band in bands.T:
        order = np.argsort(band, kind="stable")
        for earlier, later in _neighbours(order, band[order]):
            is_open = ~(is_candidate[earlier] & is_candidate[later])
            one, other = earlier[is_open], later[is_open]
            agree = _agree(bands, one, other)
            is_candidate[one[agree]] = is_candidate[other[agree]] = True
    return np.unique(rows[entries[is_candidate]]).astype(np.int64)


def _read_all(file: BufferedRandom, kind: type[np.generic]) -> Array:
    file.seek(0)
    return np.fromfile(file, kind)


def _is_repeated(numbers: Array) -> Array:
    """Whether sorted numbers occur more than once."""
    is_next = numbers[1:] == numbers[:-1]
    is_repeated = np.append(is_next, False)[: len(numbers)]
    is_repeated[1:] |= is_next
    return is_repeated


def _neighbours(order: Array, numbers: Array) -> Iterator[tuple[Array, Array]]:
    """The positions, earlier and later, that are each of DISTANCES apart among those with the same number."""
    later = np.arange(len(order))
    for distance in DISTANCES:
        later = later[later >= distance]
        later = later[numbers[later] == numbers[later - distance]]
        yield order[later - distance], order[later]


def _agree(bands: Array, one: Array, other: Array) -> Array:
    """Whether pairs of rows agree in enough bands."""
    parts = [np.empty(0, np.bool_)]
    for start in range(0, len(one), AT_ONCE // BANDS):
        some = slice(start, start + AT_ONCE // BANDS)
        parts.append((bands[one[some]] == bands[other[some]]).sum(axis=1) >= MIN_COMMON_BANDS)
    return np.concatenate(parts)


def _store_sets(
    frames: Sequence[pl.LazyFrame], rows: Array, files: Sequence[BufferedRandom], advance: Callable[[int], None]
) -> tuple[Sets, list[Stored]]:
    """The shingles of some rows, as the definition has them: a set for each choice of kinds that its texts have.

    frames: the texts. files: for the numbers of each text of a row.
    """
    chunks = (chunk for batch in counted(read_rows(frames, rows), advance) for chunk in batch.iter_slices(EXACT_ROWS))
    empty = pl.DataFrame(schema={"__row": pl.UInt32, **frames[0].collect_schema()})
    parts, lengths = list[Sets](), [list[Numbers]() for _ in files]
    for part, columns in chain([_shingle_sets(empty)], map_in_order(_shingle_sets, chunks) if len(rows) else ()):
        parts.append(part)
        for file, column, of_column in zip(files, columns, lengths, strict=True):
            _write(file, column.values)
            of_column.append(column.lengths)
    offsets = [offsets_from_lengths(np.concatenate(of_column)) for of_column in lengths]
    sets = Sets(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.texts for part in parts]),
        np.concatenate([part.has_letters for part in parts]),
        np.concatenate([part.is_long for part in parts]),
    )
    are_few = sum(of_text[-1] for of_text in offsets) <= HELD
    held = [_read_all(file, np.uint64) if are_few else None for file in files]
    return sets, list(map(Stored, files, offsets, held))


def _write(file: BufferedRandom, values: Array) -> None:
    """Write behind what was written. Raises DatasetError where the disk does not take it."""
    try:
        file.write(values.data)
        file.flush()
    except OSError as error:
        file.raw.close()  # to close the file would try again to write what is left
        raise temporary_file_error(error.strerror or str(error)) from error


def read_rows(frames: Sequence[pl.LazyFrame], rows: Array) -> Iterator[pl.DataFrame]:
    """Some rows, ascending, in batches, with their position in the column __row."""
    start = 0
    for batch in read_batches(*frames) if len(rows) else ():
        stop = start + batch.height
        if len(positions := rows[np.searchsorted(rows, start) : np.searchsorted(rows, stop)]):
            yield batch[positions - start].insert_column(0, pl.Series("__row", positions, pl.UInt32))
        start = stop


def _shingle_sets(batch: pl.DataFrame) -> tuple[Sets, list[Ragged]]:
    """The sets of up to EXACT_ROWS rows, and the numbers for each text. batch: the column __row, and columns of texts."""
    folded = batch.select("__row", fold_text_1(pl.exclude("__row")))
    texts = folded.drop("__row").hash_rows().to_numpy()
    rows = folded["__row"].to_numpy().astype(np.int64)
    shingled = [exact_shingles(column, salt=2 * number) for number, column in enumerate(folded.get_columns()[1:])]
    is_long = np.stack([long for long, _ in shingled], axis=1)
    choices = list(combine_kinds([kinds for _, kinds in shingled], len(rows)))
    chosen = np.concatenate([own for own, _, _ in choices])
    has_letters = np.concatenate([np.tile(np.array(kinds) == 1, (len(own), 1)) for own, kinds, _ in choices])
    columns = zip(*(parts for _, _, parts in choices), strict=True)
    order = np.argsort(chosen, kind="stable")
    chosen, has_letters = chosen[order], has_letters[order]
    sets = Sets(rows[chosen], texts[chosen], has_letters, is_long[chosen])
    return sets, [take_rows(stack_rows(column), order) for column in columns]


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


@dataclass(frozen=True)
class _Postings:
    """The numbers that are in more than one prefix, sorted by number, then by set.

    keys: number and set (uint64), this in the last `set_bits` bits. sets: the set (uint32). positions: that of the number in the
    set (uint32). sizes: of each set.
    """

    keys: Array
    set_bits: np.uint64
    sets: Array
    positions: Array
    sizes: Array


def join_similar(sets: Sets, stored: Sequence[Stored], split_of_row: Array) -> pl.DataFrame:
    """The rows with a set that is nearly the same as one of an earlier row, for each split that has such a row.

    split_of_row: the number of the split of each row, ascending. Returns the columns row, split, earlier (the row found in that
    split: the first whose texts are the same, else one that is nearly the same), all uint32, and is_same, sorted by row and
    split.
    """
    schema = {"row": pl.UInt32, "split": pl.UInt32, "earlier": pl.UInt32, "is_same": pl.Boolean}
    postings = _index_prefixes(stored)
    parts = [pl.DataFrame(schema=schema)]
    split_of_set = split_of_row[sets.rows]
    for split in np.unique(split_of_set):
        first, stop = np.searchsorted(split_of_set, [split, split + 1])
        match = _find_same(sets, first, stop)
        is_same = match >= 0
        _find_similar(sets, stored, postings, (first, stop), match)
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


def _index_prefixes(stored: Sequence[Stored]) -> _Postings:
    set_bits = np.uint64(max(SET_BITS, len(stored[0].offsets).bit_length()))
    number_bits = np.uint64(64) - set_bits
    value_bits = number_bits - np.uint64(CLASS_BITS)
    counts = _count_numbers(stored)
    keys, positions, sizes = _Growing(np.uint64), _Growing(np.uint32), _Growing(np.int64)
    for first, wholes in _read_wholes(stored):
        lengths = wholes.lengths
        frequencies = counts[_counters(wholes.values, counts)]
        classes = np.searchsorted(CLASSES, frequencies, "right").astype(np.uint64)
        owners = np.repeat(np.arange(first, first + len(lengths), dtype=np.uint64), lengths)
        ordered = np.sort(owners << number_bits | classes << value_bits | wholes.values >> np.uint64(64) - value_bits)
        places = np.arange(len(ordered)) - np.repeat(wholes.offsets[:-1], lengths)
        prefixes = lengths - -(-MIN_SHARED_PERCENT * lengths // 100) + 1
        in_prefix = places < np.repeat(prefixes, lengths)
        ordered, places = ordered[in_prefix], places[in_prefix]
        may_be_shared = counts[_counters(ordered << set_bits + np.uint64(CLASS_BITS), counts)] > 1
        ordered = ordered[may_be_shared]
        keys.add(ordered << set_bits | ordered >> number_bits)
        positions.add(places[may_be_shared])
        sizes.add(lengths)
    del counts
    order = np.argsort(keys.finish(), kind="stable")
    places, every = positions.finish()[order], keys.finish()[order]
    del keys, positions, order  # each as large as what follows
    is_shared = _is_repeated(every >> set_bits)
    every, places = every[is_shared], places[is_shared]
    owners = (every & (np.uint64(1) << set_bits) - np.uint64(1)).astype(np.uint32)
    return _Postings(every, set_bits, owners, places, sizes.finish())


def _count_numbers(stored: Sequence[Stored]) -> Array:
    """How many sets have a number, as `_counters` says where: an estimate, never too low."""
    bits = sum(of_text.offsets[-1] for of_text in stored).item().bit_length() - NUMBERS_BITS
    counts = np.zeros(1 << min(max(LEAST_COUNTER_BITS, bits), MOST_COUNTER_BITS), np.uint32)
    for _, wholes in _read_wholes(stored):
        own, frequencies = np.unique(_counters(wholes.values, counts), return_counts=True)
        counts[own] += frequencies.astype(np.uint32)
    return counts


def _read_wholes(stored: Sequence[Stored]) -> Iterator[tuple[int, Ragged]]:
    """The numbers of sets for all texts of a row together, some sets at a time, and the first of these sets."""
    for first, stop in pairwise(_borders(np.sum([of_text.offsets for of_text in stored], axis=0)).tolist()):
        yield first, join_rows([of_text.take(np.arange(first, stop)) for of_text in stored])


def _borders(offsets: Numbers) -> Numbers:
    """Where to divide rows with these offsets so that a part has about AT_ONCE values, from the first row to behind the last."""
    return np.unique(np.append(np.searchsorted(offsets, np.arange(0, offsets[-1], AT_ONCE)), len(offsets) - 1))


def _counters(numbers: Array, counts: Array) -> Numbers:
    return (numbers >> np.uint64(65 - len(counts).bit_length())).astype(np.int64)


def _find_similar(
    sets: Sets, stored: Sequence[Stored], postings: _Postings, bounds: tuple[int, int], match: Array
) -> None:
    """For each row without a match, write into it an earlier row with a set between the bounds that is nearly the same."""
    first, stop = bounds
    for of_rows in _divide_entries(sets, postings, first):
        entries, numbers = of_rows, postings.keys[of_rows] >> postings.set_bits << postings.set_bits
        lowest = np.searchsorted(postings.keys, numbers | np.uint64(first))
        highest = np.minimum(np.searchsorted(postings.keys, numbers | np.uint64(stop)), entries)
        compared = np.empty(0, np.int64)
        for distance in range(1, MAX_NEIGHBOURS + 1):
            is_open = (highest - distance >= lowest) & (match[sets.rows[postings.sets[entries]]] < 0)
            entries, lowest, highest = entries[is_open], lowest[is_open], highest[is_open]
            if not len(entries):
                break
            pairs = _promising_pairs(sets, postings, entries, highest - distance)
            pairs = np.setdiff1d(pairs, compared, assume_unique=True)
            compared = np.sort(np.concatenate([compared, pairs]), kind="stable")
            while len(pairs):  # the nearest set of each first; the others only if it is different
                later, earlier = pairs >> SIDE_BITS, pairs & (1 << SIDE_BITS) - 1
                is_nearest = np.append(later[1:] != later[:-1], True)
                near = _compare_pairs(stored, earlier[is_nearest], later[is_nearest])
                match[sets.rows[later[is_nearest][near]]] = sets.rows[earlier[is_nearest][near]]
                pairs = pairs[~is_nearest & (match[sets.rows[later]] < 0)]


def _divide_entries(sets: Sets, postings: _Postings, first: int) -> Iterator[Numbers]:
    """The entries of the sets from `first` on, those of some rows at a time: what is found for a row depends on no other."""
    borders = _borders(offsets_from_lengths(np.bincount(postings.sets, minlength=len(sets.rows))))
    # All sets of a row are in one part.
    borders = np.unique(np.append(np.searchsorted(sets.rows, sets.rows[borders[:-1]]), len(sets.rows)))
    for start, stop in pairwise(np.maximum(borders, first).tolist()):
        yield np.flatnonzero((postings.sets >= start) & (postings.sets < stop))


def _promising_pairs(sets: Sets, postings: _Postings, entries: Array, others: Array) -> Array:
    """The pairs of sets of two entries with the same number that may be nearly the same: later and earlier set in one number.

    What follows the two entries must suffice: nothing before them is shared, or the pair has an entry that shows it.
    """
    sizes, later, earlier = postings.sizes, *(postings.sets[of].astype(np.int64) for of in (entries, others))
    needed = -(-MIN_SHARED_PERCENT * (sizes[later] + sizes[earlier]) // (100 + MIN_SHARED_PERCENT))
    remaining = np.minimum(sizes[later] - postings.positions[entries], sizes[earlier] - postings.positions[others])
    may_match = (remaining >= needed) & (sets.rows[later] != sets.rows[earlier])
    may_match &= ~(sets.has_letters[later] & sets.is_long[later] & sets.is_long[earlier]).any(axis=1)
    return np.unique(later[may_match] << SIDE_BITS | earlier[may_match])


def _compare_pairs(stored: Sequence[Stored], earlier: Array, later: Array) -> Array:
    """Whether pairs of sets share enough numbers for each text."""
    lengths = np.sum([of_text.count(sets) for of_text in stored for sets in (earlier, later)], axis=0)
    borders = np.union1d(_borders(offsets_from_lengths(lengths)), np.arange(0, len(earlier), COMPARED_PAIRS))
    parts = [np.empty(0, np.bool_)]
    for start, stop in pairwise(borders.tolist()):
        one, other = earlier[start:stop], later[start:stop]
        parts.append(np.all([_share_enough(of_text.take(one), of_text.take(other)) for of_text in stored], 0))
    return np.concatenate(parts)


def _share_enough(earlier: Ragged, later: Ragged) -> Array:
    """Whether rows at the same position share enough numbers."""
    shared = count_shared(earlier, later)
    return 100 * shared >= MIN_SHARED_PERCENT * (earlier.lengths + later.lengths - shared)


def count_shared(one: Ragged, other: Ragged) -> Array:
    """How many numbers rows at the same position share, up to COMPARED_PAIRS of them. No row has a number twice.

    The last PAIR_BITS bits are ignored: the sort needs them.
    """
    pairs = np.arange(len(one.lengths), dtype=np.uint64) << np.uint64(64 - PAIR_BITS)
    keys = [np.repeat(pairs, side.lengths) | side.values >> np.uint64(PAIR_BITS) for side in (one, other)]
    merged = np.sort(np.concatenate(keys))
    repeated = merged[1:][merged[1:] == merged[:-1]] >> np.uint64(64 - PAIR_BITS)
    return np.bincount(repeated.astype(np.int64), minlength=len(pairs))
