"""Finds the texts of an index in the texts of a corpus: proposed by their numbers, then compared.

Most of the work of a scan is here: every word of a corpus is read. NumPy works on chunks of texts, never on single ones.

A unit is a pair of texts, a query with one of its relevant documents, or a text with its label. A corpus row that holds a whole
unit gives away more than one of its texts: the answer is in it.

A text of the corpus holds a text of the index as one of these kinds, and is reported with the first that applies; a near one
whose similarity is only estimated comes last:

- exact: both are the same;
- folded: both are the same without case, punctuation and spacing (builders.shaping.folding);
- near: they share at least a share of their shingles, as near-duplicates do (pipelines.audit.copies.near_duplicates);
- contained: all words of the text of the index, ANCHOR_WORDS or more, follow each other in the row of the corpus, without regard
  to case, punctuation and signs; also where one field of the row ends and the next begins.

A text of fewer than SHORT_WORDS words (`yes`, `thank you`) is in every corpus. It is only counted, unless the row has the whole
unit that it is part of (pipelines.decontamination.matching).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from builders.shaping.folding import fold_texts, hash_texts
from pipelines.audit.copies.near_duplicates import (
    BANDS,
    COMPARED_PAIRS,
    EXACT_ROWS,
    MIN_COMMON_BANDS,
    ROWS_PER_BAND,
    count_shared,
    exact_shingles,
)
from pipelines.audit.copies.shingles import Array, Words, expand_ranges, stack_rows, take_rows
from pipelines.checking.batches import TextBatch
from pipelines.decontamination.candidates import (
    MIN_ESTIMATED_SEEDS,
    SHARE,
    Candidates,
    find_near_texts,
    find_parts,
    find_passages,
    find_runs,
    find_whole_texts,
    measure_passages,
    run_texts,
)
from pipelines.decontamination.fingerprints import (
    SHORT_WORDS,
    Runs,
    chunk_offsets,
    hash_letters,
    read_runs,
    words_of,
)
from pipelines.decontamination.index_file import PAIR, POSITIVE, Lookup
from pipelines.decontamination.indexing import StoredTexts, hash_labels
from pipelines.decontamination.views import render_views

SIZE_MARGIN = (
    0.8  # similar texts have similar numbers of different shingles, and so of words, unless they repeat themselves
)
SCALE = 1_000_000  # similarities are compared as whole numbers of this part


def compare_whole_texts(lookup: Lookup, texts: pl.Series, rows: Array, groups: Array) -> tuple[Array, Array]:
    """Whether the text at each of `rows` is exactly that of the group, and whether it is the same after folding."""
    different, inverse = np.unique(rows, return_inverse=True)
    chosen = texts.gather(different)
    is_exact = hash_texts(chosen)[inverse] == lookup.texts["exact"][groups]
    is_folded = hash_texts(fold_texts(chosen))[inverse] == lookup.texts["folded"][groups]
    return is_exact, is_folded


def find_letters(lookup: Lookup, texts: pl.Series, runs: Runs) -> tuple[Array, Array]:
    """Texts, and groups that have the same letters and digits, however they are divided into words."""
    found, groups = lookup.letters.find(runs.letters())
    different, inverse = np.unique(found, return_inverse=True)
    is_same = hash_letters(words_of(fold_texts(texts.gather(different))))[inverse] == lookup.texts["letters"][groups]
    return found[is_same], groups[is_same]


def compare_runs(lookup: Lookup, words: Words, candidates: Candidates) -> Array:
    """Whether the words of each run, folded, are those of the text of its group."""
    starts, stops, groups = candidates
    if not len(starts):
        return np.empty(0, np.bool_)
    runs, inverse = np.unique(starts << 32 | stops, return_inverse=True)
    hashed = hash_texts(words_of(fold_texts(run_texts(words, runs >> 32, runs & 0xFFFFFFFF))))
    is_same: Array = hashed[inverse] == lookup.texts["words"][groups]
    return is_same


def compare_near_texts(
    lookup: Lookup, texts: pl.Series, rows: Array, groups: Array, source: StoredTexts | None
) -> tuple[Array, Array]:
    """The similarity of the text at each of `rows` and that of the group, and whether it is still to be estimated.

    source: the available texts of the index, if any.
    """
    similarity = np.zeros(len(rows))
    is_estimated = np.ones(len(rows), np.bool_)
    if source is not None and len(rows):
        different, inverse = np.unique(groups, return_inverse=True)
        given = source.texts(lookup.entries.values[lookup.entries.offsets[different]])
        has_text = given.is_not_null().to_numpy()
        is_estimated = ~has_text[inverse]
        own, own_inverse = np.unique(rows[~is_estimated], return_inverse=True)
        positions = np.cumsum(has_text) - 1
        similarity[~is_estimated] = measure_similarity(
            texts.gather(own), given.drop_nulls(), own_inverse, positions[inverse[~is_estimated]]
        )
    return similarity, is_estimated


def estimate_similarity(common: Array) -> Array:
    """The similarity at which texts are expected to agree in so many bands."""
    return (common / BANDS) ** (1 / ROWS_PER_BAND)


def bands_for(threshold: float) -> int:
    """In how many bands texts of this similarity agree on average, rounded; texts that are not available are compared by it."""
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


TEXT = 0
# The name of a unit, by its kind and whether the row has the label too.
NAMES = {(TEXT, False): "text", (PAIR, False): "pair", (POSITIVE, False): "query with positive"}
NAMES |= {(TEXT, True): "labelled text", (PAIR, True): "labelled pair", (POSITIVE, True): "query with positive"}


def find_units(lookup: Lookup, rows: Array, groups: Array, texts: Array) -> pl.DataFrame:
    """The entries that are part of a whole unit in a row of the corpus.

    rows, groups, texts: for each hit the row of the corpus, the group of equal texts of the index, and the text of the corpus. A
    unit of two equal texts needs two texts of the corpus. Returns the columns row, entry and unit (PAIR or POSITIVE), sorted,
    without repeats of row and entry.
    """
    links, width = lookup.links, max(len(lookup.texts["exact"]), 1)
    hits, copies = np.unique(np.unique(np.stack([rows * width + groups, texts]), axis=1)[0], return_counts=True)
    hit_rows, hit_groups = hits // width, hits % width
    pairs = expand_ranges(links.partners.offsets[hit_groups], links.partners.offsets[hit_groups + 1])
    owners, partners = np.repeat(np.arange(len(hits)), pairs.lengths), links.partners.values[pairs.values]
    others = hit_rows[owners] * width + partners
    positions = np.searchsorted(hits, others).clip(max=max(len(hits) - 1, 0))
    is_whole = (hits[positions] == others) & ((partners != hit_groups[owners]) | (copies[owners] > 1))
    entries = take_rows(links.entries, pairs.values[is_whole])
    unit_rows = np.repeat(hit_rows[owners[is_whole]], entries.lengths)
    one, other, unit = entries.values.T
    frame = pl.DataFrame(
        {
            "row": np.concatenate([unit_rows, unit_rows]),
            "entry": np.concatenate([one, other]),
            "unit": np.concatenate([unit, unit]),
        },
        schema={"row": pl.Int64, "entry": pl.Int64, "unit": pl.Int64},
    )
    return frame.sort("row", "entry", "unit").unique(["row", "entry"], keep="first", maintain_order=True)


def has_label(lookup: Lookup, labels: pl.DataFrame, rows: Array, entries: Array) -> Array:
    """Whether the row of the corpus has the label of the entry, by number or by name. labels: see TextBatch."""
    known, hashes = labels["row"].to_numpy(), hash_labels(labels["label"])
    if not len(known):
        return np.zeros(len(rows), np.bool_)
    places = np.searchsorted(known, rows).clip(max=len(known) - 1)
    found = np.where(known[places] == rows, hashes[places], 0)
    is_same = (found == lookup.index.columns["label"][entries]) | (found == lookup.index.columns["label_name"][entries])
    result: Array = (found != 0) & is_same
    return result


THRESHOLD = 0.9
KINDS = ("exact", "folded", "near", "contained", "passage")
EXACT, FOLDED, NEAR, CONTAINED, PASSAGE = range(5)
WHOLE_KINDS = KINDS[:PASSAGE]
AS_IS, LETTERS, PART, CUT = "as is", "letters", "part", "cut"  # views beside those of pipelines.decontamination.views
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
    "view": pl.String,
}
ORDER = list(MATCH_SCHEMA)[:11]
TABLE_SCHEMA = {name: MATCH_SCHEMA[name] for name in ("dataset", "version", "config", "split", "column")}
JOINED = "+"  # between the names of two fields in which a run of words is


COVERAGE_SCHEMA = {"column": pl.String, "reason": pl.String, "bytes": pl.Int64}


@dataclass(frozen=True)
class BatchMatches:
    """What a scan finds in a batch.

    matches: with the columns of MATCH_SCHEMA, sorted by the first eleven. is_estimated: whether the similarity is estimated,
    because the text of the index is not available. unit: `text`, `pair`, `query with positive`, `labelled text` or `labelled
    pair`: what of the index is in the same row of the corpus. view: how the text of the corpus was read: AS_IS, or names joined
    by `+`. short: for texts of fewer than SHORT_WORDS words, the columns group (of the Lookup) and rows: how many rows of the
    corpus have it; see `short_texts`. rows, texts: how many were read.
    coverage: the bytes by column and reason (COVERAGE_SCHEMA), both empty for what was read.
    """

    matches: pl.DataFrame
    short: pl.DataFrame
    rows: int
    texts: int
    coverage: pl.DataFrame


# The hits of a batch: a text of the corpus that holds a text of the index, which is known by its group. kind: a position in
# KINDS. last_text: where a run of words ends, which may be in a later text of the row.
HIT_SCHEMA = {
    "text": pl.Int64,
    "last_text": pl.Int64,
    "group": pl.Int64,
    "kind": pl.Int64,
    "similarity": pl.Float64,
    "is_estimated": pl.Boolean,
    "view": pl.String,
}


def find_matches(
    lookup: Lookup,
    batch: TextBatch,
    source: StoredTexts | None = None,
    threshold: float = THRESHOLD,
    *,
    whole_texts: bool = False,
) -> BatchMatches:
    """The rows of the index that a batch of a corpus holds. source: the available texts of the index.

    threshold: the similarity from which texts are near. whole_texts: without views and passages, as for an index of format 1.
    """
    views = () if whole_texts else lookup.index.views
    rendered = render_views(batch.texts["text"], views)
    read = len(batch.texts)
    origins = np.concatenate([np.arange(read), rendered["position"].to_numpy()])
    names = pl.concat([pl.repeat(AS_IS, read, dtype=pl.String, eager=True), rendered["view"]])
    texts, rows = pl.concat([batch.texts["text"], rendered["text"]]), batch.texts["row"].to_numpy()[origins]
    parts = [_hits(np.empty(0, np.int64), np.empty(0, np.int64), EXACT)]
    for first, last in ((0, read), (read, len(texts))):
        own = rows[first:last]
        row_starts = np.flatnonzero(np.append(True, own[1:] != own[:-1])) if len(own) else np.empty(0, np.int64)
        for start, stop in chunk_offsets(texts[first:last], row_starts):
            chunk = slice(first + start, first + stop)
            found = _find_hits(lookup, texts[chunk], rows[chunk], source, threshold, more=bool(views))
            parts += [
                (chunk.start + first_text, chunk.start + last_text, *others) for first_text, last_text, *others in found
            ]
    columns = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    hits = pl.DataFrame(dict(zip(HIT_SCHEMA, columns, strict=True)), HIT_SCHEMA)
    own_names = names.gather(hits["text"])
    hits = hits.with_columns(
        pl.Series("text", origins[hits["text"].to_numpy()]),
        pl.Series("last_text", origins[hits["last_text"].to_numpy()]),
        view=pl.when(pl.col("view") == AS_IS).then(own_names)
        .when(own_names == AS_IS).then("view").otherwise(own_names + "+" + pl.col("view")),
        is_rendered=own_names != AS_IS,
        row=pl.Series(rows[hits["text"].to_numpy()], dtype=pl.Int64),
    )  # fmt: skip
    hits = hits.sort("text", "group", "is_estimated", "kind", "is_rendered", "last_text", "view")
    hits = hits.unique(["text", "group"], keep="first", maintain_order=True)
    is_other = (pl.col("kind") != PASSAGE) | (pl.col("kind").min().over("row", "group") == PASSAGE)
    hits = hits.filter(is_other)  # a passage says nothing new where its row has the text itself
    is_short = pl.Series(lookup.texts["n_words"][hits["group"].to_numpy()] < SHORT_WORDS)
    matches = _list_matches(lookup, batch, hits.filter(~is_short), hits.filter(is_short))
    coverage = [("", "", batch.texts["text"].str.len_bytes().sum())]
    coverage += [(*path, size) for path, size in batch.unread.items()]
    counted = pl.DataFrame(coverage, COVERAGE_SCHEMA, orient="row")
    short = hits.filter(is_short).select("row", "group").unique()
    rows_of_short = short.group_by("group").agg(rows=pl.len().cast(pl.Int64)).sort("group")
    return BatchMatches(matches, rows_of_short, batch.count, read, counted)


def short_texts(lookup: Lookup, counts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """How many rows of the corpus have each short text of the index, from the `short` of all batches.

    Returns the columns dataset, version, config, split, row, column and corpus_rows, in the order of the index.
    """
    total = pl.concat([pl.DataFrame(schema={"group": pl.Int64, "rows": pl.Int64}), *counts])
    total = total.group_by("group").agg(pl.col("rows").sum())
    entries = take_rows(lookup.entries, total["group"].to_numpy())
    order = np.argsort(entries.values, kind="stable")
    frame = describe_entries(lookup, entries.values[order])
    times = np.repeat(total["rows"].to_numpy(), entries.lengths)
    return frame.with_columns(corpus_rows=pl.Series(times[order], dtype=pl.Int64))


def describe_entries(lookup: Lookup, entries: Array) -> pl.DataFrame:
    """The columns dataset, version, config, split, row and column of entries of the index."""
    tables = pl.DataFrame([table.key for table in lookup.index.tables], TABLE_SCHEMA, orient="row")
    names = pl.Series("row", lookup.index.columns["row"].take(pa.array(entries)), dtype=pl.String)
    described: pl.DataFrame = tables[lookup.index.columns["table"][entries].astype(np.uint32)].with_columns(names)
    return described.select("dataset", "version", "config", "split", "row", "column")


def _find_hits(
    lookup: Lookup,
    texts: pl.Series,
    rows: Array,
    source: StoredTexts | None,
    threshold: float,
    *,
    more: bool,
) -> list[tuple[Array, ...]]:
    """The hits of a chunk of texts: of whole texts, near texts, and runs of words.

    more: also of parts, of letters and of passages.
    """
    runs = read_runs(texts)
    whole, whole_groups = find_whole_texts(lookup, texts, runs)
    is_exact, is_folded = compare_whole_texts(lookup, texts, whole, whole_groups)
    is_whole = is_exact | is_folded
    whole, whole_groups = whole[is_whole], whole_groups[is_whole]
    near, near_groups, common = find_near_texts(lookup, runs)
    is_new = ~np.isin(near << 32 | near_groups, whole << 32 | whole_groups)
    near, near_groups, common = near[is_new], near_groups[is_new], common[is_new]
    similarity, is_estimated = compare_near_texts(lookup, texts, near, near_groups, source)
    similarity[is_estimated] = estimate_similarity(common[is_estimated])
    sizes = np.stack([runs.words.counts[near], lookup.texts["n_words"][near_groups]])
    enough = is_near(similarity, is_estimated, common, sizes, threshold)
    row_starts = np.append(np.flatnonzero(np.append(True, rows[1:] != rows[:-1])), len(rows))
    nears = {"similarity": similarity[enough], "is_estimated": is_estimated[enough]}
    hits = [
        _hits(whole, whole_groups, np.where(is_exact, EXACT, FOLDED)[is_whole]),
        _hits(near[enough], near_groups[enough], NEAR, **nears),
        _run_hits(lookup, runs, find_runs(lookup, runs, row_starts), AS_IS),
    ]
    if more:
        hits += [
            _hits(*find_letters(lookup, texts, runs), FOLDED, view=LETTERS),
            _run_hits(lookup, runs, find_parts(lookup, runs, row_starts), PART),
            _passage_hits(lookup, runs, row_starts, source),
        ]
    return hits


def _run_hits(lookup: Lookup, runs: Runs, candidates: Candidates, view: str) -> tuple[Array, ...]:
    is_same = compare_runs(lookup, runs.words, candidates)
    starts, stops, groups = (column[is_same] for column in candidates)
    first, last = _texts_of(runs, starts, stops)
    return _hits(first, groups, CONTAINED, last_text=last, view=view)


def _passage_hits(lookup: Lookup, runs: Runs, row_starts: Array, source: StoredTexts | None) -> tuple[Array, ...]:
    passages = find_passages(lookup, runs, row_starts)
    texts: list[str | None] = [None] * len(passages)
    if source is not None and texts:
        texts = source.texts(lookup.entries.values[lookup.entries.offsets[passages["group"].to_numpy()]]).to_list()
    shares = measure_passages(runs.words, passages, texts)
    is_estimated = np.array([text is None for text in texts], np.bool_)
    enough = (shares >= SHARE) & (~is_estimated | (passages["seeds"].to_numpy() >= MIN_ESTIMATED_SEEDS))
    found = passages.filter(enough)
    first, last = _texts_of(runs, found["first"].to_numpy(), found["last"].to_numpy())
    measures = {"similarity": shares[enough], "is_estimated": is_estimated[enough]}
    views = np.where(found["is_cut"].to_numpy(), CUT, AS_IS)
    return _hits(first, found["group"].to_numpy(), PASSAGE, last_text=last, view=views, **measures)


def _texts_of(runs: Runs, starts: Array, stops: Array) -> tuple[Array, Array]:
    """The texts in which runs of words begin and end."""
    first_words = runs.words.first_words
    return np.searchsorted(first_words, starts, "right") - 1, np.searchsorted(first_words, stops - 1, "right") - 1


def _hits(texts: Array, groups: Array, kind: Array | int, **columns: Any) -> tuple[Array, ...]:
    """The columns of HIT_SCHEMA. columns: those that are not as for a whole text that is the same."""
    usual = {"last_text": texts, "kind": kind, "similarity": 1.0, "is_estimated": False, "view": AS_IS}
    values = {"text": texts, "group": groups} | usual | columns
    return tuple(np.broadcast_to(values[name], len(texts)) for name in HIT_SCHEMA)


def _list_matches(lookup: Lookup, batch: TextBatch, long: pl.DataFrame, short: pl.DataFrame) -> pl.DataFrame:
    """The matches of a batch: all hits of texts that are not short, and those of short texts that are part of a whole unit."""
    rows, groups, texts = pl.concat([long, short]).select("row", "group", "text").to_numpy().T
    units = find_units(lookup, rows, groups, texts)
    entries = take_rows(lookup.entries, long["group"].to_numpy())
    of_long = long[np.repeat(np.arange(len(long)), entries.lengths)]
    of_long = of_long.with_columns(entry=pl.Series(entries.values, dtype=pl.Int64))
    of_long = of_long.join(units, on=["row", "entry"], how="left").with_columns(pl.col("unit").fill_null(TEXT))
    groups_of_units = pl.Series("group", lookup.group_of_entry[units["entry"].to_numpy()], dtype=pl.Int64)
    of_short = units.with_columns(groups_of_units).join(short, on=["row", "group"])
    listed = pl.concat([of_long, of_short.select(of_long.columns)])
    entries_listed = listed["entry"].to_numpy()
    labelled = has_label(lookup, batch.labels, listed["row"].to_numpy(), entries_listed)
    names = [
        NAMES[unit, bool(is_labelled)]
        for unit, is_labelled in zip(listed["unit"].to_list(), labelled.tolist(), strict=True)
    ]
    columns = batch.texts["column"]
    first, last = columns.gather(listed["text"]), columns.gather(listed["last_text"])
    joined = first.zip_with(listed["text"] == listed["last_text"], first + JOINED + last)
    matches = describe_entries(lookup, entries_listed).with_columns(
        pl.lit(batch.file).alias("corpus_file"),
        listed["row"].alias("corpus_row"),
        joined.alias("corpus_column"),
        pl.Series("kind", [KINDS[kind] for kind in listed["kind"].to_list()], dtype=pl.String),
        listed["similarity"],
        listed["is_estimated"],
        pl.Series("unit", names, dtype=pl.String),
        listed["view"],
    )
    return matches.select(*MATCH_SCHEMA).sort(*ORDER)
