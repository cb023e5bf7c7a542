"""Fixtures shared by all tests: golden samples, real raw files, and releases built once per session."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings as hypothesis_settings

# The libraries read these at import. No test reaches the Hub (nothing listens on that port), and uploads use plain LFS.
os.environ["HF_ENDPOINT"] = "http://127.0.0.1:9"
os.environ["HF_HUB_DISABLE_XET"] = "1"
os.environ.pop("HF_TOKEN", None)
os.environ.pop("EMBEDDING_DATASETS_MIRRORS", None)

from pipelines.make import BuildResult, BuildSettings, make
from pipelines.terminal import configure_logging
from tests.support.paths import SOURCES
from tests.support.releases import definition_of, sample_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


# The default profile runs the same examples every time, without a deadline, so a new failure means the code changed.
# To search for new examples: python -m pytest --hypothesis-profile explore
hypothesis_settings.register_profile("steady", deadline=None, derandomize=True)
hypothesis_settings.register_profile("explore", deadline=None)
hypothesis_settings.load_profile("steady")
configure_logging()  # as every command does, so that tests read log messages on stderr


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the expected rows of the golden samples")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Use the parameter name as the id of bytes: archives contain timestamps, and all workers must collect equal ids."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(scope="session")
def real_sources() -> Path:
    """The folder of real raw files; the test is skipped if it does not exist."""
    if not SOURCES.is_dir():
        pytest.skip(f"real raw files not found: {SOURCES}")
    return SOURCES


@pytest.fixture
def settings(tmp_path: Path) -> BuildSettings:
    """Build settings: golden samples as input, output in tmp_path/outputs, a ledger per test."""
    return sample_settings(tmp_path)


@pytest.fixture(scope="session")
def golden_release(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., BuildResult]:
    """A function that returns the golden release of a dataset (default: newest version), built once per session."""
    folder = tmp_path_factory.mktemp("golden")
    releases: dict[tuple[str, str], BuildResult] = {}

    def release(name: str, version: str | None = None) -> BuildResult:
        dataset = definition_of(name)
        key = name, version or dataset.dataset.newest
        if key not in releases:
            releases[key] = make(dataset, key[1], sample_settings(folder))
        return releases[key]

    return release
