"""pipelines.audit.tables: how texts are stripped."""

from __future__ import annotations

from pipelines.audit.tables import WHITE_SPACE


def test_white_space_is_that_of_python() -> None:
    assert set(WHITE_SPACE) == {chr(code) for code in range(0x110000) if chr(code).isspace()}
