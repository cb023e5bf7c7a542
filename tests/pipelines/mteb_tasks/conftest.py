"""Fixtures of the tests of tasks of mteb."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.loopback_hub import LoopbackHub
from tests.support.mteb_hub import mteb_hub


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    with mteb_hub(tmp_path, monkeypatch) as server:
        yield server
