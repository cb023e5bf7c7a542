"""The formats in which other programs read a check: Markdown, GitHub's annotations, SARIF, a badge; and all of them at once."""

import json
from pathlib import Path
from typing import Any

from tests.support.foreign import write_json_lines
from tests.support.processes import run

HOSTILE = "::error title=x::y\n| a | <b> `c` &amp; 100%"


def write(folder: Path) -> Path:
    rows = [
        {"text": HOSTILE, "label": 0},
        {"text": HOSTILE, "label": 1},
        {"text": "a plain text of the test", "label": 1},
    ]
    write_json_lines(folder / "te,st:1" / "train.jsonl", *rows)
    return folder / "te,st:1"


def test_markdown_is_a_table_in_which_a_text_cannot_end_a_cell(tmp_path: Path) -> None:
    page = run("check", str(write(tmp_path)), "--format", "markdown").stdout
    table = [line for line in page.splitlines() if line.startswith("|")]
    assert table[0] == "| severity | finding | count | share | where | for example |"
    assert "| warning | HTML tags or character references | 2 | 66.67% | default/train.text |" in " ".join(table)
    assert all(line.count(" | ") == 5 for line in table)


def test_annotations_are_one_line_each_and_escaped(tmp_path: Path) -> None:
    ended = run("check", str(write(tmp_path)), str(tmp_path / "none"), "--format", "github")
    lines = ended.stdout.splitlines()
    assert ended.returncode in (1, 2)
    message = "HTML tags or character references: 2 (66.67%25) in default/train.text"
    assert f"::warning title=te%2Cst%3A1%3A html_residue::{message}" in lines
    assert lines[-1].startswith(f"::error title={tmp_path}/none::")
    assert all(line.startswith(("::warning ", "::notice ", "::error ")) for line in lines)


def test_sarif_is_one_log_of_all_datasets_with_what_could_not_be_checked(tmp_path: Path) -> None:
    path = write(tmp_path)
    page = run("check", str(path), str(tmp_path / "none"), "--format", "sarif").stdout
    log: dict[str, Any] = json.loads(page)
    [ran] = log["runs"]
    assert log["version"] == "2.1.0"
    [found] = [result for result in ran["results"] if result["ruleId"] == "html_residue"]
    assert (found["level"], found["properties"]["count"]) == ("warning", 2)
    assert found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == str(path)
    assert {rule["id"] for rule in ran["tool"]["driver"]["rules"]} == {result["ruleId"] for result in ran["results"]}
    [invocation] = ran["invocations"]
    assert invocation["executionSuccessful"] is False
    assert "none" in invocation["toolExecutionNotifications"][0]["message"]["text"]


def test_one_check_prints_a_format_and_writes_the_others(tmp_path: Path) -> None:
    data, out = write(tmp_path), tmp_path / "out"
    out.mkdir()
    names = {"markdown": "check.md", "sarif": "check.sarif", "badge": "badge.json"}
    options = [argument for form, name in names.items() for argument in (f"--{form}", str(out / name))]
    printed = run("check", str(data), "--format", "github", *options)
    assert printed.stdout == run("check", str(data), "--format", "github").stdout
    assert [line for line in printed.stderr.splitlines() if str(out) in line] == [
        f"{form}: {out / name}" for form, name in names.items()
    ]
    head, *page = (out / "check.md").read_text("utf-8").splitlines()
    assert head == "<!-- embedding-datasets check -->"
    assert page == run("check", str(data), "--format", "markdown").stdout.splitlines()
    assert (out / "check.sarif").read_text("utf-8") == run("check", str(data), "--format", "sarif").stdout.rstrip("\n")
    assert json.loads((out / "badge.json").read_text("utf-8")) == {
        "schemaVersion": 1, "label": "embedding data", "message": "4 warnings", "color": "yellow", "isError": False,
    }  # fmt: skip
    assert run("check", str(data), *options).returncode == 0, "what a check wrote, the next one replaces"
    (out / "check.sarif").write_text('{"version": "2.1.0", "runs": []}', "utf-8")
    refused = run("check", str(data), "--sarif", str(out / "check.sarif"))
    assert (refused.returncode, "not a report of a check that this package wrote" in refused.stderr) == (2, True)


def test_what_could_not_be_checked_is_in_the_markdown_and_on_the_badge(tmp_path: Path) -> None:
    page, badge = tmp_path / "check.md", tmp_path / "badge.json"
    ended = run("check", str(write(tmp_path)), "none/|a", "--markdown", str(page), "--badge", str(badge))
    assert ended.returncode == 2
    *_, heading, _, reason, _ = page.read_text("utf-8").split("\n")[:-1]
    assert heading == "### none/&#124;a"
    assert reason.startswith("not checked: no such folder or file")
    written = json.loads(badge.read_text("utf-8"))
    assert (written["message"], written["color"], written["isError"]) == ("1 not checked", "lightgrey", True)


def test_the_badge_of_several_datasets_has_the_worst_verdict(tmp_path: Path) -> None:
    sound = {"text": "a plain text of the test", "label": 1}
    write_json_lines(tmp_path / "broken" / "train.jsonl", {"text": None, "label": 0}, sound)
    badge = tmp_path / "badge.json"
    assert run("check", str(tmp_path / "broken"), str(write(tmp_path)), "--badge", str(badge)).returncode == 4
    written = json.loads(badge.read_text("utf-8"))
    assert (written["message"].partition(",")[0], written["color"]) == ("defective", "red")
