"""What an answer of the Hub becomes in a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
from huggingface_hub.errors import HfHubHTTPError

from pipelines.hub.client import explain_error

if TYPE_CHECKING:
    import pytest


def test_a_token_that_the_hub_echoes_is_masked_before_its_words_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "my-own-secret")
    response = httpx.Response(403, request=httpx.Request("GET", "https://hub.example/api"))
    for words in ("invalid token my-own-secret", "x" * 292 + "my-own-secret"):
        trouble = explain_error(HfHubHTTPError("denied", response=response, server_message=words))
        assert "my-own" not in trouble.words
        assert "[tok" in trouble.words
