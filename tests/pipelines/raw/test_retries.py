"""Servers that are busy or down: how often and how long a download waits."""

from email.utils import formatdate
from pathlib import Path

import pytest

from builders.errors import SourceError
from tests.support.downloads import Download, Waits, names
from tests.support.faulty_server import Fault, FaultyServer
from tests.support.raw_files import error_of

NOON = 1_772_625_600  # 2026-03-04 12:00 UTC


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_a_busy_server_is_retried(download: Download, server: FaultyServer, waits: Waits, status: int) -> None:
    server.fail("/file.bin", Fault(status=status), Fault(status=status))
    download()
    assert waits == [1, 2]


def test_waits_double_up_to_a_limit(download: Download, server: FaultyServer, waits: Waits) -> None:
    server.fail("/file.bin", *[Fault(status=503)] * 5)
    download(longest_wait=6)
    assert waits == [1, 2, 4, 6, 6]


def test_progress_resets_the_waits(download: Download, server: FaultyServer, waits: Waits) -> None:
    busy, cut = Fault(status=503), Fault(cut_after=50_000)
    server.fail("/file.bin", busy, busy, cut, busy, busy, cut, busy)
    download(retries=3)
    assert waits == [1, 2, 1, 2, 4, 1, 2]


def test_bytes_received_before_do_not_count_as_progress(download: Download, server: FaultyServer, waits: Waits) -> None:
    server.always["/file.bin"] = Fault(cut_after=100_000, ignore_range=True)
    with pytest.raises(SourceError, match="could not be downloaded") as caught:
        download(retries=3)
    assert len(server.log) == 4
    assert "gave up after 3 retries without progress" in str(caught.value)
    assert "the 100 KB received so far are kept" in str(caught.value)


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("7", 7),
        ("0", 0),
        ("1200", 1200),
        ("3600", 3600),
        (formatdate(1_700_000_009, usegmt=True), 9),
        (formatdate(1_600_000_000, usegmt=True), 0),
        ("soon", 1),
        ("-5", 1),
        ("", 1),
    ],
)
def test_retry_after_is_respected_for_up_to_an_hour(
    download: Download, server: FaultyServer, waits: Waits, header: str, wait: float
) -> None:
    server.fail("/file.bin", Fault(status=429, headers={"Retry-After": header}))
    download()
    assert waits == [wait]


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
    error = error_of(download, retries=2)
    message = str(error)
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
