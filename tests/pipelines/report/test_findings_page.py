"""docs/findings.md says what the code says."""

from __future__ import annotations

import re

from pipelines.audit.kinds import KINDS
from pipelines.report.findings_page import page
from tests.support.paths import ROOT

FILE = ROOT / "docs" / "findings.md"


def test_the_page_is_made_from_the_definitions() -> None:
    assert FILE.read_text("utf-8") == page(), (
        "make it again: python -m pipelines.report.findings_page > docs/findings.md"
    )


def test_every_kind_stands_once_under_its_severity() -> None:
    told = {}
    for section in page().split("\n## ")[1:]:
        severity, text = section.split("\n", 1)
        for kind in re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE):
            assert kind not in told
            told[kind] = severity
    assert told == {kind: meaning.severity for kind, meaning in KINDS.items()}
