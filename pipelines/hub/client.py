"""The Hub, as it is read: calls that are patient with it, its errors in words, releases of a revision fetched into the cache."""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from huggingface_hub import HfApi, constants, get_session
from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError
from huggingface_hub.utils.tqdm import disable_progress_bars

from builders.errors import DatasetError, PublishError, ReleaseError, SourceError
from builders.spec import version_key
from pipelines.raw import digests
from pipelines.raw.download import BUSY, Patience
from pipelines.release import staging
from pipelines.release.verification import is_manifest
from pipelines.terminal import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


Answer = TypeVar("Answer")

REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+", re.ASCII)
NAME = re.compile(rf"({REPOSITORY.pattern})(?:@([\w./-]+))?", re.ASCII)
SPENT = re.compile(r";\s*r=0\s*;\s*t=(\d+)", re.ASCII)  # of a RateLimit header: nothing remains, seconds until it does
VERSION_TAG = re.compile(r"v(\d+\.\d+\.\d+)", re.ASCII)


@dataclass(frozen=True)
class HubClient:
    """A connection to the Hub; what fails for good is raised as `error`."""

    api: HfApi
    patience: Patience
    error: type[DatasetError]


@dataclass(frozen=True)
class Snapshot:
    """A dataset repository at one commit; digests: for every file its sha256 where it is kept in LFS, else its git blob id."""

    sha: str
    private: bool
    digests: Mapping[str, str]


@dataclass(frozen=True)
class Trouble:
    """Why a call failed: in words, with the status if the Hub answered; whether another attempt may do better, and when."""

    words: str
    status: int | None = None
    passing: bool = False
    retry_after: float | None = None


def parse_reference(text: str, default: str | None = None) -> tuple[str, str] | None:
    """The repository and revision that `ORG/name@tag` means, and `ORG/name` if there is a default; None for anything else.

    What exists is a path; and so is `outputs/name`, which does not, where there is a folder `outputs`.
    """
    match = NAME.fullmatch(text)
    if match is None or Path(text).exists():
        return None
    revision = match[2] or (None if Path(text).parent.exists() else default)
    return (match[1], revision) if revision else None


def connect(
    error: type[DatasetError] = SourceError,
    *,
    endpoint: str | None = None,
    token: str | None = None,
    patience: Patience | None = None,
) -> HubClient:
    """A connection to the Hub, or to the `endpoint` that speaks its language; without a token, the stored login if there is one.

    Raises `error` where the environment forbids connections.
    """

    if constants.HF_HUB_OFFLINE:
        raise error("the Hub may not be reached", found="HF_HUB_OFFLINE is set", todo="unset it")
    if not sys.stderr.isatty():
        disable_progress_bars()
    api = HfApi(endpoint=endpoint, token=token, library_name="embedding-datasets")
    # A commit of many files takes the Hub a while.
    return HubClient(api, patience or Patience(retries=4, read=300), error)


def call(hub: HubClient, what: str, repo: str, action: Callable[[], Answer]) -> Answer:
    """What an action answers; tried again while the Hub is busy or out of reach.

    what: the action in words, for errors (`reading its tags`).

    Raises the hub's error.
    """
    failures = 0
    while True:
        try:
            set_timeouts(hub)
            return action()
        except hub_errors() as error:
            trouble = explain_error(error)
            failures += 1
            if not trouble.passing or failures > hub.patience.retries:
                raise call_failed(hub, what, repo, trouble) from error
            wait_before_retry(hub, f"{repo}: {what}", trouble, failures)


def set_timeouts(hub: HubClient) -> None:
    """Have the calls that follow end when the Hub is silent for too long: by itself its library waits for ever."""

    connect, read = hub.patience.connect, hub.patience.read
    get_session().timeout = (connect, read, read, connect)


def hub_errors() -> tuple[type[Exception], ...]:
    """What the Hub's library raises when a call fails.

    Its bases include the root of all errors of its HTTP library, which is not the same in all versions; uploads hide errors in
    a RuntimeError, downloads in a ValueError.
    """

    http = [base for base in HfHubHTTPError.__bases__ if issubclass(base, Exception)]
    return (*http, OSError, RuntimeError, ValueError)


def explain_error(error: BaseException) -> Trouble:
    """Why a call failed, from the error or what it was raised from. Nothing of a request is told: it may hold a token."""

    chain = [error]
    while chain[-1].__cause__ is not None:
        chain.append(chain[-1].__cause__)
    for one in chain:
        if isinstance(one, HfHubHTTPError):
            return _answered(one)
    for one in chain:
        module = type(one).__module__.partition(".")[0]
        if module.startswith("httpx"):
            return Trouble(f"{type(one).__name__}: {one}".removesuffix(": "), passing=True)
        if isinstance(one, json.JSONDecodeError):
            return Trouble("its answer is no JSON", passing=True)
    return Trouble(" ".join(str(error).split()) or type(error).__name__)


def wait_before_retry(hub: HubClient, what: str, trouble: Trouble, failures: int) -> None:
    """Wait before another attempt: as long as the server asks for, within reason, else longer each time."""
    patience = hub.patience
    seconds = min(patience.first_wait * 2 ** (failures - 1), patience.longest_wait)
    if trouble.retry_after is not None:
        seconds = min(trouble.retry_after, patience.longest_retry_after)
    say(f"{what}: {trouble.words}; trying again in {seconds:g} s ({failures} of {patience.retries})")
    patience.sleep(seconds)


def call_failed(hub: HubClient, what: str, repo: str, trouble: Trouble) -> DatasetError:
    """The error that a call for a repository ends in."""
    writing = hub.error is PublishError
    todo = {
        401: "log in again (hf auth login), or set HF_TOKEN to a token that is valid",
        403: f"use a token that may {'write to' if writing else 'read'} {repo} (HF_TOKEN, or hf auth login)",
        404: "see that the name is right; a private repository needs a token that may read it",
        412: "somebody else commits to this repository at the same time: run the command again",
    }
    if trouble.passing:
        todo = {trouble.status or 0: "run the command again later"}
    return hub.error(f"{what} failed", where=repo, found=trouble.words, todo=todo.get(trouble.status or 0))


def snapshot(hub: HubClient, repo: str, revision: str = "main") -> Snapshot | None:
    """A repository as it stands at a revision; None where there is no such repository or revision."""

    def ask() -> Snapshot | None:
        try:
            info = hub.api.dataset_info(repo, revision=revision, files_metadata=True, timeout=hub.patience.read)
        except GatedRepoError:
            raise
        except (RepositoryNotFoundError, RevisionNotFoundError):
            return None
        files = info.siblings or []
        digests = {file.rfilename: file.lfs.sha256 if file.lfs else file.blob_id or "" for file in files}
        return Snapshot(info.sha or "", bool(info.private), digests)

    return call(hub, "reading the repository", repo, ask)


def list_versions(hub: HubClient, repo: str) -> list[str]:
    """The versions that a repository has tags for, newest first: `2.0.0` for `v2.0.0`."""

    refs = call(hub, "reading its tags", repo, lambda: hub.api.list_repo_refs(repo, repo_type="dataset"))
    found = [match[1] for tag in refs.tags if (match := VERSION_TAG.fullmatch(tag.name))]
    return sorted(found, key=version_key, reverse=True)


def download(hub: HubClient, repo: str, sha: str, path: str, folder: Path) -> Path:
    """One file of a repository at a commit, below a folder, as the Hub has it now: no local cache is asked."""

    def ask() -> Path:
        arrived = hub.api.hf_hub_download(
            repo, path, repo_type="dataset", revision=sha, local_dir=folder, force_download=True,
            etag_timeout=hub.patience.read,
        )  # fmt: skip
        return Path(arrived)

    return call(hub, f"downloading {path}", repo, ask)


def read_file(hub: HubClient, repo: str, at: Snapshot, path: str) -> bytes | None:
    """The content of a small file at a snapshot; None where it does not have it."""
    if path not in at.digests:
        return None
    with tempfile.TemporaryDirectory() as folder:
        return download(hub, repo, at.sha, path, Path(folder)).read_bytes()


def read_manifest_at(hub: HubClient, repo: str, at: Snapshot) -> dict[str, Any] | None:
    """The manifest of the release at a snapshot; None where it holds none of ours."""
    return _manifest(read_file(hub, repo, at, staging.MANIFEST) or b"")


def fetch_release_at(hub: HubClient, repo: str, revision: str, cache: Path) -> Path:
    """The folder of a release on the Hub, fetched into the cache unless it is there.

    Raises the hub's error where there is no such revision, ReleaseError where it holds no release. The files are not looked
    at: see pipelines.release.verification.
    """
    return fetch_release(hub, repo, require_snapshot(hub, repo, revision), cache)


def require_snapshot(hub: HubClient, repo: str, revision: str) -> Snapshot:
    """A repository as it stands at a revision.

    Raises the hub's error where there is no such repository or revision.
    """
    at = snapshot(hub, repo, revision)
    if at is None:
        raise call_failed(hub, f"finding revision {revision}", repo, Trouble("no such repository or revision", 404))
    return at


def fetch_release(hub: HubClient, repo: str, at: Snapshot, cache: Path) -> Path:
    """The folder of the release at a snapshot, in the cache: a commit never changes.

    Raises ReleaseError where it holds no release, or not all of one.
    """
    place = cache / "hub" / repo / at.sha
    with staging.locked(place.parent, at.sha, say):
        if staging.read_manifest(place) is None:
            new = place.with_name(f".{at.sha}.new")
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir()
            _fetch(hub, repo, at, new)
            new.rename(place)
    return place


def fetch_files(hub: HubClient, repo: str, at: Snapshot, paths: Iterable[str], cache: Path) -> Path:
    """The folder in the cache that holds these files of a snapshot, fetched unless they are there: a commit never changes.

    Raises the hub's error for a file that is not what the Hub says of it.
    """
    place = cache / "hub" / repo / at.sha
    with staging.locked(place.parent, at.sha, say), tempfile.TemporaryDirectory(prefix=".", dir=place.parent) as folder:
        for path in paths:
            if not (place / path).exists():
                arrived = download(hub, repo, at.sha, path, Path(folder))
                _verify(hub, f"{repo} at {at.sha[:12]}: {path}", arrived, at.digests[path])
                (place / path).parent.mkdir(parents=True, exist_ok=True)
                arrived.replace(place / path)
    return place


def _verify(hub: HubClient, where: str, file: Path, expected: str) -> None:
    """See that a file has the digest that the Hub tells: a sha256, or a git blob id; it may tell none."""

    hashing = digests.Hasher(file.stat().st_size)
    with file.open("rb") as stream:
        while chunk := stream.read(digests.CHUNK):
            hashing.update(chunk)
    digest = hashing.digest()
    if expected not in ("", digest.sha256, digest.git_blob):
        raise hub.error(
            "what arrived is not the file on the Hub",
            where=where,
            found=str(digest),
            expected=expected,
            todo="try again",
        )


def _fetch(hub: HubClient, repo: str, at: Snapshot, folder: Path) -> None:
    """Download card, manifest, statistics, and the files that the manifest names."""
    where = f"{repo} at {at.sha[:12]}"
    if staging.MANIFEST not in at.digests:
        raise ReleaseError("the Hub holds no release there", where=where, found="no manifest.json")
    manifest = _manifest(download(hub, repo, at.sha, staging.MANIFEST, folder).read_bytes())
    if manifest is None:
        raise ReleaseError("the manifest on the Hub is of another program", where=where)
    paths = [staging.CARD, staging.STATISTICS, *(file["path"] for file in staging.files_of(manifest))]
    missing = [path for path in paths if path not in at.digests]
    if missing:
        raise ReleaseError("the release on the Hub lacks a file", where=where, found=missing[0])
    for path in paths:
        download(hub, repo, at.sha, path, folder)
    shutil.rmtree(folder / ".cache", ignore_errors=True)  # what the Hub's library notes beside its downloads


def _manifest(data: bytes) -> dict[str, Any] | None:
    try:
        manifest = json.loads(data)
    except ValueError:
        return None
    return manifest if is_manifest(manifest) else None


def _answered(error: Any) -> Trouble:
    """What the Hub said: status, its own words, and how long to wait."""

    response = error.response
    said = " ".join((error.server_message or "").split())[:300]
    asked = response.headers.get("Retry-After", "").strip()
    spent = SPENT.search(response.headers.get("RateLimit", ""))
    seconds = asked if asked.isascii() and asked.isdigit() else spent[1] if spent else None
    retry_after = None if seconds is None else float(seconds)
    status = response.status_code
    words = f"the Hub answered {status} {response.reason_phrase}" + (f": {said}" if said else "")
    return Trouble(words, status, status in BUSY or status >= 500, retry_after)
