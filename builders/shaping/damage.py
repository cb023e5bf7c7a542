"""Texts that a wrong decoding damaged: characters lost (U+FFFD), or UTF-8 read in another encoding (mojibake)."""

import polars as pl

from builders.shaping.mojibake import is_mojibake

LOST = "\ufffd"


def is_damaged(text: pl.Expr) -> pl.Expr:
    """Whether a text contains a lost character or mojibake."""
    return text.str.contains(LOST, literal=True) | is_mojibake(text)
