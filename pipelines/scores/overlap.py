"""How much two texts have in common, without learning."""

from collections.abc import Iterable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.shaping.folding import fold_texts

Values = NDArray[np.float64]


def fold(texts: pl.Series) -> list[str]:
    """The texts in NFKC and lower case, without punctuation (builders.shaping.folding)."""
    folded: list[str] = fold_texts(texts).to_list()
    return folded


def word_set(folded: str) -> frozenset[str]:
    """The words of a folded text."""
    return frozenset(folded.split(" "))


def letter_set(folded: str) -> frozenset[str]:
    """The trigrams of characters of a folded text, with a space before and behind it."""
    padded = f" {folded} "
    return frozenset(padded[start : start + 3] for start in range(len(padded) - 2))


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of the elements of two sets that are in both."""
    union = len(one | other)
    return len(one & other) / union if union else 0.0


def shared_words(left: Iterable[str], right: Iterable[str]) -> Values:
    """For each pair of folded texts, the share of their words that are in both."""
    return np.array([jaccard(word_set(a), word_set(b)) for a, b in zip(left, right, strict=True)])


def shared_letters(left: Iterable[str], right: Iterable[str]) -> Values:
    """For each pair of folded texts, the share of their character trigrams that are in both."""
    return np.array([jaccard(letter_set(a), letter_set(b)) for a, b in zip(left, right, strict=True)])
