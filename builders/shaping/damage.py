"""Texts that a wrong decoding damaged: characters lost (U+FFFD), or UTF-8 read in another encoding (mojibake)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from builders.shaping.mojibake import is_mojibake

if TYPE_CHECKING:
    import polars as pl

LOST = "\ufffd"


def is_damaged(text: pl.Expr) -> pl.Expr:
    """Whether a text contains a lost character or mojibake."""
    return text.str.contains(LOST, literal=True) | is_mojibake(text)
