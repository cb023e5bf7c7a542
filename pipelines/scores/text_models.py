"""Texts as numbers, and simple models of them that give the same decimals everywhere.

Words are those of folded texts (builders.shaping.folding). One with a Cyrillic letter is stemmed by Snowball's `russian`. English
words have few forms, and stems spoil names (`Dennis` becomes `denni`): on WinoGrande, BM25 is 3 points worse with them.

Words that no query has count in lengths, but are not kept. So the counts of a million articles take about 1 GB. bm25s keeps all
words of a corpus, and its 32-bit sums leave it to the last digit which of two documents is first.
"""

import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import Stemmer
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression, Ridge

from builders.shaping.factuality import has_sides, side_texts
from builders.shaping.folding import fold_text_1, fold_texts
from pipelines.scores.folds import Plan
from pipelines.scores.results import Integers, Values

Features = Any  # a matrix of scipy in CSR form, or of numpy

# With scikit-learn's own tolerance of 1e-4, two of its versions stop at models that differ in the third digit.
TOLERANCE = 1e-7
MAX_ITERATIONS = 100_000
DIGITS = 6  # of outputs: so rows that a model cannot tell apart are equal, whatever was added up in which order
NEIGHBOURS = 5  # as in mteb
NEVER = -1000.0  # the log-probability of a label without rows


def predict_classes(training: Features, labels: Integers, scored: Features, count: int) -> Values:
    """The log-probability of each of `count` labels on each scored row, by logistic regression.

    labels: of the training rows, from 0. With one label alone, this is certain.
    """
    predicted = np.full((scored.shape[0], count), NEVER)
    present = np.unique(labels)
    if len(present) < 2:
        predicted[:, present] = 0.0
        return predicted
    with warnings.catch_warnings():
        # Samples, and a few rows a label, may have nearly as many labels as rows.
        warnings.filterwarnings("ignore", message="The number of unique classes is greater", category=UserWarning)
        model = LogisticRegression(tol=TOLERANCE, max_iter=MAX_ITERATIONS).fit(training, labels)
    predicted[:, model.classes_] = np.round(model.predict_log_proba(scored), DIGITS)
    return predicted


def predict_odds(training: Features, labels: Integers, scored: Features) -> Values:
    """The logarithm of the odds of label 1 against label 0 on each scored row, by logistic regression."""
    logarithms = predict_classes(training, labels, scored, 2)
    return logarithms[:, 1] - logarithms[:, 0]


def predict_label_odds(training: Features, labels: Integers, scored: Features) -> Values:
    """The logarithm of the odds of each label on each scored row, by one logistic regression a label.

    labels: 0 or 1, a row for each training row, a column for each label.
    """
    return np.stack([predict_odds(training, column, scored) for column in labels.T], axis=1)


def predict_label_sets(training: Features, labels: Integers, scored: Features) -> Integers:
    """Whether each scored row has each label (0 or 1), by `predict_label_odds`."""
    return (predict_label_odds(training, labels, scored) > 0).astype(np.int64)


def predict_values(training: Features, values: Values, scored: Features) -> Values:
    """A value for each scored row, by ridge regression."""
    model = Ridge(solver="sparse_cg", tol=1e-10, max_iter=MAX_ITERATIONS).fit(training, values)
    predicted: Values = np.round(model.predict(scored), DIGITS)
    return predicted


def predict_centroids(training: Features, labels: Integers, scored: Features, count: int) -> Integers:
    """The label whose mean is nearest by cosine; of equally near ones the lowest. Rows are sparse, of length 1 or 0."""
    members = csr_matrix((np.ones(len(labels)), (labels, np.arange(len(labels)))), shape=(count, len(labels)))
    sums = members @ training
    norms = np.sqrt(np.asarray(sums.multiply(sums).sum(axis=1)))
    products = np.asarray((scored @ sums.T).todense())
    near = np.round(products / np.where(norms > 0, norms, 1.0).T, DIGITS)
    near[:, norms[:, 0] == 0] = NEVER
    nearest: Integers = np.argmax(near, axis=1)
    return nearest


def predict_by_neighbours(training: Features, labels: Integers, scored: Features) -> Integers:
    """Whether each scored row has each label (0 or 1): whether most of its nearest training rows by cosine do.

    labels: 0 or 1, a row for each training row, a column for each label. Of equally near rows the first are taken.
    """
    near = np.round(np.asarray((scored @ training.T).todense()), DIGITS)
    nearest = np.argsort(-near, axis=1, kind="stable")[:, :NEIGHBOURS]
    votes: Integers = labels[nearest].sum(axis=1)
    predicted: Integers = (votes > nearest.shape[1] / 2).astype(np.int64)
    return predicted


Weigh = Callable[[Any, Any], tuple[Any, Any]]


def predict_out_of_fold(
    features: Features,
    targets: Any,
    plan: Plan,
    weigh: Weigh,
    predict: Callable[[Any, Any, Any], Any],
    *,
    columns: tuple[int, ...] = (),
) -> Values:
    """What a model that has not seen its fold predicts for each row; 0 where there is nothing to learn from.

    targets: what is learned, a row each. weigh: turns the features of training and scored rows into what the model sees.
    predict: given features and targets of training rows, and features of other rows, the predictions for the latter.
    columns: the shape of a prediction, by default one number.
    """
    predicted = np.zeros((features.shape[0], *columns))
    for part in plan.parts:
        if len(part.training):
            training, scored = weigh(features[part.training], features[part.scored])
            predicted[part.scored] = predict(training, targets[part.training], scored)
    return predicted


KINDS = (r"\p{P}", r"\p{Nd}", r"\p{Lu}")  # punctuation, digits, upper-case letters
TERM = r"(?u)\w+|[^\w\s]"  # a word, or a single character of punctuation


def count_terms(texts: Sequence[str]) -> Features:
    """How often each term occurs in each text, in lower case; the columns are in the order of the terms.

    Without any term, the matrix has one column of zeros.
    """
    return _count(CountVectorizer(token_pattern=TERM, dtype=np.float64), texts)


def count_letters(texts: Sequence[str]) -> Features:
    """The same for trigrams of characters within words, with the spaces around them."""
    return _count(CountVectorizer(analyzer="char_wb", ngram_range=(3, 3), dtype=np.float64), texts)


def _count(vectorizer: Any, texts: Sequence[str]) -> Features:
    try:
        return vectorizer.fit_transform(texts)
    except ValueError:  # no text has a term: scikit-learn calls this an empty vocabulary
        return csr_matrix((len(texts), 1))


def weigh_terms(training: Features, scored: Features) -> tuple[Features, Features]:
    """TF-IDF of two tables of counts, of the terms of the first; rows have length 1. A count weighs 1 + its logarithm."""
    columns = np.flatnonzero(training.getnnz(axis=0) > 0)
    if not len(columns):
        columns = np.arange(1)
    transformer = TfidfTransformer(sublinear_tf=True)
    return transformer.fit_transform(training[:, columns]), transformer.transform(scored[:, columns])


def describe_lengths(texts: pl.Series) -> Values:
    """What a text looks like from afar: five columns.

    They are the logarithms of 1 + its characters and of 1 + its words, and the shares of its characters that are punctuation,
    digits and upper-case letters.
    """
    characters = pl.col("text").str.len_chars()
    shares = [pl.col("text").str.count_matches(kind) / pl.max_horizontal(characters, 1) for kind in KINDS]
    words = pl.col("text").str.count_matches(r"\S+")
    columns = (
        texts.alias("text")
        .to_frame()
        .select(
            characters=(characters + 1).cast(pl.Float64).log(),
            words=(words + 1).cast(pl.Float64).log(),
            **dict(zip(("punctuation", "digits", "upper"), shares, strict=True)),
        )
    )
    return columns.to_numpy().astype(np.float64)


def standardize(training: Values, scored: Values) -> tuple[Values, Values]:
    """Both tables with the means of the first subtracted, in units of its standard deviations; a constant column is 0."""
    mean, deviation = training.mean(axis=0), training.std(axis=0)
    scale = np.where(deviation > 1e-12, deviation, np.inf)
    return (training - mean) / scale, (scored - mean) / scale


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
    # It adds up what is repeated.
    matrix = csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)
    return matrix if repeated else matrix.sign()


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
    words = fold_text_1(pl.col("text")).str.split(" ")
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
    table = pl.DataFrame(
        {
            "word": different,
            "stem": [numbers[stem] for stem in stems],
            "term": [terms.get(stem, -1) for stem in stems],
        },
        {"word": pl.String, "stem": pl.UInt32, "term": pl.Int32},
    )
    counted = words.join(table, on="word").group_by("document", "stem", "term").agg(times=pl.len())
    totals = counted.group_by("document").agg(pl.col("times").sum(), distinct=pl.len())
    lengths, distinct = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.int64)
    lengths[totals["document"].to_numpy()] = totals["times"].to_numpy()
    distinct[totals["document"].to_numpy()] = totals["distinct"].to_numpy()
    kept = counted.filter(pl.col("term") >= 0).sort("term", "document")
    positions = (kept["term"].to_numpy(), kept["document"].to_numpy())
    times = kept["times"].to_numpy().astype(np.float32)
    return csr_matrix((times, positions), shape=(max(len(terms), 1), len(texts))), lengths, distinct


def fold(texts: pl.Series) -> list[str]:
    """The texts in NFKC and lower case, without punctuation (builders.shaping.folding)."""
    return fold_texts(texts).to_list()


def letter_set(folded: str) -> set[str]:
    """The trigrams of characters of a folded text, with a space before and behind it."""
    padded = f" {folded} "
    return {padded[start : start + 3] for start in range(len(padded) - 2)}


def jaccard(one: set[str], other: set[str]) -> float:
    """The share of the elements of two sets that are in both."""
    union = len(one | other)
    return len(one & other) / union if union else 0.0


def shared_words(left: Iterable[str], right: Iterable[str]) -> Values:
    """For each pair of folded texts, the share of their words that are in both."""
    return np.array([jaccard(set(a.split(" ")), set(b.split(" "))) for a, b in zip(left, right, strict=True)])


def shared_letters(left: Iterable[str], right: Iterable[str]) -> Values:
    """For each pair of folded texts, the share of their character trigrams that are in both."""
    return np.array([jaccard(letter_set(a), letter_set(b)) for a, b in zip(left, right, strict=True)])


SIDES = ("sentence1", "sentence2")
Sides = tuple[pl.Series, pl.Series]  # the first and the second side of each row


def split_sides(texts: Sequence[str]) -> Sides | None:
    """The sides of the texts, divided at the first ` Hypothesis: `; None if a text does not have the form."""
    frame, text = pl.DataFrame({"text": texts}, schema={"text": pl.String}), pl.col("text")
    if not len(frame) or not frame.select(has_sides(text).all()).item():
        return None
    first, second = side_texts(text)
    sides = frame.select(first=first, second=second)
    return sides["first"], sides["second"]
