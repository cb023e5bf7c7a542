"""What the licence of a source permits."""

from __future__ import annotations


def permits_derivatives(license_id: str) -> bool:
    """Whether a licence, as the Hub names it, permits sharing what is made from the data: `cc-by-nc-nd-4.0` does not."""
    return "nd" not in license_id.lower().split("-")
