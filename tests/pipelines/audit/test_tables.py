"""pipelines.audit.tables: the texts that a model receives. pipelines.audit.tables: different texts have different hashes."""

import polars as pl
import pytest

from builders import tasks
from cards.statistics import ClusteringStatistics
from pipelines.audit import tables
from pipelines.audit.statistics import describe_tables
from pipelines.audit.tables import collision_free_seed, model_input


def test_a_document_is_stripped_of_exactly_the_white_space_of_python() -> None:
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    texts = [f"{character}bee{character}" for character in characters]
    documents = pl.DataFrame({"title": [""] * len(texts), "text": texts})
    stripped = documents.select(document=model_input("corpus", "text"))["document"]
    assert stripped.to_list() == [text.strip() for text in texts]


def test_a_document_is_its_title_and_text_and_other_texts_are_unchanged() -> None:
    documents = pl.DataFrame({"title": ["Bees", ""], "text": ["make honey\n", " ants "]})
    inputs = documents.select(document=model_input("corpus", "text"), query=model_input("queries", "text"))
    assert inputs.rows() == [("Bees make honey", "make honey\n"), ("ants", " ants ")]


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
