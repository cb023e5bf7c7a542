"""pipelines.audit.tables: different texts have different hashes."""

import polars as pl
import pytest

from builders import tasks
from pipelines.audit import tables
from pipelines.audit.statistics import ClusteringStatistics, describe_tables
from pipelines.audit.tables import collision_free_seed


def test_a_seed_with_colliding_texts_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    strong = pl.Expr.hash
    monkeypatch.setattr(
        pl.Expr,
        "hash",
        lambda expr, seed=0: strong(expr, seed) if seed > 2 else expr.str.len_chars().cast(pl.UInt64),
    )
    table = pl.LazyFrame({"sentences": ["aa", "bb", "c", "aa"], "labels": ["x", "y", "x", "y"]})
    assert collision_free_seed([table.select(text="sentences")]) == 3
    record = describe_tables(tasks.Clustering(), {"default": {"test": table}})["test"]
    assert isinstance(record, ClusteringStatistics)
    assert record.text_statistics.unique_texts == 3


def test_repeated_hashes_are_compared_in_passes_down_to_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    strong = pl.Expr.hash
    weak_for_one_pair = pl.when(pl.col("text").is_in(["y", "z"])).then(pl.lit(1, pl.UInt64))
    monkeypatch.setattr(
        pl.Expr,
        "hash",
        lambda expr, seed=0: strong(expr, seed) if seed else weak_for_one_pair.otherwise(strong(expr, seed)),
    )
    monkeypatch.setattr(tables, "HASHES_PER_PASS", 1)
    repeated = pl.LazyFrame({"text": list("aabbccddyz")})
    assert collision_free_seed([repeated]) == 1
    assert collision_free_seed([repeated.filter(pl.col("text") != "z")]) == 0
