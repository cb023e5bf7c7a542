"""Rank passages for queries by BM25, in a corpus that does not fit in memory, with the same result on every machine.

The definition is exact, so that any other program can compute the same scores:

- U+0301, the stress mark in encyclopedias, is removed from the text. A word is a maximal run of two or more of the letters a-z,
  а-я and ё, in either case, and the digits 0-9. It is lowercased and stemmed by Snowball's `russian` algorithm, which treats ё
  as е. All words count, however frequent.
- The `length` of a passage is its number of words. There are N passages, with `average` words each; `df` of them contain a stem.
- idf = ln(1 + (N - df + 0.5) / (df + 0.5)), rounded to millionths.
- A stem that occurs `times` times in a passage adds idf * times / (times + 1.5 * (0.25 + 0.75 * length / average)), rounded to
  millionths, once for each of its occurrences in the query. The sum is the score.
- Passages are ranked by descending score, equal scores by position. A score of 0 has no rank.

This is BM25 as Lucene computes it, with the default parameters of bm25s. bm25s itself holds every word of the corpus in memory
and adds 32-bit floats, whose last digits decide between passages. Here, one pass over the passages (`count`) stores on disk, part
by part of the corpus, only what the queries need. Scores (`rank`) are sums of integers, so the order of summation is irrelevant.
Rounding also removes differences in the last bit of the logarithm, which no standard specifies.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import Stemmer
from numpy.typing import NDArray

from builders.batches import map_in_order

Integers = NDArray[np.int64]

STRESS = "\u0301"
WORD = "[0-9A-Za-zА-Яа-яЁё]{2,}"
K1, B = 1.5, 0.75
UNIT = 1_000_000
POSTINGS, BLOCKS = "{:06d}.arrow", "blocks.arrow"


def count(queries: pl.Series, passages: Iterable[pl.Series], folder: Path) -> None:
    """Count the terms of queries in passages, into files in an empty folder: the input of `rank`.

    queries: texts. passages: batches of texts, read once. A null takes a position but is not a passage.
    """
    terms = _number_terms(_query_stems(queries))
    blocks = list(map_in_order(partial(_count_block, terms=terms, folder=folder), enumerate(passages)))
    columns = {"positions": pl.Int64(), "passages": pl.Int64(), "words": pl.Int64(), "frequencies": pl.List(pl.Int64())}
    pl.DataFrame(blocks, columns, orient="row").write_ipc(folder / BLOCKS, compression="lz4")


def rank(queries: pl.Series, counted: Iterable[Path], *, depth: int) -> pl.DataFrame:
    """The `depth` best passages for each query.

    counted: the folders that `count` filled for the same queries, in the order of their passages.

    Returns query, passage (Int64, their positions, from 0) and score (Int64, in millionths), for each query in order its passages
    from the best. A passage that shares no stem with the query has no rank, so a query may have fewer than `depth` passages.
    """
    stems = _query_stems(queries)
    terms = _number_terms(stems)
    blocks = [block for folder in counted for block in _read_blocks(folder)]
    best = _find_best([[terms[stem] for stem in query] for query in stems], blocks, len(terms), depth)
    columns = {"query": pl.Int64(), "passage": pl.Int64(), "score": pl.Int64()}
    frames = [
        pl.DataFrame({"query": query, "passage": passages, "score": scores}, columns)
        for query, (passages, scores) in enumerate(best)
    ]
    return pl.concat([pl.DataFrame(schema=columns), *frames])


@dataclass(frozen=True)
class _Block:
    """The counts of one batch of passages.

    postings: a file with the columns term, passage (position in the batch), times, length (of the passage), by term and passage.
    positions: the size of the batch, nulls included. passages: its number of passages. words: their total length. frequencies:
    for each term, the number of passages that contain it.
    """

    postings: Path
    positions: int
    passages: int
    words: int
    frequencies: Integers


def _read_blocks(folder: Path) -> list[_Block]:
    rows = pl.scan_ipc(folder / BLOCKS, glob=False).collect()
    return [
        _Block(folder / POSTINGS.format(number), positions, passages, words, frequencies.to_numpy())
        for number, (positions, passages, words, frequencies) in enumerate(zip(*rows, strict=True))
    ]


def _query_stems(queries: pl.Series) -> list[list[str]]:
    """The stems of each query, in order, with repetitions."""
    return [_stem(words) for words in _split_words(queries).to_list()]


def _number_terms(queries: list[list[str]]) -> dict[str, int]:
    """A number for each distinct stem of the queries: a term."""
    return {stem: number for number, stem in enumerate(dict.fromkeys(stem for stems in queries for stem in stems))}


def _split_words(texts: pl.Series) -> pl.Series:
    return texts.str.replace_all(STRESS, "", literal=True).str.extract_all(WORD)


def _stem(words: list[str]) -> list[str]:
    # A new stemmer for each call, because threads may not share one; without its cache, because few words repeat.
    stems: list[str] = Stemmer.Stemmer("russian", 0).stemWords([word.lower() for word in words])
    return stems


def _count_block(
    batch: tuple[int, pl.Series], *, terms: dict[str, int], folder: Path
) -> tuple[int, int, int, list[int]]:
    """Write the postings of one batch. Returns the other fields of its block."""
    number, texts = batch
    words = _split_words(texts)
    lengths = words.list.len()
    occurrences = pl.DataFrame({"word": words, "length": lengths}).with_row_index("passage").explode("word")
    by_word = occurrences.drop_nulls().group_by("word").agg("passage", "length")
    numbers = [terms.get(stem) for stem in _stem(by_word["word"].to_list())]
    postings = (
        by_word.with_columns(term=pl.Series(numbers, dtype=pl.UInt32))
        .drop_nulls("term")
        .explode("passage", "length")
        .group_by("term", "passage", "length")
        .agg(times=pl.len())
        .sort("term", "passage")
    )
    postings.write_ipc(folder / POSTINGS.format(number), compression="lz4")
    frequencies = np.bincount(postings["term"].to_numpy(), minlength=len(terms))
    return texts.len(), texts.len() - texts.null_count(), int(lengths.sum()), frequencies.tolist()


def _find_best(
    queries: list[list[int]], blocks: list[_Block], terms: int, depth: int
) -> list[tuple[Integers, Integers]]:
    """The best passages of each query, given as a list of terms, and their scores."""
    count, words = sum(block.passages for block in blocks), sum(block.words for block in blocks)
    frequencies = sum((block.frequencies for block in blocks), np.zeros(terms, np.int64))
    idf = [round(UNIT * math.log(1 + (count - df + 0.5) / (df + 0.5))) for df in frequencies.tolist()]
    weigh = partial(_weigh_postings, idf=np.array(idf, np.int64), average=words / max(count, 1))
    none = np.empty(0, np.int64)
    best, start = [(none, none)] * len(queries), 0
    for block, (edges, positions, weights) in zip(blocks, map_in_order(weigh, blocks), strict=True):
        scores = np.zeros(block.positions, np.int64)
        for query, stems in enumerate(queries):
            scores[:] = 0
            for term in stems:
                part = slice(edges[term], edges[term + 1])
                scores[positions[part]] += weights[part]
            passages, previous = best[query]
            # A later passage must beat the worst of a full list: of equal scores, the earlier passage comes first.
            hits = np.flatnonzero(scores > (previous[-1] if previous.size == depth else 0))
            if hits.size:
                all_scores = np.concatenate([previous, scores[hits]])
                order = np.argsort(-all_scores, kind="stable")[:depth]
                best[query] = np.concatenate([passages, start + hits])[order], all_scores[order]
        start += block.positions
    return best


def _weigh_postings(block: _Block, *, idf: Integers, average: float) -> tuple[list[int], Integers, Integers]:
    """For the postings of a block: where each term begins, and the end; their passages; what each adds to a score."""
    postings = pl.scan_ipc(block.postings, glob=False).collect()
    term, times = postings["term"].to_numpy(), postings["times"].to_numpy()
    norm = K1 * (1 - B + B * (postings["length"].to_numpy() / average))
    weights = np.rint(idf[term] * times / (times + norm)).astype(np.int64)
    edges = np.searchsorted(term, np.arange(idf.size + 1)).tolist()
    return edges, postings["passage"].to_numpy().astype(np.int64), weights
