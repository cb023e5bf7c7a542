"""A user's folder and cache, and a complete release, built from the golden sample of TERRa as if it were the whole source."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from pipelines.make import BuildSettings, make
from tests.support.releases import as_full, definition_of, sample_settings

TERRA = "terra-pairclassification"


@pytest.fixture(autouse=True)
def datasets_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what `datasets` stores out of the user's cache."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "datasets"))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache of a user whose current folder is empty."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("EMBEDDING_DATASETS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def complete_terra(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a complete release of TERRa."""
    tmp_path = tmp_path_factory.mktemp("terra")
    with pytest.MonkeyPatch.context() as monkeypatch:
        settings = as_full(sample_settings(tmp_path), tmp_path, monkeypatch)
        return make(definition_of(TERRA), "1.0.0", settings).release_dir


@pytest.fixture
def copy_terra(complete_terra: Path) -> Callable[[Path], Path]:
    """A function that copies the complete release of TERRa into a folder of releases."""

    def copy(folder: Path) -> Path:
        return Path(shutil.copytree(complete_terra, folder / TERRA / "1.0.0"))

    return copy


@pytest.fixture
def raw_terra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of raw files that passes for the whole source of TERRa, with a ledger of its own."""
    as_full(sample_settings(tmp_path), tmp_path, monkeypatch)
    monkeypatch.setattr("pipelines.make.BuildSettings", partial(BuildSettings, ledger=tmp_path / "ledger.json"))
    return tmp_path / "raw"
