"""pipelines.audit.copies.containment: texts inside longer texts of an earlier split are those that comparing all pairs finds."""

import random
from itertools import accumulate, pairwise

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.audit.copies import containment
from pipelines.audit.copies.containment import EQUAL, MOST, WHOLE, find_contained

TEXT = "Пчёлы, что зимовали в улье, в марте вылетают искать вербу и орешник"
WORDS = [f"слово{number}" for number in range(40)]


def contained(*splits: list[str], other: list[list[str]] | None = None) -> list[tuple[int, int, int, int]]:
    """Row, split, earlier row and part of each text that is inside one of an earlier split."""
    columns = {"text": [text for split in splits for text in split]}
    columns |= {"other": [text for split in other for text in split]} if other else {}
    ends = list(accumulate(map(len, splits), initial=0))
    frames = [[pl.LazyFrame(columns).slice(start, stop - start)] for start, stop in pairwise(ends)]
    compared = [pl.repeat(value=True, n=len(split), eager=True) for split in splits]
    found = find_contained(frames, {name: pl.col(name) for name in columns}, compared)
    return found.select("row", "split", "earlier", "part").rows()


@pytest.mark.parametrize(
    ("longer", "text", "part"),
    [
        (f"В долине: {TEXT.upper()}!", TEXT, WHOLE),
        (f"{TEXT} в долине", TEXT.replace(",", " —"), WHOLE),
        (" ".join(["сначала", *WORDS[:20], "другое", *WORDS[21:], "и", "ещё"]), " ".join(WORDS), 0),
        (" ".join(["сначала", *WORDS, "и", "ещё"]), " ".join([*WORDS[:39], "другое"]), MOST),
        (TEXT.lower(), TEXT, EQUAL),
        ("раз два три четыре пять шесть семь восемь", "раз два три четыре пять шесть семь", 0),
        ("раз два три четыре пять шесть семь восемь девять", "раз два три четыре пять шесть семь восемь", WHOLE),
        ("Да.", "да", EQUAL),
        (TEXT, f"{TEXT} в долине", 0),
        ("", "", 0),
    ],
    ids=["inside", "at the start", "31 runs of 36", "35 runs of 36", "equal", "seven words", "eight words",
         "equal and short", "the other way round", "empty"],
)  # fmt: skip
def test_a_text_is_inside_another_with_all_its_words_or_nine_tenths_of_its_runs(
    longer: str, text: str, part: int
) -> None:
    assert contained([longer], [text]) == ([(1, 0, 0, part)] if part else [])


def test_only_earlier_splits_are_looked_into_and_each_once() -> None:
    longer = f"{TEXT} в долине"
    assert contained([TEXT], [longer]) == []
    found = contained(["Да.", longer, longer], [f"{longer} и за ней"], [TEXT])
    assert found == [(4, 0, 1, WHOLE), (4, 1, 3, WHOLE)]
    assert contained([TEXT, longer]) == []


def test_both_sides_of_a_pair_are_inside_or_equal() -> None:
    longer = f"{TEXT} в долине"
    assert contained([longer], [TEXT], other=[["Да."], ["да"]]) == [(1, 0, 0, WHOLE)]
    assert contained([longer], [TEXT], other=[["Да."], ["нет"]]) == []


@given(st.integers(0, 2**32))
def test_the_result_is_that_of_comparing_all_pairs(seed: int) -> None:
    rng = random.Random(seed)
    longer = [" ".join(rng.choices(WORDS, k=rng.choice([3, 9, 30, 60]))) for _ in range(12)]
    texts = []
    for _ in range(12):
        words = rng.choice(longer).split(" ")
        start = rng.randrange(len(words))
        words = words[start : start + rng.randrange(4, 40)]
        words[rng.randrange(len(words))] = rng.choice([words[0], "другое"])
        texts.append(" ".join(words))
    expected = {
        (12 + row)
        for row, text in enumerate(texts)
        if any(containment._contained_part(text, other) for other in longer)
    }
    assert {row for row, *_ in contained(longer, texts)} == expected


def test_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    longer = [f"{number} {TEXT} {number % 7} в долине" for number in range(30)]
    texts = [f"{TEXT} {number}" for number in range(7)]
    whole = contained(longer, texts)
    monkeypatch.setattr("pipelines.audit.copies.near_duplicates.BATCH_ROWS", 7)
    monkeypatch.setattr(containment, "CHUNK_ROWS", 3)
    monkeypatch.setattr(containment, "COMPARED_PAIRS", 2)
    assert contained(longer, texts) == whole == [(30 + number, 0, number, WHOLE) for number in range(7)]
