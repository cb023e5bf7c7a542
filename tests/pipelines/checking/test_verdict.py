"""The verdict of a check: what findings weigh, and which of them compromise a score. The conditions of --fail-on: their
grammar, and the exit codes of `check` that follow.
"""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.errors import UsageError
from cards.kinds import KINDS
from cards.manifest import Finding
from pipelines.checking.verdict import (
    CHECK_GRAMMAR,
    COMPROMISING,
    Condition,
    Grammar,
    judge,
    met_conditions,
    parse_conditions,
)
from pipelines.decontamination import pages
from pipelines.decontamination.index_file import IndexTable
from pipelines.decontamination.matching import COVERAGE_SCHEMA
from pipelines.decontamination.scans import Sums, TableSummary
from tests.support.processes import run
from tests.support.releases import write_dataset

FOLDED = "in train, ignoring case, punctuation, white space and Unicode form"


def finding(kind: str, count: int, total: int, split: str = "test", **fields: Any) -> Finding:
    """A finding about `count` of `total` texts of a split."""
    values: dict[str, Any] = {"severity": KINDS[kind].severity, "config": "default", "column": "text"}
    return Finding(kind=kind, split=split, count=count, share=count / total, **(values | fields))


def leak(count: int, total: int, split: str = "test", detail: str = "in train", **fields: Any) -> Finding:
    return finding("split_leak", count, total, split, detail=detail, **fields)


WORST = [
    finding("html_residue", 90, 100), finding("near_leak", 1, 100, detail="in validation"), leak(40, 40),
    finding("one_class_only", 1, 1), finding("null_text", 1, 100), finding("conflicting_label", 9, 10, "train"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("task", "findings", "summary"),
    [
        pytest.param("STS", [finding("near_duplicate", 9, 10)], "no problems", id="for information"),
        pytest.param(
            "Classification",
            [leak(10, 1875), leak(6, 1875, detail=FOLDED), finding("near_leak", 1, 1875, detail="in train")],
            "3 warnings: 17 of 1,875 test texts leak from train",
            id="leaks that differ in their detail or are nearly equal add up",
        ),
        pytest.param(
            "Classification",
            [leak(2, 100), leak(3, 100, detail="in validation")],
            "2 warnings: 3 of 100 test texts leak from validation; 2 of 100 test texts leak from train",
            id="leaks from different splits",
        ),
        ("STS", [leak(1, 50, column="")], "1 warning: 1 of 50 test pairs leaks from train"),
        ("Retrieval", [leak(1, 50, config="queries")], "1 warning: 1 of 50 test queries leaks from train"),
        ("Retrieval", [leak(1, 50, config="corpus")], "1 warning: 1 of 50 test documents leaks from train"),
        pytest.param(
            "Classification",
            [
                finding("html_residue", 1, 100),
                finding("wrong_language", 9, 100),
                finding("wrong_language", 4, 100, "train"),
                finding("encoding_residue", 5, 100),
            ],
            "4 warnings: text in another language (13); traces of a wrong decoding (5); and 1 more",
            id="without a leak the kinds with the largest shares are named",
        ),
        pytest.param(
            "Classification",
            [leak(40, 40, why="in the source")],
            "compromised, 1 warning: 40 of 40 test texts leak from train",
            id="the training set, whatever the reason for keeping it",
        ),
        pytest.param(
            "STS",
            [leak(3, 100), leak(2, 100, detail=FOLDED)],
            "compromised, 2 warnings: 5 of 100 test pairs leak from train",
            id="exact and folded leaks cross the threshold together",
        ),
        pytest.param(
            "STS",
            [leak(3, 100), leak(2, 100, detail="in dev")],
            "2 warnings: 3 of 100 test pairs leak from train; 2 of 100 test pairs leak from dev",
            id="leaks from different splits do not",
        ),
        pytest.param(
            "STS",
            [finding("label_by_position", 40, 40, severity="warning")],
            "compromised, 1 warning: position that predicts the relevant candidate in test",
            id="one number that decides",
        ),
        pytest.param(
            "Classification",
            WORST,
            "defective, 2 errors, 4 warnings: only one label (1); 40 of 40 test texts leak from train; and 4 more",
            id="the two worst: an error, and what compromises",
        ),
        pytest.param(
            "Classification",
            WORST[:2],
            "2 warnings: 1 of 100 test texts leaks from validation; HTML tags or character references (90)",
            id="leaks before other kinds",
        ),
        pytest.param(
            "STS",
            [finding("html_residue", 100, 100)],
            "1 warning: HTML tags or character references (100)",
            id="other warnings do not compromise a score however many they are",
        ),
        pytest.param(
            "STS",
            [finding("null_text", 2, 9), leak(9, 9)],
            "defective, 1 error, 1 warning: null instead of a text (2); 9 of 9 test pairs leak from train",
            id="errors come first",
        ),
    ],
)
def test_a_verdict_is_a_state_and_what_weighs_most(task: str, findings: list[Finding], summary: str) -> None:
    verdict, named = judge(task, findings, [], sample=False), ("no problems", "compromised", "defective")
    state = next((state for state in named if summary.startswith(state)), "warnings")
    assert (verdict.state, verdict.summary) == (state, summary)


@pytest.mark.parametrize("kind", COMPROMISING)
def test_five_percent_of_a_split_other_than_train_compromise_a_score(kind: str) -> None:
    detail = "in train" if kind.endswith("leak") else ""
    for count, split, state in [(5, "test", "compromised"), (4, "test", "warnings"), (90, "train", "warnings")]:
        findings = [finding(kind, count, 100, split, detail=detail)]
        assert judge("Classification", findings, [], sample=False).state == state


@pytest.mark.parametrize("kind", ["label_by_position", "label_by_overlap", "label_leaking_column"])
def test_one_number_that_decides_compromises_a_score(kind: str) -> None:
    for severity, split, state in [
        ("warning", "test", "compromised"), ("warning", "train", "warnings"), ("info", "test", "no problems"),
    ]:  # fmt: skip
        assert judge("STS", [finding(kind, 1, 100, split, severity=severity)], [], sample=False).state == state


def test_a_sample_is_never_compromised_and_a_damaged_release_is_damaged() -> None:
    verdict = judge("STS", [leak(3, 4)], [], sample=True)
    assert (verdict.state, verdict.summary) == ("warnings", "1 warning: 3 of 4 test pairs leak from train")
    damaged = judge("STS", [], ["a file is missing", "another one"], sample=False)
    assert (damaged.state, damaged.summary) == ("damaged", "damaged, 2 problems")


LEAKS = [
    Finding("split_leak", "warning", "default", "test", "text", 3, 0.003, (), "in train"),
    Finding("split_leak", "warning", "default", "test", "text", 2, 0.002, (), "in train, ignoring case"),
    Finding("near_duplicate", "info", "default", "test", "text", 9, 0.009),
]


def test_conditions_are_repeated_or_joined_by_commas() -> None:
    assert parse_conditions(["warning, split_leak:0.1%", "html_residue"]) == (
        Condition("warning", "warning"),
        Condition("split_leak:0.1%", "split_leak", 0.001),
        Condition("html_residue", "html_residue"),
    )
    assert [one.text for one in parse_conditions([])] == ["error", "compromised"], "the default"


@pytest.mark.parametrize(
    ("text", "share"), [("0.1%", 0.001), ("0.001", 0.001), (".5", 0.5), ("100 %", 1), ("0", 0), ("1", 1), ("1.", 1)]
)
def test_a_share_is_a_percentage_or_a_fraction(text: str, share: float) -> None:
    [condition] = parse_conditions([f"split_leak:{text}"])
    assert condition.share == pytest.approx(share)


@pytest.mark.parametrize(
    ("grammar", "text", "words"),
    [
        (CHECK_GRAMMAR, "split_leek", ["no kind of finding is named 'split_leek'", "did you mean 'split_leak'"]),
        (CHECK_GRAMMAR, "warnings", ["did you mean 'warning'"]),
        (CHECK_GRAMMAR, "zzz", ["no kind of finding is named 'zzz'", "docs/findings.md"]),
        (CHECK_GRAMMAR, "", ["no kind of finding is named ''"]),
        (CHECK_GRAMMAR, "warning,", ["no kind of finding is named ''"]),
        (CHECK_GRAMMAR, "error:5%", ["error takes no share"]),
        (CHECK_GRAMMAR, "split_leak:", ["not a share", "0.1% or 0.001"]),
        (CHECK_GRAMMAR, "split_leak:many", ["not a share"]),
        (CHECK_GRAMMAR, "split_leak:-1", ["not a share"]),
        (CHECK_GRAMMAR, "split_leak:120%", ["not a share"]),
        (CHECK_GRAMMAR, "split_leak:1.5", ["not a share", "from 0% to 100%"]),
        (CHECK_GRAMMAR, "split_leak:nan", ["not a share"]),
        (pages.GRAMMAR, "exakt:1%", ["no kind of match is named 'exakt'", "did you mean 'exact'", "any:0.001"]),
        (pages.GRAMMAR, "error", ["no kind of match is named 'error'", "docs/contamination.md"]),
        (pages.GRAMMAR, "any:2", ["not a share", "exact, folded, near, contained, passage, any, unread"]),
    ],
)
def test_a_condition_that_means_nothing_is_an_error_that_helps(grammar: Grammar, text: str, words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        parse_conditions([text], grammar)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("condition", "met"),
    [
        ("exact", True), ("exact:2%", True), ("exact:2.1%", False), ("any:3%", True), ("any:0.031", False),
        ("near", False), ("near:0", False), ("unread", True), ("unread:20%", True), ("unread:21%", False),
    ],
)  # fmt: skip
def test_a_condition_of_a_scan_is_met_from_its_share_of_the_rows_of_a_table_on(condition: str, *, met: bool) -> None:
    table = IndexTable("d", "1.0.0", "", "default", "test", "text", "STS", (), 100)
    kinds = {"exact": 2, "folded": 1, "near": 0, "contained": 0}
    summary = TableSummary(table, is_available=True, kinds=kinds, units={}, estimated=0, short=0)
    conditions = parse_conditions([condition], pages.GRAMMAR)
    unread = [("image", "binary", 20), ("n", "number", 900), ("id", "name", 900)]
    sums = Sums(pl.DataFrame(), pl.DataFrame(), 1, 1, 1, pl.DataFrame(unread, COVERAGE_SCHEMA, orient="row"), 80)
    assert pages.met_conditions(conditions, sums, [summary]) == ([condition] if met else [])
    assert parse_conditions([], pages.GRAMMAR) == ()


@pytest.mark.parametrize(
    ("condition", "met"),
    [
        ("error", False), ("warning", True), ("compromised", False), ("split_leak", True), ("split_leak:0.5%", True),
        ("split_leak:0.51%", False), ("near_duplicate", True), ("near_duplicate:1%", False), ("html_residue", False),
        ("near_leak:0", False),
    ],
)  # fmt: skip
def test_a_condition_is_met_from_its_share_on_and_findings_that_differ_in_their_detail_add_up(
    condition: str, *, met: bool
) -> None:
    assert met_conditions(parse_conditions([condition]), "warnings", LEAKS) == ([condition] if met else [])


def test_errors_are_warnings_too() -> None:
    errors = [Finding("null_text", "error", "default", "test", "text", 1, 0.1)]
    assert met_conditions(parse_conditions(["warning,error,compromised"]), "defective", errors) == ["warning", "error"]


@pytest.fixture
def leaking(tmp_path: Path) -> Path:
    """A dataset whose test split is its train split, with one label only in its texts."""
    texts = [f"Number {number} is a text that is long enough to be one of its own." for number in range(40)]
    table = pl.DataFrame({"text": texts, "label": [number % 2 for number in range(40)]})
    return write_dataset(tmp_path / "leaking", {"default": {"train": table, "test": table}})


def test_a_dataset_that_trains_on_its_test_set_is_compromised_and_fails(leaking: Path) -> None:
    process = run("check", str(leaking), "--language", "eng-Latn")
    assert process.returncode == 1
    assert process.stdout.splitlines()[0] == "leaking: compromised, 1 warning: 40 of 40 test texts leak from train"
    assert "fails     --fail-on compromised" in process.stdout


@pytest.mark.parametrize(
    ("conditions", "code"),
    [
        (["error"], 0), (["warning"], 1), (["html_residue"], 0), (["split_leak:100%"], 1), (["near_leak", "error"], 0),
        (["near_leak,split_leak:0.1"], 1), (["near_leak", "split_leak"], 1),
    ],
)  # fmt: skip
def test_fail_on_decides_the_exit_code(conditions: list[str], code: int, leaking: Path) -> None:
    done = run("check", str(leaking), "--json", *(f"--fail-on={condition}" for condition in conditions))
    assert done.returncode == code
    report = json.loads(done.stdout)
    assert report["verdict"]["state"] == "compromised"
    assert bool(report["failed_on"]) == bool(code)


def test_an_unknown_condition_is_a_usage_error_before_any_work(tmp_path: Path) -> None:
    process = run("check", str(tmp_path / "nothing"), "--fail-on", "split_leek")
    assert (process.returncode, process.stdout) == (2, "")
    assert "did you mean 'split_leak'" in process.stderr
    assert "no such folder" not in process.stderr
