"""docs/findings.md agrees with the definitions in the code."""

import re

from pipelines.audit.kinds import KINDS, render_page
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "findings.md"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == render_page(), "generate it: python -m pipelines.audit.kinds > docs/findings.md"


def test_every_kind_is_listed_once_under_its_severity() -> None:
    severities = {}
    for section in render_page().split("\n## ")[1:]:
        severity, text = section.split("\n", 1)
        for kind in re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE):
            assert kind not in severities
            severities[kind] = severity
    assert severities == {name: kind.severity for name, kind in KINDS.items()}
