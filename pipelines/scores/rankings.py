"""The scores of rankings as mteb computes them (trec_eval), and what a random ranking gets, as an exact expectation.

Documents are positions in a corpus. `relevant` holds the scores of the relevant documents of a query; none of them is 0.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from pipelines.scores.results import Integers, Values

CUT = 10  # of nDCG@10
DEPTH = 1000  # of MAP@1000
DIGITS = 4  # of a score: what 32-bit sums are good for
DISCOUNTS = 1 / np.log2(np.arange(2, CUT + 2))


def rank_documents(documents: Integers, scores: Values, priorities: Integers, depth: int) -> list[int]:
    """The best documents by score; of scores that are equal in their first DIGITS decimals, the lowest priority first.

    scores: one a document. priorities: of every document of the corpus, a number that does not depend on what is relevant.
    """
    if len(documents) > depth:
        lowest = np.partition(scores, len(scores) - depth)[len(scores) - depth] - 10**-DIGITS
        documents, scores = documents[scores >= lowest], scores[scores >= lowest]
    order = np.lexsort((priorities[documents], -np.round(scores.astype(np.float64), DIGITS)))[:depth]
    ranked: list[int] = documents[order].tolist()
    return ranked


def ndcg_at_10(ranked: Sequence[int], relevant: Mapping[int, int]) -> float:
    """nDCG@10 of a ranking."""
    gains = [float(relevant.get(document, 0)) for document in ranked[:CUT]]
    return float(np.dot(gains, DISCOUNTS[: len(gains)])) / _ideal(relevant)


def chance_ndcg_at_10(relevant: Mapping[int, int], documents: int) -> float:
    """The expected nDCG@10 of a random order of all documents: every rank has the mean gain."""
    gain = sum(relevant.values()) / documents
    return gain * float(DISCOUNTS[: min(CUT, documents)].sum()) / _ideal(relevant)


def average_precision(ranked: Sequence[int], relevant: Mapping[int, int]) -> float:
    """The average precision of a ranking; relevant documents that it lacks count as never found."""
    found, total = 0, 0.0
    for rank, document in enumerate(ranked[:DEPTH], 1):
        if document in relevant:
            found += 1
            total += found / rank
    return total / len(relevant)


def chance_average_precision(found: int, candidates: int, relevant: int) -> float:
    """The expected average precision of a random order of candidates.

    found: how many of them are relevant. relevant: all relevant documents of the query, candidates or not.

    At each rank a relevant document lies with probability found / candidates; then, of the ranks before it, each has another
    with probability (found - 1) / (candidates - 1).
    """
    if not found:
        return 0.0
    ranks = np.arange(1, min(candidates, DEPTH) + 1)
    others = (found - 1) / (candidates - 1) if candidates > 1 else 0.0
    return float(np.sum((1 + (ranks - 1) * others) / ranks)) * found / candidates / relevant


def _ideal(relevant: Mapping[int, int]) -> float:
    gains = sorted(relevant.values(), reverse=True)[:CUT]
    return float(np.dot(gains, DISCOUNTS[: len(gains)]))
