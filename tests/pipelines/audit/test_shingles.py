"""pipelines.audit.shingles: texts that are equal once folded have the same rough shingles, whatever bytes they are written in."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.shaping.folding import fold_text
from pipelines.audit import shingles
from pipelines.audit.shingles import rough_shingles

PIECES = st.sampled_from(
    [
        *(
            "bee",
            "hive,",
            "-",
            "\u2014",
            "\u2026",
            "кто-то",
            "a\xa0b",
            "\n",
            "Ёж",
            "ёж",
            "ЩУКА",
            "щука",
            "Ünter",
            "ünter",
            "«да»",
        ),
        *(
            "\ufb01",
            "e\u0301",
            "и\u0306",
            "Σ",
            "ΟΔΟΣ",
            "1,5",
            "+",
            "😀",
            "\x00",
            "\x85",
            "€",
            "ß",
            "Ї",
            "І",
            "昨天",
            "longerthansixteen",
        ),
    ]
) | st.text(st.characters(codec="utf-8", exclude_characters="№"), max_size=3)
TEXT = st.lists(PIECES, max_size=14).map(" ".join)


def rows(*columns: list[str]) -> list[list[int]]:
    found = rough_shingles([pl.Series(texts, dtype=pl.String) for texts in columns])
    return [found.values[begin:end].tolist() for begin, end in zip(found.edges, found.edges[1:], strict=False)]


def folded(texts: list[str]) -> list[str]:
    return pl.DataFrame({"text": texts}, {"text": pl.String}).select(fold_text(pl.col("text")))["text"].to_list()


@settings(max_examples=150, deadline=None)
@given(st.lists(TEXT, max_size=6), st.integers(1, 6))
def test_folding_a_text_changes_nothing(texts: list[str], long: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shingles, "LONG", long)
        assert rows(texts) == rows(folded(texts))


def test_folding_changes_nothing_whatever_the_character() -> None:
    texts = [f"ab {chr(code)}cd{chr(code)}" * 2 for code in range(0x3000) if chr(code) != "№"]
    assert rows(texts) == rows(folded(texts))


@settings(max_examples=50, deadline=None)
@given(st.lists(TEXT, min_size=1, max_size=6))
def test_a_text_has_the_same_shingles_wherever_it_stands(texts: list[str]) -> None:
    assert rows(texts) == [rows([text])[0] for text in texts]


def test_a_long_text_is_cut_into_words_and_a_short_one_into_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shingles, "LONG", 5)
    long, short = rows(["eins zwei drei vier fünf sechs", "ей-богу, да"])
    assert (len(long), len(short)) == (6, len("ей богу да"))
    assert (len(set(long)), len(set(short))) == (6, 10)


def test_words_are_told_apart_though_not_by_their_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shingles, "LONG", 1)
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
    assert len({tuple(row) for row in rows(words)}) == len(words)
    assert len({tuple(row) for row in rows(["антидепрессант", "антидепрессивный"])}) == 1


def test_two_columns_are_a_row_of_shingles_of_both_told_apart() -> None:
    first, second, both = rows(["bees fly"])[0], rows(["ants walk"])[0], rows(["bees fly"], ["ants walk"])[0]
    assert both[: len(first)] == first
    assert len(both) == len(first) + len(second)
    assert set(rows(["bees"], ["bees"])[0]) > set(rows(["bees"])[0])


def test_the_sign_for_number_is_left_out() -> None:
    assert rows(["дом № 5", "дом №5"]) == rows(["дом 5"] * 2)


def test_what_has_no_letter_and_no_digit_has_no_shingle() -> None:
    assert rows(["", " ", "...", "+ \u2014 €"]) == [[], [], [], []]
