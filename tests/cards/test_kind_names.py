"""The plain names of findings."""

from __future__ import annotations

from cards.kind_names import KIND_NAMES
from pipelines.audit.kinds import KINDS


def test_every_kind_of_finding_has_a_plain_name_of_its_own() -> None:
    assert list(KIND_NAMES) == list(KINDS)
    assert len(set(KIND_NAMES.values())) == len(KIND_NAMES)
    assert all("_" not in name and len(name) <= 60 for name in KIND_NAMES.values())
