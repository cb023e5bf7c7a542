"""A file over the network: hashed as it arrives, resumed after a broken connection, kept only if it matches its pin."""

from __future__ import annotations

import logging
import re
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from builders.errors import MissingReason, SourceError
from builders.raw_files import COMMIT
from pipelines.process.safe_text import MAX_QUOTED, mask_tokens
from pipelines.process.terminal import format_size, progress_bar
from pipelines.raw.digests import CHUNK, Digest, disk_errors
from pipelines.raw.partial_files import FileVersion, PartialFile
from pipelines.raw.pins import HEAD, Pin, placeholder_error, read_head, require_content, wrong_file_error
from pipelines.raw.requests import (
    client_options,
    describe_end,
    describe_wait,
    network_hint,
    seconds_before_retry,
)

if TYPE_CHECKING:
    import httpx
    from tqdm import tqdm


BUSY = frozenset({408, 425, 429})
CONTENT_RANGE = re.compile(r"bytes (?:(\d+)-\d+|\*)/(\d+|\*)", re.ASCII)
SIZE = re.compile(r"\d{1,18}", re.ASCII)


def is_passing(status: int) -> bool:
    """Whether an answer with this status may be another one in a while: the server is busy, or in trouble."""
    return status in BUSY or status >= 500


def is_gone(status: int, code: str) -> bool:
    """Whether a server says that it has no such file. code: the Hub's name of an error; it hides what is gone with status 401."""
    return status in {404, 410, 451} or code in {"RepoNotFound", "EntryNotFound", "RevisionNotFound"}


def file_version(response: httpx.Response) -> FileVersion:
    """The version of the file; a weak ETag is ignored, as files with equal ones may differ in their bytes."""
    etag = response.headers.get("ETag", "")
    commit = (*response.history, response)[0].headers.get("X-Repo-Commit", "")
    return FileVersion(
        etag if etag.startswith('"') else None,
        response.headers.get("Last-Modified") or None,
        commit if COMMIT.fullmatch(commit) else None,
    )


def stated_size(response: httpx.Response) -> int | None:
    """The size in bytes of the whole file, as the headers of a response state it; None where they do not."""
    size = response.headers.get("Content-Length", "")
    if response.status_code in {206, 416}:
        content_range = CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        size = content_range[2] if content_range else ""
    return int(size) if SIZE.fullmatch(size) else None


def total_size(response: httpx.Response, pinned_size: int | None) -> int | None:
    """The size in bytes that the whole file should have; None where neither the response nor the pin states it.

    A body that is neither chunked nor of known length ends where the connection does, and may have been cut off: only the pinned
    size can tell.
    """
    size = stated_size(response)
    is_chunked = response.status_code != 206 and "Transfer-Encoding" in response.headers
    return pinned_size if size is None and not is_chunked else size


def is_continuation(response: httpx.Response, part: PartialFile) -> bool:
    """Whether a 206 response starts where the partial file ends, in the same version of the file."""
    content_range = CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if content_range is None or not part.size or content_range[1] != str(part.size):
        return False
    if part.pin.bytes is not None and stated_size(response) not in {None, part.pin.bytes}:
        return False
    return not file_version(response).contradicts(part.version)


def confirms_complete(response: httpx.Response, part: PartialFile) -> bool:
    """Whether a 416 response says that the partial file has all bytes of the file already.

    A server that lost the rest of the file would say so too. It is believed only where a digest will be compared, or where the
    response that began the file gave the same size.
    """
    if stated_size(response) != part.size:
        return False
    return part.pin.has_digest or part.total == part.size


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds of a Retry-After header, which holds a number or a date; a date is compared with the server's clock."""
    text = headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdecimal():
        return float(text)
    if (date := _parse_date(text)) is None:
        return None
    now = _parse_date(headers.get("Date", "")) or datetime.now(UTC)
    return max(0.0, (date - now).total_seconds())


def _parse_date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


RESERVE = 100_000_000  # bytes of disk space that a download leaves free
STEP = 64 << 20  # bytes received before the disk is looked at again
MAX_UNANNOUNCED = 100_000_000_000  # bytes of a file whose size nobody states

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Patience:
    """How long to wait for a server; all times in seconds.

    retries: the number of failures in a row, without a new byte in between, before giving up. first_wait: before the first
    retry; it doubles up to longest_wait. longest_retry_after: a server that asks for more is not waited for, but is an error at
    once. connect, read: timeouts. answer: until the headers of an answer are complete. window, least: a server that sends fewer
    than `least` bytes within `window` is too slow. sleep: of a probe, a coroutine. now: the time, in seconds since 1970.
    """

    retries: int = 5
    first_wait: float = 1
    longest_wait: float = 60
    longest_retry_after: float = 3600
    connect: float = 20
    read: float = 60
    answer: float = 180
    window: float = 120
    least: int = 100_000
    sleep: Callable[[float], Any] = time.sleep
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
    with disk_errors(request.name, target):
        part = PartialFile(target, request.url, request.pin)
        digest = _receive_all(request, part, patience)
        if part.resumed and not request.pin.matches(digest):
            logger.info("%s: the resumed download is not the pinned file; downloading all of it again", request.name)
            part.discard()
            digest = _receive_all(request, part, patience)
        _keep(request, part, digest, target)
    return replace(digest, commit=part.version.commit)


def read_range(
    client: httpx.Client, request: DownloadRequest, start: int, stop: int, patience: Patience
) -> tuple[bytes, int | None, bool]:
    """The bytes of a file from `start` to before `stop`, fewer from a slow server; its size; whether the server ignores ranges.

    The size is None where the answer does not tell.

    Raises SourceError where the server denies or lacks the file, keeps failing, or begins elsewhere.
    """
    import httpx

    began, failure = time.monotonic(), ""
    for attempt in range(patience.retries + 1):
        data, wait = bytearray(), None
        try:
            with client.stream("GET", request.url, headers={"Range": f"bytes={start}-{stop - 1}"}) as response:
                status, size = response.status_code, stated_size(response)
                if not is_passing(status):
                    first = CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
                    commit = file_version(response).commit
                    if commit and COMMIT.search(request.version) and commit not in request.version:
                        raise SourceError(
                            f"{request.name} is of another commit",
                            found=f"the server sends it from commit {commit}",
                            expected=request.version,
                        ).lacking(request.name, "unavailable")
                    if status not in {200, 206} and (status, size) != (416, 0):  # that is an empty file
                        raise _refused(request, response)
                    if start != (int(first[1] or 0) if first else 0):
                        raise _failed(request, "the server cannot send a part of the file", request.alternative)
                    for chunk in response.iter_raw():
                        data += chunk
                        if len(data) >= stop - start or time.monotonic() - began > patience.window:
                            break
                    else:  # without a size, only the end of a chunked body is not that of the connection
                        if status == 200 and "Transfer-Encoding" in response.headers:
                            size = len(data)
                    return bytes(data[: stop - start]), size, status == 200
                failure, wait = f"status {status}", retry_after(response.headers)
        except httpx.HTTPError as error:
            if is_unresolved(error):
                raise _failed(request, _describe(error), request.alternative) from error
            failure = _describe(error)
        seconds = seconds_before_retry(attempt + 1, patience.first_wait, patience.longest_wait, wait)
        if seconds > patience.longest_wait:
            break
        patience.sleep(seconds)
    raise _failed(request, failure, request.alternative)


def copy_file(request: DownloadRequest, source: Path, size: int, target: Path) -> Digest:
    """Copy the first `size` bytes of a file on this machine to `target`; otherwise as `download_file`, but never resumed.

    Raises SourceError where the file cannot be read or is not the pinned one, and for a full disk.
    """
    with disk_errors(request.name, target):
        part = PartialFile(target, request.url, request.pin)
        part.discard()
        part.start(FileVersion(), size)
        with part.appending() as append, progress_bar(request.name, size) as bar:
            for chunk in _chunks(source, size):
                append(chunk)
                bar.update(len(chunk))
        digest = part.digest()
        _keep(request, part, digest, target)
    return digest


def _chunks(path: Path, size: int) -> Iterator[bytes]:
    """The first `size` bytes of a file. Raises SourceError where it cannot be read: an OSError would be one of the cache."""
    try:
        with path.open("rb") as stream:
            while size > 0 and (chunk := stream.read(min(CHUNK, size))):
                size -= len(chunk)
                yield chunk
    except OSError as error:
        raise SourceError("not readable", found=error.strerror or str(error)) from error


def _keep(request: DownloadRequest, part: PartialFile, digest: Digest, target: Path) -> None:
    """Put a complete file in its place. Raises SourceError, and deletes the file, where it is not the pinned one."""
    try:
        require_content(
            request.name, request.url, read_head(part.path), digest, request.pin, todo=request.wrong_content_hint
        )
    except SourceError:
        part.discard()
        raise
    part.move_to(target)


def _receive_all(request: DownloadRequest, part: PartialFile, patience: Patience) -> Digest:
    """Send requests until the file is complete: the wait between them doubles, and is reset when new bytes arrive."""
    import httpx

    part.discard_if_unusable()
    failures, most_received = 0, part.size
    if part.size and not part.is_complete:
        logger.info("%s: resuming the download at %s", request.name, format_size(part.size))
    logger.debug("%s: downloading %s", request.name, request.url)
    with open_client(request, patience) as client, progress_bar(request.name, request.pin.bytes, done=part.size) as bar:
        while not part.is_complete:
            try:
                failure = _attempt(client, request, part, patience, bar)
            except (
                httpx.LocalProtocolError, httpx.UnsupportedProtocol, httpx.TooManyRedirects, httpx.InvalidURL,
                UnicodeError,  # a host that cannot be one, to which a server redirects
            ) as error:  # fmt: skip
                raise _failed(request, _describe(error), request.alternative) from error
            except httpx.TransportError as error:
                if not part.size and is_unresolved(error):
                    raise _unresolved(request, error) from error
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


def open_client(request: DownloadRequest, patience: Patience) -> httpx.Client:
    """A client for a file: with the user's token, sent to the host of its URL alone, and refusing redirects to other schemes."""
    import httpx

    options = client_options(request.name, request.url, request.token, request.alternative)
    options["headers"]["Accept-Encoding"] = "identity"
    timeout = httpx.Timeout(patience.read, connect=patience.connect)
    limits = httpx.Limits(max_keepalive_connections=0)  # each attempt has its own connection: see _open_stream
    return httpx.Client(follow_redirects=True, timeout=timeout, limits=limits, **options)


def _attempt(
    client: httpx.Client, request: DownloadRequest, part: PartialFile, patience: Patience, bar: tqdm[NoReturn]
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
    with _open_stream(client, request.url, headers, patience) as response:
        status = response.status_code
        if is_passing(status):
            return _TemporaryFailure(
                f"the server answered {status} {response.reason_phrase}", retry_after(response.headers)
            )
        if status == 416 and part.size and confirms_complete(response, part):
            return None
        if (status == 416 and part.size) or (status == 206 and not is_continuation(response, part)):
            part.discard()
            return _TemporaryFailure(f"the server cannot resume the download (status {status})")
        if status not in {200, 206}:
            raise _refused(request, response)
        total = _receive(response, request, part, patience, bar)
    if total is not None and part.size < total:
        head, size = read_head(part.path), part.size
        if (error := placeholder_error(request.name, request.url, head, size, todo=request.alternative)) is not None:
            part.discard()
            raise error
        return _TemporaryFailure(f"the connection closed after {format_size(size)} of {format_size(total)}")
    return None


@contextmanager
def _open_stream(
    client: httpx.Client, url: str, headers: Mapping[str, str], patience: Patience
) -> Iterator[httpx.Response]:
    """The response to a request, whose headers have come in time: a server may send them byte by byte.

    Raises httpx.TransportError.
    """
    sockets: list[Any] = []

    def note_socket(event: str, details: Mapping[str, Any]) -> None:
        if event.endswith("connect_tcp.complete"):
            sockets.append(details["return_value"].get_extra_info("socket"))

    def give_up() -> None:
        for each in sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(patience.answer, give_up)
    timer.daemon = True
    timer.start()
    try:
        stream = client.stream("GET", url, headers=headers, extensions={"trace": note_socket})
        with stream as response:
            timer.cancel()
            yield response
    finally:
        timer.cancel()


def _receive(
    response: httpx.Response, request: DownloadRequest, part: PartialFile, patience: Patience, bar: tqdm[NoReturn]
) -> int | None:
    """Append the body of a response to the partial file; returns the size that the whole file should have, if known.

    Raises SourceError for a server that sends too much or too slowly, and for a full disk.
    """
    pin = request.pin
    chunks = response.iter_raw()
    total = total_size(response, pin.bytes)
    if response.status_code == 206:
        _check_disk_space(request, part, total)
        part.resume(total)
    else:
        part.discard()
        if total is not None and pin.bytes is not None and total != pin.bytes:
            head, todo = next(chunks, b"")[:HEAD], request.wrong_content_hint
            raise wrong_file_error(request.name, request.url, head, total, pin, todo=todo)
        _check_disk_space(request, part, total)
        part.start(file_version(response), total)
    bar.total, bar.n = total, part.size
    bar.refresh()
    most = MAX_UNANNOUNCED if total is None else total
    looked_at, began, size_then = part.size, time.monotonic(), part.size
    with part.appending() as append:
        for chunk in chunks:
            append(chunk)
            bar.update(len(chunk))
            if part.is_too_long or part.size > most:
                break
            if part.size - looked_at >= STEP:
                looked_at = part.size
                _check_disk_space(request, part, total if total is not None else part.size)
            if time.monotonic() - began >= patience.window:
                if part.size - size_then < patience.least:
                    raise _failed(
                        request,
                        f"fewer than {patience.least:,} bytes within {patience.window:g} s",
                        f"run the same command again: what has come is kept; or {request.alternative}",
                    )
                began, size_then = time.monotonic(), part.size
    if part.size > most and not part.is_too_long:
        part.discard()
        raise _failed(
            request,
            f"more than the {most:,} bytes that {'it announced' if total else 'are taken of any file'}",
            request.alternative,
        )
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


def _refused(request: DownloadRequest, response: httpx.Response) -> SourceError:
    reason: MissingReason = "unavailable"
    status = response.status_code
    if status in {401, 403}:
        what, todo, reason = f"{request.name}: the server denies access", request.access_hint, request.denied
    elif status in {404, 410}:
        what = f"{request.name} not found at its URL"
        todo = "check whether it has moved, and update the definition of the source; or "
        todo += f"name a mirror in EMBEDDING_DATASETS_MIRRORS; or {request.alternative}"
    else:
        what, todo = f"{request.name} could not be downloaded", f"open the URL in a browser; or {request.alternative}"
    error = SourceError(what, where=request.url, found=f"status {status}", expected=request.version, todo=todo)
    error.gone = is_gone(status, response.headers.get("X-Error-Code", ""))
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
    # Masked here too: a program that uses the package may log what a server echoes.
    return SourceError(
        f"{request.name} could not be downloaded", where=request.url, found=mask_tokens(found)[:MAX_QUOTED], todo=todo
    ).lacking(request.name, "unavailable")


def _describe(error: Exception) -> str:
    """A network error in words; httpx leaves the message of some errors empty."""
    timeouts = {"ReadTimeout": "the server stopped sending data", "ConnectTimeout": "the server does not respond"}
    name = type(error).__name__
    return timeouts.get(name) or f"{name}: {error}".removesuffix(": ")


def is_unresolved(error: BaseException | None) -> bool:
    """Whether a name of a host was not found, which another attempt would not change."""
    return error is not None and (isinstance(error, socket.gaierror) or is_unresolved(error.__context__))


def _unresolved(request: DownloadRequest, error: httpx.TransportError) -> SourceError:
    host = error.request.url.host
    failed = _failed(
        request, _describe(error), f"{network_hint(host)}, then run the same command again; or {request.alternative}"
    )
    failed.unresolved = host
    return failed
