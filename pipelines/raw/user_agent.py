"""How this package names itself to servers: their operators see who sends requests, and in which version."""

from __future__ import annotations

import importlib.metadata

NAME = "embedding-datasets"


def package_version() -> str:
    """The version of this package; `unknown` where it runs without being installed."""
    try:
        return importlib.metadata.version(NAME)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def user_agent() -> str:
    """The User-Agent of requests: name and version."""
    return f"{NAME}/{package_version()}"
