"""The rows that a card shows."""

from __future__ import annotations

from builders import tasks
from cards.example_table import example_table

MULTILABEL = tasks.MultilabelClassification(labels=("joy", "fear"))


def test_labels_are_shown_by_name_and_ids_are_not_shown() -> None:
    rows = [{"id": "1", "text": "Снег.", "label": [0, 1]}, {"id": "2", "text": "Дождь.", "label": []}]
    assert example_table(MULTILABEL, rows) == [["text", "label"], ["Снег.", "joy, fear"], ["Дождь.", "(none)"]]
    pair = {"sentence1": "a", "sentence2": "b", "labels": 1}
    assert example_table(tasks.PairClassification(("no", "yes")), [pair])[1] == ["a", "b", "yes"]


def test_long_texts_are_cut_and_scores_are_short() -> None:
    [_, row] = example_table(tasks.STS(low=0, high=5), [{"sentence1": "a" * 200, "sentence2": "b", "score": 2.5}])
    assert row == ["a" * 160 + " […]", "b", "2.5"]


def test_a_query_without_a_document_leaves_its_cell_empty() -> None:
    rows = [{"query": "?", "relevant": "!"}, {"query": "??"}]
    assert example_table(tasks.Retrieval(), rows) == [["query", "relevant"], ["?", "!"], ["??", "–"]]


def test_no_rows_give_no_table() -> None:
    assert example_table(MULTILABEL, []) == []
