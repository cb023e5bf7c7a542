"""Words that mix Latin and Cyrillic letters which look alike: `сaхар` with a Latin `a`.

A reader sees no difference; a tokenizer divides the word into pieces that no model has learnt.
"""

import polars as pl

# The same letters in both scripts, in the same order.
LATIN = "aceijopxyABCEHIJKMOPTXY"
CYRILLIC = "асеіјорхуАВСЕНІЈКМОРТХУ"

_LATIN_BESIDE_CYRILLIC = r"(?:[A-Za-z]\p{Cyrillic}|\p{Cyrillic}[A-Za-z])"
_WORD = rf"[\p{{L}}\p{{M}}]*{_LATIN_BESIDE_CYRILLIC}[\p{{L}}\p{{M}}]*"
# A lower-case word, also with a capital at its start, or one in capitals; not two words without a space (`idА`, `SkyТеперь`).
_ONE_WORD = r"^(?:\p{Lu}?[\p{Ll}\p{M}]+|[\p{Lu}\p{M}]+)$"
# Every letter of one of the scripts looks like one of the other; not `3D-шутер`, `PRщик` or `ахахf`.
_MIXED = rf"^(?:[{LATIN}]|\p{{Cyrillic}})+$|^(?:[{CYRILLIC}]|\p{{Latin}})+$"


def has_lookalike_word(text: pl.Expr) -> pl.Expr:
    """Whether a word of a text mixes Latin and Cyrillic letters so that it looks like a word of one script (Boolean)."""
    word = pl.element()
    is_mixed = word.str.contains(_ONE_WORD) & word.str.contains(_MIXED)
    return text.str.extract_all(_WORD).list.eval(is_mixed).list.any()
