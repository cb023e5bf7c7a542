"""Statistics for reading. Bars of Unicode blocks."""

from typing import Any

import pytest

from builders import tasks
from cards.figures import (
    bar,
    figure_name,
    label_shares,
    longer_candidates,
    statistics_table,
    text_lengths,
)

TASK = tasks.MultilabelClassification(labels=("joy", "fear"))
LENGTHS = {
    "min_text_length": 3,
    "max_text_length": 2000,
    "text_length_quantiles": {"p01": 3, "p50": 1200, "p95": 1500, "p99": 1900},
}


def labels(rows: int, **counts: int) -> dict[str, Any]:
    return {
        "num_samples": rows,
        "label_statistics": {"labels": {key: {"count": count} for key, count in counts.items()}},
    }


def test_labels_are_shown_by_name_the_most_frequent_first_with_bars_to_the_largest_share() -> None:
    statistics = {"train": labels(10, **{"0": 4, "None": 6}), "test": labels(4, **{"1": 1, "0": 3})}
    assert label_shares(TASK, statistics) == [
        ("joy", ["4 `█████▍` 40.0\u00a0%", "3 `██████████` 75.0\u00a0%"]),
        ("(none)", ["6 `████████` 60.0\u00a0%", "–"]),
        ("fear", ["–", "1 `███▍` 25.0\u00a0%"]),
    ]
    wider = ("joy", ["2 `████████████████████` 100.0\u00a0%"])
    assert label_shares(TASK, {"test": labels(2, **{"0": 2})}) == [wider], "a single split has wider bars"


def test_many_labels_are_summed_up_in_one_line() -> None:
    counts = {f"label {number}": 100 - number for number in range(30)}
    shares = label_shares(tasks.Clustering(), {"test": labels(3000, **counts)})
    assert len(shares) == 11
    assert shares[-1] == ("20 more", ["71 to 90 each"])
    equal = label_shares(tasks.Clustering(), {"test": labels(3000, **dict.fromkeys(counts, 7))})
    assert equal[-1] == ("20 more", ["7 each"])


def test_a_task_without_labels_has_no_shares() -> None:
    assert (
        label_shares(tasks.STS(low=0, high=5), {"test": {"num_samples": 3, "label_statistics": {"avg_score": 1.5}}})
        == []
    )


def test_lengths_of_texts_are_told_in_words() -> None:
    assert text_lengths({"test": {"queries_text_statistics": LENGTHS, "num_queries": 3}}) == [
        ("query", "test", "shortest 3, median 1,200, 95 % have at most 1,500, longest 2,000")
    ]


def preferences(pairs: int, same_length: int, share: float | None) -> dict[str, object]:
    figures = {"num_pairs": pairs, "num_same_length": same_length, "longer_is_relevant": share}
    return {"top_ranked_statistics": {"num_top_ranked": 2 * pairs, "preferences": figures}}


def test_preferences_for_the_longer_candidate_are_a_sentence() -> None:
    before, after = "Where two candidates differ in length, the longer one is the relevant one in ", ". Chance is 50 %."
    one = longer_candidates({"test": preferences(1204, 17, 0.63)})
    assert one == f"{before}63.0 % of 1,187 pairs{after}"
    splits = {"train": preferences(9, 0, 1.0), "dev": preferences(2, 0, 0.5), "test": preferences(3, 1, 0.0)}
    several = "100.0 % of 9 pairs in `train`, 50.0 % of 2 pairs in `dev` and 0.0 % of 2 pairs in `test`"
    assert longer_candidates(splits) == f"{before}{several}{after}"
    same_length = preferences(2, 2, None)
    for values in (same_length, {"num_samples": 3}, {"top_ranked_statistics": None}, {"top_ranked_statistics": {}}):
        assert longer_candidates({"test": values}) == ""


def test_all_statistics_are_one_table_with_a_column_for_each_split() -> None:
    texts = {"average_text_length": 12.3456, "languages": {"texts": 2000, "shares": {"ru": 0.99995, "uk": 0.00005}}}
    train = labels(3600, **{"0": 3})
    train["label_statistics"] = {"min_labels_per_text": 1, "new_figure": 2, **train["label_statistics"]}
    train |= {"text_statistics": LENGTHS | texts, "image_statistics": None}
    train |= {"relevant_docs_statistics": {"max_relevant_docs_per_query": 4}}
    assert statistics_table(
        TASK, {"train": train, "test": {"num_samples": 2, "hf_subset_descriptive_stats": {"a": 1}}}
    ) == [
        ("rows", ["3,600", "2"]),
        ("fewest labels of a text", ["1", "–"]),
        ("labels: new figure", ["2", "–"]),
        ("labels: `joy`", ["3", "–"]),
        ("text: shortest", ["3", "–"]),
        ("text: longest", ["2,000", "–"]),
        ("text: length, shortest 1 / 50 / 95 / 99 %", ["3 / 1,200 / 1,500 / 1,900", "–"]),
        ("text: average length", ["12.35", "–"]),
        ("text: languages: texts looked at, of 30 letters or more", ["2,000", "–"]),
        ("text: languages: shares of these", ["ru 100.00 %, uk &lt;0.01 %", "–"]),
        ("most relevant documents of a query", ["4", "–"]),
    ]


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0, ""), (1, "████"), (0.5, "██"), (0.25 + 1 / 32, "█▏"), (0.00001, "▏"), (0.999, "████")],
)
def test_a_bar_is_exact_to_an_eighth_of_a_character(share: float, expected: str) -> None:
    assert bar(share, width=4) == expected


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        (["num_samples"], "rows"),
        (["text_statistics", "min_text_length"], "text: shortest"),
        (["text_statistics", "text_length_quantiles", "p95"], "text: length: p95"),
        (["hf_subset_descriptive_stats", "ru-en", "num_samples"], "ru-en: rows"),
        (["label_statistics", "labels", "some_label", "count"], "labels: some_label: count"),
    ],
)
def test_a_figure_is_named_as_on_the_card(keys: list[str], name: str) -> None:
    assert figure_name(keys) == name
