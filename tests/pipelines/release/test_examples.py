"""Which rows a card shows as examples."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from builders import tasks
from cards.manifest import Finding
from pipelines.audit.findings import FindingRows
from pipelines.audit.quality import audit_tables
from pipelines.release.examples import choose_examples

MULTILABEL = tasks.MultilabelClassification(labels=("joy", "fear"))


def leak_of(position: int) -> FindingRows:
    finding = Finding("near_leak", "warning", "default", "test", "text", 1, 0.1)
    return FindingRows(finding, pl.LazyFrame({"position": [position]}, {"position": pl.UInt32}))


def multilabel(*rows: tuple[str, str, list[int]]) -> dict[str, dict[str, pl.LazyFrame]]:
    schema = {"id": pl.String, "text": pl.String, "label": pl.List(pl.Int64)}
    return {"default": {"test": pl.LazyFrame(rows, schema, orient="row")}}


def shown(*rows: tuple[str, str, list[int]], findings: tuple[FindingRows, ...] = ()) -> str:
    """The id of the example among some rows of a multilabel task, beside the findings of these rows."""
    frames = multilabel(*rows)
    found = [*audit_tables(MULTILABEL, frames, ("test",)), *findings]
    return str(choose_examples(MULTILABEL, frames, "test", found)["default"]["id"])


@pytest.mark.parametrize(
    "unfit",
    [
        ("a", "A joyful day in the park", []),
        ("a", "A", [0]),
        ("a", "A joyful day <br> in the park", [0]),
        ("a", "A joyful d\ufffdy in the park", [0]),
        ("a", "A joyful day in the park. " * 9, [0]),
    ],
    ids=["no label", "a single character", "residue of HTML", "a lost character", "far too long"],
)
def test_an_example_has_a_label_a_usual_length_and_no_damage_although_another_row_comes_first(unfit: Any) -> None:
    assert shown(unfit, ("b", "A fearful day in the park", [1]), ("c", "No fear in the dark wood", [1])) in "bc"


def test_a_text_that_occurs_twice_is_not_an_example() -> None:
    rows = [("a", "A joyful day in the park", [0]), ("b", "A joyful day in the park", [1])]
    assert shown(*rows, ("c", "A fearful day in the park", [1])) == "c"


def test_an_example_of_a_finding_is_not_one_of_the_card() -> None:
    rows = [("b", "A fearful day in the park", [1]), ("c", "No fear in the dark wood", [1])]
    assert shown(*rows, findings=(leak_of(1),)) == "b"
    assert shown(rows[1], findings=(leak_of(0),)) == "c", "the only row there is"


def test_the_example_does_not_depend_on_the_order_of_rows_or_on_rows_that_are_left_out() -> None:
    rows = [(str(number), f"A day in the park with {number} dogs", [number % 2]) for number in range(10, 60)]
    example = shown(*rows)
    assert shown(*reversed(rows)) == example
    assert shown(*(row for row in rows if row[0] == example or int(row[0]) % 3)) == example


def test_an_empty_table_has_no_example() -> None:
    assert choose_examples(MULTILABEL, multilabel(), "test", ()) == {}


def test_both_sides_of_a_pair_have_a_usual_length() -> None:
    schema = {"id": pl.String, "sentence1": pl.String, "sentence2": pl.String, "labels": pl.Int64}
    rows = [
        ("a", "A dog runs home.", "A dog runs home, and then it runs to the wood and home again.", 1),
        ("b", "A cat runs home.", "It walks at last.", 1),
        ("c", "A cow runs home.", "It sleeps at home.", 0),
    ]
    frames = {"default": {"dev": pl.LazyFrame(rows, schema, orient="row")}}
    task = tasks.PairClassification(names=("no", "yes"), splits=("dev",))
    assert choose_examples(task, frames, "dev", ())["default"]["id"] in "bc"


def test_retrieval_shows_a_query_with_its_relevant_document_its_judgement_and_its_candidates() -> None:
    tables: dict[str, dict[str, list[Any]]] = {
        "corpus": {"id": ["d1", "d2", "d3"], "title": ["", "", ""], "text": ["Rome", "Paris", "Oslo"]},
        "queries": {"id": ["q1", "q2"], "text": ["?", "Which city is the capital of France?"]},
        "qrels": {"query-id": ["q1", "q2", "q2"], "corpus-id": ["d1", "d3", "d2"], "score": [1, 0, 1]},
        "top_ranked": {"query-id": ["q1", "q2"], "corpus-ids": [["d1", "d2"], ["d3", "d2"]]},
    }
    frames = {config: {"test": pl.LazyFrame(columns)} for config, columns in tables.items()}
    assert choose_examples(tasks.Reranking(), frames, "test", ()) == {
        "corpus": {"id": "d2", "title": "", "text": "Paris"},
        "queries": {"id": "q2", "text": "Which city is the capital of France?"},
        "qrels": {"query-id": "q2", "corpus-id": "d2", "score": 1},
        "top_ranked": {"query-id": "q2", "corpus-ids": ["d3", "d2"]},
    }


def test_a_query_without_a_judgement_is_shown_alone() -> None:
    tables: dict[str, dict[str, list[Any]]] = {
        "corpus": {"id": ["d1"], "title": [""], "text": ["Rome"]},
        "queries": {"id": ["q1"], "text": ["Which city is it?"]},
        "qrels": {"query-id": ["q2"], "corpus-id": ["d1"], "score": [1]},
    }
    frames = {config: {"test": pl.LazyFrame(columns)} for config, columns in tables.items()}
    assert choose_examples(tasks.Retrieval(), frames, "test", ()) == {
        "queries": {"id": "q1", "text": "Which city is it?"}
    }
