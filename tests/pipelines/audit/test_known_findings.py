"""Known findings: as declared they are explained, otherwise they fail the build."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from builders.errors import FindingsError
from builders.spec import KnownFinding, Version
from cards.manifest import Finding
from pipelines.audit.known_findings import explain_findings, known_of_splits, verify_known_findings
from pipelines.make import make
from tests.support.releases import definition_of, sample_settings

if TYPE_CHECKING:
    from pathlib import Path

LEAK = Finding("split_leak", "warning", "default", "test", "text", 7, 0.1, (), "in train")
FOLDED = replace(LEAK, count=2, detail="in train, but for case")
TWICE = Finding("duplicate_text", "warning", "default", "test", "text", 3, 0.1)
FOUND = [LEAK, FOLDED, TWICE]
PLACE = "default/test.text"


def test_a_known_finding_is_told_with_its_reason() -> None:
    told = explain_findings(
        FOUND,
        [
            KnownFinding("duplicate_text", PLACE, 3, "As published."),
            KnownFinding("split_leak", PLACE, 7, "So.", "in train"),
        ],
    )
    assert [finding.why for finding in told] == ["So.", "", "As published."]


def test_findings_as_declared_pass() -> None:
    verify_known_findings(
        "toy@1.0.0",
        FOUND,
        [KnownFinding("split_leak", PLACE, 9, "Both."), KnownFinding("duplicate_text", PLACE, 3, "One.")],
        "toy",
    )


def test_a_count_that_differs_and_a_finding_that_is_gone_fail_with_the_numbers() -> None:
    known = [
        KnownFinding("split_leak", PLACE, 8, ".", "in train"),
        KnownFinding("duplicate_text", PLACE, 3, "."),
        KnownFinding("empty_text", "default/train.text", 1, "."),
    ]
    with pytest.raises(FindingsError) as caught:
        verify_known_findings("toy@1.0.0", FOUND, known, "builders.toy")
    assert str(caught.value).splitlines() == [
        "toy@1.0.0: 2 of 3 known findings are not as declared",
        "  found:    split_leak in default/test.text (in train): 7; empty_text in default/train.text: 0",
        "  expected: split_leak in default/test.text (in train): 8; empty_text in default/train.text: 1",
        "  to do:    look at the rows; then mend the recipe under a new version, or correct `known` in builders.toy",
    ]


def test_a_part_of_the_splits_is_not_asked_about_the_others_nor_about_leaks() -> None:
    here, there = (
        KnownFinding("empty_text", "default/test.text", 1, "."),
        KnownFinding("empty_text", "default/train.text", 1, "."),
    )
    assert known_of_splits([here, there, KnownFinding("split_leak", PLACE, 7, ".")], ("test",)) == (here,)


def test_a_build_fails_where_what_is_known_has_changed_and_leaves_nothing(real_sources: Path, tmp_path: Path) -> None:
    settings = sample_settings(tmp_path)
    places = replace(settings.places, raw_dir=real_sources)
    terra, real = definition_of("terra-pairclassification"), replace(settings, sample=False, places=places)
    known = KnownFinding("duplicate_text", "default/dev.sentence1", 24, "One premise, several hypotheses.")
    wrong = replace(terra, dataset=replace(terra.dataset, versions={"1.0.0": Version("The first.", known=(known,))}))
    with pytest.raises(FindingsError, match="1 of 1 known findings"):
        make(wrong, "1.0.0", real, print)
    assert not list((tmp_path / "outputs").glob("*/1.0.0"))
    assert make(wrong, "1.0.0", settings, print).state == "built", "a golden sample is not held to it"
