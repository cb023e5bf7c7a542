"""Which releases may be published, and where. Better documents for a published version: main shows them, the tag stays."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.errors import FindingsError
from builders.raw_files import hub as on_the_hub
from cards.manifest import Finding
from pipelines.hub.planning import PublishOptions
from pipelines.make import BuildResult, BuildSettings, make
from pipelines.release import folder
from pipelines.scores.scoring import record_scores
from tests.support.loopback_hub import LoopbackHub
from tests.support.publishing import (
    REPO,
    RUBQ,
    TERRA,
    Versions,
    with_manifest,
)
from tests.support.releases import definition_of, other_golden, sample_settings
from tests.support.scores import baseline, scores_of

TRAINING = "ru-wanli-contrastive"


@pytest.fixture(scope="module")
def built_training(tmp_path_factory: pytest.TempPathFactory) -> BuildResult:
    """Training data under a licence that permits sharing, built once."""
    return make(definition_of(TRAINING), "1.0.0", sample_settings(tmp_path_factory.mktemp("training")))


@pytest.fixture
def training(hub: LoopbackHub, options: PublishOptions, built_training: BuildResult) -> Versions:
    return Versions(hub, options, definition_of(TRAINING), {"1.0.0": built_training})


@pytest.mark.usefixtures("first_published")
def test_a_tag_never_moves(hub: LoopbackHub, terra: Versions, settings: BuildSettings, tmp_path: Path) -> None:
    before = hub.state()[0]
    other = make(terra.dataset, "1.0.0", replace(settings, golden=other_golden(tmp_path / "golden")))
    error = terra.refuse(other, "published with other content", "default/dev: other rows", "new version")
    assert error.exit_code == 5
    assert hub.state()[0] == before


@pytest.mark.usefixtures("first_published")
def test_a_manifest_on_the_hub_is_verified_against_its_rows(
    hub: LoopbackHub, terra: Versions, settings: BuildSettings
) -> None:
    unsharded = make(terra.dataset, "1.0.0", settings)
    manifest = json.loads(hub.tree(REPO)["manifest.json"])
    assert hub.tree(REPO)[manifest["tables"][0]["files"][0]["path"]]
    manifest["tables"][0]["files"] = manifest["tables"][0]["files"][:1]
    hub.repos[REPO].tags["v1.0.0"] = hub.commit(REPO, {"manifest.json": json.dumps(manifest).encode()})
    terra.refuse(unsharded, "not those of their manifest", "other rows than the manifest's")


@pytest.mark.parametrize("name", ["README.md", "croissant.json"])
def test_an_edited_document_is_not_published(
    hub: LoopbackHub, terra: Versions, settings: BuildSettings, name: str
) -> None:
    outcome = make(terra.dataset, "1.0.0", settings)
    document = outcome.release_dir / name
    document.write_bytes(document.read_bytes() + b"one more sentence\n")
    terra.refuse(outcome, "the release is damaged", f"{name} was edited after the build", "--force")
    assert hub.repos == {}


def test_a_repository_of_another_dataset_is_not_overwritten(
    hub: LoopbackHub, options: PublishOptions, releases: Any, terra: Versions
) -> None:
    terra.publish("1.0.0", repo_name="shared")
    Versions(hub, options, *releases(RUBQ)).refuse("1.0.0", "another dataset", repo_name="shared")


@pytest.mark.parametrize("mark", ["sample", "partial"])
def test_samples_and_partial_releases_are_not_published(
    hub: LoopbackHub, terra: Versions, mark: str, tmp_path: Path
) -> None:
    marked = with_manifest(terra.outcomes["1.0.0"], tmp_path, **{mark: True})
    terra.refuse(marked, "is never published", sample=False)
    assert hub.repos == {}


def test_a_release_of_a_moving_file_is_not_published_before_its_commit_is_accepted(
    terra: Versions, tmp_path: Path
) -> None:
    dataset, outcome = terra.dataset, terra.outcomes["1.0.0"]
    moving = {
        key: on_the_hub("o/r", "main", "x", moving=True, name=file.name) for key, file in dataset.source.files.items()
    }
    of_moving_files = replace(terra, dataset=replace(dataset, source=replace(dataset.source, files=moving)))
    raw = tuple(replace(entry, verified=False) for entry in outcome.manifest.raw)
    marked = with_manifest(outcome, tmp_path, raw=raw, sample=False)
    of_moving_files.refuse(marked, "its publisher may change is never published")


def test_a_no_derivatives_licence_requires_a_confirmation_of_the_rights(terra: Versions) -> None:
    restricted = terra.licensed("cc-by-nc-nd-4.0", "News texts belong to their agency.")
    restricted.refuse(
        "1.0.0",
        "licence cc-by-nc-nd-4.0 does not permit publishing derivatives",
        "--i-have-the-rights",
        "belong to their agency",
    )
    assert restricted.publish("1.0.0", rights=True).state == "published"


@pytest.mark.parametrize(
    ("licence", "reason"),
    [
        ("other", "is not known to permit publishing training data"),
        ("unknown", "is not known to permit publishing training data"),
        ("none", "is not known to permit publishing training data"),
        ("cc-by-nc-4.0", "does not permit commercial use of training data"),
    ],
)
def test_training_data_without_a_clear_licence_require_a_confirmation_of_the_rights(
    training: Versions, licence: str, reason: str
) -> None:
    unclear = training.licensed(licence)
    assert unclear.refuse("1.0.0", f"licence {licence} {reason}", "--i-have-the-rights").exit_code == 5
    planned = unclear.plan("1.0.0", rights=True)
    assert f"licence {licence} {reason}: published because of --i-have-the-rights" in planned.notes


def test_training_data_whose_licence_permits_sharing_are_published_without_a_word(training: Versions) -> None:
    assert training.dataset.license == "apache-2.0"
    assert not [note for note in training.plan("1.0.0").notes if "licence" in note]


@pytest.mark.parametrize("rights", [False, True])
def test_training_data_whose_licence_forbids_derivatives_are_never_published(training: Versions, rights: bool) -> None:
    error = training.licensed("cc-by-nd-4.0").refuse("1.0.0", "does not permit publishing derivatives", rights=rights)
    assert "--i-have-the-rights" not in str(error)


@pytest.mark.parametrize("licence", ["other", "unknown", "cc-by-nc-4.0"])
def test_benchmark_datasets_are_published_under_unclear_licences_too(terra: Versions, licence: str) -> None:
    planned = terra.licensed(licence).plan("1.0.0")
    assert planned.state == "to be published"
    assert not [note for note in planned.notes if "licence" in note]


def test_a_damaged_release_is_not_published(hub: LoopbackHub, terra: Versions, tmp_path: Path) -> None:
    copy = with_manifest(terra.outcomes["1.0.0"], tmp_path)
    (copy.release_dir / "data" / "dev-00000-of-00002.parquet").write_bytes(b"PAR1")
    terra.refuse(copy, "the release is damaged", "dev-00000-of-00002.parquet has changed: 4 bytes")
    assert hub.repos == {}


def test_blocking_defects_prevent_publishing_with_their_own_exit_code(terra: Versions, tmp_path: Path) -> None:
    outcome = terra.outcomes["1.0.0"]
    defect = Finding("null_text", "error", "default", "dev", "sentence1", count=1, share=0.1)
    findings = (*outcome.manifest.findings, defect)
    with pytest.raises(FindingsError, match="defects in the rows") as caught:
        terra.publish(with_manifest(outcome, tmp_path, findings=findings))
    assert caught.value.exit_code == 4
    assert caught.value.found == "null_text"


def test_the_error_for_a_missing_release_shows_the_build_command(terra: Versions, tmp_path: Path) -> None:
    terra.refuse(
        replace(terra.outcomes["1.0.0"], release_dir=tmp_path / "1.0.0"),
        "no release to publish",
        f"embedding-datasets build {TERRA}@1.0.0",
    )


def score(outcome: BuildResult) -> None:
    record_scores(outcome.release_dir, scores_of(outcome.manifest, baselines=(baseline(50.0),)))


def test_scores_that_were_computed_after_publishing_get_to_main_and_the_tag_stays(
    hub: LoopbackHub, built: BuildResult, terra: Versions
) -> None:
    first = terra.publish(built)
    data = {path: content for path, content in hub.tree(REPO).items() if path.endswith(".parquet")}
    score(built)
    planned = terra.plan(built)
    assert planned.state == "already published, documents to be updated"
    assert sorted(planned.writes) == sorted([*folder.DOCUMENTS, "manifest.json"])
    assert terra.publish(built).state == "documents updated"
    assert hub.repos[REPO].tags == {"v2.0.0": first.commit}
    tree = hub.tree(REPO)
    assert json.loads(tree["scores.json"])["baselines"][0]["score"] == 50
    assert b"## Scores" in tree["README.md"]
    assert b"load_dataset" in tree["README.md"]
    assert {path: tree[path] for path in data} == data
    assert "scores.json" not in hub.tree(REPO, "v2.0.0")
    assert terra.publish(built).state == "already published"


def test_main_keeps_the_scores_of_somebody_else_where_a_release_has_none(
    hub: LoopbackHub, built: BuildResult, settings: BuildSettings, terra: Versions
) -> None:
    terra.publish(built)
    score(built)
    terra.publish(built)
    (built.release_dir / "scores.json").unlink()
    bare = make(terra.dataset, "2.0.0", settings)
    assert bare.state == "built"
    assert "## Scores" not in (bare.release_dir / "README.md").read_text("utf-8")
    assert terra.publish(bare).state == "already published"
    assert b"## Scores" in hub.tree(REPO)["README.md"]


def test_an_older_version_leaves_the_documents_of_main_alone(
    hub: LoopbackHub, terra: Versions, settings: BuildSettings
) -> None:
    old = make(terra.dataset, "1.0.0", settings)
    terra.publish(old)
    terra.publish("2.0.0")
    score(old)
    assert terra.publish(old).state == "already published"
    assert "scores.json" not in hub.tree(REPO)


def test_a_card_that_was_edited_on_the_hub_is_not_replaced_without_consent(
    hub: LoopbackHub, built: BuildResult, terra: Versions
) -> None:
    terra.publish(built)
    edited = hub.tree(REPO)["README.md"] + b"thanks\n"
    hub.commit(REPO, {"README.md": edited})
    assert terra.publish(built).state == "already published"
    score(built)
    terra.refuse(built, "edited by hand")
    assert hub.tree(REPO)["README.md"] == edited
    assert terra.publish(built, overwrite_card=True).state == "documents updated"
    assert b"## Scores" in hub.tree(REPO)["README.md"]


def test_other_files_with_the_same_rows_on_main_keep_their_documents(terra: Versions, settings: BuildSettings) -> None:
    terra.publish("1.0.0")
    unsharded = make(terra.dataset, "1.0.0", settings)
    score(unsharded)
    result = terra.publish(unsharded)
    assert result.state == "already published"
    assert "documents not updated: main has the same rows in other files" in result.plan.notes
