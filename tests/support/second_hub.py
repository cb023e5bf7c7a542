"""A second loopback Hub for datasets, written from the Hub's documentation and its public client alone.

with second_hub({"hf_alice": Account("alice", orgs=("org",))}) as hub:
    HfApi(hub.url, token="hf_alice").create_repo("org/d", repo_type="dataset")

It shares nothing with `loopback_hub`, so a test that passes on both does not rest on what one author expected of the Hub. Refs,
tags, parents and lost commits are git's: every dataset is a git repository. The rest is what these say, named where they decide:

- openapi: the Hub's OpenAPI description;
- docs: the documentation of the Hub and of `huggingface_hub`;
- client: what `huggingface_hub` and huggingface.js send and expect;
- client tests: what the tests of `huggingface_hub` expect of the staging Hub;
- issue N: an issue of `huggingface_hub`.

Left out: Xet, collections, uploads in parts, refusals for too many requests, models and Spaces, the viewer, access requests,
git over HTTP, a new history where LFS files are deleted.
"""

import hashlib
import json
import tempfile
import threading
import traceback
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.git_repository import GitError
from tests.support.second_hub_api import Account, Answer, Hub, LoggedRequest, Request, content, dispatch, error, require

QUOTA, WINDOW = 100_000, 300  # requests, in so many seconds; docs: rate limits
ACCOUNTS = {
    "hf_writer_token": Account("tester", orgs=("org", "other", "att", "r")),
    "hf_reader_token": Account("reader", role="read", orgs=("org",)),
}


@contextmanager
def second_hub(accounts: dict[str, Account] = ACCOUNTS) -> Iterator[Hub]:
    """Serve the Hub's API, and LFS files on another origin, as the Hub's CDN does."""
    lock = threading.Lock()
    with tempfile.TemporaryDirectory(prefix="second-hub-") as folder:
        hub = Hub(Path(folder) / "repositories", accounts)
        hub.folder.mkdir()
        servers = [_server(lambda request: _answer(hub, lock, request)), _server(lambda request: _store(hub, request))]
        hub.url, hub.storage_url = [f"http://127.0.0.1:{server.server_address[1]}" for server in servers]
        for server in servers:
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield hub
        finally:
            for server in servers:
                server.shutdown()
                server.server_close()


def _answer(hub: Hub, lock: threading.Lock, request: Request) -> Answer:
    bucket = "resolvers" if "/resolve" in request.path else "api"
    token = request.headers.get("authorization", "").removeprefix("Bearer ")
    for part in [part for part in hub.before_answer if part in request.path]:
        hub.before_answer.pop(part)()
    with lock:
        try:
            require(not token or token in hub.accounts, 401, "Invalid credentials in Authorization header")  # client
            answer = dispatch(hub, replace(request, account=hub.accounts.get(token)))
        except Answer as refusal:
            answer = refusal
        except (
            GitError,
            KeyError,
            ValueError,
        ) as refusal:  # a name that git does not take, a key or JSON that is not as it should be
            answer = error(400, f"{type(refusal).__name__}: {refusal}")
        except Exception:  # noqa: BLE001  a fault of this server, to be seen in the test
            answer = error(500, traceback.format_exc())
        hub.log.append(LoggedRequest(request.method, unquote(request.path), answer.status))
    answer.headers |= {
        "RateLimit": f'"{bucket}";r={QUOTA - 1};t={WINDOW}',  # never used up
        "RateLimit-Policy": f'"fixed window";"{bucket}";q={QUOTA};w={WINDOW}',
        "X-Request-Id": f"Root={uuid.uuid4()}",
    }
    return answer


def _store(hub: Hub, request: Request) -> Answer:
    """Answer a request for /{uid of the dataset}/{sha256}."""
    uid, sha256 = request.path.strip("/").split("/")
    file = hub.folder / uid / sha256
    if "authorization" in request.headers:  # the addresses are signed, and S3 refuses a token beside a signature
        return Answer(b"<Error><Code>InvalidArgument</Code></Error>", 400)
    if request.method == "PUT":
        digest = hashlib.sha256(request.body).hexdigest()
        if digest != sha256:
            return Answer(b"<Error><Code>BadDigest</Code></Error>", 400)
        file.write_bytes(request.body)
        return Answer(b"", headers={"ETag": f'"{digest}"'})
    if not file.is_file():  # issue 4430: lost files are still listed and resolved; their storage answers 403
        return Answer(b"<Error><Code>AccessDenied</Code></Error>", 403)
    return content(file.read_bytes(), request, {"ETag": f'"{sha256}"'})


def _server(answer: Callable[[Request], Answer]) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *_: Any) -> None:
            """Stay silent."""

        def serve(self) -> None:
            """Answer a request of any method."""
            url, body, parsed = urlsplit(self.path), self.rfile.read(int(self.headers.get("Content-Length", 0))), None
            with suppress(ValueError):
                parsed = json.loads(body)
            headers = {name.lower(): value for name, value in self.headers.items()}
            given = answer(Request(self.command, url.path, parse_qs(url.query), headers, body, parsed))
            sent = given.body if isinstance(given.body, bytes) else json.dumps(given.body).encode()
            kind = "application/octet-stream" if isinstance(given.body, bytes) else "application/json; charset=utf-8"
            self.send_response(given.status)
            for name, value in ({"Content-Type": kind, "Content-Length": str(len(sent))} | given.headers).items():
                self.send_header(name, value.replace("\n", " ").encode("ascii", "replace").decode())
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else sent)

    for method in ("GET", "HEAD", "POST", "PUT", "DELETE"):
        setattr(Handler, f"do_{method}", Handler.serve)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    return server
