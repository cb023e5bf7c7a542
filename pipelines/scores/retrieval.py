"""Baselines for retrieval, in nDCG@10: BM25, shared words, and the documents that the query names."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from pipelines.audit.tables import Frames
from pipelines.scores.folds import rank_by_hash
from pipelines.scores.judged_queries import JudgedQueries, read_documents, read_queries
from pipelines.scores.rankings import CUT, chance_ndcg_at_10, ndcg_at_10, rank_documents
from pipelines.scores.records import Results, make_baseline
from pipelines.scores.term_counts import TermCounts, count_query_terms, query_matrix, weigh_bm25
from pipelines.stages import stage

Integers = NDArray[np.integer[Any]]
Values = NDArray[np.floating[Any]]
Scored = Iterator[tuple[Integers, Values]]  # for each query, some documents and their scores

MAX_DOCUMENTS = 1_000_000
BLOCK = 32  # queries whose scores of all documents are in memory at once


def score_retrieval(frames: Frames, split: str) -> Results:
    """All baselines; of a corpus of more than MAX_DOCUMENTS, chance alone."""
    queries = read_queries(frames, split)
    documents = len(queries.documents)
    chance = float(np.mean([chance_ndcg_at_10(relevant, documents) for relevant in queries.relevant]))
    if documents > MAX_DOCUMENTS:
        detail = f"words were not compared: {documents:,} documents, more than {MAX_DOCUMENTS:,}"
        return Results([make_baseline("chance", chance, detail=detail)], len(queries.ids))
    with stage("baselines: counting words", total=documents, unit="documents") as advance:
        counts = count_query_terms(queries.texts, read_documents(frames, split), advance)
    priorities = rank_by_hash(queries.documents.to_list(), "documents")
    baselines = [make_baseline("chance", chance)]
    for name, score in (("named", score_named), ("words", score_shared_words), ("bm25", score_bm25)):
        with stage(f"baselines: {name}", total=len(queries.ids), unit="queries") as advance:
            baselines.append(make_baseline(name, _mean_ndcg(score(counts), queries, priorities, advance)))
    return Results(baselines, len(queries.ids))


def score_bm25(counts: TermCounts) -> Scored:
    """The documents that share a word with each query, scored by BM25."""
    for _, documents, scores in _multiply(query_matrix(counts, repeated=True), weigh_bm25(counts)):
        yield documents, scores


def score_shared_words(counts: TermCounts) -> Scored:
    """The documents that share a word with each query, scored by the share of the words of the two that both have."""
    for query, documents, shared in _multiply(query_matrix(counts, repeated=False), _presence(counts)):
        words = counts.distinct[documents] + len(set(counts.queries[query]))
        yield documents, np.divide(shared, words - shared)


def score_named(counts: TermCounts) -> Scored:
    """The documents whose words are all in the query: those named first, then longer ones.

    A document is named where the query has had all of its words.
    """
    most = max((len(set(query)) for query in counts.queries), default=0)
    short = np.flatnonzero(counts.distinct <= most)  # longer ones are never named
    presence, distinct = _presence(counts)[:, short], counts.distinct[short]
    named_at = np.zeros(len(short), dtype=np.int64)
    for query, documents, shared in _multiply(query_matrix(counts, repeated=False), presence):
        named = documents[shared == distinct[documents]]
        if len(named):
            for position, term in enumerate(dict.fromkeys(counts.queries[query])):
                named_at[presence.indices[presence.indptr[term] : presence.indptr[term + 1]]] = position
        yield short[named], distinct[named] / 1000 - named_at[named]


def _presence(counts: TermCounts) -> Any:
    """1 where a document has a term."""
    postings = counts.postings
    return csr_matrix((np.ones_like(postings.data), postings.indices, postings.indptr), shape=postings.shape)


def _multiply(queries: Any, weights: Any) -> Iterator[tuple[int, Integers, NDArray[np.float32]]]:
    """For each query its number, the documents that share a term with it, and the sums of their weights."""
    for start in range(0, queries.shape[0], BLOCK):
        products = queries[start : start + BLOCK] @ weights
        for row in range(products.shape[0]):
            own = slice(products.indptr[row], products.indptr[row + 1])
            yield start + row, products.indices[own], products.data[own]


def _mean_ndcg(scored: Scored, queries: JudgedQueries, priorities: Integers, advance: Callable[[int], None]) -> float:
    total = 0.0
    for (documents, scores), relevant in zip(scored, queries.relevant, strict=True):
        total += ndcg_at_10(rank_documents(documents, scores, priorities, CUT), relevant)
        advance(1)
    return total / len(queries.relevant)
