"""One file over the network: hashed as it arrives, resumed after a broken connection, kept only if it matches its pin."""

from __future__ import annotations

import errno
import logging
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from tqdm import tqdm

from builders.errors import MissingReason, SourceError
from pipelines.raw import responses
from pipelines.raw.cache import unusable_cache_error
from pipelines.raw.content_types import HEAD, read_head
from pipelines.raw.digests import Digest
from pipelines.raw.partial_file import PartialFile
from pipelines.raw.pins import Pin, placeholder_error, wrong_file_error
from pipelines.raw.urls import https_check
from pipelines.raw.user_agent import user_agent
from pipelines.raw.waiting import describe_end, describe_wait, seconds_before_retry
from pipelines.terminal import format_size, progress_bar

if TYPE_CHECKING:
    import httpx

RESERVE = 100_000_000  # bytes of disk space that a download leaves free

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Patience:
    """How long to wait for a server; all times in seconds.

    retries: the number of failures in a row, without a new byte in between, before giving up. first_wait: before the first
    retry; it doubles up to longest_wait. longest_retry_after: a server that asks for more is not waited for, but is an error at
    once. connect, read: timeouts. now: the time, in seconds since 1970.
    """

    retries: int = 5
    first_wait: float = 1
    longest_wait: float = 60
    longest_retry_after: float = 3600
    connect: float = 20
    read: float = 60
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.time


@dataclass(frozen=True)
class DownloadRequest:
    """One file to download.

    name: what messages call it. pin: what its bytes must be. version: the commit or revision, for messages. access_hint: what
    to do where the server denies access. alternative: how to get the file without a download. token: sent only to the host of the
    URL, and never shown. denied: why the file is missing where the server denies access.
    """

    name: str
    url: str
    pin: Pin
    version: str
    access_hint: str
    alternative: str
    token: str | None = field(default=None, repr=False)
    denied: MissingReason = "unavailable"

    @property
    def wrong_content_hint(self) -> str:
        """What to do where another file arrives."""
        return f"check whether the file at this URL has changed, or {self.alternative}"


class _TemporaryFailure(NamedTuple):
    """Why an attempt failed although a retry may succeed. retry_after: the seconds to wait that the server asks for."""

    reason: str
    retry_after: float | None = None


def download_file(request: DownloadRequest, target: Path, patience: Patience) -> Digest:
    """Download a file to `target`, replacing an existing file; the caller holds `lock_cached_file(target)`.

    When the connection breaks or the process dies, the bytes received so far stay beside the target, and the next call resumes.
    The bytes are stored as sent: a Content-Encoding is not decoded.

    Raises SourceError where the server denies or lacks the file, keeps failing or sends another file, and for a full disk.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part = PartialFile(target, request.url, request.pin)
        digest = _receive_all(request, part, patience)
        if part.resumed and not request.pin.matches(digest):
            logger.info("%s: the resumed download is not the pinned file; downloading all of it again", request.name)
            part.discard()
            digest = _receive_all(request, part, patience)
        _verify(request, part, digest)
        part.move_to(target)
    except OSError as error:
        raise disk_error(request.name, target, error) from error
    return digest


def _verify(request: DownloadRequest, part: PartialFile, digest: Digest) -> None:
    """Compare a complete download with its pin. Raises SourceError, and deletes the download, where it is another file."""
    head, todo = read_head(part.path), request.wrong_content_hint
    error = None
    if not request.pin.matches(digest):
        error = wrong_file_error(request.name, request.url, head, digest, request.pin, todo=todo)
    elif not request.pin.has_digest:
        error = placeholder_error(request.name, request.url, head, digest.bytes, todo=todo)
    if error is not None:
        part.discard()
        raise error


def _receive_all(request: DownloadRequest, part: PartialFile, patience: Patience) -> Digest:
    """Send requests until the file is complete: the wait between them doubles, and is reset when new bytes arrive."""
    import httpx

    part.discard_if_unusable()
    failures, most_received = 0, part.size
    if part.size and not part.is_complete:
        logger.info("%s: resuming the download at %s", request.name, format_size(part.size))
    logger.debug("%s: downloading %s", request.name, request.url)
    with _client(request, patience) as client, progress_bar(request.name, request.pin.bytes, done=part.size) as bar:
        while not part.is_complete:
            try:
                failure = _attempt(client, request, part, bar)
            except (httpx.LocalProtocolError, httpx.UnsupportedProtocol, httpx.TooManyRedirects) as error:
                raise _failed(request, _describe(error), request.alternative) from error
            except httpx.TransportError as error:
                failure = _TemporaryFailure(_describe(error))
            if failure is None:
                break
            if part.size > most_received:
                failures, most_received = 0, part.size
            failures += 1
            wait = seconds_before_retry(failures, patience.first_wait, patience.longest_wait, failure.retry_after)
            if failures > patience.retries or wait > patience.longest_retry_after:
                raise _gave_up(request, part, failure, patience)
            words = describe_wait(wait, patience.now())
            logger.info(
                "%s: %s; retrying in %s (%d of %d)", request.name, failure.reason, words, failures, patience.retries
            )
            patience.sleep(wait)
    return part.digest()


def _client(request: DownloadRequest, patience: Patience) -> httpx.Client:
    import httpx

    headers = {"Accept-Encoding": "identity", "User-Agent": user_agent()}
    if request.token is not None:
        headers["Authorization"] = f"Bearer {request.token}"
    hooks: dict[str, list[Callable[..., Any]]] = {
        "request": [https_check(request.name, request.url, request.alternative)]
    }
    timeout = httpx.Timeout(patience.read, connect=patience.connect)
    return httpx.Client(follow_redirects=True, timeout=timeout, headers=headers, event_hooks=hooks)


def _attempt(
    client: httpx.Client, request: DownloadRequest, part: PartialFile, bar: tqdm[NoReturn]
) -> _TemporaryFailure | None:
    """Send one request; None when the file is complete.

    Raises httpx.TransportError where the connection breaks, SourceError where a retry would not help.
    """
    headers = {}
    part.discard_if_unusable()
    if part.size:
        headers["Range"] = f"bytes={part.size}-"
        if part.version.validator is not None:
            headers["If-Range"] = part.version.validator
    with client.stream("GET", request.url, headers=headers) as response:
        status = response.status_code
        if responses.is_passing(status):
            reason = f"the server answered {status} {response.reason_phrase}"
            return _TemporaryFailure(reason, responses.retry_after(response.headers))
        if status == 416 and part.size and responses.confirms_complete(response, part):
            return None
        if (status == 416 and part.size) or (status == 206 and not responses.is_continuation(response, part)):
            part.discard()
            return _TemporaryFailure(f"the server cannot resume the download (status {status})")
        if status not in {200, 206}:
            raise _refused(request, status)
        total = _receive(response, request, part, bar)
    if total is not None and part.size < total:
        head, size = read_head(part.path), part.size
        error = placeholder_error(request.name, request.url, head, size, todo=request.alternative)
        if error is not None:
            part.discard()
            raise error
        return _TemporaryFailure(f"the connection closed after {format_size(size)} of {format_size(total)}")
    return None


def _receive(response: httpx.Response, request: DownloadRequest, part: PartialFile, bar: tqdm[NoReturn]) -> int | None:
    """Append the body of a response to the partial file; returns the size that the whole file should have, if known."""
    pin = request.pin
    chunks = response.iter_raw()
    total = responses.total_size(response, pin.bytes)
    if response.status_code == 206:
        _check_disk_space(request, part, total)
        part.resume(total)
    else:
        part.discard()
        if total is not None and pin.bytes is not None and total != pin.bytes:
            head, todo = next(chunks, b"")[:HEAD], request.wrong_content_hint
            raise wrong_file_error(request.name, request.url, head, total, pin, todo=todo)
        _check_disk_space(request, part, total)
        part.start(responses.file_version(response), total)
    bar.total, bar.n = total, part.size
    bar.refresh()
    with part.appending():
        for chunk in chunks:
            part.append(chunk)
            bar.update(len(chunk))
            if part.is_too_long:
                break
    if part.is_too_long:
        head, size = read_head(part.path), part.size
        part.discard()
        raise wrong_file_error(request.name, request.url, head, size, pin, todo=request.wrong_content_hint)
    return total


def _check_disk_space(request: DownloadRequest, part: PartialFile, total: int | None) -> None:
    free = shutil.disk_usage(part.path.parent).free
    if total is not None and free < total - part.size + RESERVE:
        raise SourceError(
            f"{request.name}: not enough disk space",
            where=str(part.path.parent),
            found=f"{format_size(free)} free",
            expected=f"{format_size(total - part.size)} for the file, {format_size(RESERVE)} in reserve",
            todo="free some space, or set EMBEDDING_DATASETS_CACHE to a directory on a larger disk",
        ).of_this_machine()


def disk_error(name: str, target: Path, error: OSError) -> SourceError:
    """The error for a file of the cache that cannot be written."""
    if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
        return unusable_cache_error(target.parent, error)
    return SourceError(
        f"{name}: the disk is full",
        where=str(target.parent),
        found=error.strerror,
        todo="free some space, or set EMBEDDING_DATASETS_CACHE to a directory on a larger disk; the next run resumes",
    ).of_this_machine()


def _refused(request: DownloadRequest, status: int) -> SourceError:
    reason: MissingReason = "unavailable"
    if status in {401, 403}:
        what, todo, reason = f"{request.name}: the server denies access", request.access_hint, request.denied
    elif status in {404, 410}:
        what = f"{request.name} not found at its URL"
        todo = "check whether it has moved, and update the definition of the source; or "
        todo += f"name a mirror in EMBEDDING_DATASETS_MIRRORS; or {request.alternative}"
    else:
        what, todo = f"{request.name} could not be downloaded", f"open the URL in a browser; or {request.alternative}"
    error = SourceError(what, where=request.url, found=f"status {status}", expected=request.version, todo=todo)
    return error.lacking(request.name, reason)


def _gave_up(
    request: DownloadRequest, part: PartialFile, failure: _TemporaryFailure, patience: Patience
) -> SourceError:
    kept = f" (the {format_size(part.size)} received so far are kept)" if part.size else ""
    found, when = f"{failure.reason}; gave up after {patience.retries} retries without progress", "later"
    if failure.retry_after is not None and failure.retry_after > patience.longest_retry_after:
        when = describe_end(failure.retry_after, patience.now())
        found = f"{failure.reason} and asks for a longer wait than {patience.longest_retry_after / 60:g} min"
    return _failed(request, found, f"run the same command again {when}{kept}, or {request.alternative}")


def _failed(request: DownloadRequest, found: str, todo: str) -> SourceError:
    error = SourceError(f"{request.name} could not be downloaded", where=request.url, found=found, todo=todo)
    return error.lacking(request.name, "unavailable")


def _describe(error: Exception) -> str:
    """A network error in words; httpx leaves the message of some errors empty."""
    timeouts = {"ReadTimeout": "the server stopped sending data", "ConnectTimeout": "the server does not respond"}
    name = type(error).__name__
    return timeouts.get(name) or f"{name}: {error}".removesuffix(": ")
