"""Versions published in any order: main is the newest, and an older one is tagged on a separate branch."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.errors import PublishError
from builders.spec import Version
from pipelines.hub import planning
from pipelines.hub.planning import PublishOptions
from pipelines.make import BuildSettings, make
from pipelines.release import ledger
from tests.support.loopback_hub import LoopbackHub
from tests.support.publishing import (
    REPO,
    RUBQ,
    TERRA,
    assert_published,
    changed_pairs,
    copy_release,
    files_of,
    plan,
    publish,
    two_versions,
    verified_hash,
    with_manifest,
)
from tests.support.releases import with_published_version

BRANCH = "release-v1.0.0"


@pytest.mark.both_hubs
@pytest.mark.parametrize("name", [TERRA, RUBQ])
def test_an_older_version_gets_its_tag_and_main_stays_at_the_newest(
    hub: LoopbackHub, options: PublishOptions, releases: Any, name: str
) -> None:
    dataset, outcomes = releases(name)
    newest = publish(hub, dataset, outcomes["2.0.0"], options)
    published = publish(hub, dataset, outcomes["1.0.0"], options)
    assert (published.state, published.plan.branch, published.plan.newest) == ("published", BRANCH, "2.0.0")
    repository = hub.repos[f"org/{name}"]
    assert repository.branches == {"main": newest.commit}
    assert repository.tags == {"v1.0.0": published.commit, "v2.0.0": newest.commit}
    assert [ref for ref, _ in repository.moves] == ["main", "main", "v2.0.0", BRANCH, BRANCH, "v1.0.0"]
    tree = hub.tree(f"org/{name}", "v1.0.0")
    assert tree.keys() == {".gitattributes", *files_of(outcomes["1.0.0"])}, "no file of the newer version"
    assert verified_hash(tree) == outcomes["1.0.0"].manifest.content_sha256
    for outcome in outcomes.values():
        assert publish(hub, dataset, outcome, options).state == "already published"


def test_the_card_of_an_older_version_says_that_it_is_not_the_newest(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    for version in ("2.0.0", "1.0.0"):
        publish(hub, dataset, outcomes[version], options)
    note = "> [!NOTE]\n> **Not the newest version.** `main` of this repository holds version 2.0.0.\n"
    assert f"\n# TERRa textual entailment (Russian)\n\n{note}" in hub.tree(REPO, "v1.0.0")["README.md"].decode()
    assert "Not the newest" not in hub.tree(REPO)["README.md"].decode()


@pytest.mark.both_hubs
def test_the_branch_of_an_older_version_begins_at_the_version_before_it(
    hub: LoopbackHub, options: PublishOptions, releases: Any, settings: BuildSettings
) -> None:
    dataset, outcomes = releases()
    between = Version("Between the two.", {"edition": 2})
    versions = {**dataset.dataset.versions, "1.5.0": between}
    dataset = replace(dataset, dataset=replace(dataset.dataset, versions=versions))
    oldest = publish(hub, dataset, outcomes["1.0.0"], options)
    publish(hub, dataset, outcomes["2.0.0"], options)
    hub.commit(REPO, {"figure.png": b"PNG"})
    published = publish(hub, dataset, make(dataset, "1.5.0", settings), options)
    assert hub.repos[REPO].commits[published.commit].parent == oldest.commit
    assert published.plan.against == "1.0.0"
    assert "data/dev-00000-of-00002.parquet" in published.plan.deletes
    assert verified_hash(hub.tree(REPO, "v1.5.0")) == published.plan.manifest.content_sha256
    assert "figure.png" not in hub.tree(REPO, "v1.5.0")


@pytest.mark.both_hubs
def test_an_older_version_holds_no_file_of_a_newer_one_where_the_history_was_squashed(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["2.0.0"], options)
    hub.squash(REPO)
    gone = hub.repos[REPO].tags.pop("v2.0.0")
    hub.forget(REPO, gone)
    publish(hub, dataset, outcomes["1.0.0"], options)
    assert hub.tree(REPO, "v1.0.0").keys() == {".gitattributes", *files_of(outcomes["1.0.0"])}
    assert verified_hash(hub.tree(REPO)) == outcomes["2.0.0"].manifest.content_sha256


@pytest.mark.both_hubs
def test_the_newest_version_counts_before_it_has_its_tag(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["2.0.0"], options)
    del hub.repos[REPO].tags["v2.0.0"]
    publish(hub, dataset, outcomes["1.0.0"], options)
    assert verified_hash(hub.tree(REPO)) == outcomes["2.0.0"].manifest.content_sha256
    assert publish(hub, dataset, outcomes["2.0.0"], options).state == "published"
    assert_published(hub, outcomes, "1.0.0", "2.0.0")


@pytest.mark.both_hubs
def test_a_branch_with_commits_of_somebody_else_is_left_alone(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    newest = publish(hub, dataset, outcomes["2.0.0"], options)
    hub.repos[REPO].branches[BRANCH] = newest.commit
    theirs = hub.commit(REPO, {"manifest.json": b"{}", "notes.txt": b"mine"}, branch=BRANCH)
    with pytest.raises(PublishError, match="a branch that holds other commits") as caught:
        publish(hub, dataset, outcomes["1.0.0"], options)
    assert (caught.value.where, caught.value.found) == (f"{REPO}, branch {BRANCH}", theirs)
    assert hub.repos[REPO].branches[BRANCH] == theirs
    assert hub.repos[REPO].tags.keys() == {"v2.0.0"}


@pytest.mark.both_hubs
def test_a_commit_without_changes_on_the_branch_is_nobodys(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["2.0.0"], options)
    hub.repos[REPO].branches[BRANCH] = hub.repos[REPO].moves[0][1]
    hub.commit(REPO, {}, branch=BRANCH)
    assert publish(hub, dataset, outcomes["1.0.0"], options).state == "published"
    assert hub.repos[REPO].branches.keys() == {"main"}
    assert verified_hash(hub.tree(REPO, "v1.0.0")) == outcomes["1.0.0"].manifest.content_sha256


@pytest.mark.both_hubs
def test_a_branch_that_a_killed_run_left_behind_is_deleted_by_the_next_run(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    newest = publish(hub, dataset, outcomes["2.0.0"], options)
    published = publish(hub, dataset, outcomes["1.0.0"], options)
    repository = hub.repos[REPO]
    for left_behind in (published.commit, newest.commit):
        repository.branches[BRANCH] = left_behind
        assert publish(hub, dataset, outcomes["1.0.0"], options).state == "already published"
        assert repository.branches.keys() == {"main"}
    repository.branches[BRANCH] = newest.commit
    theirs = hub.commit(REPO, {"manifest.json": b"{}"}, branch=BRANCH)
    publish(hub, dataset, outcomes["1.0.0"], options)
    assert repository.branches[BRANCH] == theirs, "somebody else's commit must stay"


@pytest.mark.parametrize("squashed", [False, True])
def test_an_empty_commit_of_a_cut_request_is_built_upon(
    hub: LoopbackHub, options: PublishOptions, releases: Any, squashed: bool
) -> None:
    """The Hub may take a commit whose list of files was cut off. Where nothing tells where a branch began, it stays."""
    dataset, outcomes = releases()
    newest, repository = publish(hub, dataset, outcomes["2.0.0"], options), hub.repos[REPO]
    repository.branches[BRANCH] = next(sha for sha, commit in repository.commits.items() if commit.parent is None)
    for _ in range(2):
        empty = hub.commit(REPO, {}, "an empty one", branch=BRANCH)
    if squashed:
        repository.branches["main"] = repository.add("main", replace(repository.commits[newest.commit], parent=None))
        with pytest.raises(PublishError, match="a branch that holds other commits"):
            publish(hub, dataset, outcomes["1.0.0"], options)
        return
    published = publish(hub, dataset, outcomes["1.0.0"], options)
    assert repository.commits[published.commit].parent == empty
    assert (repository.tags["v1.0.0"], repository.branches) == (published.commit, {"main": newest.commit})


def test_an_older_version_never_has_two_contents(
    hub: LoopbackHub, options: PublishOptions, releases: Any, settings: BuildSettings
) -> None:
    dataset, outcomes = releases()
    other = make(two_versions(TERRA, changed_pairs, first=changed_pairs), "1.0.0", settings)
    assert other.manifest.content_sha256 != outcomes["1.0.0"].manifest.content_sha256
    publish(hub, dataset, outcomes["2.0.0"], options)
    published = publish(hub, dataset, outcomes["1.0.0"], options)
    with pytest.raises(PublishError, match="published with other content"):
        publish(hub, dataset, other, options)
    del hub.repos[REPO].tags["v1.0.0"]  # as if the first run had been killed before the tag
    hub.repos[REPO].branches[BRANCH] = published.commit
    with pytest.raises(PublishError, match="published with other content") as caught:
        publish(hub, dataset, other, options)
    assert caught.value.where == f"{REPO} at {BRANCH}"


def test_an_older_version_is_not_published_by_a_pull_request(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["2.0.0"], options)
    with pytest.raises(PublishError, match="main holds a newer version") as caught:
        publish(hub, dataset, outcomes["1.0.0"], replace(options, create_pr=True))
    assert "--create-pr" in str(caught.value)
    assert hub.repos[REPO].branches.keys() == {"main"}


def test_the_plan_names_the_versions_that_are_not_on_the_hub(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    assert plan(hub, dataset, outcomes["2.0.0"], options).absent == ("1.0.0",)
    publish(hub, dataset, outcomes["2.0.0"], options)
    assert plan(hub, dataset, outcomes["2.0.0"], options).absent == ("1.0.0",)
    assert plan(hub, dataset, outcomes["1.0.0"], options).absent == ()
    publish(hub, dataset, outcomes["1.0.0"], options)
    assert plan(hub, dataset, outcomes["2.0.0"], options).absent == ()


@pytest.mark.parametrize(("digest", "absent"), [(None, ("1.0.0",)), ("0" * 64, ("0.1.0", "1.0.0"))])
def test_the_plan_names_no_version_that_waits_for_decide(
    hub: LoopbackHub, options: PublishOptions, releases: Any, digest: str | None, absent: tuple[str, ...]
) -> None:
    dataset, outcomes = releases()
    assert plan(hub, with_published_version(dataset, digest), outcomes["2.0.0"], options).absent == absent


def test_the_ledger_records_versions_published_in_any_order(
    hub: LoopbackHub, options: PublishOptions, releases: Any, tmp_path: Path
) -> None:
    dataset, outcomes = releases()
    for version in ("2.0.0", "1.0.0"):
        complete = with_manifest(outcomes[version], tmp_path)
        publish(hub, dataset, complete, replace(options, sample=False))
        entry = ledger.find_entry(TERRA, version, options.ledger)
        assert entry is not None
        assert entry.content_sha256 == outcomes[version].manifest.content_sha256
        assert ledger.find_repositories(TERRA, version, options.ledger) == (REPO,)


@pytest.mark.both_hubs
@pytest.mark.parametrize("version", ["1.0.0", "2.0.0"])
def test_a_deleted_tag_is_restored_from_the_history_of_main(
    hub: LoopbackHub, options: PublishOptions, releases: Any, version: str
) -> None:
    dataset, outcomes = releases()
    for outcome in outcomes.values():
        publish(hub, dataset, outcome, options)
    hub.commit(REPO, {"README.md": hub.tree(REPO)["README.md"] + b"thanks\n"})
    repository = hub.repos[REPO]
    tagged, commits = repository.tags.pop(f"v{version}"), len(repository.commits)
    restored = publish(hub, dataset, outcomes[version], options)
    assert (restored.state, restored.commit, repository.tags[f"v{version}"]) == ("published", tagged, tagged)
    assert f"commit {tagged[:12]} holds this release" in restored.plan.notes[-1]
    assert len(repository.commits) == commits
    assert repository.branches.keys() == {"main"}


def test_a_deleted_tag_is_not_given_to_other_rows(
    hub: LoopbackHub, options: PublishOptions, releases: Any, settings: BuildSettings
) -> None:
    dataset, outcomes = releases()
    for outcome in outcomes.values():
        publish(hub, dataset, outcome, options)
    sha = hub.repos[REPO].tags.pop("v1.0.0")
    other = make(two_versions(TERRA, changed_pairs, first=changed_pairs), "1.0.0", settings)
    with pytest.raises(PublishError, match="published with other content") as caught:
        publish(hub, dataset, other, options)
    assert caught.value.where == f"{REPO} at {sha[:12]}"


def test_a_version_beyond_the_commits_that_are_looked_at_is_published_again(
    hub: LoopbackHub, options: PublishOptions, releases: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset, outcomes = releases()
    for outcome in outcomes.values():
        publish(hub, dataset, outcome, options)
    sha = hub.repos[REPO].tags.pop("v1.0.0")
    monkeypatch.setattr(planning, "MAX_COMMITS", 1)
    published = publish(hub, dataset, outcomes["1.0.0"], options)
    assert published.commit != sha
    assert verified_hash(hub.tree(REPO, "v1.0.0")) == outcomes["1.0.0"].manifest.content_sha256


MOMENTS = ["/branch/", f"/preupload/{BRANCH}", f"/commit/{BRANCH}", "/tag/", "/refs"]


@pytest.mark.parametrize("moment", MOMENTS)
def test_two_publishers_of_the_same_older_version_both_succeed(
    hub: LoopbackHub, options: PublishOptions, releases: Any, tmp_path: Path, moment: str
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["2.0.0"], options)
    theirs, states = copy_release(outcomes["1.0.0"], tmp_path), list[str]()
    other = replace(options, cache=tmp_path / "another")
    hub.before_answer[moment] = lambda: states.append(publish(hub, dataset, theirs, options).state)
    states.append(publish(hub, dataset, outcomes["1.0.0"], other, read=10.0).state)
    assert "published" in states
    assert set(states) <= {"published", "already published"}
    repository = hub.repos[REPO]
    assert repository.branches == {"main": repository.tags["v2.0.0"]}
    assert verified_hash(hub.tree(REPO, "v1.0.0")) == outcomes["1.0.0"].manifest.content_sha256
    assert [ref for ref, _ in repository.moves].count("v1.0.0") == 1


@pytest.mark.parametrize("moment", ["/branch/", f"/preupload/{BRANCH}", f"/commit/{BRANCH}", "/refs"])
def test_of_two_publishers_of_different_rows_for_an_older_version_one_succeeds_and_the_other_fails(
    hub: LoopbackHub,
    options: PublishOptions,
    releases: Any,
    settings: BuildSettings,
    tmp_path: Path,
    moment: str,
) -> None:
    dataset, outcomes = releases()
    other = make(two_versions(TERRA, changed_pairs, first=changed_pairs), "1.0.0", settings)
    publish(hub, dataset, outcomes["2.0.0"], options)
    hub.before_answer[moment] = lambda: publish(hub, dataset, outcomes["1.0.0"], options)
    with pytest.raises(PublishError, match="published with other content"):
        publish(hub, dataset, other, replace(options, cache=tmp_path / "another"), read=10.0)
    repository = hub.repos[REPO]
    assert repository.branches == {"main": repository.tags["v2.0.0"]}
    assert verified_hash(hub.tree(REPO, "v1.0.0")) == outcomes["1.0.0"].manifest.content_sha256
    assert [ref for ref, _ in repository.moves].count("v1.0.0") == 1


def test_a_repository_that_somebody_else_creates_and_publishes_to_meanwhile_is_planned_for_again(
    hub: LoopbackHub, options: PublishOptions, releases: Any, tmp_path: Path
) -> None:
    dataset, outcomes = releases()
    theirs = replace(options, cache=tmp_path / "another")
    hub.before_answer["/api/repos/create"] = lambda: publish(hub, dataset, outcomes["2.0.0"], theirs)
    publish(hub, dataset, copy_release(outcomes["1.0.0"], tmp_path), options, read=10.0)
    assert_published(hub, outcomes, "1.0.0", "2.0.0")
