"""builders.ranking.bm25: ranks and scores follow its definition, and agree with bm25s."""

import hashlib
import math
import random
import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.miracl import inflected, library, made_up
from builders.ranking import bm25


def rank(
    queries: list[str], batches: Sequence[list[str | None]], depth: int = 100, parts: int = 1
) -> list[tuple[int, int, int]]:
    """Rank passages for queries: the batches of passages are counted in several parts, each in a separate folder."""
    texts = pl.Series(queries, dtype=pl.String)
    with tempfile.TemporaryDirectory() as temporary:
        counted = [Path(temporary, f"{part}") for part in range(parts)]
        for part, folder in enumerate(counted):
            first, last = (len(batches) * edge // parts for edge in (part, part + 1))
            folder.mkdir()
            bm25.count(texts, (pl.Series(batch, dtype=pl.String) for batch in batches[first:last]), folder)
        return bm25.rank(texts, counted, depth=depth).rows()


def rank_by_definition(queries: list[str], passages: list[str | None], depth: int) -> list[tuple[int, int, int]]:
    """The definition in the module's docstring, one passage and one word at a time."""
    stemmer = Stemmer.Stemmer("russian")

    def stems(text: str) -> list[str]:
        return [
            stemmer.stemWord(word.lower()) for word in re.findall("[0-9a-zA-Zа-яА-ЯёЁ]{2,}", text.replace("\u0301", ""))
        ]

    counters = [Counter(stems(passage or "")) for passage in passages]
    lengths = [counter.total() for counter in counters]
    total = sum(passage is not None for passage in passages)
    average = sum(lengths) / max(total, 1)
    best = []
    for number, query in enumerate(queries):
        scores = [0] * len(passages)
        for stem in stems(query):
            df = sum(stem in counter for counter in counters)
            idf = round(1_000_000 * math.log(1 + (total - df + 0.5) / (df + 0.5)))
            for position, counter in enumerate(counters):
                if times := counter[stem]:
                    norm = 1.5 * (0.25 + 0.75 * (lengths[position] / average))
                    scores[position] += round(idf * times / (times + norm))
        order = sorted(range(len(passages)), key=lambda position: (-scores[position], position))
        best += [(number, position, scores[position]) for position in order if scores[position]][:depth]
    return best


WORDS = (
    "река", "реки", "Рекой", "рек", "город", "Города", "в", "мост", "моста", "мостов", "7", "1874", "ёлка", "елки", "km", "", ".",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


@given(
    st.lists(TEXTS, min_size=1, max_size=4),
    st.lists(st.lists(TEXTS | st.none(), max_size=6), max_size=5),
    st.integers(1, 8),
    st.integers(1, 3),
)
def test_ranks_and_scores_follow_the_definition_however_passages_are_batched(
    queries: list[str], batches: list[list[str | None]], depth: int, parts: int
) -> None:
    passages = [passage for batch in batches for passage in batch]
    assert rank(queries, batches, depth, parts) == rank_by_definition(queries, passages, depth)


def test_a_null_keeps_its_position_and_counts_for_nothing() -> None:
    with_gap, without = (rank(["мост река"], [["мост", *gap, "река мост"]]) for gap in ([None], []))
    assert [(query, passage - (passage > 1), score) for query, passage, score in with_gap] == without


@pytest.mark.parametrize(
    ("query", "passages", "found"),
    [
        ("Мосты через реку", ["ничего", "под мостом", "реки и мост"], [2, 1]),
        ("Ледо\u0301вый тракт, зелёный", ["ледовый", "тра\u0301кт", "зеленый", "вый"], [0, 1, 2]),
        ("и в я — 7 α β «»", ["и в я", "7 α β", "— «»"], []),
        ("мост", ["новый мост", "старый дом", "новый мост", "мост"], [3, 0, 2]),
    ],
    ids=[
        "all forms of a word",
        "no stress marks, and ё is е",
        "no single letters and signs",
        "the earlier of equal ones",
    ],
)
def test_which_passages_a_query_finds(query: str, passages: list[str | None], found: list[int]) -> None:
    assert [passage for _, passage, _ in rank([query], [passages])] == found


def test_of_two_equal_passages_the_earlier_comes_first() -> None:
    many = rank(["мост река"], [["мост"] * 100 + ["мост река"] * 50, ["река"] * 50 + ["мост река"] * 50], depth=60)
    assert [passage for _, passage, _ in many] == [*range(100, 150), *range(200, 210)]


def test_a_word_that_the_query_repeats_counts_twice() -> None:
    [(_, _, once)] = rank(["мост река"], [["мост", "дом"]])
    [(_, _, twice)] = rank(["мост моста река"], [["мост", "дом"]])
    assert twice == 2 * once


def test_a_word_in_every_passage_of_a_huge_collection_is_worth_nothing() -> None:
    assert rank(["город"], [["город"] * 1_000] * 400) == []


def test_without_queries_or_passages_nothing_is_ranked() -> None:
    assert rank(["мост"], []) == rank(["мост"], [[]]) == rank([], [["мост"]]) == rank([""], [["мост"]]) == []


def test_the_stemmer_gives_the_same_stems_as_for_version_1() -> None:
    """A new release of the library must not change candidates unnoticed. PyStemmer 2.0.1 to 3.1.0 agree."""
    stems = {
        "ёлка": "елк", "важнейший": "важн", "красивейшая": "красив", "бывавших": "быва", "учащихся": "уча",
        "построенного": "построен", "принадлежностями": "принадлежн", "1874": "1874", "wikipedia": "wikipedia",
    }  # fmt: skip
    assert dict(zip(stems, bm25._stem(list(stems)), strict=True)) == stems
    endings = (
        "ами", "ого", "ение", "ейшего", "ость", "остями", "ться", "ился", "ившись", "ующий", "нного", "ее", "ьё", "ой",
    )  # fmt: skip
    words = [made_up(number) + ending for number in range(0, 20_000, 37) for ending in endings]
    digest = hashlib.sha256(" ".join(bm25._stem(words)).encode()).hexdigest()
    assert digest[:16] == "2d45905e67670fb3"


def test_bm25s_ranks_the_same_passages_with_the_same_scores() -> None:
    choose = random.Random(5)
    passages = [make_passage(choose) for _ in range(1_500)]
    queries = [" ".join(choose.sample(choose.choice(passages).split(), 4)) for _ in range(40)]
    ours = pl.DataFrame(
        rank(queries, [passages[:700], passages[700:]], 50), ["query", "passage", "score"], orient="row"
    )
    theirs = library(pl.Series(queries), passages, len(passages))
    both = ours.join(theirs, on=["query", "passage"], suffix="_bm25s")
    assert both.height == ours.height
    assert both.select((pl.col("score") / 1e6 - pl.col("score_bm25s")).abs().max()).item() < 1e-4
    fiftieth = ours.group_by("query").agg(pl.col("score").min() / 1e6)
    better = theirs.join(fiftieth, on="query", suffix="_fiftieth").filter(
        pl.col("score") > pl.col("score_fiftieth") + 1e-4
    )
    missed = better.join(ours, on=["query", "passage"], how="anti")
    assert missed.is_empty(), "a passage that bm25s scores clearly above our fiftieth is among our fifty"


def make_passage(choose: random.Random) -> str:
    """A passage in which words with low numbers are frequent."""
    numbers = (int(1 / (choose.random() + 0.004)) for _ in range(choose.randrange(4, 60)))
    return " ".join(inflected(choose, made_up(number)) for number in numbers)
