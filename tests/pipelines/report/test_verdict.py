"""The verdict of a check: what findings weigh, and which of them compromise a score."""

from typing import Any

import pytest

from cards.manifest import Finding
from pipelines.audit.kinds import KINDS
from pipelines.checking.verdict import COMPROMISING, judge

FOLDED = "in train, ignoring case, punctuation, white space and Unicode form"


def finding(kind: str, count: int, total: int, split: str = "test", **fields: Any) -> Finding:
    """A finding about `count` of `total` texts of a split."""
    values: dict[str, Any] = {"severity": KINDS[kind].severity, "config": "default", "column": "text"}
    return Finding(kind=kind, split=split, count=count, share=count / total, **(values | fields))


def leak(count: int, total: int, split: str = "test", detail: str = "in train", **fields: Any) -> Finding:
    return finding("split_leak", count, total, split, detail=detail, **fields)


def summary(*findings: Finding, task: str = "Classification") -> str:
    return judge(task, findings, [], sample=False).summary


def test_findings_for_information_are_no_problems() -> None:
    assert judge("STS", [finding("near_duplicate", 9, 10)], [], sample=False).state == "no problems"


def test_leaks_that_differ_in_their_detail_or_are_nearly_equal_add_up() -> None:
    findings = [leak(10, 1875), leak(6, 1875, detail=FOLDED), finding("near_leak", 1, 1875, detail="in train")]
    assert summary(*findings) == "3 warnings: 17 of 1,875 test texts leak from train"
    assert judge("Classification", findings, [], sample=False).state == "warnings"


def test_leaks_from_different_splits_are_told_apart() -> None:
    findings = [leak(2, 100), leak(3, 100, detail="in validation")]
    assert (
        summary(*findings)
        == "2 warnings: 3 of 100 test texts leak from validation; 2 of 100 test texts leak from train"
    )


@pytest.mark.parametrize(
    ("task", "fields", "words"),
    [
        ("STS", {"column": ""}, "1 of 50 test pairs leaks from train"),
        ("Retrieval", {"config": "queries"}, "1 of 50 test queries leaks from train"),
        ("Retrieval", {"config": "corpus"}, "1 of 50 test documents leaks from train"),
    ],
)
def test_what_leaks_is_called_what_it_is(task: str, fields: dict[str, Any], words: str) -> None:
    assert summary(leak(1, 50, **fields), task=task) == f"1 warning: {words}"


def test_without_a_leak_the_kinds_with_the_largest_shares_are_named() -> None:
    findings = [
        finding("html_residue", 1, 100), finding("wrong_language", 9, 100), finding("wrong_language", 4, 100, "train"),
        finding("encoding_residue", 5, 100),
    ]  # fmt: skip
    assert summary(*findings) == "4 warnings: text in another language (13); traces of a wrong decoding (5); and 1 more"


def test_a_test_set_that_equals_the_training_set_is_compromised() -> None:
    verdict = judge("Classification", [leak(40, 40)], [], sample=False)
    assert verdict.state == "compromised"
    assert verdict.summary == "compromised, 1 warning: 40 of 40 test texts leak from train"


@pytest.mark.parametrize("kind", COMPROMISING)
def test_five_percent_of_a_split_other_than_train_compromise_a_score(kind: str) -> None:
    detail = "in train" if kind.endswith("leak") else ""
    for count, split, state in [(5, "test", "compromised"), (4, "test", "warnings"), (90, "train", "warnings")]:
        findings = [finding(kind, count, 100, split, detail=detail)]
        assert judge("Classification", findings, [], sample=False).state == state


def test_exact_and_folded_leaks_cross_the_threshold_together() -> None:
    assert judge("STS", [leak(3, 100), leak(2, 100, detail=FOLDED)], [], sample=False).state == "compromised"
    assert judge("STS", [leak(3, 100), leak(2, 100, detail="in dev")], [], sample=False).state == "warnings"


def test_other_warnings_do_not_compromise_a_score_however_many_they_are() -> None:
    assert judge("STS", [finding("html_residue", 100, 100)], [], sample=False).state == "warnings"


def test_a_reason_for_keeping_a_finding_does_not_change_its_weight() -> None:
    assert judge("STS", [leak(40, 40, why="in the source")], [], sample=False).state == "compromised"


def test_a_sample_is_never_compromised() -> None:
    verdict = judge("STS", [leak(3, 4)], [], sample=True)
    assert (verdict.state, verdict.summary) == ("warnings", "1 warning: 3 of 4 test pairs leak from train")


def test_errors_and_differences_from_the_manifest_come_first() -> None:
    findings = [finding("null_text", 2, 9), leak(9, 9)]
    assert judge("STS", findings, [], sample=False).state == "defective"
    assert summary(*findings) == "defective, 1 error, 1 warning: null instead of a text (2)"
    damaged = judge("STS", [], ["a file is missing", "another one"], sample=False)
    assert (damaged.state, damaged.summary) == ("damaged", "damaged, 2 problems")
