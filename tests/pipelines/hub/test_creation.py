"""A repository that publishing has to create: refused, created by somebody else, or created without an answer."""

from dataclasses import replace
from typing import Any

import pytest

from builders.errors import PublishError
from pipelines.hub import repository
from pipelines.hub.client import HubClient
from pipelines.hub.planning import PublishOptions
from tests.support.loopback_hub import Fault, LoopbackHub
from tests.support.publishing import REPO, TERRA, Recovery, first, publish, verified_hash


def test_a_token_without_rights_in_the_organisation_is_told_what_it_may_not_create(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    with pytest.raises(PublishError, match="creating the repository failed") as caught:
        publish(hub, *first(releases()), replace(options, org="foreign"))
    assert caught.value.where == f"foreign/{TERRA}"
    assert "You don't have the rights to create a dataset under this namespace" in str(caught.value)
    assert "a token that may create datasets of foreign" in str(caught.value)
    assert "committing" not in str(caught.value)
    assert hub.repos == {}


@pytest.mark.both_hubs
def test_a_repository_that_somebody_else_creates_meanwhile_is_planned_for_again(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    dataset, outcome = first(releases())

    def create() -> None:
        hub.create(REPO, {"notes.md": b"mine"})

    hub.before_answer["/api/repos/create"] = create
    published = publish(hub, dataset, outcome, options)
    assert published.plan.at is not None
    assert verified_hash(hub.tree(REPO, "v1.0.0")) == outcome.manifest.content_sha256
    assert hub.tree(REPO)["notes.md"] == b"mine"


def test_a_lost_answer_to_the_creation_is_no_error(hub: LoopbackHub, options: PublishOptions, releases: Any) -> None:
    hub.fail_at["/api/repos/create"] = Fault(cut_answer=0, executed=True)
    waits = Recovery(hub)
    published = publish(hub, *first(releases()), replace(options, private=True), waits=waits)
    assert (published.state, waits) == ("published", [1])
    assert hub.repos[REPO].private


def test_a_private_release_never_gets_into_a_new_repository_that_is_public(
    hub: LoopbackHub, options: PublishOptions, releases: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = repository.create

    def create_public(connection: HubClient, repo: str, *, private: bool) -> bool:
        assert private
        return create(connection, repo, private=False)

    monkeypatch.setattr(repository, "create", create_public)
    with pytest.raises(PublishError, match="the repository is public"):
        publish(hub, *first(releases()), replace(options, private=True))
    assert hub.tree(REPO).keys() <= {".gitattributes"}
