"""One download: what is written, what is refused, what is shown. Partial files left by an earlier command: which are used,
and which are deleted.
"""

import errno
import hashlib
import logging
import os
import shutil
import socket
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from builders.errors import SourceError
from pipelines.process import installation
from pipelines.raw.digests import Digest, Hasher
from pipelines.raw.download import DownloadRequest, Patience, download_file
from pipelines.raw.pins import Pin
from tests.support.downloads import BLOB, CONTENT, PAGE, PINNED, SHA256, UNKNOWN, Download, Waits, leave_partial, names
from tests.support.faulty_server import Fault, FaultyServer, etag
from tests.support.raw_files import GIT_LFS_POINTER, TOKEN, error_of
from tests.support.terminals import Terminal


def test_a_download_is_hashed_and_leaves_only_the_file(download: Download, cache: Path) -> None:
    assert download() == Digest(SHA256, len(CONTENT))
    assert (cache / "file.bin").read_bytes() == CONTENT
    assert names(cache) == ["file.bin"]


def test_each_request_names_this_package_and_its_version(download: Download, server: FaultyServer) -> None:
    server.fail("/file.bin", Fault(cut_after=1000))
    download()
    agents = [request.headers["user-agent"] for request in server.log]
    assert agents == [f"embedding-datasets/{installation.version()}"] * 2


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
def test_a_git_blob_id_pins_as_well_as_a_sha256(download: Download, server: FaultyServer, framing: str) -> None:
    server.fail("/file.bin", Fault(framing=framing))
    assert download(Pin(git_blob=BLOB)) == Digest(SHA256, len(CONTENT), BLOB)
    assert "not the pinned file" in str(error_of(download, Pin(sha256=SHA256, git_blob="0" * 40)))


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
def test_an_empty_file_is_downloaded_and_verified(
    download: Download, server: FaultyServer, cache: Path, framing: str
) -> None:
    server.files["/file.bin"] = b""
    server.fail("/file.bin", Fault(framing=framing))
    download(Pin(sha256=hashlib.sha256(b"").hexdigest(), bytes=0))
    assert (cache / "file.bin").read_bytes() == b""


def test_bytes_are_stored_as_sent_ignoring_content_encoding(download: Download, server: FaultyServer) -> None:
    server.fail("/file.bin", Fault(headers={"Content-Encoding": "gzip"}))
    assert download().sha256 == SHA256
    assert server.log[0].headers["accept-encoding"] == "identity"


# Responses that refuse


@pytest.mark.parametrize("status", [400, 404, 405, 410, 451])
def test_a_client_error_is_not_retried(download: Download, server: FaultyServer, status: int, waits: Waits) -> None:
    server.always["/file.bin"] = Fault(status=status)
    assert f"status {status}" in str(error_of(download))
    assert len(server.log) == 1
    assert waits == []


@pytest.mark.parametrize("status", [404, 410])
def test_the_error_for_a_missing_file_names_its_url_its_version_and_mirrors(
    download: Download, server: FaultyServer, status: int
) -> None:
    server.always["/gone.bin"] = Fault(status=status)
    with pytest.raises(SourceError, match="not found at its URL") as caught:
        download(path="/gone.bin")
    assert caught.value.where == server.url + "/gone.bin"
    assert caught.value.expected == "commit 1234"
    assert "EMBEDDING_DATASETS_MIRRORS" in str(caught.value.todo)


# Another file than the pinned one


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
def test_a_web_page_is_recognised_with_its_size_and_the_partial_file_is_deleted(
    download: Download, server: FaultyServer, cache: Path, framing: str
) -> None:
    leave_partial(cache, CONTENT[:1000], server.url + "/file.bin", etag(CONTENT))
    server.always["/file.bin"] = Fault(body=PAGE, framing=framing)
    message = str(error_of(download))
    assert "an HTML page of 2 KB" in message
    assert (f"sha256 {SHA256}, 300,000 bytes" in message) == (framing != "close"), "else its end may have been cut off"
    assert len(server.log) == 1
    assert names(cache) == []


@pytest.mark.parametrize("pin", [Pin(sha256=SHA256), Pin(git_blob=BLOB)])
def test_another_file_is_refused_by_its_digest(download: Download, server: FaultyServer, cache: Path, pin: Pin) -> None:
    other = b"PK\x03\x04" + bytes(4996)
    server.files["/file.bin"] = other
    error = error_of(download, pin)
    assert f"a zip archive of 5 KB (sha256 {hashlib.sha256(other).hexdigest()}" in str(error)
    assert str(pin) in str(error)
    assert names(cache) == []


def test_a_file_of_another_size_is_not_downloaded_and_a_body_is_dropped_once_it_is_too_long(
    download: Download, server: FaultyServer, cache: Path
) -> None:
    server.files["/file.bin"] = bytes(50_000_000)
    server.fail("/file.bin", Fault(), Fault(framing="chunked"))
    assert "binary data of 50 MB" in str(error_of(download))
    assert "is not the pinned file" in str(error_of(download))
    assert server.log[1].sent < 50_000_000
    assert names(cache) == []


@pytest.mark.parametrize(
    ("content", "content_type"),
    [
        (PAGE, "an HTML page of 2 KB"),
        (GIT_LFS_POINTER, "a git-lfs pointer of 134 bytes"),
    ],
    ids=["web page", "git-lfs pointer"],
)
def test_a_placeholder_is_recognised_without_a_digest(
    download: Download, server: FaultyServer, cache: Path, content: bytes, content_type: str
) -> None:
    server.files["/file.bin"] = content
    assert content_type in str(error_of(download, UNKNOWN))
    assert names(cache) == []


# URLs and tokens


def test_plain_http_to_another_machine_is_refused(tmp_path: Path) -> None:
    request = DownloadRequest(
        "demo/file.bin", "http://files.example/file.bin", PINNED, "", "", "put it at DIR/demo/file.bin"
    )
    assert "the URL is not https" in str(error_of(download_file, request, tmp_path / "file.bin", Patience()))


def test_a_redirect_to_plain_http_on_another_machine_is_refused(download: Download, server: FaultyServer) -> None:
    server.always["/file.bin"] = Fault(status=302, headers={"Location": "http://files.example/secret?signature=abc"})
    with pytest.raises(SourceError, match=r"http://files\.example") as caught:
        download()
    assert "signature" not in str(caught.value)


def test_a_redirect_loop_is_an_error_without_a_retry(download: Download, server: FaultyServer, waits: Waits) -> None:
    server.always["/file.bin"] = Fault(status=302, headers={"Location": "/file.bin"})
    assert "TooManyRedirects" in str(error_of(download))
    assert waits == []


def test_the_token_is_not_sent_to_the_target_of_a_redirect(download: Download, server: FaultyServer) -> None:
    with FaultyServer({"/store": CONTENT}) as store:
        server.always["/file.bin"] = Fault(status=302, headers={"Location": f"{store.url}/store"})
        store.fail("/store", Fault(cut_after=100_000))
        download(token=TOKEN)
        assert [request.headers.get("authorization") for request in server.log] == [f"Bearer {TOKEN}"] * 2
        assert ["authorization" in request.headers for request in store.log] == [False, False]
        assert store.ranges() == [None, "bytes=100000-"]


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=401),
        Fault(status=404),
        Fault(status=503),
        Fault(body=PAGE),
        Fault(cut_after=10, ignore_range=True),
        Fault(status=302, headers={"Location": "/file.bin"}),
        Fault(status=302, headers={"Location": "http://files.example/"}),
    ],
)
def test_the_token_is_shown_nowhere(
    download: Download,
    server: FaultyServer,
    fault: Fault,
    cache: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    server.always["/file.bin"] = fault
    error = error_of(download, token=TOKEN, retries=1)
    output = capfd.readouterr()
    shown = [str(error), repr(error), caplog.text, output.out, output.err]
    kept = [path.read_bytes().decode("latin-1") for path in cache.iterdir()]
    assert server.log[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert not [text for text in shown + kept if TOKEN in text]
    assert TOKEN not in repr(DownloadRequest("", "", PINNED, "", "", "", token=TOKEN))


# The disk


def test_too_little_disk_space_is_an_error_before_anything_is_written(
    download: Download, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type(shutil.disk_usage("/"))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9 - 100_200_000, 100_200_000))
    with pytest.raises(SourceError, match="not enough disk space") as caught:
        download()
    assert caught.value.found == "100.2 MB free"
    assert caught.value.expected == "300 KB for the file, 100 MB in reserve"
    assert names(cache) == []


def test_only_the_rest_of_a_partial_file_needs_disk_space(
    download: Download, server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type(shutil.disk_usage("/"))
    free = iter([100_300_000, 100_100_000])
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 0, next(free)))
    server.fail("/file.bin", Fault(cut_after=200_000))
    assert download().sha256 == SHA256


def test_a_full_disk_is_an_error_that_keeps_the_partial_file(
    download: Download, server: FaultyServer, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert "the disk is full" in str(error_of(download))
    assert names(cache) == ["file.bin.part", "file.bin.part.json"]
    download()
    assert len(server.log) == 1


# The terminal


def test_a_terminal_shows_a_progress_bar_in_bytes_and_a_pipe_shows_none(
    download: Download, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    download()
    assert capsys.readouterr() == ("", "")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    download()
    assert "demo/file.bin" in terminal.getvalue()
    assert "300k" in terminal.getvalue()


@pytest.mark.parametrize(
    "pin", [PINNED, Pin(sha256=SHA256), UNKNOWN], ids=["size known", "digest known", "nothing known"]
)
def test_a_complete_partial_file_is_not_downloaded_again(
    download: Download, server: FaultyServer, cache: Path, pin: Pin
) -> None:
    leave_partial(cache, CONTENT, server.url + "/file.bin", etag(CONTENT), len(CONTENT))
    assert download(pin).sha256 == SHA256
    assert sum(request.sent for request in server.log) == 0
    assert names(cache) == ["file.bin"]


@pytest.mark.parametrize(
    ("size", "pin", "ranges"),
    [
        (100_000, PINNED, ["bytes=100000-", None]),
        (300_000, PINNED, [None]),
        (300_001, PINNED, [None]),
        (300_001, Pin(sha256=SHA256), ["bytes=300001-", None]),
    ],
    ids=["short", "complete", "too long", "too long, without a known size"],
)
def test_a_damaged_partial_file_is_deleted_and_downloaded_again(
    download: Download, server: FaultyServer, cache: Path, size: int, pin: Pin, ranges: list[str | None]
) -> None:
    leave_partial(cache, b"x" * size, server.url + "/file.bin", etag(CONTENT))
    assert download(pin).sha256 == SHA256
    assert server.ranges() == ranges
    assert names(cache) == ["file.bin"]


def test_a_resumed_download_hashes_each_byte_once(
    download: Download, server: FaultyServer, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed_sizes: list[int] = []
    update = Hasher.update

    def counting_update(self: Hasher, chunk: bytes) -> None:
        hashed_sizes.append(len(chunk))
        update(self, chunk)

    monkeypatch.setattr(Hasher, "update", counting_update)
    leave_partial(cache, CONTENT[:50_000], server.url + "/file.bin", etag(CONTENT))
    server.fail("/file.bin", Fault(cut_after=100_000), Fault(cut_after=100_000))
    assert download(Pin(git_blob=BLOB)).git_blob == BLOB
    assert sum(hashed_sizes) == len(CONTENT)


def test_a_partial_file_from_another_url_is_used_only_with_a_known_digest(
    download: Download, server: FaultyServer, cache: Path
) -> None:
    leave_partial(cache, CONTENT[:1000], "https://elsewhere.example/file.bin", etag(CONTENT))
    download()
    leave_partial(cache, CONTENT[:1000], "https://elsewhere.example/file.bin", etag(CONTENT))
    download(UNKNOWN)
    assert server.ranges() == ["bytes=1000-", None]
    assert "if-range" not in server.log[0].headers


def test_a_damaged_note_is_ignored(download: Download, cache: Path, server: FaultyServer) -> None:
    leave_partial(cache, CONTENT[:1000], server.url + "/file.bin")
    (cache / "file.bin.part.json").write_bytes(b"[\xff")
    assert download().sha256 == SHA256


class SlowServer:
    """Answers one connection after the other with some bytes, and then with one more each 50 ms, until the client is gone."""

    def __init__(self, first: bytes, endless: bytes) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/file.bin"
        self._first, self._endless = first, endless
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self.socket.accept()
                with suppress(OSError), connection:
                    connection.recv(65_536)
                    connection.sendall(self._first)
                    while True:
                        connection.sendall(self._endless)
                        time.sleep(0.05 if len(self._endless) < 100 else 0)


HEADERS = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
CHUNKED = HEADERS + b"Transfer-Encoding: chunked\r\n\r\n"
BLOCK = b"10000\r\n" + bytes(65_536) + b"\r\n"


@pytest.mark.parametrize(
    ("first", "endless", "found"),
    [
        (b"HTTP/1.1 200 OK\r\nX: ", b"x", "gave up after 1 retries"),
        (HEADERS + b"\r\n", b"x", "fewer than 100,000 bytes within 0.3 s"),
        (CHUNKED, b"1\r\nx\r\n", "fewer than 100,000 bytes within 0.3 s"),
        (CHUNKED, BLOCK, "more than the 3,000,000 bytes that are taken of any file"),
    ],
    ids=["slow headers", "a slow body", "slow chunks", "an endless body"],
)
def test_a_server_that_never_ends_is_left(
    first: bytes, endless: bytes, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.raw.download.MAX_UNANNOUNCED", 3_000_000)
    server = SlowServer(first, endless)
    patience = Patience(retries=1, answer=0.5, window=0.3, sleep=lambda _: None)
    request = DownloadRequest("source/file.bin", server.url, UNKNOWN, "version", "hint", "fetch it by hand")
    with pytest.raises(SourceError, match="could not be downloaded") as error:
        download_file(request, tmp_path / "file.bin", patience)
    assert found in str(error.value)
    assert not (tmp_path / "file.bin").exists()
    assert not error.value.local, "a mirror is asked next"
    server.socket.close()


def test_the_disk_is_looked_at_while_a_file_of_unknown_size_arrives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = SlowServer(CHUNKED, BLOCK)
    monkeypatch.setattr("pipelines.raw.download.STEP", 1_000_000)
    monkeypatch.setattr("pipelines.raw.download.shutil.disk_usage", lambda _: SimpleNamespace(free=1_000))
    request = DownloadRequest("source/file.bin", server.url, UNKNOWN, "version", "hint", "fetch it by hand")
    assert "not enough disk space" in str(
        error_of(download_file, request, tmp_path / "file.bin", Patience(sleep=lambda _: None))
    )
    assert (tmp_path / "file.bin.part").stat().st_size < 2_000_000
    server.socket.close()


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "http://[", "ftp://example.org/x", "data:text/plain,x", "https://127..0.1:1/x"]
)
def test_a_redirect_to_what_is_no_web_address_is_an_error_in_words(
    address: str, download: Download, server: FaultyServer
) -> None:
    server.fail("/file.bin", Fault(status=302, headers={"Location": address}))
    with pytest.raises(SourceError, match=r"could not be downloaded|is not https"):
        download()


def test_a_continuation_that_is_longer_than_announced_is_dropped(
    download: Download, server: FaultyServer, cache: Path
) -> None:
    server.fail("/file.bin", Fault(cut_after=40_000))
    longer = CONTENT[40_000:] + b"more"
    announced = f"bytes 40000-{len(CONTENT) - 1}/{len(CONTENT)}"
    server.fail("/file.bin", Fault(status=206, headers={"Content-Range": announced}, body=longer))
    assert "more than the" in str(error_of(download, pin=UNKNOWN))
    assert not list(cache.rglob("file.bin"))


def test_an_error_does_not_hold_the_token_that_a_server_repeats(tmp_path: Path, server: FaultyServer) -> None:
    """Not only what commands print: a program may log the error."""
    request = DownloadRequest("source/file.bin", "", UNKNOWN, "version", "hint", "fetch it by hand", token=TOKEN)
    echo = SlowServer(f"HTTP/1.1 503 Bearer {TOKEN}\r\nContent-Length: 0\r\n\r\n".encode(), b"x")
    with pytest.raises(SourceError) as error:
        download_file(replace(request, url=echo.url), tmp_path / "file.bin", Patience(retries=1, sleep=lambda _: None))
    assert "503" in str(error.value)
    assert TOKEN not in str(error.value) + repr(error.value) + repr(vars(error.value))
    echo.socket.close()
