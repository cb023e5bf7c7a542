"""pipelines.scores.results: which packages baselines need."""

from importlib.util import find_spec

import pytest

from builders.errors import UsageError
from pipelines.scores.results import package_versions, require_packages


def test_a_missing_package_is_an_error_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "pipelines.scores.results.find_spec", lambda name: None if name == "sklearn" else find_spec(name)
    )
    with pytest.raises(UsageError, match=r"not installed: scikit-learn\n.*pip install 'embedding-datasets\[scores\]'"):
        require_packages()


def test_the_versions_of_what_computes_baselines_are_recorded() -> None:
    require_packages()
    assert set(package_versions()) == {"numpy", "scipy", "scikit-learn", "threadpoolctl"}
