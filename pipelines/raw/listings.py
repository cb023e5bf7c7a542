"""The files of a repository at one commit, as the Hub or GitHub lists them: sizes and digests without a byte of data."""

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from huggingface_hub import constants

from builders.errors import SourceError
from builders.raw_files import GitHub, Hub, Location
from builders.spec import Source
from pipelines.process.safe_text import safe_text
from pipelines.raw.download import is_passing
from pipelines.raw.requests import client_options, hub_token
from pipelines.raw.settings import RawSettings, stored_file

LIMIT = 30  # seconds for an answer
NUMBER = re.compile(r"\d+")
LICENSE = re.compile(r"(un)?licen[cs]e|copying", re.IGNORECASE)


@dataclass(frozen=True)
class Listing:
    """The files of a repository by path: size, sha256 and git blob id, as far as they are listed.

    commit: of the listed revision. license: as its card states it; empty if it does not. stated: what else is wrong with the
    repository, as its server says. failure: why nothing was listed.
    unseen: why nothing, or not all, was listed, though it may well be there; trouble: whether another time may show it.
    """

    files: dict[str, tuple[int | None, str | None, str | None]] = field(default_factory=dict)
    commit: str | None = None
    license: str = ""
    gated: bool = False
    stated: tuple[str, ...] = ()
    failure: str = ""
    unseen: str = ""
    trouble: bool = False


def list_repository(location: Hub | GitHub, settings: RawSettings) -> Listing:
    """The files of the repository of a location, at its commit."""
    import httpx

    url = _list_url(location, settings)
    options = client_options(location.repo, url, hub_token() if isinstance(location, Hub) else None)
    try:  # a repository that has another name now redirects; httpx sends the token to no other host
        with httpx.Client(timeout=LIMIT, follow_redirects=True, **options) as client:
            answer = client.get(url).raise_for_status().json()
        return _read_hub(answer, location) if isinstance(location, Hub) else _read_github(answer, location)
    except httpx.HTTPStatusError as error:
        status, sent = error.response.status_code, error.response.headers
        if is_passing(status) or sent.get("X-RateLimit-Remaining") == "0":
            return Listing(unseen=f"status {status}", trouble=True)
        return Listing(failure=safe_text(f"status {status} {sent.get('X-Error-Code', '')[:40]}".strip()))
    except httpx.TransportError as error:
        return Listing(unseen=safe_text(f"{type(error).__name__}: {error}")[:200], trouble=True)
    except (httpx.HTTPError, SourceError, ValueError, LookupError, TypeError) as error:
        return Listing(failure=safe_text(f"{type(error).__name__}: {error}")[:200])


def _list_url(location: Hub | GitHub, settings: RawSettings) -> str:
    if isinstance(location, GitHub):
        return f"{settings.github_api}/repos/{location.repo}/git/trees/{location.commit}?recursive=1"
    revision = quote(location.revision, safe="")
    return f"{settings.hub or constants.ENDPOINT}/api/datasets/{location.repo}/revision/{revision}?blobs=true"


def _read_hub(answer: dict[str, Any], location: Hub) -> Listing:
    files = dict[str, tuple[int | None, str | None, str | None]]()
    for entry in answer["siblings"]:
        sha256 = (entry.get("lfs") or {}).get("sha256")  # what git-lfs keeps has the blob id of its pointer
        files[entry["rfilename"]] = (entry.get("size"), sha256, None if sha256 else entry.get("blobId"))
    licenses = (answer.get("cardData") or {}).get("license") or ()
    name, commit = answer.get("id", location.repo), answer["sha"]
    stated = {
        f"its repository is called {safe_text(name[:80])} now": name != location.repo,
        "its repository is disabled": answer.get("disabled"),
        f"its list is of commit {safe_text(commit[:40])}": not (location.moving or commit == location.revision),
    }
    return Listing(
        files,
        commit,
        ", ".join([licenses] if isinstance(licenses, str) else licenses),
        bool(answer["gated"]),
        tuple(text for text, is_so in stated.items() if is_so),
        unseen="without sizes and digests" if any(size is None for size, _, _ in files.values()) else "",
    )


def _read_github(answer: dict[str, Any], location: GitHub) -> Listing:
    """What git-lfs keeps is listed with the size and the id of its pointer."""
    files: dict[str, tuple[int | None, str | None, str | None]] = {
        entry["path"]: (None, None, None) if location.lfs else (entry["size"], None, entry["sha"])
        for entry in answer["tree"]
        if entry["type"] == "blob"
    }
    return Listing(files, location.commit, unseen="it is cut off" if answer.get("truncated") else "")


def compare_listing(source: Source, location: Hub | GitHub, listing: Listing) -> list[str]:
    """What a listing lacks of a source, and what it has that the source does not say: files like those read, terms, a licence."""
    stored = [stored_file(file).location for file in source.files.values()]
    read = {each.path for each in stored if isinstance(each, type(location)) and each.repo == location.repo}
    alike = {_shard(path) for path in read}
    unread = [path for path in listing.files if path not in read and _shard(path) in alike]
    found = [f"its repository is not listed: {listing.failure}"] if listing.failure else list(listing.stated)
    gone = sorted(read - listing.files.keys()) if listing.files and not listing.unseen else []
    found += [f"{path} is not in its repository at this commit" for path in gone]
    found += [f"not read, though like those that are: {', '.join(unread[:5])}, {len(unread)} in all"] if unread else []
    if listing.gated and not any(isinstance(each, Hub) and each.gated for each in stored):
        found.append("it is gated now: its terms must be accepted first")
    if listing.license and listing.license.lower() != source.license:
        found.append(f"its card states the licence {safe_text(listing.license[:80])}, the builder {source.license}")
    return found


def _shard(path: str) -> tuple[str, str]:
    """The folder of a file, and its name with any number as one sign: `train-#-of-#.parquet`. Other folders hold other data."""
    return str(PurePosixPath(path).parent), NUMBER.sub("#", PurePosixPath(path).name)


def find_unseen(location: Location, listing: Listing) -> list[str]:
    """What is not known of a file's repository and licence."""
    unseen = [f"all of the list of its repository: {listing.unseen}"] if listing.unseen else []
    if isinstance(location, Hub) and listing.license:
        return unseen
    texts = [path for path in listing.files if LICENSE.match(path)]
    return [
        *unseen,
        f"the licence: {', '.join(texts[:3])} is not read" if texts else "the licence, which no list states",
    ]
