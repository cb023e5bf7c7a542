"""Broken connections, and servers that are busy or down: when a download resumes, how often and how long it waits."""

import signal
import subprocess
import sys
import time
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.raw.download import DownloadRequest, Patience, download_file
from pipelines.raw.pins import Pin
from tests.support.downloads import BLOB, CONTENT, PINNED, SHA256, UNKNOWN, Download, Waits, leave_partial, names
from tests.support.faulty_server import Fault, FaultyServer, etag
from tests.support.paths import ROOT
from tests.support.raw_files import error_of

CUT = Fault(cut_after=200_000)
DATE = formatdate(1_600_000_000, usegmt=True)


def rest(content: bytes = b"x" * 100_000, **headers: str | None) -> Fault:
    """A partial response with another content or other headers than the rest of the file has."""
    return Fault(status=206, body=content, headers={name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize(
    ("first", "second", "pin", "ranges"),
    [
        pytest.param(Fault(stall_after=200_000), None, PINNED, ["bytes=200000-"], id="stalled"),
        pytest.param(replace(CUT, framing="close"), None, PINNED, ["bytes=200000-"], id="length pinned only"),
        pytest.param(replace(CUT, framing="chunked"), None, UNKNOWN, ["bytes=200000-"], id="length unknown"),
        pytest.param(CUT, None, Pin(git_blob=BLOB), ["bytes=200000-"], id="git blob id"),
        pytest.param(
            CUT, rest(Content_Range="bytes 100000-299999/300000"), PINNED, ["bytes=200000-", None], id="another start"
        ),
        pytest.param(
            CUT, rest(Content_Range="bytes 200000-299999/999999"), PINNED, ["bytes=200000-", None], id="another size"
        ),
        pytest.param(CUT, rest(Content_Range="bytes 200000-"), PINNED, ["bytes=200000-", None], id="half a range"),
        pytest.param(CUT, rest(Content_Range="pages 1-2/3"), PINNED, ["bytes=200000-", None], id="another unit"),
        pytest.param(CUT, rest(Content_Range=None), PINNED, ["bytes=200000-", None], id="no range"),
        pytest.param(
            CUT,
            rest(Content_Range="bytes 200000-299999/300000", ETag='"another"'),
            PINNED,
            ["bytes=200000-", None],
            id="another version",
        ),
        pytest.param(
            CUT,
            rest(CONTENT[200_000:250_000], Content_Range="bytes 200000-249999/300000"),
            UNKNOWN,
            ["bytes=200000-", "bytes=250000-"],
            id="a piece of the rest",
        ),
        pytest.param(
            replace(CUT, headers={"ETag": 'W/"weak"'}), None, UNKNOWN, [None], id="neither version nor digest"
        ),
    ],
)
def test_after_a_broken_connection_a_download_is_resumed_if_the_server_has_the_same_file(
    download: Download, server: FaultyServer, first: Fault, second: Fault | None, pin: Pin, ranges: list[str | None]
) -> None:
    server.fail("/file.bin", first, *filter(None, [second]))
    digest = download(pin, read=0.2 if first.stall_after else 60)
    assert (digest.sha256, digest.git_blob) == (SHA256, pin.git_blob)
    assert server.ranges() == [None, *ranges]


@pytest.mark.parametrize("reset_after", [0, 200_000])
def test_a_reset_connection_is_retried(
    download: Download, server: FaultyServer, waits: Waits, reset_after: int
) -> None:
    server.fail("/file.bin", Fault(reset_after=reset_after))
    assert download().sha256 == SHA256
    assert waits == [1]


@pytest.mark.parametrize(
    ("headers", "if_range", "sent"),
    [({}, etag(CONTENT), 100_000), ({"ETag": None, "Last-Modified": DATE}, DATE, 300_000)],
    ids=["ETag", "a date that the server no longer has"],
)
def test_only_the_rest_of_the_same_version_is_requested(
    download: Download, server: FaultyServer, headers: dict[str, str | None], if_range: str, sent: int
) -> None:
    server.fail("/file.bin", replace(CUT, headers=headers))
    download(UNKNOWN)
    assert (server.log[1].headers["if-range"], server.log[1].sent) == (if_range, sent)


def test_a_server_that_ignores_range_sends_the_whole_file_again(download: Download, server: FaultyServer) -> None:
    server.fail("/file.bin", CUT, Fault(ignore_range=True))
    assert download().sha256 == SHA256
    assert (server.ranges(), server.log[1].sent) == ([None, "bytes=200000-"], len(CONTENT))


def test_a_server_that_cannot_resume_is_named(
    download: Download, server: FaultyServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.fail("/file.bin", CUT, rest(Content_Range=None))
    download()
    assert "the server cannot resume the download (status 206)" in capsys.readouterr().err


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_a_server_that_says_the_half_is_the_whole_is_not_believed_without_a_digest(
    download: Download, server: FaultyServer, framing: str
) -> None:
    half = Fault(status=416, headers={"Content-Range": "bytes */200000"})
    server.fail("/file.bin", replace(CUT, framing=framing), half)
    assert download(UNKNOWN).sha256 == SHA256
    assert server.ranges() == [None, "bytes=200000-", None]


def test_a_file_that_changed_on_the_server_is_downloaded_whole(
    download: Download, server: FaultyServer, cache: Path
) -> None:
    old, server.files["/file.bin"] = b"o" * 300_000, b"n" * 300_000
    leave_partial(cache, old[:200_000], server.url + "/file.bin", etag(old))
    download(UNKNOWN)
    assert [request.status for request in server.log] == [200]
    assert (cache / "file.bin").read_bytes() == server.files["/file.bin"]


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


NOON = 1_772_625_600  # 2026-03-04 12:00 UTC


BUSY, PROGRESS = Fault(status=503), Fault(cut_after=50_000)


def busy_until(retry_after: str) -> Fault:
    return Fault(status=429, headers={"Retry-After": retry_after})


@pytest.mark.parametrize(
    ("faults", "patience", "expected"),
    [
        *(([Fault(status=status)] * 2, {}, [1, 2]) for status in (408, 425, 429, 500, 502, 503, 504)),
        pytest.param([BUSY] * 5, {"longest_wait": 6}, [1, 2, 4, 6, 6], id="waits double up to a limit"),
        pytest.param(
            [BUSY, BUSY, PROGRESS, BUSY, BUSY, PROGRESS, BUSY],
            {"retries": 3},
            [1, 2, 1, 2, 4, 1, 2],
            id="progress resets the waits",
        ),
        *(([busy_until(str(seconds))], {}, [seconds]) for seconds in (0, 7, 1200, 3600)),
        ([busy_until(formatdate(1_700_000_009, usegmt=True))], {}, [9]),
        ([busy_until(formatdate(1_600_000_000, usegmt=True))], {}, [0]),
        *(([busy_until(text)], {}, [1]) for text in ("soon", "-5", "")),
    ],
)
def test_a_busy_server_is_retried_after_the_time_it_asks_for_up_to_an_hour_or_after_waits_that_double(
    download: Download,
    server: FaultyServer,
    waits: Waits,
    faults: list[Fault],
    patience: dict[str, Any],
    expected: list[float],
) -> None:
    server.fail("/file.bin", *faults)
    download(**patience)
    assert waits == expected


def test_bytes_received_before_do_not_count_as_progress(download: Download, server: FaultyServer, waits: Waits) -> None:
    server.always["/file.bin"] = Fault(cut_after=100_000, ignore_range=True)
    error = error_of(download, retries=3)
    assert len(server.log) == 4
    assert "gave up after 3 retries without progress" in str(error)
    assert "the 100 KB received so far are kept" in str(error)


@pytest.mark.parametrize(
    ("headers", "wait"), [({}, "1 s"), ({"Retry-After": "1200"}, "20 min, until 12:20 UTC")], ids=["short", "long"]
)
def test_a_wait_is_announced_on_stderr_a_long_one_with_its_end(
    download: Download, server: FaultyServer, capsys: pytest.CaptureFixture[str], headers: dict[str, str], wait: str
) -> None:
    server.fail("/file.bin", Fault(status=503, headers=dict(headers)))
    download(now=lambda: NOON)
    words = f"demo/file.bin: the server answered 503 Service Unavailable; retrying in {wait} (1 of 5)\n"
    assert capsys.readouterr() == ("", words)


@pytest.mark.parametrize("header", ["3601", "86400", "9" * 400])
def test_a_server_that_asks_for_more_than_an_hour_is_an_error_at_once_that_says_when_to_come_back(
    download: Download, server: FaultyServer, waits: Waits, header: str
) -> None:
    ends = {"3601": "after 2026-03-04 13:00 UTC", "86400": "after 2026-03-05 12:00 UTC"}
    server.fail("/file.bin", Fault(status=429, headers={"Retry-After": header}))
    error = error_of(download, now=lambda: NOON)
    assert error.found == "the server answered 429 Too Many Requests and asks for a longer wait than 60 min"
    assert f"run the same command again {ends.get(header, 'in more than a year')}, or" in str(error)
    assert waits == []


def test_the_error_for_a_server_that_stays_down_shows_its_last_response(
    download: Download, server: FaultyServer, cache: Path
) -> None:
    server.always["/file.bin"] = Fault(status=503)
    message = str(error_of(download, retries=2))
    assert "demo/file.bin could not be downloaded" in message
    assert "the server answered 503 Service Unavailable" in message
    assert server.url + "/file.bin" in message
    assert "put it at DIR/demo/file.bin" in message
    assert names(cache) == []


def test_a_refused_connection_is_an_error(download: Download, server: FaultyServer) -> None:
    server.stop()
    assert "ConnectError" in str(error_of(download, retries=1))


def test_giving_up_keeps_the_partial_file_and_says_so(download: Download, server: FaultyServer, cache: Path) -> None:
    server.fail("/file.bin", Fault(cut_after=200_000))
    server.always["/file.bin"] = Fault(status=500)
    assert "the 200 KB received so far are kept" in str(error_of(download, retries=1))
    server.always.clear()
    download()
    assert server.ranges()[-1] == "bytes=200000-"
