"""Broken connections: a download resumes where it stopped, if the server still has the same file."""

import signal
import subprocess
import sys
import time
from email.utils import formatdate
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.raw.download import DownloadRequest, Patience, download_file
from pipelines.raw.pins import Pin
from tests.support.downloads import BLOB, CONTENT, PINNED, SHA256, UNKNOWN, Download, Waits, leave_partial, names
from tests.support.faulty_server import Fault, FaultyServer, etag
from tests.support.paths import ROOT


def test_after_a_broken_connection_only_the_rest_of_the_same_version_is_requested(
    download: Download, server: FaultyServer
) -> None:
    server.fail("/file.bin", Fault(cut_after=200_000))
    download()
    assert server.ranges() == [None, "bytes=200000-"]
    assert server.log[1].headers["if-range"] == etag(CONTENT)
    assert server.log[1].sent == 100_000


@pytest.mark.parametrize("reset_after", [0, 200_000])
def test_a_reset_connection_is_retried(
    download: Download, server: FaultyServer, waits: Waits, cache: Path, reset_after: int
) -> None:
    server.fail("/file.bin", Fault(reset_after=reset_after))
    download()
    assert waits == [1]
    assert (cache / "file.bin").read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("fault", "pin"),
    [
        (Fault(stall_after=100_000), PINNED),
        (Fault(framing="close", cut_after=100_000), PINNED),
        (Fault(framing="chunked", cut_after=100_000), UNKNOWN),
        (Fault(cut_after=100_000), Pin(git_blob=BLOB)),
    ],
    ids=["stalled", "length pinned only", "length unknown", "git blob id"],
)
def test_a_download_that_stalls_or_is_cut_is_resumed(
    download: Download, server: FaultyServer, fault: Fault, pin: Pin
) -> None:
    server.fail("/file.bin", fault)
    digest = download(pin, read=0.2 if fault.stall_after else 60)
    assert (digest.sha256, digest.git_blob) == (SHA256, pin.git_blob)
    assert server.ranges() == [None, "bytes=100000-"]


def test_a_server_that_ignores_range_sends_the_whole_file_again(
    download: Download, server: FaultyServer, cache: Path
) -> None:
    server.fail("/file.bin", Fault(cut_after=200_000), Fault(ignore_range=True))
    download()
    assert server.ranges() == [None, "bytes=200000-"]
    assert server.log[1].sent == len(CONTENT)
    assert (cache / "file.bin").read_bytes() == CONTENT


@pytest.mark.parametrize(
    "content_range",
    ["bytes 100000-299999/300000", "bytes 200000-299999/999999", "bytes 200000-", "pages 1-2/3", None],
)
def test_a_partial_response_with_another_range_is_not_used(
    download: Download,
    server: FaultyServer,
    cache: Path,
    content_range: str | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    wrong = Fault(status=206, body=b"x" * 100_000, headers={"Content-Range": content_range})
    server.fail("/file.bin", Fault(cut_after=200_000), wrong)
    download()
    assert server.ranges() == [None, "bytes=200000-", None]
    assert "the server cannot resume the download (status 206)" in capsys.readouterr().err
    assert (cache / "file.bin").read_bytes() == CONTENT


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_server_that_says_the_half_is_the_whole_is_not_believed_without_a_digest(
    download: Download, server: FaultyServer, cache: Path, framing: str
) -> None:
    half = Fault(status=416, headers={"Content-Range": "bytes */150000"})
    server.fail("/file.bin", Fault(cut_after=150_000, framing=framing), half)
    assert download(UNKNOWN).bytes == len(CONTENT)
    assert server.ranges() == [None, "bytes=150000-", None]
    assert (cache / "file.bin").read_bytes() == CONTENT


def test_a_partial_response_of_another_version_is_not_used(download: Download, server: FaultyServer) -> None:
    other = Fault(
        status=206,
        body=b"x" * 100_000,
        headers={"Content-Range": "bytes 200000-299999/300000", "ETag": '"another"'},
    )
    server.fail("/file.bin", Fault(cut_after=200_000), other)
    download()
    assert server.ranges() == [None, "bytes=200000-", None]


def test_a_partial_response_may_hold_only_a_piece_of_the_rest(download: Download, server: FaultyServer) -> None:
    piece = Fault(status=206, body=CONTENT[200_000:250_000], headers={"Content-Range": "bytes 200000-249999/300000"})
    server.fail("/file.bin", Fault(cut_after=200_000), piece)
    download(UNKNOWN)
    assert server.ranges() == [None, "bytes=200000-", "bytes=250000-"]


def test_a_file_that_changed_on_the_server_is_downloaded_whole(
    download: Download, server: FaultyServer, cache: Path
) -> None:
    old, new = b"o" * 300_000, b"n" * 300_000
    server.files["/file.bin"] = new
    leave_partial(cache, old[:200_000], server.url + "/file.bin", etag(old))
    download(UNKNOWN)
    assert [request.status for request in server.log] == [200]
    assert (cache / "file.bin").read_bytes() == new


def test_without_a_version_or_a_digest_a_download_is_not_resumed(download: Download, server: FaultyServer) -> None:
    server.fail("/file.bin", Fault(cut_after=200_000, headers={"ETag": 'W/"weak"'}))
    download(UNKNOWN)
    assert server.ranges() == [None, None]


def test_without_an_etag_the_date_identifies_the_version(download: Download, server: FaultyServer) -> None:
    date = formatdate(1_600_000_000, usegmt=True)
    server.fail("/file.bin", Fault(cut_after=200_000, headers={"ETag": None, "Last-Modified": date}))
    download(UNKNOWN)
    assert server.log[1].headers["if-range"] == date


FAULTS = st.one_of(
    st.builds(Fault, cut_after=st.integers(0, 300_000), framing=st.sampled_from(["length", "chunked"])),
    st.builds(Fault, cut_after=st.integers(0, 300_000), ignore_range=st.booleans()),
    st.builds(Fault, reset_after=st.integers(0, 300_000)),
    st.builds(Fault, status=st.sampled_from([408, 425, 429, 500, 502, 503])),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(faults=st.lists(FAULTS, max_size=5), pin=st.sampled_from([PINNED, UNKNOWN, Pin(git_blob=BLOB)]))
def test_the_file_is_the_same_whatever_the_server_does(
    tmp_path_factory: pytest.TempPathFactory, faults: list[Fault], pin: Pin
) -> None:
    target = tmp_path_factory.mktemp("cache") / "file.bin"
    with FaultyServer({"/file.bin": CONTENT}) as server:
        server.fail("/file.bin", *faults)
        request = DownloadRequest("demo/file.bin", server.url + "/file.bin", pin, "commit 1", "", "")
        assert download_file(request, target, Patience(sleep=Waits())).sha256 == SHA256
    assert target.read_bytes() == CONTENT


COMMAND = """
import sys
from pathlib import Path
from pipelines.raw.download import DownloadRequest, Patience, download_file
from pipelines.raw.pins import Pin
url, target, sha256 = sys.argv[1:]
download_file(DownloadRequest("demo/file.bin", url, Pin(sha256=sha256), "", "", ""), Path(target), Patience())
"""


def test_a_killed_download_is_resumed_by_the_next_command(
    download: Download, server: FaultyServer, cache: Path
) -> None:
    server.fail("/file.bin", Fault(stall_after=200_000))
    part = cache / "file.bin.part"
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, f"{server.url}/file.bin", cache / "file.bin", SHA256], cwd=ROOT
    )
    try:
        deadline = time.monotonic() + 60
        while not part.exists() or part.stat().st_size < 100_000:
            assert process.poll() is None, "the process ended before it was killed"
            assert time.monotonic() < deadline, "nothing arrived"
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert names(cache) == ["file.bin.part", "file.bin.part.json"]
    received = part.stat().st_size

    download(Pin(sha256=SHA256))

    assert server.ranges() == [None, f"bytes={received}-"]
    assert server.log[1].sent == len(CONTENT) - received
    assert (cache / "file.bin").read_bytes() == CONTENT
    assert names(cache) == ["file.bin"]
