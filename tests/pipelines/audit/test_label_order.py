"""pipelines.audit.judgements: splits that are sorted by label, and those that are not."""

from typing import Any

import polars as pl
import pytest

from cards.manifest import Finding
from pipelines.audit.judgements import find_sorted_labels
from tests.support.tables import TASKS


def orders(task_type: str, labels: list[Any]) -> list[Finding]:
    task = TASKS[task_type]
    found = find_sorted_labels(task, pl.DataFrame({"label": labels}), ("default", "test", task.type.label))
    return [one.finding for one in found]


def test_blocks_of_a_label_are_reported_with_the_rows_that_follow_one_of_their_own() -> None:
    [finding] = orders("Classification", [number // 10 % 3 for number in range(120)])
    assert (finding.kind, finding.severity, finding.location) == ("label_sorted", "info", "default/test.label")
    assert (finding.count, finding.share) == (108, 108 / 120)
    assert finding.detail == "90% of the rows have the label of the row before, 33% in a random order"


def test_scores_in_order_are_reported_and_scores_in_turns_are_not() -> None:
    assert [finding.count for finding in orders("STS", [number / 40 for number in range(200)])] == [190]
    assert orders("STS", [number * 37 % 200 / 40 for number in range(200)]) == []


@pytest.mark.parametrize(
    "labels",
    [[0, 1, 2] * 40, [0] * 120, [0] * 119 + [1], [0] * 49 + [1] * 50],
    ids=["in turns", "one label", "one row of another label", "fewer than 100 rows"],
)
def test_other_orders_are_not_reported(labels: list[int]) -> None:
    assert orders("Classification", labels) == []


def test_tasks_without_labels_have_no_order() -> None:
    assert find_sorted_labels(TASKS["BitextMining"], pl.DataFrame({"id": ["a"] * 120}), ("en-de", "test", "")) == []
