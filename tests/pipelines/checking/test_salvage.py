"""Defects in datasets that this package did not build: each is an error, and the other rows are audited all the same."""

import re
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from tests.support.foreign import finding_counts, report_of, with_name, with_numbered_ids, with_type
from tests.support.releases import write_dataset
from tests.support.tables import (
    Change,
    clean_tables,
    combine,
    row_names,
    with_edit,
    with_rows,
    with_value,
    without_table,
)


@dataclass(frozen=True)
class PlantedDefect:
    """A change of a clean dataset, and the errors that it causes. examples: of the first error. audited: whether rows remain."""

    task_type: str
    change: Change
    errors: list[tuple[str, str, int]]
    examples: list[str]
    audited: bool = True


PLANTED = {
    "null text": PlantedDefect(
        "Clustering", with_value("default", "test", "sentences", 2, None), [("null_text", "default/test/sentences", 1)], ["row 2"]
    ),
    "null title": PlantedDefect(
        "Retrieval", with_value("corpus", "test", "title", 0, None), [("null_text", "corpus/test/title", 1)], ["d1"]
    ),
    "judged document without a text": PlantedDefect(
        "Retrieval", with_value("corpus", "test", "text", 0, None), [("null_text", "corpus/test/text", 1)], ["d1"]
    ),
    "null label": PlantedDefect(
        "Classification", with_value("default", "test", "label", 3, None), [("null_value", "default/test/label", 1)], ["row 3"]
    ),
    "null in a list of labels": PlantedDefect(
        "MultilabelClassification", with_value("default", "test", "label", 0, [0, None]),
        [("null_value", "default/test/label", 1)], ["row 0"],
    ),
    "judgement of an unknown document": PlantedDefect(
        "Retrieval", with_rows("qrels", "test", ("q1", "d9", 1)), [("dangling_qrel", "qrels/test/corpus-id", 1)], ["q1 d9"]
    ),
    "unknown candidate": PlantedDefect(
        "Reranking", with_value("top_ranked", "test", "corpus-ids", 0, ["d1", "d3", "d9"]),
        [("dangling_candidate", "top_ranked/test/corpus-ids", 1)], ["q1 d9"],
    ),
    "two documents with one id": PlantedDefect(
        "Retrieval", with_rows("corpus", "test", ("d1", "", "Wasps sting.")), [("duplicate_id", "corpus/test/id", 1)], ["d1"]
    ),
    "null text that hides a query without a positive": PlantedDefect(
        "Retrieval",
        combine(with_value("corpus", "test", "text", 2, None), with_value("qrels", "test", "score", 0, 0)),
        [("null_text", "corpus/test/text", 1), ("query_without_positive", "queries/test/id", 1)],
        ["d3"],
    ),
    "numbers as `id`": PlantedDefect(
        "Retrieval", with_numbered_ids("corpus"),
        [("wrong_type", "corpus/test/id", 1), ("dangling_qrel", "qrels/test/corpus-id", 3)], [],
    ),
    "fractions as judgements": PlantedDefect(
        "Retrieval", with_edit("qrels", "test", lambda frame: frame.with_columns(score=pl.col("score") / 2)),
        [("wrong_type", "qrels/test/score", 1)], [],
    ),
    "underscore in a column name": PlantedDefect(
        "Retrieval", with_name("qrels", "query-id", "query_id"), [("missing_column", "qrels/test/query-id", 1)], []
    ),
    "column beside the candidates": PlantedDefect(
        "Reranking", with_edit("top_ranked", "test", lambda frame: frame.with_columns(rank=pl.lit(1))),
        [("unexpected_column", "top_ranked/test/rank", 1)], [],
    ),
    "scores that are words": PlantedDefect(
        "STS", with_type("default", "score", pl.String), [("wrong_type", "default/test/score", 1)], []
    ),
    "score NaN": PlantedDefect(
        "STS", with_value("default", "test", "score", 1, float("nan")), [("score_out_of_range", "default/test/score", 1)],
        ["row 1"],
    ),
    "third label of pairs": PlantedDefect(
        "PairClassification", with_value("default", "test", "labels", 0, 2), [("label_out_of_range", "default/test/labels", 1)],
        ["row 0"],
    ),
    "labels of pairs that are words": PlantedDefect(
        "PairClassification",
        with_edit("default", "test", lambda frame: frame.with_columns(labels=pl.Series(["no", "yes"] * 2))),
        [("wrong_type", "default/test/labels", 1)], [],
    ),
    "two labels that are words": PlantedDefect(
        "Classification",
        combine(*(with_edit("default", split, lambda frame: frame.select(
            "text", label=pl.when(pl.col("label") > 0).then(pl.lit("blue")).otherwise(pl.lit("red"))
        )) for split in ("train", "validation", "test"))),
        [("wrong_type", f"default/{split}/label", 1) for split in ("train", "validation", "test")], [],
    ),
    "no train split": PlantedDefect(
        "Classification", without_table("default", "train"), [("missing_table", "default/train", 1)], [], audited=True
    ),
    "no second text": PlantedDefect(
        "STS", with_edit("default", "test", lambda frame: frame.drop("sentence2")),
        [("missing_column", "default/test/sentence2", 1)], [],
    ),
    "table without rows": PlantedDefect(
        "Retrieval", with_edit("qrels", "test", lambda frame: frame.clear()), [("empty_table", "qrels/test", 1)], [],
        audited=False,
    ),
    "no queries": PlantedDefect(
        "Retrieval", lambda tables: {config: own for config, own in tables.items() if config != "queries"},
        [("missing_table", "queries/test", 1)], [], audited=False,
    ),
    "one cluster": PlantedDefect(
        "Clustering", with_edit("default", "test", lambda frame: frame.with_columns(labels=pl.lit("wax"))),
        [("one_class_only", "default/test/labels", 1)], [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)
def test_a_planted_defect_is_an_error_and_the_rest_is_audited(planted: PlantedDefect, tmp_path: Path) -> None:
    report = report_of(write_dataset(tmp_path, planted.change(clean_tables(planted.task_type))))
    assert report["task"] == planted.task_type
    assert finding_counts(report, "error") == planted.errors
    pattern = {name: "[0-9a-f]{16}" if name.startswith("row ") else re.escape(name) for name in planted.examples}
    assert len(report["defects"][0]["examples"]) == len(planted.examples)
    for example, name in zip(report["defects"][0]["examples"], planted.examples, strict=True):
        assert re.fullmatch(pattern[name], example)
    assert bool(report["audited"]) == planted.audited


def test_rows_with_a_null_are_not_audited_and_the_others_keep_their_names(tmp_path: Path) -> None:
    tables = combine(
        with_value("default", "test", "sentences", 0, None),
        with_rows("default", "test", ("3 test sentence number 3", "wax")),
    )(clean_tables("Clustering"))
    report = report_of(write_dataset(tmp_path, tables))
    assert finding_counts(report) == [
        ("null_text", "default/test/sentences", 1), ("conflicting_label", "default/test/labels", 1),
        ("duplicate_text", "default/test/sentences", 1),
    ]  # fmt: skip
    names = row_names(tables["default"]["test"], 0, 3, 4)
    assert [finding["examples"] for finding in report["findings"]] == [(name,) for name in names]
