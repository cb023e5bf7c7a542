"""The documents nearest to each query by exact inner product, in blocks: all scores are never in memory, nor all vectors.

Products are computed in single precision, a block of queries by a block of documents; those that may be among the nearest are
computed again in double precision and rounded. So the order does not depend on blocks, threads or the library that multiplies,
and documents of equal score are in the order of the pool.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from pipelines.scores.embedding_cache import Vectors

Places = npt.NDArray[np.int64]

QUERIES, DOCUMENTS = 256, 16_384  # rows of a block
# More than single precision is off by, for vectors of length one: documents this near to the last rank are computed again.
MARGIN = 5e-5
DECIMALS = 9  # of a score in double precision: far more than its error, far fewer than would tell equal texts apart
SEARCH = "exact inner product of normalized vectors, in double precision, rounded to 9 decimals"
TIES = "by place in the pool"


def rank_documents(queries: Vectors, documents: Vectors, last: int, start: int = 0) -> Iterator[list[Places]]:
    """The places of the `last` nearest documents of each query, the nearest first; a list for each block of queries.

    queries, documents: normalized vectors, a row each; may be mapped from files. start: the first query, a multiple of QUERIES.
    Fewer documents than `last` are all ranked.
    """
    for begin in range(start, len(queries), QUERIES):
        block = np.ascontiguousarray(queries[begin : begin + QUERIES])
        nearest = _nearest(block, documents, last)
        yield [_rank(query, documents, places, last) for query, places in zip(block, nearest, strict=True)]


def _nearest(queries: Vectors, documents: Vectors, count: int) -> list[Places]:
    """For each query, ascending, the places of all documents that may be among the `count` nearest."""
    count = min(count, len(documents))
    best = np.full((len(queries), count), -np.inf, dtype="f4")  # the scores of the nearest so far, in no order
    rows, places, scores = [], [], []
    for begin in range(0, len(documents), DOCUMENTS):
        products = queries @ np.ascontiguousarray(documents[begin : begin + DOCUMENTS]).T
        best = np.partition(np.concatenate([best, products], axis=1), products.shape[1], axis=1)[:, -count:]
        row, column = np.nonzero(products >= best.min(axis=1, keepdims=True) - MARGIN)
        rows.append(row)
        places.append(column + begin)
        scores.append(products[row, column])
    row, place, score = (np.concatenate(parts) for parts in (rows, places, scores))
    is_near = score >= best.min(axis=1)[row] - MARGIN
    order = np.argsort(row[is_near], kind="stable")
    ends = np.cumsum(np.bincount(row[is_near], minlength=len(queries)))
    return np.split(place[is_near][order], ends[:-1])


def _rank(query: Vectors, documents: Vectors, places: Places, last: int) -> Places:
    """Those places, the nearest first, `last` at most."""
    exact = documents[places].astype("f8") @ query.astype("f8")
    order = np.lexsort((places, -np.round(exact, DECIMALS)))
    return places[order[:last]]
