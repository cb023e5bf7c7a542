"""Every rule of pipelines.audit.integrity: a clean dataset of each task type passes, and each planted defect is found.

The clean datasets are clean for pipelines.audit.quality too; test_quality.py shares them, and the table of planted defects.
"""

from __future__ import annotations

import polars as pl
import pytest

from builders import tasks
from tests.support.tables import (
    TASKS,
    Planted,
    both,
    changed,
    check,
    clean,
    with_rows,
    with_table,
    with_value,
    without_table,
)

PLANTED = [
    Planted("missing_table", "STS", without_table("default", "test"), "default/test", 1, 1.0),
    Planted("missing_table", "Reranking", without_table("top_ranked", "test"), "top_ranked/test", 1, 1.0),
    Planted("unexpected_table", "Clustering", with_table("extra", "test", pl.DataFrame({"a": [1]})), "extra", 1, 1.0),
    Planted(
        "unexpected_table", "Clustering", with_table("default", "dev", pl.DataFrame({"a": [1]})), "default/dev", 1, 1.0
    ),
    Planted(
        "missing_column", "Retrieval", changed("corpus", "test", lambda f: f.drop("title")), "corpus/test.title", 1, 1.0
    ),
    Planted(
        "unexpected_column",
        "Reranking",
        changed("top_ranked", "test", lambda f: f.with_columns(rank=pl.lit("1"))),
        "top_ranked/test.rank",
        1,
        1.0,
    ),
    Planted(
        "wrong_type",
        "Retrieval",
        changed("qrels", "test", lambda f: f.cast({"score": pl.Float64})),
        "qrels/test.score",
        1,
        1.0,
    ),
    Planted(
        "wrong_type",
        "Classification",
        changed("default", "train", lambda f: f.with_columns(when=pl.lit(0).cast(pl.Datetime))),
        "default/train.when",
        1,
        1.0,
    ),
    Planted("empty_table", "STS", changed("default", "test", lambda f: f.clear()), "default/test", 1, 1.0),
    Planted(
        "null_text",
        "Classification",
        with_value("default", "test", "text", 2, None),
        "default/test.text",
        1,
        1 / 24,
        ("row 2",),
    ),
    Planted(
        "null_text", "Retrieval", with_value("corpus", "test", "title", 1, None), "corpus/test.title", 1, 1 / 3, ("d2",)
    ),
    Planted(
        "null_value", "STS", with_value("default", "test", "score", 0, None), "default/test.score", 1, 1 / 4, ("a",)
    ),
    Planted(
        "null_value",
        "Reranking",
        with_value("top_ranked", "test", "corpus-ids", 1, ["d1", None, "d2", "d3"]),
        "top_ranked/test.corpus-ids",
        1,
        1 / 2,
        ("q2",),
    ),
    Planted("empty_id", "BitextMining", with_value("en-de", "test", "id", 3, ""), "en-de/test.id", 1, 1 / 4, ("",)),
    Planted(
        "duplicate_id",
        "PairClassification",
        with_value("default", "test", "id", 3, "b"),
        "default/test.id",
        1,
        1 / 4,
        ("b",),
    ),
    Planted(
        "duplicate_id",
        "Retrieval",
        with_rows("corpus", "test", ("d1", "", "Again.")),
        "corpus/test.id",
        1,
        1 / 4,
        ("d1",),
    ),
    Planted(
        "duplicate_id",
        "Reranking",
        with_rows("top_ranked", "test", ("q1", ["d1", "d2"])),
        "top_ranked/test.query-id",
        1,
        1 / 3,
        ("q1",),
    ),
    Planted(
        "dangling_qrel",
        "Retrieval",
        with_rows("qrels", "test", ("q1", "d9", 1)),
        "qrels/test.corpus-id",
        1,
        1 / 4,
        ("q1 d9",),
    ),
    Planted(
        "dangling_qrel",
        "Retrieval",
        with_rows("qrels", "test", ("q9", "d1", 1)),
        "qrels/test.query-id",
        1,
        1 / 4,
        ("q9 d1",),
    ),
    Planted(
        "duplicate_judgement",
        "Retrieval",
        with_rows("qrels", "test", ("q1", "d1", 0), ("q1", "d1", 1)),
        "qrels/test",
        2,
        2 / 5,
        ("q1 d1", "q1 d1"),
    ),
    Planted(
        "score_out_of_range",
        "Retrieval",
        with_rows("qrels", "test", ("q1", "d3", -1)),
        "qrels/test.score",
        1,
        1 / 4,
        ("q1 d3",),
    ),
    Planted(
        "query_without_positive",
        "Retrieval",
        both(with_rows("queries", "test", ("q3", "what do ants do")), with_rows("qrels", "test", ("q3", "d3", 0))),
        "queries/test.id",
        1,
        1 / 3,
        ("q3",),
    ),
    Planted(
        "query_without_candidates",
        "Reranking",
        both(with_rows("queries", "test", ("q3", "what do ants do")), with_rows("qrels", "test", ("q3", "d3", 1))),
        "queries/test.id",
        1,
        1 / 3,
        ("q3",),
        also=("positive_not_listed",),
    ),
    Planted(
        "dangling_candidate",
        "Reranking",
        with_rows("top_ranked", "test", ("q9", ["d1"])),
        "top_ranked/test.query-id",
        1,
        1 / 3,
        ("q9",),
    ),
    Planted(
        "dangling_candidate",
        "Reranking",
        with_value("top_ranked", "test", "corpus-ids", 0, ["d3", "d9", "d1"]),
        "top_ranked/test.corpus-ids",
        1,
        1 / 6,
        ("q1 d9",),
    ),
    Planted(
        "duplicate_candidate",
        "Reranking",
        with_value("top_ranked", "test", "corpus-ids", 0, ["d3", "d1", "d3"]),
        "top_ranked/test.corpus-ids",
        1,
        1 / 2,
        ("q1",),
    ),
    Planted(
        "positive_not_listed",
        "Reranking",
        with_value("top_ranked", "test", "corpus-ids", 1, ["d1", "d3"]),
        "top_ranked/test.corpus-ids",
        1,
        1 / 2,
        ("q2 d2",),
    ),
    Planted(
        "query_without_negative",
        "Reranking",
        with_value("top_ranked", "test", "corpus-ids", 0, ["d1"]),
        "top_ranked/test.corpus-ids",
        1,
        1 / 2,
        ("q1",),
    ),
    Planted(
        "label_out_of_range",
        "Classification",
        with_value("default", "test", "label", 4, 3),
        "default/test.label",
        1,
        1 / 24,
        ("row 4",),
    ),
    Planted(
        "label_out_of_range",
        "MultilabelClassification",
        with_value("default", "test", "label", 4, [-1, 1]),
        "default/test.label",
        1,
        1 / 24,
        ("row 4",),
    ),
    Planted(
        "label_out_of_range",
        "PairClassification",
        with_value("default", "test", "labels", 2, 2),
        "default/test.labels",
        1,
        1 / 4,
        ("c",),
    ),
    Planted(
        "label_text_differs",
        "Classification",
        with_value("default", "test", "label_text", 0, "Red"),
        "default/test.label_text",
        1,
        1 / 24,
        ("row 0",),
    ),
    Planted(
        "label_unordered",
        "MultilabelClassification",
        both(with_value("default", "test", "label", 0, [1, 0]), with_value("default", "test", "label", 5, [2, 2])),
        "default/test.label",
        2,
        2 / 24,
        ("row 0", "row 5"),
    ),
    Planted(
        "score_out_of_range",
        "STS",
        with_value("default", "test", "score", 1, 5.5),
        "default/test.score",
        1,
        1 / 4,
        ("b",),
    ),
    Planted(
        "score_out_of_range",
        "STS",
        both(*(with_value("default", "test", "score", row, bad) for row, bad in enumerate((float("nan"), -0.1)))),
        "default/test.score",
        2,
        2 / 4,
        ("a", "b"),
    ),
    Planted(
        "one_class_only",
        "PairClassification",
        changed("default", "test", lambda f: f.with_columns(labels=pl.lit(1, pl.Int64))),
        "default/test.labels",
        1,
        1.0,
    ),
    Planted(
        "one_class_only",
        "Clustering",
        changed("default", "test", lambda f: f.with_columns(labels=pl.lit("wax"))),
        "default/test.labels",
        1,
        1.0,
    ),
    Planted(
        "few_rows_of_label",
        "Classification",
        changed("default", "train", lambda f: f.head(-1)),
        "default/train.label",
        1,
        1 / 3,
        ("blue: 7",),
    ),
    Planted(
        "few_rows_of_label",
        "MultilabelClassification",
        changed("default", "train", lambda f: f.filter(pl.col("label").list.contains(2))),
        "default/train.label",
        2,
        2 / 3,
        ("red: 6", "green: 6"),
    ),
]


@pytest.mark.parametrize("kind", TASKS)
def test_a_clean_dataset_has_no_defect(kind: str) -> None:
    assert check(kind, clean(kind)) == []


@pytest.mark.parametrize("planted", PLANTED, ids=str)
def test_a_planted_defect_is_the_one_that_is_found(planted: Planted) -> None:
    found, *others = check(planted.task, planted.change(clean(planted.task)))
    assert tuple(finding.kind for finding in others) == planted.also
    severity = "warning" if planted.kind == "few_rows_of_label" else "error"
    assert (found.kind, found.severity, found.location) == (planted.kind, severity, planted.location)
    assert (found.count, found.share, found.examples) == (planted.count, pytest.approx(planted.share), planted.examples)


TABLES = [(kind, layout) for kind, task in TASKS.items() for layout in tasks.layouts(task)]
COLUMNS = [(kind, layout, column) for kind, layout in TABLES for column in layout.columns]


@pytest.mark.parametrize(("kind", "layout"), TABLES, ids=lambda value: getattr(value, "config", value))
def test_every_table_must_be_there_with_rows(kind: str, layout: tasks.Layout) -> None:
    missing = check(kind, without_table(layout.config, "test")(clean(kind)))
    assert [(found.kind, found.location) for found in missing] == [("missing_table", f"{layout.config}/test")]
    emptied = check(kind, changed(layout.config, "test", lambda frame: frame.clear())(clean(kind)))
    assert [(found.kind, found.location) for found in emptied] == [("empty_table", f"{layout.config}/test")]


@pytest.mark.parametrize(("kind", "layout", "column"), COLUMNS, ids=lambda value: getattr(value, "config", value))
def test_every_column_must_be_there_with_its_type_and_without_nulls(
    kind: str, layout: tasks.Layout, column: str
) -> None:
    place = f"{layout.config}/test.{column}"
    missing = check(kind, changed(layout.config, "test", lambda frame: frame.drop(column))(clean(kind)))
    assert [(found.kind, found.location) for found in missing] == [("missing_column", place)]
    other = changed(layout.config, "test", lambda frame: frame.with_columns(pl.lit(value=True).alias(column)))
    retyped = check(kind, other(clean(kind)))
    assert [(found.kind, found.location) for found in retyped] == [("wrong_type", place)]
    nulls = check(kind, with_value(layout.config, "test", column, 0, None)(clean(kind)))
    text = column == "title" or column in layout.text
    assert [(found.kind, found.location) for found in nulls] == [("null_text" if text else "null_value", place)]


@pytest.mark.parametrize("kind", [kind for kind in TASKS if kind not in {"Retrieval", "Clustering", "BitextMining"}])
def test_every_split_is_looked_at(kind: str) -> None:
    first = TASKS[kind].splits[0]
    config = tasks.layouts(TASKS[kind])[0].config
    column = tasks.layouts(TASKS[kind])[0].text[0]
    (found,) = check(kind, with_value(config, first, column, 0, None)(clean(kind)))
    assert found.location == f"{config}/{first}.{column}"


def test_few_rows_of_a_label_are_only_noted_in_a_golden_sample() -> None:
    tables = changed("default", "train", lambda frame: frame.head(6))(clean("Classification"))
    (found,) = check("Classification", tables, sample=True)
    assert (found.kind, found.severity, found.count) == ("few_rows_of_label", "info", 3)
    assert found.examples == ("red: 2", "green: 2", "blue: 2")


def test_few_rows_of_a_label_matter_only_in_train() -> None:
    tables = changed("default", "test", lambda frame: frame.head(3))(clean("Classification"))
    assert check("Classification", tables) == []


def test_an_empty_list_of_candidates_is_found() -> None:
    found = check("Reranking", with_value("top_ranked", "test", "corpus-ids", 0, [])(clean("Reranking")))
    assert "positive_not_listed" in {finding.kind for finding in found}


def test_only_the_first_five_of_many_are_named_in_row_order() -> None:
    rows = [("q1", f"x{number}", 1) for number in range(9, 0, -1)]
    (found,) = check("Retrieval", with_rows("qrels", "test", *rows)(clean("Retrieval")))
    assert (found.count, found.examples) == (9, ("q1 x9", "q1 x8", "q1 x7", "q1 x6", "q1 x5"))


def test_extra_columns_are_welcome_but_in_top_ranked() -> None:
    tables = changed("corpus", "test", lambda frame: frame.with_columns(source=pl.lit("wiki")))(clean("Reranking"))
    assert check("Reranking", tables) == []


def test_rows_are_looked_at_only_where_the_structure_is_right() -> None:
    broken = both(changed("default", "test", lambda f: f.drop("score")), with_value("default", "train", "id", 1, "a"))
    assert [found.kind for found in check("STS", broken(clean("STS")))] == ["missing_column"]
