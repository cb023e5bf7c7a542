"""Fixtures shared by all tests: golden samples, real raw files, and releases built once per session."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings as hypothesis_settings

# The libraries read these at import. No test reaches the Hub (nothing listens on that port), and uploads use plain LFS.
if "PYTEST_XDIST_WORKER" in os.environ:  # there are as many workers as cores; .ci/stress sets another number
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
os.environ["HF_ENDPOINT"] = "http://127.0.0.1:9"
os.environ["HF_HUB_DISABLE_XET"] = "1"
# What these libraries cache: nothing from an earlier run, and nothing stays in the home of the user.
os.environ["HF_HOME"] = tempfile.mkdtemp(prefix="hf-")
os.environ.pop("HF_TOKEN", None)
os.environ.pop("EMBEDDING_DATASETS_MIRRORS", None)

from pipelines.make import BuildResult, BuildSettings, make
from pipelines.terminal import configure_logging
from tests.support.extras import reason_to_skip
from tests.support.paths import SOURCES
from tests.support.processes import has_history
from tests.support.releases import definition_of, sample_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


# The default profile runs the same few examples every time, so a new failure means the code changed. .ci/stress runs many.
hypothesis_settings.register_profile("few", deadline=None, derandomize=True, max_examples=30)
hypothesis_settings.register_profile("many", deadline=None, max_examples=500)
hypothesis_settings.load_profile("few")
configure_logging()  # as every command does, so that tests read log messages on stderr


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the expected rows of the golden samples")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run --update-golden in one process: what a worker prints is not shown."""
    if config.getoption("--update-golden"):
        config.option.numprocesses, config.option.dist = 0, "no"


def pytest_unconfigure() -> None:
    """Remove what the Hub's libraries cached."""
    shutil.rmtree(os.environ["HF_HOME"], ignore_errors=True)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Use the parameter name as the id of bytes: archives contain timestamps, and all workers must collect equal ids."""
    return argname if isinstance(val, bytes) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that hypothesis gives examples to: they take longer than most, and a developer may leave them out."""
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("property")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test marked `extra` where one of its packages is not installed, and one marked `history` in a shallow clone."""
    if item.get_closest_marker("history") and not has_history():
        pytest.skip("needs the history of this repository: git fetch --unshallow")
    packages = dict.fromkeys(name for marker in item.iter_markers("extra") for name in marker.args)
    if reason := reason_to_skip(tuple(packages)):
        pytest.skip(reason)


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
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of this run share."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def golden_release(shared_folder: Path) -> Callable[..., BuildResult]:
    """A function that returns the golden release of a dataset (default: newest version), built once for all workers.

    The build locks the dataset; a worker that comes later finds the release up to date. Tests change copies of it only.
    """
    folder = shared_folder / "golden"
    releases: dict[tuple[str, str], BuildResult] = {}

    def release(name: str, version: str | None = None) -> BuildResult:
        dataset = definition_of(name)
        key = name, version or dataset.dataset.newest
        if key not in releases:
            releases[key] = make(dataset, key[1], sample_settings(folder))
        return releases[key]

    return release
