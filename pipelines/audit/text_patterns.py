"""Patterns of what does not belong in a text: markup, traces of processing, look-alike letters, repeated sentences.

They are regular expressions as polars reads them (Rust: no look-around), each for `str.contains`. One pass over a text answers
whether any of them occurs, at about 1.5 ns a byte; a pass for each pattern costs as much again. So `suspects` looks for all of
them at once, and the patterns are then searched one by one in the few texts that it leaves.

A reader sees no difference; a tokenizer divides the word into pieces that no model has learnt.
"""

import re
from collections import Counter
from html.entities import name2codepoint

import polars as pl

from builders.shaping.text import MOJIBAKE_PATTERNS, WHITE_SPACE
from cards.kinds import MIN_SENTENCE

_ELEMENTS = (
    "a|abbr|article|aside|b|big|blockquote|body|br|button|center|cite|code|dd|del|div|dl|dt|em|embed|figcaption|figure|font"
    "|footer|form|h[1-6]|head|header|hr|html|i|iframe|img|input|ins|label|li|main|meta|nav|nobr|noscript|ol|option|p"
    "|pre|s|script|section|select|small|span|strike|strong|style|sub|sup|table|tbody|td|textarea|tfoot|th|thead|title|tr|u|ul"
)
# All lower or all upper case. `link` only with an attribute: without one it says nothing in HTML, and `<Link>` and `<link>` are
# what people and models write in place of a link.
_NAMES = f"{_ELEMENTS}|{_ELEMENTS.upper()}"
_ENTITIES = "|".join(sorted(name2codepoint))
HTML = (
    rf"<(?:{_NAMES})(?:\s[^<>]*)?/?>|</\s*(?:{_NAMES})\s*>|<(?:link|LINK)\s[^<>]*>|<!--"
    rf"|&(?:apos|{_ENTITIES}|#[0-9]{{1,7}}|#[xX][0-9a-fA-F]{{1,6}});"
)
ENCODING = r"[\x{80}-\x{9F}\x{FFFD}]|_x[0-9A-F]{4}_"

# Soft hyphen, zero-width space, word joiner, byte order mark, Hangul filler, annotation marks: a tokenizer divides a word there.
INVISIBLE = r"[\x{AD}\x{180E}\x{200B}\x{2060}-\x{2064}\x{206A}-\x{206F}\x{3164}\x{FEFF}\x{FFF9}-\x{FFFB}]"
# Marks of the direction of writing. They belong in a text with letters that are written from right to left.
BIDI = r"[\x{61C}\x{200E}\x{200F}\x{202A}-\x{202E}\x{2066}-\x{2069}]"
RIGHT_TO_LEFT = r"[\p{Hebrew}\p{Arabic}\p{Syriac}\p{Thaana}\p{Nko}]"
# Joiners, the emoji variation selector and tags. They belong after an emoji or a key, and joiners in the scripts that need them.
_JOINED = (
    r"\p{Emoji}\p{Emoji_Component}\p{Extended_Pictographic}\p{Arabic}\p{Syriac}\p{Mongolian}\p{Devanagari}\p{Bengali}\p{Gurmukhi}"
    r"\p{Gujarati}\p{Oriya}\p{Tamil}\p{Telugu}\p{Kannada}\p{Malayalam}\p{Sinhala}\p{Khmer}\p{Myanmar}"
)
STRAY_JOINER = rf"(?:^|[^{_JOINED}])[\x{{200C}}\x{{200D}}\x{{FE0F}}\x{{E0020}}-\x{{E007F}}]"

TREEBANK_BRACKET = "-[LR][RSC]B-"
LINK_STUMP = r"(?:^|[^hHqQ])ttp?s?://"  # `ttp://`, `tts://`, `tt://`; not `mqtts://`

E_MAIL = r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}"
_NUMBER = (
    r"\([0-9]{3}\) ?[0-9]{3}[-. ]?[0-9]{2}[-. ]?[0-9]{2}|[0-9]{3}[-.][0-9]{3}[-.][0-9]{4}"
    r"|(?:8[ (-]{1,2}|\+7[ (-]{0,2})[0-9]{3}[ )-]{0,2}[0-9]{3}[ -]?[0-9]{2}[ -]?[0-9]{2}"
    r"|\+[0-9]{1,3}[ (-]{1,2}[0-9]{2,4}[ )-]{1,2}[0-9]{3,4}[ -]?[0-9]{2,4}(?:[ -]?[0-9]{2,4})?"
)
PHONE = rf"(?:^|[^0-9+.-]|[^0-9]-|\+?1[-. ])(?:{_NUMBER})(?:$|[^0-9-]|-[^0-9])"

_ROLE = r"(?:Human|HUMAN|Assistant|ASSISTANT|Instruction|Input|### ?Response) ?:"
ROLE = rf"(?:\n|[.!?] )[ \t]*{_ROLE}"
TRANSCRIPT = rf"\A\s*{_ROLE}"

# Each is decided by the first or the last few characters of a text, whereas stripping a text takes time for each of its bytes.
_SPACE = "".join(f"\\x{{{ord(char):X}}}" for char in WHITE_SPACE)
CHARACTER = f"[^{_SPACE}]"
TWO_CHARACTERS = f"[^{_SPACE}][{_SPACE}]*[^{_SPACE}]"
SPACE_FIRST = rf"\A[{_SPACE}]"
SPACE_LAST = rf"[{_SPACE}]\z"
DOUBLE_FULL_STOP = rf"(?:\A|[^.])\.\.[{_SPACE}]*\z"

LATIN_BESIDE_CYRILLIC = r"[A-Za-z]\p{Cyrillic}|\p{Cyrillic}[A-Za-z]"

_ALL = "|".join(
    (
        *(HTML, ENCODING, *MOJIBAKE_PATTERNS, INVISIBLE, BIDI, STRAY_JOINER, TREEBANK_BRACKET, LINK_STUMP),
        *(E_MAIL, PHONE, ROLE, LATIN_BESIDE_CYRILLIC),
    )
)


def suspects(text: pl.Expr) -> pl.Expr:
    """The texts in which one of the patterns occurs; every other text is empty."""
    return pl.when(text.str.contains(_ALL)).then(text).otherwise(pl.lit(""))


# The same letters in both scripts, in the same order.
LATIN = "aceijopxyABCEHIJKMOPTXY"
CYRILLIC = "асеіјорхуАВСЕНІЈКМОРТХУ"

_WORD = rf"[\p{{L}}\p{{M}}]*(?:{LATIN_BESIDE_CYRILLIC})[\p{{L}}\p{{M}}]*"
# A lower-case word, also with a capital at its start, or one in capitals; not two words without a space (`idА`, `SkyТеперь`).
_ONE_WORD = r"^(?:\p{Lu}?[\p{Ll}\p{M}]+|[\p{Lu}\p{M}]+)$"
# Every letter of one of the scripts looks like one of the other; not `3D-шутер`, `PRщик` or `ахахf`.
_MIXED = rf"^(?:[{LATIN}]|\p{{Cyrillic}})+$|^(?:[{CYRILLIC}]|\p{{Latin}})+$"


def has_lookalike_word(text: pl.Expr) -> pl.Expr:
    """Whether a word of a text mixes Latin and Cyrillic letters so that it looks like a word of one script (Boolean)."""
    word = pl.element()
    is_mixed = word.str.contains(_ONE_WORD) & word.str.contains(_MIXED)
    return text.str.extract_all(_WORD).list.eval(is_mixed).list.any()


_ODD = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio: the products of small numbers differ in many bits
_SENTENCE_BREAK = re.compile(r"(?<=[.!?…])\s+|\n+")
_LONG_RUN = re.compile(rf"[^.!?\n]{{{MIN_SENTENCE}}}")


def repeats_a_sentence(text: pl.Expr) -> pl.Expr:
    """Whether a sentence with at least MIN_SENTENCE characters in a row other than `.!?` occurs twice in a text (Boolean)."""
    return text.map_batches(_find_repeats, return_dtype=pl.Boolean, is_elementwise=True)


def _find_repeats(texts: pl.Series) -> pl.Series:
    """Only texts with an equal run of characters between `.`, `!`, `?` or line breaks, 1 in 1,000, are divided exactly."""
    runs = texts.str.replace_all("[.!?]", "\n").str.split("\n").alias("run").to_frame().with_row_index("row")
    is_long = pl.col("run").str.len_bytes() >= MIN_SENTENCE
    # Equal numbers of two different runs are possible, and only cost a look at the text.
    number = pl.col("run").str.strip_chars().hash() ^ (pl.col("row").cast(pl.UInt64) * _ODD)
    numbers = runs.lazy().explode("run").filter(is_long).select("row", number=number).collect()
    candidates = numbers.filter(numbers["number"].is_duplicated())["row"].unique()
    repeats = [_repeats(text) for text in texts.gather(candidates)]
    return pl.repeat(False, len(texts), dtype=pl.Boolean, eager=True).scatter(candidates, repeats)


def _repeats(text: str) -> bool:
    sentences = Counter(sentence.strip() for sentence in _SENTENCE_BREAK.split(text))
    return any(count > 1 and _LONG_RUN.search(sentence) for sentence, count in sentences.items())
