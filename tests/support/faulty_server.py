"""A loopback HTTP server that fails on request and logs every request.

with FaultyServer({"/file.bin": content}) as server:
    server.fail("/file.bin", Fault(cut_after=1000), Fault(status=500))  # the first two requests fail, later ones succeed
"""

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
from types import TracebackType
from typing import Any, Self

BLOCK = 16_384


@dataclass(frozen=True)
class Fault:
    """How one response differs from a correct one.

    status, headers, body: replace the correct ones; a header of None is not sent. cut_after, reset_after, stall_after: after this
    many bytes of the body, close the connection, reset it, or wait for `server.release`. framing: how the client learns where the
    body ends: by its `length`, in `chunked` encoding, or by the `close` of the connection. ignore_range: always send the whole
    file. head: the status of the answer to HEAD alone. hang: answer nothing before `server.release`.
    """

    status: int | None = None
    headers: dict[str, str | None] = field(default_factory=dict)
    body: bytes | None = None
    cut_after: int | None = None
    reset_after: int | None = None
    stall_after: int | None = None
    framing: str = "length"
    ignore_range: bool = False
    head: int | None = None
    hang: bool = False


@dataclass
class LoggedRequest:
    """One request: its path, its headers by lower-case name, the status of its response, the bytes of body sent, its method."""

    path: str
    headers: dict[str, str]
    status: int = 0
    sent: int = 0
    method: str = "GET"


class FaultyServer:
    """Serves `files` (content by path) on 127.0.0.1.

    always: the fault of every response for a path, once the faults of `fail` are used up. log: the requests, in order.
    """

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = dict(files)
        self.always: dict[str, Fault] = {}
        self.log: list[LoggedRequest] = []
        self.release = threading.Event()
        self._faults: defaultdict[str, deque[Fault]] = defaultdict(deque)
        self._log_changed = threading.Condition()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def fail(self, path: str, *faults: Fault) -> None:
        """Make the next requests for a path fail, one fault each."""
        self._faults[path].extend(faults)

    def next_fault(self, path: str) -> Fault:
        """The fault of the next response for a path; a Fault without fields for a correct response."""
        return self._faults[path].popleft() if self._faults[path] else self.always.get(path, Fault())

    def add_to_log(self, request: LoggedRequest) -> None:
        """Log a request, and wake up `wait_for_requests`."""
        with self._log_changed:
            self.log.append(request)
            self._log_changed.notify_all()

    def wait_for_requests(self, count: int) -> None:
        """Block until the log holds this many requests."""
        with self._log_changed:
            assert self._log_changed.wait_for(lambda: len(self.log) >= count, timeout=30), self.log

    def ranges(self) -> list[str | None]:
        """The Range header of each request, in order."""
        return [request.headers.get("range") for request in self.log]

    def stop(self) -> None:
        """Stop listening: later connections are refused."""
        self.release.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread.is_alive():
            self.stop()


def etag(content: bytes) -> str:
    """The ETag that the server sends for a content."""
    return f'"{hashlib.sha256(content).hexdigest()[:16]}"'


def _handler(server: FaultyServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.close_connection = True
            request = LoggedRequest(self.path, {name.lower(): value for name, value in self.headers.items()})
            request.method = self.command
            fault = server.next_fault(self.path)
            if self.command == "HEAD" and fault.head is not None:
                fault = Fault(status=fault.head)
            status, headers, body = _response(server, request, fault)
            request.status = status
            server.add_to_log(request)
            if fault.hang:
                server.release.wait(timeout=60)
            with suppress(OSError):  # the client may disconnect
                self._send(request, fault, headers, body)

        do_HEAD = do_GET  # noqa: N815  the base class calls it so

        def _send(self, request: LoggedRequest, fault: Fault, headers: dict[str, str], body: bytes) -> None:
            framing = {
                "length": {"Content-Length": str(len(body))},
                "chunked": {"Transfer-Encoding": "chunked"},
                "close": {},
            }
            self.send_response(request.status)
            for name, value in ({"Connection": "close"} | framing[fault.framing] | headers | fault.headers).items():
                if value is not None:
                    self.send_header(name, value)
            self.end_headers()
            if self.command == "HEAD":
                return
            limits = [limit for limit in (fault.cut_after, fault.reset_after, fault.stall_after) if limit is not None]
            end = min([*limits, len(body)])
            self._write(request, fault, body[:end])
            if fault.stall_after is not None:
                server.release.wait(timeout=60)
                self._write(request, fault, body[end:])
            elif fault.reset_after is not None:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                socket.close(self.connection.detach())
            elif fault.framing == "chunked" and fault.cut_after is None:
                self.wfile.write(b"0\r\n\r\n")

        def _write(self, request: LoggedRequest, fault: Fault, body: bytes) -> None:
            for start in range(0, len(body), BLOCK):
                block = body[start : start + BLOCK]
                request.sent += len(block)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(block), block) if fault.framing == "chunked" else block)
            self.wfile.flush()

        def date_time_string(self, timestamp: float | None = None) -> str:
            return formatdate(timestamp or 1_700_000_000, usegmt=True)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the base class calls it so
            pass

    return Handler


def _response(server: FaultyServer, request: LoggedRequest, fault: Fault) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of a response."""
    if fault.status is not None or fault.body is not None:
        return fault.status or 200, {}, fault.body or b""
    content = server.files.get(request.path)
    if content is None:
        return 404, {}, b"no such file"
    headers = {"ETag": etag(content), "Content-Type": "application/octet-stream"}
    byte_range = re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers.get("range", ""))
    version_matches = request.headers.get("if-range", etag(content)) == etag(content)
    if byte_range is None or fault.ignore_range or not version_matches:
        return 200, headers, content
    start = int(byte_range[1])
    if start >= len(content):
        return 416, {"Content-Range": f"bytes */{len(content)}"}, b""
    stop = min(int(byte_range[2]) + 1, len(content)) if byte_range[2] else len(content)
    return 206, headers | {"Content-Range": f"bytes {start}-{stop - 1}/{len(content)}"}, content[start:stop]
