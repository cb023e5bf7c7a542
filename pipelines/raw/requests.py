"""Requests for raw files: their addresses, the user's token for the Hub, the name of this package, and when to retry."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import huggingface_hub

from builders.errors import SourceError
from builders.raw_files import ByHand, GitHub, Https, Hub, Location, Member
from pipelines.process.installation import NAME, version

if TYPE_CHECKING:
    import ssl

    import httpx


GITHUB_RAW = "https://raw.githubusercontent.com"
GITHUB_MEDIA = "https://media.githubusercontent.com/media"
GITHUB_API = "https://api.github.com"
HUB = "https://huggingface.co"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def file_url(
    location: Location, *, github_raw: str = GITHUB_RAW, github_media: str = GITHUB_MEDIA, hub: str = HUB
) -> str | None:
    """The URL of a raw file, `#path` for a member of an archive; None for a file that is fetched by hand.

    github_raw, github_media, hub: base URLs.
    """
    match location:
        case Https(url):
            return url
        case GitHub(repo, commit, path, lfs):
            return f"{github_media if lfs else github_raw}/{repo}/{commit}/{quote(path)}"
        case Hub(repo, revision, path):
            return huggingface_hub.hf_hub_url(repo, path, repo_type="dataset", revision=revision, endpoint=hub)
        case Member(archive, path):
            archive_url = file_url(archive.location, github_raw=github_raw, github_media=github_media, hub=hub)
            return None if archive_url is None else f"{archive_url}#{quote(path)}"
        case ByHand():
            return None


def https_check(name: str, url: str, todo: str) -> Callable[[httpx.Request], None]:
    """A check before each HTTP request, also after a redirect: https, or loopback where the file's own URL is on loopback.

    name, todo: for the SourceError that the check raises.
    """

    import httpx

    def is_plain_loopback(url: httpx.URL) -> bool:
        return url.scheme == "http" and url.host in LOOPBACK

    loopback_allowed = is_plain_loopback(httpx.URL(url))

    def check(sent: httpx.Request) -> None:
        if sent.url.scheme != "https" and not (loopback_allowed and is_plain_loopback(sent.url)):
            raise SourceError(
                f"{name}: the URL is not https, or redirects to one that is not",
                where=url,
                found=f"{sent.url.scheme}://{sent.url.host}",
                expected="https",
                todo=todo,
            )

    return check


def client_options(name: str, url: str, token: str | None, todo: str = "") -> dict[str, Any]:
    """Options of an HTTP client: our name, the user's token, and https_check, with its parameters, before each request."""
    headers = {"User-Agent": user_agent()} | ({"Authorization": f"Bearer {token}"} if token else {})
    certificates = _read_certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    return {"headers": headers, "verify": certificates, "event_hooks": {"request": [https_check(name, url, todo)]}}


@cache
def _read_certificates(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    """The authorities that httpx trusts, which it reads from the file or folder if set. Once for all clients: it takes 40 ms."""
    import httpx

    return httpx.create_ssl_context()


def network_hint(host: str) -> str:
    """What to check where a host is not found."""
    is_hub = host == urlsplit(huggingface_hub.constants.ENDPOINT).hostname
    return f"check the network{f', and HF_ENDPOINT, which says where the Hub is: now {host}' * is_hub}"


def hub_token() -> str | None:
    """The user's token for the Hub, if there is one.

    Raises SourceError for a token that cannot be sent in a header: the HTTP library would show it in its own error.
    """
    token = huggingface_hub.get_token()
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        raise SourceError(
            "the Hub token contains an invalid character", todo="set HF_TOKEN again, or run `hf auth login`"
        )
    return token


SHORT = 120  # seconds that a message gives as such
YEAR = 366 * 86_400  # seconds; a server may send any number


def seconds_before_retry(failures: int, first: float, longest: float, retry_after: float | None) -> float:
    """The seconds before the next attempt: what the server asks for, else `first`, doubled by each failure up to `longest`."""
    return min(first * 2 ** (failures - 1), longest) if retry_after is None else retry_after


def describe_wait(seconds: float, now: float) -> str:
    """A waiting time in words: `7 s`, or `20 min, until 14:05 UTC`. now: the time, in seconds since 1970."""
    if seconds <= SHORT:
        return f"{seconds:g} s"
    return f"{math.ceil(seconds / 60)} min, until {datetime.fromtimestamp(now + seconds, UTC):%H:%M} UTC"


def describe_end(seconds: float, now: float) -> str:
    """When a waiting time is over: `after 2026-03-04 14:05 UTC`. now: the time, in seconds since 1970."""
    if seconds > YEAR:
        return "in more than a year"
    return f"after {datetime.fromtimestamp(now + seconds, UTC):%Y-%m-%d %H:%M} UTC"


def user_agent() -> str:
    """The User-Agent of requests: name and version."""
    return f"{NAME}/{version()}"
