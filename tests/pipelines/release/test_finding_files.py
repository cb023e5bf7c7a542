"""pipelines.release.finding_files: every row of every finding on disk, of one run."""

import json
from pathlib import Path

import polars as pl
import pytest

from builders import tasks
from builders.errors import ReleaseError
from pipelines.audit.findings import FindingRows
from pipelines.audit.integrity import audit_integrity
from pipelines.audit.quality import audit_tables
from pipelines.release.finding_files import INDEX, write_findings
from tests.support.tables import TASKS, as_lazy, clean_tables, combine, with_rows, with_value

LEAK = ("1 train sentence number 1", 1, "green")


def leaking(times: int) -> list[FindingRows]:
    """The findings of a classification whose test split has a text of train so many times."""
    tables = with_rows("default", "test", *[LEAK] * times)(clean_tables("Classification"))
    return audit_tables(TASKS["Classification"], as_lazy(tables), TASKS["Classification"].splits)


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of all files below a folder, and below those beside it."""
    return {
        str(path.relative_to(folder.parent)): path.read_bytes() for path in folder.parent.rglob("*") if path.is_file()
    }


def test_all_rows_of_a_finding_are_written_with_the_rows_that_make_them_one(tmp_path: Path) -> None:
    findings = leaking(7)
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


def test_the_next_run_removes_the_files_of_the_last_and_keeps_those_of_others(tmp_path: Path) -> None:
    folder = tmp_path / "demo-1.0.0"
    write_findings(folder, leaking(7))
    mine = [
        folder / "notes.txt",
        folder / "split_leak" / "mine-test.parquet",
        folder / "duplicate_text" / "seen" / "a.txt",
    ]
    for path in mine:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    [leak] = write_findings(folder, leaking(1))
    assert leak == folder / "split_leak" / "default-test.parquet"
    assert json.loads((folder / INDEX).read_bytes()) == {"files": ["split_leak/default-test.parquet"]}
    assert {path for path in folder.rglob("*") if path.is_file()} == {leak, folder / INDEX, *mine}
    assert {path.read_text() for path in mine} == {"mine"}
    assert write_findings(folder, []) == []
    assert {path for path in folder.rglob("*") if path.is_file()} == {folder / INDEX, *mine}


def test_a_folder_of_a_kind_that_has_no_rows_any_more_is_removed(tmp_path: Path) -> None:
    write_findings(tmp_path / "demo", leaking(7))
    write_findings(tmp_path / "demo", leaking(1))
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == [INDEX, "split_leak"]


def test_a_run_that_ends_half_way_leaves_the_rows_of_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "demo"
    write_findings(folder, leaking(1))
    before = contents(folder)
    findings = leaking(7)
    assert len(findings) > 1
    write_parquet = pl.DataFrame.write_parquet

    def killed(frame: pl.DataFrame, path: Path) -> None:
        write_parquet(frame, path)
        raise KeyboardInterrupt

    monkeypatch.setattr(pl.DataFrame, "write_parquet", killed)
    with pytest.raises(KeyboardInterrupt):
        write_findings(folder, findings)
    assert contents(folder) == before


def test_what_a_killed_run_left_beside_is_removed_by_the_next(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    (tmp_path / ".demo.new" / "split_leak").mkdir(parents=True)
    (tmp_path / ".demo.new" / "split_leak" / "default-test.parquet").write_bytes(b"PAR1")
    write_findings(folder, leaking(1))
    assert {path.name for path in tmp_path.iterdir()} == {"demo"}


def test_files_are_kept_where_the_file_system_has_no_second_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr("os.link", fail)
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    write_findings(folder, leaking(1))
    assert (folder / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["", INDEX, "split_leak"], ids=["the folder", "the list", "a kind"])
def test_a_file_of_somebody_else_in_the_way_is_an_error_and_stays(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("[]")
    before = contents(folder)
    with pytest.raises(ReleaseError, match="another file is where rows of findings would be written") as raised:
        write_findings(folder, leaking(1))
    assert raised.value.where == str(path)
    assert contents(folder) == before


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
