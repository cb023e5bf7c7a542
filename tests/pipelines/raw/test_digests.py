"""Digests: computed in chunks, cached for files that have not changed. The cache: where it is, and what happens where it
cannot be written.
"""

import json
import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.errors import SourceError
from builders.raw_files import by_hand
from pipelines.raw import digests
from pipelines.raw.digests import default_cache
from pipelines.raw.settings import RawSettings
from tests.support.downloads import Download
from tests.support.faulty_server import FaultyServer
from tests.support.raw_files import (
    CONTENT,
    PIN,
    error_of,
    git_blob,
    locate_file,
    serve,
    sha256,
    with_old_timestamp,
    write,
    write_local,
)

BY_HAND = by_hand("file.jsonl", "ask", **PIN)
UNPINNED = by_hand("file.jsonl", "ask")


@given(st.lists(st.binary(max_size=50), max_size=10))
def test_hashing_in_chunks_equals_hashing_the_whole(chunks: list[bytes]) -> None:
    whole = b"".join(chunks)
    hasher = digests.Hasher(len(whole))
    for chunk in chunks:
        hasher.update(chunk)
    assert hasher.digest() == digests.Digest(sha256(whole), len(whole), git_blob(whole))


def test_a_git_blob_id_equals_the_one_of_git(tmp_path: Path) -> None:
    path = write(tmp_path / "file", CONTENT)
    git = subprocess.run(["git", "hash-object", "--no-filters", path], capture_output=True, text=True, check=True)
    assert git.stdout.strip() == git_blob(CONTENT)


@pytest.fixture
def hashed_names(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are hashed during a test, in order."""
    names: list[str] = []
    open_raw = digests.open_raw

    def counting(raw: Any, **options: Any) -> Any:
        names.append(raw.path.name)
        return open_raw(raw, **options)

    monkeypatch.setattr(digests, "open_raw", counting)
    return names


def test_an_unchanged_file_is_hashed_once(raw_settings: RawSettings, hashed_names: list[str]) -> None:
    with_old_timestamp(write_local(raw_settings))
    assert locate_file(BY_HAND, raw_settings) == locate_file(BY_HAND, raw_settings)
    assert hashed_names == ["file.jsonl"]


def test_a_download_is_hashed_while_it_arrives_and_never_again(
    raw_settings: RawSettings, server: FaultyServer, hashed_names: list[str]
) -> None:
    file = serve(server, **PIN)
    locate_file(file, raw_settings)
    locate_file(file, raw_settings)
    assert hashed_names == []


def test_a_changed_file_is_hashed_again_even_if_its_size_and_time_are_the_same(raw_settings: RawSettings) -> None:
    path = with_old_timestamp(write_local(raw_settings, b"one"))
    assert locate_file(UNPINNED, raw_settings).sha256 == sha256(b"one")
    with_old_timestamp(write(path.with_name("other"), b"two")).replace(path)
    assert locate_file(UNPINNED, raw_settings).sha256 == sha256(b"two")


def test_the_digest_of_a_file_written_just_now_is_not_cached(
    raw_settings: RawSettings, hashed_names: list[str]
) -> None:
    path = write_local(raw_settings, b"one")
    now = time.time_ns()
    os.utime(path, ns=(now, now))
    locate_file(UNPINNED, raw_settings)
    locate_file(UNPINNED, raw_settings)
    assert hashed_names == ["file.jsonl", "file.jsonl"]


def test_a_git_blob_id_missing_in_the_cache_is_computed(raw_settings: RawSettings) -> None:
    with_old_timestamp(write_local(raw_settings))
    locate_file(UNPINNED, raw_settings)
    assert locate_file(by_hand("file.jsonl", "ask", git_blob=git_blob(CONTENT)), raw_settings).verified


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"[1]",
        b'[{}, {"sha256": 1}]',
        b"\xff",
        {"sha256": None, "bytes": 3},
    ],
)
def test_a_damaged_cache_entry_is_ignored(raw_settings: RawSettings, damage: bytes | dict[str, Any]) -> None:
    """damage: all that is in the file, or the digest beside the state of the file."""
    with_old_timestamp(write_local(raw_settings))
    locate_file(BY_HAND, raw_settings)
    (entry,) = raw_settings.digest_cache.iterdir()
    whole = json.dumps([json.loads(entry.read_bytes())[0], damage]) if isinstance(damage, dict) else damage
    entry.write_bytes(whole.encode() if isinstance(whole, str) else whole)
    assert locate_file(BY_HAND, raw_settings).verified


def test_the_environment_sets_the_cache_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDING_DATASETS_CACHE", "~/somewhere")
    assert default_cache() == Path.home() / "somewhere"
    monkeypatch.delenv("EMBEDDING_DATASETS_CACHE")
    assert default_cache().name == "embedding-datasets"


def test_downloads_need_a_writable_cache_and_local_files_do_not(
    raw_settings: RawSettings, server: FaultyServer, tmp_path: Path
) -> None:
    blocked = write(tmp_path / "blocked", b"a file where the cache should be")
    with_old_timestamp(write_local(raw_settings, name="local.jsonl"))
    assert locate_file(by_hand("local.jsonl", "ask", **PIN), replace(raw_settings, cache=blocked)).verified
    assert "EMBEDDING_DATASETS_CACHE" in str(
        error_of(locate_file, serve(server, **PIN), replace(raw_settings, cache=blocked))
    )


def test_a_file_in_place_of_the_cache_directory_is_an_error(download: Download, cache: Path) -> None:
    cache.write_text("a file where the directory should be")
    with pytest.raises(SourceError, match="the cache cannot be used") as caught:
        download()
    assert "EMBEDDING_DATASETS_CACHE" in str(caught.value)
