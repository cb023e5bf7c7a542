"""Plain names of the kinds of findings, for people who have not read docs/findings.md."""

from cards.kind_names import kind_name
from pipelines.audit.duplicates import FOLDED_DETAIL

# Findings of these kinds are exact, or made after folding, which their detail then says.
EXACT_OR_FOLDED = {"split_leak", "conflicting_label", "identical_pair", "duplicate_pair", "duplicate_text"}


def finding_name(kind: str, detail: str) -> str:
    """The plain name of a finding; whether it is exact or folded, where texts are compared in both ways."""
    name = kind_name(kind)
    if FOLDED_DETAIL in detail:
        return f"{name}, folded"
    # Conflicts between splits, and between pairs in either order, are looked for in both ways at once.
    is_exact = kind in EXACT_OR_FOLDED and not (kind == "conflicting_label" and detail)
    return f"{name}, exact" if is_exact else name
