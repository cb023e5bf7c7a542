"""Columns with other names than the task's, and single files."""

import gzip
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.errors import SourceError, UsageError
from pipelines.checking.checks import check_dataset
from pipelines.checking.columns import parse_column_map, rename_columns
from pipelines.checking.datasets import ForeignOptions
from tests.support.foreign import finding_counts, report_of, write_json_lines

ROWS = pl.DataFrame({"sentence": ["It rains again.", "The sun is out.", "It rains again."], "target": [0, 1, 0]})
MAP = {"text": "sentence", "label": "target"}


def check_one(path: Path, **options: Any) -> dict[str, Any]:
    [result] = check_dataset(path, path.name, ForeignOptions(**options), language_sample=2000)
    return result.report


def test_our_column_comes_first_then_the_one_in_the_file() -> None:
    assert parse_column_map(["text=sentence", "label=a=b"]) == {"text": "sentence", "label": "a=b"}


@pytest.mark.parametrize(
    ("texts", "what"),
    [
        (["text"], "does not name two columns"),
        (["=sentence"], "does not name two columns"),
        (["text="], "does not name two columns"),
        (["text=a", "text=b"], "names the column 'text' twice"),
        (["text=a", "label=a"], "names the column 'a' twice"),
    ],
)
def test_a_map_of_another_form_is_refused(texts: list[str], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        parse_column_map(texts)


def test_a_renamed_column_replaces_one_of_its_new_name_and_a_note_says_so() -> None:
    frame = pl.LazyFrame({"text": ["ignored"], "sentence": ["read"], "label": [1]})
    tables, notes = rename_columns({"default": {"test": frame}}, {"text": "sentence"})
    assert tables["default"]["test"].collect().to_dict(as_series=False) == {"label": [1], "text": ["read"]}
    assert notes == ["default: the column text is ignored, because --map reads sentence as text"]


def test_two_columns_can_change_their_names() -> None:
    frame = pl.LazyFrame({"sentence1": ["a"], "sentence2": ["b"]})
    tables, notes = rename_columns({"default": {"test": frame}}, {"sentence1": "sentence2", "sentence2": "sentence1"})
    assert tables["default"]["test"].collect().row(0, named=True) == {"sentence1": "b", "sentence2": "a"}
    assert notes == []


@pytest.mark.parametrize(
    ("columns", "task", "words"),
    [
        ({"text": "sentense"}, None, ["no table has a column 'sentense'", "found:    sentence, target"]),
        ({"txt": "sentence"}, None, ["'txt' is not a column of a task type", "text", "sentence1"]),
        ({"sentence1": "sentence"}, "Classification", ["not a column of Classification", "text, label, label_text"]),
    ],
)
def test_an_unknown_column_is_an_error_that_lists_the_columns(
    columns: dict[str, str], task: str | None, words: list[str]
) -> None:
    with pytest.raises(UsageError) as caught:
        rename_columns({"default": {"test": ROWS.lazy()}}, columns, task)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_folder_with_other_columns_is_audited_under_the_names_of_its_task(tmp_path: Path) -> None:
    for split in ("train", "test"):
        write_json_lines(tmp_path / "data" / f"{split}.jsonl", *ROWS.to_dicts())
    with pytest.raises(SourceError, match="no table of a known task type") as caught:
        report_of(tmp_path)
    assert "--map text=sentence" in str(caught.value)
    report = report_of(tmp_path, columns=MAP)
    assert report["task"] == "Classification"
    assert ("split_leak", "default/test/text", 2) in finding_counts(report)


def write_file(path: Path) -> Path:
    """ROWS in the format of the file's name."""
    match path.name.removeprefix("test"):
        case ".parquet":
            ROWS.write_parquet(path)
        case ".csv":
            ROWS.write_csv(path)
        case ".tsv.gz":
            path.write_bytes(gzip.compress(ROWS.write_csv(separator="\t").encode()))
        case ".json":
            ROWS.write_json(path)
        case _:
            path.write_bytes(gzip.compress(ROWS.write_ndjson().encode()))
    return path


@pytest.mark.parametrize("name", ["test.parquet", "test.csv", "test.tsv.gz", "test.json", "test.jsonl.gz"])
def test_a_single_file_is_a_dataset_with_one_split_named_after_the_file(name: str, tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("another,table\n1,2\n", "utf-8")
    report = check_one(write_file(tmp_path / name), columns=MAP)
    assert [(table["split"], table["rows"]) for table in report["tables"]] == [("test", 3)]
    assert ("duplicate_text", "default/test/text", 1) in finding_counts(report)
    assert not finding_counts(report, "error"), "a single file needs no split to train on"


def test_a_single_file_with_any_other_name_is_the_split_train(tmp_path: Path) -> None:
    ROWS.write_csv(tmp_path / "data-2020.csv")
    [table] = check_one(tmp_path / "data-2020.csv", columns=MAP)["tables"]
    assert (table["config"], table["split"]) == ("default", "train")


def test_a_single_file_that_cannot_be_read_is_named_in_the_error(tmp_path: Path) -> None:
    (tmp_path / "data.txt").touch()
    with pytest.raises(SourceError, match="not a data file") as caught:
        check_one(tmp_path / "data.txt")
    assert "Parquet, JSON lines, JSON, CSV, TSV" in str(caught.value)
    (tmp_path / "data.csv").write_text("a,b\n1,2\n", "utf-8")
    with pytest.raises(SourceError, match="no table of a known task type") as caught:
        check_one(tmp_path / "data.csv")
    assert caught.value.where == str(tmp_path / "data.csv")
