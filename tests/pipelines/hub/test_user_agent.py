"""Every request to a Hub names this package and its version."""

from pathlib import Path
from typing import Any

import pytest

from pipelines.hub import client, repository
from pipelines.hub.planning import PublishOptions
from pipelines.process import installation
from tests.support.loopback_hub import LoopbackHub
from tests.support.publishing import first, patience, publish

OURS = f"embedding-datasets/{installation.version()}"


@pytest.mark.parametrize("disable_xet", [True, False], ids=["LFS", "Xet"])
def test_each_request_of_publishing_and_fetching_has_our_name_and_version(
    hub: LoopbackHub,
    options: PublishOptions,
    releases: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    disable_xet: bool,
) -> None:
    from huggingface_hub.utils._xet import abort_xet_session

    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", disable_xet)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    abort_xet_session()
    published = publish(hub, *first(releases()), options)
    connection = client.connect(endpoint=hub.url, patience=patience())
    repository.fetch_release_at(connection, published.plan.repo, "v1.0.0", tmp_path / "another cache")
    uploads = {path for path in hub.user_agents if path.startswith("/uploads/" if disable_xet else "/xet/")}
    assert uploads
    assert {path: agent for path, agent in hub.user_agents.items() if OURS not in agent} == {}
