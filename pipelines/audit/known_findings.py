"""Findings that a builder declares to know: explained where they are as declared, an error where they are not."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from builders.errors import FindingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from builders.spec import KnownFinding
    from cards.manifest import Finding


def explain_findings(findings: Sequence[Finding], known: Sequence[KnownFinding]) -> list[Finding]:
    """The findings, those that are known with their `why`."""
    return [
        replace(finding, why=next((one.why for one in known if _is(finding, one)), finding.why)) for finding in findings
    ]


def verify_known_findings(
    release: str, findings: Sequence[Finding], known: Sequence[KnownFinding], module: str
) -> None:
    """See that every known finding was found, as often as declared.

    release: `<dataset>@<version>`; module: where its builder stands; both for the error.

    Raises FindingsError with the numbers.
    """
    counts = [(one, sum(finding.count for finding in findings if _is(finding, one))) for one in known]
    changed = [(one, count) for one, count in counts if count != one.count]
    if changed:
        raise FindingsError(
            f"{release}: {len(changed)} of {len(known)} known findings are not as declared",
            found="; ".join(f"{_name(one)}: {count:,}" for one, count in changed),
            expected="; ".join(f"{_name(one)}: {one.count:,}" for one, _ in changed),
            todo=f"look at the rows; then mend the recipe under a new version, or correct `known` in {module}",
        )


def known_of_splits(known: Sequence[KnownFinding], splits: Sequence[str]) -> tuple[KnownFinding, ...]:
    """Those that a release of some splits can be asked for: leaks need all splits."""
    leaks = ("split_leak", "near_leak")
    alone = [one for one in known if one.kind not in leaks and not one.detail.startswith("in ")]
    return tuple(one for one in alone if _split(one) in splits)


def _is(finding: Finding, known: KnownFinding) -> bool:
    same = (finding.kind, finding.location) == (known.kind, known.location)
    return same and known.detail in ("", finding.detail)


def _split(known: KnownFinding) -> str:
    return known.location.split("/")[1].split(".")[0]


def _name(known: KnownFinding) -> str:
    return f"{known.kind} in {known.location}" + (f" ({known.detail})" if known.detail else "")
