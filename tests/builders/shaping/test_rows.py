"""Dropped rows are counted by reason; refused rows are errors that name their location. Duplicate queries and documents
are merged, and no judgement is lost.
"""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import tasks
from builders.errors import SourceError
from builders.shaping.choices import build_gold_pool
from builders.shaping.rows import drop, drop_each, merge_duplicates, refuse
from builders.spec import Dropped, Raw, Tables
from pipelines.audit import integrity
from tests.support.recipes import rows_of
from tests.support.tables import audit_rows

RAW = Raw("cedr/train.jsonl", Path("train.jsonl"))


def test_dropped_rows_are_counted_with_five_of_their_ids() -> None:
    frame = pl.DataFrame({"id": [str(i) for i in range(10)], "text": ["", "a"] * 4 + ["", None]})
    rest, dropped = drop(frame, pl.col("text") == "", "the text is empty", split="train")
    assert dropped == (Dropped("the text is empty", 5, "train", ("0", "2", "4", "6", "8")),)
    assert rest["id"].to_list() == ["1", "3", "5", "7", "9"]
    assert rest.columns == frame.columns


def test_a_condition_that_no_row_meets_is_not_reported() -> None:
    frame = pl.DataFrame({"id": [1], "text": ["a"]})
    rest, dropped = drop(frame, pl.col("text") == "", "empty", split="train")
    assert rest.equals(frame)
    assert dropped == ()


def test_each_condition_applies_to_the_rows_that_earlier_ones_left() -> None:
    frame = pl.DataFrame({"id": ["a", "b", "c", "d"], "text": ["", "x", "x", ""], "label": [0, 1, 1, 1]})
    conditions = {
        "never met": pl.col("label") > 1,
        "the label is 0": pl.col("label") == 0,
        "duplicate of an earlier row": ~pl.col("text").is_first_distinct(),
    }
    rest, dropped = drop_each(frame, conditions, split="test")
    assert rest["id"].to_list() == ["b", "d"], "the first empty text was dropped before duplicates were looked for"
    assert dropped == (
        Dropped("the label is 0", 1, "test", ("a",)),
        Dropped("duplicate of an earlier row", 1, "test", ("c",)),
    )


def test_rows_that_meet_no_condition_or_a_null_one_are_not_refused() -> None:
    rows = pl.DataFrame({"score": [0.5, None]})
    refuse(rows, pl.col("score") > 1, RAW, "score out of range", found="score", expected="0 to 1")
    refuse(rows.clear(), pl.lit(value=True), RAW, "score out of range", found="score", expected="0 to 1")


def test_the_first_refused_row_is_named_and_all_are_counted() -> None:
    rows = pl.DataFrame({"score": [0.5, 2, 0, *[3] * 1_233]})
    with pytest.raises(SourceError) as caught:
        refuse(rows, pl.col("score") > 1, RAW, "score out of range", found="score", expected="0 to 1", unit="record")
    assert str(caught.value).splitlines()[:4] == [
        "cedr/train.jsonl: score out of range",
        "  where:    cedr/train.jsonl, record 2",
        "  found:    '2.0' (the first of 1,234)",
        "  expected: 0 to 1",
    ]


def test_rows_may_have_locations_of_their_own() -> None:
    rows = pl.DataFrame({"line": [7, 9], "word": ["a", "b"]})
    found, line = pl.format("word {}", "word"), pl.format("line {}", "line")
    with pytest.raises(SourceError, match="wrong word") as caught:
        refuse(rows, pl.col("word") == "b", RAW, "wrong word", found=found, expected="a", location=line)
    assert (caught.value.where, caught.value.found) == ("cedr/train.jsonl, line 9", "'word b'")


TEXTS = st.sampled_from(["air", "Air", "air.", " air", "sand", "SAND", "5+5", "5 5", "wind ", "the wind"])
KINDS = {"duplicate_text", "unjudged_twin", "conflicting_label"}  # the findings that merging prevents


def make_tables(queries: list[str], corpus: list[str], judgements: list[tuple[int, int]]) -> Tables:
    """Queries q0, q1, ..., documents d0, d1, ..., and the pairs of a query and a relevant document."""
    schema = {"query-id": pl.String, "corpus-id": pl.String, "score": pl.Int64}
    frames = {
        "corpus": pl.DataFrame({"id": [f"d{j}" for j in range(len(corpus))], "title": "", "text": corpus}),
        "queries": pl.DataFrame({"id": [f"q{i}" for i in range(len(queries))], "text": queries}),
        "qrels": pl.DataFrame([(f"q{i}", f"d{j}", 1) for i, j in judgements], schema, orient="row"),
    }
    return Tables({config: {"test": frame} for config, frame in frames.items()}, observed={"seen": 7})


def test_the_first_of_equal_queries_takes_over_all_judgements() -> None:
    tables = make_tables(["sofa", "lamp", "Sofa"], ["a", "b", "c"], [(0, 0), (1, 1), (2, 2)])
    merged = merge_duplicates(tables, split="test")
    assert rows_of(merged, "queries") == [("q0", "sofa"), ("q1", "lamp")]
    assert rows_of(merged, "qrels") == [("q0", "d0", 1), ("q1", "d1", 1), ("q0", "d2", 1)]
    assert rows_of(merged, "corpus") == [("d0", "", "a"), ("d1", "", "b"), ("d2", "", "c")]


def test_the_first_of_equal_documents_takes_over_all_judgements() -> None:
    merged = merge_duplicates(make_tables(["one", "two"], ["sand", "wind", "Sand. "], [(0, 0), (1, 2)]), split="test")
    assert rows_of(merged, "corpus") == [("d0", "", "sand"), ("d1", "", "wind")]
    assert rows_of(merged, "qrels") == [("q0", "d0", 1), ("q1", "d0", 1)]


def test_merged_rows_are_counted_observations_are_kept_and_equal_judgements_become_one() -> None:
    merged = merge_duplicates(make_tables(["one", "One"], ["sand", "sand.", "SAND"], [(0, 0), (1, 1)]), split="test")
    assert merged.dropped == (
        Dropped("the query repeats an earlier one and was merged into it", 1, "test", ("q1",)),
        Dropped("the document repeats an earlier one and was merged into it", 2, "test", ("d1", "d2")),
    )
    assert merged.observed == {"seen": 7}
    assert rows_of(merged, "qrels") == [("q0", "d0", 1)]


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=8))
def test_a_cleaned_gold_pool_has_every_answer_and_no_duplicates(pairs: list[tuple[str, str]]) -> None:
    schema = {"query": pl.String, "options": pl.List(pl.String), "gold": pl.Int64}
    questions = pl.DataFrame([(query, [answer], 0) for query, answer in pairs], schema, orient="row")
    clean = build_gold_pool(questions, prefix="p", split="test", clean=True)
    unclean = build_gold_pool(questions, prefix="p", split="test")
    lazy = {config: {"test": clean.frames[config]["test"].lazy()} for config in ("corpus", "queries", "qrels")}
    assert integrity.audit_integrity(tasks.Retrieval(), lazy, ("test",)) == []
    findings = audit_rows(tasks.Retrieval(), lazy, ("test",))
    assert not KINDS & {finding.kind for finding in findings}
    expected = {(str(query).strip(" .").lower(), str(answer).strip(" .").lower()) for query, answer in pairs}
    texts = {
        config: {row[0]: str(row[-1]).strip(" .").lower() for row in rows_of(clean, config)}
        for config in ("queries", "corpus")
    }
    judgements = [
        (texts["queries"][query], texts["corpus"][document]) for query, document, _ in rows_of(clean, "qrels")
    ]
    assert sorted(judgements) == sorted(expected)
    for config in ("queries", "corpus"):
        assert set(rows_of(clean, config)) <= set(rows_of(unclean, config)), "the remaining texts keep their ids"
