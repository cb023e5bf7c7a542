"""Releases built from complete real raw files, for the tests of sources."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.make import BuildResult, make
from tests.support.real_releases import COMPLETE
from tests.support.releases import definition_of, sample_settings


@pytest.fixture(scope="session")
def complete_release(real_sources: Path, shared_folder: Path) -> Callable[..., BuildResult]:
    """Build a dataset of COMPLETE from its real raw files, version 1.0.0 unless given, once for all workers."""
    settings = sample_settings(shared_folder / "real")
    settings = replace(settings, sample=False, raw=replace(settings.raw, raw_dir=real_sources))
    results = dict[tuple[str, str], BuildResult]()

    def build(name: str, version: str = "1.0.0") -> BuildResult:
        if (name, version) not in results:
            results[name, version] = make(definition_of(name), version, replace(settings, splits=COMPLETE[name]))
        return results[name, version]

    return build
