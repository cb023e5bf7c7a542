"""What servers answer before a build: what the user's token for the Hub may do, and whether mirrors are there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from huggingface_hub import constants

from builders.errors import SourceError
from builders.raw_files import Hub, RawFile
from pipelines.raw.mirrors import FolderMirror, HubMirror, Mirror, WebMirror
from pipelines.raw.urls import file_url, https_check, hub_token
from pipelines.raw.user_agent import user_agent

if TYPE_CHECKING:
    import httpx

SECONDS = 5.0  # that a server may take for each step of an answer
AT_ONCE = 4  # requests

Readable = Literal["yes", "no", "unknown"]


@dataclass(frozen=True)
class Identity:
    """Whose token it is. name: None where the Hub did not accept it, or did not answer. role: read, write or fineGrained."""

    name: str | None
    role: str = ""
    organisations: tuple[str, ...] = ()
    reads_gated: bool | None = None
    failure: str = ""
    refused: bool = False


@dataclass(frozen=True)
class FileAccess:
    """Whether the token may read a file. reason: the Hub's, where it may not, or why that is unknown."""

    readable: Readable
    reason: str = ""


def ask_identity(token: str, endpoint: str | None = None) -> Identity:
    """Whose token it is; never raises for what the Hub answers, or does not."""
    answer = _ask("GET", f"{endpoint or constants.ENDPOINT}/api/whoami-v2", token)
    if isinstance(answer, str):
        return Identity(None, failure=answer)
    if answer.status_code in {401, 403}:
        return Identity(None, failure=f"the Hub answers {answer.status_code}", refused=True)
    try:
        content = answer.json()
        access = content.get("auth", {}).get("accessToken", {})
        fine_grained = access.get("fineGrained") or {}
        organisations = tuple(str(one["name"]) for one in content.get("orgs", ()))
        gated = fine_grained.get("canReadGatedRepos")
        return Identity(str(content["name"]), str(access.get("role", "")), organisations, gated)
    except (ValueError, KeyError, TypeError, AttributeError):
        return Identity(None, failure=f"an unexpected answer of the Hub (status {answer.status_code})")


def ask_access(files: Sequence[RawFile], token: str | None, endpoint: str | None = None) -> list[FileAccess]:
    """Whether the token may read files of the Hub: one HEAD request each, several at once."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda file: _file_access(file, token, endpoint or constants.ENDPOINT), files))


def find_failure(mirror: Mirror, *, offline: bool, endpoint: str | None = None) -> str:
    """Why a mirror does not answer, in words; empty where it does, or where it is not on this machine and `offline` is set."""
    if isinstance(mirror, FolderMirror):
        readable = mirror.path.is_dir() and os.access(mirror.path, os.R_OK | os.X_OK)
        return "" if readable else "no such folder, or not readable"
    if offline:
        return ""
    token, method, url = None, "HEAD", str(mirror)
    if isinstance(mirror, HubMirror):
        path = f"/{mirror.name}" if "/" in mirror.name else f"?author={mirror.name}&limit=1"
        try:
            token = hub_token()
        except SourceError as error:
            return error.what
        method, url = "GET", f"{endpoint or constants.ENDPOINT}/api/datasets{path}"
    answer = _ask(method, url, token)
    if isinstance(answer, str):
        return answer.replace("the Hub", "it") if isinstance(mirror, WebMirror) else answer
    refused = isinstance(mirror, HubMirror) and answer.status_code in {401, 403, 404}
    return f"status {answer.status_code}" if refused or answer.status_code >= 500 else ""


def _file_access(file: RawFile, token: str | None, endpoint: str) -> FileAccess:
    assert isinstance(file.location, Hub), "only files of the Hub are gated"
    answer = _ask("HEAD", file_url(file.location, hub=endpoint) or "", token)
    if isinstance(answer, str):
        return FileAccess("unknown", answer)
    status, code = answer.status_code, answer.headers.get("X-Error-Code", "")
    if status < 400:  # a redirect leads to the content, which is not asked for
        return FileAccess("yes")
    if code == "GatedRepo":
        reason = "the terms are not accepted" if token else "no token"
        return FileAccess("no", f"{reason} (status {status})")
    if status in {401, 403}:
        return FileAccess("no", f"status {status}")
    return FileAccess("unknown", f"the Hub answers {status}")


def _ask(method: str, url: str, token: str | None) -> httpx.Response | str:
    """The answer to one request, or in words why there is none. A redirect is not followed, so the token goes nowhere else."""
    import httpx

    headers = {"User-Agent": user_agent()} | ({"Authorization": f"Bearer {token}"} if token else {})
    hooks = {"request": [https_check("the Hub", url, "set HF_ENDPOINT to an https address")]}
    try:
        with httpx.Client(timeout=SECONDS, headers=headers, event_hooks=hooks) as client:
            return client.request(method, url)
    except SourceError as error:
        return error.what
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return f"the Hub cannot be reached ({type(error).__name__})"
