"""Which releases may be published, and where. Better documents for a published version: main shows them, the tag stays."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.catalogue import Definition
from builders.errors import FindingsError, PublishError
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
    first,
    plan,
    publish,
    with_manifest,
)
from tests.support.releases import definition_of, other_golden, sample_settings
from tests.support.scores import baseline, scores_of


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> tuple[Definition, BuildResult]:
    """Training data under a licence that permits sharing, and their release, built once."""
    definition = definition_of("ru-wanli-contrastive")
    settings = sample_settings(tmp_path_factory.mktemp("training"))
    return definition, make(definition, "1.0.0", settings)


def test_a_tag_never_moves(
    hub: LoopbackHub, options: PublishOptions, first_published: Any, settings: BuildSettings, tmp_path: Path
) -> None:
    dataset, _ = first_published
    before = hub.state()[0]
    other = make(dataset, "1.0.0", replace(settings, golden=other_golden(tmp_path / "golden")))
    with pytest.raises(PublishError, match="published with other content") as caught:
        publish(hub, dataset, other, options)
    assert caught.value.exit_code == 5
    assert "default/dev: other rows" in str(caught.value)
    assert "new version" in str(caught.value)
    assert hub.state()[0] == before


def test_a_manifest_on_the_hub_is_verified_against_its_rows(
    hub: LoopbackHub, options: PublishOptions, first_published: Any, settings: BuildSettings
) -> None:
    dataset, _ = first_published
    unsharded = make(dataset, "1.0.0", settings)
    repository = hub.repos[REPO]
    manifest = json.loads(hub.tree(REPO)["manifest.json"])
    assert hub.tree(REPO)[manifest["tables"][0]["files"][0]["path"]]
    manifest["tables"][0]["files"] = manifest["tables"][0]["files"][:1]
    repository.tags["v1.0.0"] = hub.commit(REPO, {"manifest.json": json.dumps(manifest).encode()})
    with pytest.raises(PublishError, match="not those of their manifest") as caught:
        publish(hub, dataset, unsharded, options)
    assert "other rows than the manifest's" in str(caught.value)


def test_an_edited_card_is_not_published(
    hub: LoopbackHub, options: PublishOptions, releases: Any, settings: BuildSettings
) -> None:
    dataset, _ = releases()
    outcome = make(dataset, "1.0.0", settings)
    card = outcome.release_dir / "README.md"
    card.write_text(card.read_text("utf-8") + "one more sentence\n", "utf-8")
    with pytest.raises(PublishError, match="the release is damaged") as caught:
        publish(hub, dataset, outcome, options)
    assert "README.md was edited after the build" in str(caught.value)
    assert "--force" in str(caught.value)
    assert hub.repos == {}


def test_a_repository_of_another_dataset_is_not_overwritten(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    publish(hub, *first(releases()), replace(options, repo_name="shared"))
    with pytest.raises(PublishError, match="another dataset"):
        publish(hub, *first(releases(RUBQ)), replace(options, repo_name="shared"))


@pytest.mark.parametrize("mark", ["sample", "partial"])
def test_samples_and_partial_releases_are_not_published(
    hub: LoopbackHub, options: PublishOptions, releases: Any, mark: str, tmp_path: Path
) -> None:
    dataset, outcome = first(releases())
    marked = with_manifest(outcome, tmp_path, **{mark: True})
    with pytest.raises(PublishError, match="is never published"):
        publish(hub, dataset, marked, replace(options, sample=False))
    assert hub.repos == {}


def test_a_release_of_a_moving_file_is_not_published_before_its_commit_is_accepted(
    hub: LoopbackHub, options: PublishOptions, releases: Any, tmp_path: Path
) -> None:
    dataset, outcome = first(releases())
    moving = {
        key: on_the_hub("o/r", "main", "x", moving=True, name=file.name) for key, file in dataset.source.files.items()
    }
    dataset = replace(dataset, source=replace(dataset.source, files=moving))
    raw = tuple(replace(entry, verified=False) for entry in outcome.manifest.raw)
    marked = with_manifest(outcome, tmp_path, raw=raw, sample=False)
    with pytest.raises(PublishError, match="its publisher may change is never published"):
        publish(hub, dataset, marked, options)


def test_a_no_derivatives_licence_requires_a_confirmation_of_the_rights(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcome = first(releases())
    source = replace(dataset.source, license="cc-by-nc-nd-4.0", license_note="News texts belong to their agency.")
    with pytest.raises(
        PublishError, match=r"licence cc-by-nc-nd-4\.0 does not permit publishing derivatives"
    ) as caught:
        publish(hub, replace(dataset, source=source), outcome, options)
    assert "--i-have-the-rights" in str(caught.value)
    assert "belong to their agency" in str(caught.value)
    assert publish(hub, replace(dataset, source=source), outcome, replace(options, rights=True)).state == "published"


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
    hub: LoopbackHub, options: PublishOptions, training: tuple[Definition, BuildResult], licence: str, reason: str
) -> None:
    definition, outcome = training
    unclear = replace(definition, source=replace(definition.source, license=licence, license_note=""))
    with pytest.raises(PublishError, match=f"licence {licence} {reason}") as caught:
        plan(hub, unclear, outcome, options)
    assert caught.value.exit_code == 5
    assert "--i-have-the-rights" in str(caught.value)
    planned = plan(hub, unclear, outcome, replace(options, rights=True))
    assert f"licence {licence} {reason}: published because of --i-have-the-rights" in planned.notes


def test_training_data_whose_licence_permits_sharing_are_published_without_a_word(
    hub: LoopbackHub, options: PublishOptions, training: tuple[Definition, BuildResult]
) -> None:
    definition, outcome = training
    assert definition.license == "apache-2.0"
    assert not [note for note in plan(hub, definition, outcome, options).notes if "licence" in note]


def test_training_data_whose_licence_forbids_derivatives_are_never_published(
    hub: LoopbackHub, options: PublishOptions, training: tuple[Definition, BuildResult]
) -> None:
    definition, outcome = training
    forbidden = replace(definition, source=replace(definition.source, license="cc-by-nd-4.0"))
    for rights in (False, True):
        with pytest.raises(PublishError, match="does not permit publishing derivatives") as caught:
            plan(hub, forbidden, outcome, replace(options, rights=rights))
        assert "--i-have-the-rights" not in str(caught.value)


@pytest.mark.parametrize("licence", ["other", "unknown", "cc-by-nc-4.0"])
def test_benchmark_datasets_are_published_under_unclear_licences_too(
    hub: LoopbackHub, options: PublishOptions, releases: Any, licence: str
) -> None:
    dataset, outcome = first(releases())
    source = replace(dataset.source, license=licence)
    planned = plan(hub, replace(dataset, source=source), outcome, options)
    assert planned.state == "to be published"
    assert not [note for note in planned.notes if "licence" in note]


def test_a_damaged_release_is_not_published(
    hub: LoopbackHub, options: PublishOptions, releases: Any, tmp_path: Path
) -> None:
    dataset, outcome = first(releases())
    copy = with_manifest(outcome, tmp_path)
    (copy.release_dir / "data" / "dev-00000-of-00002.parquet").write_bytes(b"PAR1")
    with pytest.raises(PublishError, match="the release is damaged") as caught:
        publish(hub, dataset, copy, options)
    assert "dev-00000-of-00002.parquet has changed: 4 bytes" in str(caught.value)
    assert hub.repos == {}


def test_blocking_defects_prevent_publishing_with_their_own_exit_code(
    hub: LoopbackHub, options: PublishOptions, releases: Any, tmp_path: Path
) -> None:
    dataset, outcome = first(releases())
    defect = Finding("null_text", "error", "default", "dev", "sentence1", count=1, share=0.1)
    findings = (*outcome.manifest.findings, defect)
    with pytest.raises(FindingsError, match="defects in the rows") as caught:
        publish(hub, dataset, with_manifest(outcome, tmp_path, findings=findings), options)
    assert caught.value.exit_code == 4
    assert caught.value.found == "null_text"


def test_the_error_for_a_missing_release_shows_the_build_command(
    hub: LoopbackHub, options: PublishOptions, releases: Any, tmp_path: Path
) -> None:
    dataset, outcome = first(releases())
    with pytest.raises(PublishError, match="no release to publish") as caught:
        publish(hub, dataset, replace(outcome, release_dir=tmp_path / "1.0.0"), options)
    assert f"embedding-datasets build {TERRA}@1.0.0" in str(caught.value)


def score(outcome: BuildResult, value: float = 50.0) -> None:
    record_scores(outcome.release_dir, scores_of(outcome.manifest, baselines=(baseline(value),)))


@pytest.fixture
def built(releases: Any, settings: BuildSettings) -> tuple[Any, BuildResult]:
    dataset, _ = releases()
    return dataset, make(dataset, "2.0.0", settings)


def test_scores_that_were_computed_after_publishing_get_to_main_and_the_tag_stays(
    hub: LoopbackHub, options: PublishOptions, built: tuple[Any, BuildResult]
) -> None:
    dataset, outcome = built
    first = publish(hub, dataset, outcome, options)
    data = {path: content for path, content in hub.tree(REPO).items() if path.endswith(".parquet")}
    score(outcome)
    planned = plan(hub, dataset, outcome, options)
    assert planned.state == "already published, documents to be updated"
    assert sorted(planned.writes) == sorted([*folder.DOCUMENTS, "manifest.json"])
    updated = publish(hub, dataset, outcome, options)
    assert updated.state == "documents updated"
    assert hub.repos[REPO].tags == {"v2.0.0": first.commit}
    tree = hub.tree(REPO)
    assert json.loads(tree["scores.json"])["baselines"][0]["score"] == 50
    assert b"## Scores" in tree["README.md"]
    assert b"load_dataset" in tree["README.md"]
    assert {path: tree[path] for path in data} == data
    assert "scores.json" not in hub.tree(REPO, "v2.0.0")
    assert publish(hub, dataset, outcome, options).state == "already published"


def test_main_keeps_the_scores_of_somebody_else_where_a_release_has_none(
    hub: LoopbackHub, options: PublishOptions, built: tuple[Any, BuildResult], settings: BuildSettings
) -> None:
    dataset, outcome = built
    publish(hub, dataset, outcome, options)
    score(outcome)
    publish(hub, dataset, outcome, options)
    (outcome.release_dir / "scores.json").unlink()
    bare = make(dataset, "2.0.0", settings)
    assert bare.state == "built"
    assert "## Scores" not in (bare.release_dir / "README.md").read_text("utf-8")
    again = publish(hub, dataset, bare, options)
    assert again.state == "already published"
    assert b"## Scores" in hub.tree(REPO)["README.md"]


def test_an_older_version_leaves_the_documents_of_main_alone(
    hub: LoopbackHub, options: PublishOptions, releases: Any, settings: BuildSettings
) -> None:
    dataset, outcomes = releases()
    old = make(dataset, "1.0.0", settings)
    publish(hub, dataset, old, options)
    publish(hub, dataset, outcomes["2.0.0"], options)
    score(old)
    assert publish(hub, dataset, old, options).state == "already published"
    assert "scores.json" not in hub.tree(REPO)


def test_a_card_that_was_edited_on_the_hub_is_not_replaced_without_consent(
    hub: LoopbackHub, options: PublishOptions, built: tuple[Any, BuildResult]
) -> None:
    dataset, outcome = built
    publish(hub, dataset, outcome, options)
    edited = hub.tree(REPO)["README.md"] + b"thanks\n"
    hub.commit(REPO, {"README.md": edited})
    assert publish(hub, dataset, outcome, options).state == "already published"
    score(outcome)
    with pytest.raises(PublishError, match="edited by hand"):
        publish(hub, dataset, outcome, options)
    assert hub.tree(REPO)["README.md"] == edited
    allowed = PublishOptions(**{**vars(options), "overwrite_card": True})
    assert publish(hub, dataset, outcome, allowed).state == "documents updated"
    assert b"## Scores" in hub.tree(REPO)["README.md"]


def test_other_files_with_the_same_rows_on_main_keep_their_documents(
    hub: LoopbackHub, options: PublishOptions, releases: Any, settings: BuildSettings
) -> None:
    dataset, outcomes = releases()  # 1.0.0 in several shards
    publish(hub, dataset, outcomes["1.0.0"], options)
    unsharded = make(dataset, "1.0.0", settings)
    score(unsharded)
    result = publish(hub, dataset, unsharded, options)
    assert result.state == "already published"
    assert "documents not updated: main has the same rows in other files" in result.plan.notes
