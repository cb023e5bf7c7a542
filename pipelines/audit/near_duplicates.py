"""Texts that are nearly the same as an earlier one: found by MinHash, then compared exactly.

Two texts are nearly the same where they share SHARED of TEN of their shingles: of those that either has (Jaccard similarity).
The shingles of a text, folded (builders.shaping.folding), are its runs of WORDS words where it has LONG words or more, else its
runs of CHARACTERS characters. Where rows have two texts each, both have to be nearly the same as their counterparts.

Which texts to compare, MinHash says by their rough shingles (shingles.py): those that agree in AGREEING bands of BANDS, that
is in all ROWS numbers of each. Of pairs that share just nine tenths one in a million agrees in fewer. Where very many texts are
half alike, a text is compared with the NEIGHBOURS before it in each band: more would take as long as comparing all with all.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pyarrow as pa
from rensa import RMinHash

from builders.batches import map_in_order
from builders.shaping.folding import fold_text
from pipelines.audit.shingles import (
    CHARACTERS,
    FACTORS,
    LONG,
    WORDS,
    Ragged,
    edges_from_lengths,
    gather,
    rough_shingles,
    runs,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    import numpy.typing as npt

    Array = npt.NDArray[Any]

SHARED, TEN = 9, 10
BANDS, ROWS, AGREEING, SEED = 20, 5, 2, 1
NEIGHBOURS = 50
BATCH, AT_ONCE = 20_000, 500  # rows read, and rows worked on: what is made of these stays in the processor's cache
PAIRS_AT_ONCE, COMPARED_AT_ONCE = 1_000_000, 20_000


def find_near_duplicates(
    frame: pl.LazyFrame, texts: Mapping[str, pl.Expr], splits: pl.Series, wanted: pl.Series
) -> pl.DataFrame:
    """Which rows are nearly the same as an earlier one, and which split that is in.

    texts: one of each row or two, by name, without nulls. splits: the number of the split that each row of the frame is in,
    ascending. wanted: whether a row is looked at. Returns row (its number) and split, both uint32, each once, in this order.
    """

    split = splits.to_numpy()
    bands = _bands(frame.select(**texts))
    rows, places = _groups(bands, wanted.arg_true().to_numpy())
    likely = np.zeros(len(split), np.bool_)
    for pairs in _portions(rows, places, bands):
        likely[pairs["earlier"].to_numpy()] = likely[pairs["later"].to_numpy()] = True
    sets = _sets(frame, texts, np.flatnonzero(likely))
    found = np.zeros((len(split), int(split.max(initial=0)) + 1), np.bool_)
    for pairs in _portions(rows, places, bands):
        for some in pairs.iter_slices(COMPARED_AT_ONCE):
            new = ~found[some["later"].to_numpy(), split[some["earlier"].to_numpy()]]
            alike = _alike(some.filter(pl.Series(new)), sets)
            found[alike["later"].to_numpy(), split[alike["earlier"].to_numpy()]] = True
    row, where = np.nonzero(found)
    return pl.DataFrame({"row": row, "split": where}, {"row": pl.UInt32, "split": pl.UInt32})


def _bands(texts: pl.LazyFrame) -> Array:
    """For each row and band a number (uint32, two different ones may fall together); zeros for a row without a shingle."""

    return np.concatenate([np.zeros((0, BANDS), np.uint32), *map_in_order(_bands_of, _slices(texts))])


def _slices(frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """The rows in batches, read when they are wanted: `collect_batches` reads ahead, as far as to the end."""
    start = 0
    while len(batch := frame.slice(start, BATCH).collect(engine="streaming")):
        yield batch
        start += BATCH


def _bands_of(batch: pl.DataFrame) -> Array:

    found = [np.zeros((0, BANDS), np.uint32)]
    for some in batch.iter_slices(AT_ONCE):
        rough = rough_shingles(some.get_columns())
        digests = RMinHash.digest_matrix_from_flat_token_hashes(
            rough.values, rough.edges.astype(np.uint64), BANDS * ROWS, SEED
        )
        numbers = np.fromiter(chain.from_iterable(digests.to_rows()), np.uint64).reshape(len(some), BANDS, ROWS)
        band = np.zeros((len(some), BANDS), np.uint64)
        for place in range(ROWS):
            band = band * np.uint64(FACTORS[0]) + numbers[:, :, place]
        band[rough.lengths == 0] = 0
        found.append((band >> np.uint64(32)).astype(np.uint32))
    return np.concatenate(found)


def _groups(bands: Array, wanted: Array) -> tuple[Array, Array]:
    """The rows of each group of rows that agree in a band, ascending, group after group; and which of its group each is."""

    wanted = wanted[bands[wanted].any(axis=1)]
    rows, places = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for band in range(BANDS):
        numbers = bands[wanted, band]
        order = np.argsort(numbers, kind="stable")
        again = np.zeros(len(order) + 1, np.bool_)  # whether the one before it has its number
        again[1:-1] = numbers[order[1:]] == numbers[order[:-1]]
        place = np.arange(len(order))
        place -= np.maximum.accumulate(np.where(again[:-1], 0, place))
        grouped = again[:-1] | again[1:]
        rows.append(wanted[order[grouped]])
        places.append(place[grouped])
    return np.concatenate(rows), np.concatenate(places)


def _steps(rows: Array, places: Array) -> Iterator[pl.DataFrame]:
    """Pairs of rows of a group, `earlier` and `later`: neighbours first, then those with one between them, and on."""

    later = np.flatnonzero(places)
    for step in range(1, NEIGHBOURS + 1):
        later = later[places[later] >= step]
        yield pl.DataFrame({"earlier": rows[later - step], "later": rows[later]})


def _portions(rows: Array, places: Array, bands: Array) -> Iterator[pl.DataFrame]:
    """The pairs that agree in enough bands, each once in a portion; a portion is many steps while these are small."""

    waiting = [pl.DataFrame(schema={"earlier": pl.Int64, "later": pl.Int64})]
    for step in _steps(rows, places):
        agree = (bands[step["earlier"].to_numpy()] == bands[step["later"].to_numpy()]).sum(axis=1) >= AGREEING
        waiting.append(step.filter(pl.Series(agree)))
        if sum(map(len, waiting)) >= PAIRS_AT_ONCE:
            yield pl.concat(waiting).unique(maintain_order=True)
            waiting = waiting[:1]
    yield pl.concat(waiting).unique(maintain_order=True)


def _sets(frame: pl.LazyFrame, texts: Mapping[str, pl.Expr], rows: Array) -> pl.DataFrame:
    """The shingles of some rows: row, and for each of its texts a list of different ones (uint64)."""

    some = pl.Series(rows, dtype=pl.UInt32)
    none = pl.DataFrame(schema={"row": pl.UInt32} | dict.fromkeys(texts, pl.List(pl.UInt64)))
    if some.is_empty():
        return none
    asked = frame.with_row_index("__row").filter(pl.col("__row").is_in(some.implode())).select(row="__row", **texts)
    batches = asked.collect_batches(chunk_size=AT_ONCE, maintain_order=True, engine="streaming")
    found = map_in_order(lambda batch: batch.select("row", *(_exact(batch[name]) for name in texts)), batches)
    return pl.concat([none, *found])


def _exact(texts: pl.Series) -> pl.Series:
    """For each text a list of its different shingles."""

    frame = (
        texts.alias("text")
        .to_frame()
        .select(fold_text(pl.col("text")))
        .with_columns(words=pl.col("text").str.split(" "))
    )
    long = frame["words"].list.len() >= LONG
    many, few = frame["words"].filter(long), frame["text"].filter(~long)
    words = Ragged(many.explode().hash().to_numpy(), edges_from_lengths(many.list.len().to_numpy()))
    letters = np.frombuffer("".join(few).encode("utf-32-le"), np.uint32)
    by_letters = runs(Ragged(letters, edges_from_lengths(few.str.len_chars().to_numpy())), CHARACTERS)
    rows = [long.arg_true().to_numpy(), (~long).arg_true().to_numpy()]
    every = gather(rows, [runs(words, WORDS), by_letters], len(texts))
    lists = pl.Series(pa.LargeListArray.from_arrays(every.edges, every.values), dtype=pl.List(pl.UInt64))
    return lists.list.unique().alias(texts.name)


def _alike(pairs: pl.DataFrame, sets: pl.DataFrame) -> pl.DataFrame:
    """The pairs of rows (earlier, later) that are nearly the same."""

    columns = sets.columns[1:]
    both = pairs.join(sets, left_on="earlier", right_on="row", maintain_order="left")
    both = both.join(sets, left_on="later", right_on="row", maintain_order="left", suffix=" later")
    shared = [pl.col(column).list.set_intersection(f"{column} later").list.len() for column in columns]
    either = [pl.col(column).list.len() + pl.col(f"{column} later").list.len() for column in columns]
    near = [TEN * one >= SHARED * (two - one) for one, two in zip(shared, either, strict=True)]
    return both.filter(pl.all_horizontal(near)).select("earlier", "later")
