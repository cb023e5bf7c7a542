"""Raw files with given bytes."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from builders.spec import Raw
from tests.support.reading import write_raw


@pytest.fixture
def raw(tmp_path: Path) -> Callable[..., Raw]:
    """Writes a raw file: raw(data, name="source/file", member=None, limit=None)."""
    return partial(write_raw, tmp_path)


@pytest.fixture(scope="module")
def example_raw(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Raw]:
    """The same for hypothesis: one folder, whose files every example overwrites."""
    return partial(write_raw, tmp_path_factory.mktemp("raw"))
