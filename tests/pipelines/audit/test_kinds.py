"""pipelines.audit.kinds: the definitions are well formed. docs/findings.md agrees with the definitions in the code."""

import re

from cards.manifest import SEVERITIES
from pipelines.audit.kinds import KINDS, render_page
from tests.support.paths import ROOT


def test_a_definition_is_one_sentence() -> None:
    for name, kind in KINDS.items():
        assert kind.severity in SEVERITIES, name
        assert kind.definition.endswith("."), name
        assert ". " not in kind.definition, name


def test_kinds_are_sorted_by_severity() -> None:
    severities = [kind.severity for kind in KINDS.values()]
    assert severities == sorted(severities, key=SEVERITIES.index)


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
