"""The conditions of --fail-on: their grammar, and the exit codes of `check` that follow."""

import json
import sys
from pathlib import Path

import polars as pl
import pytest

from builders.errors import UsageError
from cards.manifest import Finding
from pipelines import check
from pipelines.checking.verdict import Condition, met_conditions, parse_conditions
from tests.support.processes import run
from tests.support.releases import write_dataset

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


def test_errors_and_a_compromised_dataset_are_the_default() -> None:
    assert [one.text for one in parse_conditions([])] == ["error", "compromised"]


@pytest.mark.parametrize(
    ("text", "share"), [("0.1%", 0.001), ("0.001", 0.001), (".5", 0.5), ("100 %", 1), ("0", 0), ("1", 1), ("1.", 1)]
)
def test_a_share_is_a_percentage_or_a_fraction(text: str, share: float) -> None:
    [condition] = parse_conditions([f"split_leak:{text}"])
    assert condition.share == pytest.approx(share)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("split_leek", ["no kind of finding is named 'split_leek'", "did you mean 'split_leak'"]),
        ("warnings", ["did you mean 'warning'"]),
        ("zzz", ["no kind of finding is named 'zzz'", "docs/findings.md"]),
        ("", ["no kind of finding is named ''"]),
        ("warning,", ["no kind of finding is named ''"]),
        ("error:5%", ["error takes no share"]),
        ("split_leak:", ["not a share", "0.1% or 0.001"]),
        ("split_leak:many", ["not a share"]),
        ("split_leak:-1", ["not a share"]),
        ("split_leak:120%", ["not a share"]),
        ("split_leak:1.5", ["not a share", "from 0% to 100%"]),
        ("split_leak:nan", ["not a share"]),
    ],
)
def test_a_condition_that_means_nothing_is_an_error_that_helps(text: str, words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        parse_conditions([text])
    for word in words:
        assert word in str(caught.value)


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
def test_fail_on_decides_the_exit_code(
    conditions: list[str], code: int, leaking: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [word for condition in conditions for word in ("--fail-on", condition)]
    monkeypatch.setattr(sys, "argv", ["check", str(leaking), "--json", *options])
    assert check.main() == code
    report = json.loads(capsys.readouterr().out)
    assert report["verdict"]["state"] == "compromised"
    assert bool(report["failed_on"]) == bool(code)


def test_an_unknown_condition_is_a_usage_error_before_any_work(tmp_path: Path) -> None:
    process = run("check", str(tmp_path / "nothing"), "--fail-on", "split_leek")
    assert (process.returncode, process.stdout) == (2, "")
    assert "did you mean 'split_leak'" in process.stderr
    assert "no such folder" not in process.stderr
