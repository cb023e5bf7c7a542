"""builders.shaping.folding: foldings with a number. What is equal and what is not was written by hand, from the definition."""

from collections.abc import Callable

import polars as pl
import pytest

from builders.shaping.folding import FOLDINGS, fold_case, fold_disguise_3, fold_meaning_2, fold_text_1, fold_texts

# Pairs of texts by folding.
EQUAL = {
    fold_text_1: [
        ("Хорошо!", "хорошо"),
        ("да,нет", "Да – нет…"),
        (" две\xa0\nстроки ", "две строки"),
        ("№ 5", "No 5"),
        ("\ufb01n", "fin"),
        ("е\u0308лка", "ёлка"),
    ],
    fold_case: [("Sand.", "sand"), (" the  wind?! ", "The wind"), (",A knife", "a knife"), ("...", " ... ")],
    fold_meaning_2: [
        ("Отлично!!!", "отлично !"),
        ("Ура :))", "ура)"),
        ("The ``Hit''", 'the "hit"'),
        ("(Правда) (так (и) есть)", "правда так и есть"),
        ("«Ёлка», да.", "ёлка да"),
        ("до 0.5 %", "до 0,5%"),
        ("А - Б", "а б"),
        ("было 2 - 1", "было 2 1"),
        ("да :D", "да ;D"),
    ],
    fold_disguise_3: [
        ("ёлка в лесу", "елка в лесу"),
        ("Мaма мылa раму", "Мама мыла раму"),
        ("ВОДА", "BOДA"),
        ("не\u200bвидимка\u00ad", "невидимка"),
        ("\ufeffначало", "начало"),
    ],
}
DIFFERENT = {
    fold_text_1: [(":)", ":("), ("...", "!"), ("5+5", "5 5"), ("кот", "кит"), ("", "."), ("сор", "cop")],
    fold_case: [
        *(("?", "..."), ("?", "!"), ("...", ""), (",", "?"), ("-2", "2"), (".5", "5"), ("5%", "5"), ("5+5", "5 5")),
    ],
    fold_meaning_2: [
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
        ("сор", "cop"),
    ],
}


@pytest.mark.parametrize(
    ("fold", "one", "other", "equal"),
    [
        *((fold, *pair, True) for fold, pairs in EQUAL.items() for pair in pairs),
        *((fold, *pair, False) for fold, pairs in DIFFERENT.items() for pair in pairs),
    ],
)
def test_what_a_folding_makes_equal_and_what_stays_apart(
    fold: Callable[[pl.Expr], pl.Expr], one: str, other: str, *, equal: bool
) -> None:
    first, second = pl.DataFrame({"text": [one, other]}).select(fold(pl.col("text")))["text"]
    assert (first == second) is equal


def test_a_folding_keeps_its_number() -> None:
    assert {1: fold_text_1, 2: fold_meaning_2, 3: fold_disguise_3} == FOLDINGS


def test_a_folding_never_changes() -> None:
    """Written by hand: indexes and versions of datasets hold these."""
    text = pl.DataFrame({"text": ["Ёж, (Cо) -5%\u200b :)"]})
    assert [text.select(fold(pl.col("text"))).item() for fold in FOLDINGS.values()] == [
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
