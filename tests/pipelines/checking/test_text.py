"""Pages of text: whatever the names and texts in the data, they fit a terminal of 80 columns. The names of findings for
people. The formats in which other programs read a check: Markdown, GitHub's annotations, SARIF, a badge; and all at once.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cards.evidence import Quote
from cards.kinds import FOLDED_DETAIL
from cards.manifest import Finding
from pipelines.checking.text import check_page, finding_name
from pipelines.process.tables import cut_middle, fold, table
from tests.support.foreign import write_json_lines
from tests.support.processes import run

LONG = "a-rather-long-name-of-a-config-that-somebody-chose-and-nobody-shortened"


def report(**values: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "dataset": "set", "subset": "", "version": None, "sample": False, "partial": False, "content_sha256": None,
        "task": "STS", "tables": [], "notes": [], "problems": [], "failed_on": [],
        "verdict": {"state": "no problems", "summary": "no problems"},
    }  # fmt: skip
    return base | values


FINDING = Finding("split_leak", "warning", "default", "test", "text", count=1, share=0.5)


def widths(page: str) -> list[int]:
    return [len(line) for line in page.splitlines()]


def test_a_finding_has_its_detail_examples_and_reason_below_it() -> None:
    found = replace(FINDING, detail="in train", examples=("row 1", "row 2"), why="The source has it.")
    assert check_page(report(), [found]).splitlines() == [
        "set: no problems",
        "  task      STS",
        "  rows",
        "",
        "  severity  finding     count   share  where",
        "  --------  ----------  -----  ------  -----------------",
        "  warning   split_leak      1  50.00%  default/test/text",
        "            text also in an earlier split, exact; in train",
        "            row 1; row 2",
        "            kept: The source has it.",
    ]


def test_a_long_location_of_a_finding_is_folded_behind_its_slashes() -> None:
    location = {"config": "en-de", "split": "validation", "column": "sentence1"}
    found = replace(FINDING, kind="label_without_training_rows", count=12345, texts_checked=20000, **location)
    _, _, *table = check_page(report(), [found]).splitlines()[2:]
    assert [line[67:] for line in table[2:5]] == ["en-de/", "validation/", "sentence1"]


def test_labels_are_counted_as_labels_and_those_of_two_splits_do_not_add_up() -> None:
    detail = "no label: guessed right for 75% of the rows from this column"
    train = Finding("label_leaking_column", "info", "default", "train", "source", 1, 1 / 6, detail=detail)
    page = check_page(report(), [train, replace(train, split="test", count=2, share=1 / 3)]).splitlines()
    assert page[6].split() == ["info", "label_leaking_column", "2", "of", "6", "labels", "33.33%", "default/*/source"]
    assert "default/train.source 1 of 6 labels (16.67 %)" in " ".join(" ".join(page).split())
    words = replace(FINDING, kind="label_by_token", detail="texts begin with the name of their label")
    assert (words.count_text, words.counts_labels) == ("1", False)


def test_errors_come_first_in_a_table_of_findings() -> None:
    findings = [replace(FINDING, severity=severity) for severity in ("info", "warning", "error")]
    page = check_page(report(), findings).splitlines()
    assert [line.split()[0] for line in page if line.startswith(("  error", "  warning", "  info"))] == [
        "error", "warning", "info",
    ]  # fmt: skip


def test_a_check_fits_80_columns() -> None:
    words = "words " * 40
    findings = [
        replace(
            FINDING, config=LONG, column=LONG, detail=words, examples=("0123456789abcdef",) * 5, why=words, count=10**9
        ),
        replace(FINDING, kind="query_without_candidates", examples=("x" * 500, "a\nb\x1b[31m")),
    ]
    tables = [{"config": LONG, "split": "test", "rows": 3}] * 2
    summary = {"state": "warnings", "summary": words}
    page = check_page(report(dataset=LONG, tables=tables, notes=[words], verdict=summary), findings)
    assert max(widths(page)) <= 80
    assert "\x1b" not in page
    problem = check_page(report(problems=[words, "x" * 200], failed_on=["split_leak:0.1%"] * 9), [])
    assert max(widths(problem)) <= 80


def test_a_table_without_a_width_has_a_line_for_each_row() -> None:
    rows = [["file", "license"], ["x" * 100, "mit"]]
    assert table(rows, optional=["license"]).splitlines()[2] == f"{'x' * 100}  mit"


@pytest.mark.parametrize(
    ("rows", "width", "options", "lines"),
    [
        ([["file", "size"], ["document_mt/Europarl7/test_en.txt", "1,234 KB"]], 36, {}, [
            "file                        size",
            "--------------------------  --------",
            "document_mt/Europarl7/      1,234 KB",
            "test_en.txt",
        ]),
        ([["dataset", "status"], ["massive-intent-classification", "golden sample only"]], 38, {}, [
            "dataset                        status",
            "-----------------------------  -------",
            "massive-intent-classification  golden",
            "                               sample",
            "                               only",
        ]),
        ([["license", "name", "rows"], ["mit", "a", "9"], ["mit", "b", "1,000"]], 11,
         {"optional": ["license"], "numbers": ["rows"]}, [
            "name   rows",
            "----  -----",
            "a         9",
            "b     1,000",
            "",
            "(the",
            "  terminal",
            "  is too",
            "  narrow",
            "  for:",
            "  license)",
        ]),
        ([["name", "license", "task"], ["a-name", "cc-by-nc-nd-4.0", "Reranking"]], 20, {"optional": ["license"]}, [
            "name    task",
            "------  ---------",
            "a-name  Reranking",
            "",
            "(the terminal is too",
            "  narrow for:",
            "  license)",
        ]),
    ],
    ids=["folded cells", "a name keeps its width", "numbers to the right", "an optional column is left out"],
)  # fmt: skip
def test_a_table_fits_the_width_of_the_terminal(
    rows: list[list[str]], width: int, options: dict[str, Any], lines: list[str]
) -> None:
    assert table(rows, width=width, **options).splitlines() == lines
    assert table(rows, width=80, **options) == table(rows, **options)


def test_no_line_of_a_table_is_longer_than_the_terminal() -> None:
    rows = [["a", "b", "c"], ["word " * 30, "x" * 100, "some/path/" * 9]]
    for width in (40, 80, 120):
        assert max(widths(table(rows, width=width))) <= width


def test_a_word_is_broken_only_where_it_is_longer_than_a_line() -> None:
    assert fold("massive-intent-classification", 20) == ["massive-intent-", "classification"]
    assert fold("549,367 / 9,842", 10) == ["549,367 /", "9,842"]
    assert fold("data/test_en.txt", 12) == ["data/", "test_en.txt"]
    assert fold("x" * 12, 5) == ["xxxxx", "xxxxx", "xx"]
    assert fold("", 5) == [""]


@pytest.mark.parametrize(
    ("name", "length", "short"),
    [
        ("rubq", 4, "rubq"),
        ("v10.10.10", 7, "v....10"),
        ("ru-reviews-classification", 20, "ru-revi...sification"),
        ("ru-reviews", 5, "r...s"),
    ],
)
def test_a_long_name_keeps_both_its_ends(name: str, length: int, short: str) -> None:
    assert cut_middle(name, length) == short


def test_a_name_says_whether_texts_are_equal_or_only_equal_after_folding() -> None:
    assert finding_name("split_leak", "in train") == "text also in an earlier split, exact"
    assert finding_name("split_leak", f"in train, {FOLDED_DETAIL}") == "text also in an earlier split, folded"
    assert finding_name("conflicting_label", "in train") == "the same text with different labels"
    assert finding_name("html_residue", "") == "HTML tags or character references"


def test_a_finding_is_shown_by_its_texts_from_where_they_differ_and_never_by_a_hash_alone() -> None:
    long = "The board of the harbour met again on Monday to discuss the new tariffs for ships, and "
    found = replace(FINDING, examples=("0123456789abcdef", "q-7"))
    quotes = [Quote(f"{long}agreed.", f"{long}left.")]
    assert check_page(report(), [found], quotes).splitlines()[-5:] == [
        "            text also in an earlier split, exact",
        "            “…iffs for ships, and agreed.”",
        "            “…iffs for ships, and left.”",
        "                                  ^^^^",
        "            q-7",
    ]
    lookalike = check_page(report(), [found], [Quote("A wоrd", mark=(2, 6), note="Cyrillic о")]).splitlines()
    assert lookalike[-3:-1] == ["            “A wоrd”", "               ^^^^ Cyrillic о"]
    same = check_page(report(), [found], [Quote("A line\nand\x1b[31m more", "A line\nand\x1b[31m more")])
    assert [line.strip() for line in same.splitlines() if "“" in line] == ["“A line⏎and\\u001b[31m more”"]
    assert "0123456789abcdef" not in check_page(report(), [found], [None])


def test_what_is_wrong_in_a_text_has_a_mark_below_it_also_behind_escapes_and_at_the_edge() -> None:
    def lines(quote: Quote) -> list[str]:
        page = check_page(report(), [FINDING], [quote]).splitlines()
        return [line[12:] for line in page[page.index("            text also in an earlier split, exact") + 1 :]]

    assert lines(Quote("\u200ba <br> b", mark=(3, 7))) == ["“\\u200ba <br> b”", "         ^^^^"]
    assert lines(Quote("x" * 90 + "<br>", mark=(90, 94))) == ["“…" + "x" * 20 + "<br>”", " " * 22 + "^^^^"]
    assert lines(Quote("x" * 30 + "y" * 90, mark=(30, 120))) == ["“" + "x" * 30 + "y" * 35 + "…”", " " * 31 + "^" * 36]
    assert lines(Quote("a c", "a b c")) == ["“a c”", "“a b c”", "   ^^"]
    assert lines(Quote("a b c", "a c")) == ["“a b c”", "“a c”", "   ^"]


def test_findings_of_a_kind_are_one_line_by_column_and_those_by_design_are_below_the_table() -> None:
    words = replace(FINDING, kind="lookalike_word", severity="warning", examples=("row 9",))
    findings = [
        replace(words, split="train", column="sentence1", count=5, share=0.05),
        replace(words, split="train", column="sentence2", count=1, share=0.01, detail="two scripts"),
        replace(words, split="test", column="sentence1", count=30, share=0.3),
        replace(
            words, kind="near_duplicate", severity="info", count=7, share=0.07, why="Contrast sets.", by_design=True
        ),
    ]
    assert check_page(report(), findings).splitlines()[4:] == [
        "  severity  finding         count   share  where",
        "  --------  --------------  -----  ------  -----------",
        "  warning   lookalike_word     36  12.00%  default/*/*",
        "            word of Latin and Cyrillic letters",
        "            default/train.sentence1 5 (5.00\u00a0%); default/test.sentence1 30",
        "            (30.00\u00a0%); default/train.sentence2 1 (1.00\u00a0%), two scripts",
        "            row 9",
        "  by design nearly the same text in an earlier row: 7 (7.00%); Contrast sets.",
    ]


def test_of_many_places_six_are_listed() -> None:
    findings = [replace(FINDING, config=f"set{number}", count=number + 1, share=1.0, detail="") for number in range(9)]
    page = " ".join(check_page(report(), findings).split())
    assert "set5/test.text 6 (100.00 %); and 3 more" in page
    assert "45 100.00% */test/text" in page


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
