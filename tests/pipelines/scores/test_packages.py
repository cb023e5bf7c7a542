"""pipelines.scores.results: what is missing is said before anything imports it."""

from importlib.util import find_spec

import pytest

from builders.errors import UsageError
from pipelines.scores import results


def test_a_missing_package_is_an_error_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "find_spec", lambda name: None if name == "sklearn" else find_spec(name))
    with pytest.raises(UsageError, match=r"not installed: scikit-learn\n.*pip install 'embedding-datasets\[scores\]'"):
        results.require_packages()


def test_the_versions_of_what_computes_baselines_are_recorded() -> None:
    results.require_packages()
    assert set(results.package_versions()) == {"numpy", "scipy", "scikit-learn", "threadpoolctl"}
