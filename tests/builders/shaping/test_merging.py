"""Equal queries and equal documents become one, and nothing that was judged is lost."""

from __future__ import annotations

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import tasks
from builders.shaping.choices import gold_pool
from builders.shaping.merging import merge_equal
from builders.spec import Dropped, Tables
from pipelines.audit import integrity, quality

TEXTS = st.sampled_from(["air", "Air", "air.", " air", "sand", "SAND", "5+5", "5 5", "wind ", "the wind"])
MENDED = {"duplicate_text", "unjudged_twin", "conflicting_label"}


def retrieval(queries: list[str], corpus: list[str], judged: list[tuple[int, int]]) -> Tables:
    """Queries q0, q1, ..., documents d0, d1, ..., and who is judged relevant for whom."""
    schema = {"query-id": pl.String, "corpus-id": pl.String, "score": pl.Int64}
    frames = {
        "corpus": pl.DataFrame({"id": [f"d{j}" for j in range(len(corpus))], "title": "", "text": corpus}),
        "queries": pl.DataFrame({"id": [f"q{i}" for i in range(len(queries))], "text": queries}),
        "qrels": pl.DataFrame([(f"q{i}", f"d{j}", 1) for i, j in judged], schema, orient="row"),
    }
    return Tables({config: {"test": frame} for config, frame in frames.items()}, observed={"seen": 7})


def rows(made: Tables, config: str) -> list[tuple[object, ...]]:
    return made.frames[config]["test"].lazy().collect().rows()


def test_of_equal_queries_the_first_stays_with_the_judgements_of_all() -> None:
    made = merge_equal(retrieval(["sofa", "lamp", "Sofa"], ["a", "b", "c"], [(0, 0), (1, 1), (2, 2)]), split="test")
    assert rows(made, "queries") == [("q0", "sofa"), ("q1", "lamp")]
    assert rows(made, "qrels") == [("q0", "d0", 1), ("q1", "d1", 1), ("q0", "d2", 1)]
    assert rows(made, "corpus") == [("d0", "", "a"), ("d1", "", "b"), ("d2", "", "c")]


def test_of_equal_documents_the_first_stays_and_is_judged_in_the_place_of_all() -> None:
    made = merge_equal(retrieval(["one", "two"], ["sand", "wind", "Sand. "], [(0, 0), (1, 2)]), split="test")
    assert rows(made, "corpus") == [("d0", "", "sand"), ("d1", "", "wind")]
    assert rows(made, "qrels") == [("q0", "d0", 1), ("q1", "d0", 1)]


def test_what_is_then_judged_twice_is_judged_once() -> None:
    made = merge_equal(retrieval(["one", "One"], ["sand", "sand."], [(0, 0), (1, 1)]), split="test")
    assert rows(made, "qrels") == [("q0", "d0", 1)]


def test_what_was_merged_is_counted_and_what_was_observed_stays() -> None:
    made = merge_equal(retrieval(["one", "One"], ["sand", "sand.", "SAND"], [(0, 0), (1, 1)]), split="test")
    assert made.dropped == (
        Dropped("the query is equal to an earlier one, into which it was merged", 1, "test", ("q1",)),
        Dropped("the document is equal to an earlier one, into which it was merged", 2, "test", ("d1", "d2")),
    )
    assert made.observed == {"seen": 7}


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=8))
def test_a_clean_gold_pool_has_every_answer_of_every_question_and_no_twin(asked: list[tuple[str, str]]) -> None:
    schema = {"query": pl.String, "options": pl.List(pl.String), "gold": pl.Int64}
    questions = pl.DataFrame([(query, [answer], 0) for query, answer in asked], schema, orient="row")
    made = gold_pool(questions, prefix="p", split="test", clean=True)
    as_it_was = gold_pool(questions, prefix="p", split="test")
    lazy = {config: {"test": made.frames[config]["test"].lazy()} for config in ("corpus", "queries", "qrels")}
    assert integrity.check_integrity(tasks.Retrieval(), lazy, ("test",)) == []
    found = quality.audit_rows(tasks.Retrieval(), lazy, ("test",))
    assert not MENDED & {finding.kind for finding in found}
    told = {(str(query).strip(" .").lower(), str(answer).strip(" .").lower()) for query, answer in asked}
    texts = {
        config: {row[0]: str(row[-1]).strip(" .").lower() for row in rows(made, config)}
        for config in ("queries", "corpus")
    }
    judged = [(texts["queries"][query], texts["corpus"][document]) for query, document, _ in rows(made, "qrels")]
    assert sorted(judged) == sorted(told)
    for config in ("queries", "corpus"):
        assert set(rows(made, config)) <= set(rows(as_it_was, config)), "what stays has the id that it had"
