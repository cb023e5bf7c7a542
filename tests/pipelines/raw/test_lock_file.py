"""The lock file: what is recorded in it, and what a recorded digest does."""

import errno
import json
import os
import stat
from dataclasses import replace

import pytest

from builders.errors import SourceError
from builders.raw_files import by_hand
from pipelines.raw import pins
from pipelines.raw.locations import plan_file
from pipelines.raw.pins import LOCK_FILE, read_lock_file
from pipelines.raw.settings import RawSettings
from tests.support.faulty_server import FaultyServer
from tests.support.raw_files import (
    CONTENT,
    OTHER,
    PIN,
    cached_names,
    locate_file,
    serve,
    sha256,
    source_of,
    suggested_path,
    write,
    write_local,
)


def test_the_lock_file_of_the_package_is_valid() -> None:
    assert isinstance(read_lock_file(LOCK_FILE), dict)


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
    with pytest.raises(SourceError, match="the lock file of raw files is invalid"):
        locate_file(serve(server), replace(raw_settings, lock=raw_settings.lock.parent))


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
        ('{"a/b": {"sha256": "0", "bytes": 1}}', "a/b: Expected `str` matching regex"),
        ('{"a/b": {"sha256": "' + "x" * 64 + '", "bytes": 1}}', "a/b: Expected `str` matching regex"),
        ('{"a/b": {"sha256": "' + "0" * 64 + '\\n", "bytes": 1}}', "a/b: Expected `str` matching regex"),
        ('{"a/b": {"sha256": 1, "bytes": 1}}', "a/b: Expected `str`, got `int` - at `$.sha256`"),
        ('{"a/b": {"sha256": "' + "0" * 64 + '", "bytes": "1"}}', "a/b: Expected `int`, got `str` - at `$.bytes`"),
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
    with pytest.raises(SourceError, match="an HTML page"):
        locate_file(serve(server, b"<!doctype html><title>Log in</title>"), raw_settings)
    assert read_lock_file(raw_settings.lock) == {}
    assert cached_names(raw_settings) == set()
