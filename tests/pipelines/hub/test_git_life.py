"""What the Hub's API and git do to a published repository, on the loopback Hub whose repositories are git's."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from huggingface_hub import HfApi

from pipelines.hub.planning import PublishOptions
from tests.support.loopback_hub import WRITER
from tests.support.publishing import REPO, publish, verified_hash
from tests.support.second_hub import second_hub
from tests.support.second_hub_api import Hub

D = {"repo_id": REPO, "repo_type": "dataset"}


@pytest.fixture
def hub() -> Iterator[Hub]:
    with second_hub() as hub:
        yield hub


@pytest.fixture
def api(hub: Hub) -> HfApi:
    return HfApi(hub.url, token=WRITER)


def test_a_pull_request_is_tagged_at_the_commit_that_the_hub_merged_it_as(
    hub: Hub, api: HfApi, options: PublishOptions, first_published: Any
) -> None:
    dataset, outcomes = first_published
    request = replace(options, create_pr=True)
    opened = publish(hub, dataset, outcomes["2.0.0"], request)
    api.merge_pull_request(**D, discussion_num=1)
    assert publish(hub, dataset, outcomes["2.0.0"], request).state == "published"
    repository = hub.repos[REPO]
    assert repository.tags["v2.0.0"] == repository.branches["main"] != opened.commit
    assert repository.commits[repository.branches["main"]].parent == repository.tags["v1.0.0"]
    assert publish(hub, dataset, outcomes["2.0.0"], options).state == "already published"


def test_a_draft_with_our_release_is_taken_for_our_pull_request(
    hub: Hub, api: HfApi, options: PublishOptions, first_published: Any
) -> None:
    dataset, outcomes = first_published
    request = replace(options, create_pr=True)
    publish(hub, dataset, outcomes["2.0.0"], request)
    hub.repos[REPO].discussions[0]["status"] = "draft"
    assert publish(hub, dataset, outcomes["2.0.0"], request).url.endswith("/discussions/1")
    assert [one.ref for one in api.list_repo_refs(**D, include_pull_requests=True).pull_requests or []] == ["refs/pr/1"]


def test_a_squash_of_main_keeps_the_tags_and_what_is_lost_is_published_again(
    hub: Hub, api: HfApi, options: PublishOptions, first_published: Any
) -> None:
    dataset, outcomes = first_published
    publish(hub, dataset, outcomes["2.0.0"], options)
    tags = dict(hub.repos[REPO].tags)
    api.super_squash_history(**D)
    for outcome in outcomes.values():
        assert publish(hub, dataset, outcome, options).state == "already published"
    assert hub.repos[REPO].tags == tags
    hub.repos[REPO].tags.clear()
    hub.forget(REPO, tags["v1.0.0"])
    for version, outcome in outcomes.items():
        assert publish(hub, dataset, outcome, options).state == "published"
        assert verified_hash(hub.tree(REPO, f"v{version}")) == outcome.manifest.content_sha256
    assert hub.repos[REPO].tags["v2.0.0"] == hub.repos[REPO].branches["main"]


def test_an_annotated_tag_is_a_tag_where_the_hub_names_its_commit(
    hub: Hub, api: HfApi, options: PublishOptions, first_published: Any
) -> None:
    dataset, outcomes = first_published
    commit = hub.repos[REPO].tags.pop("v1.0.0")
    api.create_tag(**D, tag="v1.0.0", revision=commit, tag_message="by hand")
    assert hub.repos[REPO].git.git("cat-file", "-t", "v1.0.0") == b"tag\n"
    again = publish(hub, dataset, outcomes["1.0.0"], options)
    assert (again.state, again.commit) == ("already published", commit)
