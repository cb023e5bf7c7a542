"""Scores in a release: scores.json, card and manifest change together, and stay with the rows that they belong to."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from builders.errors import ReleaseError
from pipelines.make import BuildResult, BuildSettings, make
from pipelines.release import folder
from pipelines.release.folder import verify_release
from pipelines.scores.scoring import record_scores
from tests.support.releases import definition_of, tree
from tests.support.scores import baseline, scores_of

TERRA = "terra-pairclassification"


@pytest.fixture
def outcome(settings: BuildSettings) -> BuildResult:
    return make(definition_of(TERRA), "1.0.0", settings)


def test_scores_get_into_folder_card_and_manifest_and_the_rows_stay(outcome: BuildResult) -> None:
    before = tree(outcome.release_dir)
    manifest = record_scores(outcome.release_dir, scores_of(outcome.manifest))
    after = tree(outcome.release_dir)
    changed = {path for path in after if after[path] != before.get(path)}
    assert changed == {"README.md", "scores.json", "manifest.json"}
    assert b"## Scores" in after["README.md"]
    assert [document.path for document in manifest.documents] == [
        "README.md",
        "statistics.json",
        "croissant.json",
        "scores.json",
    ]
    assert manifest.content_sha256 == outcome.manifest.content_sha256
    assert verify_release(outcome.release_dir, manifest) == []
    assert folder.find_damage(outcome.release_dir, manifest) == []


def test_a_build_after_scoring_is_up_to_date_and_a_forced_one_keeps_the_scores_and_the_card(
    outcome: BuildResult, settings: BuildSettings
) -> None:
    record_scores(outcome.release_dir, scores_of(outcome.manifest))
    scored = tree(outcome.release_dir)
    assert make(definition_of(TERRA), "1.0.0", settings).state == "up to date"
    again = make(definition_of(TERRA), "1.0.0", replace(settings, force=True))
    assert again.state == "built"
    kept = tree(outcome.release_dir)
    assert {path for path in kept if kept[path] != scored[path]} <= {"manifest.json"}  # the time of the build
    assert not [note for note in again.notes if "scores" in note]


def test_a_build_with_other_rows_removes_the_scores_and_a_note_says_so(
    outcome: BuildResult, settings: BuildSettings
) -> None:
    record_scores(outcome.release_dir, scores_of(outcome.manifest))
    other = make(definition_of(TERRA), "1.0.0", replace(settings, limit=3))
    assert not (other.release_dir / "scores.json").exists()
    assert "## Scores" not in (other.release_dir / "README.md").read_text("utf-8")
    expected = f"{TERRA}@1.0.0: other rows, so scores.json was removed: embedding-datasets score {TERRA}@1.0.0"
    assert expected in other.notes


def test_a_build_over_scores_that_cannot_be_read_removes_them_and_a_note_says_so(
    outcome: BuildResult, settings: BuildSettings
) -> None:
    record_scores(outcome.release_dir, scores_of(outcome.manifest))
    (outcome.release_dir / "scores.json").write_text("{")
    again = make(definition_of(TERRA), "1.0.0", settings)
    assert again.state == "built"
    assert not (again.release_dir / "scores.json").exists()
    assert any("invalid scores.json, so it was removed" in note for note in again.notes)


def test_scores_of_other_rows_are_not_written(outcome: BuildResult) -> None:
    before = tree(outcome.release_dir)
    with pytest.raises(ReleaseError, match="changed since it was scored"):
        record_scores(outcome.release_dir, scores_of(outcome.manifest, content_sha256="0" * 64))
    assert tree(outcome.release_dir) == before


def test_an_edited_card_is_not_covered_up_by_scores(outcome: BuildResult) -> None:
    card = outcome.release_dir / "README.md"
    card.write_text(card.read_text("utf-8") + "edited\n", encoding="utf-8")
    with pytest.raises(ReleaseError, match=r"README\.md was edited after the build"):
        record_scores(outcome.release_dir, scores_of(outcome.manifest))


def test_a_failure_while_writing_leaves_the_release_as_it_was(
    outcome: BuildResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("killed")

    before = tree(outcome.release_dir.parent)
    monkeypatch.setattr(folder, "describe_documents", fail)
    with pytest.raises(RuntimeError, match="killed"):
        record_scores(outcome.release_dir, scores_of(outcome.manifest))
    assert tree(outcome.release_dir.parent) == before


def test_data_files_are_linked_or_copied_where_the_file_system_cannot_link(
    outcome: BuildResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = outcome.release_dir / outcome.manifest.files[0].path
    inode = data.stat().st_ino
    record_scores(outcome.release_dir, scores_of(outcome.manifest))
    assert data.stat().st_ino == inode

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    manifest = record_scores(outcome.release_dir, scores_of(outcome.manifest, baselines=(baseline(51.0),)))
    assert data.stat().st_ino != inode
    assert verify_release(outcome.release_dir, manifest) == []


def test_a_release_behind_a_symbolic_link_stays_there(outcome: BuildResult, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.move(outcome.release_dir, elsewhere)
    outcome.release_dir.symlink_to(elsewhere)
    record_scores(outcome.release_dir, scores_of(outcome.manifest))
    assert outcome.release_dir.is_symlink()
    assert (elsewhere / "scores.json").is_file()
