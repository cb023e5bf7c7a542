"""The plain names of findings."""

from cards.kind_names import KIND_NAMES, kind_name
from pipelines.audit.kinds import KINDS


def test_every_kind_of_finding_has_a_plain_name_of_its_own() -> None:
    assert list(KIND_NAMES) == list(KINDS)
    assert len(set(KIND_NAMES.values())) == len(KIND_NAMES)
    assert all("_" not in name and len(name) <= 60 for name in KIND_NAMES.values())


def test_a_kind_of_another_version_of_this_package_is_named_in_words() -> None:
    assert kind_name("split_leak") == "text also in an earlier split"
    assert kind_name("older_kind") == "older kind"
