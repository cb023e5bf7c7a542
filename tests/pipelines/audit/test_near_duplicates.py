"""pipelines.audit.near_duplicates: what MinHash finds, and what comparing all with all finds, is the same."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from typing import TYPE_CHECKING

import polars as pl
from hypothesis import example, given, settings
from hypothesis import strategies as st

from builders.shaping.folding import fold_text
from pipelines.audit import near_duplicates as module
from pipelines.audit.near_duplicates import find_near_duplicates
from pipelines.audit.shingles import CHARACTERS, LONG, WORDS
from tests.support.paths import ROOT

if TYPE_CHECKING:
    import pytest

LEXICON = ("улей", "Дом", "река", "honey", "Bäcker", "это", "и", "в", "№5", "1,5", "Ёж", "конец", "ей-богу", "wax")


def found_in(
    *columns: list[str], splits: list[int] | None = None, wanted: list[bool] | None = None
) -> list[tuple[int, int]]:
    """Row and split of the earlier one, for all rows that are nearly the same as one before them."""
    texts = pl.LazyFrame({f"text{number}": texts for number, texts in enumerate(columns)})
    numbers = pl.Series(splits or [0] * len(columns[0]), dtype=pl.UInt32)
    return find_near_duplicates(
        texts,
        {name: pl.col(name) for name in texts.collect_schema()},
        numbers,
        pl.Series(wanted or [True] * len(columns[0])),
    ).rows()


def plain_shingles(texts: list[str]) -> list[set[tuple[str, ...]]]:
    """The shingles of texts, with the last runs cut short by the end of the text, as the definition says."""
    sets = []
    for text in pl.DataFrame({"text": texts}).select(fold_text(pl.col("text")))["text"]:
        words = text.split(" ")
        units, size = (words, WORDS) if len(words) >= LONG else (list(text), CHARACTERS)
        sets.append({tuple(units[place : place + size]) for place in range(len(units))})
    return sets


def all_with_all(*columns: list[str], splits: list[int], wanted: list[bool]) -> list[tuple[int, int]]:
    sets, found = [plain_shingles(texts) for texts in columns], set()
    for later in range(len(splits)):
        for earlier in range(later):
            pairs = [(texts[earlier], texts[later]) for texts in sets]
            near = all(10 * len(one & other) >= 9 * len(one | other) for one, other in pairs)
            if near and wanted[earlier] and wanted[later]:
                found.add((later, splits[earlier]))
    return sorted(found)


def written(chance: random.Random) -> str:
    """A text of any length, short ones and ones about as long as LONG among them."""
    words = chance.choice([1, 2, 5, 20, 40, LONG - 1, LONG, LONG + 1, 2 * LONG])
    numbered = (
        chance.choice(LEXICON) + chance.choice(["", ",", "."]) + str(chance.randrange(200)) for _ in range(words)
    )
    return " ".join(numbered)


def edited(text: str, chance: random.Random) -> str:
    """The text with up to three small changes, some of which folding takes away again."""
    words = text.split(" ")
    for _ in range(chance.randrange(4)):
        place, kind = chance.randrange(len(words)), chance.random()
        word = words[place]
        words[place] = (
            "XX" if kind < 0.2 else word.upper() if kind < 0.6 else f"\u201e{word}!" if kind < 0.8 else word[:-1]
        )
    return " ".join(words + ["ещё"] * chance.choice([0, 0, 1, 3]))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(1, 2))
@example(1, 1, 1)
def test_what_is_found_is_what_comparing_all_with_all_finds(seed: int, splits: int, columns: int) -> None:
    chance = random.Random(seed)
    originals = [[written(chance) for _ in range(columns)] for _ in range(4)]
    rows = [[edited(text, chance) for text in chance.choice(originals)] for _ in range(20)]
    texts = [[row[column] for row in rows] for column in range(columns)]
    numbers, wanted = sorted(chance.randrange(splits) for _ in rows), [chance.random() < 0.9 for _ in rows]
    assert found_in(*texts, splits=numbers, wanted=wanted) == all_with_all(*texts, splits=numbers, wanted=wanted)


SENTENCE = "Пчёлы, что зимовали в улье, в марте вылетают искать вербу и орешник, которые цветут в долине раньше всех."


def test_one_letter_more_in_a_hundred_is_nearly_the_same_and_a_word_more_is_not() -> None:
    assert found_in([SENTENCE, SENTENCE.replace("долине", "долинке")]) == [(1, 0)]
    assert found_in([SENTENCE, SENTENCE.replace("раньше", "намного раньше")]) == []


def test_one_word_of_sixty_may_be_another_and_two_may_not() -> None:
    words = [f"{LEXICON[number % 8]}{number}" for number in range(LONG)]
    one, two = words.copy(), words.copy()
    one[30] = two[20] = two[40] = "другое"
    assert found_in([" ".join(words), " ".join(one), " ".join(two)]) == [(1, 0)]


def test_order_tells_two_long_texts_apart() -> None:
    words = [f"{LEXICON[number % 8]}{number}" for number in range(LONG)]
    assert found_in([" ".join(words), " ".join(reversed(words))]) == []


def test_folding_takes_nothing_from_two_texts() -> None:
    assert found_in([SENTENCE, SENTENCE.upper().replace(",", " —"), "Да.", "да!", "\uff21\uff22", "ab"]) == [
        (1, 0),
        (3, 0),
        (5, 0),
    ]


def test_texts_without_a_letter_are_not_compared() -> None:
    assert found_in(["", "", "...", "...", "+", "+"]) == []


def test_both_sides_of_a_pair_must_be_nearly_the_same() -> None:
    near_one = SENTENCE.replace("долине", "долинке")
    assert found_in([SENTENCE] * 2, ["Это правда.", "Это ложь."]) == []
    assert found_in([SENTENCE, near_one], ["Это правда.", "это правда"]) == [(1, 0)]
    assert found_in([SENTENCE, "Да."], ["Да.", SENTENCE]) == []


def test_a_row_is_told_of_each_split_once_and_never_of_a_later_one() -> None:
    assert found_in([SENTENCE] * 5, splits=[0, 0, 1, 1, 2]) == [(1, 0), (2, 0), (3, 0), (3, 1), (4, 0), (4, 1)]
    assert found_in([SENTENCE] * 3, splits=[0, 0, 1], wanted=[True, False, True]) == [(2, 0)]


def test_among_many_alike_each_that_is_near_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAIRS_AT_ONCE", 30)
    monkeypatch.setattr(module, "COMPARED_AT_ONCE", 7)
    texts = [SENTENCE.replace("марте", f"марте {number:05d}") for number in range(40)]
    expected = all_with_all(texts, splits=[0] * 40, wanted=[True] * 40)
    assert 0 < len(expected) < 40
    assert found_in(texts) == expected


def test_a_text_is_compared_with_so_many_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_alike", lambda pairs, sets: compared.append(pairs.height) or pairs.clear())
    compared: list[int] = []
    texts = [f"{SENTENCE} {number}" for number in range(30)]
    assert found_in(texts) == []
    everything, compared = sum(compared), []
    monkeypatch.setattr(module, "NEIGHBOURS", 2)
    assert found_in(texts) == []
    assert 0 < sum(compared) < everything <= 30 * 29 / 2


def test_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(3)
    originals = [written(chance) for _ in range(5)]
    texts = [edited(chance.choice(originals), chance) for _ in range(60)]
    whole = found_in(texts)
    monkeypatch.setattr(module, "BATCH", 7)
    monkeypatch.setattr(module, "AT_ONCE", 3)
    assert found_in(texts) == whole != []


def test_an_empty_table_has_nothing() -> None:
    nothing = pl.LazyFrame({"text": []}, {"text": pl.String})
    none = find_near_duplicates(
        nothing, {"text": pl.col("text")}, pl.Series([], dtype=pl.UInt32), pl.Series([], dtype=pl.Boolean)
    )
    assert none.rows() == []


FINDER = """
import sys
import polars as pl
from pipelines import near
texts = [sys.argv[1] + " " * n + str(n // 2) for n in range(50)]
print(near._bands(pl.LazyFrame({"text": texts})).tolist())
"""


def test_neither_the_number_of_threads_nor_the_process_changes_what_is_compared() -> None:
    told = {
        subprocess.run(
            [sys.executable, "-c", FINDER, SENTENCE],
            cwd=ROOT,
            env=os.environ | {"POLARS_MAX_THREADS": threads, "RAYON_NUM_THREADS": threads, "PYTHONHASHSEED": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "3")
    }
    assert len(told) == 1
