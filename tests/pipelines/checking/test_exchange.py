"""The formats in which other programs read a check: Markdown, GitHub's annotations, SARIF."""

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
