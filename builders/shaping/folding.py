"""Texts that differ in nothing that a reader minds: case, punctuation, white space, and how Unicode writes a character."""

from __future__ import annotations

from typing import TYPE_CHECKING

from builders.shaping.text import fold_white_space

if TYPE_CHECKING:
    import polars as pl


def folded(text: pl.Expr) -> pl.Expr:
    """The text in Unicode's form NFKC and lower case, every run of punctuation and white space one space, none around it.

    Punctuation is Unicode's (general category P). A text of nothing else keeps it: `:)` and `...` are two texts.
    """
    import polars as pl

    lower = text.str.normalize("NFKC").str.to_lowercase()
    words = fold_white_space(lower.str.replace_all(r"\p{P}+", " "))
    return pl.when(words == "").then(fold_white_space(lower)).otherwise(words)
