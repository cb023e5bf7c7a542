"""The licences of sources, by the ids that the Hub accepts in the front matter of a card, and what a licence permits."""

# The page "Licenses" of the Hub's documentation.
LICENSES = frozenset(
    [
        "apache-2.0",
        "mit",
        "openrail",
        "bigscience-openrail-m",
        "creativeml-openrail-m",
        "bigscience-bloom-rail-1.0",
        "bigcode-openrail-m",
        "afl-3.0",
        "artistic-2.0",
        "bsl-1.0",
        "bsd",
        "bsd-2-clause",
        "bsd-3-clause",
        "bsd-3-clause-clear",
        "c-uda",
        "cc",
        "cc0-1.0",
        "cc-by-2.0",
        "cc-by-2.5",
        "cc-by-3.0",
        "cc-by-4.0",
        "cc-by-sa-3.0",
        "cc-by-sa-4.0",
        "cc-by-nc-2.0",
        "cc-by-nc-3.0",
        "cc-by-nc-4.0",
        "cc-by-nd-4.0",
        "cc-by-nc-nd-3.0",
        "cc-by-nc-nd-4.0",
        "cc-by-nc-sa-2.0",
        "cc-by-nc-sa-3.0",
        "cc-by-nc-sa-4.0",
        "cdla-sharing-1.0",
        "cdla-permissive-1.0",
        "cdla-permissive-2.0",
        "wtfpl",
        "ecl-2.0",
        "epl-1.0",
        "epl-2.0",
        "etalab-2.0",
        "eupl-1.1",
        "agpl-3.0",
        "gfdl",
        "gpl",
        "gpl-2.0",
        "gpl-3.0",
        "lgpl",
        "lgpl-2.1",
        "lgpl-3.0",
        "isc",
        "lppl-1.3c",
        "ms-pl",
        "mpl-2.0",
        "odc-by",
        "odbl",
        "openrail++",
        "osl-3.0",
        "postgresql",
        "ofl-1.1",
        "ncsa",
        "unlicense",
        "zlib",
        "pddl",
        "lgpl-lr",
        "deepfloyd-if-license",
        "llama2",
        "gemma",
        "unknown",
        "other",
    ]
)


def permits_derivatives(license_id: str) -> bool:
    """Whether a licence permits sharing what is made from the data: `cc-by-nc-nd-4.0` does not."""
    return "nd" not in license_id.lower().split("-")


def permits_commercial_use(license_id: str) -> bool:
    """Whether a licence permits commercial use: `cc-by-nc-4.0` does not."""
    return "nc" not in license_id.lower().split("-")


def permits_redistribution(license_id: str) -> bool:
    """Whether a licence is known to permit sharing the data unchanged: `cc-by-nc-nd-4.0` does, terms of their own may not."""
    return license_id.lower() in LICENSES - {"unknown", "other"}


def permitted_uses(license_id: str) -> tuple[str, ...]:
    """What a licence is known to permit with a dataset that is made from the data, in words; nothing of terms of their own."""
    if not permits_redistribution(license_id):
        return ()
    permitted = permits_commercial_use(license_id), permits_derivatives(license_id)
    names = ("commercial use allowed", "may be redistributed")
    return tuple(name for name, is_permitted in zip(names, permitted, strict=True) if is_permitted)


def describe_license(license_id: str) -> str:
    """What a licence, as the Hub names it, says about sharing a dataset, in words."""
    parts = license_id.lower().split("-")
    if license_id == "unknown":
        return "none is stated, ask the authors before you share this dataset"
    if license_id == "other":
        return "terms of its own, see the licence section before you share it"
    if not permits_derivatives(license_id):
        return "permits no derivatives, ask the owners before you share this dataset"
    if parts[0] == "cc0":
        return "you may share it, also commercially"
    conditions = "with credit" if parts[0] == "cc" else "with the notices of the licence"
    conditions += " and under the same licence" if "sa" in parts else ""
    return f"you may share it {conditions}, {'non-commercially only' if 'nc' in parts else 'also commercially'}"
