"""Partial files left by an earlier command: which are used, and which are deleted."""

from pathlib import Path

import pytest

from pipelines.raw import download as partial_file
from pipelines.raw.digests import Hasher
from pipelines.raw.pins import Pin
from tests.support.downloads import BLOB, CONTENT, PINNED, SHA256, UNKNOWN, Download, leave_partial, names
from tests.support.faulty_server import Fault, FaultyServer, etag


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
    ("size", "ranges"),
    [(100_000, ["bytes=100000-", None]), (300_000, [None]), (300_001, [None])],
    ids=["short", "complete", "too long"],
)
def test_a_damaged_partial_file_is_deleted_and_downloaded_again(
    download: Download, server: FaultyServer, cache: Path, size: int, ranges: list[str | None]
) -> None:
    leave_partial(cache, b"x" * size, server.url + "/file.bin", etag(CONTENT))
    assert download().sha256 == SHA256
    assert server.ranges() == ranges
    assert names(cache) == ["file.bin"]


def test_a_resumed_download_hashes_each_byte_once(
    download: Download, server: FaultyServer, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed_sizes: list[int] = []

    class CountingHasher(Hasher):
        def update(self, chunk: bytes) -> None:
            hashed_sizes.append(len(chunk))
            super().update(chunk)

    monkeypatch.setattr(partial_file, "Hasher", CountingHasher)
    leave_partial(cache, CONTENT[:50_000], server.url + "/file.bin", etag(CONTENT))
    server.fail("/file.bin", Fault(cut_after=100_000), Fault(cut_after=100_000))
    assert download(Pin(git_blob=BLOB)).git_blob == BLOB
    assert sum(hashed_sizes) == len(CONTENT)


def test_a_partial_file_that_is_too_long_is_deleted_without_a_known_size(
    download: Download, server: FaultyServer, cache: Path
) -> None:
    leave_partial(cache, b"x" * 300_001, server.url + "/file.bin", etag(CONTENT))
    download(Pin(sha256=SHA256))
    assert [request.status for request in server.log] == [416, 200]


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
