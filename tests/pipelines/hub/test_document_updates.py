"""Better documents for a published version: main shows them, the tag stays."""

import json
from typing import Any

import pytest

from builders.errors import PublishError
from pipelines.hub.planning import PublishOptions
from pipelines.make import BuildResult, BuildSettings, make
from pipelines.release import folder
from pipelines.scores.scoring import record_scores
from tests.support.loopback_hub import LoopbackHub
from tests.support.publishing import REPO, plan, publish
from tests.support.scores import baseline, scores_of


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
