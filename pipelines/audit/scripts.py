"""The scripts of languages, and texts without a letter of the script of their dataset."""

from collections.abc import Iterable

import polars as pl

from cards.front_matter import LANGUAGES, language

# ISO 15924 -> the scripts of its letters, as regular expressions name them (Unicode's property Script).
SCRIPTS = {
    "Arab": ("Arabic",), "Armn": ("Armenian",), "Beng": ("Bengali",), "Cyrl": ("Cyrillic",), "Deva": ("Devanagari",),
    "Geor": ("Georgian",), "Grek": ("Greek",), "Gujr": ("Gujarati",), "Guru": ("Gurmukhi",), "Hans": ("Han", "Bopomofo"),
    "Hant": ("Han", "Bopomofo"), "Hebr": ("Hebrew",), "Jpan": ("Han", "Hiragana", "Katakana"), "Knda": ("Kannada",),
    "Kore": ("Hangul", "Han"), "Latn": ("Latin",), "Mlym": ("Malayalam",), "Taml": ("Tamil",), "Telu": ("Telugu",),
    "Thai": ("Thai",),
}  # fmt: skip
# The script of a language (ISO 639-1) that is named without one; Latin for all others.
DEFAULTS = {
    "ar": "Arab", "be": "Cyrl", "bg": "Cyrl", "bn": "Beng", "el": "Grek", "fa": "Arab", "gu": "Gujr", "he": "Hebr",
    "hi": "Deva", "hy": "Armn", "ja": "Jpan", "ka": "Geor", "kk": "Cyrl", "kn": "Knda", "ko": "Kore", "ky": "Cyrl",
    "mk": "Cyrl", "ml": "Mlym", "mr": "Deva", "ne": "Deva", "pa": "Guru", "ru": "Cyrl", "sr": "Cyrl", "ta": "Taml",
    "te": "Telu", "th": "Thai", "tt": "Cyrl", "uk": "Cyrl", "ur": "Arab", "zh": "Hans",
}  # fmt: skip
# Letters of one script only, which excludes the likes of ʼ and mathematical letters.
LETTER = r"[\p{L}--[\p{Common}\p{Inherited}]]"


def script(code: str) -> str:
    """The script of a language, as ISO 15924 names it. code: as mteb writes it (`rus-Cyrl`), with or without its script.

    Raises ValueError for a language that cards.front_matter does not know.
    """
    name = code.partition("-")[2]
    return name if name in SCRIPTS else DEFAULTS.get(language(code)[0], "Latn")


def scripts_by_language(codes: Iterable[str]) -> dict[str, set[str]]:
    """The scripts of each language (ISO 639-1): the usual one, or those that the codes name. codes: as for `script`."""
    scripts = {short: {DEFAULTS.get(short, "Latn")} for short, _ in LANGUAGES.values()}
    named: dict[str, set[str]] = {}
    for code in codes:
        named.setdefault(language(code)[0], set()).add(script(code))
    return scripts | named


def in_wrong_script(text: pl.Expr, expected: Iterable[str]) -> pl.Expr:
    """Whether a text has letters, but none of the expected scripts. expected: as ISO 15924 names them."""
    names = sorted({name for code in expected for name in SCRIPTS[code]})
    letters = "".join(rf"\p{{{name}}}" for name in names)
    return text.str.contains(LETTER) & ~text.str.contains(rf"[\p{{L}}&&[{letters}]]")
