"""What a kind of finding is."""

from dataclasses import dataclass

from cards.manifest import Severity


@dataclass(frozen=True)
class Kind:
    """What a kind of finding means.

    severity: `error`, `warning` or `info`, with any exception in the definition. definition: one sentence. counted: what the
    count of a finding counts; its share is of all of these in the table, unless said otherwise.
    """

    severity: Severity
    definition: str
    counted: str = "rows"
