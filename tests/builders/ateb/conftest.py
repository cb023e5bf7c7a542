"""Fixtures of the ATEB tests: releases built from real raw files, and a Hub on loopback."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import huggingface_hub
import pytest

from pipelines.make import BuildResult, make
from tests.support.faulty_server import FaultyServer
from tests.support.releases import definition_of, sample_settings


@pytest.fixture(scope="session")
def real_release(real_sources: Path, shared_folder: Path) -> Callable[..., BuildResult]:
    """Build a dataset's test split from real raw files, version 1.0.0 unless given, once for all workers."""
    settings = sample_settings(shared_folder / "real-ateb")
    settings = replace(settings, sample=False, splits=("test",), raw=replace(settings.raw, raw_dir=real_sources))
    results = dict[tuple[str, str], BuildResult]()

    def build(name: str, version: str = "1.0.0") -> BuildResult:
        if (name, version) not in results:
            results[name, version] = make(definition_of(name), version, settings)
        return results[name, version]

    return build


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyServer]:
    """A Hub without files, reached without a token."""
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: None)
    with FaultyServer({}) as server:
        yield server
