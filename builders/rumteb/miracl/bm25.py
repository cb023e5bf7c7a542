"""The best passages for a query by BM25, out of a collection that does not fit in memory, and the same on every machine.

How a passage is scored, so that any program can do it again:

- U+0301, the stress mark of encyclopedias, is taken out of the text. A word is a longest run of two or more of the letters a-z,
  а-я and ё, large or small, and of the digits 0-9. It is made lower-case and becomes its stem by Snowball's `russian`
  algorithm, which reads ё as е. No word is left out for being frequent.
- A passage has as many words as its `length`; there are N passages, with `average` words each; a stem stands in `df` of them.
- idf = ln(1 + (N - df + 0.5) / (df + 0.5)), in whole millionths.
- A stem that a passage holds `times` adds idf * times / (times + 1.5 * (0.25 + 0.75 * length / average)), in whole millionths:
  once for every time it stands in the query. The sum is the score.
- The higher score comes first, and of two equal ones the earlier passage. A score of 0 is no rank.

This is BM25 as Lucene computes it with the parameters that bm25s has unless told otherwise. bm25s itself holds every word of the
collection in memory, and adds 32-bit floats, whose last digits decide between passages. Here one reading (`count`) keeps of the
passages only what the queries ask for, on disk, part by part of the collection; and scores (`rank`) are sums of integers: they
are equal whatever the order in which they are summed. The rounding of the logarithm, which no standard fixes to the last bit, is
gone with everything below a millionth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import Stemmer

from builders.batches import map_in_order

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

STRESS = "\u0301"
WORD = "[0-9A-Za-zА-Яа-яЁё]{2,}"
K1, B = 1.5, 0.75
UNIT = 1_000_000
POSTINGS, BLOCKS = "{:06d}.arrow", "blocks.arrow"


def count(queries: pl.Series, passages: Iterable[pl.Series], folder: Path) -> None:
    """Count in passages what `rank` needs to know of them, and write it to files in an empty folder.

    queries: texts. passages: texts too, batch by batch; they are read once. A null keeps a place and is no passage.
    """

    terms = _terms(_asked(queries))
    counted = list(map_in_order(partial(_count, terms=terms, folder=folder), enumerate(passages)))
    columns = {"places": pl.Int64(), "passages": pl.Int64(), "words": pl.Int64(), "frequencies": pl.List(pl.Int64())}
    pl.DataFrame(counted, columns, orient="row").write_ipc(folder / BLOCKS, compression="lz4")


def rank(queries: pl.Series, counted: Iterable[Path], *, depth: int) -> pl.DataFrame:
    """The `depth` best passages for each query.

    counted: the folders that `count` filled for the same queries, in the order of their passages.

    Columns: query, passage (Int64, their 0-based places), score (Int64, in millionths); queries in order, for each of them its
    passages from the best. A passage that shares no stem with a query is not ranked: a query may have fewer than `depth`.
    """

    asked = _asked(queries)
    terms = _terms(asked)
    blocks = [block for folder in counted for block in _blocks(folder)]
    best = _best([[terms[stem] for stem in stems] for stems in asked], blocks, len(terms), depth)
    columns = {"query": pl.Int64(), "passage": pl.Int64(), "score": pl.Int64()}
    frames = [
        pl.DataFrame({"query": query, "passage": passages, "score": scores}, columns)
        for query, (passages, scores) in enumerate(best)
    ]
    return pl.concat([pl.DataFrame(schema=columns), *frames])


@dataclass(frozen=True)
class _Block:
    """What was counted in one batch of passages.

    postings: a file of term, passage (its place in the batch), times, length (of the passage): for each passage the terms that
    it holds, by term. places: how many there are in the batch; passages: how many of them are passages; words: how many these
    have. frequencies: for each term the passages that hold it.
    """

    postings: Path
    places: int
    passages: int
    words: int
    frequencies: Integers


def _blocks(folder: Path) -> list[_Block]:

    rows = pl.scan_ipc(folder / BLOCKS, glob=False).collect()
    return [
        _Block(folder / POSTINGS.format(number), places, passages, words, frequencies.to_numpy())
        for number, (places, passages, words, frequencies) in enumerate(zip(*rows, strict=True))
    ]


def _asked(queries: pl.Series) -> list[list[str]]:
    """The stems of each query, in their order."""
    return [_stems(words) for words in _words(queries).to_list()]


def _terms(asked: list[list[str]]) -> dict[str, int]:
    """A number for each stem that is asked for."""
    return {stem: number for number, stem in enumerate(dict.fromkeys(stem for stems in asked for stem in stems))}


def _words(texts: pl.Series) -> pl.Series:
    return texts.str.replace_all(STRESS, "", literal=True).str.extract_all(WORD)


def _stems(words: list[str]) -> list[str]:

    # One of its own for each call: it may not be shared between threads. Without its cache of words, of which few come twice.
    stems: list[str] = Stemmer.Stemmer("russian", 0).stemWords([word.lower() for word in words])
    return stems


def _count(batch: tuple[int, pl.Series], *, terms: dict[str, int], folder: Path) -> tuple[int, int, int, list[int]]:
    """Write the postings of one batch; returns what else a block knows of it."""

    number, texts = batch
    words = _words(texts)
    lengths = words.list.len()
    places = pl.DataFrame({"word": words, "length": lengths}).with_row_index("passage").explode("word").drop_nulls()
    by_word = places.group_by("word").agg("passage", "length")
    numbers = [terms.get(stem) for stem in _stems(by_word["word"].to_list())]
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


def _best(queries: list[list[int]], blocks: list[_Block], terms: int, depth: int) -> list[tuple[Integers, Integers]]:
    """The best passages for each query, given by its terms, with their scores."""

    count, words = sum(block.passages for block in blocks), sum(block.words for block in blocks)
    frequencies = sum((block.frequencies for block in blocks), np.zeros(terms, np.int64))
    idf = [round(UNIT * math.log(1 + (count - df + 0.5) / (df + 0.5))) for df in frequencies.tolist()]
    weigh = partial(_weighed, idf=np.array(idf, np.int64), average=words / max(count, 1))
    none = np.empty(0, np.int64)
    best, start = [(none, none)] * len(queries), 0
    for block, (edges, places, weights) in zip(blocks, map_in_order(weigh, blocks), strict=True):
        scores = np.zeros(block.places, np.int64)
        for query, asked in enumerate(queries):
            scores[:] = 0
            for term in asked:
                part = slice(edges[term], edges[term + 1])
                scores[places[part]] += weights[part]
            passages, known = best[query]
            # One that only equals the last of the best comes after it, being a later passage.
            found = np.flatnonzero(scores > (known[-1] if known.size == depth else 0))
            if found.size:
                all_scores = np.concatenate([known, scores[found]])
                order = np.argsort(-all_scores, kind="stable")[:depth]
                best[query] = np.concatenate([passages, start + found])[order], all_scores[order]
        start += block.places
    return best


def _weighed(block: _Block, *, idf: Integers, average: float) -> tuple[list[int], Integers, Integers]:
    """The postings of a block: for each term where they begin, and after it the end; their passages; what they add to a score."""

    postings = pl.scan_ipc(block.postings, glob=False).collect()
    term, times = postings["term"].to_numpy(), postings["times"].to_numpy()
    norm = K1 * (1 - B + B * (postings["length"].to_numpy() / average))
    weights = np.rint(idf[term] * times / (times + norm)).astype(np.int64)
    edges = np.searchsorted(term, np.arange(idf.size + 1)).tolist()
    return edges, postings["passage"].to_numpy().astype(np.int64), weights
