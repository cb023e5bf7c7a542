"""pipelines.audit.statistics: mteb's names and formulas, exact on every row, the same however a frame is cut."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from builders import tasks
from pipelines.audit import statistics
from pipelines.audit.languages import SAMPLE, UNDETERMINED, sample_rows
from pipelines.audit.statistics import QUANTILES, collision_free_seed, label_counts

COLOURS = ("red", "green", "blue")
WORDS = ["", " ", "a", "A", "ab", "Ёж", "😀", "e\u0301", "a b", "\u2028", "\x1c", "\x85", "<b>"]
TEXT = st.sampled_from(WORDS) | st.text(st.characters(codec="utf-8"), max_size=3)


OURS = ("text_length_quantiles", "languages")


def describe(task: tasks.Task, tables: Any) -> dict[str, Any]:
    """What statistics.describe says under mteb's names."""
    named: dict[str, Any] = named_by_mteb(statistics.describe_tables(task, tables))
    return named


def named_by_mteb(values: Any) -> Any:
    if not isinstance(values, dict):
        return values
    return {key: named_by_mteb(value) for key, value in values.items() if key not in OURS}


def frames(**tables: pl.DataFrame) -> dict[str, dict[str, pl.LazyFrame]]:
    """Tables of one split, test, by config."""
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


def test_a_release_without_train_cannot_say_how_much_of_it_leaks() -> None:
    test = pl.DataFrame({"text": ["a"], "label": [0], "label_text": ["red"]})
    described = describe(tasks.Classification(labels=COLOURS), frames(default=test))
    assert list(described) == ["test"]
    assert described["test"]["samples_in_train"] is None


def test_a_multilabel_row_without_a_label_counts_as_none() -> None:
    test = pl.DataFrame({"text": ["a", "bc", "", "d"], "label": [[0, 2], [], [2], []]})
    described = describe(tasks.MultilabelClassification(labels=COLOURS), frames(default=test))
    assert described["test"] == {
        "num_samples": 4,
        "samples_in_train": None,
        "text_statistics": texts(4, 0, 1.0, 2, 4),
        "label_statistics": labels(0.75, 0, 2, **{"None": 2, "_0": 1, "_2": 2}),
    }


def test_pair_classification_counts_pairs_in_their_order() -> None:
    test = pl.DataFrame({"sentence1": ["a", "b", "a"], "sentence2": ["b", "a", "b"], "labels": [1, 0, 1]})
    described = describe(tasks.PairClassification(names=("no", "yes")), frames(default=test))
    assert described["test"] == {
        "num_samples": 3,
        "number_of_characters": 6,
        "unique_pairs": 2,
        "text1_statistics": texts(3, 1, 1.0, 1, 2),
        "text2_statistics": texts(3, 1, 1.0, 1, 2),
        "labels_statistics": labels(1.0, 1, 1, _0=1, _1=2),
    }


def test_sts_takes_a_pair_and_its_reverse_for_one() -> None:
    test = pl.DataFrame({"sentence1": ["a", "b", "cc"], "sentence2": ["b", "a", ""], "score": [0.25, 0.5, 1.0]})
    described = describe(tasks.STS(low=0, high=1), frames(default=test))
    assert described["test"] == {
        "num_samples": 3,
        "number_of_characters": 6,
        "unique_pairs": 2,
        "text1_statistics": texts(4, 1, 4 / 3, 2, 3),
        "text2_statistics": texts(2, 0, 2 / 3, 1, 3),
        "label_statistics": {"min_score": 0.25, "avg_score": 1.75 / 3, "max_score": 1.0},
    }


def test_clustering() -> None:
    test = pl.DataFrame({"sentences": ["a", "bcd", "a"], "labels": ["wax", "honey", "wax"]})
    assert describe(tasks.Clustering(), frames(default=test))["test"] == {
        "num_samples": 3,
        "text_statistics": texts(5, 1, 5 / 3, 3, 2),
        "labels_statistics": labels(1.0, 1, 1, honey=1, wax=2),
    }


def test_bitext_gives_the_figures_of_its_language_pair_twice_as_mteb_does() -> None:
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
def test_retrieval_measures_a_document_as_a_model_gets_it(task: tasks.Task) -> None:
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


def test_candidates_are_averaged_over_all_queries_as_mteb_does() -> None:
    tables = frames(corpus=CORPUS, queries=QUERIES, qrels=QRELS, top_ranked=RANKED.tail(1))
    described = describe(tasks.Reranking(), tables)["test"]["top_ranked_statistics"]
    assert (described["average_top_ranked_per_query"], described["min_top_ranked_per_query"]) == (1.5, 3)


def test_judgements_that_point_nowhere_are_counted() -> None:
    astray = pl.DataFrame({"query-id": ["q1", "q9", "q9"], "corpus-id": ["d1", "d8", "d9"], "score": [1, 1, 0]})
    described = describe(tasks.Retrieval(), frames(corpus=CORPUS, queries=QUERIES, qrels=astray))["test"]
    relevant = described["relevant_docs_statistics"]
    assert (relevant["num_missing_query_ids"], relevant["num_missing_corpus_ids"]) == (1, 2)


def test_splits_come_in_the_order_of_the_task() -> None:
    one = pl.LazyFrame({"sentences": ["a"], "labels": ["wax"]})
    described = describe(
        tasks.Clustering(splits=("train", "dev", "test")), {"default": {"test": one, "dev": one, "train": one}}
    )
    assert list(described) == ["train", "dev", "test"]


def test_an_average_does_not_depend_on_the_order_of_addition() -> None:
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


@settings(max_examples=60, deadline=None)
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


@settings(max_examples=60, deadline=None)
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
    }


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 11), unique=True, max_size=4), min_size=1))
def test_labels_are_counted_in_ascending_order_none_first(rows: list[list[int]]) -> None:
    counted = Counter(label for row in rows for label in (row or [None]))
    expected = sorted(counted.items(), key=lambda item: (item[0] is not None, item[0] or 0))
    frame = pl.DataFrame({"label": rows}, {"label": pl.List(pl.Int64)}).lazy()
    assert list(label_counts(frame, "label").items()) == expected


def described_texts(texts: list[str]) -> dict[str, Any]:
    table = pl.DataFrame({"sentences": texts, "labels": ["wax"] * len(texts)})
    described: dict[str, Any] = statistics.describe_tables(tasks.Clustering(), frames(default=table))["test"][
        "text_statistics"
    ]
    return described


def test_quantiles_are_lengths_that_occur() -> None:
    assert described_texts(["b" * length for length in range(100, 0, -1)])["text_length_quantiles"] == {
        "p01": 1,
        "p05": 5,
        "p25": 25,
        "p50": 50,
        "p75": 75,
        "p95": 95,
        "p99": 99,
    }
    assert set(described_texts(["", "bees"])["text_length_quantiles"].values()) == {0, 4}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=300))
def test_a_quantile_is_the_least_length_that_so_many_texts_do_not_exceed(lengths: list[int]) -> None:
    found = described_texts(["b" * length for length in lengths])["text_length_quantiles"]
    for percent in QUANTILES:
        enough = [one for one in lengths if 100 * sum(other <= one for other in lengths) >= percent * len(lengths)]
        assert found[f"p{percent:02d}"] == min(enough)


RUSSIAN = "Вчера вечером мы долго сидели на берегу и смотрели, как уходят лодки."
ENGLISH = "Yesterday evening we sat by the river for hours and watched the boats leave."


def test_languages_are_told_of_the_texts_that_have_enough_letters() -> None:
    assert described_texts([RUSSIAN, ENGLISH, RUSSIAN, "Короче."])["languages"] == {
        "texts": 3,
        "shares": {"ru": 2 / 3, "en": 1 / 3},
    }
    assert described_texts(["Короче."])["languages"] == {"texts": 0, "shares": {}}


def test_a_text_of_which_the_detector_is_unsure_is_in_no_language() -> None:
    assert described_texts([RUSSIAN, "lorem qwrt zxcv asdf hjkl vbnm tyui ghjk"])["languages"]["shares"] == {
        "ru": 1 / 2,
        UNDETERMINED: 1 / 2,
    }


def test_languages_are_told_of_each_column_and_of_a_document_with_its_title() -> None:
    pairs = pl.DataFrame({"sentence1": [RUSSIAN], "sentence2": [ENGLISH], "score": [0.0]})
    described = statistics.describe_tables(tasks.STS(low=0, high=1), frames(default=pairs))["test"]
    assert described["text1_statistics"]["languages"]["shares"] == {"ru": 1.0}
    assert described["text2_statistics"]["languages"]["shares"] == {"en": 1.0}
    corpus = pl.DataFrame({"id": ["d1"], "title": [ENGLISH], "text": ["Short."]})
    described = statistics.describe_tables(tasks.Retrieval(), frames(corpus=corpus, queries=QUERIES, qrels=QRELS))[
        "test"
    ]
    assert described["documents_text_statistics"]["languages"] == {"texts": 1, "shares": {"en": 1.0}}
    assert described["queries_text_statistics"]["languages"] == {"texts": 0, "shares": {}}


def test_of_a_large_table_always_the_same_rows_tell_the_languages() -> None:
    rows = SAMPLE + 500
    inside = set(sample_rows(pl.Series([f"row {number}" for number in range(rows)])))
    texts = [RUSSIAN if row in inside else ENGLISH for row in range(rows)]
    assert described_texts(texts)["languages"] == {"texts": SAMPLE, "shares": {"ru": 1.0}}


def test_values_are_plain_json_numbers() -> None:
    tables = frames(corpus=CORPUS, queries=QUERIES, qrels=QRELS, top_ranked=RANKED)
    described = statistics.describe_tables(tasks.Reranking(), tables)
    assert json.loads(json.dumps(described, allow_nan=False)) == described


def test_how_a_frame_is_cut_into_chunks_changes_nothing() -> None:
    whole = pl.DataFrame({"sentences": [f"text {n % 7}" for n in range(50)], "labels": [str(n % 3) for n in range(50)]})
    pieces = pl.concat([whole.slice(start, 3) for start in range(0, 50, 3)], rechunk=False)
    assert pieces.n_chunks() > 10
    one, other = (statistics.describe_tables(tasks.Clustering(), frames(default=frame)) for frame in (pieces, whole))
    assert one == other


def test_two_texts_that_hash_alike_are_still_two(monkeypatch: pytest.MonkeyPatch) -> None:
    strong = pl.Expr.hash
    monkeypatch.setattr(
        pl.Expr,
        "hash",
        lambda expr, seed=0: strong(expr, seed) if seed > 2 else expr.str.len_chars().cast(pl.UInt64),
    )
    one = pl.DataFrame({"sentences": ["aa", "bb", "c", "aa"], "labels": ["x", "y", "x", "y"]})
    assert collision_free_seed([one.lazy().select(text="sentences")]) == 3
    assert describe(tasks.Clustering(), frames(default=one))["test"]["text_statistics"]["unique_texts"] == 3


def test_repeated_texts_are_compared_in_portions_to_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    strong = pl.Expr.hash
    weak_for_one_pair = pl.when(pl.col("text").is_in(["y", "z"])).then(pl.lit(1, pl.UInt64))
    monkeypatch.setattr(
        pl.Expr,
        "hash",
        lambda expr, seed=0: strong(expr, seed) if seed else weak_for_one_pair.otherwise(strong(expr, seed)),
    )
    monkeypatch.setattr(statistics, "AT_ONCE", 1)
    repeated = pl.LazyFrame({"text": list("aabbccddyz")})
    assert collision_free_seed([repeated]) == 1
    assert collision_free_seed([repeated.filter(pl.col("text") != "z")]) == 0


def test_the_white_space_is_pythons() -> None:
    assert set(statistics.WHITE_SPACE) == {chr(code) for code in range(0x110000) if chr(code).isspace()}
