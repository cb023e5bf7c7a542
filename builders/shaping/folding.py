"""When two texts say the same: `folded` finds what was copied from one split into another, `alike` what may stand for another."""

from __future__ import annotations

import polars as pl

from builders.shaping.text import fold_white_space


def fold_text(text: pl.Expr) -> pl.Expr:
    """The text in Unicode's form NFKC and lower case, every run of punctuation and white space one space, none around it.

    Punctuation is Unicode's (general category P). A text of nothing else keeps it: `:)` and `...` are two texts.
    """

    lower = text.str.normalize("NFKC").str.to_lowercase()
    words = fold_white_space(lower.str.replace_all(r"\p{P}+", " "))
    return pl.when(words == "").then(fold_white_space(lower)).otherwise(words)


def fold_case(text: pl.Expr) -> pl.Expr:
    """The text in lower case, every run of white space in it one space, without what ends a sentence.

    Signs within it stay, for they may be what it says: `-2` is not `2`, nor `5%` the same as `5`.
    """
    return fold_white_space(text.str.to_lowercase()).str.strip_chars_end(".!?… ")
