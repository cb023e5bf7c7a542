"""Versions published in any order: main is the newest, and an older one is tagged on a separate branch."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.spec import Version
from pipelines.hub import planning
from pipelines.hub.planning import PublishOptions
from pipelines.make import BuildResult, BuildSettings, make
from tests.support.loopback_hub import LoopbackHub
from tests.support.publishing import (
    REPO,
    RUBQ,
    TERRA,
    Versions,
    assert_published,
    changed_pairs,
    copy_release,
    files_of,
    two_versions,
    verified_hash,
)
from tests.support.releases import with_published_version

BRANCH = "release-v1.0.0"


@pytest.fixture
def other(settings: BuildSettings) -> BuildResult:
    """Version 1.0.0 of TERRa with the rows of 2.0.0."""
    return make(two_versions(TERRA, changed_pairs, first=changed_pairs), "1.0.0", settings)


@pytest.mark.both_hubs
@pytest.mark.parametrize("name", [TERRA, RUBQ])
def test_an_older_version_gets_its_tag_and_main_stays_at_the_newest(
    hub: LoopbackHub, options: PublishOptions, releases: Any, name: str
) -> None:
    versions = Versions(hub, options, *releases(name))
    newest, published = versions.publish("2.0.0"), versions.publish("1.0.0")
    assert (published.state, published.plan.branch, published.plan.newest) == ("published", BRANCH, "2.0.0")
    repository = hub.repos[f"org/{name}"]
    assert repository.branches == {"main": newest.commit}
    assert repository.tags == {"v1.0.0": published.commit, "v2.0.0": newest.commit}
    assert [ref for ref, _ in repository.moves] == ["main", "main", "v2.0.0", BRANCH, BRANCH, "v1.0.0"]
    tree = hub.tree(f"org/{name}", "v1.0.0")
    assert tree.keys() == {".gitattributes", *files_of(versions.outcomes["1.0.0"])}, "no file of the newer version"
    assert verified_hash(tree) == versions.outcomes["1.0.0"].manifest.content_sha256
    note = "> [!NOTE]\n> **Not the newest version.** `main` of this repository holds version 2.0.0.\n"
    assert re.search(rf"\n# .+\n\n{re.escape(note)}", tree["README.md"].decode())
    assert "Not the newest" not in hub.tree(f"org/{name}")["README.md"].decode()
    for version in versions.outcomes:
        assert versions.publish(version).state == "already published"


@pytest.mark.both_hubs
def test_the_branch_of_an_older_version_begins_at_the_version_before_it(
    hub: LoopbackHub, terra: Versions, settings: BuildSettings
) -> None:
    recipe = terra.dataset.dataset
    versions = {**recipe.versions, "1.5.0": Version("Between the two.", {"edition": 2})}
    three = replace(terra, dataset=replace(terra.dataset, dataset=replace(recipe, versions=versions)))
    oldest = three.publish("1.0.0")
    three.publish("2.0.0")
    hub.commit(REPO, {"figure.png": b"PNG"})
    published = three.publish(make(three.dataset, "1.5.0", settings))
    assert hub.repos[REPO].commits[published.commit].parent == oldest.commit
    assert published.plan.against == "1.0.0"
    assert "data/dev-00000-of-00002.parquet" in published.plan.deletes
    assert verified_hash(hub.tree(REPO, "v1.5.0")) == published.plan.manifest.content_sha256
    assert "figure.png" not in hub.tree(REPO, "v1.5.0")


@pytest.mark.both_hubs
def test_an_older_version_holds_no_file_of_a_newer_one_where_the_history_was_squashed(
    hub: LoopbackHub, terra: Versions
) -> None:
    terra.publish("2.0.0")
    hub.squash(REPO)
    hub.forget(REPO, hub.repos[REPO].tags.pop("v2.0.0"))
    terra.publish("1.0.0")
    assert hub.tree(REPO, "v1.0.0").keys() == {".gitattributes", *files_of(terra.outcomes["1.0.0"])}
    assert verified_hash(hub.tree(REPO)) == terra.outcomes["2.0.0"].manifest.content_sha256


@pytest.mark.both_hubs
def test_the_newest_version_counts_before_it_has_its_tag(hub: LoopbackHub, terra: Versions) -> None:
    terra.publish("2.0.0")
    del hub.repos[REPO].tags["v2.0.0"]
    terra.publish("1.0.0")
    assert verified_hash(hub.tree(REPO)) == terra.outcomes["2.0.0"].manifest.content_sha256
    assert terra.publish("2.0.0").state == "published"
    assert_published(hub, terra.outcomes, "1.0.0", "2.0.0")


@pytest.mark.both_hubs
def test_a_branch_with_commits_of_somebody_else_is_left_alone(hub: LoopbackHub, terra: Versions) -> None:
    hub.repos[REPO].branches[BRANCH] = terra.publish("2.0.0").commit
    theirs = hub.commit(REPO, {"manifest.json": b"{}", "notes.txt": b"mine"}, branch=BRANCH)
    error = terra.refuse("1.0.0", "a branch that holds other commits")
    assert (error.where, error.found) == (f"{REPO}, branch {BRANCH}", theirs)
    assert hub.repos[REPO].branches[BRANCH] == theirs
    assert hub.repos[REPO].tags.keys() == {"v2.0.0"}


@pytest.mark.both_hubs
def test_a_commit_without_changes_on_the_branch_is_nobodys(hub: LoopbackHub, terra: Versions) -> None:
    terra.publish("2.0.0")
    hub.repos[REPO].branches[BRANCH] = hub.repos[REPO].moves[0][1]
    hub.commit(REPO, {}, branch=BRANCH)
    assert terra.publish("1.0.0").state == "published"
    assert hub.repos[REPO].branches.keys() == {"main"}
    assert verified_hash(hub.tree(REPO, "v1.0.0")) == terra.outcomes["1.0.0"].manifest.content_sha256


@pytest.mark.both_hubs
def test_a_branch_that_a_killed_run_left_behind_is_deleted_by_the_next_run(hub: LoopbackHub, terra: Versions) -> None:
    newest = terra.publish("2.0.0")
    published = terra.publish("1.0.0")
    repository = hub.repos[REPO]
    for left_behind in (published.commit, newest.commit):
        repository.branches[BRANCH] = left_behind
        assert terra.publish("1.0.0").state == "already published"
        assert repository.branches.keys() == {"main"}
    repository.branches[BRANCH] = newest.commit
    theirs = hub.commit(REPO, {"manifest.json": b"{}"}, branch=BRANCH)
    terra.publish("1.0.0")
    assert repository.branches[BRANCH] == theirs, "somebody else's commit must stay"


@pytest.mark.parametrize("squashed", [False, True])
def test_an_empty_commit_of_a_cut_request_is_built_upon(hub: LoopbackHub, terra: Versions, squashed: bool) -> None:
    """The Hub may take a commit whose list of files was cut off. Where nothing tells where a branch began, it stays."""
    newest, repository = terra.publish("2.0.0"), hub.repos[REPO]
    repository.branches[BRANCH] = next(sha for sha, commit in repository.commits.items() if commit.parent is None)
    for _ in range(2):
        empty = hub.commit(REPO, {}, "an empty one", branch=BRANCH)
    if squashed:
        repository.branches["main"] = repository.add("main", replace(repository.commits[newest.commit], parent=None))
        terra.refuse("1.0.0", "a branch that holds other commits")
        return
    published = terra.publish("1.0.0")
    assert repository.commits[published.commit].parent == empty
    assert (repository.tags["v1.0.0"], repository.branches) == (published.commit, {"main": newest.commit})


def test_an_older_version_never_has_two_contents(hub: LoopbackHub, terra: Versions, other: BuildResult) -> None:
    assert other.manifest.content_sha256 != terra.outcomes["1.0.0"].manifest.content_sha256
    terra.publish("2.0.0")
    published = terra.publish("1.0.0")
    terra.refuse(other, "published with other content")
    del hub.repos[REPO].tags["v1.0.0"]  # as if the first run had been killed before the tag
    hub.repos[REPO].branches[BRANCH] = published.commit
    assert terra.refuse(other, "published with other content").where == f"{REPO} at {BRANCH}"


def test_an_older_version_is_not_published_by_a_pull_request(hub: LoopbackHub, terra: Versions) -> None:
    terra.publish("2.0.0")
    terra.refuse("1.0.0", "main holds a newer version", "--create-pr", create_pr=True)
    assert hub.repos[REPO].branches.keys() == {"main"}


def test_the_plan_names_the_versions_that_are_not_on_the_hub(terra: Versions) -> None:
    assert terra.plan("2.0.0").absent == ("1.0.0",)
    terra.publish("2.0.0")
    assert terra.plan("2.0.0").absent == ("1.0.0",)
    assert terra.plan("1.0.0").absent == ()
    terra.publish("1.0.0")
    assert terra.plan("2.0.0").absent == ()


@pytest.mark.parametrize(("digest", "absent"), [(None, ("1.0.0",)), ("0" * 64, ("0.1.0", "1.0.0"))])
def test_the_plan_names_no_version_that_waits_for_decide(
    hub: LoopbackHub, options: PublishOptions, releases: Any, digest: str | None, absent: tuple[str, ...]
) -> None:
    dataset, outcomes = releases()
    versions = Versions(hub, options, with_published_version(dataset, digest), outcomes)
    assert versions.plan("2.0.0").absent == absent


@pytest.mark.both_hubs
@pytest.mark.parametrize("version", ["1.0.0", "2.0.0"])
def test_a_deleted_tag_is_restored_from_the_history_of_main(hub: LoopbackHub, terra: Versions, version: str) -> None:
    for outcome in terra.outcomes.values():
        terra.publish(outcome)
    hub.commit(REPO, {"README.md": hub.tree(REPO)["README.md"] + b"thanks\n"})
    repository = hub.repos[REPO]
    tagged, commits = repository.tags.pop(f"v{version}"), len(repository.commits)
    restored = terra.publish(version)
    assert (restored.state, restored.commit, repository.tags[f"v{version}"]) == ("published", tagged, tagged)
    assert f"commit {tagged[:12]} holds this release" in restored.plan.notes[-1]
    assert len(repository.commits) == commits
    assert repository.branches.keys() == {"main"}


def test_a_deleted_tag_is_not_given_to_other_rows(hub: LoopbackHub, terra: Versions, other: BuildResult) -> None:
    for outcome in terra.outcomes.values():
        terra.publish(outcome)
    sha = hub.repos[REPO].tags.pop("v1.0.0")
    assert terra.refuse(other, "published with other content").where == f"{REPO} at {sha[:12]}"


def test_a_version_beyond_the_commits_that_are_looked_at_is_published_again(
    hub: LoopbackHub, terra: Versions, monkeypatch: pytest.MonkeyPatch
) -> None:
    for outcome in terra.outcomes.values():
        terra.publish(outcome)
    sha = hub.repos[REPO].tags.pop("v1.0.0")
    monkeypatch.setattr(planning, "MAX_COMMITS", 1)
    assert terra.publish("1.0.0").commit != sha
    assert verified_hash(hub.tree(REPO, "v1.0.0")) == terra.outcomes["1.0.0"].manifest.content_sha256


MOMENTS = ["/branch/", f"/preupload/{BRANCH}", f"/commit/{BRANCH}", "/tag/", "/refs"]


@pytest.mark.parametrize("moment", MOMENTS)
def test_two_publishers_of_the_same_older_version_both_succeed(
    hub: LoopbackHub, terra: Versions, tmp_path: Path, moment: str
) -> None:
    terra.publish("2.0.0")
    theirs, states = copy_release(terra.outcomes["1.0.0"], tmp_path), list[str]()
    hub.before_answer[moment] = lambda: states.append(terra.publish(theirs).state)
    states.append(terra.publish("1.0.0", cache=tmp_path / "another", read=10.0).state)
    assert "published" in states
    assert set(states) <= {"published", "already published"}
    repository = hub.repos[REPO]
    assert repository.branches == {"main": repository.tags["v2.0.0"]}
    assert verified_hash(hub.tree(REPO, "v1.0.0")) == terra.outcomes["1.0.0"].manifest.content_sha256
    assert [ref for ref, _ in repository.moves].count("v1.0.0") == 1


@pytest.mark.parametrize("moment", ["/branch/", f"/preupload/{BRANCH}", f"/commit/{BRANCH}", "/refs"])
def test_of_two_publishers_of_different_rows_for_an_older_version_one_succeeds_and_the_other_fails(
    hub: LoopbackHub, terra: Versions, other: BuildResult, tmp_path: Path, moment: str
) -> None:
    terra.publish("2.0.0")
    hub.before_answer[moment] = lambda: terra.publish("1.0.0")
    terra.refuse(other, "published with other content", cache=tmp_path / "another", read=10.0)
    repository = hub.repos[REPO]
    assert repository.branches == {"main": repository.tags["v2.0.0"]}
    assert verified_hash(hub.tree(REPO, "v1.0.0")) == terra.outcomes["1.0.0"].manifest.content_sha256
    assert [ref for ref, _ in repository.moves].count("v1.0.0") == 1


def test_a_repository_that_somebody_else_creates_and_publishes_to_meanwhile_is_planned_for_again(
    hub: LoopbackHub, terra: Versions, tmp_path: Path
) -> None:
    hub.before_answer["/api/repos/create"] = lambda: terra.publish("2.0.0", cache=tmp_path / "another")
    terra.publish(copy_release(terra.outcomes["1.0.0"], tmp_path), read=10.0)
    assert_published(hub, terra.outcomes, "1.0.0", "2.0.0")
