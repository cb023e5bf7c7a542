"""A loopback HTTP server that misbehaves on request and remembers what it was asked.

with FaultyServer({"/file.bin": content}) as server:
    server.fail("/file.bin", Fault(cut_after=1000), Fault(status=500))  # the first two requests; then it is well
"""

from __future__ import annotations

import hashlib
import re
import socket
import struct
import threading
from collections import defaultdict, deque
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType

BLOCK = 16_384


@dataclass(frozen=True)
class Fault:
    """How one answer differs from a good one.

    status, headers, body: sent instead of the good ones (a header of None is left out). cut_after, reset_after, stall_after:
    after so many bytes of the body close the connection, break it, or wait for `server.release`. framing: how the end of the
    body is told: by its length, in chunks, or by the end of the connection. ignore_range: send the whole file always.
    """

    status: int | None = None
    headers: dict[str, str | None] = field(default_factory=dict)
    body: bytes | None = None
    cut_after: int | None = None
    reset_after: int | None = None
    stall_after: int | None = None
    framing: str = "length"
    ignore_range: bool = False


@dataclass
class Seen:
    """One request: its path, its headers under lower-case names, the status it got, and how many bytes of body were sent."""

    path: str
    headers: dict[str, str]
    status: int = 0
    sent: int = 0


class FaultyServer:
    """Serves `files` (path to content) on 127.0.0.1; `always` holds for a path once its own faults are used up."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = dict(files)
        self.always: dict[str, Fault] = {}
        self.log: list[Seen] = []
        self.release = threading.Event()
        self._faults: defaultdict[str, deque[Fault]] = defaultdict(deque)
        self._news = threading.Condition()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        """Its base address."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def fail(self, path: str, *faults: Fault) -> None:
        """Have the next requests for a path fail, one fault each."""
        self._faults[path].extend(faults)

    def fault(self, path: str) -> Fault:
        """What to do with the next request."""
        return self._faults[path].popleft() if self._faults[path] else self.always.get(path, Fault())

    def note(self, seen: Seen) -> None:
        """Remember a request, and wake whoever waits for it."""
        with self._news:
            self.log.append(seen)
            self._news.notify_all()

    def wait_for_requests(self, count: int) -> None:
        """Block until so many requests have come."""
        with self._news:
            assert self._news.wait_for(lambda: len(self.log) >= count, timeout=30), self.log

    def ranges(self) -> list[str | None]:
        """The Range header of each request, in order."""
        return [seen.headers.get("range") for seen in self.log]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


def etag(content: bytes) -> str:
    """The ETag the server gives to a content."""
    return f'"{hashlib.sha256(content).hexdigest()[:16]}"'


def _handler(server: FaultyServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.close_connection = True
            seen = Seen(self.path, {name.lower(): value for name, value in self.headers.items()})
            fault = server.fault(self.path)
            status, headers, body = _answer(server, seen, fault)
            seen.status = status
            server.note(seen)
            with suppress(OSError):  # the client may go away
                self._send(seen, fault, headers, body)

        def _send(self, seen: Seen, fault: Fault, headers: dict[str, str], body: bytes) -> None:
            framing = {
                "length": {"Content-Length": str(len(body))},
                "chunked": {"Transfer-Encoding": "chunked"},
                "close": {},
            }
            changed = framing[fault.framing] | headers | fault.headers
            self.send_response(seen.status)
            for name, value in ({"Connection": "close"} | changed).items():
                if value is not None:
                    self.send_header(name, value)
            self.end_headers()
            ends = [end for end in (fault.cut_after, fault.reset_after, fault.stall_after) if end is not None]
            stop = min([*ends, len(body)])
            self._write(seen, fault, body[:stop])
            if fault.stall_after is not None:
                server.release.wait(timeout=60)
                self._write(seen, fault, body[stop:])
            elif fault.reset_after is not None:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                socket.close(self.connection.detach())
            elif fault.framing == "chunked" and fault.cut_after is None:
                self.wfile.write(b"0\r\n\r\n")

        def _write(self, seen: Seen, fault: Fault, body: bytes) -> None:
            for start in range(0, len(body), BLOCK):
                block = body[start : start + BLOCK]
                seen.sent += len(block)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(block), block) if fault.framing == "chunked" else block)
            self.wfile.flush()

        def date_time_string(self, timestamp: float | None = None) -> str:
            return formatdate(timestamp or 1_700_000_000, usegmt=True)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the name is the base class's
            pass

    return Handler


def _answer(server: FaultyServer, seen: Seen, fault: Fault) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of an answer."""
    if fault.status is not None or fault.body is not None:
        return fault.status or 200, {}, fault.body or b""
    content = server.files.get(seen.path)
    if content is None:
        return 404, {}, b"no such file"
    headers = {"ETag": etag(content), "Content-Type": "application/octet-stream"}
    asked = re.fullmatch(r"bytes=(\d+)-", seen.headers.get("range", ""))
    if asked is None or fault.ignore_range or seen.headers.get("if-range", etag(content)) != etag(content):
        return 200, headers, content
    start = int(asked[1])
    if start >= len(content):
        return 416, {"Content-Range": f"bytes */{len(content)}"}, b""
    return 206, headers | {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"}, content[start:]
