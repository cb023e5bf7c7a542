"""Finds the texts of an index in the texts of a corpus.

A text of the corpus holds a text of the index as one of these kinds, and is reported with the first that applies; a near one
whose similarity is only estimated comes last:

- exact: both are the same;
- folded: both are the same without case, punctuation and spacing (builders.shaping.folding);
- near: they share at least a share of their shingles, as near-duplicates do (pipelines.audit.near_duplicates);
- contained: all words of the text of the index, ANCHOR_WORDS or more, follow each other in the row of the corpus, without regard
  to case, punctuation and signs; also where one field of the row ends and the next begins.

A text of fewer than SHORT_WORDS words (`yes`, `thank you`) is in every corpus. It is only counted, unless the row has the whole
unit that it is part of (pipelines.corpus_scan.units).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from pipelines.corpus_scan.candidates import find_near_texts, find_runs, find_whole_texts
from pipelines.corpus_scan.corpus_batch import CorpusBatch
from pipelines.corpus_scan.fingerprints import SHORT_WORDS, chunk_offsets, read_runs
from pipelines.corpus_scan.lookup import Lookup, expand_ranges
from pipelines.corpus_scan.units import NAMES, TEXT, find_units, has_label
from pipelines.corpus_scan.verification import (
    TextSource,
    compare_near_texts,
    compare_runs,
    compare_whole_texts,
    estimate_similarity,
    is_near,
)

Array = npt.NDArray[Any]

THRESHOLD = 0.9
KINDS = ("exact", "folded", "near", "contained")
EXACT, FOLDED, NEAR, CONTAINED = range(4)
MATCH_SCHEMA = {
    "corpus_file": pl.String,
    "corpus_row": pl.Int64,
    "corpus_column": pl.String,
    "dataset": pl.String,
    "version": pl.String,
    "config": pl.String,
    "split": pl.String,
    "row": pl.String,
    "column": pl.String,
    "kind": pl.String,
    "similarity": pl.Float64,
    "is_estimated": pl.Boolean,
    "unit": pl.String,
}
ORDER = list(MATCH_SCHEMA)[:11]
TABLE_SCHEMA = {name: MATCH_SCHEMA[name] for name in ("dataset", "version", "config", "split", "column")}
JOINED = "+"  # between the names of two fields in which a run of words is


@dataclass(frozen=True)
class BatchMatches:
    """What a scan finds in a batch.

    matches: with the columns of MATCH_SCHEMA, sorted by the first eleven. is_estimated: whether the similarity is one of MinHash,
    because the text of the index is not at hand. unit: `text`, `pair`, `query with positive`, `labelled text` or `labelled pair`:
    what of the index is in the same row of the corpus. short: for texts of fewer than SHORT_WORDS words, the columns group (of
    the Lookup) and rows: how many rows of the corpus have it; see `short_texts`. rows, texts: how many were read.
    """

    matches: pl.DataFrame
    short: pl.DataFrame
    rows: int
    texts: int


@dataclass(frozen=True)
class _Hits:
    """Texts of a batch that hold a text of the index. last_texts: where a run ends, which may be in a later text."""

    texts: Array
    last_texts: Array
    groups: Array
    kinds: Array
    similarity: Array
    is_estimated: Array

    def select(self, mask: Array) -> "_Hits":
        """Some of the hits."""
        return _Hits(*(getattr(self, name)[mask] for name in _Hits.__dataclass_fields__))


def find_matches(
    lookup: Lookup, batch: CorpusBatch, source: TextSource | None = None, threshold: float = THRESHOLD
) -> BatchMatches:
    """The rows of the index that a batch of a corpus holds. source: the texts of the index at hand.

    threshold: the similarity from which texts are near.
    """
    rows = batch.texts["row"].to_numpy()
    row_starts = np.flatnonzero(np.append(True, rows[1:] != rows[:-1])) if len(rows) else np.empty(0, np.int64)
    parts = []
    for start, stop in chunk_offsets(batch.texts["text"], row_starts):
        hits = _find_hits(lookup, batch.texts["text"][start:stop], rows[start:stop], source, threshold)
        parts.append(_move(hits, start))
    hits = _stack(parts)
    matches = _list_matches(lookup, batch, rows, hits)
    return BatchMatches(matches, _count_short(lookup, rows, hits), len(row_starts), len(rows))


def short_texts(lookup: Lookup, counts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """How many rows of the corpus have each short text of the index, from the `short` of all batches.

    Returns the columns dataset, version, config, split, row, column and corpus_rows, in the order of the index.
    """
    total = pl.concat([pl.DataFrame(schema={"group": pl.Int64, "rows": pl.Int64}), *counts])
    total = total.group_by("group").agg(pl.col("rows").sum())
    entries = lookup.entries
    groups, times = total["group"].to_numpy(), total["rows"].to_numpy()
    starts, stops = entries.offsets[groups], entries.offsets[groups + 1]
    chosen = entries.values[expand_ranges(starts, stops)]
    order = np.argsort(chosen, kind="stable")
    frame = describe_entries(lookup, chosen[order])
    return frame.with_columns(corpus_rows=pl.Series(np.repeat(times, stops - starts)[order], dtype=pl.Int64))


def describe_entries(lookup: Lookup, entries: Array) -> pl.DataFrame:
    """The columns dataset, version, config, split, row and column of entries of the index."""
    tables = pl.DataFrame([table.key for table in lookup.index.tables], TABLE_SCHEMA, orient="row")
    names = pl.Series("row", lookup.index.rows.take(pa.array(entries)), dtype=pl.String)
    described = tables[lookup.index.table[entries].astype(np.uint32)].with_columns(names)
    return described.select("dataset", "version", "config", "split", "row", "column")


def _find_hits(lookup: Lookup, texts: pl.Series, rows: Array, source: TextSource | None, threshold: float) -> _Hits:
    """The hits of a chunk of texts, one for each text and group, of the first kind that applies."""
    runs = read_runs(texts)
    whole, whole_groups = find_whole_texts(lookup, texts, runs)
    is_exact, is_folded = compare_whole_texts(lookup, texts, whole, whole_groups)
    is_whole = is_exact | is_folded
    parts = [_hits(whole[is_whole], whole_groups[is_whole], np.where(is_exact, EXACT, FOLDED)[is_whole])]
    near, near_groups, common = find_near_texts(lookup, runs)
    is_new = ~np.isin(near << 32 | near_groups, parts[0].texts << 32 | parts[0].groups)
    near, near_groups, common = near[is_new], near_groups[is_new], common[is_new]
    similarity, is_estimated = compare_near_texts(lookup, texts, near, near_groups, source)
    similarity[is_estimated] = estimate_similarity(common[is_estimated])
    sizes = np.stack([runs.words.counts[near], lookup.counts[near_groups]])
    enough = is_near(similarity, is_estimated, common, sizes, threshold)
    parts.append(_Hits(near, near, near_groups, np.full(len(near), NEAR), similarity, is_estimated).select(enough))
    row_starts = np.append(np.flatnonzero(np.append(True, rows[1:] != rows[:-1])), len(rows))
    candidates = find_runs(lookup, runs, row_starts)
    is_same = compare_runs(lookup, runs.words, candidates)
    first_words = runs.words.first_words
    first = np.searchsorted(first_words, candidates.starts[is_same], "right") - 1
    last = np.searchsorted(first_words, candidates.stops[is_same] - 1, "right") - 1
    contained = _hits(first, candidates.groups[is_same].astype(np.int64), np.full(len(first), CONTAINED))
    parts.append(_Hits(first, last, contained.groups, contained.kinds, contained.similarity, contained.is_estimated))
    hits = _stack(parts)
    order = np.lexsort((hits.last_texts, hits.kinds, hits.is_estimated, hits.groups, hits.texts))
    hits = hits.select(order)
    is_first = np.append(True, (hits.texts[1:] != hits.texts[:-1]) | (hits.groups[1:] != hits.groups[:-1]))
    return hits.select(is_first[: len(hits.texts)])


def _hits(texts: Array, groups: Array, kinds: Array) -> _Hits:
    return _Hits(texts, texts, groups.astype(np.int64), kinds, np.ones(len(texts)), np.zeros(len(texts), np.bool_))


def _move(hits: _Hits, start: int) -> _Hits:
    return _Hits(
        hits.texts + start, hits.last_texts + start, hits.groups, hits.kinds, hits.similarity, hits.is_estimated
    )


def _stack(parts: list[_Hits]) -> _Hits:
    empty = np.empty(0, np.int64)
    parts = [_hits(empty, empty, empty), *parts]
    return _Hits(*(np.concatenate([getattr(one, name) for one in parts]) for name in _Hits.__dataclass_fields__))


def _list_matches(lookup: Lookup, batch: CorpusBatch, rows: Array, hits: _Hits) -> pl.DataFrame:
    """The matches of a batch: all hits of texts that are not short, and those of short texts that are part of a whole unit."""
    units = find_units(lookup, rows[hits.texts], hits.groups, hits.texts)
    is_long = np.flatnonzero(lookup.counts[hits.groups] >= SHORT_WORDS)
    starts, stops = lookup.entries.offsets[hits.groups[is_long]], lookup.entries.offsets[hits.groups[is_long] + 1]
    of_long = pl.DataFrame(
        {"hit": np.repeat(is_long, stops - starts), "entry": lookup.entries.values[expand_ranges(starts, stops)]},
        schema={"hit": pl.Int64, "entry": pl.Int64},
    )
    of_long = of_long.with_columns(row=pl.Series(rows[hits.texts[of_long["hit"].to_numpy()]]))
    of_long = of_long.join(units, on=["row", "entry"], how="left").with_columns(pl.col("unit").fill_null(TEXT))
    is_short = np.flatnonzero(lookup.counts[hits.groups] < SHORT_WORDS)
    short = pl.DataFrame(
        {"hit": is_short, "row": rows[hits.texts[is_short]], "group": hits.groups[is_short]},
        schema={"hit": pl.Int64, "row": pl.Int64, "group": pl.Int64},
    )
    groups = pl.Series("group", lookup.group_of_entry[units["entry"].to_numpy()], dtype=pl.Int64)
    of_short = units.with_columns(groups).join(short, on=["row", "group"])
    listed = pl.concat([of_long.select("hit", "entry", "unit"), of_short.select("hit", "entry", "unit")])
    chosen = hits.select(listed["hit"].to_numpy())
    entries = listed["entry"].to_numpy()
    labelled = has_label(lookup, batch.labels, rows[chosen.texts], entries)
    names = [NAMES[unit, bool(one)] for unit, one in zip(listed["unit"].to_list(), labelled.tolist(), strict=True)]
    columns = batch.texts["column"]
    first, last = columns.gather(chosen.texts), columns.gather(chosen.last_texts)
    joined = first.zip_with(pl.Series(chosen.texts == chosen.last_texts), first + JOINED + last)
    matches = describe_entries(lookup, entries).with_columns(
        pl.lit(batch.file).alias("corpus_file"),
        pl.Series("corpus_row", rows[chosen.texts], dtype=pl.Int64),
        joined.alias("corpus_column"),
        pl.Series("kind", [KINDS[kind] for kind in chosen.kinds.tolist()], dtype=pl.String),
        pl.Series("similarity", chosen.similarity, dtype=pl.Float64),
        pl.Series("is_estimated", chosen.is_estimated, dtype=pl.Boolean),
        pl.Series("unit", names, dtype=pl.String),
    )
    return matches.select(*MATCH_SCHEMA).sort(*ORDER)


def _count_short(lookup: Lookup, rows: Array, hits: _Hits) -> pl.DataFrame:
    """How many rows have each short text of the index."""
    is_short = lookup.counts[hits.groups] < SHORT_WORDS
    frame = pl.DataFrame(
        {"row": rows[hits.texts[is_short]], "group": hits.groups[is_short]}, {"row": pl.Int64, "group": pl.Int64}
    )
    counted = frame.unique().group_by("group").agg(rows=pl.len().cast(pl.Int64))
    return counted.select("group", "rows").sort("group")
