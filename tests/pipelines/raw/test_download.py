"""One file over a bad network: every way a loopback server knows to disappoint."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders.errors import SourceError
from pipelines.raw import partial
from pipelines.raw.digests import Digest, Hasher
from pipelines.raw.download import DownloadRequest, Patience, fetch
from pipelines.raw.pins import Pin
from tests.support.faulty_server import Fault, FaultyServer, etag
from tests.support.paths import ROOT

if TYPE_CHECKING:
    from pathlib import Path

CONTENT = random.Random(7).randbytes(300_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
BLOB = hashlib.sha1(b"blob %d\0" % len(CONTENT) + CONTENT).hexdigest()
PINNED = Pin(sha256=SHA256, bytes=len(CONTENT))
UNKNOWN = Pin()
PAGE = b"<!DOCTYPE html>\n<html><body>" + b"Please log in. " * 135
PAGE = PAGE[:2048]
TOKEN = "hf_notARealTokenOnlyForThisTest"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    with FaultyServer({"/file.bin": CONTENT}) as running:
        yield running


class Waits(list[float]):
    """A sleep that only notes for how long it was asked to."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def waits() -> Waits:
    return Waits()


Get = Callable[..., Digest]


@pytest.fixture
def get(server: FaultyServer, tmp_path: Path, waits: Waits) -> Get:
    """Fetch /file.bin from the server into tmp_path/cache/file.bin; keywords change the order or the patience."""

    def call(pin: Pin = PINNED, path: str = "/file.bin", token: str | None = None, **patience: Any) -> Digest:
        order = DownloadRequest(
            name="demo/file.bin",
            url=server.url + path,
            pin=pin,
            version="commit 1234",
            refusal="accept the terms",
            otherwise="put it at DIR/demo/file.bin",
            token=token,
        )
        return fetch(order, tmp_path / "cache" / "file.bin", replace(Patience(sleep=waits), **patience))

    return call


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def leave(cache: Path, content: bytes, url: str, tag: str | None = None) -> None:
    """What a killed download leaves behind."""
    cache.mkdir(exist_ok=True)
    (cache / "file.bin.part").write_bytes(content)
    if tag is not None:
        (cache / "file.bin.part.json").write_text(json.dumps({"url": url, "etag": tag}))


# A file that arrives


def test_a_download_is_hashed_and_put_in_its_place_alone(get: Get, cache: Path) -> None:
    assert get() == Digest(SHA256, len(CONTENT))
    assert (cache / "file.bin").read_bytes() == CONTENT
    assert names(cache) == ["file.bin"]


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
def test_a_git_blob_id_is_as_good_as_a_sha256(get: Get, server: FaultyServer, framing: str) -> None:
    server.fail("/file.bin", Fault(framing=framing))
    assert get(Pin(git_blob=BLOB)) == Digest(SHA256, len(CONTENT), BLOB)


def test_a_wrong_git_blob_id_is_refused_though_the_sha256_is_right(get: Get) -> None:
    with pytest.raises(SourceError, match="not the pinned file"):
        get(Pin(sha256=SHA256, git_blob="0" * 40))


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
def test_an_empty_file_is_what_its_digest_says(get: Get, server: FaultyServer, cache: Path, framing: str) -> None:
    server.files["/file.bin"] = b""
    server.fail("/file.bin", Fault(framing=framing))
    get(Pin(sha256=hashlib.sha256(b"").hexdigest(), bytes=0))
    assert (cache / "file.bin").read_bytes() == b""


def test_a_file_in_the_place_is_replaced(get: Get, cache: Path) -> None:
    cache.mkdir()
    (cache / "file.bin").write_bytes(b"damaged")
    get()
    assert (cache / "file.bin").read_bytes() == CONTENT


def test_the_bytes_are_those_the_server_stores_whatever_it_says_of_their_encoding(
    get: Get, server: FaultyServer
) -> None:
    server.fail("/file.bin", Fault(headers={"Content-Encoding": "gzip"}))
    assert get().sha256 == SHA256
    assert server.log[0].headers["accept-encoding"] == "identity"


# Connections that break


def test_after_a_broken_connection_only_the_rest_is_asked_for_and_only_of_the_same_version(
    get: Get, server: FaultyServer
) -> None:
    server.fail("/file.bin", Fault(cut_after=200_000))
    get()
    assert server.ranges() == [None, "bytes=200000-"]
    assert server.log[1].headers["if-range"] == etag(CONTENT)
    assert server.log[1].sent == 100_000


@pytest.mark.parametrize("arrived", [0, 200_000])
def test_a_reset_connection_is_tried_again(
    get: Get, server: FaultyServer, waits: Waits, cache: Path, arrived: int
) -> None:
    server.fail("/file.bin", Fault(reset_after=arrived))
    get()
    assert waits == [1]
    assert (cache / "file.bin").read_bytes() == CONTENT


def test_a_stalling_server_is_left_and_asked_for_the_rest(get: Get, server: FaultyServer) -> None:
    server.fail("/file.bin", Fault(stall_after=100_000))
    get(read=0.2)
    assert server.ranges() == [None, "bytes=100000-"]


def test_a_body_cut_without_a_length_is_known_by_the_pinned_size(get: Get, server: FaultyServer) -> None:
    server.fail("/file.bin", Fault(framing="close", cut_after=100_000))
    get()
    assert server.ranges() == [None, "bytes=100000-"]


def test_a_chunked_body_cut_short_is_resumed_though_no_size_is_known(get: Get, server: FaultyServer) -> None:
    server.fail("/file.bin", Fault(framing="chunked", cut_after=100_000))
    assert get(UNKNOWN).sha256 == SHA256
    assert server.ranges() == [None, "bytes=100000-"]


def test_a_git_blob_id_survives_a_resumed_download(get: Get, server: FaultyServer) -> None:
    server.fail("/file.bin", Fault(cut_after=200_000), Fault(cut_after=50_000))
    assert get(Pin(git_blob=BLOB)).git_blob == BLOB


def test_a_server_that_ignores_range_starts_the_file_anew(get: Get, server: FaultyServer, cache: Path) -> None:
    server.fail("/file.bin", Fault(cut_after=200_000), Fault(ignore_range=True))
    get()
    assert server.ranges() == [None, "bytes=200000-"]
    assert server.log[1].sent == len(CONTENT)
    assert (cache / "file.bin").read_bytes() == CONTENT


@pytest.mark.parametrize(
    "content_range",
    ["bytes 100000-299999/300000", "bytes 200000-299999/999999", "bytes 200000-", "pages 1-2/3", None],
)
def test_a_partial_answer_that_does_not_fit_is_not_used(
    get: Get,
    server: FaultyServer,
    cache: Path,
    content_range: str | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    wrong = Fault(status=206, body=b"x" * 100_000, headers={"Content-Range": content_range})
    server.fail("/file.bin", Fault(cut_after=200_000), wrong)
    get()
    assert server.ranges() == [None, "bytes=200000-", None]
    assert "the server cannot go on where the connection broke (206)" in capsys.readouterr().err
    assert (cache / "file.bin").read_bytes() == CONTENT


def test_a_partial_answer_of_another_version_is_not_used(get: Get, server: FaultyServer) -> None:
    other = Fault(
        status=206,
        body=b"x" * 100_000,
        headers={"Content-Range": "bytes 200000-299999/300000", "ETag": '"another"'},
    )
    server.fail("/file.bin", Fault(cut_after=200_000), other)
    get()
    assert server.ranges() == [None, "bytes=200000-", None]


def test_a_partial_answer_may_be_a_piece_of_the_rest(get: Get, server: FaultyServer) -> None:
    piece = Fault(status=206, body=CONTENT[200_000:250_000], headers={"Content-Range": "bytes 200000-249999/300000"})
    server.fail("/file.bin", Fault(cut_after=200_000), piece)
    get(UNKNOWN)
    assert server.ranges() == [None, "bytes=200000-", "bytes=250000-"]


def test_a_file_that_changed_meanwhile_is_fetched_whole(get: Get, server: FaultyServer, cache: Path) -> None:
    old, new = b"o" * 300_000, b"n" * 300_000
    server.files["/file.bin"] = new
    leave(cache, old[:200_000], server.url + "/file.bin", etag(old))
    get(UNKNOWN)
    assert [seen.status for seen in server.log] == [200]
    assert (cache / "file.bin").read_bytes() == new


def test_without_any_sign_of_its_version_a_file_of_unknown_digest_is_not_pieced_together(
    get: Get, server: FaultyServer
) -> None:
    server.fail("/file.bin", Fault(cut_after=200_000, headers={"ETag": 'W/"weak"'}))
    get(UNKNOWN)
    assert server.ranges() == [None, None]


def test_the_date_of_a_file_tells_its_version_where_no_etag_does(get: Get, server: FaultyServer) -> None:
    date = formatdate(1_600_000_000, usegmt=True)
    server.fail("/file.bin", Fault(cut_after=200_000, headers={"ETag": None, "Last-Modified": date}))
    get(UNKNOWN)
    assert server.log[1].headers["if-range"] == date


@pytest.mark.parametrize(
    "pin", [PINNED, Pin(sha256=SHA256), UNKNOWN], ids=["size known", "digest known", "nothing known"]
)
def test_a_part_that_was_complete_is_not_fetched_again(get: Get, server: FaultyServer, cache: Path, pin: Pin) -> None:
    leave(cache, CONTENT, server.url + "/file.bin", etag(CONTENT))
    assert get(pin).sha256 == SHA256
    assert sum(seen.sent for seen in server.log) == 0
    assert names(cache) == ["file.bin"]


@pytest.mark.parametrize(
    ("size", "ranges"),
    [(100_000, ["bytes=100000-", None]), (300_000, [None]), (300_001, [None])],
    ids=["short", "complete", "too long"],
)
def test_a_damaged_part_is_thrown_away_and_the_file_fetched_anew(
    get: Get, server: FaultyServer, cache: Path, size: int, ranges: list[str | None]
) -> None:
    leave(cache, b"x" * size, server.url + "/file.bin", etag(CONTENT))
    assert get().sha256 == SHA256
    assert server.ranges() == ranges
    assert names(cache) == ["file.bin"]


def test_each_byte_is_hashed_once_and_on_its_way_also_when_resumed(
    get: Get, server: FaultyServer, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[int] = []

    class Counting(Hasher):
        def update(self, chunk: bytes) -> None:
            hashed.append(len(chunk))
            super().update(chunk)

    monkeypatch.setattr(partial, "Hashing", Counting)
    leave(cache, CONTENT[:50_000], server.url + "/file.bin", etag(CONTENT))
    server.fail("/file.bin", Fault(cut_after=100_000), Fault(cut_after=100_000))
    assert get(Pin(git_blob=BLOB)).git_blob == BLOB
    assert sum(hashed) == len(CONTENT)


def test_a_part_beyond_the_end_is_thrown_away_where_no_size_is_known(
    get: Get, server: FaultyServer, cache: Path
) -> None:
    leave(cache, b"x" * 300_001, server.url + "/file.bin", etag(CONTENT))
    get(Pin(sha256=SHA256))
    assert [seen.status for seen in server.log] == [416, 200]


def test_a_part_of_another_address_is_used_only_where_a_digest_will_tell(
    get: Get, server: FaultyServer, cache: Path
) -> None:
    leave(cache, CONTENT[:1000], "https://elsewhere.example/file.bin", etag(CONTENT))
    get()
    leave(cache, CONTENT[:1000], "https://elsewhere.example/file.bin", etag(CONTENT))
    get(UNKNOWN)
    assert server.ranges() == ["bytes=1000-", None]
    assert "if-range" not in server.log[0].headers


def test_a_note_that_cannot_be_read_does_no_harm(get: Get, cache: Path, server: FaultyServer) -> None:
    leave(cache, CONTENT[:1000], server.url + "/file.bin")
    (cache / "file.bin.part.json").write_bytes(b"[\xff")
    assert get().sha256 == SHA256


FAULTS = st.one_of(
    st.builds(Fault, cut_after=st.integers(0, 300_000), framing=st.sampled_from(["length", "chunked"])),
    st.builds(Fault, cut_after=st.integers(0, 300_000), ignore_range=st.booleans()),
    st.builds(Fault, reset_after=st.integers(0, 300_000)),
    st.builds(Fault, status=st.sampled_from([408, 425, 429, 500, 502, 503])),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(faults=st.lists(FAULTS, max_size=5), pin=st.sampled_from([PINNED, UNKNOWN, Pin(git_blob=BLOB)]))
def test_whatever_goes_wrong_on_the_way_the_file_is_the_same(
    tmp_path_factory: pytest.TempPathFactory, faults: list[Fault], pin: Pin
) -> None:
    target = tmp_path_factory.mktemp("cache") / "file.bin"
    with FaultyServer({"/file.bin": CONTENT}) as server:
        server.fail("/file.bin", *faults)
        order = DownloadRequest("demo/file.bin", server.url + "/file.bin", pin, "commit 1", "", "")
        assert fetch(order, target, Patience(sleep=Waits())).sha256 == SHA256
    assert target.read_bytes() == CONTENT


# Servers that are busy


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_a_busy_server_is_asked_again(get: Get, server: FaultyServer, waits: Waits, status: int) -> None:
    server.fail("/file.bin", Fault(status=status), Fault(status=status))
    get()
    assert waits == [1, 2]


def test_waits_double_up_to_a_limit(get: Get, server: FaultyServer, waits: Waits) -> None:
    server.fail("/file.bin", *[Fault(status=503)] * 5)
    get(longest_wait=6)
    assert waits == [1, 2, 4, 6, 6]


def test_waits_start_anew_after_progress(get: Get, server: FaultyServer, waits: Waits) -> None:
    busy, cut = Fault(status=503), Fault(cut_after=50_000)
    server.fail("/file.bin", busy, busy, cut, busy, busy, cut, busy)
    get(retries=3)
    assert waits == [1, 2, 1, 2, 4, 1, 2]


def test_bytes_that_were_there_before_are_no_progress(get: Get, server: FaultyServer, waits: Waits) -> None:
    server.always["/file.bin"] = Fault(cut_after=100_000, ignore_range=True)
    with pytest.raises(SourceError, match="could not be downloaded") as caught:
        get(retries=3)
    assert len(server.log) == 4
    assert "gave up after 3 retries that brought nothing new" in str(caught.value)
    assert "the 100 KB that arrived are kept" in str(caught.value)


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("7", 7),
        ("0", 0),
        ("9999", 300),
        (formatdate(1_700_000_009, usegmt=True), 9),
        (formatdate(1_600_000_000, usegmt=True), 0),
        ("soon", 1),
        ("-5", 1),
        ("", 1),
    ],
)
def test_a_retry_after_is_heeded_within_reason(
    get: Get, server: FaultyServer, waits: Waits, header: str, wait: float
) -> None:
    server.fail("/file.bin", Fault(status=429, headers={"Retry-After": header}))
    get()
    assert waits == [wait]


def test_a_server_that_stays_down_is_given_up_with_its_last_word(get: Get, server: FaultyServer, cache: Path) -> None:
    server.always["/file.bin"] = Fault(status=503)
    with pytest.raises(SourceError) as caught:
        get(retries=2)
    message = str(caught.value)
    assert "demo/file.bin could not be downloaded" in message
    assert "the server answered 503 Service Unavailable" in message
    assert server.url + "/file.bin" in message
    assert "put it at DIR/demo/file.bin" in message
    assert names(cache) == []


def test_nobody_listening_is_a_clear_error(get: Get, server: FaultyServer) -> None:
    server.__exit__(None, None, None)
    with pytest.raises(SourceError, match="ConnectError"):
        get(retries=1)
    server._http.server_close()


def test_what_arrived_is_kept_and_said_when_giving_up(get: Get, server: FaultyServer, cache: Path) -> None:
    server.fail("/file.bin", Fault(cut_after=200_000))
    server.always["/file.bin"] = Fault(status=500)
    with pytest.raises(SourceError, match=r"the 200 KB that arrived are kept"):
        get(retries=1)
    server.always.clear()
    get()
    assert server.ranges()[-1] == "bytes=200000-"


def test_retries_are_told_on_stderr(get: Get, server: FaultyServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.fail("/file.bin", Fault(status=503))
    get()
    output = capsys.readouterr()
    assert output.err == "demo/file.bin: the server answered 503 Service Unavailable; trying again in 1 s (1 of 5)\n"
    assert output.out == ""


# Servers that say no


@pytest.mark.parametrize("status", [400, 404, 405, 410, 451])
def test_a_plain_no_is_not_asked_again(get: Get, server: FaultyServer, status: int, waits: Waits) -> None:
    server.always["/file.bin"] = Fault(status=status)
    with pytest.raises(SourceError, match=f"status {status}"):
        get()
    assert len(server.log) == 1
    assert waits == []


def test_a_missing_file_is_told_with_its_address_and_version(get: Get, server: FaultyServer) -> None:
    with pytest.raises(SourceError, match="is not at its address") as caught:
        get(path="/gone.bin")
    assert caught.value.where == server.url + "/gone.bin"
    assert caught.value.expected == "commit 1234"


@pytest.mark.parametrize("status", [401, 403])
def test_a_denied_file_says_what_to_do(get: Get, server: FaultyServer, status: int) -> None:
    server.always["/file.bin"] = Fault(status=status)
    with pytest.raises(SourceError) as caught:
        get()
    assert caught.value.todo == "accept the terms"
    assert len(server.log) == 1


# What arrives is something else


def test_a_web_page_in_the_files_place_is_told_by_its_size_and_kind(
    get: Get, server: FaultyServer, cache: Path
) -> None:
    server.always["/file.bin"] = Fault(body=PAGE, headers={"Content-Type": "text/html"})
    with pytest.raises(SourceError) as caught:
        get()
    message = str(caught.value)
    assert "demo/file.bin is not the pinned file" in message
    assert "an HTML page of 2 KB (2,048 bytes)" in message
    assert f"sha256 {SHA256}, 300,000 bytes" in message
    assert names(cache) == []


@pytest.mark.parametrize("framing", ["chunked", "close"])
def test_a_web_page_whose_size_is_not_told_is_known_too(
    get: Get, server: FaultyServer, cache: Path, framing: str
) -> None:
    server.always["/file.bin"] = Fault(body=PAGE, framing=framing)
    with pytest.raises(SourceError, match="an HTML page of 2 KB"):
        get()
    assert len(server.log) == 1
    assert names(cache) == []


@pytest.mark.parametrize("pin", [Pin(sha256=SHA256), Pin(git_blob=BLOB)])
def test_another_file_is_refused_by_its_digest(get: Get, server: FaultyServer, cache: Path, pin: Pin) -> None:
    other = b"PK\x03\x04" + bytes(4996)
    server.files["/file.bin"] = other
    with pytest.raises(SourceError) as caught:
        get(pin)
    assert f"a zip archive of 5 KB (sha256 {hashlib.sha256(other).hexdigest()}" in str(caught.value)
    assert str(pin) in str(caught.value)
    assert names(cache) == []


def test_a_file_of_another_size_is_not_fetched_to_its_end(get: Get, server: FaultyServer, cache: Path) -> None:
    server.files["/file.bin"] = bytes(50_000_000)
    with pytest.raises(SourceError, match="binary data of 50 MB"):
        get()
    assert names(cache) == []


def test_a_body_without_end_is_left_once_it_is_too_long(get: Get, server: FaultyServer, cache: Path) -> None:
    server.files["/file.bin"] = bytes(50_000_000)
    server.always["/file.bin"] = Fault(framing="chunked")
    with pytest.raises(SourceError, match="is not the pinned file"):
        get()
    assert server.log[0].sent < 50_000_000
    assert names(cache) == []


def test_a_lost_part_of_a_file_that_changed_is_cleaned_up_too(get: Get, server: FaultyServer, cache: Path) -> None:
    leave(cache, CONTENT[:1000], server.url + "/file.bin", etag(CONTENT))
    server.always["/file.bin"] = Fault(body=PAGE)
    with pytest.raises(SourceError, match="an HTML page of 2 KB"):
        get()
    assert names(cache) == []


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (PAGE, "an HTML page of 2 KB"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 378730064\n",
            "a git-lfs pointer of 134 bytes",
        ),
    ],
    ids=["web page", "git-lfs pointer"],
)
def test_an_impostor_is_known_even_where_no_digest_is(
    get: Get, server: FaultyServer, cache: Path, content: bytes, kind: str
) -> None:
    server.files["/file.bin"] = content
    with pytest.raises(SourceError, match=kind):
        get(UNKNOWN)
    assert names(cache) == []


# Addresses and secrets


def test_plain_http_is_refused_unless_it_stays_on_this_machine(get: Get, tmp_path: Path) -> None:
    order = DownloadRequest(
        "demo/file.bin", "http://files.example/file.bin", PINNED, "", "", "put it at DIR/demo/file.bin"
    )
    with pytest.raises(SourceError, match="not https"):
        fetch(order, tmp_path / "file.bin", Patience())


def test_a_redirect_to_plain_http_elsewhere_is_refused(get: Get, server: FaultyServer) -> None:
    server.always["/file.bin"] = Fault(status=302, headers={"Location": "http://files.example/secret?signature=abc"})
    with pytest.raises(SourceError, match=r"http://files\.example") as caught:
        get()
    assert "signature" not in str(caught.value)


def test_a_circle_of_redirects_is_an_error_at_once(get: Get, server: FaultyServer, waits: Waits) -> None:
    server.always["/file.bin"] = Fault(status=302, headers={"Location": "/file.bin"})
    with pytest.raises(SourceError, match="TooManyRedirects"):
        get()
    assert waits == []


def test_the_token_goes_to_the_address_itself_and_not_where_it_redirects(get: Get, server: FaultyServer) -> None:
    with FaultyServer({"/store": CONTENT}) as store:
        server.always["/file.bin"] = Fault(status=302, headers={"Location": f"{store.url}/store"})
        store.fail("/store", Fault(cut_after=100_000))
        get(token=TOKEN)
        assert [seen.headers.get("authorization") for seen in server.log] == [f"Bearer {TOKEN}"] * 2
        assert ["authorization" in seen.headers for seen in store.log] == [False, False]
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
    get: Get,
    server: FaultyServer,
    fault: Fault,
    cache: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    server.always["/file.bin"] = fault
    with pytest.raises(SourceError) as caught:
        get(token=TOKEN, retries=1)
    output = capfd.readouterr()
    shown = [str(caught.value), repr(caught.value), caplog.text, output.out, output.err]
    kept = [path.read_bytes().decode("latin-1") for path in cache.iterdir()]
    assert server.log[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert not [text for text in shown + kept if TOKEN in text]
    assert TOKEN not in repr(DownloadRequest("", "", PINNED, "", "", "", token=TOKEN))


# The disk


def test_too_little_room_is_said_before_anything_is_written(
    get: Get, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type(shutil.disk_usage("/"))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9 - 100_200_000, 100_200_000))
    with pytest.raises(SourceError, match="too little room") as caught:
        get()
    assert caught.value.found == "100.2 MB free"
    assert caught.value.expected == "300 KB for the file, and 100 MB to spare"
    assert names(cache) == []


def test_only_the_rest_of_a_file_needs_room(get: Get, server: FaultyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type(shutil.disk_usage("/"))
    free = iter([100_300_000, 100_100_000])
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 0, next(free)))
    server.fail("/file.bin", Fault(cut_after=200_000))
    assert get().sha256 == SHA256


def test_a_disk_that_fills_up_is_a_clear_error_and_keeps_what_arrived(
    get: Get, server: FaultyServer, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(SourceError, match="the disk is full"):
            get()
    assert names(cache) == ["file.bin.part", "file.bin.part.json"]
    get()
    assert len(server.log) == 1


def test_a_cache_that_cannot_be_written_is_a_clear_error(get: Get, cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    with pytest.raises(SourceError, match="the cache cannot be used") as caught:
        get()
    assert "EMBEDDING_DATASETS_CACHE" in str(caught.value)


# The terminal


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar_of_bytes(get: Get, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    get()
    assert "demo/file.bin" in terminal.getvalue()
    assert "300k" in terminal.getvalue()


def test_a_pipe_gets_no_bar(get: Get, capsys: pytest.CaptureFixture[str]) -> None:
    get()
    assert capsys.readouterr() == ("", "")


# A process that dies

CHILD = """
import sys
from pathlib import Path
from pipelines.raw.download import DownloadRequest, Patience, fetch
from pipelines.raw.pins import Pin
url, target, sha256 = sys.argv[1:]
fetch(DownloadRequest("demo/file.bin", url, Pin(sha256=sha256), "", "", ""), Path(target), Patience())
"""


def test_a_killed_download_is_resumed_by_the_next_command(get: Get, server: FaultyServer, cache: Path) -> None:
    server.fail("/file.bin", Fault(stall_after=200_000))
    part = cache / "file.bin.part"
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, f"{server.url}/file.bin", cache / "file.bin", SHA256], cwd=ROOT
    )
    try:
        deadline = time.monotonic() + 60
        while not part.exists() or part.stat().st_size < 100_000:
            assert child.poll() is None, "the child ended before it was killed"
            assert time.monotonic() < deadline, "nothing arrived"
            time.sleep(0.01)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert names(cache) == ["file.bin.part", "file.bin.part.json"]
    arrived = part.stat().st_size

    get(Pin(sha256=SHA256))

    assert server.ranges() == [None, f"bytes={arrived}-"]
    assert server.log[1].sent == len(CONTENT) - arrived
    assert (cache / "file.bin").read_bytes() == CONTENT
    assert names(cache) == ["file.bin"]
