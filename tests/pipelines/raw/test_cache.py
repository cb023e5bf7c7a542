"""The cache: where it is, and what happens where it cannot be written."""

from dataclasses import replace
from pathlib import Path

import pytest

from builders.errors import SourceError
from builders.raw_files import by_hand
from pipelines.raw.digests import default_cache
from pipelines.raw.settings import RawSettings
from tests.support.downloads import Download
from tests.support.faulty_server import FaultyServer
from tests.support.raw_files import PIN, locate_file, serve, with_old_timestamp, write, write_local


def test_the_environment_sets_the_cache_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDING_DATASETS_CACHE", "~/somewhere")
    assert default_cache() == Path.home() / "somewhere"
    monkeypatch.delenv("EMBEDDING_DATASETS_CACHE")
    assert default_cache().name == "embedding-datasets"


def test_local_files_need_no_writable_cache(raw_settings: RawSettings, tmp_path: Path) -> None:
    with_old_timestamp(write_local(raw_settings))
    blocked = write(tmp_path / "blocked", b"a file where the cache should be")
    assert locate_file(by_hand("file.jsonl", "ask", **PIN), replace(raw_settings, cache=blocked)).verified


def test_a_download_into_an_unwritable_cache_is_an_error(
    raw_settings: RawSettings, server: FaultyServer, tmp_path: Path
) -> None:
    blocked = write(tmp_path / "blocked", b"a file where the cache should be")
    with pytest.raises(SourceError, match="EMBEDDING_DATASETS_CACHE"):
        locate_file(serve(server, **PIN), replace(raw_settings, cache=blocked))


def test_a_file_in_place_of_the_cache_directory_is_an_error(download: Download, cache: Path) -> None:
    cache.write_text("a file where the directory should be")
    with pytest.raises(SourceError, match="the cache cannot be used") as caught:
        download()
    assert "EMBEDDING_DATASETS_CACHE" in str(caught.value)
