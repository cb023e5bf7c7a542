"""One file over the network: hashed as it streams, resumed where it broke, put in its place only if it is the pinned one."""

from __future__ import annotations

import errno
import re
import shutil
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import filelock
import httpx
from httpx import URL

from builders.errors import SourceError
from pipelines.raw.digests import HEAD, Digest, read_head
from pipelines.raw.partial import Part
from pipelines.raw.pins import placeholder_error, wrong_file_error
from pipelines.terminal import progress, say, size_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pipelines.raw.pins import Pin

BUSY = frozenset({408, 425, 429})  # worth another try, as all of 5xx are
RESERVE = 100_000_000  # bytes of disk that a download leaves free
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
UNSATISFIED = re.compile(r"bytes \*/(\d+)")


@dataclass(frozen=True)
class Patience:
    """How long to wait for a server; all times in seconds.

    retries: failures in a row, none of which brought a new byte, that are forgiven. first_wait: before the first retry; it
    doubles up to longest_wait. longest_retry_after: what a server's Retry-After is cut to. connect, read: time limits.
    """

    retries: int = 5
    first_wait: float = 1
    longest_wait: float = 60
    longest_retry_after: float = 300
    connect: float = 20
    read: float = 60
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True)
class DownloadRequest:
    """One file to fetch.

    name: how messages call it. url: its address. pin: what it must be. version: the commit or revision, for messages.
    refusal: what to do where the server denies access. otherwise: how to do without the download. token: sent to the
    address's own host alone, and shown nowhere.
    """

    name: str
    url: str
    pin: Pin
    version: str
    refusal: str
    otherwise: str
    token: str | None = field(default=None, repr=False)


class _Setback(NamedTuple):
    """Why an attempt ended early, though another may do better; retry_after is the server's wish, in seconds."""

    reason: str
    retry_after: float | None = None


def fetch(order: DownloadRequest, target: Path, patience: Patience) -> Digest:
    """Download a file to `target`, replacing what is there; the caller holds `locked(target)`.

    What has arrived is kept beside it as `.part` when the connection breaks or the process dies, and the next call goes on
    from there. The bytes are stored as sent, without undoing any Content-Encoding.

    Raises SourceError where the server denies or lacks the file, keeps failing or sends another file, and for a full disk.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        part = Part(target, order.url, order.pin)
        digest = _arrive(order, part, patience)
        if part.spliced and not order.pin.fits(digest):
            say(f"{order.name}: its pieces do not make the pinned file; fetching it anew")
            part.clear()
            digest = _arrive(order, part, patience)
        head = read_head(part.path)
        todo = f"the address may have changed its content: compare it with the pin, or {order.otherwise}"
        wrong = None
        if not order.pin.fits(digest):
            wrong = wrong_file_error(order.name, order.url, head, digest, order.pin, todo=todo)
        elif not order.pin.exact:
            wrong = placeholder_error(order.name, order.url, head, digest.bytes, todo=todo)
        if wrong is not None:
            part.clear()
            raise wrong
        part.finish(target)
    except OSError as error:
        raise _disk(order, target, error) from error
    return digest


@contextmanager
def locked(target: Path, name: str) -> Iterator[None]:
    """Hold the file `<target>.lock` against another command that fetches the same; says so on stderr if it must wait.

    Raises SourceError where the folder cannot be written.
    """

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(f"{target}.lock")
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            say(f"{name}: waiting for another command that is fetching it ...")
            lock.acquire()
    except OSError as error:
        raise cache_unusable(target.parent, error) from error
    try:
        yield
    finally:
        lock.release()


def cache_unusable(folder: Path, error: OSError) -> SourceError:
    """The error for a cache that cannot be written."""
    todo = "set EMBEDDING_DATASETS_CACHE to a folder that can be written"
    return SourceError("the cache cannot be used", where=str(folder), found=str(error), todo=todo)


def _disk(order: DownloadRequest, target: Path, error: OSError) -> SourceError:
    if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
        return cache_unusable(target.parent, error)
    return SourceError(
        f"{order.name}: the disk is full",
        where=str(target.parent),
        found=error.strerror,
        todo="make room, or set EMBEDDING_DATASETS_CACHE to a folder on a larger disk; what has arrived is kept",
    )


def _arrive(order: DownloadRequest, part: Part, patience: Patience) -> Digest:
    """Ask again and again until all is there; waits grow while nothing new comes, and start anew when something did."""

    failures, furthest = 0, part.resumable()
    timeout = httpx.Timeout(patience.read, connect=patience.connect)
    headers = {"Accept-Encoding": "identity", "User-Agent": "embedding-datasets"}
    if order.token is not None:
        headers["Authorization"] = f"Bearer {order.token}"
    hooks: dict[str, list[Callable[..., Any]]] = {"request": [_only_safe(order)]}
    client = httpx.Client(follow_redirects=True, timeout=timeout, headers=headers, event_hooks=hooks)
    with client, progress(order.name, order.pin.bytes, done=part.size) as bar:
        while not part.complete:
            try:
                setback = _attempt(client, order, part, bar)
            except (httpx.LocalProtocolError, httpx.UnsupportedProtocol, httpx.TooManyRedirects) as error:
                raise _failed(order, _words(error)) from error
            except httpx.TransportError as error:
                setback = _Setback(_words(error))
            if setback is None:
                break
            if part.size > furthest:
                failures, furthest = 0, part.size
            failures += 1
            if failures > patience.retries:
                kept = f"run the command again later (the {size_words(part.size)} that arrived are kept)"
                reason = f"{setback.reason}; gave up after {patience.retries} retries that brought nothing new"
                raise _failed(
                    order, reason, f"{kept if part.size else 'run the command again later'}, or {order.otherwise}"
                )
            wait = min(patience.first_wait * 2 ** (failures - 1), patience.longest_wait)
            if setback.retry_after is not None:
                wait = min(setback.retry_after, patience.longest_retry_after)
            say(f"{order.name}: {setback.reason}; trying again in {wait:g} s ({failures} of {patience.retries})")
            patience.sleep(wait)
    return part.digest()


def _attempt(client: httpx.Client, order: DownloadRequest, part: Part, bar: Any) -> _Setback | None:
    """One request; None when the file is complete.

    Raises httpx.TransportError where the connection breaks, SourceError where another attempt would not help.
    """
    headers = {}
    if part.resumable():
        headers["Range"] = f"bytes={part.size}-"
        if part.validator is not None:
            headers["If-Range"] = part.validator
    with client.stream("GET", order.url, headers=headers) as response:
        status = response.status_code
        if status in BUSY or status >= 500:
            return _Setback(f"the server answered {status} {response.reason_phrase}", _retry_after(response))
        if status == 416 and part.size:
            whole = UNSATISFIED.fullmatch(response.headers.get("Content-Range", ""))
            if whole and int(whole[1]) == part.size:
                return None
        if (status == 416 and part.size) or (status == 206 and not _continues(response, part)):
            part.clear()
            return _Setback(f"the server cannot go on where the connection broke ({status})")
        if status not in {200, 206}:
            raise _denied(order, status)
        total = _receive(response, order, part, bar)
    if total is not None and part.size < total:
        wrong = placeholder_error(order.name, order.url, read_head(part.path), part.size, todo=order.otherwise)
        if wrong is not None:
            part.clear()
            raise wrong
        return _Setback(f"the connection ended after {size_words(part.size)} of {size_words(total)}")
    return None


def _receive(response: httpx.Response, order: DownloadRequest, part: Part, bar: Any) -> int | None:
    """Append a response's body to the part; the size that the whole file should have, if anyone knows."""
    pin = order.pin
    chunks = response.iter_raw()
    todo = f"the address may have changed its content: compare it with the pin, or {order.otherwise}"
    if response.status_code == 206:
        span = CONTENT_RANGE.fullmatch(response.headers["Content-Range"])
        total = int(span[2]) if span and span[2] != "*" else pin.bytes
        _check_room(order, part, total)
        part.resume(total)
    else:
        length = response.headers.get("Content-Length")
        if length is not None and pin.bytes is not None and int(length) != pin.bytes:
            head = next(chunks, b"")[:HEAD]
            part.clear()
            raise wrong_file_error(order.name, order.url, head, int(length), pin, todo=todo)
        # A body that ends where the connection does may have been cut: then only the pin knows its size.
        chunked = "Transfer-Encoding" in response.headers
        total = int(length) if length is not None else None if chunked else pin.bytes
        part.clear()
        _check_room(order, part, total)
        part.begin(_version(response), total)
    assert part.hashing is not None
    bar.total, bar.n = total, part.size
    bar.refresh()
    with part.path.open("ab") as out:
        for chunk in chunks:
            out.write(chunk)
            part.hashing.update(chunk)
            part.size += len(chunk)
            bar.update(len(chunk))
            if pin.bytes is not None and part.size > pin.bytes:
                break
    if pin.bytes is not None and part.size > pin.bytes:
        head, size = read_head(part.path), part.size
        part.clear()
        raise wrong_file_error(order.name, order.url, head, size, pin, todo=todo)
    return total


def _continues(response: httpx.Response, part: Part) -> bool:
    """Whether a partial answer starts where the part ends, in the same version of the file."""
    span = CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
    if span is None or not part.size or int(span[1]) != part.size:
        return False
    if part.pin.bytes is not None and span[2] not in {"*", str(part.pin.bytes)}:
        return False
    version = _version(response)
    return all(version[key] == part.version[key] for key in version.keys() & part.version.keys())


def _version(response: httpx.Response) -> dict[str, str]:
    """What tells one version of the file from another; a weak ETag does not, byte for byte."""
    etag, modified = response.headers.get("ETag", ""), response.headers.get("Last-Modified")
    version = {"etag": etag if etag.startswith('"') else None, "modified": modified}
    return {key: value for key, value in version.items() if value}


def _check_room(order: DownloadRequest, part: Part, total: int | None) -> None:
    free = shutil.disk_usage(part.path.parent).free
    if total is not None and free < total - part.size + RESERVE:
        raise SourceError(
            f"{order.name}: too little room on the disk",
            where=str(part.path.parent),
            found=f"{size_words(free)} free",
            expected=f"{size_words(total - part.size)} for the file, and {size_words(RESERVE)} to spare",
            todo="make room, or set EMBEDDING_DATASETS_CACHE to a folder on a larger disk",
        )


def _only_safe(order: DownloadRequest) -> Callable[[httpx.Request], None]:
    """A check before each request, redirects too: https, or loopback for an order that is to loopback itself."""

    def plain(url: httpx.URL) -> bool:
        return url.scheme == "http" and url.host in LOOPBACK

    allowed = plain(URL(order.url))

    def check(request: httpx.Request) -> None:
        if request.url.scheme != "https" and not (allowed and plain(request.url)):
            found = f"{request.url.scheme}://{request.url.host}"
            raise SourceError(
                f"{order.name}: its address is not https, or leads to one that is not",
                where=order.url,
                found=found,
                expected="https",
                todo=order.otherwise,
            )

    return check


def _retry_after(response: httpx.Response) -> float | None:
    """Seconds of a Retry-After header, which holds a number or a date; the server's own clock is the measure."""
    text = response.headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdecimal():
        return float(text)
    when = _date(text)
    if when is None:
        return None
    now = _date(response.headers.get("Date", "")) or datetime.now(UTC)
    return max(0.0, (when - now).total_seconds())


def _date(text: str) -> datetime | None:
    try:
        when = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def _denied(order: DownloadRequest, status: int) -> SourceError:
    if status in {401, 403}:
        what, todo = f"{order.name}: the server denies access", order.refusal
    elif status == 404:
        what = f"{order.name} is not at its address"
        todo = f"see whether it has moved, and correct the source's definition; or {order.otherwise}"
    else:
        what, todo = f"{order.name} could not be downloaded", f"open the address in a browser; or {order.otherwise}"
    return SourceError(what, where=order.url, found=f"status {status}", expected=order.version, todo=todo)


def _failed(order: DownloadRequest, found: str, todo: str | None = None) -> SourceError:
    what = f"{order.name} could not be downloaded"
    return SourceError(what, where=order.url, found=found, todo=todo or order.otherwise)


def _words(error: Exception) -> str:
    """A network error in words; httpx leaves some of them empty."""
    names = {"ReadTimeout": "the server sent nothing for too long", "ConnectTimeout": "the server does not answer"}
    name = type(error).__name__
    return names.get(name) or f"{name}: {error}".removesuffix(": ")
