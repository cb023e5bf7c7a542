"""What tests share: the golden samples, the real raw files, builds made once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings as hypothesis_settings

# The libraries read these once, at import: no test reaches the Hub (nobody listens there), and uploads are plain LFS.
os.environ["HF_ENDPOINT"] = "http://127.0.0.1:9"
os.environ["HF_HUB_DISABLE_XET"] = "1"
os.environ.pop("HF_TOKEN", None)

from pipelines.make import BuildResult, BuildSettings, make
from pipelines.terminal import configure_logging
from tests.support.paths import SOURCES
from tests.support.releases import definition_of, sample_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


# The same examples every time, however long they take: a test that fails says that code has changed. To look for new ones:
# python -m pytest --hypothesis-profile explore
hypothesis_settings.register_profile("steady", deadline=None, derandomize=True)
hypothesis_settings.register_profile("explore", deadline=None)
hypothesis_settings.load_profile("steady")
configure_logging()  # as every command does: tests read log messages where users do, on stderr


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the expected rows of the golden samples")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes get the name of their parameter as id: archives hold the time of day, and workers must collect equal ids."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(scope="session")
def real_sources() -> Path:
    """The folder of real raw files; tests that need it are skipped where it is absent."""
    if not SOURCES.is_dir():
        pytest.skip(f"no real raw files: {SOURCES} is absent")
    return SOURCES


@pytest.fixture
def settings(tmp_path: Path) -> BuildSettings:
    """Golden sample in, releases below tmp_path/outputs out, a ledger of the test's own."""
    return sample_settings(tmp_path)


@pytest.fixture(scope="session")
def golden_release(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., BuildResult]:
    """The release of a dataset's golden sample, of one version or the newest, built once a session."""
    folder = tmp_path_factory.mktemp("golden")
    made: dict[tuple[str, str], BuildResult] = {}

    def release(name: str, version: str | None = None) -> BuildResult:
        dataset = definition_of(name)
        wanted = name, version or dataset.dataset.newest
        if wanted not in made:
            made[wanted] = make(dataset, wanted[1], sample_settings(folder))
        return made[wanted]

    return release
