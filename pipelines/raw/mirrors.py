"""Mirrors: where else a raw file may be had, by its digest. EMBEDDING_DATASETS_MIRRORS names them.

A mirror holds whole files under their digests and nothing else decides: it is asked only for a digest that is known before, and
what it sends is verified like any download.

    <mirror>/sha256/ab/ab12...     a file that is pinned by its sha256
    <mirror>/git-blob/ab/ab12...   a file that its source pins by its git blob id alone
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from builders.errors import UsageError
from pipelines.raw.pins import Pin
from pipelines.raw.requests import LOOPBACK

VARIABLE = "EMBEDDING_DATASETS_MIRRORS"
HUB_PREFIX = "hf://datasets/"
EXPECTED = "https://HOST/PATH, hf://datasets/ORG, hf://datasets/ORG/NAME or a folder"
KINDS = ("sha256/", "git-blob/")  # how the paths of files begin
HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[\w.-]+)?", re.ASCII)


@dataclass(frozen=True)
class HubMirror:
    """A dataset repository on the Hub, `ORG/NAME`; or `ORG`: a repository for each source, as `publish --raw` makes them."""

    name: str

    def repository(self, source: str) -> str:
        """The repository with the files of a source."""
        return self.name if "/" in self.name else f"{self.name}/{repository_name(source)}"

    def __str__(self) -> str:
        """As it is configured."""
        return f"{HUB_PREFIX}{self.name}"


Mirror = Path | str | HubMirror  # a folder on this machine, an https address without a slash at its end, the Hub


def configured_mirrors() -> tuple[Mirror, ...]:
    """The mirrors of EMBEDDING_DATASETS_MIRRORS, in the order in which they are asked.

    Raises UsageError for an entry that is none.
    """
    return parse_mirrors(os.environ.get(VARIABLE, ""))


def parse_mirrors(text: str) -> tuple[Mirror, ...]:
    """The mirrors in a text, separated by white space or commas; a folder with these in its name is written as a file:// address.

    Raises UsageError for an entry that is none.
    """
    return tuple(dict.fromkeys(_parse(entry) for entry in re.split(r"[\s,]+", text) if entry))


def repository_name(source: str) -> str:
    """The name of the Hub repository with the raw files of a source."""
    return f"raw-{source}"


def digest_path(pin: Pin) -> str | None:
    """The path of a file on every mirror; None where no digest of it is known."""
    if pin.sha256 is not None:
        return f"sha256/{pin.sha256[:2]}/{pin.sha256}"
    return f"git-blob/{pin.git_blob[:2]}/{pin.git_blob}" if pin.git_blob is not None else None


def find_in_folders(mirrors: tuple[Mirror, ...], pin: Pin) -> Path | None:
    """The path below the first folder that has a file of this digest; its bytes are not read."""
    path = digest_path(pin)
    folders = [mirror for mirror in mirrors if isinstance(mirror, Path)]
    return next((folder / path for folder in folders if os.path.isfile(folder / path)), None) if path else None  # noqa: PTH113 - never raises


def _parse(entry: str) -> Mirror:
    if entry.startswith(HUB_PREFIX):
        name = entry.removeprefix(HUB_PREFIX).rstrip("/")
        if HUB_NAME.fullmatch(name):
            return HubMirror(name)
        raise _invalid(entry)
    scheme, found, rest = entry.partition("://")
    if not found:
        return Path(entry).expanduser().absolute()
    if scheme == "file" and rest.startswith("/"):
        return Path(unquote(rest))
    import httpx

    try:
        url = httpx.URL(entry)
    except httpx.InvalidURL:
        raise _invalid(entry) from None
    plain = url.scheme == "http" and url.host in LOOPBACK
    if (url.scheme == "https" or plain) and url.host and not (url.userinfo or url.query or url.fragment):
        return entry.rstrip("/")
    raise _invalid(entry)


def _invalid(entry: str) -> UsageError:
    todo = "correct it; an address has no password, no ? and no #"
    return UsageError("invalid mirror", where=VARIABLE, found=entry, expected=EXPECTED, todo=todo)
