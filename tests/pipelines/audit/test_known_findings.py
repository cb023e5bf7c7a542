"""pipelines.audit.quality: known findings are explained; a count that differs fails the build."""

from dataclasses import replace
from pathlib import Path

import pytest

from builders import catalogue
from builders.errors import FindingsError
from builders.spec import KnownFinding, Version
from cards.kinds import KINDS
from cards.manifest import Finding
from pipelines.audit.quality import declare_by_design, explain_findings, known_findings_of_splits, verify_known_findings
from pipelines.make import make
from tests.support.releases import definition_of, sample_settings

LEAK = Finding("split_leak", "warning", "default", "test", "text", 7, 0.1, (), "in train")
FOLDED = replace(LEAK, count=2, detail="in train, ignoring case")
DUPLICATE = Finding("duplicate_text", "warning", "default", "test", "text", 3, 0.1)
FINDINGS = [LEAK, FOLDED, DUPLICATE]
LOCATION = "default/test.text"


def test_a_known_finding_gets_its_reason() -> None:
    findings = explain_findings(
        FINDINGS,
        [
            KnownFinding("duplicate_text", LOCATION, 3, "As published."),
            KnownFinding("split_leak", LOCATION, 7, "So.", "in train"),
        ],
    )
    assert [finding.why for finding in findings] == ["So.", "", "As published."]


def test_what_a_design_implies_is_for_information_with_the_reason_and_an_error_stays_one() -> None:
    broken = Finding("empty_id", "error", "default", "test", "id", 1, 0.1)
    leak, folded, duplicate, error = declare_by_design(
        [*FINDINGS, broken], {"duplicate_text": "One premise.", "empty_id": "No."}
    )
    assert (leak, folded, error) == (LEAK, FOLDED, broken)
    assert (duplicate.severity, duplicate.why, duplicate.by_design) == ("info", "One premise.", True)
    assert (duplicate.kind, duplicate.count) == ("duplicate_text", 3)


def test_kinds_that_are_declared_by_design_exist_and_are_not_errors() -> None:
    declared = {kind for entry in catalogue.entries().values() for kind in catalogue.load(entry).dataset.by_design}
    assert {KINDS[kind].severity for kind in declared} <= {"warning", "info"}
    assert "near_duplicate" in declared


def test_declared_counts_pass() -> None:
    verify_known_findings(
        "toy@1.0.0",
        FINDINGS,
        [KnownFinding("split_leak", LOCATION, 9, "Both."), KnownFinding("duplicate_text", LOCATION, 3, "One.")],
        "toy",
    )


def test_a_different_count_and_a_finding_that_does_not_occur_fail_with_the_numbers() -> None:
    known_findings = [
        KnownFinding("split_leak", LOCATION, 8, ".", "in train"),
        KnownFinding("duplicate_text", LOCATION, 3, "."),
        KnownFinding("empty_text", "default/train.text", 1, "."),
    ]
    with pytest.raises(FindingsError) as caught:
        verify_known_findings("toy@1.0.0", FINDINGS, known_findings, "builders.toy")
    assert str(caught.value).splitlines() == [
        "toy@1.0.0: 2 of 3 known findings are not as declared",
        "  found:    split_leak in default/test.text (in train): 7; empty_text in default/train.text: 0",
        "  expected: split_leak in default/test.text (in train): 8; empty_text in default/train.text: 1",
        "  to do:    inspect the rows, then fix the recipe in a new version or correct `known` in builders.toy",
    ]


def test_a_release_of_some_splits_need_not_have_leaks_or_known_findings_of_other_splits() -> None:
    in_test, in_train, leak = (
        KnownFinding("empty_text", "default/test.text", 1, "."),
        KnownFinding("empty_text", "default/train.text", 1, "."),
        KnownFinding("split_leak", LOCATION, 7, "."),
    )
    assert known_findings_of_splits([in_test, in_train, leak], ("test",)) == (in_test,)


def test_a_build_whose_known_findings_have_changed_fails_and_writes_nothing(real_sources: Path, tmp_path: Path) -> None:
    settings = sample_settings(tmp_path)
    raw = replace(settings.raw, raw_dir=real_sources)
    terra, real = definition_of("terra-pairclassification"), replace(settings, sample=False, raw=raw)
    known_finding = KnownFinding("duplicate_text", "default/dev.sentence1", 24, "One premise, several hypotheses.")
    versions = {"1.0.0": Version("The first.", known=(known_finding,))}
    wrong = replace(terra, dataset=replace(terra.dataset, versions=versions))
    with pytest.raises(FindingsError, match="1 of 1 known findings"):
        make(wrong, "1.0.0", real)
    assert not list((tmp_path / "outputs").glob("*/1.0.0"))
    assert make(wrong, "1.0.0", settings).state == "built", "known findings do not apply to a golden sample"
