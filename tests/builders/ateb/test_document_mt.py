"""Document-level translation: the real files have the published documents and segments."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from builders.errors import PublishError
from cards.texts import read_prose
from pipelines.hub.publishable import require_publishable
from pipelines.make import BuildResult, make
from pipelines.release import folder, ledger
from tests.support.real_releases import read_table
from tests.support.releases import definition_of, sample_settings


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


def test_the_card_counts_the_documents_with_displaced_apostrophes(
    complete_release: Callable[[str], BuildResult],
) -> None:
    rows = read_table(complete_release("europarl-bitext"), "en-de")
    displaced = rows["sentence1"].str.contains(" ’ ", literal=True).sum()
    assert (
        f"- In {displaced} of the {rows.height} English documents"
        in read_prose("document_mt", "europarl-bitext", "1.0.0").limits
    )


def test_talks_that_may_not_be_shared_changed_are_not_quoted_and_not_published(
    golden_release: Callable[[str], BuildResult], tmp_path: Path
) -> None:
    assert definition_of("iwslt17-bitext").license == "cc-by-nc-nd-4.0"
    assert definition_of("europarl-bitext").license == "other"
    release = golden_release("iwslt17-bitext")
    made_up = (release.release_dir / folder.CARD).read_text("utf-8")
    assert "## Look at it\n\n| sentence1 | sentence2 |\n" in made_up
    part = make(definition_of("iwslt17-bitext"), "1.0.0", replace(sample_settings(tmp_path), limit=1))
    card = (part.release_dir / folder.CARD).read_text("utf-8")
    assert "\nlicense: cc-by-nc-nd-4.0\n" in card
    assert "## Look at it\n\nNo texts are shown: the licence does not permit sharing derivatives.\n" in card
    with pytest.raises(PublishError, match=r"licence cc-by-nc-nd-4\.0 does not permit publishing derivatives"):
        require_publishable(
            definition_of("iwslt17-bitext"), release.release_dir, rights=False, sample=True, ledger_file=ledger.LEDGER
        )
