"""Fixtures of the tests of raw files: a loopback server, empty directories, a download from one to the other."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest

from pipelines.raw.digests import Digest
from pipelines.raw.download import DownloadRequest, Patience, download_file
from pipelines.raw.pins import Pin
from pipelines.raw.settings import RawSettings
from tests.support import downloads
from tests.support.downloads import PINNED, Download, Waits
from tests.support.faulty_server import FaultyServer
from tests.support.raw_files import TOKEN


@pytest.fixture(autouse=True)
def no_proxy_and_no_real_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: TOKEN)


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    with FaultyServer({"/file.bin": downloads.CONTENT}) as running:
        yield running


@pytest.fixture
def raw_settings(server: FaultyServer, tmp_path: Path) -> RawSettings:
    """An empty --raw-dir, an empty cache, an empty lock file, and a server in the place of GitHub and the Hub."""
    (tmp_path / "raw").mkdir()
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "raw.lock.json").write_text("{}\n")
    return RawSettings(
        raw_dir=tmp_path / "raw",
        cache=tmp_path / "cache",
        lock=tmp_path / "package" / "raw.lock.json",
        github_raw=f"{server.url}/raw",
        github_media=f"{server.url}/media",
        hub=server.url,
        patience=Patience(sleep=lambda _: None),
    )


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
def download(server: FaultyServer, cache: Path, waits: Waits) -> Download:
    """Download /file.bin from the server to cache/file.bin; keywords change the request or the patience."""

    def call(pin: Pin = PINNED, path: str = "/file.bin", token: str | None = None, **patience: Any) -> Digest:
        request = DownloadRequest(
            name="demo/file.bin",
            url=server.url + path,
            pin=pin,
            version="commit 1234",
            access_hint="accept the terms",
            alternative="put it at DIR/demo/file.bin",
            token=token,
        )
        return download_file(request, cache / "file.bin", replace(Patience(sleep=waits), **patience))

    return call
