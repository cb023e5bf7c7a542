"""Raw files with given bytes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.support.reading import write_raw

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from builders.spec import Raw


@pytest.fixture
def raw(tmp_path: Path) -> Callable[..., Raw]:
    """Writes a raw file: raw(data, name="source/file", member=None, limit=None)."""
    return partial(write_raw, tmp_path)


@pytest.fixture(scope="module")
def example_raw(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Raw]:
    """The same for hypothesis: one folder, whose files every example overwrites."""
    return partial(write_raw, tmp_path_factory.mktemp("raw"))
