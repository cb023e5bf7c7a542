"""pipelines.audit.integrity: a clean dataset of each task type passes, and every planted defect is reported.

test_quality.py uses the same clean datasets, which have no findings of pipelines.audit.quality either, and the planted defects.
"""

import polars as pl
import pytest

from builders import tasks
from cards.kinds import KINDS
from pipelines.audit.integrity import audit_integrity
from tests.support.tables import (
    TASKS,
    PlantedFinding,
    Tables,
    clean_tables,
    combine,
    integrity_findings,
    quality_findings,
    resolve_names,
    with_edit,
    with_rows,
    with_table,
    with_value,
    without_table,
)

PLANTED = [
    PlantedFinding("missing_table", "STS", without_table("default", "test"), "default/test", 1, 1.0),
    PlantedFinding("missing_table", "Reranking", without_table("top_ranked", "test"), "top_ranked/test", 1, 1.0),
    PlantedFinding("unexpected_table", "Clustering", with_table("extra", "test", pl.DataFrame({"a": [1]})), "extra", 1, 1.0),
    PlantedFinding(
        "unexpected_table", "Clustering", with_table("default", "dev", pl.DataFrame({"a": [1]})), "default/dev", 1, 1.0,
    ),
    PlantedFinding(
        "missing_column", "Retrieval", with_edit("corpus", "test", lambda frame: frame.drop("title")), "corpus/test.title", 1,
        1.0,
    ),
    PlantedFinding(
        "unexpected_column", "Reranking", with_edit("top_ranked", "test", lambda frame: frame.with_columns(rank=pl.lit("1"))),
        "top_ranked/test.rank", 1, 1.0,
    ),
    PlantedFinding(
        "wrong_type", "Retrieval", with_edit("qrels", "test", lambda frame: frame.cast({"score": pl.Float64})),
        "qrels/test.score", 1, 1.0,
    ),
    PlantedFinding(
        "wrong_type", "Classification",
        with_edit("default", "train", lambda frame: frame.with_columns(when=pl.lit(0).cast(pl.Datetime))),
        "default/train.when", 1, 1.0,
    ),
    PlantedFinding("empty_table", "STS", with_edit("default", "test", lambda frame: frame.clear()), "default/test", 1, 1.0),
    PlantedFinding(
        "null_text", "Classification", with_value("default", "test", "text", 2, None), "default/test.text", 1, 1 / 24,
        ("row 2",),
    ),
    PlantedFinding(
        "null_text", "Retrieval", with_value("corpus", "test", "title", 1, None), "corpus/test.title", 1, 1 / 3, ("d2",),
    ),
    PlantedFinding(
        "null_value", "STS", with_value("default", "test", "score", 0, None), "default/test.score", 1, 1 / 4, ("a",),
    ),
    PlantedFinding(
        "null_value", "Reranking", with_value("top_ranked", "test", "corpus-ids", 1, ["d1", None, "d2", "d3"]),
        "top_ranked/test.corpus-ids", 1, 1 / 2, ("q2",),
    ),
    PlantedFinding("empty_id", "BitextMining", with_value("en-de", "test", "id", 3, ""), "en-de/test.id", 1, 1 / 4, ("",)),
    PlantedFinding(
        "duplicate_id", "PairClassification", with_value("default", "test", "id", 3, "b"), "default/test.id", 1, 1 / 4,
        ("b",),
    ),
    PlantedFinding(
        "duplicate_id", "Retrieval", with_rows("corpus", "test", ("d1", "", "Again.")), "corpus/test.id", 1, 1 / 4, ("d1",),
    ),
    PlantedFinding(
        "duplicate_id", "Reranking", with_rows("top_ranked", "test", ("q1", ["d1", "d2"])), "top_ranked/test.query-id", 1,
        1 / 3, ("q1",),
    ),
    PlantedFinding(
        "dangling_qrel", "Retrieval", with_rows("qrels", "test", ("q1", "d9", 1)), "qrels/test.corpus-id", 1, 1 / 4,
        ("q1 d9",),
    ),
    PlantedFinding(
        "dangling_qrel", "Retrieval", with_rows("qrels", "test", ("q9", "d1", 1)), "qrels/test.query-id", 1, 1 / 4,
        ("q9 d1",),
    ),
    PlantedFinding(
        "duplicate_judgement", "Retrieval", with_rows("qrels", "test", ("q1", "d1", 0), ("q1", "d1", 1)), "qrels/test", 2,
        2 / 5, ("q1 d1", "q1 d1"),
    ),
    PlantedFinding(
        "score_out_of_range", "Retrieval", with_rows("qrels", "test", ("q1", "d3", -1)), "qrels/test.score", 1, 1 / 4,
        ("q1 d3",),
    ),
    PlantedFinding(
        "query_without_positive", "Retrieval",
        combine(with_rows("queries", "test", ("q3", "what do ants do")), with_rows("qrels", "test", ("q3", "d3", 0))),
        "queries/test.id", 1, 1 / 3, ("q3",),
    ),
    PlantedFinding(
        "query_without_candidates", "Reranking",
        combine(with_rows("queries", "test", ("q3", "what do ants do")), with_rows("qrels", "test", ("q3", "d3", 1))),
        "queries/test.id", 1, 1 / 3, ("q3",), other_kinds=("positive_not_listed",),
    ),
    PlantedFinding(
        "dangling_candidate", "Reranking", with_rows("top_ranked", "test", ("q9", ["d1"])), "top_ranked/test.query-id", 1,
        1 / 3, ("q9",),
    ),
    PlantedFinding(
        "dangling_candidate", "Reranking", with_value("top_ranked", "test", "corpus-ids", 0, ["d3", "d9", "d1"]),
        "top_ranked/test.corpus-ids", 1, 1 / 6, ("q1 d9",),
    ),
    PlantedFinding(
        "duplicate_candidate", "Reranking", with_value("top_ranked", "test", "corpus-ids", 0, ["d3", "d1", "d3"]),
        "top_ranked/test.corpus-ids", 1, 1 / 2, ("q1",),
    ),
    PlantedFinding(
        "positive_not_listed", "Reranking", with_value("top_ranked", "test", "corpus-ids", 1, ["d1", "d3"]),
        "top_ranked/test.corpus-ids", 1, 1 / 2, ("q2 d2",),
    ),
    PlantedFinding(
        "query_without_negative", "Reranking", with_value("top_ranked", "test", "corpus-ids", 0, ["d1"]),
        "top_ranked/test.corpus-ids", 1, 1 / 2, ("q1",),
    ),
    PlantedFinding(
        "label_out_of_range", "Classification", with_value("default", "test", "label", 4, 3), "default/test.label", 1, 1 / 24,
        ("row 4",),
    ),
    PlantedFinding(
        "label_out_of_range", "MultilabelClassification", with_value("default", "test", "label", 4, [-1, 1]),
        "default/test.label", 1, 1 / 24, ("row 4",),
    ),
    PlantedFinding(
        "label_out_of_range", "PairClassification", with_value("default", "test", "labels", 2, 2), "default/test.labels", 1,
        1 / 4, ("c",),
    ),
    PlantedFinding(
        "label_text_differs", "Classification", with_value("default", "test", "label_text", 0, "Red"),
        "default/test.label_text", 1, 1 / 24, ("row 0",),
    ),
    PlantedFinding(
        "label_unordered", "MultilabelClassification",
        combine(with_value("default", "test", "label", 0, [1, 0]), with_value("default", "test", "label", 5, [2, 2])),
        "default/test.label", 2, 2 / 24, ("row 0", "row 5"),
    ),
    PlantedFinding(
        "score_out_of_range", "STS", with_value("default", "test", "score", 1, 5.5), "default/test.score", 1, 1 / 4, ("b",),
    ),
    PlantedFinding(
        "score_out_of_range", "STS",
        combine(*(with_value("default", "test", "score", row, bad) for row, bad in enumerate((float("nan"), -0.1)))),
        "default/test.score", 2, 2 / 4, ("a", "b"),
    ),
    PlantedFinding(
        "one_class_only", "PairClassification",
        with_edit("default", "test", lambda frame: frame.with_columns(labels=pl.lit(1, pl.Int64))), "default/test.labels", 1,
        1.0,
    ),
    PlantedFinding(
        "one_class_only", "Clustering", with_edit("default", "test", lambda frame: frame.with_columns(labels=pl.lit("wax"))),
        "default/test.labels", 1, 1.0,
    ),
    PlantedFinding(
        "one_class_only", "Classification", with_edit("default", "test", lambda frame: frame.filter(pl.col("label") == 2)),
        "default/test.label", 1, 1.0,
    ),
    PlantedFinding(
        "one_class_only", "MultilabelClassification",
        with_edit("default", "test", lambda frame: frame.filter(pl.col("label").list.len() == 0)), "default/test.label", 1,
        1.0,
    ),
    PlantedFinding(
        "label_without_training_rows", "Classification",
        combine(
            with_edit("default", "train", lambda frame: frame.filter(pl.col("label") < 2)),
            with_edit("default", "validation", lambda frame: frame.filter(pl.col("label") < 2)),
        ),
        "default/test.label", 8, 1 / 3, ("row 2", "row 5", "row 8", "row 11", "row 14"), detail="blue: 8",
    ),
    PlantedFinding(
        "label_without_training_rows", "MultilabelClassification",
        with_edit("default", "train", lambda frame: frame.with_columns(label=pl.col("label").list.set_difference([0, 1]))),
        "default/test.label", 18, 18 / 24, ("row 0", "row 1", "row 2", "row 4", "row 5"), detail="red: 12; green: 12",
    ),
    PlantedFinding(
        "few_rows_of_label", "Classification", with_edit("default", "train", lambda frame: frame.head(-1)),
        "default/train.label", 1, 1 / 3, ("blue: 7",),
    ),
    PlantedFinding(
        "few_rows_of_label", "MultilabelClassification",
        with_edit("default", "train", lambda frame: frame.filter(pl.col("label").list.contains(2))), "default/train.label", 2,
        2 / 3, ("red: 6", "green: 6"),
    ),
    PlantedFinding(  # a label that no split has
        "few_rows_of_label", "Classification",
        combine(
            *(
                with_edit("default", split, lambda frame: frame.filter(pl.col("label") < 2))
                for split in ("train", "validation", "test")
            )
        ),
        "default/train.label", 1, 1 / 3, ("blue: 0",),
    ),
    PlantedFinding(  # examples are the first five in row order
        "dangling_qrel", "Retrieval", with_rows("qrels", "test", *(("q1", f"x{number}", 1) for number in range(9, 0, -1))),
        "qrels/test.corpus-id", 9, 9 / 12, ("q1 x9", "q1 x8", "q1 x7", "q1 x6", "q1 x5"),
    ),
    *(
        PlantedFinding(
            kind, "Contrastive", with_value("faq", "train", column, 1, value), f"faq/train.{column}", 1, 1 / 4, ("question:1",)
        )
        for kind, column, value in (
            ("empty_query", "query", " "),
            ("query_without_positive", "positives", []),
            ("empty_positive", "positives", ["a text", "\t"]),
            ("negatives_without_kinds", "negative_kinds", ["random"] * 6),
            ("unknown_negative_kind", "negative_kinds", ["mined"] * 7),
        )
    ),
]  # fmt: skip
# Changes with the kinds of all findings that they cause.
CHANGES = {
    "two lists that share a label": ("MultilabelClassification", with_edit("default", "test", lambda frame: frame.head(2)), []),
    "few rows of a label in test": ("Classification", with_edit("default", "test", lambda frame: frame.head(3)), []),
    "an empty list of candidates": (
        "Reranking", with_value("top_ranked", "test", "corpus-ids", 0, []), ["positive_not_listed", "query_without_negative"],
    ),
    "a column that the task does not have": (
        "Reranking", with_edit("corpus", "test", lambda frame: frame.with_columns(source=pl.lit("wiki"))), [],
    ),
    "rows are wrong too, but the structure is": (
        "STS",
        combine(
            with_edit("default", "test", lambda frame: frame.drop("score")), with_value("default", "train", "id", 1, "a")
        ),
        ["missing_column"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("task_type", TASKS)
def test_a_clean_dataset_has_no_integrity_finding(task_type: str) -> None:
    assert integrity_findings(task_type, clean_tables(task_type)) == []


@pytest.mark.parametrize("planted", PLANTED, ids=str)
def test_a_planted_defect_is_reported_and_no_other(planted: PlantedFinding) -> None:
    tables = planted.change(clean_tables(planted.task_type))
    finding, *others = integrity_findings(planted.task_type, tables)
    assert tuple(other.kind for other in others) == planted.other_kinds
    assert (finding.kind, finding.severity, finding.location) == (
        planted.kind,
        KINDS[planted.kind].severity,
        planted.location,
    )
    assert (finding.count, finding.share) == (planted.count, pytest.approx(planted.share))
    assert finding.examples == resolve_names(tables, finding.config, finding.split, planted.examples)
    assert planted.detail in ("", finding.detail)


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_causes_exactly_these_kinds_of_findings(change: str) -> None:
    task_type, plant, kinds = CHANGES[change]
    assert [finding.kind for finding in integrity_findings(task_type, plant(clean_tables(task_type)))] == kinds


TABLES = [(task_type, layout) for task_type, task in TASKS.items() for layout in tasks.layouts(task)]
COLUMNS = [(task_type, layout, column) for task_type, layout in TABLES for column in layout.columns]


def kinds_and_locations(task_type: str, tables: Tables) -> list[tuple[str, str]]:
    return [(finding.kind, finding.location) for finding in integrity_findings(task_type, tables)]


@pytest.mark.parametrize(("task_type", "layout"), TABLES, ids=lambda value: getattr(value, "config", value))
def test_every_table_must_exist_and_have_rows(task_type: str, layout: tasks.Layout) -> None:
    split = TASKS[task_type].splits[-1]
    without = without_table(layout.config, split)(clean_tables(task_type))
    assert kinds_and_locations(task_type, without) == [("missing_table", f"{layout.config}/{split}")]
    empty = with_edit(layout.config, split, lambda frame: frame.clear())(clean_tables(task_type))
    assert kinds_and_locations(task_type, empty) == [("empty_table", f"{layout.config}/{split}")]


@pytest.mark.parametrize(("task_type", "layout", "column"), COLUMNS, ids=lambda value: getattr(value, "config", value))
def test_every_column_must_exist_with_its_type_and_without_nulls(
    task_type: str, layout: tasks.Layout, column: str
) -> None:
    split = TASKS[task_type].splits[-1]
    location, tables = f"{layout.config}/{split}.{column}", clean_tables(task_type)
    without = with_edit(layout.config, split, lambda frame: frame.drop(column))(tables)
    assert kinds_and_locations(task_type, without) == [("missing_column", location)]
    retyped = with_edit(layout.config, split, lambda frame: frame.with_columns(pl.lit(value=True).alias(column)))
    assert kinds_and_locations(task_type, retyped(tables)) == [("wrong_type", location)]
    with_null = with_value(layout.config, split, column, 0, None)(tables)
    is_text = column == "title" or column in layout.text
    assert kinds_and_locations(task_type, with_null) == [("null_text" if is_text else "null_value", location)]


@pytest.mark.parametrize(
    "task_type",
    [task_type for task_type in TASKS if task_type not in {"Retrieval", "Clustering", "BitextMining", "Contrastive"}],
)
def test_every_split_is_checked(task_type: str) -> None:
    split, layout = TASKS[task_type].splits[0], tasks.layouts(TASKS[task_type])[0]
    tables = with_value(layout.config, split, layout.text[0], 0, None)(clean_tables(task_type))
    (finding,) = integrity_findings(task_type, tables)
    assert finding.location == f"{layout.config}/{split}.{layout.text[0]}"


def test_few_rows_of_a_label_are_only_info_in_a_golden_sample() -> None:
    tables = with_edit("default", "train", lambda frame: frame.head(6))(clean_tables("Classification"))
    (finding,) = integrity_findings("Classification", tables, sample=True)
    assert (finding.kind, finding.severity, finding.count) == ("few_rows_of_label", "info", 3)
    assert finding.examples == ("red: 2", "green: 2", "blue: 2")


@pytest.mark.parametrize(
    ("task_type", "column"),
    [("Classification", "label"), ("MultilabelClassification", "label"), ("PairClassification", "labels")],
)
def test_one_class_is_only_info_in_a_sample(task_type: str, column: str) -> None:
    tables = with_edit("default", "test", lambda frame: frame.head(1))(clean_tables(task_type))
    (finding,) = integrity_findings(task_type, tables, sample=True)
    assert (finding.kind, finding.severity, finding.location) == ("one_class_only", "info", f"default/test.{column}")


def test_a_label_without_training_rows_is_reported_in_each_later_split_and_nowhere_else() -> None:
    tables = with_edit("default", "train", lambda frame: frame.filter(pl.col("label") < 2))(
        clean_tables("Classification")
    )
    findings = integrity_findings("Classification", tables, sample=True)
    findings += quality_findings("Classification", tables)
    assert [(finding.kind, finding.severity, finding.location) for finding in findings] == [
        ("label_without_training_rows", "info", "default/validation.label"),
        ("label_without_training_rows", "info", "default/test.label"),
    ]


def test_nothing_is_known_of_training_rows_without_the_train_split() -> None:
    test = clean_tables("Classification")["default"]["test"].filter(pl.col("label") < 2).lazy()
    assert audit_integrity(TASKS["Classification"], {"default": {"test": test}}, ("test",)) == []
