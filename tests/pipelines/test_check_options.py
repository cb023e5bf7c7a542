"""The options of `check` for other people's files, as the command line takes them."""

import json
from pathlib import Path

from tests.support.processes import run


def test_a_file_and_the_names_of_its_columns_are_given_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("sentence,target\nIt rains.,0\nThe sun is out.,1\nIt rains.,1\n", "utf-8")
    columns = ["--map", "text=sentence", "--map", "label=target"]
    done = run("check", str(path), "--json", "--language", "eng-Latn", *columns)
    assert done.returncode == 0
    report = json.loads(done.stdout)
    assert (report["path"], report["dataset"], report["task"]) == (str(path), "data.csv", "Classification")
    assert "conflicting_label" in {finding["kind"] for finding in report["findings"]}


def test_a_map_that_names_no_column_exits_with_2_and_lists_the_columns(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("sentence,target\nIt rains.,0\n", "utf-8")
    done = run("check", str(path), "--map", "text=sentense")
    assert done.returncode == 2
    assert "found:    sentence, target" in done.stderr
