"""Texts that a wrong decoding damaged: characters lost (U+FFFD), or UTF-8 read in a code page (mojibake).

UTF-8 writes a character outside ASCII as a lead byte and one to three bytes from 0x80 to 0xBF. Read as cp1252, "é" (C3 A9)
becomes "Ã©"; read as cp1251, "Мы" (D0 9C D1 8B) becomes "РњС‹"; and U+FFFD itself (EF BF BD) becomes "ï¿½".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


def _read_as(code_page: str) -> str:
    """A class of a regular expression: how a code page reads the bytes from 0x80 to 0xBF. Undefined bytes keep their code."""
    read = [bytes([byte]).decode(code_page, "ignore") or chr(byte) for byte in range(0x80, 0xC0)]
    return "[" + "".join(f"\\x{{{ord(char):X}}}" for char in read) + "]"


LOST = "\ufffd"
# In Russian, "Р" and "С" are letters: only three such pairs in a row are mojibake. In Latin script, one pair is.
MOJIBAKE = rf"ï¿½|ï»¿|â€|[ÃÂÐÑ]{_read_as('cp1252')}|(?:[РС]{_read_as('cp1251')}){{3}}"


def is_damaged(text: pl.Expr) -> pl.Expr:
    """Whether a text contains a lost character or mojibake."""
    return text.str.contains(f"{LOST}|{MOJIBAKE}")
