"""Logging in, and what an answer of the Hub becomes in a message."""

from dataclasses import replace
from typing import Any

import httpx
import pytest
from huggingface_hub.errors import HfHubHTTPError

from builders.errors import PublishError, SourceError
from pipelines.hub import client, publishing, repository
from pipelines.hub.client import explain_error
from pipelines.hub.planning import PublishOptions
from tests.support.loopback_hub import EXPIRED, READER, WRITER, Fault, LoopbackHub
from tests.support.publishing import REPO, first, first_dir, patience, publish


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


def test_an_expired_token_is_reported_in_the_words_of_the_hub_without_the_token(hub: LoopbackHub) -> None:
    with pytest.raises(PublishError, match="identifying the token failed") as caught:
        publishing.login(endpoint=hub.url, token=EXPIRED, patience=patience())
    assert caught.value.found == "the Hub answered 401 Unauthorized: User access token [token] has expired"
    assert "log in again" in str(caught.value)


def test_the_error_for_a_commit_that_the_token_may_not_make_names_the_repository(
    hub: LoopbackHub, options: PublishOptions, releases: Any
) -> None:
    hub.fail_at["/commit/"] = Fault(status=403)
    with pytest.raises(PublishError, match="committing failed") as caught:
        publish(hub, *first(releases()), options)
    assert f"a token that may write to {REPO}" in str(caught.value)


def test_waiting_times_follow_the_server_for_up_to_an_hour(hub: LoopbackHub) -> None:
    waits: list[float] = []
    connection = publishing.login(endpoint=hub.url, token=WRITER, patience=patience(waits))
    for headers, seconds in (
        ({"Retry-After": "7"}, 7), ({"RateLimit": '"api";r=0;t=55'}, 55), ({"Retry-After": "3600"}, 3600), ({}, 1)
    ):  # fmt: skip
        hub.fail(0, Fault(status=429, headers=headers))
        assert repository.snapshot(connection, "org/nothing") is None
        assert waits.pop() == seconds
    hub.fail(0, Fault(status=503), always=True)
    with pytest.raises(PublishError, match="run the same command again later"):
        repository.snapshot(connection, "org/nothing")
    assert waits == [1, 2, 4]


def test_a_token_that_the_hub_echoes_is_masked_before_its_words_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "my-own-secret")
    response = httpx.Response(403, request=httpx.Request("GET", "https://hub.example/api"))
    for words in ("invalid token my-own-secret", "x" * 292 + "my-own-secret"):
        trouble = explain_error(HfHubHTTPError("denied", response=response, server_message=words))
        assert "my-own" not in trouble.words
        assert "[tok" in trouble.words


NOON = 1_772_625_600  # 2026-03-04 12:00 UTC


def test_a_hub_that_asks_for_more_than_an_hour_is_an_error_that_says_when_to_come_back(
    hub: LoopbackHub, options: PublishOptions, releases: Any, online: list[float]
) -> None:
    waits: list[float] = []
    connection = publishing.login(endpoint=hub.url, token=WRITER, patience=replace(patience(waits), now=lambda: NOON))
    busy = Fault(status=503, headers={"Retry-After": "86400"})
    for path in (
        "/revision/main",
        "/repos/create",
        "/preupload/",
        "/objects/batch",
        "/uploads/",
        "/commit/",
        "/resolve/",
        "/tag/",
    ):
        hub.fail_at = {path: busy}
        with pytest.raises(PublishError, match="answered 503") as caught:
            publishing.publish(*first_dir(releases()), options, connection)
        assert caught.value.todo == "run the same command again after 2026-03-05 12:00 UTC"
    assert waits + online == []


def test_a_long_wait_that_the_hub_asks_for_is_announced_with_its_end(
    hub: LoopbackHub, capsys: pytest.CaptureFixture[str]
) -> None:
    connection = client.connect(endpoint=hub.url, patience=replace(patience(), now=lambda: NOON))
    hub.fail(0, Fault(status=429, headers={"RateLimit": '"api";r=0;t=1800'}))
    repository.snapshot(connection, REPO)
    assert "trying again in 30 min, until 12:30 UTC (1 of 3)" in capsys.readouterr().err
