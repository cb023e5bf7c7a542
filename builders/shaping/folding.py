"""Two ways of comparing texts that ignore how they are typed, and hashes of texts in 8 bytes.

`fold_text` finds copies across splits; `fold_case` finds answers that are interchangeable.
"""

import hashlib
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import polars as pl

from builders.shaping.text import fold_white_space


def fold_text(text: pl.Expr) -> pl.Expr:
    """The text in Unicode NFKC and lower case, with every run of punctuation and white space as one space, none at the ends.

    Punctuation is Unicode's general category P. A text that has nothing else keeps it: `:)` and `...` are different texts.
    """
    lower = text.str.normalize("NFKC").str.to_lowercase()
    words = fold_white_space(lower.str.replace_all(r"\p{P}+", " "))
    return pl.when(words == "").then(fold_white_space(lower)).otherwise(words)


def fold_texts(texts: pl.Series) -> pl.Series:
    """Each text after fold_text."""
    return texts.alias("text").to_frame().select(fold_text(pl.col("text")))["text"]


def fold_lists(column: str) -> pl.Expr:
    """A column of lists (List(String)) with each text after fold_text."""
    return pl.col(column).list.eval(fold_text(pl.element()))


def fold_case(text: pl.Expr, *, start: bool = True) -> pl.Expr:
    """The text in lower case, with every run of white space as one space, without the punctuation that ends a sentence.

    start: also without commas and the like before the first word. Punctuation within the text counts, because it can be the whole
    difference: `-2` is not `2`, `5%` is not `5`, and `.5` is not `5`. A text that has nothing else keeps its punctuation: `?` and
    `...` are different texts.
    """
    lower = fold_white_space(text.str.to_lowercase())
    words = lower.str.strip_chars_end(".!?… ")
    words = words.str.strip_chars_start(",;:!?… ") if start else words
    return pl.when(words == "").then(lower).otherwise(words)


Hashes = npt.NDArray[np.uint64]


def hash_messages(messages: Iterable[bytes]) -> Hashes:
    """The hash of each message."""
    return _as_numbers(hashlib.blake2b(message, digest_size=8).digest() for message in messages)


def hash_texts(texts: pl.Series) -> Hashes:
    """The hash of each text in UTF-8; 0 for an empty text, which no index has."""
    return _as_numbers(hashlib.blake2b(text.encode(), digest_size=8).digest() if text else bytes(8) for text in texts)


def _as_numbers(digests: Iterable[bytes]) -> Hashes:
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)
