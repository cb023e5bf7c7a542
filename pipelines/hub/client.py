"""Calls of the Hub, with retries and errors in words; and of Xet, the storage of its large files.

hf_xet sends and fetches files in its own threads. It raises built-in exceptions, and only their text says what failed.
"""

import functools
import inspect
import json
import logging
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import responses
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from huggingface_hub import HfApi, constants, get_session, get_token, hf_raise_for_status
from huggingface_hub.errors import FileMetadataError, HfHubHTTPError
from huggingface_hub.utils.tqdm import disable_progress_bars

from builders.errors import DatasetError, PublishError, SourceError
from pipelines.process import installation
from pipelines.process.safe_text import mask_tokens
from pipelines.process.terminal import shows_progress
from pipelines.raw import requests
from pipelines.raw.download import Patience, is_passing, retry_after

# How the texts of hf_xet begin; `Task error` comes before the others where a thread failed.
BEGINNINGS = (
    "Authentication error: ", "Network error: ", "Rate limited: ", "Server error: ", "Timeout: ", "Not found: ", "Task error: ",
    "Previous task error: ", "Data integrity error: ", "I/O error: ", "Internal error: ", "Operation cancelled: ",
)  # fmt: skip
STATUS = re.compile(r"HTTP status (?:client|server) error \((\d{3})\b", re.ASCII)
LOCAL = re.compile(r"[^:]*\(os error \d+\)", re.ASCII)  # of this machine: a full disk, a file without permission
ADDRESS = re.compile(r"(?:,? (?:domain:|for url) )?\(?\bhttps?://[^\s)]*\)?", re.ASCII)
SENDING = "error sending request"  # no answer: refused, dropped or silent for too long


@dataclass(frozen=True)
class Trouble:
    """Why a call failed. status: the Hub's, if it answered. transient: whether a retry may succeed. retry_after: in seconds."""

    words: str
    status: int | None = None
    transient: bool = False
    retry_after: float | None = None


def explain_xet_error(error: BaseException) -> Trouble | None:
    """Why Xet failed; None for an error that is not from hf_xet.

    Addresses are left out of the words: those of the storage are signed.
    """
    text = " ".join(str(error).split())
    if not isinstance(error, (OSError, RuntimeError)) or not text.startswith(BEGINNINGS):
        return None
    answered = STATUS.search(text)
    if answered is not None:
        status = int(answered[1])
        words = f"the Hub's Xet storage answered {status} {responses.get(status, '')}".rstrip()
        return Trouble(words, status, transient=is_passing(status))
    local = LOCAL.search(text)
    if local is not None:
        return Trouble(local[0].strip(), transient=False)
    if SENDING in text:
        return Trouble("the Hub's Xet storage does not answer, or the connection broke", transient=True)
    words = " ".join(ADDRESS.sub("", text.removeprefix("Task error: ")).split())
    return Trouble(f"the Hub's Xet storage: {words}", transient=not text.startswith("Authentication error: "))


Answer = TypeVar("Answer")

REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+", re.ASCII)
NAME = re.compile(rf"({REPOSITORY.pattern})(?:@([\w./-]+))?", re.ASCII)
REMAINING = re.compile(
    r";\s*r=(\d+)\s*;\s*t=(\d+)", re.ASCII
)  # of a RateLimit header: requests left, for how many seconds
AT_ONCE = 4  # repositories that are read at the same time
TIMEOUTS = {
    "ReadTimeout": "the Hub stopped sending data",
    "WriteTimeout": "the Hub stopped taking data",
    "ConnectTimeout": "the Hub does not respond",
}

# What the Hub's library raises when a call fails. The bases of its error include the root of all errors of its HTTP library,
# which is not the same in all versions; uploads hide errors in a RuntimeError, downloads in a ValueError. An answer that is valid
# JSON and has another form than the library expects, as a proxy may give, is what it stumbles over first.
OTHER_FORM = (AttributeError, LookupError, TypeError, msgspec.MsgspecError)
HUB_ERRORS: tuple[type[Exception], ...] = (*HfHubHTTPError.__bases__, OSError, RuntimeError, ValueError, *OTHER_FORM)
# How the library's own words begin for a list of uploads that is none, and for a file of another size than listed.
OTHER_WORDS = ("preupload_info is improperly", "Malformed response from server", "Consistency check failed")

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class HubClient:
    """A connection to the Hub; a failure that retries do not cure is raised as `error`.

    files: the content of small files that were read, by repository and digest. snapshots: by repository and commit; both never
    change, and `pipelines.hub.planning.pretend` adds what would be there. requests: `api` or `resolve` for each that was sent.
    """

    api: HfApi
    patience: Patience
    error: type[DatasetError]
    files: dict[tuple[str, str], bytes] = field(default_factory=dict, repr=False)
    snapshots: dict[tuple[str, str], Any] = field(default_factory=dict, repr=False)
    requests: list[str] = field(default_factory=list, repr=False)

    @property
    def headers(self) -> dict[str, str]:
        """Of a request that the Hub's library has no call for."""
        token = self.api.token or get_token()
        return {"Authorization": f"Bearer {token}"} if token else {}


class TransferError(OSError):
    """Another file arrived than the one on the Hub; another attempt may bring it."""


def parse_reference(text: str, default: str | None = None) -> tuple[str, str] | None:
    """The repository and revision that `ORG/name@tag` means, and `ORG/name` if there is a default; None for anything else.

    An existing path is a path. So is `outputs/name`, which does not exist, where there is a folder `outputs`.
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
    """A connection to the Hub, or to an `endpoint` with the same API; without a token, with the stored login if there is one.

    Raises `error` where the environment forbids connections.
    """
    if constants.HF_HUB_OFFLINE:
        raise error("connections to the Hub are disabled", found="HF_HUB_OFFLINE is set", todo="unset it")
    if not shows_progress():
        disable_progress_bars()
    api = HfApi(endpoint=endpoint, token=token, library_name=installation.NAME, library_version=installation.version())
    patience = patience or Patience(retries=4, read=300)  # a commit of many files takes the Hub a while
    # hf_xet retries five times by itself, for up to six minutes, and says nothing: with these settings, which it reads when it is
    # first used, it reports a failure within seconds. One retry is left to it, because a call that fails as a whole starts a
    # download from the beginning. What the user has set is kept.
    settings = {
        "HF_XET_CLIENT_RETRY_MAX_ATTEMPTS": "1",
        "HF_XET_CLIENT_RETRY_BASE_DELAY": "1s",
        "HF_XET_CLIENT_CONNECT_TIMEOUT": f"{patience.connect * 1000:.0f}ms",
        "HF_XET_CLIENT_READ_TIMEOUT": f"{patience.read * 1000:.0f}ms",
    }
    for name, value in settings.items():
        os.environ.setdefault(name, value)
    return HubClient(api, patience, error)


def call(hub: HubClient, what: str, repo: str, action: Callable[[], Answer], *, denied: str | None = None) -> Answer:
    """The answer to an action, retried while the Hub is busy or out of reach.

    what: the action in words, for errors (`reading its tags`). denied: what to do where the token has no right to it.

    Raises the client's error.
    """
    failures = 0
    while True:
        try:
            configure_session(hub)
            return action()
        except HUB_ERRORS as error:
            failures += 1
            wait_or_raise(hub, what, repo, error, failures, denied=denied)


def unless_answered(status: int, action: Callable[[], object]) -> Callable[[], bool]:
    """An action that returns whether it was done: not where the Hub answers with this status, as for what is done already."""

    def act() -> bool:
        try:
            action()
        except HfHubHTTPError as error:
            if error.response.status_code != status:
                raise
            return False
        return True

    return act


def configure_session(hub: HubClient) -> None:
    """Prepare the HTTP session of the Hub's library for the next calls.

    By default it waits for ever for an answer, in listings even if the session has a timeout; it repeats what fails, waits as
    long as a server asks, and sends some requests without our User-Agent. Here whatever may pass leaves the session as an error
    that the library does not repeat, so that `call` alone does.
    """
    connect, read, session = hub.patience.connect, hub.patience.read, get_session()
    session.timeout = (connect, read, read, connect)
    session.headers["User-Agent"] = requests.user_agent()
    send = inspect.unwrap(session.send)

    @functools.wraps(send)
    def send_once(request: Any, **options: Any) -> Any:
        timeouts = {"connect": connect, "read": read, "write": read, "pool": connect}
        given = request.extensions.get("timeout") or {}
        timeouts |= {name: seconds for name, seconds in given.items() if seconds is not None}
        request.extensions = {**request.extensions, "timeout": timeouts}
        hub.requests.append("resolve" if "/resolve/" in request.url.path else "api")
        try:
            response = send(request, **options)
        except Exception as error:
            if not _is_of_http(error):
                raise
            raise ConnectionError("the Hub does not answer") from error
        if is_passing(response.status_code):
            response.read()
            hf_raise_for_status(response)
        remaining = REMAINING.search(response.headers.get("RateLimit", ""))
        if remaining is not None and int(remaining[1]) < AT_ONCE:  # or requests on other threads are refused
            logger.info(
                "the limit of the Hub is reached; %s", requests.describe_wait(int(remaining[2]), hub.patience.now())
            )
            hub.patience.sleep(int(remaining[2]))
        return response

    session.send = send_once  # type: ignore[method-assign]


def explain_error(error: BaseException) -> Trouble:
    """Why a call failed, from the error or what it was raised from. It quotes nothing of a request, which may hold a token."""
    chain = [error]
    while chain[-1].__cause__ is not None:
        chain.append(chain[-1].__cause__)
    answers = [cause for cause in chain if isinstance(cause, HfHubHTTPError)]
    if answers:  # the library's words for a token hide those of the Hub, which says that it has expired
        return _answered(next((answer for answer in answers if answer.server_message), answers[0]))
    for cause in chain:
        if _is_of_http(cause):
            return Trouble(
                TIMEOUTS.get(type(cause).__name__) or f"{type(cause).__name__}: {cause}".removesuffix(": "),
                transient=True,
            )
        if isinstance(cause, FileMetadataError):  # no ETag: as where a network answers every address with its own page
            return Trouble("another server than the Hub answers, perhaps a page to log in to a network", transient=True)
        if isinstance(cause, TransferError):
            return Trouble(str(cause), transient=True)
        if isinstance(cause, json.JSONDecodeError):
            return Trouble("its answer is not valid JSON", transient=True)
        if isinstance(cause, OTHER_FORM) or str(cause).startswith(OTHER_WORDS):
            what = (
                f"{type(cause).__name__}: {str(cause).partition(' (')[0]}"  # without a path and advice on the library
            )
            return Trouble(f"its answer has another form ({what})", transient=True)
        if (trouble := explain_xet_error(cause)) is not None:
            return trouble
    return Trouble(" ".join(str(error).split()) or type(error).__name__)


def wait_or_raise(
    hub: HubClient, what: str, repo: str, error: Exception, failures: int, *, denied: str | None = None
) -> None:
    """Wait before another attempt: as long as the server asks for, else longer each time. failures: how many there were.

    what, denied: see `call`. Raises the client's error after too many failures, or where the last one does not pass, or not soon.
    """
    trouble, patience = explain_error(error), hub.patience
    too_long = (trouble.retry_after or 0) > patience.longest_retry_after
    if not trouble.transient or too_long or failures > patience.retries:
        raise call_failed(hub, what, repo, trouble, denied=denied) from error
    seconds = requests.seconds_before_retry(failures, patience.first_wait, patience.longest_wait, trouble.retry_after)
    words = f"{trouble.words}; trying again in {requests.describe_wait(seconds, patience.now())}"
    logger.info("%s: %s: %s (%d of %d)", repo, what, words, failures, patience.retries)
    patience.sleep(seconds)


def call_failed(hub: HubClient, what: str, repo: str, trouble: Trouble, *, denied: str | None = None) -> DatasetError:
    """The error that a call for a repository ends in. denied: what to do where the token has no right to it."""
    verb = "write to" if hub.error is PublishError else "read"
    todo = {
        400: "run the command again; if the Hub refuses it again, its words say why",
        401: "log in again (hf auth login), or set HF_TOKEN to a token that is valid",
        403: denied or f"use a token that may {verb} {repo} (HF_TOKEN, or hf auth login)",
        404: "see that the name is right; a private repository needs a token that may read it",
        412: "somebody else commits to this repository at the same time: run the command again",
    }
    if trouble.transient:
        seconds, when = trouble.retry_after or 0, "later"
        if seconds > hub.patience.longest_retry_after:
            when = requests.describe_end(seconds, hub.patience.now())
        todo = {trouble.status or 0: f"run the same command again {when}"}
    return hub.error(f"{what} failed", where=repo, found=trouble.words, todo=todo.get(trouble.status or 0))


def _is_of_http(error: BaseException) -> bool:
    """Whether an error is from the HTTP library of the Hub's library: httpx, or its successor."""
    return type(error).__module__.startswith("httpx")


def _answered(error: HfHubHTTPError) -> Trouble:
    """An answer of the Hub: status, its own words, and how long to wait."""
    response = error.response
    message = mask_tokens(" ".join((error.server_message or "").split()))  # before the cut, which may halve a token
    status = response.status_code
    words = f"the Hub answered {status} {response.reason_phrase}" + (f": {message[:300]}" if message else "")
    seconds, remaining = retry_after(response.headers), REMAINING.search(response.headers.get("RateLimit", ""))
    if seconds is None and remaining is not None and remaining[1] == "0":  # a spent limit says it as well
        seconds = float(remaining[2])
    return Trouble(words, status, is_passing(status), seconds)
