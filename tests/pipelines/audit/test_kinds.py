"""pipelines.audit.kinds: the definitions are well formed."""

from cards.manifest import SEVERITIES
from pipelines.audit.kinds import KINDS


def test_a_definition_is_one_sentence() -> None:
    for name, kind in KINDS.items():
        assert kind.severity in SEVERITIES, name
        assert kind.definition.endswith("."), name
        assert ". " not in kind.definition, name


def test_kinds_are_sorted_by_severity() -> None:
    severities = [kind.severity for kind in KINDS.values()]
    assert severities == sorted(severities, key=SEVERITIES.index)
