"""Several publishers, or other people, that commit to one repository at the same time."""

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders.errors import PublishError
from pipelines.hub.planning import PublishOptions
from pipelines.make import BuildSettings, make
from tests.support.loopback_hub import LoopbackHub
from tests.support.publishing import (
    REPO,
    TERRA,
    assert_published,
    copy_release,
    publish,
    two_versions,
    verified_hash,
)


def test_a_concurrent_commit_is_included_in_a_new_plan_and_not_overwritten(
    hub: LoopbackHub, options: PublishOptions, first_published: Any
) -> None:
    dataset, outcomes = first_published
    card = hub.tree(REPO)["README.md"].replace(b"---\n", b"---\nviewer: false\n", 1)
    hub.before_answer["/commit/main"] = lambda: hub.commit(REPO, {"README.md": card, "figure.png": b"PNG"})
    assert publish(hub, dataset, outcomes["2.0.0"], options).state == "published"
    assert yaml.safe_load(hub.tree(REPO)["README.md"].decode().split("---\n")[1])["viewer"] is False
    assert hub.tree(REPO)["figure.png"] == b"PNG"
    assert [request.status for request in hub.log if "/commit/" in request.path][-2:] == [412, 200]


def test_endless_concurrent_commits_end_in_an_error(
    hub: LoopbackHub, options: PublishOptions, first_published: Any
) -> None:
    dataset, outcomes = first_published

    def commit_again() -> None:
        hub.commit(REPO, {"figure.png": str(len(hub.repos[REPO].commits)).encode()})
        hub.before_answer["/commit/main"] = commit_again

    commit_again()
    with pytest.raises(PublishError, match="412") as caught:
        publish(hub, dataset, outcomes["2.0.0"], options)
    assert "somebody else commits" in str(caught.value)
    assert verified_hash(hub.tree(REPO)) == outcomes["1.0.0"].manifest.content_sha256


def test_of_two_publishers_with_different_rows_one_succeeds_and_the_other_fails(
    hub: LoopbackHub, options: PublishOptions, releases: Any, settings: BuildSettings, tmp_path: Path
) -> None:
    dataset, outcomes = releases()
    other = make(two_versions(TERRA, lambda frames: frames), "2.0.0", settings)
    publish(hub, dataset, outcomes["1.0.0"], options)
    hub.before_answer["/commit/main"] = lambda: publish(hub, dataset, outcomes["2.0.0"], options)
    with pytest.raises(PublishError, match="published with other content"):
        publish(hub, dataset, other, replace(options, cache=tmp_path / "another"), read=10.0)
    assert verified_hash(hub.tree(REPO, "v2.0.0")) == outcomes["2.0.0"].manifest.content_sha256
    assert hub.tree(REPO) == hub.tree(REPO, "v2.0.0")


def test_an_untagged_commit_of_another_publisher_is_not_overwritten(
    hub: LoopbackHub, options: PublishOptions, releases: Any, settings: BuildSettings
) -> None:
    dataset, outcomes = releases()
    other = make(two_versions(TERRA, lambda frames: frames), "2.0.0", settings)
    publish(hub, dataset, outcomes["2.0.0"], options)
    del hub.repos[REPO].tags["v2.0.0"]
    before = hub.state()[0]
    with pytest.raises(PublishError, match="published with other content") as caught:
        publish(hub, dataset, other, options)
    assert caught.value.where == f"{REPO} at main"
    assert hub.state()[0] == before


@pytest.mark.parametrize("path", ["/commit/main", "/tag/"])
def test_two_publishers_of_the_same_rows_both_succeed(
    hub: LoopbackHub, options: PublishOptions, releases: Any, tmp_path: Path, path: str
) -> None:
    dataset, outcomes = releases()
    states: list[str] = []
    theirs = copy_release(outcomes["1.0.0"], tmp_path)
    hub.before_answer[path] = lambda: states.append(publish(hub, dataset, theirs, options).state)
    states.append(
        publish(hub, dataset, outcomes["1.0.0"], replace(options, cache=tmp_path / "another"), read=10.0).state
    )
    assert "published" in states
    assert set(states) <= {"published", "already published"}
    assert [ref for ref, _ in hub.repos[REPO].moves] == ["main", "main", "v1.0.0"]


def test_concurrent_publishers_of_different_versions_leave_complete_releases(
    hub: LoopbackHub, options: PublishOptions, releases: Any, tmp_path: Path
) -> None:
    dataset, outcomes = releases()
    outcomes = outcomes | {"2.0.0": copy_release(outcomes["2.0.0"], tmp_path)}
    results: dict[str, object] = {}

    def run(version: str) -> None:
        try:
            run_options = replace(options, cache=tmp_path / version)
            results[version] = publish(hub, dataset, outcomes[version], run_options, read=10.0).state
        except PublishError as error:
            results[version] = error

    threads = [threading.Thread(target=run, args=(version,)) for version in outcomes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == {"1.0.0": "published", "2.0.0": "published"}
    assert_published(hub, outcomes, "1.0.0", "2.0.0")
