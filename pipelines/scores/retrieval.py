"""Baselines for retrieval, in nDCG@10, and for reranking, in MAP@1000."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from builders.ranking.hard_negatives import document_batches
from cards.scores import Baseline
from pipelines.audit.tables import Frames
from pipelines.process.stages import stage
from pipelines.scores.folds import connect, plan_folds, rank_by_hash
from pipelines.scores.permutations import fixed_question, learned_question, mean_baseline
from pipelines.scores.rankings import (
    CUT,
    DEPTH,
    average_precision,
    chance_average_precision,
    chance_ndcg_at_10,
    ndcg_at_10,
    rank_documents,
)
from pipelines.scores.results import Integers, Judged, Results, Values, make_baseline
from pipelines.scores.text_models import (
    TermCounts,
    count_query_terms,
    count_terms,
    fold,
    predict_odds,
    predict_out_of_fold,
    query_matrix,
    shared_letters,
    shared_words,
    weigh_bm25,
    weigh_terms,
)


@dataclass(frozen=True)
class JudgedQueries:
    """The queries that have a relevant document, as in mteb.

    ids, texts: of the queries. relevant: for each query, its relevant documents and their scores. documents: the ids of all
    documents, which the positions in `relevant` refer to; a relevant document that the corpus lacks has a negative position.
    """

    ids: pl.Series
    texts: pl.Series
    relevant: list[dict[int, int]]
    documents: pl.Series


def read_queries(frames: Frames, split: str) -> JudgedQueries:
    """Read all but the texts of documents."""
    documents = frames["corpus"][split].select("id").collect(engine="streaming")["id"]
    position = {name: number for number, name in enumerate(documents.to_list())}
    judgements = frames["qrels"][split].filter(pl.col("score") > 0).collect(engine="streaming")
    relevant: dict[str, dict[int, int]] = {}
    for query, document, score in judgements.select("query-id", "corpus-id", "score").iter_rows():
        own = relevant.setdefault(query, {})
        own[position.get(document, -1 - len(own))] = score
    queries = frames["queries"][split].select("id", "text").collect(engine="streaming")
    queries = queries.filter(pl.col("id").is_in(list(relevant)))
    return JudgedQueries(queries["id"], queries["text"], [relevant[query] for query in queries["id"]], documents)


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
        return [make_baseline("chance", chance, detail=detail)], []
    with stage("baselines: counting words", total=documents, unit="documents") as advance:
        counts = count_query_terms(queries.texts, document_batches(frames["corpus"][split]), advance)
    priorities = rank_by_hash(queries.documents.to_list(), "documents")
    baselines, components = [make_baseline("chance", chance)], connect_queries(queries)
    for name, score in (("named", score_named), ("words", score_shared_words), ("bm25", score_bm25)):
        with stage(f"baselines: {name}", total=len(queries.ids), unit="queries") as advance:
            values = _score_queries(score(counts), queries, priorities, advance)
            baselines.append(mean_baseline(name, values, components))
    return baselines, []


def score_bm25(counts: TermCounts) -> Scored:
    """The documents that share a word with each query, scored by BM25."""
    for _, documents, scores in _multiply(query_matrix(counts, repeated=True), weigh_bm25(counts)):
        yield documents, scores


def score_shared_words(counts: TermCounts) -> Scored:
    """The documents that share a word with each query, scored by the share of the words of the two that both have."""
    for query, documents, shared in _multiply(query_matrix(counts, repeated=False), counts.postings.sign()):
        words = counts.distinct[documents] + len(set(counts.queries[query]))
        yield documents, np.divide(shared, words - shared)


def score_named(counts: TermCounts) -> Scored:
    """The documents whose words are all in the query: those named first, then longer ones.

    A document is named where the query has had all of its words.
    """
    most = max((len(set(query)) for query in counts.queries), default=0)
    short = np.flatnonzero(counts.distinct <= most)  # longer ones are never named
    presence, distinct = counts.postings.sign()[:, short], counts.distinct[short]  # 1 for a term that a document has
    named_at = np.zeros(len(short), dtype=np.int64)
    for query, documents, shared in _multiply(query_matrix(counts, repeated=False), presence):
        named = documents[shared == distinct[documents]]
        if len(named):
            for position, term in enumerate(dict.fromkeys(counts.queries[query])):
                named_at[presence.indices[presence.indptr[term] : presence.indptr[term + 1]]] = position
        yield short[named], distinct[named] / 1000 - named_at[named]


def _multiply(queries: Any, weights: Any) -> Iterator[tuple[int, Integers, Values]]:
    """For each query its number, the documents that share a term with it, and the sums of their weights."""
    for start in range(0, queries.shape[0], BLOCK):
        products = queries[start : start + BLOCK] @ weights
        for row in range(products.shape[0]):
            own = slice(products.indptr[row], products.indptr[row + 1])
            yield start + row, products.indices[own], products.data[own]


def connect_queries(queries: JudgedQueries) -> list[str]:
    """The component of each query: queries are connected by their text and their relevant documents."""
    texts = [text for text, own in zip(fold(queries.texts), queries.relevant, strict=True) for _ in own]
    documents = [f"document {document}" for own in queries.relevant for document in own]
    first = np.cumsum([0, *map(len, queries.relevant)])[:-1].tolist()
    components = connect(texts, documents)
    return [components[number] for number in first]


def _score_queries(
    scored: Scored, queries: JudgedQueries, priorities: Integers, advance: Callable[[int], None]
) -> list[float]:
    values = []
    for (documents, scores), relevant in zip(scored, queries.relevant, strict=True):
        values.append(ndcg_at_10(rank_documents(documents, scores, priorities, CUT), relevant))
        advance(1)
    return values


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
    with stage("baselines: shared words and letters"):
        queries, documents = fold(data.queries.texts), fold(data.texts)
        owners = [queries[owner] for owner in data.owners.tolist()]
        candidates = [documents[document] for document in data.documents.tolist()]
        scores |= {"words": shared_words(owners, candidates), "letters": shared_letters(owners, candidates)}
    with stage("baselines: BM25"):
        scores["bm25"] = _score_bm25(data)
    expected = [
        chance_average_precision(int(data.labels[start:end].sum()), int(end - start), len(relevant))
        for (start, end), relevant in zip(pairwise(data.borders.tolist()), data.queries.relevant, strict=True)
    ]
    baselines = [make_baseline("chance", float(np.mean(expected)))]
    components = connect_queries(data.queries)
    baselines += [mean_baseline(name, _score_lists(data, values), components) for name, values in scores.items()]
    of_texts = connect(queries)
    own = [of_texts[owner] for owner in data.owners.tolist()]
    judged = Judged("auc", data.labels.astype(np.float64), own, candidates)
    questions = [
        fixed_question(name, judged, _rank_within(data.owners, scores[name])) for name in ("first", "longer", "shorter")
    ]
    with stage("baselines: TF-IDF of candidates"):
        counts = count_terms(data.texts.to_list())[data.documents]
        baselines.append(_score_candidates(data, counts, own, components))
        questions.append(learned_question("candidate", judged, counts, weigh_terms))
    return baselines, questions


def _rank_within(owners: Integers, scores: Values) -> Values:
    """The place of each candidate among those of its query, from -0.5 to 0.5: so candidates of different queries compare."""
    place = (pl.col("score").rank("average") - 0.5) / pl.len() - 0.5
    return pl.DataFrame({"owner": owners, "score": scores}).select(place.over("owner")).to_series().to_numpy()


def _read(frames: Frames, split: str) -> Candidates:
    queries = read_queries(frames, split)
    texts = pl.concat(list(document_batches(frames["corpus"][split])))
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


def _score_lists(data: Candidates, scores: Values) -> list[float]:
    """The average precision of each query if each query's candidates are ordered by score."""
    precisions = []
    for (start, end), relevant in zip(pairwise(data.borders.tolist()), data.queries.relevant, strict=True):
        ranked = rank_documents(np.arange(start, end), scores[start:end], data.priorities, DEPTH)
        precisions.append(average_precision([int(data.documents[candidate]) for candidate in ranked], relevant))
    return precisions


def _score_bm25(data: Candidates) -> Values:
    """BM25 of each candidate for its query; documents are weighed as in the whole corpus."""
    counts = count_query_terms(data.queries.texts, [data.texts])
    scores, own = np.zeros(len(data.documents)), np.zeros(len(data.texts))
    for (documents, values), (start, end) in zip(score_bm25(counts), pairwise(data.borders.tolist()), strict=True):
        own[documents] = values
        scores[start:end] = own[data.documents[start:end]]
        own[documents] = 0.0
    return scores


def _score_candidates(data: Candidates, counts: Any, groups: Sequence[str], components: Sequence[str]) -> Baseline:
    """Whether a candidate is relevant, told from its text alone; the candidates of a query are in one fold.

    groups: the key of each candidate. components: that of each query.
    """
    texts = data.texts.to_list()
    plan = plan_folds(groups, [texts[document] for document in data.documents.tolist()])
    scores = predict_out_of_fold(counts, data.labels, plan, weigh_terms, predict_odds)
    return mean_baseline("candidate", _score_lists(data, scores), components, labels="all", detail=plan.detail)
