"""Baselines for reranking, in MAP@1000: the order, lengths and texts of candidates, and what they share with the query."""

from collections.abc import Callable
from typing import Any
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cards.scores import Baseline
from pipelines.audit.tables import Frames
from pipelines.scores.folds import plan_folds, rank_by_hash
from pipelines.scores.judged_queries import JudgedQueries, read_documents, read_queries
from pipelines.scores.overlap import fold, jaccard, letter_set, word_set
from pipelines.scores.rankings import DEPTH, average_precision, chance_average_precision, rank_documents
from pipelines.scores.records import Results, make_baseline
from pipelines.scores.retrieval import score_bm25
from pipelines.scores.simple_models import predict_classes
from pipelines.scores.term_counts import count_query_terms
from pipelines.scores.text_features import count_terms, weigh_terms
from pipelines.stages import stage

Integers = NDArray[np.integer[Any]]
Values = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Candidates:
    """Candidates of all queries, one after the other.

    texts: of all documents. documents: the positions of the candidates. borders: where each query's candidates begin, and
    where the last ones end. labels: 1 for a relevant candidate. priorities: the order of candidates with equal scores.
    """

    queries: JudgedQueries
    texts: pl.Series
    documents: Integers
    borders: Integers
    labels: Integers
    priorities: Integers

    @property
    def owners(self) -> Integers:
        """The query of each candidate."""
        return np.repeat(np.arange(len(self.borders) - 1), np.diff(self.borders))


def score_reranking(frames: Frames, split: str) -> Results:
    """All baselines, and how often the longer of two candidates is relevant."""
    data = _read(frames, split)
    lengths = data.texts.str.len_chars().to_numpy().astype(np.float64)[data.documents]
    order = np.arange(len(data.documents), dtype=np.float64)
    scores = {"first": -order, "longer": lengths, "shorter": -lengths}
    with stage("baselines: shared words and letters", total=len(data.documents), unit="candidates") as advance:
        scores["words"], scores["letters"] = _score_overlap(data, advance)
    with stage("baselines: BM25"):
        scores["bm25"] = _score_bm25(data)
    baselines = [make_baseline("chance", _chance(data))]
    baselines += [make_baseline(name, _mean_precision(data, values)) for name, values in scores.items()]
    with stage("baselines: TF-IDF of candidates"):
        baselines.append(_score_candidates(data))
    return Results(baselines, len(data.queries.ids))


def _read(frames: Frames, split: str) -> Candidates:
    queries = read_queries(frames, split)
    texts = pl.concat(list(read_documents(frames, split)))
    position = {name: number for number, name in enumerate(queries.documents.to_list())}
    listed = dict(frames["top_ranked"][split].select("query-id", "corpus-ids").collect(engine="streaming").iter_rows())
    names = [listed.get(query, []) for query in queries.ids]
    documents = np.array([position[name] for own in names for name in own], dtype=np.int64)
    borders = np.cumsum([0, *map(len, names)])
    labels = [
        int(position[name] in relevant) for own, relevant in zip(names, queries.relevant, strict=True) for name in own
    ]
    keys = [f"{query} {name}" for query, own in zip(queries.ids, names, strict=True) for name in own]
    return Candidates(queries, texts, documents, borders, np.array(labels, np.int64), rank_by_hash(keys, "candidates"))


def _chance(data: Candidates) -> float:
    expected = [
        chance_average_precision(int(data.labels[start:end].sum()), int(end - start), len(relevant))
        for (start, end), relevant in zip(pairwise(data.borders.tolist()), data.queries.relevant, strict=True)
    ]
    return float(np.mean(expected))


def _mean_precision(data: Candidates, scores: Values) -> float:
    """The mean average precision if each query's candidates are ordered by score."""
    precisions = []
    for (start, end), relevant in zip(pairwise(data.borders.tolist()), data.queries.relevant, strict=True):
        ranked = rank_documents(np.arange(start, end), scores[start:end], data.priorities, DEPTH)
        precisions.append(average_precision([int(data.documents[one]) for one in ranked], relevant))
    return float(np.mean(precisions))


def _score_overlap(data: Candidates, advance: Callable[[int], None]) -> tuple[Values, Values]:
    """The shares of words and of character trigrams that each candidate has in common with its query."""
    queries, documents = fold(data.queries.texts), fold(data.texts)
    words, letters = np.zeros(len(data.documents)), np.zeros(len(data.documents))
    for query, (start, end) in enumerate(pairwise(data.borders.tolist())):
        own_words, own_letters = word_set(queries[query]), letter_set(queries[query])
        for candidate in range(start, end):
            text = documents[data.documents[candidate]]
            words[candidate] = jaccard(own_words, word_set(text))
            letters[candidate] = jaccard(own_letters, letter_set(text))
        advance(end - start)
    return words, letters


def _score_bm25(data: Candidates) -> Values:
    """BM25 of each candidate for its query; documents are weighed as in the whole corpus."""
    counts = count_query_terms(data.queries.texts, [data.texts])
    scores, own = np.zeros(len(data.documents)), np.zeros(len(data.texts))
    for (documents, values), (start, end) in zip(score_bm25(counts), pairwise(data.borders.tolist()), strict=True):
        own[documents] = values
        scores[start:end] = own[data.documents[start:end]]
        own[documents] = 0.0
    return scores


def _score_candidates(data: Candidates) -> Baseline:
    """Whether a candidate is relevant, told from its text alone; the candidates of a query are in one fold."""
    query_texts, texts = data.queries.texts.to_list(), data.texts.to_list()
    groups = [query_texts[owner] for owner in data.owners.tolist()]
    plan = plan_folds(groups, [texts[document] for document in data.documents.tolist()])
    counts = count_terms(texts)
    scores = np.zeros(len(data.documents))
    for part in plan.parts:
        training, scored = (counts[data.documents[rows]] for rows in (part.training, part.scored))
        if training.shape[0]:
            weighed, others = weigh_terms(training, scored)
            odds = predict_classes(weighed, data.labels[part.training], others, 2)
            scores[part.scored] = odds[:, 1] - odds[:, 0]
    return make_baseline("candidate", _mean_precision(data, scores), labels="all", detail=plan.detail)
