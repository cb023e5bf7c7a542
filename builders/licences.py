"""What the licence of a source permits."""

from __future__ import annotations

NO_DERIVATIVES = "permits no derivatives, ask the owners before you share this dataset"


def permits_derivatives(license_id: str) -> bool:
    """Whether a licence, as the Hub names it, permits sharing what is made from the data: `cc-by-nc-nd-4.0` does not."""
    return "nd" not in license_id.lower().split("-")


def describe_licence(license_id: str) -> str:
    """What a licence, as the Hub names it, says about sharing a dataset, in words."""
    parts = license_id.lower().split("-")
    if license_id == "unknown":
        return "none is stated, ask the authors before you share this dataset"
    if license_id == "other":
        return "terms of their own"
    if not permits_derivatives(license_id):
        return NO_DERIVATIVES
    if parts[0] == "cc0":
        return "sharing permitted, also for profit"
    conditions = "with credit" if parts[0] == "cc" else "with the notices of the licence"
    conditions += ", under the same licence" if "sa" in parts else ""
    return f"sharing permitted {conditions}, {'not for profit' if 'nc' in parts else 'also for profit'}"
