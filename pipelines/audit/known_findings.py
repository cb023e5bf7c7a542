"""Known findings: those that a builder declares. They are explained on the card; a different count fails the build."""

from collections.abc import Sequence
from dataclasses import replace

from builders.errors import FindingsError
from builders.spec import KnownFinding
from cards.manifest import Finding


def explain_findings(findings: Sequence[Finding], known_findings: Sequence[KnownFinding]) -> list[Finding]:
    """The findings, the known ones with the reason why they stay (`why`)."""
    return [
        replace(finding, why=next((one.why for one in known_findings if _matches(finding, one)), finding.why))
        for finding in findings
    ]


def verify_known_findings(
    release: str, findings: Sequence[Finding], known_findings: Sequence[KnownFinding], module: str
) -> None:
    """Check that every known finding occurs with exactly the declared count.

    release: `<dataset>@<version>`; module: that of the builder; both for the error.

    Raises FindingsError with the counts that differ.
    """
    counts = [(one, sum(finding.count for finding in findings if _matches(finding, one))) for one in known_findings]
    changes = [(one, count) for one, count in counts if count != one.count]
    if changes:
        raise FindingsError(
            f"{release}: {len(changes)} of {len(known_findings)} known findings are not as declared",
            found="; ".join(f"{_describe(one)}: {count:,}" for one, count in changes),
            expected="; ".join(f"{_describe(one)}: {one.count:,}" for one, _ in changes),
            todo=f"inspect the rows, then fix the recipe in a new version or correct `known` in {module}",
        )


def known_findings_of_splits(known_findings: Sequence[KnownFinding], splits: Sequence[str]) -> tuple[KnownFinding, ...]:
    """The known findings that a release of some splits must have. Leaks are left out: they need all splits."""
    leaks = ("split_leak", "near_leak")
    within_a_split = [one for one in known_findings if one.kind not in leaks and not one.detail.startswith("in ")]
    return tuple(one for one in within_a_split if _split(one) in splits)


def _matches(finding: Finding, known_finding: KnownFinding) -> bool:
    is_same = (finding.kind, finding.location) == (known_finding.kind, known_finding.location)
    return is_same and known_finding.detail in ("", finding.detail)


def _split(known_finding: KnownFinding) -> str:
    return known_finding.location.split("/")[1].split(".")[0]


def _describe(known_finding: KnownFinding) -> str:
    detail = f" ({known_finding.detail})" if known_finding.detail else ""
    return f"{known_finding.kind} in {known_finding.location}{detail}"
