"""Pull requests: one for a release, whatever happens while it is opened."""

from dataclasses import replace
from typing import Any

import pytest

from builders.errors import PublishError
from pipelines.hub.planning import PublishOptions
from tests.support.loopback_hub import Fault, LoopbackHub
from tests.support.publishing import REPO, Recovery, publish, verified_hash


def pull_requests(hub: LoopbackHub) -> list[str]:
    return [name for name in hub.repos[REPO].branches if name.startswith("refs/pr/")]


@pytest.mark.parametrize(
    "fault",
    [Fault(cut_request=10), Fault(cut_answer=0, executed=True), Fault(status=503), Fault(status=503, executed=True)],
    ids=["the request is cut", "the answer is cut", "503", "503 after execution"],
)
def test_a_retried_commit_leaves_one_pull_request(
    hub: LoopbackHub, options: PublishOptions, releases: Any, fault: Fault
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], options)
    hub.fail_at["/commit/main"] = fault
    waits = Recovery(hub)
    opened = publish(hub, dataset, outcomes["2.0.0"], replace(options, create_pr=True), waits=waits)
    assert (opened.state, waits) == ("pull request opened", [1])
    assert opened.url == f"{hub.url}/datasets/{REPO}/discussions/1"
    assert pull_requests(hub) == ["refs/pr/1"]
    assert verified_hash(hub.tree(REPO, "refs/pr/1")) == outcomes["2.0.0"].manifest.content_sha256


def test_the_same_command_after_it_gave_up_uses_the_pull_request_that_was_opened(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], options)
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
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcomes = releases()
    publish(hub, dataset, outcomes["1.0.0"], options)
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
