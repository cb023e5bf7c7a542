"""The words of a corpus that its queries have, counted: what BM25 and shared words need, in little memory.

Words are those of folded texts (builders.shaping.folding). One with a Cyrillic letter is stemmed by Snowball's `russian`. English
words have few forms, and stems spoil names (`Dennis` becomes `denni`): on WinoGrande, BM25 is 3 points worse with them.

Words that no query has count in lengths, but are not kept. So the counts of a million articles take about 1 GB. bm25s keeps all
words of a corpus, and its 32-bit sums leave it to the last digit which of two documents is first.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import Stemmer
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack

from builders.shaping.folding import fold_text

Integers = NDArray[np.int64]

K1, B = 1.5, 0.75  # the defaults of bm25s
CYRILLIC = re.compile("[а-яё]")


@dataclass(frozen=True)
class TermCounts:
    """The terms of queries in documents.

    queries: the terms of each query, in order, with repetitions. postings: how often each term occurs in each document, a row a
    term (scipy, CSR, float32). lengths: the words of each document. distinct: its different ones.
    """

    queries: list[list[int]]
    postings: Any
    lengths: Integers
    distinct: Integers


def count_query_terms(
    queries: pl.Series, documents: Iterable[pl.Series], advance: Callable[[int], None] = lambda _: None
) -> TermCounts:
    """Count the words of queries in batches of documents; each batch is read once."""
    stemmed = [_stem(words) for words in _split_words(queries).to_list()]
    terms = {stem: number for number, stem in enumerate(dict.fromkeys(stem for query in stemmed for stem in query))}
    blocks = []
    for texts in documents:
        blocks.append(_count_block(texts, terms))
        advance(len(texts))
    postings, lengths, distinct = zip(*blocks, strict=True)
    numbers = [[terms[stem] for stem in query] for query in stemmed]
    return TermCounts(numbers, hstack(postings, format="csr"), np.concatenate(lengths), np.concatenate(distinct))


def query_matrix(counts: TermCounts, *, repeated: bool) -> Any:
    """The terms of each query, a row a query (scipy, CSR): how often it has each, or 1 if they are not to be `repeated`."""
    rows = np.repeat(np.arange(len(counts.queries)), [len(terms) for terms in counts.queries])
    columns = np.array([term for terms in counts.queries for term in terms], dtype=np.int64)
    shape = (len(counts.queries), counts.postings.shape[0])
    matrix = csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)
    matrix.sum_duplicates()
    if not repeated:
        matrix.data[:] = 1.0
    return matrix


def weigh_bm25(counts: TermCounts) -> Any:
    """What a term adds to the score of each document, a row a term: BM25 as Lucene computes it, with the parameters of bm25s."""
    postings = counts.postings
    frequencies = np.diff(postings.indptr)
    idf = np.log(1 + (postings.shape[1] - frequencies + 0.5) / (frequencies + 0.5)).astype(np.float32)
    average = max(float(counts.lengths.mean()), 1.0)
    norms = (K1 * (1 - B + B * counts.lengths / average)).astype(np.float32)
    weights = postings.data / (postings.data + norms[postings.indices])
    weights *= np.repeat(idf, frequencies)
    return csr_matrix((weights, postings.indices, postings.indptr), shape=postings.shape)


def _split_words(texts: pl.Series) -> pl.Series:
    words = fold_text(pl.col("text")).str.split(" ")
    return texts.alias("text").to_frame().select(words.list.eval(pl.element().filter(pl.element() != ""))).to_series()


def _stem(words: list[str]) -> list[str]:
    """The stem of each word, or the word itself."""
    russian = Stemmer.Stemmer("russian", 0)
    return [russian.stemWord(word) if CYRILLIC.search(word) else word for word in words]


def _count_block(texts: pl.Series, terms: dict[str, int]) -> tuple[Any, Integers, Integers]:
    """The postings, lengths and numbers of different words of some documents."""
    words = pl.DataFrame({"document": np.arange(len(texts)), "word": _split_words(texts)}).explode("word").drop_nulls()
    different = words["word"].unique(maintain_order=True)
    stems = _stem(different.to_list())
    numbers = {stem: number for number, stem in enumerate(dict.fromkeys(stems))}
    columns = {
        "word": different,
        "stem": [numbers[stem] for stem in stems],
        "term": [terms.get(stem, -1) for stem in stems],
    }
    table = pl.DataFrame(columns, {"word": pl.String, "stem": pl.UInt32, "term": pl.Int32})
    counted = words.join(table, on="word").group_by("document", "stem", "term").agg(times=pl.len())
    totals = counted.group_by("document").agg(pl.col("times").sum(), distinct=pl.len())
    lengths, distinct = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.int64)
    lengths[totals["document"].to_numpy()] = totals["times"].to_numpy()
    distinct[totals["document"].to_numpy()] = totals["distinct"].to_numpy()
    kept = counted.filter(pl.col("term") >= 0).sort("term", "document")
    positions = (kept["term"].to_numpy(), kept["document"].to_numpy())
    times = kept["times"].to_numpy().astype(np.float32)
    return csr_matrix((times, positions), shape=(max(len(terms), 1), len(texts))), lengths, distinct
