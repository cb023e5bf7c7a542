"""Ways of comparing texts that ignore how they are typed, and hashes of texts in 8 bytes.

A folding has a number and never changes: versions of datasets and published indexes are made with it. A better one is a new
function.

- `fold_text_1` finds copies across splits. Every version and index from before there were numbers uses it.
- `fold_meaning_2` keeps the punctuation that carries meaning. Labels are compared with it: `... :)` is not `... :(`.
- `fold_disguise_3` sees through look-alike letters and invisible characters, on top of `fold_text_1`. Leaks are compared with it.
- `fold_case` finds answers that are interchangeable.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import polars as pl

from builders.shaping.text import fold_white_space


def fold_text_1(text: pl.Expr) -> pl.Expr:
    """The text in Unicode NFKC and lower case, with every run of punctuation and white space as one space, none at the ends.

    Punctuation is Unicode's general category P. A text that has nothing else keeps it: `:)` and `...` are different texts.
    """
    lower = text.str.normalize("NFKC").str.to_lowercase()
    words = fold_white_space(lower.str.replace_all(r"\p{P}+", " "))
    return pl.when(words == "").then(fold_white_space(lower)).otherwise(words)


# What each pattern finds is written with characters of the private use area, which are not punctuation, before that goes.
# Rust's regular expressions have no look-around: a pattern whose matches may share a digit is applied twice.
_MEANING = (
    (r"\(([^()]*)\)", " $1 "),  # brackets, the inner ones first: what is left open is a face
    (r"\(([^()]*)\)", " $1 "),
    (r"([0-9])\s?:\s?([0-9])", "$1\ue001$2"),  # 2:1, 10:30
    (r"([0-9])\s?:\s?([0-9])", "$1\ue001$2"),
    (r"([0-9])[\p{Pd}]([0-9])", "$1\ue002$2"),  # 2-1, 1941-1945
    (r"([0-9])[\p{Pd}]([0-9])", "$1\ue002$2"),
    (r"([0-9])[.,]([0-9])", "$1\ue003$2"),  # 0.5
    (r"([0-9])[.,]([0-9])", "$1\ue003$2"),
    (r"([0-9])\s?/\s?([0-9])", "$1\ue004$2"),  # 1/2
    (r"(^|[\s:;,(=<>/])[\p{Pd}\x{2212}]([0-9])", "$1 \ue005$2"),  # -5
    (r"([0-9])\s?%", "$1\ue006"),
    (r"(\p{L})#", "$1\ue007"),  # c#
    (r"(^|\s)[:;][-']?([dpoо3*/\\|])(\s|$)", "$1 \ue008$2 $3"),  # :D, :/
    (r"\)+", " \ue009 "),  # :), ))) and )
    (r"\(+", " \ue00a "),
    (r"!+", " \ue00b "),
    (r"\?+", " \ue00c "),
    (r"[`´]+", " "),  # marks of quotations that are symbols to Unicode
    (r"\p{P}+", " "),
)


def fold_meaning_2(text: pl.Expr) -> pl.Expr:
    """The text in Unicode NFKC and lower case, with runs of white space and of most punctuation as one space, none at the ends.

    What stays: `?` and `!`; faces (`:)`, `)))`, `:D`); signs, points, colons, dashes and percentages (`-5`, `0.5`, `2:1`,
    `2-1`, `5%`); `#` after a letter. A run counts once: `!!!` is `!`. All quotation marks go, backticks too. A text of nothing
    but other punctuation keeps it.
    """
    lower = text.str.normalize("NFKC").str.to_lowercase()
    words = lower
    for pattern, written in _MEANING:
        words = words.str.replace_all(pattern, written)
    words = fold_white_space(words)
    return pl.when(words == "").then(fold_white_space(lower)).otherwise(words)


# Characters that nobody sees; and Cyrillic letters that look like a Latin one, in lower case or in capitals, with `ё` as `е`.
_UNSEEN = r"[\p{Cf}\x{115F}\x{1160}\x{2800}\x{3164}\x{FE0F}]"
_LOOKALIKES = dict(zip("авекмнорстухіјѕԁһё", "abekmhopctyxijsdhe", strict=True))


def fold_disguise_3(text: pl.Expr) -> pl.Expr:
    """The text after fold_text_1 without characters that nobody sees, and with letters that look alike as one of them."""
    return fold_text_1(text.str.replace_all(_UNSEEN, "")).str.replace_many(_LOOKALIKES)


# What one of the foldings removes.
_REMOVED = r"[\s\p{P}\p{Cf}`´\x{115F}\x{1160}\x{2212}\x{2800}\x{3164}\x{FE0F}]+"


def coarse_key(folded: pl.Expr) -> pl.Expr:
    """A number (UInt64) of a text after fold_text_1, equal for texts that one of FOLDINGS makes equal, and for some others."""
    return folded.str.replace_all(_REMOVED, "").str.replace_many(_LOOKALIKES).hash()


FOLDINGS: Mapping[int, Callable[[pl.Expr], pl.Expr]] = MappingProxyType(
    {1: fold_text_1, 2: fold_meaning_2, 3: fold_disguise_3}
)


FOLDED_ROWS = 20_000
# Characters other than those that NFKC never changes (ASCII, letters, dashes, quotation marks), and the capitals of the latter.
_UNUSUAL = r"[^\x00-\x7F\x{AB}\x{BB}\x{C0}-\x{FF}\x{400}-\x{45F}\x{2013}-\x{2016}\x{2018}-\x{201E}]"
_CAPITAL = r"[A-Z\x{C0}-\x{DE}\x{400}-\x{42F}]"


def fold_texts(texts: pl.Series) -> pl.Series:
    """Each text after fold_text_1, a few at a time: each step makes new texts."""
    return pl.concat(_fold_parts(texts))


def hash_folded(texts: pl.Series) -> pl.Series:
    """hash_texts of each text after fold_text_1 (UInt64). The folded texts are not in memory all at once."""
    return pl.Series("hash", np.concatenate([hash_texts(part) for part in _fold_parts(texts)]))


def _fold_parts(texts: pl.Series) -> Iterator[pl.Series]:
    for start in range(0, max(len(texts), 1), FOLDED_ROWS):
        yield _fold_in_steps(texts.slice(start, FOLDED_ROWS))


def _fold_in_steps(texts: pl.Series) -> pl.Series:
    """Each text after fold_text_1; null stays null. An expression would compute steps twice, and for texts that need none."""
    is_unusual = texts.str.contains(_UNUSUAL)
    unusual, others = is_unusual.arg_true(), (~is_unusual & texts.str.contains(_CAPITAL)).arg_true()
    # `scatter` writes into the series itself.
    lower = texts.clone().scatter(unusual, texts.gather(unusual).str.normalize("NFKC").str.to_lowercase())
    lower = lower.scatter(others, texts.gather(others).str.to_lowercase())
    words = _fold_space(lower.str.replace_all(r"\p{P}+", " "))
    empty = (words == "").arg_true()
    return words.scatter(empty, _fold_space(lower.gather(empty)))


def _fold_space(texts: pl.Series) -> pl.Series:
    return texts.to_frame("text").select(fold_white_space(pl.col("text")))["text"]


def fold_lists(column: str) -> pl.Expr:
    """A column of lists (List(String)) with each text after fold_text_1."""
    return pl.col(column).list.eval(fold_text_1(pl.element()))


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
    messages = texts.cast(pl.Binary)  # no text is decoded and encoded again
    return _as_numbers(hashlib.blake2b(text, digest_size=8).digest() if text else bytes(8) for text in messages)


def _as_numbers(digests: Iterable[bytes]) -> Hashes:
    return np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)
