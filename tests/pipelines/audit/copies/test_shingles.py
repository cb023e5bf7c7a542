"""pipelines.audit.copies.shingles: texts that are equal after folding have the same rough shingles, whatever their bytes."""

from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.shaping.folding import fold_text_1
from pipelines.audit.copies import shingles
from pipelines.audit.copies.shingles import read_words, rough_shingles

PIECES = st.sampled_from(
    [
        *("bee", "hive,", "-", "\u2014", "\u2026", "кто-то", "a\xa0b", "\n", "Ёж", "ёж", "ЩУКА", "щука", "Ünter"),
        *("ünter", "«да»", "\ufb01", "e\u0301", "и\u0306", "Σ", "ΟΔΟΣ", "1,5", "+", "😀", "\x00", "\x85", "€", "ß"),
        *("Ї", "І", "昨天", "longerthansixteen"),
    ]
) | st.text(st.characters(codec="utf-8", exclude_characters="№"), max_size=3)
TEXT = st.lists(PIECES, max_size=14).map(" ".join)


def shingle_rows(*columns: list[str]) -> list[list[int]]:
    rows, rough = rough_shingles([read_words(pl.Series(texts, dtype=pl.String)) for texts in columns])
    shingles: list[list[int]] = [[] for _ in columns[0]]
    for row, (start, stop) in zip(rows, pairwise(rough.offsets), strict=True):
        shingles[row] += rough.values[start:stop].tolist()
    return shingles


def fold_texts(texts: list[str]) -> list[str]:
    return pl.DataFrame({"text": texts}, {"text": pl.String}).select(fold_text_1(pl.col("text")))["text"].to_list()


@given(st.lists(TEXT, max_size=6), st.integers(1, 6))
def test_folding_a_text_first_changes_nothing(texts: list[str], long: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shingles, "LONG_TEXT_WORDS", long)
        patch.setattr(shingles, "OVERLAP_WORDS", long + 2)
        assert shingle_rows(texts) == shingle_rows(fold_texts(texts))


def test_folding_a_text_first_changes_nothing_for_any_character() -> None:
    texts = [f"ab {chr(code)}cd{chr(code)}" * 2 for code in range(0x3000) if chr(code) != "№"]
    assert shingle_rows(texts) == shingle_rows(fold_texts(texts))


@given(st.lists(TEXT, min_size=1, max_size=6))
def test_the_shingles_of_a_text_do_not_depend_on_other_texts(texts: list[str]) -> None:
    assert shingle_rows(texts) == [shingle_rows([text])[0] for text in texts]


def test_the_units_of_a_long_text_are_words_and_those_of_a_short_one_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shingles, "LONG_TEXT_WORDS", 4)
    monkeypatch.setattr(shingles, "OVERLAP_WORDS", 6)
    long, both, short = shingle_rows(["eins zwei drei vier fünf sechs", "eins zwei drei vier", "ей-богу, да"])
    assert len(set(long)) == 4
    assert len(set(both)) == 2 + len("eins zwei drei vier") - 4
    assert len(set(short)) == len("ей богу да") - 4


def test_words_differ_but_the_ends_of_long_words_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shingles, "LONG_TEXT_WORDS", 1)
    monkeypatch.setattr(shingles, "OVERLAP_WORDS", 1)
    words = [
        "бобр",
        "бобра",
        "бобры",
        "лось",
        "лоси",
        "лосось",
        "elk",
        "elks",
        "Elch",
        "1",
        "2",
        "12",
        "изба",
        "избаба",
    ]
    assert len({tuple(row) for row in shingle_rows(words)}) == len(words)
    assert len({tuple(row) for row in shingle_rows(["антидепрессант", "антидепрессивный"])}) == 1


def test_a_row_has_the_shingles_of_both_columns_and_equal_ones_differ() -> None:
    [first], [second] = shingle_rows(["bees fly"]), shingle_rows(["ants run"])
    [both] = shingle_rows(["bees fly"], ["ants run"])
    assert both[: len(first)] == first
    assert len(both) == len(first) + len(second)
    assert set(shingle_rows(["bees"], ["bees"])[0]) > set(shingle_rows(["bees"])[0])


def test_the_numero_sign_is_ignored() -> None:
    assert shingle_rows(["дом № 5", "дом №5"]) == shingle_rows(["дом 5"] * 2)


def test_a_text_without_letters_and_digits_has_no_shingles() -> None:
    assert shingle_rows(["", " ", "...", "+ \u2014 €"]) == [[], [], [], []]
