"""What a reader loads is what is verified: at a snapshot, at every tag, by publish and by check."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from cards.manifest import decode, encode
from pipelines import check
from pipelines.hub import client, repository
from pipelines.hub.client import HubClient
from pipelines.hub.inspection import verify_snapshot
from pipelines.hub.planning import PublishOptions
from pipelines.release import folder
from tests.support.loopback_hub import LoopbackHub
from tests.support.publishing import REPO, RUBQ, Versions, patience

Change = Callable[[dict[str, bytes]], dict[str, bytes | None]]

CONFIG_PATTERN = b"path: data/dev-*"


def stray_file(tree: dict[str, bytes]) -> dict[str, bytes | None]:
    return {"data/dev-extra.parquet": tree["data/dev-00000-of-00002.parquet"]}


def stray_file_of_the_second(tree: dict[str, bytes]) -> dict[str, bytes | None]:
    return {"data/dev-extra.parquet": tree["data/dev-00000-of-00001.parquet"]}


def edited_data_files(tree: dict[str, bytes]) -> dict[str, bytes | None]:
    assert tree["README.md"].count(CONFIG_PATTERN) == 1
    return {"README.md": tree["README.md"].replace(CONFIG_PATTERN, b"path: data/dev-00000-*")}


def edited(name: str, tree: dict[str, bytes]) -> dict[str, bytes | None]:
    return {name: tree[name] + b"\n"}


def edited_card_with_its_digest(tree: dict[str, bytes]) -> dict[str, bytes | None]:
    """An edited card, and the manifest with its digest."""
    card = tree["README.md"] + b"One more line.\n"
    manifest = decode(tree["manifest.json"], "the Hub")
    documents = tuple(
        folder.describe_document(document.path, card) if document.path == "README.md" else document
        for document in manifest.documents
    )
    return {"README.md": card, "manifest.json": encode(replace(manifest, documents=documents))}


NAMED = [
    (stray_file, "data/dev-extra.parquet would be loaded as default/dev, and the manifest does not name it"),
    (edited_data_files, "data/dev-00001-of-00002.parquet would not be loaded as default/dev"),
    (partial(edited, "README.md"), "README.md was edited after the build"),
    (partial(edited, "statistics.json"), "statistics.json was edited after the build"),
    (partial(edited, "croissant.json"), "croissant.json was edited after the build"),
]
IDS = ["a stray file", "edited data_files", "an edited card", "edited statistics", "an edited croissant.json"]


def connect(hub: LoopbackHub) -> HubClient:
    return client.connect(endpoint=hub.url, patience=patience())


def faults_of(terra: Versions, revision: str = "main", *, download: bool, repo: str = REPO) -> list[str]:
    """The faults of the release at a revision."""
    connection = connect(terra.hub)
    at = repository.require_snapshot(connection, repo, revision)
    return verify_snapshot(connection, repo, at, terra.options.cache, download=download)


def change(hub: LoopbackHub, edit: Change) -> str:
    """Commit a change to main as somebody else."""
    return hub.commit(REPO, edit(hub.tree(REPO)))


@pytest.mark.parametrize("download", [True, False])
def test_a_document_that_the_manifest_lists_must_be_there(hub: LoopbackHub, terra: Versions, *, download: bool) -> None:
    terra.publish("1.0.0")
    hub.commit(REPO, {"croissant.json": None})
    assert faults_of(terra, download=download) == ["the release on the Hub lacks a file: croissant.json"]


def test_without_download_data_files_are_compared_by_the_digests_that_the_hub_lists(
    hub: LoopbackHub, terra: Versions
) -> None:
    terra.publish("1.0.0")
    hub.commit(REPO, {"data/dev-00000-of-00002.parquet": b"PAR1 other rows", "data/dev-00001-of-00002.parquet": None})
    hub.log.clear()
    assert [fault.partition(":")[0] for fault in faults_of(terra, download=False)] == [
        "data/dev-00000-of-00002.parquet has changed",
        "data/dev-00001-of-00002.parquet is missing",
        "data/dev-00001-of-00002.parquet would not be loaded as default/dev",
    ]
    assert not [request for request in hub.log if request.path.endswith(".parquet")]


@pytest.mark.both_hubs
def test_every_tag_is_verified(hub: LoopbackHub, options: PublishOptions, releases: Any) -> None:
    rubq = Versions(hub, options, *releases(RUBQ))
    for version in rubq.outcomes:
        rubq.publish(version)
    repo = f"org/{RUBQ}"
    tags = hub.repos[repo].tags
    tags["v1.0.0"] = hub.commit(repo, {"corpus/test-more.parquet": b"PAR1"})
    tags["v3.0.0"] = hub.commit(repo, {"manifest.json": None})
    stray = "corpus/test-more.parquet would be loaded as corpus/test, and the manifest does not name it"
    for download in (True, False):
        first, second, third = (
            faults_of(rubq, tag, download=download, repo=repo) for tag in ("v1.0.0", "v2.0.0", "v3.0.0")
        )
        assert (first, second) == ([stray], [])
        assert "manifest.json" in third[0]


@pytest.mark.parametrize("download", [True, False])
@pytest.mark.parametrize(
    "edit", [*(edit for edit, _ in NAMED), edited_card_with_its_digest], ids=[*IDS, "an edited card with its digest"]
)
def test_what_is_edited_between_commit_and_tag_never_gets_the_tag(
    hub: LoopbackHub, terra: Versions, edit: Change, *, download: bool
) -> None:
    ours = terra.publish("1.0.0").commit
    hub.repos[REPO].tags.clear()
    change(hub, edit)
    again = terra.publish("1.0.0", download=download)
    assert (again.state, again.commit) == ("published", ours)
    assert any(note.startswith("main: ") for note in again.plan.notes), "the plan says what differs"
    assert hub.repos[REPO].tags == {"v1.0.0": ours}


@pytest.mark.parametrize(
    "edit", [stray_file_of_the_second, edited_card_with_its_digest], ids=["a stray file", "a card"]
)
@pytest.mark.usefixtures("first_published")
def test_a_pull_request_that_was_changed_before_its_merge_is_not_tagged(
    hub: LoopbackHub, terra: Versions, edit: Change
) -> None:
    opened = terra.publish("2.0.0", create_pr=True)
    refs = hub.repos[REPO]
    refs.branches["main"] = refs.branches["refs/pr/1"]
    change(hub, edit)
    again = terra.publish("2.0.0")
    assert refs.tags["v2.0.0"] == again.commit == opened.commit


@pytest.mark.both_hubs
@pytest.mark.usefixtures("first_published")
def test_a_file_of_others_that_would_be_loaded_is_named_before_anything_is_committed(
    hub: LoopbackHub, terra: Versions
) -> None:
    before = hub.commit(REPO, {"data/dev-notes.txt": b"hello", "notes.txt": b"not loaded"})
    error = terra.refuse("2.0.0", "load_dataset would not give the rows of the release")
    assert error.found == "data/dev-notes.txt would be loaded as default/dev, and the manifest does not name it"
    assert hub.repos[REPO].branches["main"] == before


@pytest.mark.parametrize(("edit", "words"), NAMED[:2], ids=IDS[:2])
def test_a_published_version_that_main_does_not_load_is_an_error(
    hub: LoopbackHub, terra: Versions, edit: Change, words: str
) -> None:
    terra.publish("1.0.0")
    change(hub, edit)
    assert words in str(terra.refuse("1.0.0", "main differs from the tag v1.0.0").found)


@pytest.mark.parametrize(("edit", "words"), NAMED[:2], ids=IDS[:2])
def test_a_tag_that_does_not_load_its_version_is_an_error(
    hub: LoopbackHub, terra: Versions, edit: Change, words: str
) -> None:
    terra.publish("1.0.0")
    hub.repos[REPO].tags["v1.0.0"] = change(hub, edit)
    assert words in str(terra.refuse("1.0.0", "the published files are not those of their manifest").found)


@pytest.mark.parametrize(("edit", "words"), NAMED, ids=IDS)
def test_check_names_what_a_repository_shows_beside_the_release_and_exits_with_1(
    hub: LoopbackHub,
    options: PublishOptions,
    terra: Versions,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    edit: Change,
    words: str,
) -> None:
    terra.publish("1.0.0")
    change(hub, edit)
    connection = connect(hub)
    monkeypatch.setattr("pipelines.checking.targets.client.connect", lambda: connection)
    monkeypatch.setattr("pipelines.checking.targets.default_cache", lambda: options.cache)
    codes, problems = [], []
    for name in (REPO, f"{REPO}@v1.0.0"):
        monkeypatch.setattr(sys, "argv", ["check", name, "--json"])
        codes.append(check.main())
        problems.append(json.loads(capsys.readouterr().out)["problems"])
    assert codes == [1, 0]
    assert problems[1] == []
    assert any(problem.startswith(words) for problem in problems[0]), problems[0]
