"""Sentences that occur twice in a text, as in the answers of a model that repeats itself."""

import re
from collections import Counter

import polars as pl

MIN_CHARACTERS = 20  # a shorter sentence recurs in good texts: `Yes.`

_ODD = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio: the products of small numbers differ in many bits
_SENTENCE_BREAK = re.compile(r"(?<=[.!?…])\s+|\n+")
_LONG_RUN = re.compile(rf"[^.!?\n]{{{MIN_CHARACTERS}}}")


def repeats_a_sentence(text: pl.Expr) -> pl.Expr:
    """Whether a sentence with at least MIN_CHARACTERS characters in a row other than `.!?` occurs twice in a text (Boolean)."""
    return text.map_batches(_find_repeats, return_dtype=pl.Boolean, is_elementwise=True)


def _find_repeats(texts: pl.Series) -> pl.Series:
    """Only texts with an equal run of characters between `.`, `!`, `?` or line breaks, 1 in 1,000, are divided exactly."""
    runs = texts.str.replace_all("[.!?]", "\n").str.split("\n").alias("run").to_frame().with_row_index("row")
    is_long = pl.col("run").str.len_bytes() >= MIN_CHARACTERS
    # Equal numbers of two different runs are possible, and only cost a look at the text.
    number = pl.col("run").str.strip_chars().hash() ^ (pl.col("row").cast(pl.UInt64) * _ODD)
    numbers = runs.lazy().explode("run").filter(is_long).select("row", number=number).collect()
    candidates = numbers.filter(numbers["number"].is_duplicated())["row"].unique()
    repeats = [_repeats(text) for text in texts.gather(candidates)]
    return pl.repeat(False, len(texts), dtype=pl.Boolean, eager=True).scatter(candidates, repeats)


def _repeats(text: str) -> bool:
    sentences = Counter(sentence.strip() for sentence in _SENTENCE_BREAK.split(text))
    return any(count > 1 and _LONG_RUN.search(sentence) for sentence, count in sentences.items())
