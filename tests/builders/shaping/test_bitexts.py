"""Sets from bitexts: which pairs are of use, and which side is the query."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl
import pytest

from builders.errors import SourceError
from builders.shaping.bitexts import ALL, bitext_set, build_bitext, draw_direction, measure_bitext, pairs_of_bitext
from builders.shaping.popularity import PairSet
from builders.spec import Raw, RawFiles, Tables
from pipelines.make import GOLDEN
from tests.support.measurements import write_cosines, write_tokens
from tests.support.training import count_dropped, table_of

PAIRS = [
    ("One two.", "Раз два."),
    (" ", "Пусто."),
    ("Nothing.", None),
    ("Café 24", "CAFÉ 24 "),
    ("One two.", "Раз, два."),
    ("One, two.", "Раз два."),
    ("Three four.", "Три четыре."),
    ("Five six.", "Пять шесть."),
    ("Seven eight.", "Семь восемь."),
]
COSINES = {0: 0.9, 5: 0.99, 6: 0.745, 7: 0.85, 8: 0.3}


def read(_: Mapping[str, Raw]) -> Iterator[pl.DataFrame]:
    frame = pl.DataFrame(PAIRS, {"query": pl.String, "positive": pl.String}, orient="row")
    numbered = frame.with_columns(number=pl.int_range(pl.len(), dtype=pl.Int64))
    yield numbered.head(4)
    yield numbered.slice(4)


def bitext(pool: int = ALL) -> PairSet:
    return bitext_set("set", read, pool, {"the number seven": pl.col("query").str.contains("Seven")})


@pytest.fixture
def raw(tmp_path: Path) -> RawFiles:
    """The raw files of a bitext without cosines: its pairs are in this module."""
    texts = {text.strip(): len(text) for pair in PAIRS for text in pair if text}
    files = {
        "tokens": write_tokens(tmp_path / "tokens.parquet", texts | {"Three four.": 500}),
        "index": Raw("source/benchmark-index.parquet", GOLDEN / "ru_hnp" / "raw" / "benchmark-index.parquet"),
    }
    (tmp_path / "scratch").mkdir()
    return RawFiles(("train",), files, tmp_path / "scratch")


def with_cosines(raw: RawFiles, cosines: Mapping[int, float]) -> RawFiles:
    path = raw.files["tokens"].path.with_name("cosines.parquet")
    written = write_cosines(path, {(PAIRS[number][0], str(PAIRS[number][1])): one for number, one in cosines.items()})
    return RawFiles(raw.splits, {**raw.files, "cosines": written}, raw.scratch)


def numbers(tables: Tables) -> list[int]:
    return [int(name.rpartition(":")[2]) for name in table_of(tables)["id"]]


def test_pairs_that_are_empty_equal_or_repeated_are_dropped_by_reason_and_the_others_stay_aligned(
    raw: RawFiles,
) -> None:
    tables = build_bitext(raw, "source", bitext(), rows=9)
    assert numbers(tables) == [0, 6, 7]
    assert count_dropped(tables) == {
        "an empty side": 2,
        "two sides that are equal, ignoring case": 1,
        "the number seven": 1,
        "the query of an earlier row": 1,
        "the positive of an earlier row": 1,
    }
    for query, positives in table_of(tables).select("query", "positives").iter_rows():
        assert (query, positives[0]) in PAIRS or (positives[0], query) in PAIRS
    assert tables.observed["rows of set in the source"] == len(PAIRS)


def test_the_threshold_of_the_cosine_leaves_twice_the_rows_of_the_set(raw: RawFiles) -> None:
    tables = build_bitext(with_cosines(raw, COSINES), "source", bitext(), rows=1)
    assert tables.observed["threshold of LaBSE cosine, in hundredths"] == 85
    assert count_dropped(tables)["a lower LaBSE cosine than the threshold"] == 1
    assert tables.observed["rows of set to choose from"] == 2
    assert set(numbers(tables)) < {0, 7}


def test_a_pair_that_was_not_compared_is_refused(raw: RawFiles) -> None:
    with pytest.raises(SourceError, match="1 pair not measured"):
        build_bitext(with_cosines(raw, {0: 0.5, 6: 0.5}), "source", bitext(), rows=1)


def test_what_is_measured_is_what_a_build_looks_up(raw: RawFiles) -> None:
    texts = pl.concat(measure_bitext("source", bitext(), ())[0].texts({}))["text"]
    assert "Раз, два." in texts.to_list()
    assert not {"", "Пусто.", "Nothing.", "Seven eight."} & set(texts)
    pairs = pl.concat(pairs_of_bitext("source", bitext(), raw.files))
    assert pairs.rows() == [PAIRS[0], PAIRS[6], PAIRS[7]]


def test_the_pool_is_the_same_whatever_the_rows_of_the_set(raw: RawFiles) -> None:
    pool = pl.concat(pairs_of_bitext("source", bitext(2), raw.files))
    assert pool.height == 2
    built = table_of(build_bitext(raw, "source", bitext(2), rows=9))
    assert {
        frozenset((query, positives[0])) for query, positives in built.select("query", "positives").iter_rows()
    } == {frozenset(pair) for pair in pool.iter_rows()}


def test_about_half_of_the_queries_are_english_and_each_follows_from_its_id() -> None:
    rows = pl.DataFrame(
        {"id": [f"s:{number}" for number in range(2000)], "query": ["en"] * 2000, "positives": [["ru"]] * 2000}
    )
    drawn = draw_direction(rows)
    english = drawn.filter(query="en").height
    assert 900 < english < 1100
    assert drawn.filter(pl.col("query") == pl.col("positives").list.first()).height == 0
    assert draw_direction(rows.reverse()).reverse().equals(drawn)
