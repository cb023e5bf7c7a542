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

import numpy as np
import polars as pl
import pyarrow as pa

from builders.shaping.folding import fold_texts, hash_texts
from pipelines.audit.copies.near_duplicates import (
    BANDS,
    EXACT_ROWS,
    MIN_COMMON_BANDS,
    ROWS_PER_BAND,
    count_shared,
    exact_shingles,
)
from pipelines.audit.copies.shingles import Array, combine_kinds, expand_ranges, take_rows
from pipelines.checking.batches import TextBatch
from pipelines.decontamination.candidates import (
    MIN_ESTIMATED_SEEDS,
    SHARE,
    find_near_texts,
    find_passages,
    find_runs,
    find_whole_texts,
    measure_passages,
    run_texts,
)
from pipelines.decontamination.fingerprints import (
    ANCHOR_WORDS,
    SHORT_WORDS,
    Runs,
    chunk_offsets,
    read_runs,
    without_spaces,
    words_of,
)
from pipelines.decontamination.index_file import PAIR, POSITIVE, Lookup
from pipelines.decontamination.indexing import StoredTexts, available_texts, hash_labels
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


def candidate_recall(threshold: float) -> float:
    """The share of texts of exactly this similarity that are proposed, so that they can be compared at all."""
    agree: float = threshold**ROWS_PER_BAND
    return 1 - (1 - agree) ** BANDS - BANDS * agree * (1 - agree) ** (BANDS - 1)


def measure_similarity(ones: pl.Series, others: pl.Series) -> pl.Series:
    """The Jaccard similarity of pairs of texts, as near-duplicates have it; 0 where one has words and the other letters."""
    parts = [np.empty(0)]
    for pairs in pl.DataFrame({"one": ones, "other": others}).iter_slices(EXACT_ROWS):
        similarity = np.zeros(len(pairs))
        words, letters = zip(*(exact_shingles(fold_texts(texts), salt=0)[1] for texts in pairs), strict=True)
        for sides in (letters, words):  # words where both are long, so they come last
            rows, _, (one, other) = next(combine_kinds([[side] for side in sides], len(pairs)))
            shared = count_shared(one, other)
            similarity[rows] = shared / (one.lengths + other.lengths - shared)
        parts.append(similarity)
    return pl.Series("similarity", np.concatenate(parts))


TEXT = 0
UNITS = {TEXT: "text", PAIR: "pair", POSITIVE: "query with positive"}  # with the label of the row too: `labelled text`


def find_units(lookup: Lookup, hits: pl.DataFrame) -> pl.DataFrame:
    """The entries that are part of a whole unit in a row of the corpus.

    hits: for each the row of the corpus, the group of equal texts of the index, and the text of the corpus. A unit of two equal
    texts needs two texts of the corpus. Returns the columns row, entry, group and unit (PAIR or POSITIVE), without repeats of
    row and entry.
    """
    found = hits.group_by("row", "group").agg(texts=pl.col("text").n_unique())
    groups = found["group"].to_numpy()
    pairs = expand_ranges(lookup.first_pairs[groups], lookup.first_pairs[groups + 1])
    linked = found[np.repeat(np.arange(len(found)), pairs.lengths)].hstack(lookup.pairs[pairs.values])
    whole = linked.join(found, left_on=["row", "partner"], right_on=["row", "group"])
    whole = whole.filter((pl.col("partner") != pl.col("group")) | (pl.col("texts") > 1)).explode("one", "other", "unit")
    sides = [whole.select("row", "unit", entry=one, group=group) for one, group in SIDES]
    return pl.concat(sides).group_by("row", "entry", "group").agg(pl.col("unit").min())


SIDES = (("one", "group"), ("other", "partner"))  # of Lookup.pairs
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
FOUND_SCHEMA = MATCH_SCHEMA | {"entry": pl.Int64}  # the position of the text in the index
ORDER = list(MATCH_SCHEMA)[:11]
TABLE_SCHEMA = {name: MATCH_SCHEMA[name] for name in ("dataset", "version", "config", "split", "column")}
JOINED = "+"  # between the names of two fields in which a run of words is


COVERAGE_SCHEMA = {"column": pl.String, "reason": pl.String, "bytes": pl.Int64}


@dataclass(frozen=True)
class BatchMatches:
    """What a scan finds in a batch.

    matches: with the columns of FOUND_SCHEMA, sorted by the first eleven. is_estimated: whether the similarity is estimated,
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
    parts = [pl.DataFrame(schema=HIT_SCHEMA)]
    for start, stop in chunk_offsets(read["text"], block_starts):
        found = _find_hits(lookup, read["text"][start:stop], blocks[start:stop], source, threshold, more=bool(views))
        parts.append(found.with_columns(pl.col("text", "last_text") + start))
    hits = pl.concat(parts)
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
) -> pl.DataFrame:
    """The hits of a chunk of texts: of whole texts, near texts, and runs of words.

    more: also of parts, of letters and of passages.
    """
    runs = read_runs(texts)
    row_starts = np.append(np.flatnonzero(np.append(True, rows[1:] != rows[:-1])), len(rows))
    whole = _whole_hits(lookup, texts, runs)
    near = find_near_texts(lookup, runs).join(whole, on=["text", "group"], how="anti")
    places = [
        _contained(lookup, runs, row_starts, parts=more),
        *([_passages(lookup, runs, row_starts, source)] if more else []),
    ]
    inside, first_words = pl.concat(places, how="diagonal_relaxed"), runs.words.first_words
    inside = inside.with_columns(
        text=np.searchsorted(first_words, inside["start"], "right") - 1,
        last_text=np.searchsorted(first_words, inside["stop"] - 1, "right") - 1,
    )
    hits = [whole, _near_hits(lookup, texts, near, source, threshold), inside]
    hits += [_letter_hits(lookup, texts, runs)] if more else []
    found = pl.concat(hits, how="diagonal_relaxed").with_columns(  # of a whole text that is the same
        pl.col("last_text").fill_null(pl.col("text")),
        pl.col("similarity").fill_null(1.0),
        pl.col("is_estimated").fill_null(value=False),
        pl.col("view").fill_null(AS_IS),
    )
    return found.select(*HIT_SCHEMA).cast(pl.Schema(HIT_SCHEMA))


def _whole_hits(lookup: Lookup, texts: pl.Series, runs: Runs) -> pl.DataFrame:
    found, groups = find_whole_texts(lookup, texts, runs)
    is_exact = hash_each(texts, found) == lookup.texts["exact"][groups]
    is_folded = hash_each(texts, found, fold_texts) == lookup.texts["folded"][groups]
    hits = pl.DataFrame({"text": found, "group": groups, "kind": np.where(is_exact, EXACT, FOLDED)})
    return hits.filter(is_exact | is_folded)


def _letter_hits(lookup: Lookup, texts: pl.Series, runs: Runs) -> pl.DataFrame:
    """Texts that have the same letters and digits, however they are divided into words."""
    found, groups = lookup.letters.find(runs.letters())
    hashes = hash_each(texts, found, lambda chosen: without_spaces(words_of(fold_texts(chosen))))
    hits = pl.DataFrame({"text": found, "group": groups}).with_columns(kind=FOLDED, view=pl.lit(LETTERS))
    return hits.filter(hashes == lookup.texts["letters"][groups])


def _near_hits(
    lookup: Lookup, texts: pl.Series, near: pl.DataFrame, source: StoredTexts | None, threshold: float
) -> pl.DataFrame:
    """The near-duplicates among candidates, see find_near_texts.

    Of estimated ones, those that agree in fewer bands than texts of this similarity do on average are none, nor those whose
    numbers of words differ too much.
    """
    groups = near["group"].unique()
    given = pl.DataFrame({"group": groups, "given": available_texts(source, lookup.first_entries(groups))})
    near = near.join(given, on="group", maintain_order="left").with_columns(is_estimated=pl.col("given").is_null())
    known, estimated = near.filter(~pl.col("is_estimated")), near.filter("is_estimated")
    known = known.with_columns(similarity=measure_similarity(texts.gather(known["text"]), known["given"]))
    known = known.filter((pl.col("similarity") * SCALE).round() >= round(threshold * SCALE))
    # The similarity at which texts are expected to agree in so many bands.
    estimated = estimated.with_columns(similarity=(estimated["common"].to_numpy() / BANDS) ** (1 / ROWS_PER_BAND))
    sizes = np.stack([estimated["n_words"], lookup.texts["n_words"][estimated["group"]]])
    alike = sizes.min(axis=0) >= threshold * SIZE_MARGIN * sizes.max(axis=0)
    needed = max(round(BANDS * threshold**ROWS_PER_BAND), MIN_COMMON_BANDS)
    found = pl.concat([known, estimated.filter(alike, pl.col("common") >= needed)])
    return found.select("text", "group", "similarity", "is_estimated", kind=NEAR)


def _contained(lookup: Lookup, runs: Runs, row_starts: Array, *, parts: bool) -> pl.DataFrame:
    """The runs of words that, folded, are the words of the text of their group."""
    starts, stops, groups = find_runs(lookup, runs, row_starts, parts=parts)
    places, inverse = np.unique(starts << 32 | stops, return_inverse=True)
    folded = fold_texts(run_texts(runs.words, places >> 32, places & 0xFFFFFFFF))
    is_same = hash_texts(words_of(folded))[inverse] == lookup.texts["words"][groups]
    found = pl.DataFrame({"start": starts, "stop": stops, "group": groups}).filter(is_same)
    is_part = pl.col("stop") - pl.col("start") < ANCHOR_WORDS
    return found.with_columns(kind=CONTAINED, view=pl.when(is_part).then(pl.lit(PART)).otherwise(pl.lit(AS_IS)))


def _passages(lookup: Lookup, runs: Runs, row_starts: Array, source: StoredTexts | None) -> pl.DataFrame:
    passages = find_passages(lookup, runs, row_starts)
    texts = available_texts(source, lookup.first_entries(passages["group"]))
    found = passages.select(
        "group",
        "seeds",
        start="first",
        stop="last",
        kind=PASSAGE,
        similarity=measure_passages(runs.words, passages, texts.to_list()),
        is_estimated=texts.is_null(),
        view=pl.when("is_cut").then(pl.lit(CUT)).otherwise(pl.lit(AS_IS)),
    )
    is_enough = ~pl.col("is_estimated") | (pl.col("seeds") >= MIN_ESTIMATED_SEEDS)
    return found.filter(pl.col("similarity") >= SHARE, is_enough)


def _list_matches(lookup: Lookup, batch: TextBatch, hits: pl.DataFrame) -> pl.DataFrame:
    """The matches of a batch: all hits of texts that are not short, and those of short texts that are part of a whole unit."""
    units, long = find_units(lookup, hits), hits.filter(~pl.col("is_short"))
    entries = take_rows(lookup.entries, long["group"].to_numpy())
    of_long = long[np.repeat(np.arange(len(long)), entries.lengths)].with_columns(entry=entries.values)
    of_long = of_long.join(units.drop("group"), on=["row", "entry"], how="left").with_columns(
        pl.col("unit").fill_null(TEXT)
    )
    of_short = units.join(hits.filter("is_short"), on=["row", "group"])
    listed = pl.concat([of_long, of_short.select(of_long.columns)])
    labels = batch.labels.select("row", label=hash_labels(batch.labels["label"]))
    label = listed.join(labels, on="row", how="left", maintain_order="left")["label"].fill_null(0)
    at, known = listed["entry"].to_numpy(), lookup.index.columns
    is_labelled = (label != 0) & ((label == known["label"][at]) | (label == known["label_name"][at]))
    unit = listed["unit"].replace_strict(UNITS, return_dtype=pl.String)
    first, last = (batch.texts["column"].gather(listed[name]) for name in ("text", "last_text"))
    matches = describe_entries(lookup, at).with_columns(
        listed["similarity", "is_estimated", "view", "entry"].get_columns(),
        corpus_file=pl.lit(batch.file),
        corpus_row=listed["row"],
        corpus_column=first.zip_with(listed["text"] == listed["last_text"], first + JOINED + last),
        kind=listed["kind"].replace_strict(dict(enumerate(KINDS)), return_dtype=pl.String),
        unit=unit.zip_with(~is_labelled | (listed["unit"] == POSITIVE), "labelled " + unit),
    )
    return matches.select(*FOUND_SCHEMA).sort(*ORDER)
