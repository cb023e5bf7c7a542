"""The conditions of `contamination scan --fail-on`, under which a scan ends with exit code 1.

KIND          a row was found as this kind: exact, folded, near, contained; any: as any of them
KIND:SHARE    this share of the rows of a column of a split, or more: `exact:0.1%`, `any:0.001`
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from builders.errors import UsageError
from pipelines.corpus_scan.matching import KINDS
from pipelines.corpus_scan.summaries import TableSummary
from pipelines.report.fail_on import parse_share

ANY = "any"
GRAMMAR = f"{', '.join(KINDS)}, any, or one of them with a share: exact:0.1%, any:0.001"


@dataclass(frozen=True)
class Condition:
    """A condition. text: as the user wrote it. kind: one of KINDS, or any. share: from 0 to 1."""

    text: str
    kind: str
    share: float = 0.0

    def is_met(self, summaries: Iterable[TableSummary]) -> bool:
        """Whether what was found meets it."""
        return any(
            (found := one.found if self.kind == ANY else one.kinds[self.kind]) and found >= self.share * one.table.rows
            for one in summaries
        )


def parse_conditions(texts: Iterable[str]) -> tuple[Condition, ...]:
    """The conditions of all options `--fail-on`, each with one or several joined by commas.

    Raises UsageError for an unknown kind and for a share that is not between 0 and 1.
    """
    return tuple(_parse(word.strip()) for text in texts for word in text.split(","))


def met_conditions(conditions: Iterable[Condition], summaries: Sequence[TableSummary]) -> list[str]:
    """The conditions that are met, as the user wrote them."""
    return [one.text for one in conditions if one.is_met(summaries)]


def _parse(text: str) -> Condition:
    kind, colon, share = text.partition(":")
    if kind not in (*KINDS, ANY):
        raise UsageError(f"--fail-on: no kind of match is named {kind!r}", expected=GRAMMAR)
    return Condition(text, kind, parse_share(share, text, GRAMMAR) if colon else 0.0)
