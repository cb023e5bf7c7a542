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

from collections.abc import Callable, Iterable
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
from pipelines.audit.copies.shingles import Array, Ragged, expand_ranges, offsets_from_lengths, take_rows
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
    read_runs,
    without_spaces,
    words_of,
)
from pipelines.decontamination.index_file import PAIR, POSITIVE, Lookup
from pipelines.decontamination.indexing import StoredTexts, hash_labels
from pipelines.decontamination.views import render_views

SIZE_MARGIN = (
    0.8  # similar texts have similar numbers of different shingles, and so of words, unless they repeat themselves
)
SCALE = 1_000_000  # similarities are compared as whole numbers of this part


def hash_each(texts: pl.Series, rows: Array, read: Callable[[pl.Series], pl.Series] = pl.Series) -> Array:
    """The hash of the text at each of `rows`, as `read` makes it of a text; once for each."""
    different, inverse = np.unique(rows, return_inverse=True)
    hashes: Array = hash_texts(read(texts.gather(different)))[inverse]
    return hashes


def find_letters(lookup: Lookup, texts: pl.Series, runs: Runs) -> tuple[Array, Array]:
    """Texts, and groups that have the same letters and digits, however they are divided into words."""
    found, groups = lookup.letters.find(runs.letters())
    hashes = hash_each(texts, found, lambda chosen: without_spaces(words_of(fold_texts(chosen))))
    is_same = hashes == lookup.texts["letters"][groups]
    return found[is_same], groups[is_same]


def compare_near_texts(
    lookup: Lookup, texts: pl.Series, rows: Array, groups: Array, source: StoredTexts | None
) -> tuple[Array, Array]:
    """The similarity of the text at each of `rows` and that of the group, and whether it is still to be estimated.

    source: the available texts of the index, if any.
    """
    if source is None or not len(rows):
        return np.zeros(len(rows)), np.ones(len(rows), np.bool_)
    own, one_rows = np.unique(rows, return_inverse=True)
    different, other_rows = np.unique(groups, return_inverse=True)
    given = source.texts(lookup.entries.values[lookup.entries.offsets[different]])
    similarity = measure_similarity(texts.gather(own), given.fill_null(""), one_rows, other_rows)
    return similarity, given.is_null().to_numpy()[other_rows]


def candidate_recall(threshold: float) -> float:
    """The share of texts of exactly this similarity that are proposed, so that they can be compared at all."""
    agree: float = threshold**ROWS_PER_BAND
    return 1 - (1 - agree) ** BANDS - BANDS * agree * (1 - agree) ** (BANDS - 1)


def is_near(similarity: Array, is_estimated: Array, common: Array, sizes: Array, threshold: float) -> Array:
    """Which candidates are near-duplicates.

    common: in how many bands they agree. sizes: the numbers of words of both, in two rows. Of estimated ones, those that agree in
    fewer bands than texts of this similarity do on average are none, nor those whose sizes differ too much.
    """
    enough = np.round(similarity * SCALE) >= round(threshold * SCALE)
    needed = max(round(BANDS * threshold**ROWS_PER_BAND), MIN_COMMON_BANDS)
    alike = sizes.min(axis=0) >= threshold * SIZE_MARGIN * sizes.max(axis=0)
    near: Array = np.where(is_estimated, (common >= needed) & alike, enough)
    return near


def measure_similarity(ones: pl.Series, others: pl.Series, one_rows: Array, other_rows: Array) -> Array:
    """The Jaccard similarity of pairs of texts, as near-duplicates have it; 0 where one has words and the other letters.

    one_rows, other_rows: for each pair, the position of its texts.
    """
    (is_long, own), (is_other_long, theirs) = _shingle_texts(ones), _shingle_texts(others)
    similarity = np.zeros(len(one_rows))
    both_long = is_long[one_rows] & is_other_long[other_rows]
    for is_compared, one, other in zip((both_long, ~both_long), own, theirs, strict=True):
        pairs = np.flatnonzero(is_compared)
        for start in range(0, len(pairs), COMPARED_PAIRS):
            chosen = pairs[start : start + COMPARED_PAIRS]
            left, right = take_rows(one, one_rows[chosen]), take_rows(other, other_rows[chosen])
            shared = count_shared(left, right)
            similarity[chosen] = shared / (left.lengths + right.lengths - shared).clip(min=1)
    return similarity


def _shingle_texts(texts: pl.Series) -> tuple[Array, list[Ragged]]:
    """Which texts are long; and the shingles of each text, of words, then of letters, none where it has no such shingles."""
    folded = fold_texts(texts)
    starts = range(0, max(len(folded), 1), EXACT_ROWS)
    parts = [exact_shingles(folded[start : start + EXACT_ROWS], 0) for start in starts]
    is_long, kinds = np.concatenate([long for long, _ in parts]), list[Ragged]()
    for kind in (0, 1):
        lengths = np.zeros(len(folded), np.int64)
        for start, (_, shingled) in zip(starts, parts, strict=True):
            lengths[start + shingled[kind][0]] = shingled[kind][1].lengths
        values = np.concatenate([shingled[kind][1].values for _, shingled in parts])
        kinds.append(Ragged(values, offsets_from_lengths(lengths)))
    return is_long, kinds


TEXT = 0
UNITS = {TEXT: "text", PAIR: "pair", POSITIVE: "query with positive"}  # with the label of the row too: `labelled text`


def find_units(lookup: Lookup, hits: pl.DataFrame) -> pl.DataFrame:
    """The entries that are part of a whole unit in a row of the corpus.

    hits: for each the row of the corpus, the group of equal texts of the index, and the text of the corpus. A unit of two equal
    texts needs two texts of the corpus. Returns the columns row, entry and unit (PAIR or POSITIVE), sorted, without repeats of
    row and entry.
    """
    found = hits.group_by("row", "group").agg(texts=pl.col("text").n_unique())
    groups = found["group"].to_numpy()
    pairs = expand_ranges(lookup.first_pairs[groups], lookup.first_pairs[groups + 1])
    linked = found[np.repeat(np.arange(len(found)), pairs.lengths)].hstack(lookup.pairs[pairs.values])
    whole = linked.join(found, left_on=["row", "partner"], right_on=["row", "group"])
    whole = whole.filter((pl.col("partner") != pl.col("group")) | (pl.col("texts") > 1))
    links = expand_ranges(whole["start"].to_numpy(), whole["stop"].to_numpy())
    units = lookup.links[links.values].with_columns(
        row=whole["row"].to_numpy()[np.repeat(np.arange(len(whole)), links.lengths)]
    )
    units = pl.concat([units.select("row", "unit", entry=side) for side in ("one", "other")])
    return units.sort("row", "entry", "unit").unique(["row", "entry"], keep="first", maintain_order=True)


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
    own = batch.texts.select("row", "text", view=pl.lit(AS_IS)).with_row_index("origin")
    rendered = render_views(own["text"], views)
    read = pl.concat([own, own[rendered["position"]].with_columns(rendered["text"], rendered["view"])])
    # The texts of a row are searched together, and apart from those that views make of them.
    blocks = 2 * read["row"].to_numpy() + (np.arange(len(read)) >= len(own))
    block_starts = np.flatnonzero(np.append(True, blocks[1:] != blocks[:-1])[: len(blocks)])
    parts = [_hits(np.empty(0, np.int64), np.empty(0, np.int64), EXACT)]
    for start, stop in chunk_offsets(read["text"], block_starts):
        found = _find_hits(lookup, read["text"][start:stop], blocks[start:stop], source, threshold, more=bool(views))
        parts += [(start + first_text, start + last_text, *others) for first_text, last_text, *others in found]
    columns = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    hits = pl.DataFrame(dict(zip(HIT_SCHEMA, columns, strict=True)), HIT_SCHEMA)
    texts = read[hits["text"]]
    is_rendered = texts["view"] != AS_IS
    hits = hits.with_columns(
        texts["row"], text=texts["origin"].cast(pl.Int64), last_text=read["origin"].gather(hits["last_text"]).cast(pl.Int64),
        is_rendered=is_rendered, is_short=lookup.texts["n_words"][hits["group"].to_numpy()] < SHORT_WORDS,
        view=pl.when(pl.col("view") == AS_IS).then(texts["view"])
        .when(~is_rendered).then("view").otherwise(texts["view"] + "+" + pl.col("view")),
    )  # fmt: skip
    hits = hits.sort("text", "group", "is_estimated", "kind", "is_rendered", "last_text", "view")
    hits = hits.unique(["text", "group"], keep="first", maintain_order=True)
    is_other = (pl.col("kind") != PASSAGE) | (pl.col("kind").min().over("row", "group") == PASSAGE)
    hits = hits.filter(is_other)  # a passage says nothing new where its row has the text itself
    short = hits.filter("is_short").select("row", "group").unique()
    coverage = [("", "", batch.texts["text"].str.len_bytes().sum())]
    coverage += [(*path, size) for path, size in batch.unread.items()]
    return BatchMatches(
        _list_matches(lookup, batch, hits),
        short.group_by("group").agg(rows=pl.len().cast(pl.Int64)).sort("group"),
        batch.count,
        len(own),
        pl.DataFrame(coverage, COVERAGE_SCHEMA, orient="row"),
    )


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
    is_exact = hash_each(texts, whole) == lookup.texts["exact"][whole_groups]
    is_whole = is_exact | (hash_each(texts, whole, fold_texts) == lookup.texts["folded"][whole_groups])
    whole, whole_groups = whole[is_whole], whole_groups[is_whole]
    near, near_groups, common = find_near_texts(lookup, runs)
    is_new = ~np.isin(near << 32 | near_groups, whole << 32 | whole_groups)
    near, near_groups, common = near[is_new], near_groups[is_new], common[is_new]
    similarity, is_estimated = compare_near_texts(lookup, texts, near, near_groups, source)
    # The similarity at which texts are expected to agree in so many bands.
    similarity = np.where(is_estimated, (common / BANDS) ** (1 / ROWS_PER_BAND), similarity)
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
    """The runs of words that, folded, are the words of the text of their group."""
    starts, stops, groups = candidates
    if not len(starts):
        return _hits(starts, groups, CONTAINED)
    places, inverse = np.unique(starts << 32 | stops, return_inverse=True)
    folded = fold_texts(run_texts(runs.words, places >> 32, places & 0xFFFFFFFF))
    is_same = hash_texts(words_of(folded))[inverse] == lookup.texts["words"][groups]
    first, last = _texts_of(runs, starts[is_same], stops[is_same])
    return _hits(first, groups[is_same], CONTAINED, last_text=last, view=view)


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


def _list_matches(lookup: Lookup, batch: TextBatch, hits: pl.DataFrame) -> pl.DataFrame:
    """The matches of a batch: all hits of texts that are not short, and those of short texts that are part of a whole unit."""
    units, long = find_units(lookup, hits), hits.filter(~pl.col("is_short"))
    entries = take_rows(lookup.entries, long["group"].to_numpy())
    of_long = long[np.repeat(np.arange(len(long)), entries.lengths)].with_columns(entry=entries.values)
    of_long = of_long.join(units, on=["row", "entry"], how="left").with_columns(pl.col("unit").fill_null(TEXT))
    groups = pl.Series("group", lookup.group_of_entry[units["entry"].to_numpy()], dtype=pl.Int64)
    of_short = units.with_columns(groups).join(hits.filter("is_short"), on=["row", "group"])
    listed = pl.concat([of_long, of_short.select(of_long.columns)])
    labels = batch.labels.select("row", label=hash_labels(batch.labels["label"]))
    label = listed.join(labels, on="row", how="left", maintain_order="left")["label"].fill_null(0)
    at, known = listed["entry"].to_numpy(), lookup.index.columns
    is_labelled = (label != 0) & ((label == known["label"][at]) | (label == known["label_name"][at]))
    unit = listed["unit"].replace_strict(UNITS, return_dtype=pl.String)
    first, last = (batch.texts["column"].gather(listed[name]) for name in ("text", "last_text"))
    matches = describe_entries(lookup, at).with_columns(
        listed["similarity", "is_estimated", "view"].get_columns(),
        corpus_file=pl.lit(batch.file),
        corpus_row=listed["row"],
        corpus_column=first.zip_with(listed["text"] == listed["last_text"], first + JOINED + last),
        kind=listed["kind"].replace_strict(dict(enumerate(KINDS)), return_dtype=pl.String),
        unit=unit.zip_with(~is_labelled | (listed["unit"] == POSITIVE), "labelled " + unit),
    )
    return matches.select(*MATCH_SCHEMA).sort(*ORDER)
