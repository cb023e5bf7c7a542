"""Baselines for clustering, in V-measure: k-means with as many clusters as there are labels.

k-means is our own, because the result must not depend on the last bit of a sum: texts that share no word with any centre are
equally near to all of them, and which one they join decides where the centres move. Similarities are rounded, and of equally near
centres the first is taken. The first centres are texts in the order of their hashes; the score is the mean over several starts.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import csr_matrix

from pipelines.process.stages import stage
from pipelines.scores.folds import Rows, connect, order_by_hash
from pipelines.scores.metrics import v_measure
from pipelines.scores.permutations import interval
from pipelines.scores.results import Integers, Results, make_baseline
from pipelines.scores.text_models import count_terms, describe_lengths, standardize, weigh_terms

STARTS, MAX_ROUNDS = 5, 100
DIGITS = 9  # of a similarity: what differs less is equal


def score_clustering(table: pl.LazyFrame) -> Results:
    """All baselines. table: sentences, labels."""
    rows = table.select("sentences", "labels").collect(engine="streaming")
    texts, labels = rows["sentences"], rows["labels"].rank("dense").cast(pl.Int64).to_numpy()
    clusters, components = rows["labels"].n_unique(), connect(texts.to_list())
    detail = f"mean of {STARTS} starts"
    with stage("baselines: chance", total=STARTS, unit="starts") as advance:
        chance = [v_measure(labels, _draw_clusters(texts, labels, start, advance)) for start in range(STARTS)]
    baselines = [make_baseline("chance", float(np.mean(chance)), detail=detail)]
    baselines.append(make_baseline("majority", v_measure(labels, np.zeros(rows.height, dtype=np.int64))))
    lengths = describe_lengths(texts)
    weights, _ = weigh_terms(*[count_terms(texts.to_list())] * 2)
    for name, features in (("length", standardize(lengths, lengths)[0]), ("kmeans", weights)):
        with stage(f"baselines: {name}", total=STARTS, unit="starts") as advance:
            found = [
                cluster(csr_matrix(features), _first_centres(texts, clusters, start), advance)
                for start in range(STARTS)
            ]

        def judge(chosen: Rows, found: Sequence[Integers] = found) -> float:
            return float(np.mean([v_measure(labels[chosen], start[chosen]) for start in found]))

        with stage(f"baselines: interval of {name}"):
            low_high = interval(components, judge)
        baselines.append(make_baseline(name, judge(np.arange(rows.height)), detail=detail, interval=low_high))
    return baselines, []


def cluster(features: Any, first: Integers, advance: Callable[[int], None] = lambda _: None) -> Integers:
    """The cluster of each row, by k-means (Lloyd's algorithm) until nothing moves. first: the rows that are the first centres.

    A centre that loses all its rows stays where it is.
    """
    centres = features[first]
    before: Integers = np.full(features.shape[0], -1)
    for _ in range(MAX_ROUNDS):
        squares = np.asarray(centres.multiply(centres).sum(axis=1)).ravel()
        near = np.round(np.asarray((features @ centres.T).todense()) - squares / 2, DIGITS)
        found: Integers = np.argmax(near, axis=1)
        if np.array_equal(found, before):
            break
        before = found
        centres = _move(centres, features, found)
    advance(1)
    return before


def _move(centres: Any, features: Any, found: Integers) -> Any:
    """The means of the rows of each cluster."""
    count = centres.shape[0]
    sizes = np.bincount(found, minlength=count)
    rows = np.arange(len(found))
    shares = csr_matrix((1 / sizes[found], (found, rows)), shape=(count, len(found)))
    stay = csr_matrix((np.where(sizes == 0, 1.0, 0.0), (np.arange(count), np.arange(count))), shape=(count, count))
    return shares @ features + stay @ centres


def _first_centres(texts: pl.Series, clusters: int, start: int) -> Integers:
    """As many different texts as there are clusters, or all of them, in the order of their hashes."""
    distinct = texts.to_frame("text").with_row_index("row").unique("text", keep="first", maintain_order=True)
    order = order_by_hash(distinct["text"], f"start {start}")[:clusters]
    return distinct["row"].gather(order).to_numpy().astype(np.int64)


def _draw_clusters(texts: pl.Series, labels: Integers, start: int, advance: Callable[[int], None]) -> Integers:
    """The sizes of the labels, dealt out to the texts in the order of their hashes."""
    order = order_by_hash(texts, f"chance {start}")
    clusters = np.empty_like(labels)
    clusters[order] = np.sort(labels)
    advance(1)
    return clusters
