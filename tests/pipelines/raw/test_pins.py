"""Pins: what happens to files that match or do not match them, below --raw-dir, in the cache and downloaded."""

from dataclasses import replace

import pytest

from builders.errors import SourceError
from builders.raw_files import by_hand
from pipelines.raw.pins import read_lock_file
from pipelines.raw.settings import RawSettings
from tests.support.faulty_server import FaultyServer
from tests.support.raw_files import (
    CONTENT,
    GIT_LFS_POINTER,
    OTHER,
    PIN,
    git_blob,
    locate_file,
    serve,
    sha256,
    write_local,
)


def test_a_local_file_with_another_digest_is_refused(raw_settings: RawSettings, server: FaultyServer) -> None:
    path = write_local(raw_settings, OTHER)
    with pytest.raises(SourceError) as caught:
        locate_file(serve(server, **PIN), raw_settings)
    error = caught.value
    assert error.what == "demo/file.jsonl is not the pinned file"
    assert error.where == str(path)
    assert error.found == f"JSON of 15 KB (sha256 {sha256(OTHER)}, 15,000 bytes)"
    assert error.expected == f"sha256 {sha256(CONTENT)}, 17,000 bytes (pinned by the source)"
    assert error.todo == "remove or replace it, or pass another --raw-dir"
    assert error.exit_code == 3
    assert path.read_bytes() == OTHER
    assert server.log == []


def test_a_git_blob_id_verifies_a_file_and_its_sha256_is_reported(
    raw_settings: RawSettings, server: FaultyServer
) -> None:
    file = serve(server, git_blob=git_blob(CONTENT))
    for origin in ("download", "cache"):
        located = locate_file(file, raw_settings)
        assert (located.origin, located.sha256, located.verified) == (origin, sha256(CONTENT), True)
    write_local(raw_settings)
    assert locate_file(file, raw_settings).verified
    write_local(raw_settings, OTHER)
    with pytest.raises(SourceError, match=f"git blob {git_blob(OTHER)}"):
        locate_file(file, raw_settings)


def test_a_local_file_without_a_known_digest_is_used_unverified_and_not_recorded(
    raw_settings: RawSettings, server: FaultyServer
) -> None:
    write_local(raw_settings)
    located = locate_file(serve(server), raw_settings)
    assert (located.sha256, located.bytes, located.verified) == (sha256(CONTENT), len(CONTENT), False)
    assert read_lock_file(raw_settings.lock) == {}


def test_a_local_file_of_another_size_is_refused_even_without_a_known_digest(raw_settings: RawSettings) -> None:
    write_local(raw_settings)
    with pytest.raises(SourceError, match="16,999 bytes"):
        locate_file(by_hand("file.jsonl", "ask", bytes=len(CONTENT) - 1), raw_settings)


def test_an_empty_file_is_verified_like_any_other(raw_settings: RawSettings) -> None:
    write_local(raw_settings, b"")
    assert locate_file(by_hand("file.jsonl", "ask", sha256=sha256(b"")), raw_settings).bytes == 0
    with pytest.raises(SourceError, match="an empty file of 0 bytes"):
        locate_file(by_hand("file.jsonl", "ask", **PIN), raw_settings)


def test_a_git_lfs_pointer_is_never_accepted_as_the_file(raw_settings: RawSettings) -> None:
    write_local(raw_settings, GIT_LFS_POINTER)
    with pytest.raises(SourceError, match="a git-lfs pointer of 134 bytes"):
        locate_file(by_hand("file.jsonl", "ask"), raw_settings)


def test_a_web_page_is_accepted_only_as_an_html_file(raw_settings: RawSettings) -> None:
    for name in ("page.html", "file.jsonl"):
        write_local(raw_settings, b"\xef\xbb\xbf \n<html><body></body></html>", name)
    locate_file(by_hand("page.html", "ask"), raw_settings)
    with pytest.raises(SourceError, match="an HTML page of 31 bytes"):
        locate_file(by_hand("file.jsonl", "ask"), raw_settings)


def test_a_damaged_file_in_the_cache_is_downloaded_again(
    raw_settings: RawSettings, server: FaultyServer, capsys: pytest.CaptureFixture[str]
) -> None:
    file = serve(server, **PIN)
    path = locate_file(file, raw_settings).raw.path
    path.write_bytes(CONTENT[:-1] + b"x")
    located = locate_file(file, raw_settings)
    assert (located.origin, path.read_bytes()) == ("download", CONTENT)
    assert capsys.readouterr().err.count("the cached copy is not the pinned file; downloading it again") == 1


def test_a_damaged_file_in_the_cache_is_refused_offline(raw_settings: RawSettings, server: FaultyServer) -> None:
    file = serve(server, **PIN)
    path = locate_file(file, raw_settings).raw.path
    path.write_bytes(OTHER)
    with pytest.raises(SourceError, match="not the pinned file") as caught:
        locate_file(file, replace(raw_settings, offline=True))
    assert caught.value.where == str(path)
    assert path.read_bytes() == OTHER
