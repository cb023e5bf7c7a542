"""Logging in, and what an answer of the Hub becomes in a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest
from huggingface_hub.errors import HfHubHTTPError

from builders.errors import PublishError, SourceError
from pipelines.hub import client, publishing, repository
from pipelines.hub.client import explain_error
from tests.support.loopback_hub import READER, WRITER, Fault, LoopbackHub
from tests.support.publishing import (
    REPO,
    first_dir,
    patience,
)

if TYPE_CHECKING:
    from pipelines.hub.planning import PublishOptions


def test_a_missing_token_is_an_error_that_names_hf_token(hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PublishError, match="no token to publish with") as caught:
        publishing.login(endpoint=hub.url)
    assert "HF_TOKEN" in str(caught.value)
    monkeypatch.setenv("HF_TOKEN", WRITER)
    assert publishing.login(endpoint=hub.url).api.token == WRITER


@pytest.mark.parametrize(("token", "words"), [(READER, "can only read"), ("hf_unknown", "401"), ("hf_bad", "HF_TOKEN")])
def test_the_error_for_a_read_only_or_invalid_token_does_not_show_the_token(
    hub: LoopbackHub, token: str, words: str
) -> None:
    with pytest.raises(PublishError) as caught:
        publishing.login(endpoint=hub.url, token=token, patience=patience())
    assert words in str(caught.value)
    assert token not in str(caught.value)


def test_nothing_is_published_or_fetched_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(PublishError, match="connections to the Hub are disabled"):
        publishing.login(token=WRITER)
    with pytest.raises(SourceError, match="connections to the Hub are disabled"):
        client.connect()


def test_the_error_for_a_foreign_namespace_names_the_repository(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    connection = publishing.login(endpoint=hub.url, token=WRITER, patience=patience())
    hub.fail(1, Fault(status=403))
    with pytest.raises(PublishError, match="committing failed") as caught:
        publishing.publish(*first_dir(releases()), options, connection)
    assert f"a token that may write to {REPO}" in str(caught.value)


def test_waiting_times_follow_the_server_up_to_a_limit(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    waits: list[float] = []
    connection = publishing.login(endpoint=hub.url, token=WRITER, patience=patience(waits))
    for headers, seconds in (
        ({"Retry-After": "7"}, 7), ({"RateLimit": '"api";r=0;t=55'}, 55), ({"Retry-After": "86400"}, 300), ({}, 1)
    ):  # fmt: skip
        hub.fail(0, Fault(status=429, headers=headers))
        assert repository.snapshot(connection, "org/nothing") is None
        assert waits.pop() == seconds
    hub.fail(0, Fault(status=503), always=True)
    with pytest.raises(PublishError, match="run the command again later"):
        repository.snapshot(connection, "org/nothing")
    assert waits == [1, 2, 4]


def test_a_token_that_the_hub_echoes_is_masked_before_its_words_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "my-own-secret")
    response = httpx.Response(403, request=httpx.Request("GET", "https://hub.example/api"))
    for words in ("invalid token my-own-secret", "x" * 292 + "my-own-secret"):
        trouble = explain_error(HfHubHTTPError("denied", response=response, server_message=words))
        assert "my-own" not in trouble.words
        assert "[tok" in trouble.words
