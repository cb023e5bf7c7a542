"""Texts of an index that a chunk of a corpus may have, by their rough numbers; matching.py compares them.

Whole texts, runs of words and near-duplicates come first, then passages: texts that a row of a corpus has with some of their
words changed, inside a longer text, or cut.

Every run of SEED_WORDS words of a corpus is looked up among the seeds of the index. Seeds of one text that follow each other in
a row as they do in the text, and so begin at about the same distance from where it would begin, make a passage:

    text     the seeds begin at its words   0    1    3    6    9   13   18
    row      and are found at               41   42             51   55   60     its words 50 to 52 were changed, one was inserted
    start of the text in the row            41   41             42   42   42     so it is at the words 41 to 65

A passage is a match if a place of the row has SHARE or more of the text's runs of RUN_WORDS words. Where the text is not
available, the share is estimated from the seeds. A seed of many texts says little about each of them: seeds are weighed
(weigh_seeds), so that a notice that all pages of a site have makes no match of two pages.

A corpus may have the beginning of a text alone: a text of the corpus that is one is cut, and compared with the text in turn.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from builders.shaping.folding import fold_texts, hash_texts
from pipelines.audit.copies.near_duplicates import BANDS, MIN_COMMON_BANDS
from pipelines.audit.copies.shingles import Array, Words, take_slices
from pipelines.decontamination.fingerprints import (
    ANCHOR_WORDS,
    PASSAGE_WORDS,
    SEED_WORDS,
    SHORT_WORDS,
    Runs,
    compute_bands,
    rough_without_words,
    seed_positions,
)
from pipelines.decontamination.index_file import MAX_OWNERS, Lookup, weigh_seeds

EXPANDED_SETS = 1 << 21  # texts of the index with a common band, counted at a time
# The texts of a template are all near-duplicates of each other; a text of the corpus is reported with so many of them at most.
MAX_NEAR_TEXTS = 100


def find_whole_texts(lookup: Lookup, texts: pl.Series, runs: Runs) -> tuple[Array, Array]:
    """Texts, and groups whose folded text may be the same."""
    starts, stops = runs.words.first_words[:-1], runs.words.first_words[1:]
    numbers = runs.numbers(starts, stops)
    if len(without_words := np.flatnonzero(starts == stops)):
        folded = pl.Series(hash_texts(fold_texts(texts.gather(without_words))))
        numbers[without_words] = pl.select(rough_without_words(pl.lit(folded))).to_series().to_numpy()
    return lookup.rough.find(numbers)


def find_runs(lookup: Lookup, runs: Runs, row_starts: Array, *, parts: bool) -> tuple[Array, Array, Array]:
    """The runs of words within one row of the corpus that may be all words of a text of the index: the words at which they start,
    and before which they stop, and the groups.

    A run of ANCHOR_WORDS words or more may go from a text of a row into the next one. parts: also shorter ones, see _find_parts.
    row_starts: the first text of each row, and the number of texts.
    """
    row_ends = runs.words.first_words[row_starts[1:]]
    proposed = [lookup.anchors.find(runs.all_runs(ANCHOR_WORDS)), *([_find_parts(runs.words)] if parts else [])]
    starts, sizes = (np.concatenate(side) for side in zip(*proposed, strict=True))
    fits = starts + sizes <= row_ends[np.searchsorted(row_ends, starts, "right")]
    starts, stops = starts[fits], (starts + sizes)[fits]
    found, groups = lookup.rough.find(runs.numbers(starts, stops))
    is_same = lookup.texts["n_words"][groups] == (stops - starts)[found]
    return starts[found][is_same], stops[found][is_same], groups[is_same]


PART_ENDS = bytes(byte in b'\n\t:;="[]{}<>|#' for byte in range(256))  # what a prefix or a template has beside a text


def _find_parts(words: Words) -> tuple[Array, Array]:
    """The runs between two PART_ENDS that may be a text of SHORT_WORDS words or more without an anchor: starts and sizes."""
    ends = np.flatnonzero(np.frombuffer(words.text_bytes.tobytes().translate(PART_ENDS), np.uint8))
    is_end = np.zeros(len(words.starts) + 1, np.bool_)
    is_end[np.searchsorted(words.starts, np.append(ends, 0))] = True
    sizes = range(SHORT_WORDS, ANCHOR_WORDS)
    parts = [np.flatnonzero(is_end[:-size] & is_end[size:]) for size in sizes]
    return np.concatenate(parts), np.repeat(sizes, [len(part) for part in parts])


def find_near_texts(lookup: Lookup, runs: Runs) -> pl.DataFrame:
    """Texts, groups that agree with them in MIN_COMMON_BANDS bands or more, and in how many; the MAX_NEAR_TEXTS best of each.

    Of sets that agree in as many bands those that come first are the best. Columns: text, n_words (of it), group, common.
    """
    texts, bands = compute_bands(runs.words)
    may_have = np.stack([numbers.may_have(band) for numbers, band in zip(lookup.bands, bands.T, strict=True)])
    rows = np.flatnonzero(may_have.sum(axis=0) >= MIN_COMMON_BANDS)
    starts, stops = np.zeros((2, BANDS, len(rows)), np.int64)
    for band, numbers in enumerate(lookup.bands):
        searched = np.flatnonzero(may_have[band, rows])
        starts[band, searched], stops[band, searched] = numbers.ranges(bands[rows[searched], band])
    is_enough = (stops > starts).sum(axis=0) >= MIN_COMMON_BANDS
    rows, starts, stops = rows[is_enough], starts[:, is_enough], stops[:, is_enough]
    part_of_row = np.cumsum((stops - starts).sum(axis=0)) // EXPANDED_SETS
    parts = []
    for part in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(part_of_row)) + 1):
        owners = [
            take_slices(lookup.bands[band].owners, starts[band, part], stops[band, part]) for band in range(BANDS)
        ]
        of_rows = np.concatenate([np.repeat(rows[part], of_band.lengths) for of_band in owners])
        sets = pl.DataFrame({"row": of_rows, "set": np.concatenate([of_band.values for of_band in owners])})
        common = sets.group_by("row", "set").agg(common=pl.len()).filter(pl.col("common") >= MIN_COMMON_BANDS)
        best = common.sort("row", -pl.col("common").cast(pl.Int64), "set")
        parts.append(best.group_by("row", maintain_order=True).head(MAX_NEAR_TEXTS))
    near = pl.concat(parts)
    near = near.with_columns(text=texts[near["row"]], group=lookup.group_of_set[near["set"]])
    near = near.group_by("text", "group").agg(pl.col("common").max())
    return near.with_columns(n_words=runs.words.counts[near["text"]])


SHARE = 0.6  # of the runs of RUN_WORDS words, from which a passage is a match
RUN_WORDS = 3
MIN_SEEDS, MIN_ESTIMATED_SEEDS = 2, 3
MIN_COVERED = 0.1  # of a text, by its seeds, from which it is compared
MAX_SHIFT = 8  # words that may be inserted or left out between two seeds
CUT_WORDS, CUT_SHARE = (
    40,
    0.9,
)  # a text that is cut has so many words, or half of the whole, and less than this share of it
MARGIN = 3  # words before and behind
FRACTION = 1 << 40  # weights are added as whole numbers of this part of a word, so that their order does not matter


def find_passages(lookup: Lookup, runs: Runs, row_starts: Array) -> pl.DataFrame:
    """Where rows of a corpus may have texts of the index, at most one place for each row and group.

    Columns: start, stop (the words from `start` to before `stop`), group; share: the estimated share of the runs that both have;
    rarity: how rare the seeds that were found are beside those of the whole text, from 0 to 1: shares are multiplied by it;
    seeds: how many were found, from the word `first` to before `last`; is_cut: whether the words are those of a whole text of the
    corpus, which may be the beginning of the text of the index. row_starts: as `find_runs` takes them.
    """
    first_words = runs.words.first_words
    row_words = first_words[row_starts]
    found = _find_seeds(lookup, runs.all_runs(SEED_WORDS), row_words)
    jump = (pl.col("start").diff() > MAX_SHIFT) | (pl.col("row").diff() != 0) | (pl.col("group").diff() != 0)
    clusters = found.sort("row", "group", "start", "seed").with_columns(cluster=jump.cum_sum().fill_null(0))
    clusters = clusters.unique(["cluster", "seed"], keep="first", maintain_order=True)
    clusters = clusters.group_by("cluster", maintain_order=True).agg(
        pl.col("row", "group").first(), pl.col("start").min(), end=pl.col("start").max(),
        covered=pl.col("covered").sum(), weight=pl.col("weight").sum() / FRACTION, seeds=pl.len(),
        first=pl.col("position").min(), last=pl.col("position").max() + SEED_WORDS,
    )  # fmt: skip
    clusters = clusters.filter(pl.col("seeds") >= MIN_SEEDS).sort("row", "group", -pl.col("covered"), "start")
    clusters = clusters.unique(["row", "group"], keep="first", maintain_order=True)
    rows, groups, starts, ends = clusters.select("row", "group", "start", "end").to_numpy().T.astype(np.int64)
    covered, weight = clusters.select("covered", "weight").to_numpy().T
    sizes = lookup.texts["n_words"][groups].astype(np.int64)
    rarity = (weight / lookup.seed_weights[groups] / (covered / (sizes - SEED_WORDS))).clip(max=1)
    stops = np.minimum(ends + sizes + MARGIN, row_words[rows + 1])
    starts = np.maximum(starts - MARGIN, row_words[rows])
    fields = np.searchsorted(first_words, starts + 2 * MARGIN, "right") - 1
    begins, field_sizes = first_words[fields], first_words[fields + 1] - first_words[fields]
    is_cut = (np.abs(starts - begins) <= MARGIN) & (field_sizes >= np.minimum(sizes // 2, CUT_WORDS))
    is_cut &= (field_sizes >= PASSAGE_WORDS) & (field_sizes < CUT_SHARE * sizes)
    shares = (covered / np.where(is_cut, (field_sizes - SEED_WORDS).clip(min=1), sizes - SEED_WORDS)).clip(max=1)
    columns = {
        "start": np.where(is_cut, begins, starts),
        "stop": np.where(is_cut, begins + field_sizes, stops),
        "group": groups,
        "share": shares ** (RUN_WORDS / SEED_WORDS) * rarity,
        "rarity": rarity,
        **{name: clusters[name].to_numpy() for name in ("seeds", "first", "last")},
        "is_cut": is_cut,
    }
    kept = shares * rarity >= MIN_COVERED
    return pl.DataFrame({name: column[kept] for name, column in columns.items()})


def _find_seeds(lookup: Lookup, numbers: Array, row_words: Array) -> pl.DataFrame:
    """The seeds in a chunk: row, group, start (the word at which the text would begin), seed, position (its first word), covered
    (words), weight (FRACTION for a word).
    """
    positions = np.flatnonzero(lookup.seeds.may_have(numbers))
    starts, stops = lookup.seeds.ranges(numbers[positions])
    rows = np.searchsorted(row_words, positions, "right") - 1
    is_usable = (stops > starts) & (stops - starts <= MAX_OWNERS)
    is_usable &= positions + SEED_WORDS <= row_words[(rows + 1).clip(max=len(row_words) - 1)]
    found = take_slices(lookup.seeds.owners, starts[is_usable], stops[is_usable])
    ids, owners = found.values.astype(np.int64), np.repeat(found.lengths, found.lengths)
    groups = np.searchsorted(lookup.first_seeds, ids, "right") - 1
    seeds, sizes = ids - lookup.first_seeds[groups], lookup.texts["n_words"][groups]
    weights = weigh_seeds(seeds, sizes, owners)
    positions = np.repeat(positions[is_usable], found.lengths)
    return pl.DataFrame(
        {
            "row": np.repeat(rows[is_usable], found.lengths),
            "group": groups,
            "start": positions - seed_positions(seeds, sizes),
            "seed": seeds,
            "position": positions,
            "covered": weights * owners,
            "weight": (weights * FRACTION).astype(np.int64),
        }
    )


def measure_passages(words: Words, passages: pl.DataFrame, texts: Sequence[str | None]) -> Array:
    """The share of the runs of each passage that both sides have; as it was estimated where the text is not available.

    texts: of the index, for each passage.
    """
    shares = passages["share"].to_numpy(writable=True)
    rarity, is_cut = passages["rarity"].to_numpy(), passages["is_cut"].to_list()
    known = [number for number, text in enumerate(texts) if text is not None]
    places = fold_texts(run_texts(words, passages["start"].to_numpy()[known], passages["stop"].to_numpy()[known]))
    wholes = fold_texts(pl.Series([texts[number] for number in known], dtype=pl.String))
    for number, place, whole in zip(known, places, wholes, strict=True):
        one, other = (_runs(place), _runs(whole)) if is_cut[number] else (_runs(whole), _runs(place))
        shares[number] = sum(map(set(other).__contains__, one)) / max(len(one), 1) * rarity[number]
    return shares


def _runs(text: str) -> list[str]:
    words = text.split(" ")
    return [" ".join(words[start : start + RUN_WORDS]) for start in range(len(words) - RUN_WORDS + 1)]


def run_texts(words: Words, starts: Array, stops: Array) -> pl.Series:
    """The text (String) of the words from each start to before its stop, as it is in the corpus."""
    text_bytes, symbols = words.text_bytes.tobytes(), words.symbols.tobytes()
    firsts, lasts = words.starts[starts].tolist(), words.starts[stops - 1].tolist()
    ends = [symbols.find(b"\0", last) for last in lasts]
    parts = [text_bytes[first:end].decode("utf-8", "replace") for first, end in zip(firsts, ends, strict=True)]
    return pl.Series(parts, dtype=pl.String)
