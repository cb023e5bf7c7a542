"""The URLs of raw files on GitHub, on the Hub and elsewhere, and the user's token for the Hub."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import quote

import huggingface_hub

from builders.errors import SourceError
from builders.raw_files import ByHand, GitHub, Https, Hub, Location, Member

if TYPE_CHECKING:
    import httpx

GITHUB_RAW = "https://raw.githubusercontent.com"
GITHUB_MEDIA = "https://media.githubusercontent.com/media"
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
