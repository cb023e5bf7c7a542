"""Pins: what happens to files that match or do not match them, below --raw-dir, in the cache and downloaded. The first
bytes of a file, in words. The lock file: what is recorded in it, and what a recorded digest does.
"""

import errno
import gzip
import json
import os
import stat
from dataclasses import replace
from typing import Any

import pytest

from builders.errors import SourceError
from builders.raw_files import by_hand
from pipelines.raw import pins
from pipelines.raw.locations import plan_file
from pipelines.raw.pins import HEAD, LOCK_FILE, describe_content, read_lock_file
from pipelines.raw.settings import RawSettings
from tests.support.faulty_server import FaultyServer
from tests.support.raw_files import (
    CONTENT,
    GIT_LFS_POINTER,
    OTHER,
    PIN,
    cached_names,
    error_of,
    git_blob,
    locate_file,
    make_tar,
    make_zip,
    serve,
    sha256,
    source_of,
    suggested_path,
    write,
    write_local,
)


def test_a_local_file_with_another_digest_is_refused(raw_settings: RawSettings, server: FaultyServer) -> None:
    path = write_local(raw_settings, OTHER)
    error = error_of(locate_file, serve(server, **PIN), raw_settings)
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
    assert f"git blob {git_blob(OTHER)}" in str(error_of(locate_file, file, raw_settings))


def test_a_local_file_without_a_known_digest_is_used_unverified_and_not_recorded(
    raw_settings: RawSettings, server: FaultyServer
) -> None:
    write_local(raw_settings)
    located = locate_file(serve(server), raw_settings)
    assert (located.sha256, located.bytes, located.verified) == (sha256(CONTENT), len(CONTENT), False)
    assert read_lock_file(raw_settings.lock) == {}


@pytest.mark.parametrize(
    ("content", "pin", "words"),
    [
        (CONTENT, {"bytes": len(CONTENT) - 1}, "16,999 bytes"),
        (b"", PIN, "an empty file of 0 bytes"),
        (GIT_LFS_POINTER, {}, "a git-lfs pointer of 134 bytes"),
    ],
    ids=["another size", "empty", "git-lfs pointer"],
)
def test_a_local_file_that_cannot_be_the_pinned_one_is_refused(
    raw_settings: RawSettings, content: bytes, pin: dict[str, Any], words: str
) -> None:
    write_local(raw_settings, content)
    assert words in str(error_of(locate_file, by_hand("file.jsonl", "ask", **pin), raw_settings))


def test_an_empty_file_is_verified_like_any_other(raw_settings: RawSettings) -> None:
    write_local(raw_settings, b"")
    assert locate_file(by_hand("file.jsonl", "ask", sha256=sha256(b"")), raw_settings).bytes == 0


def test_a_web_page_is_accepted_only_as_an_html_file(raw_settings: RawSettings) -> None:
    for name in ("page.html", "file.jsonl"):
        write_local(raw_settings, b"\xef\xbb\xbf \n<html><body></body></html>", name)
    locate_file(by_hand("page.html", "ask"), raw_settings)
    assert "an HTML page of 31 bytes" in str(error_of(locate_file, by_hand("file.jsonl", "ask"), raw_settings))


def test_a_damaged_file_in_the_cache_is_downloaded_again(
    raw_settings: RawSettings, server: FaultyServer, capsys: pytest.CaptureFixture[str]
) -> None:
    file = serve(server, **PIN)
    path = locate_file(file, raw_settings).raw.path
    path.write_bytes(CONTENT[:-1] + b"x")
    assert (locate_file(file, raw_settings).origin, path.read_bytes()) == ("download", CONTENT)
    assert capsys.readouterr().err.count("the cached copy is not the pinned file; downloading it again") == 1


def test_a_damaged_file_in_the_cache_is_refused_offline(raw_settings: RawSettings, server: FaultyServer) -> None:
    file = serve(server, **PIN)
    path = locate_file(file, raw_settings).raw.path
    path.write_bytes(OTHER)
    with pytest.raises(SourceError, match="not the pinned file") as caught:
        locate_file(file, replace(raw_settings, offline=True))
    assert caught.value.where == str(path)
    assert path.read_bytes() == OTHER


@pytest.mark.parametrize(
    ("head", "content_type"),
    [
        (b"<!DOCTYPE html>", "an HTML page"),
        (b"\xef\xbb\xbf\r\n<HTML lang=ru>", "an HTML page"),
        (b"version https://git-lfs.github.com/spec/v1", "a git-lfs pointer"),
        (make_zip({"a": b"a"}), "a zip archive"),
        (gzip.compress(b"a"), "gzip data"),
        (make_tar({"a": b"a"}, "w"), "a tar archive"),
        (b"BZh91AY", "bzip2 data"),
        (b"PAR1", "a Parquet file"),
        (b' {"a": 1}', "JSON"),
        (b"[1]", "JSON"),
        (b"<?xml version='1.0'?>", "an XML document"),
        (b"id\ttext\n", "text"),
        (b"\x01\x00", "binary data"),
        (b"", "an empty file"),
    ],
)
def test_the_first_bytes_of_a_file_show_its_type(head: bytes, content_type: str) -> None:
    assert describe_content(head[:HEAD], 2048) == f"{content_type} of 2 KB"


def test_the_lock_file_of_the_package_is_valid() -> None:
    assert isinstance(read_lock_file(LOCK_FILE), dict)


@pytest.mark.parametrize(("factor", "warned"), [(2, False), (3, True), (0.4, True)])
def test_a_file_far_from_its_usual_size_is_told_before_its_digest_is_kept(
    raw_settings: RawSettings, server: FaultyServer, capsys: pytest.CaptureFixture[str], factor: float, warned: bool
) -> None:
    locate_file(replace(serve(server), about=round(factor * len(CONTENT))), raw_settings)
    assert ("look at it before you keep its digest" in capsys.readouterr().err) == warned


def test_a_first_download_records_its_digest_and_the_next_build_is_verified(
    raw_settings: RawSettings, server: FaultyServer, capsys: pytest.CaptureFixture[str]
) -> None:
    raw_settings.lock.write_text(json.dumps({"zebra/z": {"bytes": 1, "sha256": "0" * 64}}))
    file = serve(server)
    first, second = locate_file(file, raw_settings), locate_file(file, raw_settings)
    assert (first.verified, second.verified) == (False, True)
    assert raw_settings.lock.read_text() == (
        "{\n"
        '  "demo/file.jsonl": {\n'
        f'    "bytes": {len(CONTENT)},\n'
        f'    "sha256": "{sha256(CONTENT)}"\n'
        "  },\n"
        '  "zebra/z": {\n'
        '    "bytes": 1,\n'
        f'    "sha256": "{"0" * 64}"\n'
        "  }\n"
        "}\n"
    )
    assert f"recorded sha256 {sha256(CONTENT)} in {raw_settings.lock}" in capsys.readouterr().err
    assert [path.name for path in raw_settings.lock.parent.iterdir()] == ["raw.lock.json"]


def test_a_digest_that_a_killed_command_did_not_record_is_recorded_by_the_next(
    raw_settings: RawSettings, server: FaultyServer
) -> None:
    locate_file(serve(server), raw_settings)
    raw_settings.lock.write_text("{}")
    assert not locate_file(serve(server), replace(raw_settings, offline=True)).verified
    assert set(read_lock_file(raw_settings.lock)) == {"demo/file.jsonl"}


def test_a_file_fetched_by_hand_is_never_recorded(raw_settings: RawSettings) -> None:
    file = by_hand("file.jsonl", "Ask.")
    without_raw_dir = replace(raw_settings, raw_dir=None)
    write(suggested_path(plan_file(source_of(file), "file", without_raw_dir).where), CONTENT)
    located = locate_file(file, without_raw_dir)
    assert (located.origin, located.verified) == ("cache", False)
    assert read_lock_file(raw_settings.lock) == {}


def test_the_lock_file_keeps_default_permissions(raw_settings: RawSettings, server: FaultyServer) -> None:
    plain = stat.S_IMODE(write(raw_settings.lock.with_name("plain"), b"").stat().st_mode)
    locate_file(serve(server), raw_settings)
    assert stat.S_IMODE(raw_settings.lock.stat().st_mode) == plain


def test_a_recorded_digest_pins_local_files_and_downloads(raw_settings: RawSettings, server: FaultyServer) -> None:
    raw_settings.lock.write_text(json.dumps({"demo/file.jsonl": {"sha256": sha256(CONTENT), "bytes": len(CONTENT)}}))
    path = write_local(raw_settings)
    assert locate_file(serve(server), raw_settings).verified
    path.write_bytes(OTHER)
    with pytest.raises(SourceError, match=r"recorded in .*raw\.lock\.json"):
        locate_file(serve(server), raw_settings)
    path.unlink()
    with pytest.raises(SourceError, match=r"recorded in .*raw\.lock\.json"):
        locate_file(serve(server, OTHER), raw_settings)
    assert cached_names(raw_settings) == set()


def test_a_digest_pinned_by_the_source_is_neither_recorded_nor_overridden(
    raw_settings: RawSettings, server: FaultyServer
) -> None:
    lock = json.dumps({"demo/file.jsonl": {"sha256": sha256(OTHER), "bytes": len(OTHER)}})
    raw_settings.lock.write_text(lock)
    assert locate_file(serve(server, **PIN), raw_settings).verified
    assert raw_settings.lock.read_text() == lock


def test_a_read_only_package_records_digests_in_the_cache(raw_settings: RawSettings, server: FaultyServer) -> None:
    installed = replace(raw_settings, lock=raw_settings.lock.parent / "no" / "such" / "raw.lock.json")
    file = serve(server)
    assert not locate_file(file, installed).verified
    assert set(read_lock_file(raw_settings.cache / "raw.lock.json")) == {"demo/file.jsonl"}
    assert locate_file(file, installed).verified


def test_an_installed_package_records_digests_in_the_cache_also_where_its_own_lock_file_can_be_written(
    raw_settings: RawSettings, server: FaultyServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pins, "LOCK_FILE", raw_settings.lock)
    monkeypatch.setattr(pins, "is_checkout", lambda: False)
    before = raw_settings.lock.read_text()
    locate_file(serve(server), raw_settings)
    assert raw_settings.lock.read_text() == before
    assert f"recorded sha256 {sha256(CONTENT)} in {raw_settings.cache / 'raw.lock.json'}" in capsys.readouterr().err
    assert locate_file(serve(server), raw_settings).verified


def test_a_digest_that_cannot_be_recorded_is_logged_and_the_file_is_used(
    raw_settings: RawSettings, server: FaultyServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(pins, "write_atomically", full)
    assert locate_file(serve(server), raw_settings).origin == "download"
    assert "could not be recorded: No space left on device" in capsys.readouterr().err


def test_a_directory_in_place_of_the_lock_file_is_an_error(raw_settings: RawSettings, server: FaultyServer) -> None:
    assert "the lock file of raw files is invalid" in str(
        error_of(locate_file, serve(server), replace(raw_settings, lock=raw_settings.lock.parent))
    )


def test_the_lock_file_of_the_package_comes_before_that_of_the_cache(
    raw_settings: RawSettings, server: FaultyServer
) -> None:
    raw_settings.lock.write_text(json.dumps({"demo/file.jsonl": {"sha256": sha256(CONTENT), "bytes": len(CONTENT)}}))
    write(raw_settings.cache / "raw.lock.json", b'{"demo/file.jsonl": {"sha256": "' + b"0" * 64 + b'", "bytes": 1}}')
    assert locate_file(serve(server), raw_settings).verified


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<<<<<<< HEAD\n{}", "JSON is malformed: invalid character (byte 0)"),
        ("[]", "Expected `object`, got `array`"),
        ('{"a/b": ' + "[" * 100_000, "maximum recursion depth exceeded"),
        ('{"a/b": 1}', "a/b: Expected `object`, got `int`"),
        ('{"a/b": {"sha256": "' + "0" * 64 + '"}}', "a/b: Object missing required field `bytes`"),
        ('{"a/b": {"sha256": "' + "0" * 64 + '", "bytes": 1, "commit": "main"}}', "a/b: Expected `str` matching regex"),
        ('{"a/b": {"sha256": "0", "bytes": 1}}', "a/b: Expected `str` matching regex"),
        ('{"a/b": {"sha256": "' + "x" * 64 + '", "bytes": 1}}', "a/b: Expected `str` matching regex"),
        ('{"a/b": {"sha256": "' + "0" * 64 + '\\n", "bytes": 1}}', "a/b: Expected `str` matching regex"),
        ('{"a/b": {"sha256": 1, "bytes": 1}}', "a/b: Expected `str`, got `int` - at `$.sha256`"),
        (
            '{"a/b": {"sha256": "' + "0" * 64 + '", "bytes": "1"}}',
            "a/b: Expected `int`, got `str` - at `$.bytes`",
        ),
        ('{"a/b": {"sha256": "' + "0" * 64 + '", "bytes": -1}}', "a/b: Expected `int` >= 0 - at `$.bytes`"),
    ],
    ids=lambda value: value[:40],
)
def test_an_invalid_lock_file_is_an_error_that_names_the_invalid_entry(
    raw_settings: RawSettings, server: FaultyServer, text: str, found: str
) -> None:
    raw_settings.lock.write_text(text)
    with pytest.raises(SourceError, match="the lock file of raw files is invalid") as caught:
        locate_file(serve(server), raw_settings)
    assert caught.value.where == str(raw_settings.lock)
    assert str(caught.value.found).startswith(found)
    assert raw_settings.lock.read_text() == text


def test_a_web_page_is_not_recorded(raw_settings: RawSettings, server: FaultyServer) -> None:
    assert "an HTML page" in str(
        error_of(locate_file, serve(server, b"<!doctype html><title>Log in</title>"), raw_settings)
    )
    assert read_lock_file(raw_settings.lock) == {}
    assert cached_names(raw_settings) == set()
