"""The conditions of `--fail-on`, under which a command that only reports findings ends with exit code 1.

error             a finding with the severity error
warning           one with the severity warning or error
compromised       the verdict (pipelines.report.verdict)
KIND              a finding of this kind
KIND:SHARE        findings of this kind that concern this share of a split or more: `split_leak:0.1%`, `split_leak:0.001`
"""

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from builders.errors import UsageError
from cards.manifest import Finding
from pipelines.audit.kinds import KINDS
from pipelines.report.verdict import State, impacts

LEVELS = ("error", "warning", "compromised")
DEFAULT = ("error", "compromised")
SHARE = re.compile(r"(\d+\.?\d*|\.\d+) ?(%?)", re.ASCII)
GRAMMAR = "error, warning, compromised, KIND or KIND:SHARE, where a share is 0.1% or 0.001"


@dataclass(frozen=True)
class Condition:
    """A condition. text: as the user wrote it. what: a level, or a kind. share: from 0 to 1."""

    text: str
    what: str
    share: float = 0.0

    def is_met(self, state: State, findings: Sequence[Finding]) -> bool:
        """Whether the result of a check meets it. state: that of the verdict."""
        severities = {finding.severity for finding in findings}
        match self.what:
            case "error":
                return "error" in severities
            case "warning":
                return bool(severities & {"error", "warning"})
            case "compromised":
                return state == "compromised"
        same_kind = impacts((one for one in findings if one.kind == self.what), merge=False)
        return any(one.share >= self.share for one in same_kind)


def parse_conditions(texts: Iterable[str]) -> tuple[Condition, ...]:
    """The conditions of all options `--fail-on`, each with one or several joined by commas; DEFAULT where there are none.

    Raises UsageError for an unknown kind and for a share that is not between 0 and 1.
    """
    words = [word.strip() for text in texts for word in text.split(",")]
    return tuple(_parse(word) for word in words or DEFAULT)


def met_conditions(conditions: Iterable[Condition], state: State, findings: Sequence[Finding]) -> list[str]:
    """The conditions that the result of a check meets, as the user wrote them."""
    return [one.text for one in conditions if one.is_met(state, findings)]


def _parse(text: str) -> Condition:
    what, colon, share = text.partition(":")
    if what not in LEVELS and what not in KINDS:
        nearest = [repr(name) for name in difflib.get_close_matches(what, [*LEVELS, *KINDS], n=3, cutoff=0.5)]
        hint = f"did you mean {' or '.join(nearest)}? " if nearest else ""
        todo = f"{hint}docs/findings.md lists all kinds"
        raise UsageError(f"--fail-on: no kind of finding is named {what!r}", expected=GRAMMAR, todo=todo)
    if not colon:
        return Condition(text, what)
    if what in LEVELS:
        raise UsageError(
            f"--fail-on: {what} takes no share", found=text, expected=GRAMMAR, todo="name a kind of finding"
        )
    return Condition(text, what, parse_share(share, text, GRAMMAR))


def parse_share(share: str, text: str, grammar: str) -> float:
    """A share from 0 to 1, from `0.1%` or `0.001`. text: the whole condition, and its grammar, for the error.

    Raises UsageError for what is not a share.
    """
    match = SHARE.fullmatch(share.strip())
    value = float(match[1]) / (100 if match[2] else 1) if match else -1.0
    if not 0 <= value <= 1:
        todo = "write a share from 0% to 100%, or from 0 to 1"
        raise UsageError("--fail-on: not a share", found=text, expected=grammar, todo=todo)
    return value
