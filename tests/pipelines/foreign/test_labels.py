"""Labels in any form: each becomes a number with a name."""

from pathlib import Path

import polars as pl

from tests.support.foreign import check_subsets, finding_counts, report_of
from tests.support.releases import write_dataset
from tests.support.tables import clean_tables, combine, with_edit, with_value


def test_labels_that_are_words_are_numbered_and_named(tmp_path: Path) -> None:
    tables = clean_tables("Classification")
    words = {split: frame.select("text", label="label_text") for split, frame in tables["default"].items()}
    [result] = check_subsets(write_dataset(tmp_path, {"default": words}))
    assert (result.report["findings"], result.report["problems"]) == ([], [])
    assert result.task.labels == ("blue", "green", "red")  # type: ignore[union-attr]
    rows = result.frames["default"]["test"].select("label", "label_text").collect().rows()
    assert rows[:3] == [(2, "red"), (1, "green"), (0, "blue")]


def test_label_text_names_the_labels_and_a_row_with_another_name_is_a_finding(tmp_path: Path) -> None:
    tables = combine(*(
        with_edit("default", split, lambda frame: frame.with_columns(pl.col("label").cast(pl.Int8) + 5))
        for split in ("train", "validation", "test")
    ))(clean_tables("Classification"))  # fmt: skip
    assert report_of(write_dataset(tmp_path / "clean", tables))["findings"] == []
    other_name = with_value("default", "test", "label_text", 0, "blue")(tables)
    report = report_of(write_dataset(tmp_path / "wrong", other_name))
    assert finding_counts(report) == [("label_text_differs", "default/test/label_text", 1)]


def test_lists_of_labels_may_be_words_in_any_order(tmp_path: Path) -> None:
    tables = clean_tables("MultilabelClassification")
    words = {
        split: frame.with_columns(label=pl.Series([["red", "green"], ["green", "blue"], ["blue", "red"], []] * 6))
        for split, frame in tables["default"].items()
    }
    [result] = check_subsets(write_dataset(tmp_path, {"default": words}))
    assert (result.report["task"], result.report["findings"]) == ("MultilabelClassification", [])
    assert result.frames["default"]["test"].collect()["label"].to_list()[:4] == [[1, 2], [0, 1], [0, 2], []]
