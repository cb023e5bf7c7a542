"""pipelines.audit.copies.near_duplicates: MinHash finds the same near-duplicates as comparing all pairs."""

import os
import random
import subprocess
import sys
import tempfile
import tracemalloc
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from builders.errors import DatasetError
from builders.shaping.folding import fold_text_1
from pipelines.audit.copies import near_duplicates
from pipelines.audit.copies.near_duplicates import find_near_duplicates
from pipelines.audit.copies.shingles import LONG_TEXT_WORDS, OVERLAP_WORDS, SHINGLE_CHARACTERS, SHINGLE_WORDS
from tests.support.paths import ROOT

LEXICON = ("улей", "Дом", "река", "honey", "Bäcker", "это", "и", "в", "№5", "1,5", "Ёж", "конец", "ей-богу", "wax")


def find_matches(
    *columns: list[str], splits: list[int] | None = None, compared: list[bool] | None = None, reordered: bool = False
) -> list[tuple[int, int, int]]:
    """All rows that are near-duplicates of an earlier one, each with a split and the earlier row found in it.

    reordered: those with the same words in another order, in place of the others.
    """
    rows = len(columns[0])
    frame = pl.LazyFrame({f"text{number}": texts for number, texts in enumerate(columns)})
    return (
        find_near_duplicates(
            [frame],
            {name: pl.col(name) for name in frame.collect_schema()},
            pl.Series(splits or [0] * rows, dtype=pl.UInt32),
            pl.Series(compared or [True] * rows),
        )
        .filter(pl.col("is_reordered") == reordered)
        .select("row", "split", "earlier")
        .rows()
    )


def near_duplicate_rows(
    *columns: list[str], splits: list[int] | None = None, compared: list[bool] | None = None
) -> list[tuple[int, int]]:
    """All rows that are near-duplicates of an earlier one, each with the split of that one."""
    return [(row, split) for row, split, _ in find_matches(*columns, splits=splits, compared=compared)]


def is_near(one: str, other: str) -> bool:
    """Whether two texts are near-duplicates by the definition."""
    words = [text.split(" ") for text in (one, other)]
    by_words = min(map(len, words)) >= LONG_TEXT_WORDS
    size = SHINGLE_WORDS if by_words else SHINGLE_CHARACTERS
    first, second = (
        {tuple(units[start : start + size]) for start in range(max(1, len(units) - size + 1))}
        for units in (words if by_words else (one, other))
    )
    return 10 * len(first & second) >= 9 * len(first | second)


def compare_all_pairs(*columns: list[str], splits: list[int], compared: list[bool]) -> set[tuple[int, int, int]]:
    """All pairs of rows that are near-duplicates: the later row, the split of the earlier one, and that one."""
    folded = [
        pl.DataFrame({"text": column}).select(fold_text_1(pl.col("text")))["text"].to_list() for column in columns
    ]
    return {
        (later, splits[earlier], earlier)
        for later in range(len(splits))
        for earlier in range(later)
        if compared[earlier] and compared[later] and all(is_near(column[earlier], column[later]) for column in folded)
    }


def random_text(rng: random.Random) -> str:
    """A text of any length; some are about as long as LONG_TEXT_WORDS."""
    words = rng.choice(
        [1, 2, 5, 20, 40, LONG_TEXT_WORDS - 1, LONG_TEXT_WORDS, LONG_TEXT_WORDS + 1, OVERLAP_WORDS, 2 * LONG_TEXT_WORDS]
    )
    return " ".join(rng.choice(LEXICON) + rng.choice(["", ",", "."]) + str(rng.randrange(200)) for _ in range(words))


def edit_text(text: str, rng: random.Random) -> str:
    """The text with up to three small edits; folding removes some of them."""
    words = text.split(" ")
    for _ in range(rng.randrange(4)):
        position, edit = rng.randrange(len(words)), rng.random()
        word = words[position]
        words[position] = (
            "XX" if edit < 0.2 else word.upper() if edit < 0.6 else f"\u201e{word}!" if edit < 0.8 else word[:-1]
        )
    return " ".join(words + ["ещё"] * rng.choice([0, 0, 1, 3]))


@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(1, 2))
@example(1, 1, 1)
def test_the_result_is_that_of_comparing_all_pairs(seed: int, splits: int, columns: int) -> None:
    rng = random.Random(seed)
    originals = [[random_text(rng) for _ in range(columns)] for _ in range(4)]
    rows = [[edit_text(text, rng) for text in rng.choice(originals)] for _ in range(20)]
    texts = [[row[column] for row in rows] for column in range(columns)]
    numbers, compared = sorted(rng.randrange(splits) for _ in rows), [rng.random() < 0.9 for _ in rows]
    pairs = compare_all_pairs(*texts, splits=numbers, compared=compared)
    matches = find_matches(*texts, splits=numbers, compared=compared)
    assert set(matches) <= pairs
    assert [match[:2] for match in matches] == sorted({pair[:2] for pair in pairs})


SENTENCE = "Пчёлы, что зимовали в улье, в марте вылетают искать вербу и орешник, которые цветут в долине раньше всех."


NEAR_SENTENCE = SENTENCE.replace("долине", "долинке")
WORDS = [f"{LEXICON[number % 8]}{number}" for number in range(LONG_TEXT_WORDS)]
START = " ".join(SENTENCE.split(" ")[:12])


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        ([[SENTENCE, NEAR_SENTENCE]], [1]),
        ([[SENTENCE, SENTENCE.replace("раньше", "намного раньше")]], []),
        ([[" ".join(WORDS), " ".join([*WORDS[:30], "другое", *WORDS[31:]])]], [1]),
        ([[" ".join(WORDS), " ".join([*WORDS[:20], "другое", *WORDS[21:40], "другое", *WORDS[41:]])]], []),
        ([[" ".join(WORDS), " ".join(reversed(WORDS))]], []),
        ([[SENTENCE, SENTENCE.upper().replace(",", " —"), "Да.", "да!", "\uff21\uff22", "ab"]], [1, 3, 5]),
        ([["", "", "...", "...", "+", "+"]], []),
        ([[SENTENCE] * 2, ["Это правда.", "Это ложь."]], []),
        ([[SENTENCE, NEAR_SENTENCE], ["Это правда.", "это правда"]], [1]),
        ([[SENTENCE, "Да."], ["Да.", SENTENCE]], []),
        ([[START, f"now {START}"]], [1]),
        ([[START, f"{START} now"]], [1]),
    ],
    ids=[
        *("a letter of a hundred", "a word of a hundred letters", "one word of sixty", "two words of sixty", "another order"),
        *("folding", "no letters", "one side of a pair", "both sides", "swapped sides", "a word before", "a word behind"),
    ],
)  # fmt: skip
def test_texts_are_near_duplicates_if_they_share_nine_tenths(columns: list[list[str]], rows: list[int]) -> None:
    assert [row for row, _ in near_duplicate_rows(*columns)] == rows


def test_the_same_words_in_another_order_are_found_in_every_split() -> None:
    texts = [
        "Мама мыла раму.",
        "cat dog",
        "Раму мыла мама!",
        "dat cog",
        "dog, cat",
        "мыла мама мыла раму",
        "раму: мама мыла",
    ]
    assert find_matches(texts, splits=[0, 0, 0, 1, 1, 1, 1], reordered=True) == [(2, 0, 0), (4, 0, 1), (6, 0, 0)]
    assert find_matches(["а б", "б а", "б а"], ["в г", "г в", "в г г"], reordered=True) == [(1, 0, 0)]


def test_of_a_chain_of_near_duplicates_each_is_found_in_the_split_before() -> None:
    chain = [SENTENCE, f"{SENTENCE} так", f"{SENTENCE} так и вот", f"{SENTENCE} так и вот снова"]
    assert [match[:2] for match in find_matches(chain, splits=[0, 1, 2, 3])] == [(1, 0), (2, 0), (2, 1), (3, 2)]


def test_a_row_is_reported_once_for_each_split_and_never_for_a_later_one() -> None:
    assert near_duplicate_rows([SENTENCE] * 5, splits=[0, 0, 1, 1, 2]) == [
        (1, 0),
        (2, 0),
        (3, 0),
        (3, 1),
        (4, 0),
        (4, 1),
    ]
    assert near_duplicate_rows([SENTENCE] * 3, splits=[0, 0, 1], compared=[True, False, True]) == [(2, 0)]


@pytest.mark.parametrize("words", range(LONG_TEXT_WORDS - 2, OVERLAP_WORDS + 2))
def test_a_text_without_its_last_word_is_a_near_duplicate_at_every_length(words: int) -> None:
    text = " ".join(f"{LEXICON[number % 8]}{number}" for number in range(words))
    assert near_duplicate_rows([text, text.rpartition(" ")[0]]) == [(1, 0)]


PROMPT = f"{SENTENCE} {SENTENCE[::-1]} Задача номер {{number}}: назови птицу, которая в это время поёт над полем."


def test_a_leak_is_found_among_many_texts_of_one_template_in_its_own_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_duplicates, "MAX_NEIGHBOURS", 3)
    texts = [PROMPT.format(number=number) for number in range(100_000, 100_400)]
    matches = near_duplicate_rows(texts, splits=[0] * 200 + [1] * 200)
    assert [row for row, split in matches if split == 0 and row >= 200] == list(range(200, 400))


def test_all_near_duplicates_among_texts_of_one_template_are_found() -> None:
    texts = [SENTENCE.replace("марте", f"марте {number:05d}") for number in range(0, 700, 7)]
    pairs = compare_all_pairs(texts, splits=[0] * len(texts), compared=[True] * len(texts))
    expected = sorted({row for row, _, _ in pairs})
    assert 0 < len(expected) < len(texts) - 1
    assert [row for row, _ in near_duplicate_rows(texts)] == expected


def test_a_text_is_compared_with_a_limited_number_of_earlier_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []

    def compare(_: object, earlier: list[int], later: list[int]) -> npt.NDArray[np.bool_]:
        compared.append(len(later))
        return np.zeros(len(earlier), np.bool_)

    monkeypatch.setattr(near_duplicates, "_compare_pairs", compare)
    texts = [f"{SENTENCE} {number}" for number in range(30)]
    assert near_duplicate_rows(texts) == []
    unlimited, compared = sum(compared), []
    monkeypatch.setattr(near_duplicates, "MAX_NEIGHBOURS", 2)
    assert near_duplicate_rows(texts) == []
    assert 0 < sum(compared) < unlimited <= 30 * 29 / 2


def test_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    originals = [random_text(rng) for _ in range(5)]
    texts = [edit_text(rng.choice(originals), rng) for _ in range(60)]
    whole = find_matches(texts)
    monkeypatch.setattr(near_duplicates, "BATCH_ROWS", 7)
    monkeypatch.setattr(near_duplicates, "EXACT_ROWS", 4)
    monkeypatch.setattr(near_duplicates, "CHUNK_ROWS", 3)
    monkeypatch.setattr(near_duplicates, "COMPARED_PAIRS", 5)
    monkeypatch.setattr(near_duplicates, "AT_ONCE", 50)
    monkeypatch.setattr(near_duplicates, "HELD", 0)
    assert find_matches(texts) == whole != []


def test_more_candidates_than_the_usual_bits_can_number_are_compared_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(near_duplicates, "SET_BITS", 1)
    test_all_near_duplicates_among_texts_of_one_template_are_found()


def test_many_candidates_take_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near_duplicates, "AT_ONCE", 1 << 14)
    monkeypatch.setattr(near_duplicates, "HELD", 0)
    monkeypatch.setattr(near_duplicates, "CHUNK_ROWS", 50)
    monkeypatch.setattr(near_duplicates, "EXACT_ROWS", 50)
    rng = random.Random(7)
    lexicon = ["".join(rng.choices("абвгдежзик", k=6)) for _ in range(400)]
    texts: list[str] = []
    for _ in range(200):
        words = rng.choices(
            lexicon, k=70
        )  # each text has the shingles of its letters, 480 numbers of 8 bytes, and of its words
        texts += [" ".join([*words[:place], rng.choice(lexicon), *words[place + 1 :]]) for place in range(4)]

    def peak(count: int) -> int:
        find_matches(texts[:count])
        tracemalloc.start()
        find_matches(texts[:count])
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak(800) - peak(160) < 640 * 480 * 8


def test_a_full_disk_is_named_with_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "TemporaryFile", partial(Path("/dev/full").open, "r+b"))
    with pytest.raises(DatasetError, match="a temporary file cannot be written") as raised:
        find_matches([SENTENCE, f"{SENTENCE} 1"])
    assert raised.value.where == tempfile.gettempdir()
    assert raised.value.found == "No space left on device"
    assert "TMPDIR" in str(raised.value)


def test_an_empty_table_has_no_near_duplicates() -> None:
    empty = pl.LazyFrame({"text": []}, {"text": pl.String})
    rows = find_near_duplicates(
        [empty], {"text": pl.col("text")}, pl.Series([], dtype=pl.UInt32), pl.Series([], dtype=pl.Boolean)
    )
    assert rows.rows() == []


SCRIPT = """
import sys
import polars as pl
from pipelines.audit.copies.near_duplicates import compute_bands
texts = [sys.argv[1] + " " * n + str(n // 2) for n in range(50)]
print(compute_bands(pl.DataFrame({"text": texts}))[1].tolist())
"""


def test_the_bands_depend_neither_on_the_number_of_threads_nor_on_the_process() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT, SENTENCE],
            cwd=ROOT,
            env=os.environ | {"POLARS_MAX_THREADS": threads, "RAYON_NUM_THREADS": threads, "PYTHONHASHSEED": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "3")
    }
    assert len(outputs) == 1
