"""Kinds of findings: well-formed records, from which docs/findings.md is generated."""

import re

from cards.kinds import KINDS, kind_name, render_page
from cards.manifest import SEVERITIES
from tests.support.paths import ROOT


def test_a_kind_has_a_title_of_its_own_and_a_definition_of_one_sentence() -> None:
    for name, kind in KINDS.items():
        assert "_" not in kind.title, name
        assert len(kind.title) <= 60, name
        assert kind.definition.endswith("."), name
        assert ". " not in kind.definition, name
    assert len({kind.title for kind in KINDS.values()}) == len(KINDS)


def test_a_kind_of_another_version_of_this_package_is_named_in_words() -> None:
    assert kind_name("split_leak") == "text also in an earlier split"
    assert kind_name("older_kind") == "older kind"


def test_the_page_is_up_to_date_and_lists_every_kind_once_with_the_worst_first() -> None:
    page = (ROOT / "docs" / "findings.md").read_text("utf-8")
    assert page == render_page(), "generate it: python -m cards.kinds > docs/findings.md"
    sections = {section.split("\n")[0]: section for section in page.split("\n## ")[1:]}
    listed = {severity: re.findall(r"(?m)^\| `(\w+)` \|", sections[severity]) for severity in SEVERITIES}
    assert [(kind, severity) for severity, kinds in listed.items() for kind in kinds] == [
        (kind.name, kind.severity) for kind in KINDS.values()
    ]
