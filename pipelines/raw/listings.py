"""The files of a repository at one commit, as the Hub or GitHub lists them: sizes and digests without a byte of data."""

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from huggingface_hub import constants

from builders.raw_files import GitHub, Hub
from builders.spec import Source
from pipelines.process.safe_text import safe_text
from pipelines.raw.requests import hub_token, user_agent
from pipelines.raw.settings import RawSettings, stored_file

LIMIT = 30  # seconds for an answer
NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Listing:
    """The files of a repository by path: size, sha256 and git blob id, as far as they are listed.

    commit: of the listed revision. license: as its card states it; empty if it does not. failure: why nothing was listed.
    """

    files: dict[str, tuple[int | None, str | None, str | None]] = field(default_factory=dict)
    commit: str | None = None
    license: str = ""
    gated: bool = False
    failure: str = ""


def list_repository(location: Hub | GitHub, settings: RawSettings) -> Listing:
    """The files of the repository of a location, at its commit."""
    import httpx

    token = hub_token() if isinstance(location, Hub) else None
    headers = {"User-Agent": user_agent()} | ({"Authorization": f"Bearer {token}"} if token else {})
    try:
        with httpx.Client(headers=headers, timeout=LIMIT) as client:
            answer = client.get(_list_url(location, settings)).raise_for_status().json()
        return _read_hub(answer) if isinstance(location, Hub) else _read_github(answer, location)
    except httpx.HTTPStatusError as error:
        return Listing(failure=f"status {error.response.status_code}")
    except (httpx.HTTPError, ValueError, LookupError, TypeError) as error:
        return Listing(failure=safe_text(f"{type(error).__name__}: {error}")[:200])


def _list_url(location: Hub | GitHub, settings: RawSettings) -> str:
    if isinstance(location, GitHub):
        return f"{settings.github_api}/repos/{location.repo}/git/trees/{location.commit}?recursive=1"
    revision = quote(location.revision, safe="")
    return f"{settings.hub or constants.ENDPOINT}/api/datasets/{location.repo}/revision/{revision}?blobs=true"


def _read_hub(answer: dict[str, Any]) -> Listing:
    lfs = {entry["rfilename"]: entry.get("lfs") or {} for entry in answer["siblings"]}
    files = {
        entry["rfilename"]: (entry["size"], lfs[entry["rfilename"]].get("sha256"), entry["blobId"])
        for entry in answer["siblings"]
    }
    stated = (answer.get("cardData") or {}).get("license") or ()
    return Listing(
        files, answer["sha"], ", ".join([stated] if isinstance(stated, str) else stated), bool(answer["gated"])
    )


def _read_github(answer: dict[str, Any], location: GitHub) -> Listing:
    """What git-lfs keeps is listed with the size and the id of its pointer."""
    files: dict[str, tuple[int | None, str | None, str | None]] = {
        entry["path"]: (None, None, None) if location.lfs else (entry["size"], None, entry["sha"])
        for entry in answer["tree"]
        if entry["type"] == "blob"
    }
    return Listing(files, location.commit, failure="the list is cut off" if answer.get("truncated") else "")


def compare_listing(source: Source, location: Hub | GitHub, listing: Listing) -> list[str]:
    """What a listing lacks of a source, and what it has that the source does not say: files like those read, terms, a licence."""
    stored = [stored_file(file).location for file in source.files.values()]
    read = {each.path for each in stored if isinstance(each, type(location)) and each.repo == location.repo}
    folders = {(_pattern(path), str(PurePosixPath(path).parent)) for path in read}
    many = {pattern for pattern, number in Counter(pattern for pattern, _ in folders).items() if number > 1}
    unread = [
        path
        for path in listing.files
        if path not in read and (_pattern(path) in many or (_pattern(path), str(PurePosixPath(path).parent)) in folders)
    ]
    found = [f"its repository is not listed: {listing.failure}"] if listing.failure else []
    found += [
        f"{path} is not in its repository at this commit" for path in read - listing.files.keys() if listing.files
    ]
    found += [f"not read, though like those that are: {', '.join(unread[:5])}, {len(unread)} in all"] if unread else []
    if listing.gated and not any(isinstance(each, Hub) and each.gated for each in stored):
        found.append("it is gated now: its terms must be accepted first")
    if listing.license and listing.license.lower() != source.license:
        found.append(f"its card states the licence {safe_text(listing.license[:80])}, the builder {source.license}")
    return found


def _pattern(path: str) -> str:
    """The name of a file without its folders, any number as one sign: `train-#-of-#.parquet`."""
    return NUMBER.sub("#", PurePosixPath(path).name)
