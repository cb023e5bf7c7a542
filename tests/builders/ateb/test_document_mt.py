"""Document-level translation: the real files have the published documents and segments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.real_releases import read_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipelines.make import BuildResult


@pytest.mark.parametrize(
    ("name", "documents", "segments"),
    [("europarl-bitext", 360, 5134), ("iwslt17-bitext", 23, 2271), ("nc2016-bitext", 155, 2999)],
)
def test_the_real_files_have_the_published_documents_and_segments(
    name: str, documents: int, segments: int, complete_release: Callable[[str], BuildResult]
) -> None:
    release = complete_release(name)
    rows = read_table(release, "en-de")
    assert release.manifest.observed == {"documents": documents, "segments": segments}
    assert rows.height == documents
    for side in ("sentence1", "sentence2"):
        assert rows[side].str.count_matches("\n").sum() + documents == segments
        assert not rows[side].str.contains(r"[ \t\r](\n|$)").any(), "segments end without white space"
