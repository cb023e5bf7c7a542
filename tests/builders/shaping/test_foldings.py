"""builders.shaping.folding: foldings with a number. What is equal and what is not was written by hand, from the definition."""

import polars as pl
import pytest

from builders.shaping.folding import FOLDINGS, fold_disguise_3, fold_meaning_2, fold_text_1, fold_texts

SAME_MEANING = [
    ("Отлично!!!", "отлично !"),
    ("Ура :))", "ура)"),
    ("The ``Hit''", 'the "hit"'),
    ("(Правда) (так (и) есть)", "правда так и есть"),
    ("«Ёлка», да.", "ёлка да"),
    ("до 0.5 %", "до 0,5%"),
    ("А - Б", "а б"),
    ("было 2 - 1", "было 2 1"),
    ("да :D", "да ;D"),
]
OTHER_MEANING = [
    ("Отлично :)", "Отлично :("),
    ("Отлично :)", "Отлично"),
    ("Придёшь?", "Придёшь!"),
    ("Придёшь?", "Придёшь."),
    ("-5 градусов", "5 градусов"),
    ("\u22125", "5"),
    ("счёт 2:1", "счёт 2-1"),
    ("1.5 литра", "15 литра"),
    ("1/2", "12"),
    ("5% жира", "5 жира"),
    ("C#", "C"),
    ("да :D", "да :/"),
    ("...", "!"),
]
SAME_DISGUISED = [
    ("ёлка в лесу", "елка в лесу"),
    ("Мaма мылa раму", "Мама мыла раму"),
    ("ВОДА", "BOДA"),
    ("не\u200bвидимка\u00ad", "невидимка"),
    ("\ufeffначало", "начало"),
]


@pytest.mark.parametrize(("one", "other"), SAME_MEANING)
def test_what_means_the_same_is_equal(one: str, other: str) -> None:
    first, second = fold_texts(pl.Series([one, other]), fold_meaning_2)
    assert first == second


@pytest.mark.parametrize(("one", "other"), OTHER_MEANING)
def test_punctuation_that_carries_meaning_is_kept(one: str, other: str) -> None:
    first, second = fold_texts(pl.Series([one, other]), fold_meaning_2)
    assert first != second


@pytest.mark.parametrize(("one", "other"), SAME_DISGUISED)
def test_a_disguised_copy_is_seen(one: str, other: str) -> None:
    first, second = fold_texts(pl.Series([one, other]), fold_disguise_3)
    assert first == second


@pytest.mark.parametrize("fold", [fold_text_1, fold_meaning_2])
def test_the_other_foldings_do_not_take_one_letter_for_another(fold: object) -> None:
    first, second = fold_texts(pl.Series(["сор", "cop"]), fold)  # type: ignore[arg-type]
    assert first != second


def test_a_folding_keeps_its_number() -> None:
    assert {1: fold_text_1, 2: fold_meaning_2, 3: fold_disguise_3} == FOLDINGS


def test_a_folding_never_changes() -> None:
    """Written by hand: indexes and versions of datasets hold these."""
    text = pl.Series(["Ёж, (Cо) -5%\u200b :)"])
    assert [fold_texts(text, fold)[0] for fold in FOLDINGS.values()] == [
        "ёж cо 5 \u200b",
        "ёж cо \ue0055\ue006\u200b \ue009",
        "eж co 5",
    ]


def test_folding_a_column_is_the_same_as_folding_in_an_expression() -> None:
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    parts = ["ab", "Ёж", "№1", "e\u0301", "ΟΔΟΣ", "x—y", "«Да»", ":)", " ", "\x1c", "...", "İ", "ﬁ", "\u2017"]
    texts = pl.Series(
        "text",
        [*characters, "", *(one + other for one in parts for other in parts), *("a " + one for one in characters)],
    )
    before = texts.clone()
    assert fold_texts(texts).equals(texts.to_frame().select(fold_text_1(pl.col("text")))["text"])
    assert texts.equals(before), "the texts are not changed"
    assert fold_texts(pl.Series(["A", None])).to_list() == ["a", None]
