"""The ledger, where its file is damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from builders.errors import ReleaseError
from pipelines.release.ledger import find_entry

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"<<<<<<< HEAD\n{}", "JSON is malformed"),
        (b'{"cedr": {"1.0.0": {"more": ' + b"[" * 100_000, "maximum recursion depth exceeded"),
        (b'{"cedr": {"1.0.0": {"content_sha256": "0"}}}', "$[...][...].content_sha256"),
        (b'{"\xff": {}}', "utf-8"),
    ],
    ids=["not_json", "nested_deeply", "no_digest", "not_utf8"],
)
def test_a_damaged_ledger_is_an_error_that_names_the_file(tmp_path: Path, content: bytes, found: str) -> None:
    ledger = tmp_path / "ledger.json"
    ledger.write_bytes(content)
    with pytest.raises(ReleaseError, match="damaged ledger") as caught:
        find_entry("cedr", "1.0.0", ledger)
    assert caught.value.where == str(ledger)
    assert found in str(caught.value.found)
