"""pipelines.audit.finding_tables: every row of every finding, with its twin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from builders import tasks
from pipelines.audit.finding_tables import list_rows, write_findings
from pipelines.audit.integrity import audit_integrity
from pipelines.audit.quality import audit_tables
from tests.support.tables import TASKS, as_lazy, clean_tables, combine, with_rows, with_value

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.audit.findings import FindingRows
    from tests.support.tables import Tables


def audit(task_type: str, tables: Tables) -> list[FindingRows]:
    return audit_tables(TASKS[task_type], as_lazy(tables), TASKS[task_type].splits)


def test_all_rows_of_a_finding_are_written_with_the_rows_that_make_them_one(tmp_path: Path) -> None:
    again = [("1 train sentence number 1", 1, "green")] * 7
    findings = audit("Classification", with_rows("default", "test", *again)(clean_tables("Classification")))
    paths = [path.relative_to(tmp_path).as_posix() for path in write_findings(tmp_path, findings)]
    assert paths == ["duplicate_text/default-test.parquet", "split_leak/default-test.parquet"]
    duplicates = pl.read_parquet(tmp_path / paths[0])
    [first] = findings[-1].finding.twins[:1]
    assert duplicates.height == 6
    assert duplicates["row"].to_list() == [f"{first.removeprefix('test: ')}-{number}" for number in range(2, 8)]
    assert set(duplicates["text"]) == set(duplicates["twin text"]) == {"1 train sentence number 1"}
    leak = pl.read_parquet(tmp_path / paths[1]).row(0, named=True)
    assert (leak["column"], leak["detail"], leak["twin_split"]) == ("text", "in train", "train")
    assert leak["twin text"] == leak["text"] == "1 train sentence number 1"
    assert (leak["twin label"], leak["label"]) == (1, 1)


def test_rows_of_findings_that_are_gone_are_removed(tmp_path: Path) -> None:
    again = [("1 train sentence number 1", 1, "green")] * 7
    write_findings(
        tmp_path, audit("Classification", with_rows("default", "test", *again)(clean_tables("Classification")))
    )
    (tmp_path / "notes.parquet").touch()
    [leak] = write_findings(
        tmp_path, audit("Classification", with_rows("default", "test", again[0])(clean_tables("Classification")))
    )
    assert leak.parent.name == "split_leak"
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == ["default-test.parquet", "notes.parquet"]


def test_both_labels_of_a_conflict_are_written() -> None:
    tables = with_value("default", "test", "text", 4, "0 test sentence number 0")(clean_tables("Classification"))
    conflict = next(one for one in audit("Classification", tables) if one.finding.kind == "conflicting_label")
    row = list_rows(conflict).row(0, named=True)
    assert (row["label_text"], row["twin label_text"]) == ("red", "green")


def test_a_pair_that_is_not_in_a_table_has_a_name_and_no_values() -> None:
    twins = [(f"d{number}", "", "Wax They build with it.") for number in range(4, 12)]
    findings = audit("Retrieval", with_rows("corpus", "test", *twins)(clean_tables("Retrieval")))
    unjudged = next(one for one in findings if one.finding.kind == "unjudged_twin")
    rows = list_rows(unjudged)
    assert rows["row"].to_list() == [f"q2 d{number}" for number in range(4, 12)]
    assert unjudged.finding.examples == tuple(rows["row"][:5])


def test_defects_are_written_too_and_findings_about_no_row_are_left_out(tmp_path: Path) -> None:
    change = combine(with_value("default", "test", "label", 3, 7), with_value("default", "test", "label", 5, -1))
    tables = change(clean_tables("Classification"))
    defects = audit_integrity(TASKS["Classification"], as_lazy(tables), TASKS["Classification"].splits)
    [path] = write_findings(tmp_path, defects)
    assert pl.read_parquet(path)["label"].to_list() == [7, -1]
    missing = audit_integrity(TASKS["Classification"], {"default": {}}, ("test",))
    assert write_findings(tmp_path / "none", missing) == []


def test_columns_and_splits_of_any_name_are_written(tmp_path: Path) -> None:
    frame = pl.DataFrame({"sentences": ["", "bee"], "labels": ["a", "b"], "row": [1, 2], "twin": ["x", "y"]})
    task = tasks.Clustering(splits=("../test",))
    findings = audit_tables(task, {"default": {"../test": frame.lazy()}}, task.splits)
    [path] = write_findings(tmp_path, findings)
    assert path == tmp_path / "empty_text" / "default-___test.parquet"
    assert pl.read_parquet(path).select("row_", "twin_").rows() == [(1, "x")]
