"""Publishing to a Hub: one commit with all files of a release, verified and tagged. Pull requests: one for a release,
whatever happens while it is opened.
"""

import hashlib
import json
import logging
from dataclasses import replace
from typing import Any

import pytest

from builders.errors import PublishError, UsageError
from cards.manifest import Document, encode
from pipelines.hub.planning import PublishOptions
from pipelines.make import BuildSettings, make
from tests.support.loopback_hub import Fault, LoopbackHub
from tests.support.publishing import (
    REPO,
    RUBQ,
    TERRA,
    Recovery,
    files_of,
    first,
    plan,
    publish,
    published_card,
    verified_hash,
)
from tests.support.releases import definition_of


def test_a_release_is_published_as_one_tagged_commit_with_card_and_manifest_for_its_repository(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    published = publish(hub, dataset, outcomes["1.0.0"], options)
    assert (published.state, published.plan.repo, published.plan.tag) == ("published", REPO, "v1.0.0")
    assert published.url == f"{hub.url}/datasets/{REPO}"
    tree = hub.tree(REPO, "v1.0.0")
    assert tree.pop(".gitattributes")
    built, card = files_of(outcomes["1.0.0"]), published_card(outcomes["1.0.0"])
    manifest = outcomes["1.0.0"].manifest
    of_the_card = Document("README.md", len(card), hashlib.sha256(card).hexdigest())
    documents = (of_the_card, *manifest.documents[1:])
    assert tree == built | {"README.md": card, "manifest.json": encode(replace(manifest, documents=documents))}
    repository = hub.repos[REPO]
    assert repository.moves[1:] == [("main", published.commit), ("v1.0.0", published.commit)]
    commit = repository.commits[published.commit]
    assert commit.title == f"{TERRA} 1.0.0"
    assert outcomes["1.0.0"].manifest.content_sha256 in commit.description
    assert not repository.private
    assert all(blob.lfs == path.endswith(".parquet") for path, blob in commit.tree.items())


def test_publishing_again_changes_nothing_and_reports_it(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    first = publish(hub, dataset, outcomes["1.0.0"], options)
    hub.log.clear()
    again = publish(hub, dataset, outcomes["1.0.0"], options)
    assert (again.state, again.commit) == ("already published", first.commit)
    assert {request.method for request in hub.log} <= {"GET", "HEAD"}


@pytest.mark.both_hubs
def test_a_second_version_keeps_the_first_in_its_tag_and_describes_the_changes(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases(RUBQ)
    publish(hub, dataset, outcomes["1.0.0"], options)
    published = publish(hub, dataset, outcomes["2.0.0"], options)
    assert published.plan.against == "1.0.0"
    [corpus] = [change for change in published.plan.changes if change.state != "same"]
    assert (corpus.config, corpus.key, corpus.added, corpus.removed, corpus.changed) == ("corpus", ("id",), 1, 1, 1)
    assert corpus.examples is not None
    assert corpus.examples["changed"] == [{"id": "10", "text": ["—", "Мундштука нет."]}]
    assert [row["id"] for row in corpus.examples["added"]] == ["2000"]
    repo = f"org/{RUBQ}"
    assert verified_hash(hub.tree(repo, "v1.0.0")) == outcomes["1.0.0"].manifest.content_sha256
    assert verified_hash(hub.tree(repo, "v2.0.0")) == outcomes["2.0.0"].manifest.content_sha256
    assert hub.tree(repo) == hub.tree(repo, "v2.0.0")
    card = hub.tree(repo)["README.md"].decode()
    assert "As in the paper." in card
    assert "One row corrected." in card
    description = hub.repos[repo].commits[published.commit].description
    assert "corpus/test: 1 rows added, 1 removed, 1 changed" in description
    assert "qrels/test: the same rows" in description


@pytest.mark.both_hubs
def test_the_commit_deletes_stale_shards_and_keeps_files_of_others(
    hub: LoopbackHub, options: PublishOptions, first_published: Any
) -> None:
    dataset, outcomes = first_published
    shards = [path for path in hub.tree(REPO) if path.endswith(".parquet")]
    assert len(shards) == 2
    foreign: dict[str, bytes | None] = {
        "figure.png": b"PNG",
        "data/notes.txt": b"mine",
        "extra/a.parquet": b"PAR1",
    }
    hub.commit(REPO, {**foreign, "data/dev-00000-of-00009.parquet": b"a shard of an older push"})
    planned = plan(hub, dataset, outcomes["2.0.0"], options)
    published = publish(hub, dataset, outcomes["2.0.0"], options)
    assert set(planned.deletes) == {*shards, "data/dev-00000-of-00009.parquet"}
    tree = hub.tree(REPO)
    assert {path for path in tree if path.startswith("data/")} == {"data/dev-00000-of-00001.parquet", "data/notes.txt"}
    assert {path: tree[path] for path in foreign} == foreign
    assert hub.repos[REPO].moves[-2:] == [("main", published.commit), ("v2.0.0", published.commit)]


def test_the_commit_deletes_the_files_of_a_removed_config(
    hub: LoopbackHub, options: PublishOptions, first_published: Any
) -> None:
    dataset, outcomes = first_published
    manifest = json.loads(hub.tree(REPO)["manifest.json"])
    manifest["tables"][0] |= {"config": "old", "files": [{"path": "old/dev-0.parquet", "bytes": 4, "sha256": "0" * 64}]}
    hub.commit(REPO, {"manifest.json": json.dumps(manifest).encode(), "old/dev-0.parquet": b"PAR1"})
    publish(hub, dataset, outcomes["2.0.0"], options)
    assert "old/dev-0.parquet" not in hub.tree(REPO)


def test_the_same_rows_in_different_files_count_as_already_published(
    hub: LoopbackHub, options: PublishOptions, first_published: Any, settings: BuildSettings
) -> None:
    dataset, outcomes = first_published
    unsharded = make(dataset, "1.0.0", settings)
    assert unsharded.manifest.files != outcomes["1.0.0"].manifest.files
    assert publish(hub, dataset, unsharded, options).state == "already published"


@pytest.mark.both_hubs
def test_a_private_publication_never_becomes_public(hub: LoopbackHub, options: PublishOptions, releases: Any) -> None:
    dataset, outcomes = releases()
    private = replace(options, private=True)
    publish(hub, dataset, outcomes["1.0.0"], private)
    assert hub.repos[REPO].private
    publish(hub, dataset, outcomes["2.0.0"], private)
    hub.repos[REPO].private = False
    with pytest.raises(PublishError, match="the repository is public"):
        publish(hub, dataset, outcomes["2.0.0"], private)


def test_repository_name_and_commit_message_can_be_set(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    published = publish(hub, *first(releases()), replace(options, org="other", repo_name="terra", message="Hello."))
    assert hub.repos["other/terra"].commits[published.commit].title == "Hello."
    with pytest.raises(UsageError, match="invalid repository name"):
        publish(hub, *first(releases()), replace(options, org="a/b"))


@pytest.mark.both_hubs
def test_a_pull_request_does_not_change_main_and_is_tagged_after_its_merge(
    hub: LoopbackHub, options: PublishOptions, first_published: Any
) -> None:
    dataset, outcomes = first_published
    opened = publish(hub, dataset, outcomes["2.0.0"], replace(options, create_pr=True))
    assert opened.state == "pull request opened"
    assert opened.url == f"{hub.url}/datasets/{REPO}/discussions/1"
    repository = hub.repos[REPO]
    assert verified_hash(hub.tree(REPO)) == outcomes["1.0.0"].manifest.content_sha256
    assert set(repository.tags) == {"v1.0.0"}
    repository.branches["main"] = repository.branches["refs/pr/1"]
    assert publish(hub, dataset, outcomes["2.0.0"], replace(options, create_pr=True)).state == "published"
    assert repository.tags["v2.0.0"] == opened.commit


def test_a_gitignore_in_the_repository_excludes_no_file(
    hub: LoopbackHub, options: PublishOptions, first_published: Any
) -> None:
    dataset, outcomes = first_published
    hub.commit(REPO, {".gitignore": b"*.parquet\nmanifest.json\n"})
    publish(hub, dataset, outcomes["2.0.0"], options)
    assert verified_hash(hub.tree(REPO)) == outcomes["2.0.0"].manifest.content_sha256


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
        publish(hub, definition_of(TERRA), outcome, options)
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
def test_a_retried_commit_leaves_one_pull_request(
    hub: LoopbackHub, options: PublishOptions, first_published: Any, fault: Fault
) -> None:
    dataset, outcomes = first_published
    hub.fail_at["/commit/main"] = fault
    waits = Recovery(hub)
    opened = publish(hub, dataset, outcomes["2.0.0"], replace(options, create_pr=True), waits=waits)
    assert (opened.state, waits) == ("pull request opened", [1])
    assert opened.url == f"{hub.url}/datasets/{REPO}/discussions/1"
    assert pull_requests(hub) == ["refs/pr/1"]
    assert verified_hash(hub.tree(REPO, "refs/pr/1")) == outcomes["2.0.0"].manifest.content_sha256


def test_the_same_command_after_it_gave_up_uses_the_pull_request_that_was_opened(
    hub: LoopbackHub, options: PublishOptions, first_published: Any
) -> None:
    dataset, outcomes = first_published
    hub.fail_at["/commit/main"] = Fault(status=500, executed=True)
    request = replace(options, create_pr=True)
    with pytest.raises(PublishError, match="committing failed") as caught:
        publish(hub, dataset, outcomes["2.0.0"], request, retries=0)
    assert "run the same command again" in str(caught.value)
    hub.stop_failing()
    opened = publish(hub, dataset, outcomes["2.0.0"], request)
    assert (opened.state, opened.commit) == ("pull request opened", hub.repos[REPO].branches["refs/pr/1"])
    assert pull_requests(hub) == ["refs/pr/1"]


def test_a_pull_request_with_other_content_or_another_title_is_not_taken_for_ours(
    hub: LoopbackHub, options: PublishOptions, first_published: Any
) -> None:
    dataset, outcomes = first_published
    request = replace(options, create_pr=True)
    publish(hub, dataset, outcomes["2.0.0"], replace(request, message="Another title"))
    publish(hub, dataset, outcomes["2.0.0"], request)
    repository = hub.repos[REPO]
    ours = repository.commits[repository.branches["refs/pr/2"]]
    stale = {"data/dev-00001-of-00002.parquet": hub.repos[REPO].commits[repository.tags["v1.0.0"]].tree["README.md"]}
    repository.commits[repository.branches["refs/pr/2"]] = replace(ours, tree=ours.tree | stale)
    opened = publish(hub, dataset, outcomes["2.0.0"], request)
    assert opened.url.endswith("/discussions/3")
    assert pull_requests(hub) == ["refs/pr/1", "refs/pr/2", "refs/pr/3"]
