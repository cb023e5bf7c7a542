"""pipelines.audit.shortcuts: which columns tell a label, and which do not."""

import random
from typing import Any

import polars as pl
import pytest

from cards.manifest import Finding
from pipelines.audit.shortcuts import find_leaking_columns, number_groups
from tests.support.tables import TASKS


def leaks(task_type: str, **columns: list[Any]) -> list[Finding]:
    """The findings in a split `test` of some columns; texts are added."""
    rows = len(next(iter(columns.values())))
    texts = {
        column: [f"{column} {row}" for row in range(rows)] for column in ("text", "sentence1", "sentence2", "sentences")
    }
    names = {"label_text": ["?"] * rows} if task_type == "Classification" else {}
    frame = pl.LazyFrame({**texts, **names, **columns})
    expected = TASKS[task_type].type.layouts[0].columns
    frames = {"default": {"test": frame.drop(set(texts) - set(expected))}}
    return [one.finding for one in find_leaking_columns(TASKS[task_type], frames, "test")]


def test_a_source_that_tells_which_texts_have_no_label_is_reported() -> None:
    news = [[]] * 76 + [[0]] * 24
    forum = [[]] * 4 + [[0, 1]] * 48 + [[2]] * 48
    [finding] = leaks("MultilabelClassification", label=news + forum, source=["news"] * 100 + ["forum"] * 100)
    assert (finding.kind, finding.severity) == ("label_leaking_column", "info")
    assert (finding.location, finding.count, finding.share) == ("default/test.source", 3, 3 / 4)
    assert finding.examples == (
        "no label: 76% of news, 4% of forum",
        "blue: 48% of forum, 0% of news",
        "green: 48% of forum, 0% of news",
    )
    assert finding.detail == (
        "no label: guessed right for 86% of the rows from this column, for 60% without it; Cramér's V 0.73"
    )


def test_a_label_that_most_texts_of_a_source_lack_can_still_be_told_by_it() -> None:
    labels = [0] * 380 + [1] * 20 + [2] * 400
    [finding] = leaks("Classification", label=labels, source=["a"] * 200 + ["b"] * 200 + ["c"] * 400)
    assert finding.examples[0] == "blue: 100% of c, 0% of a, 0% of b"


def test_numbers_are_compared_in_ten_groups() -> None:
    lengths = [*range(100), *range(1000, 1100)]
    [finding] = leaks("PairClassification", labels=[0] * 100 + [1] * 100, words=lengths)
    assert finding.examples == (
        "no: 100% of 0 to 19, 0% of 1000 to 1019, 0% of 1020 to 1039",
        "yes: 100% of 1000 to 1019, 100% of 1020 to 1039, 0% of 0 to 19",
    )


def test_lists_are_compared_whole_and_an_empty_value_is_named() -> None:
    categories = [[]] * 50 + [["theft", "fraud"]] * 50
    [finding] = leaks("Clustering", labels=["good"] * 50 + ["bad"] * 50, categories=categories)
    assert finding.examples == (
        "bad: 100% of theft, fraud, 0% of the empty value",
        "good: 100% of the empty value, 0% of theft, fraud",
    )


def test_scores_are_compared_in_groups_of_equal_size() -> None:
    scores = [number / 80 for number in range(400)]
    [finding] = leaks("STS", score=scores, genre=["captions" if score < 0.5 else "news" for score in scores])
    assert finding.examples == ("0.0 to 0.4875: 100% of captions, 0% of news",)


LABELS = [0, 1, 2] * 100
NO_LEAKS: dict[str, list[Any]] = {
    "different in every row": [f"row-{row}" for row in range(300)],
    "a number that is different in every row": [(row * 7919) % 300 for row in range(300)],
    "the same in every row": ["wiki"] * 300,
    "of three rows with all labels": [f"case-{row // 3}" for row in range(300)],
    "unrelated": random.Random(5).choices(["a", "b", "c", "d"], k=300),
    "unrelated with many values": random.Random(6).choices([str(number) for number in range(100)], k=300),
    "related to a few rows": ["rare" if row < 30 and label == 0 else "usual" for row, label in enumerate(LABELS)],
}


@pytest.mark.parametrize("column", NO_LEAKS.values(), ids=NO_LEAKS)
def test_a_column_that_tells_no_label_is_not_reported(column: list[Any]) -> None:
    assert leaks("Classification", label=LABELS, column=column) == []


@pytest.mark.parametrize(("told", "findings"), [(74, 0), (76, 1)])
def test_the_least_association_is_a_half(told: int, findings: int) -> None:
    labels = [0] * told + [1] * (100 - told) + [1] * told + [0] * (100 - told)
    assert len(leaks("PairClassification", labels=labels, source=["a"] * 100 + ["b"] * 100)) == findings


def test_ids_and_the_columns_of_the_task_are_not_examined() -> None:
    labels = [0, 1] * 100
    names = ["red", "green"] * 100
    assert leaks("Classification", label=labels, label_text=names, id=names) == []


def test_a_label_with_few_rows_is_not_examined() -> None:
    labels, source = [0] * 29 + [1] * 271, ["a"] * 29 + ["b"] * 271
    assert leaks("Classification", label=labels, source=source) == []
    assert leaks("Classification", label=[0, *labels], source=["a", *source]) != []


def test_unrelated_columns_are_rarely_if_ever_reported() -> None:
    chance = random.Random(7)
    for rows, values in ((60, 2), (60, 30), (100, 10), (300, 150)) * 15:
        labels = [chance.randrange(2) for _ in range(rows)]
        assert (
            leaks("PairClassification", labels=labels, column=[str(chance.randrange(values)) for _ in range(rows)])
            == []
        )


def test_few_numbers_are_groups_of_their_own() -> None:
    assert number_groups(pl.Series([3, 1, 3])).to_list() == ["3", "1", "3"]
    groups = number_groups(pl.Series([5] * 90 + [*range(10, 30)]))
    assert groups[0] == "5 to 5"
    assert groups.n_unique() == 3, "equal numbers are never divided"
