"""pipelines.audit.statistics: quantiles of lengths, and languages."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from builders import tasks
from cards.statistics import LanguageStatistics, TextStatistics
from pipelines.audit.languages import LARGE_TABLE, SAMPLE, sample_rows, sample_tables
from pipelines.audit.statistics import QUANTILES, describe_texts
from pipelines.audit.tables import measure_texts


def describe(task: tasks.Task, **tables: pl.DataFrame) -> dict[tuple[str, str], TextStatistics]:
    """The statistics of the texts of a dataset with one split, by config and column."""
    frames = {config: {"test": frame.lazy()} for config, frame in tables.items()}
    described = describe_texts(task, measure_texts(task, frames), sample_tables(task, frames))
    return {(config, column): record for (config, _, column), record in described.items()}


def describe_sentences(texts: list[str]) -> TextStatistics:
    table = pl.DataFrame({"sentences": texts, "labels": ["wax"] * len(texts)})
    return describe(tasks.Clustering(), default=table)["default", "sentences"]


def shares(record: TextStatistics) -> dict[str, float]:
    assert record.languages is not None
    return record.languages.shares


def test_quantiles_are_lengths_that_occur() -> None:
    assert describe_sentences(["b" * length for length in range(100, 0, -1)]).text_length_quantiles == {
        "p01": 1,
        "p05": 5,
        "p25": 25,
        "p50": 50,
        "p75": 75,
        "p95": 95,
        "p99": 99,
    }
    assert set(describe_sentences(["", "bees"]).text_length_quantiles.values()) == {0, 4}


@given(st.lists(st.integers(0, 9), min_size=1, max_size=300))
def test_a_quantile_is_the_least_length_that_enough_texts_do_not_exceed(lengths: list[int]) -> None:
    quantiles = describe_sentences(["b" * length for length in lengths]).text_length_quantiles
    for percent in QUANTILES:
        enough = [
            length for length in lengths if 100 * sum(other <= length for other in lengths) >= percent * len(lengths)
        ]
        assert quantiles[f"p{percent:02d}"] == min(enough)


RUSSIAN = "Вчера вечером мы долго сидели на берегу и смотрели, как уходят лодки."
ENGLISH = "Yesterday evening we sat by the river for hours and watched the boats leave."


def test_languages_are_those_of_the_texts_with_enough_letters() -> None:
    languages = describe_sentences([RUSSIAN, ENGLISH, RUSSIAN, "Короче."]).languages
    assert languages == LanguageStatistics(3, {"ru": 2 / 3, "en": 1 / 3})
    assert describe_sentences(["Короче."]).languages == LanguageStatistics(0, {})


def test_each_column_has_its_languages_and_a_document_includes_its_title() -> None:
    pairs = pl.DataFrame({"sentence1": [RUSSIAN], "sentence2": [ENGLISH], "score": [0.0]})
    described = describe(tasks.STS(low=0, high=1), default=pairs)
    assert shares(described["default", "sentence1"]) == {"ru": 1.0}
    assert shares(described["default", "sentence2"]) == {"en": 1.0}
    corpus = pl.DataFrame({"id": ["d1"], "title": [ENGLISH], "text": ["Short."]})
    queries = pl.DataFrame({"id": ["q1", "q2"], "text": ["who?", " what "]})
    described = describe(tasks.Retrieval(), corpus=corpus, queries=queries)
    assert described["corpus", "text"].languages == LanguageStatistics(1, {"en": 1.0})
    assert described["queries", "text"].languages == LanguageStatistics(0, {})


def test_languages_come_from_the_same_sample_of_a_large_table() -> None:
    rows = LARGE_TABLE + 50
    inside = set(sample_rows(pl.Series([f"row {number}" for number in range(rows)])))
    texts = [RUSSIAN if row in inside else ENGLISH for row in range(rows)]
    assert describe_sentences(texts).languages == LanguageStatistics(SAMPLE, {"ru": 1.0})
