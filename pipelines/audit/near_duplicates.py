"""Near-duplicates: texts that are nearly the same as an earlier one, proposed by MinHash and then compared exactly.

Two texts are near-duplicates if they share at least MIN_SHARED_PERCENT of their shingles: of all that either has (Jaccard
similarity). The shingles of a text, folded (builders.shaping.folding), are its runs of SHINGLE_WORDS words if both texts have
LONG_TEXT_WORDS words or more, else its runs of SHINGLE_CHARACTERS characters; the shingle of a shorter text is all of it. If rows
have two texts each, both must be near-duplicates of their counterparts.

MinHash (pipelines.audit.minhash) selects the rows that may have a near-duplicate; these are compared with each other
(pipelines.audit.similarity_join).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from builders.batches import map_in_order
from builders.shaping.folding import fold_text
from pipelines.audit.exact_shingles import EXACT_ROWS, exact_shingles
from pipelines.audit.minhash import candidate_rows, compute_bands
from pipelines.audit.shingles import combine_kinds, stack_rows, take_rows
from pipelines.audit.similarity_join import Sets, join_similar
from pipelines.stages import counted, stage

Array = npt.NDArray[Any]

BATCH_ROWS = 20_000  # rows read at a time


def find_near_duplicates(
    frame: pl.LazyFrame, texts: Mapping[str, pl.Expr], splits: pl.Series, compared: pl.Series
) -> pl.DataFrame:
    """The rows that are near-duplicates of an earlier row, for each split that has such a row.

    texts: one or two of each row, by name, without nulls. splits: the number of the split of each row of the frame, ascending.
    compared: whether a row is compared at all. Returns the columns row (its position), split, earlier (the position of the row
    found in that split: the first that is the same after folding, else another near-duplicate), all uint32, and is_same (after
    folding), without repeats of row and split, sorted by both.
    """
    with stage("near-duplicates", total=len(splits), unit="rows") as advance:
        rows, bands = compute_bands(counted(_read_batches(frame.select(**texts)), advance))
    with stage("near-duplicates: selecting candidates"):
        is_compared = compared.to_numpy()[rows]
        candidates = candidate_rows(rows[is_compared], bands[is_compared])
    with stage("near-duplicates: reading candidates", total=len(candidates), unit="rows") as advance:
        sets = _read_sets(frame, texts, candidates, advance)
    with stage("near-duplicates: comparing candidates"):
        return join_similar(sets, splits.to_numpy())


def _read_batches(frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """The rows in batches, each read on demand; `collect_batches` would read ahead without limit."""
    start = 0
    while len(batch := frame.slice(start, BATCH_ROWS).collect(engine="streaming")):
        yield batch
        start += BATCH_ROWS


def _read_rows(frame: pl.LazyFrame, rows: Array) -> Iterator[pl.DataFrame]:
    """Some rows, ascending, in batches, with their position in the column __row."""
    batches, firsts = np.unique(rows // BATCH_ROWS, return_index=True)
    for number, positions in zip(batches.tolist(), np.split(rows, firsts[1:]), strict=False):
        start = number * BATCH_ROWS
        batch = frame.slice(start, BATCH_ROWS).collect(engine="streaming")
        yield batch[positions - start].insert_column(0, pl.Series("__row", positions, pl.UInt32))


def _read_sets(frame: pl.LazyFrame, texts: Mapping[str, pl.Expr], rows: Array, advance: Callable[[int], None]) -> Sets:
    """The shingles of some rows, as the definition has them: a set for each choice of kinds that its texts have."""
    batches = counted(_read_rows(frame.select(**texts), rows), advance)
    chunks = (chunk for batch in batches for chunk in batch.iter_slices(EXACT_ROWS))
    empty = _shingle_sets(pl.DataFrame(schema={"__row": pl.UInt32} | dict.fromkeys(texts, pl.String)))
    parts = [empty, *(map_in_order(_shingle_sets, chunks) if len(rows) else ())]
    rows_of_sets, texts_of_sets, has_letters, is_long = (
        np.concatenate(arrays)
        for arrays in zip(*((one.rows, one.texts, one.has_letters, one.is_long) for one in parts), strict=True)
    )
    order = np.argsort(rows_of_sets, kind="stable")
    columns = [stack_rows(column) for column in zip(*(part.columns for part in parts), strict=True)]
    return Sets(
        rows_of_sets[order],
        tuple(take_rows(column, order) for column in columns),
        texts_of_sets[order],
        has_letters[order],
        is_long[order],
    )


def _shingle_sets(batch: pl.DataFrame) -> Sets:
    """The sets of up to EXACT_ROWS rows. batch: the column __row, and columns of texts."""
    folded = batch.select("__row", fold_text(pl.exclude("__row")))
    texts = folded.drop("__row").hash_rows().to_numpy()
    rows = folded["__row"].to_numpy().astype(np.int64)
    shingled = [exact_shingles(column, salt=2 * number) for number, column in enumerate(folded.get_columns()[1:])]
    is_long = np.stack([long for long, _ in shingled], axis=1)
    choices = list(combine_kinds([kinds for _, kinds in shingled], len(rows)))
    chosen = np.concatenate([own for own, _, _ in choices])
    has_letters = np.concatenate([np.tile(np.array(kinds) == 1, (len(own), 1)) for own, kinds, _ in choices])
    columns = zip(*(parts for _, _, parts in choices), strict=True)
    shingles = tuple(stack_rows(column) for column in columns)
    return Sets(rows[chosen], shingles, texts[chosen], has_letters, is_long[chosen])
