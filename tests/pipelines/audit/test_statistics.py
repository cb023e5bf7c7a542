"""pipelines.audit.statistics: mteb's names and formulas, exact on every row, in JSON that reads back as the same records.
pipelines.audit.statistics: labels are counted in ascending order.
"""

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from builders import tasks
from builders.errors import ReleaseError
from cards.figures import statistics_table
from cards.statistics import (
    BitextStatistics,
    PreferenceStatistics,
    RetrievalStatistics,
    read_statistics,
    to_json,
)
from pipelines.audit import statistics
from pipelines.audit.statistics import count_labels
from tests.support.tables import COLOURS, TASKS, as_lazy, clean_tables

WORDS = ["", " ", "a", "A", "ab", "Ёж", "😀", "e\u0301", "a b", "\u2028", "\x1c", "\x85", "<b>"]
TEXT = st.sampled_from(WORDS) | st.text(st.characters(codec="utf-8"), max_size=3)
NOT_IN_MTEB = ("text_length_quantiles", "languages", "preferences")


def describe(task: tasks.Task, tables: Any) -> dict[str, Any]:
    """The statistics as JSON, without the figures that mteb does not have."""
    values: dict[str, Any] = without_our_figures(to_json(statistics.describe_tables(task, tables)))
    return values


def without_our_figures(values: Any) -> Any:
    if not isinstance(values, dict):
        return values
    return {key: without_our_figures(value) for key, value in values.items() if key not in NOT_IN_MTEB}


def frames(**tables: pl.DataFrame) -> dict[str, dict[str, pl.LazyFrame]]:
    """Tables with one split, test, by config (`en_to_de` for `en-de`)."""
    return {config.replace("_to_", "-"): {"test": frame.lazy()} for config, frame in tables.items()}


def texts(total: int, least: int, average: float, most: int, unique: int) -> dict[str, Any]:
    return {
        "total_text_length": total,
        "min_text_length": least,
        "average_text_length": average,
        "max_text_length": most,
        "unique_texts": unique,
    }


def labels(average: float, least: int, most: int, **counts: int) -> dict[str, Any]:
    return {
        "min_labels_per_text": least,
        "average_label_per_text": average,
        "max_labels_per_text": most,
        "unique_labels": len(counts),
        "labels": {name.removeprefix("_"): {"count": count} for name, count in counts.items()},
    }


def test_classification_counts_the_test_texts_that_train_has() -> None:
    train = pl.DataFrame({"text": ["a", "b", "b"], "label": [0, 1, 1], "label_text": ["red", "green", "green"]})
    test = pl.DataFrame(
        {"text": ["Ёж", "b", "b", "a"], "label": [2, 0, 2, 2], "label_text": ["blue", "red", "blue", "blue"]}
    )
    task = tasks.Classification(labels=COLOURS, splits=("train", "test"))
    assert describe(task, {"default": {"train": train.lazy(), "test": test.lazy()}}) == {
        "train": {
            "num_samples": 3,
            "samples_in_train": None,
            "text_statistics": texts(3, 1, 1.0, 1, 2),
            "label_statistics": labels(1.0, 1, 1, _0=1, _1=2),
        },
        "test": {
            "num_samples": 4,
            "samples_in_train": 2,
            "text_statistics": texts(5, 1, 1.25, 2, 3),
            "label_statistics": labels(1.0, 1, 1, _0=1, _2=3),
        },
    }


@pytest.mark.parametrize(
    ("task", "columns", "expected"),
    [
        (
            tasks.Classification(labels=COLOURS),
            {"text": ["a"], "label": [0], "label_text": ["red"]},
            {
                "num_samples": 1,
                "samples_in_train": None,
                "text_statistics": texts(1, 1, 1.0, 1, 1),
                "label_statistics": labels(1.0, 1, 1, _0=1),
            },
        ),
        (
            tasks.MultilabelClassification(labels=COLOURS),
            {"text": ["a", "bc", "", "d"], "label": [[0, 2], [], [2], []]},
            {
                "num_samples": 4,
                "samples_in_train": None,
                "text_statistics": texts(4, 0, 1.0, 2, 4),
                "label_statistics": labels(0.75, 0, 2, **{"None": 2, "_0": 1, "_2": 2}),
            },
        ),
        (
            tasks.PairClassification(names=("no", "yes")),
            {"sentence1": ["a", "b", "a"], "sentence2": ["b", "a", "b"], "labels": [1, 0, 1]},
            {
                "num_samples": 3,
                "number_of_characters": 6,
                "unique_pairs": 2,
                "text1_statistics": texts(3, 1, 1.0, 1, 2),
                "text2_statistics": texts(3, 1, 1.0, 1, 2),
                "labels_statistics": labels(1.0, 1, 1, _0=1, _1=2),
            },
        ),
        (
            tasks.STS(low=0, high=1),
            {"sentence1": ["a", "b", "cc"], "sentence2": ["b", "a", ""], "score": [0.25, 0.5, 1.0]},
            {
                "num_samples": 3,
                "number_of_characters": 6,
                "unique_pairs": 2,
                "text1_statistics": texts(4, 1, 4 / 3, 2, 3),
                "text2_statistics": texts(2, 0, 2 / 3, 1, 3),
                "label_statistics": {"min_score": 0.25, "avg_score": 1.75 / 3, "max_score": 1.0},
            },
        ),
        (
            tasks.Clustering(),
            {"sentences": ["a", "bcd", "a"], "labels": ["wax", "honey", "wax"]},
            {
                "num_samples": 3,
                "text_statistics": texts(5, 1, 5 / 3, 3, 2),
                "labels_statistics": labels(1.0, 1, 1, honey=1, wax=2),
            },
        ),
    ],
    ids=[
        "classification without train",
        "rows without a label",
        "pairs in their order",
        "pairs and their reverse",
        "clusters",
    ],
)
def test_a_split_has_the_figures_of_mteb_in_its_order(
    task: tasks.Task, columns: dict[str, list[Any]], expected: dict[str, Any]
) -> None:
    described = describe(task, frames(default=pl.DataFrame(columns)))
    assert list(described) == ["test"]
    assert list(described["test"].items()) == list(expected.items())


def test_bitext_gives_the_figures_of_its_language_pair_twice_like_mteb() -> None:
    test = pl.DataFrame({"id": ["0", "1"], "sentence1": ["bee", "ant"], "sentence2": ["Biene", "Ameise"]})
    described = describe(tasks.BitextMining(pair="en-de"), frames(en_to_de=test))["test"]
    pair = described.pop("hf_subset_descriptive_stats")
    assert pair == {"en-de": described}
    assert described == {
        "num_samples": 2,
        "number_of_characters": 17,
        "unique_pairs": 2,
        "sentence1_statistics": texts(6, 3, 3.0, 3, 2),
        "sentence2_statistics": texts(11, 5, 5.5, 6, 2),
    }


CORPUS = pl.DataFrame({"id": ["d1", "d2", "d3"], "title": ["Bee", "", " "], "text": ["makes honey", " ants ", "ants"]})
QUERIES = pl.DataFrame({"id": ["q1", "q2"], "text": ["who?", " what "]})
QRELS = pl.DataFrame(
    {"query-id": ["q1", "q2", "q2", "q2"], "corpus-id": ["d1", "d2", "d3", "d1"], "score": [1, 1, 2, 0]}
)
RANKED = pl.DataFrame({"query-id": ["q1", "q2"], "corpus-ids": [["d2", "d1"], ["d1", "d2", "d3"]]})


@pytest.mark.parametrize("task", [tasks.Retrieval(), tasks.Reranking()], ids=["retrieval", "reranking"])
def test_retrieval_measures_documents_as_a_model_receives_them(task: tasks.Task) -> None:
    reranking = isinstance(task, tasks.Reranking)
    tables = frames(corpus=CORPUS, queries=QUERIES, qrels=QRELS) | (frames(top_ranked=RANKED) if reranking else {})
    assert describe(task, tables)["test"] == {
        "num_samples": 5,
        "num_queries": 2,
        "num_documents": 3,
        "number_of_characters": 33,
        "documents_text_statistics": texts(23, 4, 23 / 3, 15, 2),
        "queries_text_statistics": texts(10, 4, 5.0, 6, 2),
        "relevant_docs_statistics": {
            "num_relevant_docs": 3,
            "min_relevant_docs_per_query": 1,
            "average_relevant_docs_per_query": 1.5,
            "max_relevant_docs_per_query": 2,
            "unique_relevant_docs": 3,
            "num_missing_query_ids": 0,
            "num_missing_corpus_ids": 0,
            "queries_with_all_gold_black_or_white": 0,
        },
        "top_ranked_statistics": {
            "num_top_ranked": 5,
            "min_top_ranked_per_query": 2,
            "average_top_ranked_per_query": 2.5,
            "max_top_ranked_per_query": 3,
        }
        if reranking
        else None,
    }


def test_candidates_are_averaged_over_all_queries_like_in_mteb() -> None:
    tables = frames(corpus=CORPUS, queries=QUERIES, qrels=QRELS, top_ranked=RANKED.tail(1))
    described = describe(tasks.Reranking(), tables)["test"]["top_ranked_statistics"]
    assert (described["average_top_ranked_per_query"], described["min_top_ranked_per_query"]) == (1.5, 3)


PREFERENCES = pl.DataFrame({"query-id": ["q1", "q2"], "corpus-ids": [["d2", "d1"], ["d3", "d2"]]})


def describe_preferences(relevant: dict[str, str], ranked: pl.DataFrame) -> PreferenceStatistics | None:
    qrels = pl.DataFrame({"query-id": list(relevant), "corpus-id": list(relevant.values()), "score": 1})
    queries = QUERIES.filter(pl.col("id").is_in(list(relevant)))
    tables = frames(corpus=CORPUS, queries=queries, qrels=qrels, top_ranked=ranked)
    described = statistics.describe_tables(tasks.Reranking(), tables)["test"]
    assert isinstance(described, RetrievalStatistics)
    assert described.top_ranked_statistics
    return described.top_ranked_statistics.preferences


@pytest.mark.parametrize(
    ("relevant", "ranked", "preferences"),
    [
        ({"q1": "d1", "q2": "d3"}, PREFERENCES, PreferenceStatistics(2, 1, 1.0)),
        ({"q1": "d2", "q2": "d2"}, PREFERENCES, PreferenceStatistics(2, 1, 0.0)),
        ({"q1": "d1", "q2": "d1"}, PREFERENCES, None),
        ({"q2": "d3"}, PREFERENCES.tail(1), PreferenceStatistics(1, 1, None)),
        ({"q1": "d1", "q2": "d2"}, RANKED, None),
    ],
    ids=["the longer candidate", "the shorter candidate", "neither", "equal length", "longer lists"],
)
def test_preferences_say_how_often_the_longer_candidate_is_the_relevant_one(
    relevant: dict[str, str], ranked: pl.DataFrame, preferences: PreferenceStatistics | None
) -> None:
    assert describe_preferences(relevant, ranked) == preferences


@pytest.mark.extra("mteb")
def test_judgements_have_the_figures_of_mteb() -> None:
    from mteb.types.statistics import RelevantDocsStatistics

    described = describe(tasks.Retrieval(), frames(corpus=CORPUS, queries=QUERIES, qrels=QRELS))["test"]
    assert described["relevant_docs_statistics"].keys() == RelevantDocsStatistics.__annotations__.keys()
    shown = statistics_table(tasks.Retrieval(), {"test": described})
    assert [name for name, _ in shown if "black" in name] == []


def test_splits_are_in_the_order_of_the_task() -> None:
    one = pl.LazyFrame({"sentences": ["a"], "labels": ["wax"]})
    described = describe(
        tasks.Clustering(splits=("train", "dev", "test")), {"default": {"test": one, "dev": one, "train": one}}
    )
    assert list(described) == ["train", "dev", "test"]


def test_an_average_does_not_depend_on_the_order_of_rows() -> None:
    scores = [0.1] * 10 + [5.0, 1e-9] * 20
    pairs = {"sentence1": ["a"] * 50, "sentence2": ["b"] * 50}
    tables = [frames(default=pl.DataFrame(pairs | {"score": order})) for order in (scores, scores[::-1])]
    one, other = (describe(tasks.STS(low=0, high=5), table)["test"]["label_statistics"] for table in tables)
    assert one == other


def plain_texts(values: list[str]) -> dict[str, Any]:
    lengths = [len(value) for value in values]
    return texts(sum(lengths), min(lengths), sum(lengths) / len(lengths), max(lengths), len(set(values)))


def plain_documents(rows: list[tuple[str, str]]) -> list[str]:
    return [(title + " " + text).strip() if title else text.strip() for title, text in rows]


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1), st.lists(st.tuples(TEXT, TEXT), min_size=1))
@example([("\x1c", "\u3000a\x85"), ("", "a")], [("a", "b"), ("b", "a")])
def test_texts_are_measured_as_plain_python_would(
    documents: list[tuple[str, str]], pairs: list[tuple[str, str]]
) -> None:
    ids = [f"d{number}" for number in range(len(documents))]
    corpus = pl.DataFrame({"id": ids, "title": [d[0] for d in documents], "text": [d[1] for d in documents]})
    queries = pl.DataFrame({"id": [f"q{n}" for n in range(len(pairs))], "text": [first for first, _ in pairs]})
    qrels = queries.select(pl.col("id").alias("query-id"), pl.lit("d0").alias("corpus-id"), score=pl.lit(1, pl.Int64))
    retrieval = describe(tasks.Retrieval(), frames(corpus=corpus, queries=queries, qrels=qrels))["test"]
    assert retrieval["documents_text_statistics"] == plain_texts(plain_documents(documents))
    assert retrieval["queries_text_statistics"] == plain_texts([first for first, _ in pairs])

    sentences = {"sentence1": [first for first, _ in pairs], "sentence2": [second for _, second in pairs]}
    bitext = describe(tasks.BitextMining(pair="en-de"), frames(en_to_de=pl.DataFrame(sentences)))["test"]
    sts = describe(tasks.STS(low=0, high=0), frames(default=pl.DataFrame(sentences | {"score": [0.0] * len(pairs)})))[
        "test"
    ]
    assert bitext["sentence1_statistics"] == sts["text1_statistics"] == plain_texts(sentences["sentence1"])
    assert bitext["sentence2_statistics"] == sts["text2_statistics"] == plain_texts(sentences["sentence2"])
    assert bitext["unique_pairs"] == len(set(pairs))
    assert sts["unique_pairs"] == len({tuple(sorted(pair)) for pair in pairs})


@given(st.dictionaries(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), st.integers(0, 2), min_size=1))
def test_judgements_are_counted_as_plain_python_would(judged: dict[tuple[str, str], int]) -> None:
    rows = [(query, document, score) for (query, document), score in judged.items()]
    qrels = pl.DataFrame(rows, ["query-id", "corpus-id", "score"], orient="row")
    corpus = pl.DataFrame({"id": ["x", "y"], "title": ["", ""], "text": ["1", "2"]})
    queries = pl.DataFrame({"id": ["a", "b"], "text": ["1", "2"]})
    per_query: dict[str, int] = defaultdict(int)
    for query, _, score in rows:
        per_query[query] += score != 0
    described = describe(tasks.Retrieval(), frames(corpus=corpus, queries=queries, qrels=qrels))["test"]
    assert described["relevant_docs_statistics"] == {
        "num_relevant_docs": sum(per_query.values()),
        "min_relevant_docs_per_query": min(per_query.values()),
        "average_relevant_docs_per_query": sum(per_query.values()) / len(per_query),
        "max_relevant_docs_per_query": max(per_query.values()),
        "unique_relevant_docs": len({document for _, document in judged}),
        "num_missing_query_ids": len({query for query, _ in judged} - {"a", "b"}),
        "num_missing_corpus_ids": len({document for _, document in judged} - {"x", "y"}),
        "queries_with_all_gold_black_or_white": 0,
    }


def test_the_chunks_of_a_frame_change_nothing() -> None:
    whole = pl.DataFrame({"sentences": [f"text {n % 7}" for n in range(50)], "labels": [str(n % 3) for n in range(50)]})
    pieces = pl.concat([whole.slice(start, 3) for start in range(0, 50, 3)], rechunk=False)
    assert pieces.n_chunks() > 10
    one, other = (statistics.describe_tables(tasks.Clustering(), frames(default=frame)) for frame in (pieces, whole))
    assert one == other


@pytest.mark.parametrize("task_type", TASKS)
def test_the_json_of_statistics_reads_back_as_the_same_records(task_type: str, tmp_path: Path) -> None:
    described = statistics.describe_tables(TASKS[task_type], as_lazy(clean_tables(task_type)))
    path = tmp_path / "statistics.json"
    path.write_text(json.dumps(to_json(described), allow_nan=False), encoding="utf-8")
    assert read_statistics(path) == described


def test_statistics_without_quantiles_and_languages_are_read(tmp_path: Path) -> None:
    path = tmp_path / "statistics.json"
    described = describe(TASKS["BitextMining"], as_lazy(clean_tables("BitextMining")))
    path.write_text(json.dumps(described), encoding="utf-8")
    record = read_statistics(path)["test"]
    assert isinstance(record, BitextStatistics)
    assert (record.sentence1_statistics.text_length_quantiles, record.sentence1_statistics.languages) == ({}, None)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ('{"test": {"num_samples": 3, "labels_statistics": {}}}', "test: Object missing required field"),
        (
            '{"train": {"num_samples": "3", "text_statistics": {}}}',
            "train: Expected `int`, got `str` - at `$.num_samples`",
        ),
        ('{"test": [1, 2]}', "test: Expected `object`, got `array`"),
        ('{"test": {"num_samples": 3', "truncated"),
        ("\xff", "invalid"),
    ],
)
def test_invalid_statistics_are_an_error_with_file_and_path(content: str, found: str, tmp_path: Path) -> None:
    path = tmp_path / "statistics.json"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(ReleaseError) as error:
        read_statistics(path)
    assert error.value.where == str(path)
    assert found in str(error.value.found)


def test_a_missing_statistics_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="invalid statistics"):
        read_statistics(tmp_path / "statistics.json")


@given(st.lists(st.lists(st.integers(0, 11), unique=True, max_size=4), min_size=1))
def test_labels_are_in_ascending_order_after_rows_without_a_label(rows: list[list[int]]) -> None:
    counted = Counter(label for row in rows for label in (row or [None]))
    expected = sorted(counted.items(), key=lambda item: (item[0] is not None, item[0] or 0))
    frame = pl.DataFrame({"label": rows}, {"label": pl.List(pl.Int64)}).lazy()
    assert list(count_labels(frame, "label").items()) == expected
