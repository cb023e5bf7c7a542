"""pipelines.audit.languages on short sentences in fifteen languages: which foreign ones are found, which sound ones are not."""

from collections.abc import Mapping

import polars as pl
import pytest

from pipelines.audit.languages import MIN_LETTERS, foreign_languages, guess_languages, text_parts
from tests.pipelines.audit.language_samples import HELD_OUT, SENTENCES


def foreign_sentences(language: str, expected: str, sentences: Mapping[str, tuple[str, ...]] = SENTENCES) -> list[str]:
    """The sentences in a language that are found to be foreign where another is expected."""
    texts = pl.Series(sentences[language])
    parts = texts.alias("text").to_frame().select(text_parts(pl.col("text"))).to_series()
    return texts.filter(foreign_languages(texts, guess_languages(texts), parts, {expected}).is_not_null()).to_list()


def test_every_sentence_has_enough_letters_and_occurs_once() -> None:
    sentences = [sentence for group in (*SENTENCES.values(), *HELD_OUT.values()) for sentence in group]
    assert len(sentences) == len(set(sentences))
    assert [text for text in sentences if sum(map(str.isalpha, text)) < MIN_LETTERS] == []
    assert all(len(group) >= 10 for group in SENTENCES.values())


@pytest.mark.parametrize("expected", ["ru", "en", "de"])
def test_every_foreign_sentence_is_found(expected: str) -> None:
    recall = {
        language: (len(foreign_sentences(language, expected)), len(group))
        for language, group in SENTENCES.items()
        if language != expected
    }
    print(f"\nfound where {expected} is expected: " + ", ".join(f"{one} {a} of {b}" for one, (a, b) in recall.items()))
    # In Russian letters alone, three detectors must agree: real hits of two were Russian (docs/findings.md).
    missed = {"bg": 2, "sr": 1, "uk": 1} if expected == "ru" else {}
    assert {language: total - count for language, (count, total) in recall.items() if count < total} == missed


def test_most_sentences_are_found_that_were_not_used_to_choose_the_limits() -> None:
    missed = {
        (language, expected): count
        for expected in ("ru", "en", "de")
        for language, group in HELD_OUT.items()
        if language != expected and (count := len(group) - len(foreign_sentences(language, expected, HELD_OUT)))
    }
    assert missed == {("be", "ru"): 1, ("sr", "ru"): 1}
    false = [text for language in HELD_OUT for text in foreign_sentences(language, language, HELD_OUT)]
    assert false == ["Хвала вам много, баш сте ми помогли данас!"]


@pytest.mark.parametrize("language", [language for language in SENTENCES if language != "sr"])
def test_no_sentence_is_foreign_in_its_own_language(language: str) -> None:
    assert foreign_sentences(language, language) == []


def test_one_serbian_sentence_is_taken_for_macedonian() -> None:
    assert foreign_sentences("sr", "sr") == ["Не разумем зашто ми нико не одговара на писма."]


def test_pairs_of_languages_that_hardly_differ_are_mostly_told_apart() -> None:
    missed = {
        (language, expected): count
        for expected in SENTENCES
        for language, group in SENTENCES.items()
        if language != expected and (count := len(group) - len(foreign_sentences(language, expected)))
    }
    pairs = ", ".join(f"{language} for {expected} {count}" for (language, expected), count in missed.items())
    print(f"\nmissed: {pairs}")
    assert missed == {
        ("uk", "ru"): 1, ("bg", "ru"): 2, ("sr", "ru"): 1,
        ("uk", "bg"): 1, ("sr", "mk"): 4, ("en", "nl"): 1, ("en", "be"): 1, ("en", "kk"): 1, ("en", "tt"): 1,
    }  # fmt: skip
