"""Publishing to a Hub: one commit with all files of a release, verified and tagged, in a repository that may have to be created.
Pull requests: one for a release, whatever happens while it is opened. `--no-download`: the Hub's digests decide whether it holds
our files, and no data file is fetched.
"""

import hashlib
import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders.errors import PublishError, UsageError
from cards.manifest import Document, encode
from pipelines.hub import publishing, repository
from pipelines.hub.client import HubClient
from pipelines.hub.commits import Publication
from pipelines.hub.planning import Plan, PublishOptions
from pipelines.hub.repository import Snapshot, find_differences
from pipelines.make import BuildSettings, make
from tests.support.loopback_hub import Fault, LoopbackHub
from tests.support.publishing import (
    REPO,
    RUBQ,
    TERRA,
    Recovery,
    Versions,
    files_of,
    published_card,
    verified_hash,
)
from tests.support.releases import definition_of


def test_a_release_is_published_as_one_tagged_commit_with_card_and_manifest_for_its_repository_and_once(
    hub: LoopbackHub, terra: Versions
) -> None:
    published = terra.publish("1.0.0")
    assert (published.state, published.plan.repo, published.plan.tag) == ("published", REPO, "v1.0.0")
    assert published.url == f"{hub.url}/datasets/{REPO}"
    tree = hub.tree(REPO, "v1.0.0")
    assert tree.pop(".gitattributes")
    built, card = files_of(terra.outcomes["1.0.0"]), published_card(terra.outcomes["1.0.0"])
    manifest = terra.outcomes["1.0.0"].manifest
    documents = (Document("README.md", len(card), hashlib.sha256(card).hexdigest()), *manifest.documents[1:])
    assert tree == built | {"README.md": card, "manifest.json": encode(replace(manifest, documents=documents))}
    repository = hub.repos[REPO]
    assert repository.moves[1:] == [("main", published.commit), ("v1.0.0", published.commit)]
    commit = repository.commits[published.commit]
    assert commit.title == f"{TERRA} 1.0.0"
    assert terra.outcomes["1.0.0"].manifest.content_sha256 in commit.description
    assert not repository.private
    assert all(blob.lfs == path.endswith(".parquet") for path, blob in commit.tree.items())
    hub.log.clear()
    again = terra.publish("1.0.0")
    assert (again.state, again.commit) == ("already published", published.commit)
    assert {request.method for request in hub.log} <= {"GET", "HEAD"}


@pytest.mark.both_hubs
def test_a_second_version_keeps_the_first_in_its_tag_and_describes_the_changes(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    rubq = Versions(hub, options, *releases(RUBQ))
    rubq.publish("1.0.0")
    published = rubq.publish("2.0.0")
    assert published.plan.against == "1.0.0"
    [corpus] = [change for change in published.plan.changes if change.state != "same"]
    assert (corpus.config, corpus.key, corpus.added, corpus.removed, corpus.changed) == ("corpus", ("id",), 1, 1, 1)
    assert corpus.examples is not None
    assert corpus.examples["changed"] == [{"id": "10", "text": ["—", "Мундштука нет."]}]
    assert [row["id"] for row in corpus.examples["added"]] == ["2000"]
    repo = f"org/{RUBQ}"
    for version, outcome in rubq.outcomes.items():
        assert verified_hash(hub.tree(repo, f"v{version}")) == outcome.manifest.content_sha256
    assert hub.tree(repo) == hub.tree(repo, "v2.0.0")
    card = hub.tree(repo)["README.md"].decode()
    assert "As in the paper." in card
    assert "One row corrected." in card
    description = hub.repos[repo].commits[published.commit].description
    assert "corpus/test: 1 rows added, 1 removed, 1 changed" in description
    assert "qrels/test: the same rows" in description


@pytest.mark.both_hubs
@pytest.mark.usefixtures("first_published")
def test_the_commit_deletes_stale_shards_and_keeps_files_of_others(hub: LoopbackHub, terra: Versions) -> None:
    shards = [path for path in hub.tree(REPO) if path.endswith(".parquet")]
    assert len(shards) == 2
    foreign: dict[str, bytes | None] = {
        "figure.png": b"PNG",
        "data/notes.txt": b"mine",
        "extra/a.parquet": b"PAR1",
    }
    hub.commit(REPO, {**foreign, "data/dev-00000-of-00009.parquet": b"a shard of an older push"})
    planned = terra.plan("2.0.0")
    published = terra.publish("2.0.0")
    assert set(planned.deletes) == {*shards, "data/dev-00000-of-00009.parquet"}
    tree = hub.tree(REPO)
    assert {path for path in tree if path.startswith("data/")} == {"data/dev-00000-of-00001.parquet", "data/notes.txt"}
    assert {path: tree[path] for path in foreign} == foreign
    assert hub.repos[REPO].moves[-2:] == [("main", published.commit), ("v2.0.0", published.commit)]


@pytest.mark.usefixtures("first_published")
def test_the_commit_deletes_the_files_of_a_removed_config(hub: LoopbackHub, terra: Versions) -> None:
    manifest = json.loads(hub.tree(REPO)["manifest.json"])
    manifest["tables"][0] |= {"config": "old", "files": [{"path": "old/dev-0.parquet", "bytes": 4, "sha256": "0" * 64}]}
    hub.commit(REPO, {"manifest.json": json.dumps(manifest).encode(), "old/dev-0.parquet": b"PAR1"})
    terra.publish("2.0.0")
    assert "old/dev-0.parquet" not in hub.tree(REPO)


@pytest.mark.usefixtures("first_published")
def test_the_same_rows_in_different_files_count_as_already_published(terra: Versions, settings: BuildSettings) -> None:
    unsharded = make(terra.dataset, "1.0.0", settings)
    assert unsharded.manifest.files != terra.outcomes["1.0.0"].manifest.files
    assert terra.publish(unsharded).state == "already published"


@pytest.mark.both_hubs
def test_a_private_publication_never_becomes_public(hub: LoopbackHub, terra: Versions) -> None:
    terra.publish("1.0.0", private=True)
    assert hub.repos[REPO].private
    terra.publish("2.0.0", private=True)
    hub.repos[REPO].private = False
    terra.refuse("2.0.0", "the repository is public", private=True)


def test_repository_name_and_commit_message_can_be_set(hub: LoopbackHub, terra: Versions) -> None:
    published = terra.publish("1.0.0", org="other", repo_name="terra", message="Hello.")
    assert hub.repos["other/terra"].commits[published.commit].title == "Hello."
    with pytest.raises(UsageError, match="invalid repository name"):
        terra.publish("1.0.0", org="a/b")


@pytest.mark.both_hubs
@pytest.mark.usefixtures("first_published")
def test_a_pull_request_does_not_change_main_and_is_tagged_after_its_merge(hub: LoopbackHub, terra: Versions) -> None:
    opened = terra.publish("2.0.0", create_pr=True)
    assert opened.state == "pull request opened"
    assert opened.url == f"{hub.url}/datasets/{REPO}/discussions/1"
    repository = hub.repos[REPO]
    assert verified_hash(hub.tree(REPO)) == terra.outcomes["1.0.0"].manifest.content_sha256
    assert set(repository.tags) == {"v1.0.0"}
    repository.branches["main"] = repository.branches["refs/pr/1"]
    assert terra.publish("2.0.0", create_pr=True).state == "published"
    assert repository.tags["v2.0.0"] == opened.commit


@pytest.mark.usefixtures("first_published")
def test_a_gitignore_in_the_repository_excludes_no_file(hub: LoopbackHub, terra: Versions) -> None:
    hub.commit(REPO, {".gitignore": b"*.parquet\nmanifest.json\n"})
    terra.publish("2.0.0")
    assert verified_hash(hub.tree(REPO)) == terra.outcomes["2.0.0"].manifest.content_sha256


def test_a_build_waits_while_its_release_is_being_published(
    hub: LoopbackHub, options: PublishOptions, settings: BuildSettings
) -> None:
    outcome = make(definition_of(TERRA), "1.0.0", settings)

    def interrupt(record: logging.LogRecord) -> bool:
        raise InterruptedError(record.getMessage())

    def build() -> None:
        with pytest.raises(InterruptedError, match="waiting for another command that is writing it"):
            make(definition_of(TERRA), "1.0.0", replace(settings, force=True))

    logger = logging.getLogger("pipelines.process.files")
    logger.addFilter(interrupt)
    try:
        hub.before_answer["/commit/main"] = build
        Versions(hub, options, definition_of(TERRA), {}).publish(outcome)
    finally:
        logger.removeFilter(interrupt)
    assert "/commit/main" not in hub.before_answer, "the build did not run"


def pull_requests(hub: LoopbackHub) -> list[str]:
    return [name for name in hub.repos[REPO].branches if name.startswith("refs/pr/")]


@pytest.mark.parametrize(
    "fault",
    [Fault(cut_request=10), Fault(cut_answer=0, executed=True), Fault(status=503), Fault(status=503, executed=True)],
    ids=["the request is cut", "the answer is cut", "503", "503 after execution"],
)
@pytest.mark.usefixtures("first_published")
def test_a_retried_commit_leaves_one_pull_request(hub: LoopbackHub, terra: Versions, fault: Fault) -> None:
    hub.fail_at["/commit/main"] = fault
    waits = Recovery(hub)
    opened = terra.publish("2.0.0", create_pr=True, waits=waits)
    assert (opened.state, waits) == ("pull request opened", [1])
    assert opened.url == f"{hub.url}/datasets/{REPO}/discussions/1"
    assert pull_requests(hub) == ["refs/pr/1"]
    assert verified_hash(hub.tree(REPO, "refs/pr/1")) == terra.outcomes["2.0.0"].manifest.content_sha256


@pytest.mark.usefixtures("first_published")
def test_the_same_command_after_it_gave_up_uses_the_pull_request_that_was_opened(
    hub: LoopbackHub, terra: Versions
) -> None:
    hub.fail_at["/commit/main"] = Fault(status=500, executed=True)
    terra.refuse("2.0.0", "committing failed", "run the same command again", create_pr=True, retries=0)
    hub.stop_failing()
    opened = terra.publish("2.0.0", create_pr=True)
    assert (opened.state, opened.commit) == ("pull request opened", hub.repos[REPO].branches["refs/pr/1"])
    assert pull_requests(hub) == ["refs/pr/1"]


@pytest.mark.usefixtures("first_published")
def test_a_pull_request_with_other_content_or_another_title_is_not_taken_for_ours(
    hub: LoopbackHub, terra: Versions
) -> None:
    terra.publish("2.0.0", create_pr=True, message="Another title")
    terra.publish("2.0.0", create_pr=True)
    repository = hub.repos[REPO]
    ours = repository.commits[repository.branches["refs/pr/2"]]
    stale = {"data/dev-00001-of-00002.parquet": hub.repos[REPO].commits[repository.tags["v1.0.0"]].tree["README.md"]}
    repository.commits[repository.branches["refs/pr/2"]] = replace(ours, tree=ours.tree | stale)
    assert terra.publish("2.0.0", create_pr=True).url.endswith("/discussions/3")
    assert pull_requests(hub) == ["refs/pr/1", "refs/pr/2", "refs/pr/3"]


def test_a_token_without_rights_in_the_organisation_is_told_what_it_may_not_create(
    hub: LoopbackHub, terra: Versions
) -> None:
    error = terra.refuse(
        "1.0.0",
        "creating the repository failed",
        "You don't have the rights to create a dataset under this namespace",
        "a token that may create datasets of foreign",
        org="foreign",
    )
    assert error.where == f"foreign/{TERRA}"
    assert "committing" not in str(error)
    assert hub.repos == {}


@pytest.mark.both_hubs
def test_a_repository_that_somebody_else_creates_meanwhile_is_planned_for_again(
    hub: LoopbackHub, terra: Versions
) -> None:
    hub.before_answer["/api/repos/create"] = lambda: hub.create(REPO, {"notes.md": b"mine"})
    assert terra.publish("1.0.0").plan.at is not None
    assert verified_hash(hub.tree(REPO, "v1.0.0")) == terra.outcomes["1.0.0"].manifest.content_sha256
    assert hub.tree(REPO)["notes.md"] == b"mine"


def test_a_lost_answer_to_the_creation_is_no_error(hub: LoopbackHub, terra: Versions) -> None:
    hub.fail_at["/api/repos/create"] = Fault(cut_answer=0, executed=True)
    waits = Recovery(hub)
    assert (terra.publish("1.0.0", private=True, waits=waits).state, waits) == ("published", [1])
    assert hub.repos[REPO].private


def test_a_private_release_never_gets_into_a_new_repository_that_is_public(
    hub: LoopbackHub, terra: Versions, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = repository.create

    def create_public(connection: HubClient, repo: str, *, private: bool) -> bool:
        assert private
        return create(connection, repo, private=False)

    monkeypatch.setattr(repository, "create", create_public)
    terra.refuse("1.0.0", "the repository is public", private=True)
    assert hub.tree(REPO).keys() <= {".gitattributes"}


@pytest.fixture
def by_digest(terra: Versions) -> Versions:
    return replace(terra, options=replace(terra.options, download=False))


def test_versions_are_published_and_tagged_without_fetching_their_data(hub: LoopbackHub, by_digest: Versions) -> None:
    published, tags = by_digest.publish("1.0.0"), hub.repos[REPO].tags
    assert (published.state, tags) == ("published", {"v1.0.0": published.commit})
    assert by_digest.publish("1.0.0").state == "already published"
    del tags["v1.0.0"]
    again = by_digest.publish("1.0.0")
    assert (again.state, tags) == ("published", {"v1.0.0": published.commit}), "all digests are ours"
    assert "not compared with v1.0.0: --no-download" in by_digest.plan("2.0.0").notes
    assert by_digest.publish("2.0.0").state == "published"
    assert not [request for request in hub.log if "/resolve/" in request.path and request.path.endswith(".parquet")]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"data/dev-00000-of-00002.parquet": b"PAR1 other rows"},
            "data/dev-00000-of-00002.parquet: the Hub has other bytes",
        ),
        ({"data/dev-00000-of-00002.parquet": None}, "data/dev-00000-of-00002.parquet is missing"),
        ({"README.md": b"another card"}, "README.md: the Hub has other bytes"),
        ({"manifest.json": b"{}"}, "manifest.json: the Hub has other bytes"),
        ({"statistics.json": b"{}"}, "statistics.json: the Hub has other bytes"),
        ({"croissant.json": b"{}"}, "croissant.json: the Hub has other bytes"),
        (
            {"data/dev-00000-of-00009.parquet": b"PAR1"},
            "data/dev-00000-of-00009.parquet would be loaded as default/dev",
        ),
    ],
    ids=[
        "other data",
        "no data",
        "another card",
        "another manifest",
        "other statistics",
        "another croissant.json",
        "a stray file",
    ],
)
def test_a_commit_with_other_bytes_than_ours_is_not_tagged(
    hub: LoopbackHub,
    by_digest: Versions,
    monkeypatch: pytest.MonkeyPatch,
    change: dict[str, bytes | None],
    words: str,
) -> None:
    commit_plan = publishing.commit_plan

    def commit_then_change(*arguments: Any) -> Publication[Plan]:
        return replace(commit_plan(*arguments), commit=hub.commit(REPO, change))

    monkeypatch.setattr(publishing, "commit_plan", commit_then_change)
    error = by_digest.refuse("1.0.0", "does not read back as the release")
    assert words in str(error.found)
    assert "without --no-download" in str(error.todo)
    assert hub.repos[REPO].tags == {}


def test_a_hub_without_digests_never_gets_a_tag(
    hub: LoopbackHub, by_digest: Versions, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = repository.snapshot

    def without_digests(*arguments: Any) -> Snapshot | None:
        at = snapshot(*arguments)
        return at and replace(at, digests=dict.fromkeys(at.digests, ""))

    monkeypatch.setattr(repository, "snapshot", without_digests)
    with pytest.raises(PublishError) as caught:
        by_digest.publish("1.0.0")
    assert "README.md: the Hub gives no digest of it" in str(caught.value.found)
    assert hub.repos[REPO].tags == {}


def test_a_tag_with_other_bytes_of_the_same_rows_cannot_be_confirmed_by_digests(
    hub: LoopbackHub, terra: Versions
) -> None:
    terra.publish("1.0.0")
    other = {path: content + b" " for path, content in hub.tree(REPO).items() if path.endswith(".parquet")}
    hub.repos[REPO].tags["v1.0.0"] = hub.commit(REPO, dict(other))
    error = terra.refuse("1.0.0", "digests do not tell", download=False)
    assert error.todo == "leave out --no-download"
    assert all(path in str(error.found) for path in other)


def test_files_are_compared_by_sha256_in_lfs_and_by_git_blob_id_elsewhere(tmp_path: Path) -> None:
    file = tmp_path / "statistics.json"
    file.write_bytes(b"{}\n")
    sha256 = "ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356"
    git_blob = "0967ef424bce6791893e9a57bb952f80fd536e93"
    for digest in (sha256, git_blob):
        at = Snapshot("a" * 40, private=False, digests={"a.json": digest, "b.json": digest})
        assert find_differences(at, {"a.json": b"{}\n", "b.json": file}, {}) == []
        assert len(find_differences(at, {"a.json": b"{} \n", "b.json": Path(__file__)}, {})) == 2


@pytest.mark.parametrize("download", [True, False])
def test_the_size_of_a_large_read_back_is_shown_before_it_begins(
    terra: Versions, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, download: bool
) -> None:
    monkeypatch.setattr(publishing, "LARGE", 1000)
    with caplog.at_level(logging.INFO):
        terra.publish("1.0.0", download=download)
    size = sum(file.bytes for file in terra.outcomes["1.0.0"].manifest.files)
    assert size >= 1000
    assert (f"{REPO}: fetching {size / 1000:.1f}".removesuffix(".0") in caplog.text) == download


def test_the_card_with_keys_of_others_is_compared_as_it_was_written(hub: LoopbackHub, by_digest: Versions) -> None:
    by_digest.publish("1.0.0")
    hub.commit(REPO, {"README.md": hub.tree(REPO)["README.md"].replace(b"---\n", b"---\nviewer: false\n", 1)})
    assert by_digest.publish("2.0.0").state == "published"
    assert b"viewer: false" in hub.tree(REPO, "v2.0.0")["README.md"]
    assert hub.tree(REPO, "v2.0.0")["README.md"] != published_card(by_digest.outcomes["2.0.0"])
