"""Texts inside longer texts of an earlier split: proposed by a few of their runs of words, then compared.

A text is inside a longer one that has all its folded words in a row, or at least MIN_SHARED_PERCENT of its different runs of
CONTAINED_RUN words. MinHash cannot find this: a sentence and its article share few of all the shingles that either has.

An example: a text has 20 runs. A longer text that has 90 % of them lacks at most two, so of any 7 it has at least 5. These 7
are the probes of the text, its rarest runs among the texts beside it. The earlier splits are read once, and a text of theirs with
5 of the 7 is compared word by word. Probes are runs of rough words (pipelines.audit.copies.shingles); what is compared is folded.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, pairwise

import numpy as np
import polars as pl

from builders.batches import map_in_order
from builders.shaping.folding import fold_text_1
from cards.kinds import CONTAINED_RUN, MIN_CONTAINED_WORDS, MIN_SHARED_PERCENT
from pipelines.audit.copies.near_duplicates import read_batches, read_rows
from pipelines.audit.copies.shingles import (
    Array,
    Ragged,
    hash_runs,
    join_rows,
    offsets_from_lengths,
    read_words,
    stack_rows,
)
from pipelines.process.stages import counted, stage

# Of a uint64: a row of a batch, how frequent a run is (estimated by its first bits), and the run.
ROW_BITS, FREQUENCY_BITS, NUMBER_BITS = 15, 8, 41
COUNTER_BITS = 20  # of a run, by which it is counted
TABLE_BITS = 24  # of a run, by which a table says whether it may be a probe
TABLE_SHIFT = np.uint64(NUMBER_BITS - TABLE_BITS)
CHUNK_ROWS = 2_000  # rows worked on at a time, so that what is computed of them stays in the processor's cache
MAX_LONGER = 10  # texts of a split that a text is compared with
COMPARED_PAIRS = 20_000  # whose texts are in memory at a time
MOST, WHOLE, EQUAL = 1, 2, 3  # how much of a text is in another


def find_contained(
    splits: Sequence[Sequence[pl.LazyFrame]], texts: Mapping[str, pl.Expr], compared: Sequence[pl.Series]
) -> pl.DataFrame:
    """The rows whose texts are inside, or equal to, those of a row of an earlier split, for each split that has such a row.

    splits: the rows of each, one frame after another. texts: as for near_duplicates.find_near_duplicates. compared: for each
    split, whether a row is compared; in one that is not, others are looked for all the same. Of two texts each is inside its
    counterpart, or equal to it. Returns the columns row, split, earlier (the row of that split that has the most of it, the first
    of several; all uint32) and part (MOST, WHOLE or EQUAL), without repeats of row and split, sorted by both.
    """
    of_splits = [[frame.select(**texts) for frame in frames] for frames in splits]
    every = [*chain.from_iterable(of_splits)]
    starts = offsets_from_lengths(np.array([len(own) for own in compared]))
    schema = {"row": pl.UInt32, "earlier": pl.UInt32, "split": pl.UInt32, "part": pl.Int64}
    parts = [pl.DataFrame(schema=schema)]
    if len(splits) > 1:
        with stage("contained texts: choosing runs"):
            probes = _choose_probes(every[len(of_splits[0]) :], int(starts[1]), pl.concat(compared).to_numpy())
        for split, (start, stop) in enumerate(pairwise(starts[:-1].tolist())):
            with stage("contained texts: looking up runs", total=stop - start, unit="rows") as advance:
                batches = counted(read_batches(*of_splits[split]), advance)
                candidates = _find_candidates(batches, start, probes.filter(pl.col("row") >= stop))
            for pairs in candidates.iter_slices(COMPARED_PAIRS):
                compared_pairs = _compare_pairs(every, pairs).with_columns(split=pl.lit(split, pl.UInt32))
                parts.append(compared_pairs.select(schema.keys()))
    found = pl.concat(parts).filter(pl.col("part") > 0).sort("part", "earlier", descending=[True, False])
    return found.unique(["row", "split"], keep="first", maintain_order=True).sort("row", "split")


def _choose_probes(frames: Sequence[pl.LazyFrame], start: int, compared: Array) -> pl.DataFrame:
    """The probes of the compared rows from `start` on: row, number (of a run), needed (how many probes of the row) and words."""
    parts = [pl.DataFrame(schema={"row": pl.UInt32, "number": pl.UInt64, "needed": pl.Int64, "words": pl.Int64})]
    for batch in read_batches(*frames):
        runs, words = _read_runs(batch)
        counters = (runs.values >> np.uint64(NUMBER_BITS - COUNTER_BITS)).astype(np.int64)
        frequencies = np.bincount(counters, minlength=1)[counters].clip(max=(1 << FREQUENCY_BITS) - 1).astype(np.uint64)
        owners = np.repeat(np.arange(batch.height, dtype=np.uint64), runs.lengths)
        keys = np.sort(owners << np.uint64(64 - ROW_BITS) | frequencies << np.uint64(NUMBER_BITS) | runs.values)
        keys = keys[np.append(True, keys[1:] != keys[:-1])[: len(keys)]]
        owners = (keys >> np.uint64(64 - ROW_BITS)).astype(np.int64)
        lengths = np.bincount(owners, minlength=batch.height)
        missing = lengths * (100 - MIN_SHARED_PERCENT) // 100
        chosen = np.where(compared[start : start + batch.height], np.minimum(lengths, 2 * missing + 3), 0)
        is_probe = np.arange(len(keys)) - offsets_from_lengths(lengths)[owners] < chosen[owners]
        rows, numbers = owners[is_probe], keys[is_probe] & np.uint64((1 << NUMBER_BITS) - 1)
        probes = {"row": rows + start, "number": numbers, "needed": (chosen - missing)[rows], "words": words[rows]}
        parts.append(pl.DataFrame(probes, schema=parts[0].schema))
        start += batch.height
    return pl.concat(parts)


def _read_runs(batch: pl.DataFrame) -> tuple[Ragged, Array]:
    """The runs of rough words of each row, as numbers of NUMBER_BITS, and its number of words."""
    runs, counts = [Ragged(np.empty(0, np.uint64), np.zeros(1, np.int64))], [np.empty(0, np.int64)]
    for chunk in batch.iter_slices(CHUNK_ROWS):
        texts = [read_words(column) for column in chunk.get_columns()]
        words = [Ragged(text.numbers, text.first_words) for text in texts]
        runs.append(join_rows([hash_runs(text, CONTAINED_RUN, salt=number) for number, text in enumerate(words)]))
        counts.append(np.sum([text.counts for text in texts], axis=0))
    stacked = stack_rows(runs)
    return Ragged(stacked.values >> np.uint64(64 - NUMBER_BITS), stacked.offsets), np.concatenate(counts)


def _find_candidates(batches: Iterable[pl.DataFrame], start: int, probes: pl.DataFrame) -> pl.DataFrame:
    """The rows of some probes, each with up to MAX_LONGER rows of the batches that have enough of them: row and earlier."""
    table = np.zeros(1 << TABLE_BITS, np.bool_)
    table[probes["number"].to_numpy() >> TABLE_SHIFT] = True
    candidates = pl.DataFrame(schema={"row": pl.UInt32, "earlier": pl.UInt32})
    for height, hits in map_in_order(partial(_find_hits, table), batches):
        found = hits.join(probes, on="number").filter(
            (pl.col("longer") == pl.col("words"))
            | ((pl.col("longer") > pl.col("words")) & (pl.col("words") >= MIN_CONTAINED_WORDS))
        )
        found = found.group_by("row", "earlier").agg(pl.len() >= pl.col("needed").first()).filter("len")
        found = found.select("row", (pl.col("earlier") + start).cast(pl.UInt32)).sort("row", "earlier")
        candidates = pl.concat([candidates, found]).filter(pl.int_range(pl.len()).over("row") < MAX_LONGER)
        start += height
    return candidates


def _find_hits(table: Array, batch: pl.DataFrame) -> tuple[int, pl.DataFrame]:
    """The number of rows, and those of their runs that may be probes: earlier (the row), number and longer (its words)."""
    found = [pl.DataFrame(schema={"earlier": pl.Int64, "number": pl.UInt64, "longer": pl.Int64})]
    for count, chunk in enumerate(batch.iter_slices(CHUNK_ROWS)):
        runs, words = _read_runs(chunk)
        hits = np.flatnonzero(table[runs.values >> TABLE_SHIFT])
        owners = np.searchsorted(runs.offsets, hits, "right") - 1
        earlier = owners + count * CHUNK_ROWS
        found.append(pl.DataFrame({"earlier": earlier, "number": runs.values[hits], "longer": words[owners]}))
    return batch.height, pl.concat(found).unique()


def _compare_pairs(frames: Sequence[pl.LazyFrame], pairs: pl.DataFrame) -> pl.DataFrame:
    """The pairs of rows with `part`: how much of the texts of the first is in those of the other, 0 for less than MOST."""
    rows = pl.concat([pairs["row"], pairs["earlier"]]).unique().sort()
    batches = read_rows(frames, rows.to_numpy().astype(np.int64))
    folded = pl.concat([batch.select("__row", fold_text_1(pl.exclude("__row"))) for batch in batches])
    texts = dict(zip(folded["__row"], folded.drop("__row").iter_rows(), strict=True))
    parts = [
        min(_contained_part(text, other) for text, other in zip(texts[row], texts[earlier], strict=True))
        for row, earlier in pairs.select("row", "earlier").iter_rows()
    ]
    return pairs.with_columns(part=pl.Series(parts, dtype=pl.Int64))


def _contained_part(text: str, other: str) -> int:
    """How much of a folded text is in another one: MOST, WHOLE or EQUAL, else 0."""
    words, others = text.split(" "), other.split(" ")
    if text == other:
        return EQUAL
    if len(others) < len(words) or len(words) < MIN_CONTAINED_WORDS:
        return 0
    if f" {text} " in f" {other} ":
        return WHOLE
    runs, longer = (
        {tuple(some[start : start + CONTAINED_RUN]) for start in range(len(some) - CONTAINED_RUN + 1)}
        for some in (words, others)
    )
    return MOST if 100 * len(runs & longer) >= MIN_SHARED_PERCENT * len(runs) else 0
