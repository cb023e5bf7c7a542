"""A repository after it was published: `check --org` names each difference from the record, `publish --repair` ends it. What the
Hub's API and git do to it, on the loopback Hub whose repositories are git's.
"""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest
from huggingface_hub import HfApi

from builders.errors import PublishError
from pipelines.hub import client
from pipelines.hub.inspection import PublishedDataset, inspect_dataset
from pipelines.hub.repairs import Repair, repair
from pipelines.hub.revisions import Expectations, Repository
from pipelines.release import ledger
from pipelines.release.ledger import read_ledger
from tests.support.loopback_hub import WRITER, Fault, LoopbackHub, Repo
from tests.support.publishing import (
    FAULTS,
    REPO,
    TERRA,
    Recovery,
    Versions,
    patience,
    refused,
    verified_hash,
    with_manifest,
)
from tests.support.second_hub import second_hub
from tests.support.second_hub_api import Hub

BRANCH = "release-v1.0.0"


class World(NamedTuple):
    """Two complete versions, 2.0.0 on main and 1.0.0 by its tag alone."""

    hub: LoopbackHub
    ledger: Path
    cache: Path
    versions: Versions

    @classmethod
    def of(cls, versions: Versions) -> Self:
        return cls(versions.hub, versions.options.ledger, versions.options.cache, versions)

    @property
    def repo(self) -> Repo:
        """The repository."""
        return self.hub.repos[REPO]

    def tag(self, version: str) -> str:
        """The commit of a version's tag."""
        return self.repo.tags[f"v{version}"]

    def events(self, **wanted: str) -> list[dict[str, Any]]:
        """The lines of the record that have these values."""
        path = self.ledger.parent / "refs" / f"{TERRA}.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        return [line for line in lines if all(line[name] == value for name, value in wanted.items())]

    def repair(self, *, dry_run: bool = False, repo: str = REPO, waits: list[float] | None = None) -> Repair:
        """Bring the repository back to the record."""
        connection = client.connect(PublishError, endpoint=self.hub.url, token=WRITER, patience=patience(waits, read=1))
        return repair(Repository(repo, TERRA, self.ledger), self.cache, connection, dry_run=dry_run)

    def restore(self) -> None:
        """Bring it back, and assert that nothing is wrong with it then."""
        self.repair()
        assert self.check().state == "sound"

    def check(self, *, repo: str = REPO, observe: bool = False) -> PublishedDataset:
        """What `check --org` says of the repository."""
        connection = client.connect(endpoint=self.hub.url, token=WRITER, patience=patience(read=5))
        expected = Expectations(
            read_ledger(self.ledger), ledger.all_expected_refs(self.ledger), self.ledger,
            self.cache.parent / "nothing", self.cache, download=False, observe=observe,
        )  # fmt: skip
        return inspect_dataset(connection, Repository(repo, TERRA), expected)


def problems(checked: PublishedDataset) -> dict[str, list[str]]:
    """What is wrong, by revision; each problem names a command."""
    found = {revision.name: list(revision.problems) for revision in checked.revisions if revision.problems}
    assert all(problem.commands for listed in found.values() for problem in listed)
    return {name: [problem.what for problem in listed] for name, listed in found.items()}


@pytest.fixture
def complete(terra: Versions, tmp_path: Path) -> Versions:
    """Both versions, not marked as samples."""
    outcomes = {version: with_manifest(outcome, tmp_path) for version, outcome in terra.outcomes.items()}
    return replace(terra, outcomes=outcomes, options=replace(terra.options, sample=False))


@pytest.fixture
def world(complete: Versions) -> World:
    complete.publish("2.0.0")
    complete.publish("1.0.0")
    return World.of(complete)


@pytest.mark.both_hubs
def test_publications_are_recorded_as_they_happen_and_a_rerun_adds_nothing(world: World) -> None:
    world.versions.publish("1.0.0")
    assert [(line["event"], line["tag"], line["commit"]) for line in world.events()] == [
        ("publish", "v2.0.0", world.tag("2.0.0")), ("publish", "v1.0.0", world.tag("1.0.0")),
    ]  # fmt: skip
    assert world.check().state == "sound"
    assert world.repair().steps == ()


@pytest.mark.both_hubs
@pytest.mark.parametrize("version", ["1.0.0", "2.0.0"])
@pytest.mark.parametrize("by_publishing", [False, True], ids=["repair", "publish"])
def test_a_deleted_tag_is_restored_at_the_recorded_commit_wherever_it_lives(
    world: World, version: str, by_publishing: bool
) -> None:
    """1.0.0 was committed on a branch of its own, which is gone."""
    commit, commits = world.repo.tags.pop(f"v{version}"), len(world.repo.commits)
    assert problems(world.check())[f"v{version}"] == ["the record has this tag, and it is missing"]
    if by_publishing:
        assert world.versions.publish(version).state == "published"
    else:
        world.restore()
    assert (world.tag(version), len(world.repo.commits)) == (commit, commits)
    last = world.events()[-1]
    assert (last["event"], last["commit"]) == ("restore" if by_publishing else "repair", commit)
    assert last["why"] == "the tag was missing"


@pytest.mark.both_hubs
def test_where_the_recorded_commit_is_gone_the_new_one_is_recorded_beside_it(world: World) -> None:
    gone = world.repo.tags.pop("v1.0.0")
    world.hub.forget(REPO, gone)
    repaired = world.repair()
    assert (repaired.steps, repaired.missing) == ((), ("v1.0.0",)), "no rows are sent by a repair"
    published = world.versions.publish("1.0.0")
    assert published.commit != gone
    assert [line["commit"] for line in world.events(tag="v1.0.0")] == [gone, published.commit]
    last = world.events()[-1]
    assert (last["event"], last["why"]) == (
        "restore", f"the tag was missing, and commit {gone} no longer holds the release",
    )  # fmt: skip
    assert world.check().state == "sound"


@pytest.mark.both_hubs
def test_a_squash_that_moved_the_tags_is_recorded_with_the_reason(world: World) -> None:
    gone = world.tag("2.0.0")
    world.repo.tags["v2.0.0"] = new = world.hub.squash(REPO)
    world.hub.forget(REPO, gone)
    assert "moved: it is on commit" in problems(world.check())["v2.0.0"][0]
    world.restore()
    assert world.events()[-1]["why"] == f"commit {gone} is gone; {new} holds the same rows"


@pytest.mark.both_hubs
def test_a_moved_tag_is_put_back_and_what_it_was_on_is_kept(world: World) -> None:
    recorded, theirs = world.tag("1.0.0"), world.hub.commit(REPO, {"notes.txt": b"mine"}, branch="main")
    world.repo.tags["v1.0.0"] = theirs
    assert [what.partition(":")[0] for what in problems(world.check())["v1.0.0"]] == [
        "moved", f"holds {TERRA}@2.0.0",
    ]  # fmt: skip
    error = world.versions.refuse("1.0.0", "is on another commit than the one that was published")
    assert (error.found, error.expected) == (theirs, recorded)
    command = f"embedding-datasets publish --repair {TERRA} --org org --ledger {world.ledger}"
    assert error.todo == f"bring it back: {command}"
    world.restore()
    assert world.tag("1.0.0") == recorded
    assert world.repo.tags[f"set-aside-v1.0.0-{theirs[:12]}"] == theirs


def test_a_dry_run_of_a_repair_changes_nothing(world: World) -> None:
    del world.repo.tags["v1.0.0"]
    before, lines = dict(world.repo.tags), world.events()
    assert len(world.repair(dry_run=True).steps) == 1
    assert (world.repo.tags, world.events()) == (before, lines)


@pytest.mark.both_hubs
def test_a_branch_with_the_name_of_a_tag_is_named_and_set_aside(world: World) -> None:
    world.repo.branches["v1.0.0"] = world.tag("2.0.0")
    theirs = world.hub.commit(REPO, {"notes.txt": b"mine"}, branch="v1.0.0")
    assert "a branch has the same name" in problems(world.check())["v1.0.0"][0]
    world.versions.refuse("1.0.0", "a branch is called v1.0.0, like the tag")
    world.repair()
    assert world.repo.branches == {"main": world.tag("2.0.0"), f"set-aside-v1.0.0-{theirs[:12]}": theirs}
    assert world.versions.publish("1.0.0").state == "already published"
    assert world.check().state == "sound"


def test_an_annotated_tag_is_named_and_replaced_by_a_plain_one(world: World) -> None:
    world.repo.annotated["v1.0.0"] = "e" * 40
    [what] = problems(world.check())["v1.0.0"]
    assert what == f"an annotated tag: the Hub names the tag object {'e' * 40}, and not the commit {world.tag('1.0.0')}"
    commit = world.tag("1.0.0")
    world.restore()
    assert (world.tag("1.0.0"), world.repo.annotated) == (commit, {})


@pytest.mark.both_hubs
def test_a_tag_that_holds_another_version_is_set_aside(world: World) -> None:
    world.repo.tags["v9.9.9"] = world.tag("2.0.0")
    assert f"holds {TERRA}@2.0.0" in problems(world.check())["v9.9.9"]
    world.restore()
    assert "v9.9.9" not in world.repo.tags
    assert world.repo.tags[f"set-aside-v9.9.9-{world.tag('2.0.0')[:12]}"] == world.tag("2.0.0")


@pytest.mark.both_hubs
def test_main_that_shows_an_older_version_is_named_and_gets_the_files_of_the_newest(world: World) -> None:
    """As after a stale pull request: the shards of 1.0.0 are others than that of 2.0.0."""
    newest, oldest = (world.hub.tree(REPO, tag) for tag in ("v2.0.0", "v1.0.0"))
    changes: dict[str, bytes | None] = dict.fromkeys(newest.keys() - oldest.keys())
    world.hub.commit(REPO, {**changes, **oldest, "figure.png": b"PNG"})
    assert problems(world.check())["main"] == ["holds 1.0.0, and v2.0.0 is newer"]
    assert "publish --repair" in (world.versions.refuse("2.0.0", "main holds 1.0.0, and v2.0.0 is newer").todo or "")
    world.restore()
    assert world.hub.tree(REPO) == {**newest, "figure.png": b"PNG"}, "files of others stay"
    assert world.events()[-1]["why"] == "main was behind v2.0.0, at 1.0.0"
    assert world.versions.publish("2.0.0").state == "already published"


@pytest.mark.both_hubs
def test_a_renamed_repository_is_named_and_recorded_under_its_new_name(world: World) -> None:
    new = "org/terra-new"
    world.hub.rename(REPO, new)
    assert problems(world.check()) == {"main": [f"renamed: the Hub answers with {new}"]}
    assert world.versions.refuse("2.0.0", "the repository has another name by now").found == new
    world.repair()
    assert ledger.expected_refs(TERRA, world.ledger).keys() == {new}
    assert world.check(repo=new).state == "sound"
    refused("no tag of this repository is recorded", world.repair)


@pytest.mark.both_hubs
def test_the_record_is_rebuilt_from_tags_and_manifests_and_marked_so(world: World) -> None:
    path, entries = ledger.record_file(TERRA, world.ledger), world.ledger.read_text()
    path.unlink()
    world.ledger.unlink()
    world.repo.tags["v9.9.9"] = world.tag("2.0.0")
    assert problems(world.check())["v1.0.0"] == ["the record has no such version"]
    world.check(observe=True)
    assert [(line["event"], line["tag"], line["commit"]) for line in world.events()] == [
        ("observed", "v1.0.0", world.tag("1.0.0")), ("observed", "v2.0.0", world.tag("2.0.0")),
    ]  # fmt: skip
    assert json.loads(world.ledger.read_text()) == json.loads(entries)
    assert problems(world.check()).keys() == {"v9.9.9", "main"}


TheirTag = tuple[World, str]  # a dataset of theirs that was taken over, and the commit that it was on


@pytest.fixture
def their_tag(complete: Versions) -> TheirTag:
    theirs = complete.hub.create(REPO, {"train.jsonl": b"{}\n"})
    complete.publish("2.0.0", take_over=True)
    return World.of(complete), theirs


@pytest.mark.both_hubs
def test_taking_over_records_the_tag_of_what_was_there_and_a_repair_restores_it(their_tag: TheirTag) -> None:
    world, theirs = their_tag
    [event] = world.events(event="take-over")
    assert (event["tag"], event["commit"], event["content_sha256"]) == ("before-embedding-datasets", theirs, None)
    assert world.check().state == "sound"
    del world.repo.tags["before-embedding-datasets"]
    assert problems(world.check()).keys() == {"before-embedding-datasets"}
    world.repair()
    assert world.repo.tags["before-embedding-datasets"] == theirs


def test_the_tag_of_a_take_over_whose_commit_is_gone_is_recorded_as_gone(their_tag: TheirTag) -> None:
    world, theirs = their_tag
    del world.repo.tags["before-embedding-datasets"]
    squashed = replace(world.repo.commits[world.repo.branches["main"]], parent=None)
    world.repo.branches["main"] = world.repo.tags["v2.0.0"] = world.repo.add("main", squashed)
    for sha in {*world.repo.commits} - {world.repo.branches["main"]}:
        del world.repo.commits[sha]
    assert world.repair().missing == ()
    assert world.events(tag="before-embedding-datasets")[-1] | {"when": ""} == {
        "repo": REPO, "tag": "before-embedding-datasets", "commit": None, "event": "repair", "content_sha256": None,
        "why": f"commit {theirs} is gone, and so is the tag", "when": "",
    }  # fmt: skip
    assert world.check().state == "sound"
    assert world.repair().steps == ()


def test_the_tag_of_a_take_over_that_a_squash_moved_is_recorded_where_it_is(their_tag: TheirTag) -> None:
    world, theirs = their_tag
    moved = world.repo.add("other", replace(world.repo.commits.pop(theirs), title="squashed"))
    world.repo.tags["before-embedding-datasets"] = moved
    assert problems(world.check()).keys() == {"before-embedding-datasets"}
    world.restore()
    last = world.events(tag="before-embedding-datasets")[-1]
    assert (last["commit"], last["why"]) == (moved, f"commit {theirs} is gone, and the tag is on {moved}")


STALL = "a stall after execution"  # seconds at each request


@pytest.mark.parametrize(
    "fault", [pytest.param(FAULTS[name], marks=[pytest.mark.slow] * (name == STALL), id=name) for name in FAULTS]
)
def test_a_repair_that_fails_at_any_request_is_finished_by_the_next(world: World, fault: Fault) -> None:
    """A deleted tag, a moved one, a branch in the way and main behind, all at once."""
    oldest, newest = world.tag("1.0.0"), world.tag("2.0.0")
    tree = world.hub.tree(REPO, "v1.0.0")
    changes: dict[str, bytes | None] = dict.fromkeys(world.hub.tree(REPO).keys() - tree.keys())
    behind = world.hub.commit(REPO, {**changes, **tree})
    del world.repo.tags["v1.0.0"]
    world.repo.tags["v2.0.0"] = world.repo.branches["v1.0.0"] = behind
    damaged, record = world.hub.state(), ledger.record_file(TERRA, world.ledger)
    lines = record.read_bytes()
    world.hub.log.clear()
    world.repair()
    for number in range(len(world.hub.log)):
        world.hub.restore(damaged)
        record.write_bytes(lines)
        world.hub.fail(number, fault, always=fault.status != 412)
        try:
            world.repair(waits=Recovery(world.hub) if number % 2 else None)
        except PublishError:
            world.hub.stop_failing()
            world.repair()
        world.hub.stop_failing()
        assert world.repair(dry_run=True).steps == (), number
        assert (world.tag("1.0.0"), world.tag("2.0.0")) == (oldest, newest)
        assert world.hub.tree(REPO) == world.hub.tree(REPO, "v2.0.0")
        assert behind in {*world.repo.tags.values(), *world.repo.branches.values()}


@pytest.mark.both_hubs
def test_a_version_that_a_killed_run_published_again_is_recorded_by_the_next(world: World) -> None:
    gone, path = world.repo.tags.pop("v1.0.0"), ledger.record_file(TERRA, world.ledger)
    world.hub.forget(REPO, gone)
    before = path.read_bytes()
    commit = world.versions.publish("1.0.0").commit
    path.write_bytes(before)  # as after a kill between the tag and its line
    assert world.versions.publish("1.0.0").state == "already published"
    [_, last] = world.events(tag="v1.0.0")
    assert (last["event"], last["commit"], last["why"]) == (
        "restore", commit, f"the tag was found, and commit {gone} no longer holds the release",
    )  # fmt: skip
    assert world.check().state == "sound"
    lines = path.read_bytes()
    world.versions.publish("1.0.0")
    assert path.read_bytes() == lines


def test_a_recorded_commit_that_cannot_be_read_now_is_not_published_again(world: World) -> None:
    """A refusal of any kind is not a loss."""
    commit, commits = world.repo.tags.pop("v1.0.0"), len(world.repo.commits)
    world.hub.fail_at[f"/{commit}/data/"] = Fault(status=412)
    shutil.rmtree(world.cache)
    world.versions.refuse("1.0.0", "downloading data/dev-")
    world.hub.stop_failing()
    assert (world.versions.publish("1.0.0").commit, len(world.repo.commits)) == (commit, commits)


def test_main_gets_no_file_that_arrives_other_than_the_tag_has_it(world: World) -> None:
    tree, newest = world.hub.tree(REPO, "v1.0.0"), world.tag("2.0.0")
    world.hub.commit(REPO, {**dict.fromkeys(world.hub.tree(REPO).keys() - tree.keys()), **tree})
    world.hub.fail_at[f"/{newest}/README.md"] = Fault(status=200)
    moves = len(world.repo.moves)
    refused("the file that arrived is not the one on the Hub", world.repair)
    assert len(world.repo.moves) == moves
    world.hub.stop_failing()
    world.repair()
    assert world.hub.tree(REPO) == world.hub.tree(REPO, "v2.0.0")


@pytest.mark.parametrize("kind", ["tag", "branch"])
def test_a_ref_keeps_its_name_until_its_commit_has_another(world: World, kind: str) -> None:
    theirs = world.hub.commit(REPO, {"notes.txt": b"mine"}, branch="main")
    refs = world.repo.tags if kind == "tag" else world.repo.branches
    refs["v1.0.0"] = theirs
    world.hub.fail_at[f"/{kind}/"] = Fault(status=200)  # as if done; a proxy may have answered
    with pytest.raises(PublishError, match=r"set-aside-v1\.0\.0-\w+ is not on its commit"):
        world.repair()
    assert refs["v1.0.0"] == theirs
    world.hub.stop_failing()
    world.repair()
    assert refs[f"set-aside-v1.0.0-{theirs[:12]}"] == theirs


D = {"repo_id": REPO, "repo_type": "dataset"}


ON_GIT = pytest.mark.parametrize("hub", [second_hub], indirect=True, ids=["second"])


@pytest.fixture
def api(hub: Hub) -> HfApi:
    return HfApi(hub.url, token=WRITER)


@ON_GIT
@pytest.mark.usefixtures("first_published")
def test_a_pull_request_is_tagged_at_the_commit_that_the_hub_merged_it_as(
    hub: Hub, api: HfApi, terra: Versions
) -> None:
    opened = terra.publish("2.0.0", create_pr=True)
    api.merge_pull_request(**D, discussion_num=1)
    assert terra.publish("2.0.0", create_pr=True).state == "published"
    repository = hub.repos[REPO]
    assert repository.tags["v2.0.0"] == repository.branches["main"] != opened.commit
    assert repository.commits[repository.branches["main"]].parent == repository.tags["v1.0.0"]
    assert terra.publish("2.0.0").state == "already published"


@ON_GIT
@pytest.mark.usefixtures("first_published")
def test_a_draft_with_our_release_is_taken_for_our_pull_request(hub: Hub, api: HfApi, terra: Versions) -> None:
    terra.publish("2.0.0", create_pr=True)
    hub.repos[REPO].discussions[0]["status"] = "draft"
    assert terra.publish("2.0.0", create_pr=True).url.endswith("/discussions/1")
    assert [one.ref for one in api.list_repo_refs(**D, include_pull_requests=True).pull_requests or []] == ["refs/pr/1"]


@ON_GIT
@pytest.mark.usefixtures("first_published")
def test_a_squash_of_main_keeps_the_tags_and_what_is_lost_is_published_again(
    hub: Hub, api: HfApi, terra: Versions
) -> None:
    terra.publish("2.0.0")
    tags = dict(hub.repos[REPO].tags)
    api.super_squash_history(**D)
    for outcome in terra.outcomes.values():
        assert terra.publish(outcome).state == "already published"
    assert hub.repos[REPO].tags == tags
    hub.repos[REPO].tags.clear()
    hub.forget(REPO, tags["v1.0.0"])
    for version, outcome in terra.outcomes.items():
        assert terra.publish(outcome).state == "published"
        assert verified_hash(hub.tree(REPO, f"v{version}")) == outcome.manifest.content_sha256
    assert hub.repos[REPO].tags["v2.0.0"] == hub.repos[REPO].branches["main"]


@ON_GIT
@pytest.mark.usefixtures("first_published")
def test_an_annotated_tag_is_a_tag_where_the_hub_names_its_commit(hub: Hub, api: HfApi, terra: Versions) -> None:
    commit = hub.repos[REPO].tags.pop("v1.0.0")
    api.create_tag(**D, tag="v1.0.0", revision=commit, tag_message="by hand")
    assert hub.repos[REPO].git.git("cat-file", "-t", "v1.0.0") == b"tag\n"
    again = terra.publish("1.0.0")
    assert (again.state, again.commit) == ("already published", commit)
