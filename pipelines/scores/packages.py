"""The packages that compute baselines, which are an extra of ours: whether they are installed, and their versions."""

from collections.abc import Mapping
from importlib.metadata import version
from importlib.util import find_spec
from types import MappingProxyType

from builders.errors import UsageError

# What baselines are computed with, by the name of its module.
PACKAGES: Mapping[str, str] = MappingProxyType(
    {"numpy": "numpy", "scipy": "scipy", "sklearn": "scikit-learn", "threadpoolctl": "threadpoolctl"}
)


def require_packages() -> None:
    """Raise UsageError where a package is missing that `pipelines.scores.baselines` imports: call this before importing it."""
    missing = [name for module, name in PACKAGES.items() if find_spec(module) is None]
    if missing:
        raise UsageError(
            "packages for baselines are missing",
            found=f"not installed: {', '.join(missing)}",
            todo="pip install 'embedding-datasets[scores]'",
        )


def package_versions() -> dict[str, str]:
    """The versions of the packages that compute baselines, by name."""
    return {name: version(name) for name in PACKAGES.values()}
