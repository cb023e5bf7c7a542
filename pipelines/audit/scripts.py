"""The scripts of languages, and texts without a letter of the script of their dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.audit.mojibake import is_mojibake

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

# ISO 15924 -> the scripts of its letters, as regular expressions name them (Unicode's property Script).
SCRIPTS = {
    "Arab": ("Arabic",), "Armn": ("Armenian",), "Beng": ("Bengali",), "Cyrl": ("Cyrillic",), "Deva": ("Devanagari",),
    "Geor": ("Georgian",), "Grek": ("Greek",), "Gujr": ("Gujarati",), "Guru": ("Gurmukhi",), "Hans": ("Han", "Bopomofo"),
    "Hant": ("Han", "Bopomofo"), "Hebr": ("Hebrew",), "Jpan": ("Han", "Hiragana", "Katakana"), "Knda": ("Kannada",),
    "Kore": ("Hangul", "Han"), "Latn": ("Latin",), "Mlym": ("Malayalam",), "Taml": ("Tamil",), "Telu": ("Telugu",),
    "Thai": ("Thai",),
}  # fmt: skip
# The script of a language (ISO 639-3) that is named without one; Latin for all others.
DEFAULTS = {
    "ara": "Arab", "arb": "Arab", "bel": "Cyrl", "ben": "Beng", "bul": "Cyrl", "cmn": "Hans", "ell": "Grek", "fas": "Arab",
    "guj": "Gujr", "heb": "Hebr", "hin": "Deva", "hye": "Armn", "jpn": "Jpan", "kan": "Knda", "kat": "Geor", "kaz": "Cyrl",
    "kir": "Cyrl", "kor": "Kore", "mal": "Mlym", "mar": "Deva", "mkd": "Cyrl", "nep": "Deva", "pan": "Guru", "pes": "Arab",
    "rus": "Cyrl", "srp": "Cyrl", "tam": "Taml", "tat": "Cyrl", "tel": "Telu", "tha": "Thai", "ukr": "Cyrl", "urd": "Arab",
    "zho": "Hans",
}  # fmt: skip
# Letters of one script only, which excludes the likes of ʼ and mathematical letters.
LETTER = r"[\p{L}--[\p{Common}\p{Inherited}]]"


def script(language: str) -> str:
    """The script of a language, as ISO 15924 names it. language: as mteb writes it (`rus-Cyrl`), with or without its script."""
    code, _, name = language.partition("-")
    return name if name in SCRIPTS else DEFAULTS.get(code, "Latn")


def in_wrong_script(text: pl.Expr, expected: Iterable[str]) -> pl.Expr:
    """Whether a text has letters, but none of the expected scripts, and is not mojibake. expected: as ISO 15924 names them."""
    names = sorted({name for code in expected for name in SCRIPTS[code]})
    letters = "".join(rf"\p{{{name}}}" for name in names)
    return text.str.contains(LETTER) & ~text.str.contains(rf"[\p{{L}}&&[{letters}]]") & ~is_mojibake(text)
