"""Pools: which rows of a ranking a set is sampled from, however the source is cut into batches."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.errors import RecipeError, SourceError
from builders.shaping import popularity
from builders.shaping.measurements import read_tokens
from builders.shaping.popularity import PairSet, Pool, build_sets, select_pool, texts_to_measure
from builders.spec import Raw, RawFiles
from pipelines.make import GOLDEN
from tests.support.measurements import write_tokens
from tests.support.reading import write_raw

COLUMNS = {"number": pl.Int64, "query": pl.String, "positive": pl.String, "votes": pl.Int64, "views": pl.Int64}
Row = tuple[int, str | None, str | None, int | None, int | None]


def rows_of(*votes: int | None) -> list[Row]:
    """Rows with these votes, numbered from 1."""
    return [(number, f"q{number}", f"p{number}", vote, 0) for number, vote in enumerate(votes, 1)]


def pair_set(rows: list[Row], size: int, *, batch: int = 100, **options: Any) -> PairSet:
    def read(_: Mapping[str, Raw]) -> Iterator[pl.DataFrame]:
        for start in range(0, len(rows), batch):
            yield pl.DataFrame(rows[start : start + batch], COLUMNS, orient="row")

    return PairSet("s", size, read, **{"popularity": ("votes", "views")} | options)


def pool_of(one: PairSet, folder: Path, long: tuple[str, ...] = (), **options: Any) -> Pool:
    """The pool of a set. long: texts of 501 tokens; all others have one."""
    texts = [text for batch in texts_to_measure((one,), "x", {}) for text in batch["text"]]
    tokens = read_tokens(write_tokens(folder / "tokens.parquet", {text: 501 if text in long else 1 for text in texts}))
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    pool = select_pool(one, {}, "x", tokens, scratch, **options)
    assert not list(scratch.iterdir())
    return pool


def ids(pool: Pool) -> list[int]:
    return sorted(int(one.rpartition(":")[2]) for one in pool.rows["id"])


def dropped(pool: Pool) -> dict[str, tuple[str, ...]]:
    return {drop.reason: drop.examples for drop in pool.dropped}


def test_the_pool_is_the_most_popular_rows_twice_as_many_as_the_set_has(tmp_path: Path) -> None:
    pool = pool_of(pair_set(rows_of(5, 1, 9, 7, 3), 2), tmp_path)
    assert ids(pool) == [1, 3, 4, 5]
    assert pool.observed == {
        "rows of s in the source": 5,
        "rows of s of at most 500 tokens a text": 5,
        "rows of s after deduplication": 5,
        "rows of s in the pool": 4,
        "votes of the last row in the pool of s": 3,
        "views of the last row in the pool of s": 0,
    }
    assert pool.dropped == ()


def test_ties_go_to_the_next_number_then_to_the_smallest_id_and_null_is_the_least(tmp_path: Path) -> None:
    rows: list[Row] = [(9, "a", "1", 5, 1), (2, "b", "2", 5, 2), (3, "c", "3", 5, 1), (4, "d", "4", None, 99)]
    assert [ids(pool_of(pair_set(rows, 1), tmp_path, times=times)) for times in (1, 2, 3)] == [[2], [2, 3], [2, 3, 9]]
    pool = pool_of(pair_set(rows, 2), tmp_path)
    assert ids(pool) == [2, 3, 4, 9]
    assert "votes of the last row in the pool of s" not in pool.observed


def test_a_source_with_fewer_rows_gives_all_of_them(tmp_path: Path) -> None:
    assert ids(pool_of(pair_set(rows_of(1, 2, 3), 2), tmp_path)) == [1, 2, 3]


def test_a_source_without_records_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="too few records"):
        pool_of(pair_set([], 2), tmp_path)


def test_long_and_repeated_rows_leave_the_ranking_before_the_pool_is_cut(tmp_path: Path) -> None:
    rows = rows_of(9, 8, 7, 6, 5, 4)
    rows[1] = (2, "q1", "p2", 8, 0)
    rows[2] = (3, " q1\n", "p1\u2003", 7, 0)
    pool = pool_of(pair_set(rows, 1), tmp_path, long=("p4",))
    assert ids(pool) == [1, 5]
    assert dropped(pool) == {
        "a positive of more than 500 tokens (texts)": ("x:s:4",),
        "no positive of at most 500 tokens": ("x:s:4",),
        "the query of a row ranked above it": ("x:s:2",),
        "the query and positive of a row ranked above it": ("x:s:3",),
    }
    assert pool.observed["rows of s in the source"] == 6


def test_of_equal_queries_the_most_popular_row_stays_also_if_they_differ_in_unicode_normalization(
    tmp_path: Path,
) -> None:
    rows: list[Row] = [(1, "й", "a", 1, 0), (2, "и\u0306", "b", 2, 0), (2, "another", "c", 1, 0)]
    pool = pool_of(pair_set(rows, 3), tmp_path)
    assert pool.rows["query"].to_list() == ["и\u0306"]
    assert dropped(pool) == {
        "the id of a row ranked above it": ("x:s:2",),
        "the query of a row ranked above it": ("x:s:1",),
    }


def test_rows_that_no_set_can_use_are_dropped_by_their_first_reason(tmp_path: Path) -> None:
    rows: list[Row] = [
        (1, None, None, 9, 0),
        (2, " \t", "a positive", 9, 0),
        (3, "q", "\u2028", 9, 0),
        (4, "the same", " the same", 9, 0),
        (5, "q5", "short", 9, 0),
        (6, " q6 ", "long enough\n", 1, 0),
    ]
    checks = {
        "no answer": pl.col("positive").is_null(),
        "under 6 characters": pl.col("positive").str.len_chars().is_between(1, 5),
    }
    pool = pool_of(pair_set(rows, 3, checks=checks), tmp_path)
    assert pool.rows.rows() == [("x:s:6", "q6", ["long enough"], [])]
    assert dropped(pool) == {
        "an empty positive": ("x:s:3",),
        "an empty query": ("x:s:2",),
        "no answer": ("x:s:1",),
        "the positive is the query": ("x:s:4",),
        "under 6 characters": ("x:s:5",),
    }


@pytest.mark.parametrize("batch", [1, pytest.param(3, marks=pytest.mark.slow), 7])
@pytest.mark.parametrize("batch_rows", [1, 4])
@pytest.mark.parametrize("by", [("votes", "views"), ()], ids=["popularity", "hash order"])
def test_batches_and_scratch_files_do_not_change_the_pool(
    by: tuple[str, ...], batch_rows: int, batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [(n, f"q{n % 17}", f"p{n % 5}" if n % 7 else "long", n * 7919 % 23, n % 3) for n in range(40)]
    whole = pool_of(pair_set(rows, 4, popularity=by), tmp_path, long=("long",))
    monkeypatch.setattr(popularity, "BATCH_ROWS", batch_rows)
    pool = pool_of(pair_set(rows, 4, batch=batch, popularity=by), tmp_path, long=("long",))
    assert pool.rows.equals(whole.rows)
    assert (pool.dropped, pool.observed) == (whole.dropped, whole.observed)
    assert pool.rows.height == 8


def build(one: PairSet, folder: Path, **options: Any) -> pl.DataFrame:
    texts = [text for batch in texts_to_measure((one,), "x", {}) for text in batch["text"]]
    tokens = write_tokens(folder / "tokens.parquet", dict.fromkeys(texts, 1))
    index = write_raw(folder, (GOLDEN / "ru_hnp" / "raw" / "benchmark-index.parquet").read_bytes(), "x/index.parquet")
    raw = RawFiles(("train",), {"tokens": tokens, "index": index}, folder)
    frame = build_sets(raw, "x", (one,), **options).frames["s"]["train"]
    assert isinstance(frame, pl.DataFrame)
    return frame


def test_without_popularity_a_set_is_the_sample_of_all_rows_however_large_its_pool_is(tmp_path: Path) -> None:
    one = pair_set(rows_of(*range(40)), 5, popularity=())
    samples = [build(one, tmp_path, times=times)["id"].to_list() for times in (1, 2, 100)]
    assert samples[0] == samples[1] == samples[2]
    assert len(samples[0]) == 5


def test_a_set_is_a_sample_of_its_pool_and_not_the_top_of_it(tmp_path: Path) -> None:
    names = build(pair_set(rows_of(*range(40)), 10), tmp_path)["id"].to_list()
    numbers = {int(name.rpartition(":")[2]) for name in names}
    assert len(numbers) == 10
    assert numbers < set(range(21, 41))
    assert numbers != set(range(31, 41))


def test_a_text_that_was_not_measured_is_an_error(tmp_path: Path) -> None:
    tokens = read_tokens(write_tokens(tmp_path / "tokens.parquet", {"q1": 1}))
    with pytest.raises(SourceError, match="1 text not measured"):
        select_pool(pair_set(rows_of(1), 1), {}, "x", tokens, tmp_path)


def test_without_token_counts_no_text_is_too_long_and_without_unique_queries_they_may_repeat(tmp_path: Path) -> None:
    rows: list[Row] = [(1, "q", "p1", 3, 0), (2, "q", "p2", 2, 0), (3, "q", "p1", 1, 0), (4, "r", "p1", 0, 0)]
    pool = select_pool(pair_set(rows, 4, unique_queries=False), {}, "x", None, tmp_path)
    assert ids(pool) == [1, 2, 4]
    assert dropped(pool) == {"the query and positive of a row ranked above it": ("x:s:3",)}
    assert not [name for name in pool.observed if "tokens" in name]
