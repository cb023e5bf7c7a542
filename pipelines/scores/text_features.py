"""Texts as numbers for linear models: counts of terms, TF-IDF, lengths and kinds of characters."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

Matrix = NDArray[np.float64]
Sparse = Any  # a matrix of scipy in CSR form

KINDS = (r"\p{P}", r"\p{Nd}", r"\p{Lu}")  # punctuation, digits, upper-case letters
TERM = r"(?u)\w+|[^\w\s]"  # a word, or a single character of punctuation


def count_terms(texts: Sequence[str]) -> Sparse:
    """How often each term occurs in each text, in lower case; the columns are in the order of the terms.

    Without any term, the matrix has one column of zeros.
    """
    return _count(CountVectorizer(token_pattern=TERM, dtype=np.float64), texts)


def count_letters(texts: Sequence[str]) -> Sparse:
    """The same for trigrams of characters within words, with the spaces around them."""
    return _count(CountVectorizer(analyzer="char_wb", ngram_range=(3, 3), dtype=np.float64), texts)


def _count(vectorizer: Any, texts: Sequence[str]) -> Sparse:
    try:
        return vectorizer.fit_transform(texts)
    except ValueError:  # no text has a term: scikit-learn calls this an empty vocabulary
        return csr_matrix((len(texts), 1))


def weigh_terms(training: Sparse, scored: Sparse) -> tuple[Sparse, Sparse]:
    """TF-IDF of two tables of counts, of the terms of the first; rows have length 1. A count weighs 1 + its logarithm."""
    columns = np.flatnonzero(training.getnnz(axis=0) > 0)
    if not len(columns):
        columns = np.arange(1)
    transformer = TfidfTransformer(sublinear_tf=True)
    return transformer.fit_transform(training[:, columns]), transformer.transform(scored[:, columns])


def describe_lengths(texts: pl.Series) -> Matrix:
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


def standardize(training: Matrix, scored: Matrix) -> tuple[Matrix, Matrix]:
    """Both tables with the means of the first subtracted, in units of its standard deviations; a constant column is 0."""
    mean, deviation = training.mean(axis=0), training.std(axis=0)
    scale = np.where(deviation > 1e-12, deviation, np.inf)
    return (training - mean) / scale, (scored - mean) / scale
