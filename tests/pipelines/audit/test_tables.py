"""pipelines.audit.tables: the texts that a model receives; different texts have different hashes."""

import polars as pl
import pytest

from builders import tasks
from cards.statistics import ClusteringStatistics
from pipelines.audit import tables
from pipelines.audit.statistics import describe_tables
from pipelines.audit.survey import survey_tables
from pipelines.audit.tables import copied, measure_texts, model_input


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
    survey = survey_tables(tasks.Clustering(), {"default": {"test": table}}, ("test",))["default", "test"]
    assert (
        survey["hash sentences"].to_list()
        == table.select(strong(pl.col("sentences"), 3)).collect()["sentences"].to_list()
    )
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
    texts = pl.Series(list("aabbccddyz"))
    for own, seed in ((texts, 1), (texts.head(9), 0)):
        frames = {"default": {"test": own.alias("sentences").to_frame().lazy()}}
        measures = measure_texts(tasks.Clustering(), frames)["default", "test"]
        assert measures["hash sentences"].head(8).equals(pl.select(strong(pl.lit(own.head(8)), seed)).to_series())


@pytest.mark.parametrize(
    ("chosen", "least", "most"), [(pl.col("text"), 2_000_000, 9_000_000), (copied(pl.col("text")), 0, 9_000)]
)
def test_a_few_copied_texts_do_not_keep_the_others_in_memory(chosen: pl.Expr, least: int, most: int) -> None:
    texts = [f"{number:03}" * 1_000 for number in range(1_000)]
    rows = pl.LazyFrame({"text": texts}).with_row_index().filter(pl.col("index").is_in([7, 500]))
    few = rows.select(chosen).collect(engine="streaming")["text"]
    assert few.to_list() == [texts[7], texts[500]]
    assert least <= few.to_arrow(compat_level=pl.CompatLevel.newest()).get_total_buffer_size() <= most


def test_a_copy_of_no_text_is_none() -> None:
    assert pl.select(copied(pl.lit(pl.Series(["a", None, ""])))).to_series().to_list() == ["a", None, ""]
