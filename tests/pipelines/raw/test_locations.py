"""Where raw files are found, and how they are known to be the right ones."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import json
import os
import stat
import subprocess
import sys
import tarfile
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import huggingface_hub
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.errors import SourceError, UsageError
from builders.spec import RawFile, Source, by_hand, github, https, hub, member
from pipelines import terminal
from pipelines.raw import digests, pins
from pipelines.raw.download import Patience
from pipelines.raw.locations import LocatedFile, RawSettings, address, default_cache, locate, plan_file
from pipelines.raw.pins import LOCK, read_lock
from tests.support.faulty_server import Fault, FaultyServer
from tests.support.paths import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COMMIT = "8ed84aef" * 5
CONTENT = b'{"text": "\xd0\xb4\xd0\xb0"}\n' * 1000
OTHER = b'{"text": "no"}\n' * 1000
TOKEN = "hf_notARealTokenOnlyForThisTest"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def git_blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


PIN: dict[str, Any] = {"sha256": sha256(CONTENT), "bytes": len(CONTENT)}


@pytest.fixture(autouse=True)
def no_proxy_and_no_real_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: TOKEN)


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    with FaultyServer({}) as running:
        yield running


@pytest.fixture
def places(server: FaultyServer, tmp_path: Path) -> RawSettings:
    """An empty --raw-dir, an empty cache, an empty lock file, and a server that plays GitHub and the Hub."""
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


def source(file: RawFile) -> Source:
    return Source("demo", "Demo", "mit", "https://example.org", "demo2020", {"file": file})


def find(file: RawFile, places: RawSettings, **more: Any) -> LocatedFile:
    return locate(source(file), "file", places, **more)


def offered(server: FaultyServer, content: bytes = CONTENT, name: str = "file.jsonl", **digest: Any) -> RawFile:
    """A file that the server has."""
    server.files[f"/{name}"] = content
    return https(f"{server.url}/{name}", **digest)


def put(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def local(places: RawSettings, content: bytes = CONTENT, name: str = "file.jsonl") -> Path:
    assert places.raw_dir is not None
    return put(places.raw_dir / "demo" / name, content)


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tarred(members: dict[str, bytes], mode: Literal["w", "w:gz"]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


MEMBERS = {"a/readme.txt": b"hello", "a/test.jsonl": CONTENT}
ARCHIVES = {
    "files.zip": zipped(MEMBERS),
    "files.tar": tarred(MEMBERS, "w"),
    "files.tar.gz": tarred(MEMBERS, "w:gz"),
    "files.tgz": tarred({"./" + name: content for name, content in MEMBERS.items()}, "w:gz"),
}


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def cached_names(places: RawSettings) -> set[str]:
    """Files of the cache, without locks and remembered digests."""
    return {
        Path(name).name for name in files_in(places.cache) if name.startswith("raw/") and not name.endswith(".lock")
    }


# The walk: --raw-dir, the cache, the network


def test_a_local_file_comes_before_the_cache_and_the_network(places: RawSettings, server: FaultyServer) -> None:
    file = offered(server, **PIN)
    find(file, replace(places, raw_dir=None))
    path = local(places)
    found = find(file, places, limit=5)
    assert found.origin == "raw-dir"
    assert (found.raw.path, found.raw.member, found.raw.limit) == (path, None, 5)
    assert found.raw.name == "demo/file.jsonl"
    assert len(server.log) == 1


def test_a_downloaded_file_is_taken_from_the_cache_the_next_time(places: RawSettings, server: FaultyServer) -> None:
    file = offered(server, **PIN)
    first, second = find(file, places), find(file, places)
    assert (first.origin, second.origin) == ("download", "cache")
    assert replace(second, origin="download") == first
    assert first.raw.path.read_bytes() == CONTENT
    assert len(server.log) == 1


def test_what_is_found_is_what_the_manifest_tells(places: RawSettings, server: FaultyServer) -> None:
    found = find(offered(server, **PIN), places)
    assert (found.name, found.url) == ("file.jsonl", f"{server.url}/file.jsonl")
    assert (found.sha256, found.bytes, found.verified) == (sha256(CONTENT), len(CONTENT), True)


def test_a_name_may_hold_folders(places: RawSettings, server: FaultyServer) -> None:
    server.files["/train.jsonl"] = CONTENT
    file = https(f"{server.url}/train.jsonl", name="main/train.jsonl", **PIN)
    assert find(file, places).raw.path.parts[-2:] == ("main", "train.jsonl")
    path = local(places, name="main/train.jsonl")
    assert find(file, places).raw.path == path


def test_two_pinned_versions_of_one_name_live_side_by_side(places: RawSettings, server: FaultyServer) -> None:
    one = find(offered(server, **PIN), places)
    two = find(offered(server, OTHER, sha256=sha256(OTHER)), places)
    assert one.raw.path != two.raw.path
    assert one.raw.path.read_bytes() == CONTENT
    assert two.raw.path.read_bytes() == OTHER


def test_two_commits_of_one_name_live_side_by_side_though_no_digest_is_known(
    places: RawSettings, server: FaultyServer
) -> None:
    server.files |= {"/raw/org/data/aaa/f.txt": CONTENT, "/raw/org/data/bbb/f.txt": OTHER}
    one = find(github("org/data", "aaa", "f.txt"), places)
    lock = {"demo/f.txt": {"sha256": sha256(OTHER), "bytes": len(OTHER)}}
    places.lock.write_text(json.dumps(lock))
    two = find(github("org/data", "bbb", "f.txt"), places)
    assert (one.sha256, two.sha256) == (sha256(CONTENT), sha256(OTHER))


def test_the_folder_of_raw_files_is_never_written_to(places: RawSettings, server: FaultyServer) -> None:
    local(places, ARCHIVES["files.zip"], "files.zip")
    local(places, name="unpinned.jsonl")
    assert places.raw_dir is not None
    before = files_in(places.raw_dir)
    find(member(https("https://example.org/files.zip"), "a/test.jsonl"), places)
    find(by_hand("unpinned.jsonl", "ask"), places)
    find(offered(server), places)
    assert files_in(places.raw_dir) == before
    assert {path.name for path in places.raw_dir.rglob("*")} == {"demo", "files.zip", "unpinned.jsonl"}


def test_a_raw_dir_that_does_not_exist_is_a_mistake_on_the_command_line(
    places: RawSettings, server: FaultyServer
) -> None:
    wrong = replace(places, raw_dir=Path("no", "such", "folder"))
    for ask in (locate, plan_file):
        with pytest.raises(UsageError, match="correct --raw-dir"):
            ask(source(offered(server)), "file", wrong)


@pytest.mark.parametrize("kind", ["a folder", "a link", "no regular file"])
def test_what_is_no_file_is_a_clear_error(places: RawSettings, server: FaultyServer, kind: str) -> None:
    assert places.raw_dir is not None
    path = places.raw_dir / "demo" / "file.jsonl"
    path.parent.mkdir()
    make: dict[str, Callable[[], object]] = {
        "a folder": path.mkdir,
        "a link": lambda: path.symlink_to("nowhere"),
        "no regular file": lambda: os.mkfifo(path),
    }
    make[kind]()
    for ask in (locate, plan_file):
        with pytest.raises(SourceError, match=kind) as caught:
            ask(source(offered(server)), "file", places)
        assert caught.value.where == str(path)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that opens but cannot be read")
def test_a_file_that_cannot_be_read_is_a_clear_error(places: RawSettings) -> None:
    assert places.raw_dir is not None
    path = places.raw_dir / "demo" / "file.jsonl"
    path.parent.mkdir()
    path.symlink_to("/proc/self/mem")
    with pytest.raises(SourceError, match=r"demo/file\.jsonl cannot be read") as caught:
        find(by_hand("file.jsonl", "ask"), places)
    assert caught.value.where == str(path)


def test_a_folder_that_may_not_be_looked_into_is_a_clear_error(
    places: RawSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(_: Path) -> bool:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "is_file", forbidden)
    with pytest.raises(SourceError, match="Permission denied"):
        find(by_hand("file.jsonl", "ask"), places)


def test_a_link_to_a_file_is_as_good_as_the_file(places: RawSettings, tmp_path: Path) -> None:
    assert places.raw_dir is not None
    (places.raw_dir / "demo").mkdir()
    (places.raw_dir / "demo" / "file.jsonl").symlink_to(put(tmp_path / "elsewhere", CONTENT))
    assert find(by_hand("file.jsonl", "ask", **PIN), places).verified


def test_the_environment_says_where_the_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDING_DATASETS_CACHE", "~/somewhere")
    assert default_cache() == Path.home() / "somewhere"
    monkeypatch.delenv("EMBEDDING_DATASETS_CACHE")
    assert default_cache().name == "embedding-datasets"


# Digests


def test_a_local_file_with_another_digest_is_refused(places: RawSettings, server: FaultyServer) -> None:
    path = local(places, OTHER)
    with pytest.raises(SourceError) as caught:
        find(offered(server, **PIN), places)
    error = caught.value
    assert error.what == "demo/file.jsonl is not the pinned file"
    assert error.where == str(path)
    assert error.found == f"JSON of 15 KB (sha256 {sha256(OTHER)}, 15,000 bytes)"
    assert error.expected == f"sha256 {sha256(CONTENT)}, 17,000 bytes (pinned by the source)"
    assert error.todo == "remove or replace it, or give another --raw-dir"
    assert error.exit_code == 3
    assert path.read_bytes() == OTHER
    assert server.log == []


def test_a_git_blob_id_verifies_and_the_sha256_is_told_all_the_same(places: RawSettings, server: FaultyServer) -> None:
    file = offered(server, git_blob=git_blob(CONTENT))
    for origin in ("download", "cache"):
        found = find(file, places)
        assert (found.origin, found.sha256, found.verified) == (origin, sha256(CONTENT), True)
    local(places)
    assert find(file, places).verified
    local(places, OTHER)
    with pytest.raises(SourceError, match=f"git blob {git_blob(OTHER)}"):
        find(file, places)


def test_a_local_file_of_unknown_digest_is_used_unverified_and_not_recorded(
    places: RawSettings, server: FaultyServer
) -> None:
    local(places)
    found = find(offered(server), places)
    assert (found.sha256, found.bytes, found.verified) == (sha256(CONTENT), len(CONTENT), False)
    assert read_lock(places.lock) == {}


def test_a_local_file_of_another_size_is_refused_even_where_no_digest_is_known(places: RawSettings) -> None:
    local(places)
    with pytest.raises(SourceError, match="16,999 bytes"):
        find(by_hand("file.jsonl", "ask", bytes=len(CONTENT) - 1), places)


def test_an_empty_file_is_what_its_digest_says(places: RawSettings) -> None:
    local(places, b"")
    assert find(by_hand("file.jsonl", "ask", sha256=sha256(b"")), places).bytes == 0
    with pytest.raises(SourceError, match="an empty file of 0 bytes"):
        find(by_hand("file.jsonl", "ask", **PIN), places)


def test_a_git_lfs_pointer_is_never_taken_for_the_file(places: RawSettings) -> None:
    local(places, b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 378730064\n")
    with pytest.raises(SourceError, match="a git-lfs pointer of 134 bytes"):
        find(by_hand("file.jsonl", "ask"), places)


def test_a_web_page_is_taken_for_a_file_only_where_one_is_meant(places: RawSettings) -> None:
    for name in ("page.html", "file.jsonl"):
        local(places, b"\xef\xbb\xbf \n<html><body></body></html>", name)
    find(by_hand("page.html", "ask"), places)
    with pytest.raises(SourceError, match="an HTML page of 31 bytes"):
        find(by_hand("file.jsonl", "ask"), places)


def test_a_damaged_file_in_the_cache_is_fetched_anew(
    places: RawSettings, server: FaultyServer, capsys: pytest.CaptureFixture[str]
) -> None:
    file = offered(server, **PIN)
    path = find(file, places).raw.path
    path.write_bytes(CONTENT[:-1] + b"x")
    found = find(file, places)
    assert (found.origin, path.read_bytes()) == ("download", CONTENT)
    assert capsys.readouterr().err.count("the copy in the cache is not the pinned file; fetching it anew") == 1


def test_a_damaged_file_in_the_cache_is_refused_offline(places: RawSettings, server: FaultyServer) -> None:
    file = offered(server, **PIN)
    path = find(file, places).raw.path
    path.write_bytes(OTHER)
    with pytest.raises(SourceError, match="not the pinned file") as caught:
        find(file, replace(places, offline=True))
    assert caught.value.where == str(path)
    assert path.read_bytes() == OTHER


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"<!DOCTYPE html>", "an HTML page"),
        (b"\xef\xbb\xbf\r\n<HTML lang=ru>", "an HTML page"),
        (b"version https://git-lfs.github.com/spec/v1", "a git-lfs pointer"),
        (zipped({"a": b"a"}), "a zip archive"),
        (gzip.compress(b"a"), "gzip data"),
        (tarred({"a": b"a"}, "w"), "a tar archive"),
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
def test_first_bytes_tell_what_arrived(head: bytes, kind: str) -> None:
    assert digests.describe(head[: digests.HEAD], 2048) == f"{kind} of 2 KB"


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (2048, "2 KB"),
        (378_730_064, "378.7 MB"),
        (1_025_015_063, "1 GB"),
    ],
)
def test_sizes_are_told_in_words(size: int, words: str) -> None:
    assert terminal.size_words(size) == words


@given(st.lists(st.binary(max_size=50), max_size=10))
def test_hashing_in_pieces_is_hashing_the_whole(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    hashing = digests.Hasher(len(whole))
    for piece in pieces:
        hashing.update(piece)
    assert hashing.digest() == digests.Digest(sha256(whole), len(whole), git_blob(whole))


def test_a_git_blob_id_is_gits_own(tmp_path: Path) -> None:
    path = put(tmp_path / "file", CONTENT)
    gits = subprocess.run(["git", "hash-object", "--no-filters", path], capture_output=True, text=True, check=True)
    assert gits.stdout.strip() == git_blob(CONTENT)


# Remembered digests


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were really read and hashed."""
    names: list[str] = []
    open_raw = digests.open_raw

    def counting(raw: Any, **options: Any) -> Any:
        names.append(raw.path.name)
        return open_raw(raw, **options)

    monkeypatch.setattr(digests, "open_raw", counting)
    return names


def long_ago(path: Path) -> Path:
    os.utime(path, ns=(10**18, 10**18))
    return path


def test_an_unchanged_file_is_hashed_once(places: RawSettings, hashed: list[str]) -> None:
    long_ago(local(places))
    file = by_hand("file.jsonl", "ask", **PIN)
    assert find(file, places) == find(file, places)
    assert hashed == ["file.jsonl"]


def test_a_download_is_hashed_on_its_way_and_never_again(
    places: RawSettings, server: FaultyServer, hashed: list[str]
) -> None:
    file = offered(server, **PIN)
    find(file, places)
    find(file, places)
    assert hashed == []


def test_a_file_that_changed_is_hashed_again_though_its_size_and_time_are_the_same(places: RawSettings) -> None:
    path = long_ago(local(places, b"one"))
    file = by_hand("file.jsonl", "ask")
    assert find(file, places).sha256 == sha256(b"one")
    other = long_ago(put(path.with_name("other"), b"two"))
    other.replace(path)
    assert find(file, places).sha256 == sha256(b"two")


def test_a_file_written_just_now_is_not_remembered_for_it_may_be_written_again(
    places: RawSettings, hashed: list[str]
) -> None:
    file = by_hand("file.jsonl", "ask")
    path = local(places, b"one")
    now = time.time_ns()
    os.utime(path, ns=(now, now))
    find(file, places)
    find(file, places)
    assert hashed == ["file.jsonl", "file.jsonl"]


def test_a_git_blob_id_asked_for_later_is_computed_then(places: RawSettings) -> None:
    long_ago(local(places))
    find(by_hand("file.jsonl", "ask"), places)
    assert find(by_hand("file.jsonl", "ask", git_blob=git_blob(CONTENT)), places).verified


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b"null", b'{"of": 1}', b'{"of": {}, "digest": {"sha256": 1}}', b"\xff"]
)
def test_a_damaged_memory_of_digests_does_no_harm(places: RawSettings, damage: bytes) -> None:
    long_ago(local(places))
    file = by_hand("file.jsonl", "ask", **PIN)
    find(file, places)
    notes = list(places.memo.iterdir())
    assert len(notes) == 1
    notes[0].write_bytes(damage)
    assert find(file, places).verified


def test_a_damaged_digest_in_an_intact_note_does_no_harm(places: RawSettings) -> None:
    long_ago(local(places))
    file = by_hand("file.jsonl", "ask", **PIN)
    find(file, places)
    (note,) = places.memo.iterdir()
    content = json.loads(note.read_bytes())
    note.write_text(json.dumps(content | {"digest": {"sha256": None, "bytes": 3}}))
    assert find(file, places).verified


def test_without_a_cache_that_can_be_written_local_files_are_used_all_the_same(
    places: RawSettings, tmp_path: Path
) -> None:
    long_ago(local(places))
    blocked = put(tmp_path / "blocked", b"a file where the cache should be")
    assert find(by_hand("file.jsonl", "ask", **PIN), replace(places, cache=blocked)).verified


def test_a_download_into_a_cache_that_cannot_be_written_is_a_clear_error(
    places: RawSettings, server: FaultyServer, tmp_path: Path
) -> None:
    blocked = put(tmp_path / "blocked", b"a file where the cache should be")
    with pytest.raises(SourceError, match="EMBEDDING_DATASETS_CACHE"):
        find(offered(server, **PIN), replace(places, cache=blocked))


# The lock file


def test_the_lock_file_of_the_package_can_be_read() -> None:
    assert isinstance(read_lock(LOCK), dict)


def test_the_first_download_of_an_unknown_digest_records_it_and_the_next_build_is_verified(
    places: RawSettings, server: FaultyServer, capsys: pytest.CaptureFixture[str]
) -> None:
    places.lock.write_text(json.dumps({"zebra/z": {"bytes": 1, "sha256": "0" * 64}}))
    file = offered(server)
    first, second = find(file, places), find(file, places)
    assert (first.verified, second.verified) == (False, True)
    assert places.lock.read_text() == (
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
    assert f"recorded sha256 {sha256(CONTENT)} in {places.lock}" in capsys.readouterr().err
    assert [path.name for path in places.lock.parent.iterdir()] == ["raw.lock.json"]


def test_a_download_whose_command_was_killed_before_it_recorded_is_recorded_by_the_next(
    places: RawSettings, server: FaultyServer
) -> None:
    find(offered(server), places)
    places.lock.write_text("{}")
    assert not find(offered(server), replace(places, offline=True)).verified
    assert set(read_lock(places.lock)) == {"demo/file.jsonl"}


def test_a_file_fetched_by_hand_is_never_recorded(places: RawSettings) -> None:
    file = by_hand("file.jsonl", "Ask.")
    put(
        Path(
            plan_file(source(file), "file", replace(places, raw_dir=None)).where.split("put it at ")[1].split(", or")[0]
        ),
        CONTENT,
    )
    found = find(file, replace(places, raw_dir=None))
    assert (found.origin, found.verified) == ("cache", False)
    assert read_lock(places.lock) == {}


def test_the_lock_file_stays_readable_for_everyone(places: RawSettings, server: FaultyServer) -> None:
    plain = stat.S_IMODE(put(places.lock.with_name("plain"), b"").stat().st_mode)
    find(offered(server), places)
    assert stat.S_IMODE(places.lock.stat().st_mode) == plain


def test_a_recorded_digest_binds_local_files_and_downloads(places: RawSettings, server: FaultyServer) -> None:
    places.lock.write_text(json.dumps({"demo/file.jsonl": {"sha256": sha256(CONTENT), "bytes": len(CONTENT)}}))
    path = local(places)
    assert find(offered(server), places).verified
    path.write_bytes(OTHER)
    with pytest.raises(SourceError, match=r"recorded in .*raw\.lock\.json"):
        find(offered(server), places)
    path.unlink()
    with pytest.raises(SourceError, match=r"recorded in .*raw\.lock\.json"):
        find(offered(server, OTHER), places)
    assert cached_names(places) == set()


def test_a_digest_pinned_by_the_source_is_neither_recorded_nor_overruled(
    places: RawSettings, server: FaultyServer
) -> None:
    lock = json.dumps({"demo/file.jsonl": {"sha256": sha256(OTHER), "bytes": len(OTHER)}})
    places.lock.write_text(lock)
    assert find(offered(server, **PIN), places).verified
    assert places.lock.read_text() == lock


def test_where_the_package_cannot_be_written_the_cache_keeps_the_digest(
    places: RawSettings, server: FaultyServer
) -> None:
    installed = replace(places, lock=places.lock.parent / "no" / "such" / "raw.lock.json")
    file = offered(server)
    assert not find(file, installed).verified
    assert set(read_lock(places.cache / "raw.lock.json")) == {"demo/file.jsonl"}
    assert find(file, installed).verified


def test_a_digest_that_can_be_recorded_nowhere_is_said_and_the_file_is_used(
    places: RawSettings, server: FaultyServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(pins, "replace_text", full)
    assert find(offered(server), places).origin == "download"
    assert "could not be recorded: No space left on device" in capsys.readouterr().err


def test_a_folder_in_the_place_of_the_lock_file_is_a_clear_error(places: RawSettings, server: FaultyServer) -> None:
    with pytest.raises(SourceError, match="the lock file of raw files is damaged"):
        find(offered(server), replace(places, lock=places.lock.parent))


def test_the_lock_file_of_the_package_comes_before_that_of_the_cache(places: RawSettings, server: FaultyServer) -> None:
    places.lock.write_text(json.dumps({"demo/file.jsonl": {"sha256": sha256(CONTENT), "bytes": len(CONTENT)}}))
    put(places.cache / "raw.lock.json", b'{"demo/file.jsonl": {"sha256": "' + b"0" * 64 + b'", "bytes": 1}}')
    assert find(offered(server), places).verified


@pytest.mark.parametrize(
    "text",
    [
        "<<<<<<< HEAD\n{}",
        "[]",
        '{"a/b": 1}',
        '{"a/b": {"sha256": "0"}}',
        '{"a/b": {"sha256": "xyz", "bytes": 1}}',
        '{"a/b": {"sha256": 1, "bytes": 1}}',
        '{"a/b": {"sha256": "' + "0" * 64 + '", "bytes": "1"}}',
    ],
)
def test_a_damaged_lock_file_is_a_clear_error(places: RawSettings, server: FaultyServer, text: str) -> None:
    places.lock.write_text(text)
    with pytest.raises(SourceError, match="the lock file of raw files is damaged") as caught:
        find(offered(server), places)
    assert caught.value.where == str(places.lock)
    assert places.lock.read_text() == text


def test_a_web_page_is_not_recorded_as_a_file(places: RawSettings, server: FaultyServer) -> None:
    with pytest.raises(SourceError, match="an HTML page"):
        find(offered(server, b"<!doctype html><title>Log in</title>"), places)
    assert read_lock(places.lock) == {}
    assert cached_names(places) == set()


# Archives


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_member_is_read_in_its_archive_and_told_by_its_own_digest(
    places: RawSettings, server: FaultyServer, name: str
) -> None:
    archive = offered(server, ARCHIVES[name], name, sha256=sha256(ARCHIVES[name]))
    file = member(archive, "a/test.jsonl", name="test.jsonl", **PIN)
    found = find(file, places)
    assert (found.raw.path.name, found.raw.member) == (name, "a/test.jsonl")
    assert (found.name, found.raw.name) == ("test.jsonl", "demo/test.jsonl")
    assert found.url == f"{server.url}/{name}#a/test.jsonl"
    assert (found.sha256, found.bytes, found.verified) == (sha256(CONTENT), len(CONTENT), True)
    assert cached_names(places) == {name}


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_member_with_a_git_blob_id_is_verified_by_it(places: RawSettings, name: str) -> None:
    local(places, ARCHIVES[name], name)
    file = member(by_hand(name, "ask"), "a/test.jsonl", git_blob=git_blob(CONTENT))
    assert find(file, places).verified


def test_a_local_copy_of_a_member_serves_as_well_as_the_archive(places: RawSettings) -> None:
    path = local(places, name="a/test.jsonl")
    local(places, ARCHIVES["files.zip"], "files.zip")
    found = find(member(https("https://example.org/files.zip"), "a/test.jsonl", **PIN), places)
    assert (found.raw.path, found.raw.member) == (path, None)
    assert found.url == "https://example.org/files.zip#a/test.jsonl"


def test_a_local_archive_serves_for_its_member(places: RawSettings) -> None:
    path = local(places, ARCHIVES["files.zip"], "files.zip")
    found = find(member(https("https://example.org/files.zip"), "a/test.jsonl"), places)
    assert (found.raw.path, found.origin, found.verified) == (path, "raw-dir", False)


def test_a_member_of_a_verified_archive_is_verified(places: RawSettings) -> None:
    local(places, ARCHIVES["files.zip"], "files.zip")
    archive = https("https://example.org/files.zip", sha256=sha256(ARCHIVES["files.zip"]))
    assert find(member(archive, "a/test.jsonl"), places).verified


def test_a_member_with_a_digest_is_verified_though_its_archive_is_not(places: RawSettings) -> None:
    local(places, ARCHIVES["files.zip"], "files.zip")
    assert find(member(https("https://example.org/files.zip"), "a/test.jsonl", **PIN), places).verified


def test_another_archive_is_refused_even_if_the_member_is_right(places: RawSettings, server: FaultyServer) -> None:
    other = zipped(MEMBERS | {"more": b"more"})
    archive = offered(server, other, "files.zip", sha256=sha256(ARCHIVES["files.zip"]))
    file = member(archive, "a/test.jsonl", **PIN)
    with pytest.raises(SourceError, match=r"demo/files.zip is not the pinned file"):
        find(file, places)
    assert cached_names(places) == set()
    local(places, other, "files.zip")
    with pytest.raises(SourceError, match=r"demo/files.zip is not the pinned file"):
        find(file, places)


def test_a_member_with_another_digest_is_refused(places: RawSettings) -> None:
    path = local(places, ARCHIVES["files.tar.gz"], "files.tar.gz")
    with pytest.raises(SourceError, match="is not the pinned file") as caught:
        find(member(by_hand("files.tar.gz", "ask"), "a/test.jsonl", sha256=sha256(OTHER)), places)
    assert caught.value.where == f"{path}: a/test.jsonl"
    assert f"JSON of 17 KB (sha256 {sha256(CONTENT)}" in str(caught.value)
    assert path.read_bytes() == ARCHIVES["files.tar.gz"]


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_missing_member_is_told_with_its_neighbours(places: RawSettings, name: str) -> None:
    path = local(places, ARCHIVES[name], name)
    with pytest.raises(SourceError, match="cannot be read") as caught:
        find(member(by_hand(name, "ask"), "a/tests.jsonl"), places)
    assert caught.value.where == str(path)
    assert str(caught.value.found).startswith("2 other files: 'a/test.jsonl'")
    assert caught.value.expected == "a file 'a/tests.jsonl' in the archive"


@pytest.mark.parametrize("name", ["files.zip", "files.tar"])
def test_a_folder_in_an_archive_is_no_member(places: RawSettings, name: str) -> None:
    buffer = io.BytesIO()
    if name == "files.zip":
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.mkdir("a")
    else:
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            folder = tarfile.TarInfo("a/")
            folder.type = tarfile.DIRTYPE
            tar.addfile(folder)
    local(places, buffer.getvalue(), name)
    with pytest.raises(SourceError, match="cannot be read"):
        find(member(by_hand(name, "ask"), "a/" if name == "files.zip" else "a", name="a"), places)


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_truncated_archive_is_a_clear_error(places: RawSettings, name: str) -> None:
    local(places, ARCHIVES[name][: len(ARCHIVES[name]) // 2], name)
    with pytest.raises(SourceError, match="cannot be read"):
        find(member(by_hand(name, "ask"), "a/test.jsonl"), places)


def test_a_flipped_bit_in_a_zip_is_a_clear_error(places: RawSettings) -> None:
    data = bytearray(ARCHIVES["files.zip"])
    data[data.index(b"a/test.jsonl") + 20] ^= 1
    local(places, bytes(data), "files.zip")
    with pytest.raises(SourceError, match="cannot be read"):
        find(member(by_hand("files.zip", "ask"), "a/test.jsonl"), places)


def test_an_encrypted_member_is_a_clear_error(places: RawSettings) -> None:
    data = bytearray(ARCHIVES["files.zip"])
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    local(places, bytes(data), "files.zip")
    with pytest.raises(SourceError, match="is encrypted"):
        find(member(by_hand("files.zip", "ask"), "a/test.jsonl"), places)


def test_a_file_that_is_no_archive_is_a_clear_error_and_does_not_stay_in_the_cache(
    places: RawSettings, server: FaultyServer
) -> None:
    archive = offered(server, b'{"error": "quota"}', "files.zip")
    with pytest.raises(SourceError, match=r'begins with b.\{"error": "quota'):
        find(member(archive, "a/test.jsonl"), places)
    assert cached_names(places) == set()
    assert read_lock(places.lock) == {}


def test_an_archive_of_unknown_digest_is_recorded_once_its_member_is_right(
    places: RawSettings, server: FaultyServer
) -> None:
    archive = offered(server, ARCHIVES["files.zip"], "files.zip")
    with pytest.raises(SourceError, match="is not the pinned file"):
        find(member(archive, "a/test.jsonl", sha256=sha256(OTHER)), places)
    assert (read_lock(places.lock), cached_names(places)) == ({}, set())
    assert not find(member(archive, "a/test.jsonl"), places).verified
    assert set(read_lock(places.lock)) == {"demo/files.zip"}
    assert find(member(archive, "a/test.jsonl"), places).verified


def test_an_archive_in_an_archive_must_be_unpacked_by_hand(places: RawSettings) -> None:
    inner = member(by_hand("outer.zip", "ask"), "files.zip")
    with pytest.raises(SourceError, match="an archive that lies in an archive") as caught:
        find(member(inner, "a/test.jsonl"), places)
    assert places.raw_dir is not None
    assert str(places.raw_dir / "demo" / "files.zip") in str(caught.value.todo)
    local(places, ARCHIVES["files.zip"], "files.zip")
    assert find(member(inner, "a/test.jsonl"), places).sha256 == sha256(CONTENT)


# Addresses


def test_addresses_are_those_of_the_public_sites() -> None:
    assert address(github("org/data", COMMIT, "a b/ф#1?.json").location) == (
        f"https://raw.githubusercontent.com/org/data/{COMMIT}/a%20b/%D1%84%231%3F.json"
    )
    assert address(github("org/data", COMMIT, "big.gz", lfs=True).location) == (
        f"https://media.githubusercontent.com/media/org/data/{COMMIT}/big.gz"
    )
    assert address(hub("org/data", COMMIT, "a b/ф#1?.json").location) == (
        f"https://huggingface.co/datasets/org/data/resolve/{COMMIT}/a%20b/%D1%84%231%3F.json"
    )
    assert address(https("https://example.org/f.zip?id=7", name="f.zip").location) == "https://example.org/f.zip?id=7"
    assert (
        address(member(https("https://example.org/f.zip"), "a b.txt").location) == "https://example.org/f.zip#a%20b.txt"
    )
    assert address(by_hand("f.zip", "ask").location) is None
    assert address(member(by_hand("f.zip", "ask"), "a.txt").location) is None


@pytest.mark.parametrize(
    ("file", "path"),
    [
        (github("org/data", COMMIT, "a b/f.txt", **PIN), f"/raw/org/data/{COMMIT}/a%20b/f.txt"),
        (github("org/data", COMMIT, "f.txt", lfs=True, **PIN), f"/media/org/data/{COMMIT}/f.txt"),
        (hub("org/data", COMMIT, "f.txt", **PIN), f"/datasets/org/data/resolve/{COMMIT}/f.txt"),
    ],
    ids=["github", "git-lfs", "hub"],
)
def test_files_are_fetched_where_they_are_but_told_by_their_public_address(
    places: RawSettings, server: FaultyServer, file: RawFile, path: str
) -> None:
    server.files[path] = CONTENT
    found = find(file, places)
    assert [seen.path for seen in server.log] == [path]
    assert found.url == address(file.location)
    assert server.url not in str(found.url)


def test_the_hub_is_where_hf_endpoint_says(server: FaultyServer, tmp_path: Path) -> None:
    server.files[f"/datasets/org/data/resolve/{COMMIT}/f.txt"] = CONTENT
    script = (
        "import sys; from pathlib import Path; from builders.spec import Source, hub\n"
        "from pipelines.raw.locations import RawSettings, locate\n"
        f"files = {{'file': hub('org/data', '{COMMIT}', 'f.txt', sha256='{sha256(CONTENT)}')}}\n"
        "source = Source('demo', 'Demo', 'mit', 'https://example.org', 'demo2020', files)\n"
        "print(locate(source, 'file', RawSettings(cache=Path(sys.argv[1]), lock=Path(sys.argv[1], 'lock'))).url)\n"
    )
    environment = os.environ | {"HF_ENDPOINT": server.url, "HF_TOKEN": TOKEN}
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "cache"],
        check=False,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == f"https://huggingface.co/datasets/org/data/resolve/{COMMIT}/f.txt"
    assert server.log[0].headers["authorization"] == f"Bearer {TOKEN}"


# Tokens


@pytest.mark.parametrize("status", [401, 403])
def test_a_gated_file_says_where_to_accept_its_terms_and_how_to_give_a_token(
    places: RawSettings, server: FaultyServer, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = hub("org/data", COMMIT, "f.txt", gated=True, **PIN)
    server.always[f"/datasets/org/data/resolve/{COMMIT}/f.txt"] = Fault(status=status)
    with pytest.raises(SourceError) as caught:
        find(file, places)
    assert "https://huggingface.co/datasets/org/data" in str(caught.value)
    assert "the token that was sent has no access" in str(caught.value)
    assert "HF_TOKEN" in str(caught.value)
    assert "hf auth login" in str(caught.value)
    assert TOKEN not in str(caught.value)
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: None)
    with pytest.raises(SourceError, match="no token was found"):
        find(file, places)
    assert [seen.headers.get("authorization") for seen in server.log] == [f"Bearer {TOKEN}", None]


def test_the_token_is_for_the_hub_alone(places: RawSettings, server: FaultyServer) -> None:
    with FaultyServer({"/cdn": CONTENT}) as cdn:
        redirect = Fault(status=302, headers={"Location": f"{cdn.url}/cdn"})
        server.always[f"/datasets/org/data/resolve/{COMMIT}/f.txt"] = redirect
        server.files[f"/raw/org/data/{COMMIT}/g.txt"] = CONTENT
        find(hub("org/data", COMMIT, "f.txt", gated=True, **PIN), places)
        find(github("org/data", COMMIT, "g.txt", **PIN), places)
        find(offered(server, **PIN), places)
        sent = {seen.path.rsplit("/", 1)[1]: "authorization" in seen.headers for seen in server.log + cdn.log}
    assert sent == {"f.txt": True, "g.txt": False, "file.jsonl": False, "cdn": False}


@pytest.mark.parametrize("broken", ["hf_секрет", "hf_se cret", "hf_\x01secret"])
def test_a_token_that_no_header_can_carry_is_not_shown(
    places: RawSettings, server: FaultyServer, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: broken)
    with pytest.raises(SourceError, match="HF_TOKEN") as caught:
        find(hub("org/data", COMMIT, "f.txt"), places)
    assert broken not in str(caught.value)
    assert server.log == []


def test_a_missing_revision_is_told(places: RawSettings) -> None:
    with pytest.raises(SourceError, match="is not at its address") as caught:
        find(hub("org/data", COMMIT, "f.txt"), places)
    assert caught.value.expected == f"revision {COMMIT} of org/data"


# Files that cannot be had


def test_a_file_for_a_person_to_fetch_says_how_and_where_to_put_it(places: RawSettings) -> None:
    file = by_hand("file.jsonl", "Ask the authors at https://example.org/ask.", **PIN)
    with pytest.raises(SourceError) as caught:
        find(file, places)
    error = caught.value
    assert error.what == "demo/file.jsonl must be fetched by hand"
    assert places.raw_dir is not None
    path = places.raw_dir / "demo" / "file.jsonl"
    assert error.todo == f"Ask the authors at https://example.org/ask; put it at {path}"
    assert str(path) in str(error.found)
    assert str(error.expected).startswith(f"sha256 {sha256(CONTENT)}")
    assert error.exit_code == 3


def test_without_a_raw_dir_such_a_file_belongs_into_the_cache(places: RawSettings) -> None:
    alone = replace(places, raw_dir=None)
    file = by_hand("file.jsonl", "Ask.", **PIN)
    with pytest.raises(SourceError) as caught:
        find(file, alone)
    path = Path(str(caught.value.todo).split("put it at ")[1].split(", or")[0])
    assert path.is_relative_to(places.cache)
    put(path, CONTENT)
    assert (find(file, alone).origin, find(file, alone).verified) == ("cache", True)
    put(path, OTHER)
    with pytest.raises(SourceError, match="is not the pinned file"):
        find(file, alone)


def test_a_file_put_by_hand_stays_found_when_its_instructions_are_reworded(places: RawSettings) -> None:
    alone = replace(places, raw_dir=None)
    with pytest.raises(SourceError) as caught:
        find(by_hand("file.jsonl", "Ask."), alone)
    put(Path(str(caught.value.todo).split("put it at ")[1].split(", or")[0]), CONTENT)
    assert find(by_hand("file.jsonl", "Please ask."), alone).origin == "cache"


def test_an_archive_for_a_person_to_fetch_may_be_put_whole_or_in_part(places: RawSettings) -> None:
    file = member(by_hand("files.zip", "Ask."), "a/test.jsonl", **PIN)
    with pytest.raises(SourceError, match=r"demo/files\.zip must be fetched by hand") as caught:
        find(file, places)
    assert places.raw_dir is not None
    folder = places.raw_dir / "demo"
    assert caught.value.todo == (
        f"Ask; put it at {folder / 'files.zip'} (or what it holds at {folder / 'a' / 'test.jsonl'})"
    )


def test_offline_a_missing_file_says_where_it_was_looked_for(places: RawSettings, server: FaultyServer) -> None:
    with pytest.raises(SourceError) as caught:
        find(offered(server, **PIN), replace(places, offline=True))
    error = caught.value
    assert error.what == "demo/file.jsonl is not here, and --offline forbids to fetch it"
    assert places.raw_dir is not None
    assert str(places.raw_dir / "demo" / "file.jsonl") in str(error.found)
    assert str(places.cache) in str(error.found)
    assert "or run without --offline" in str(error.todo)
    assert error.exit_code == 3
    assert server.log == []


def test_offline_what_is_in_the_cache_is_used(places: RawSettings, server: FaultyServer) -> None:
    file = offered(server, **PIN)
    find(file, places)
    assert find(file, replace(places, offline=True)).origin == "cache"


def test_a_server_that_is_down_says_how_to_do_without(places: RawSettings, server: FaultyServer) -> None:
    server.always["/file.jsonl"] = Fault(status=500)
    file = https(f"{server.url}/file.jsonl", **PIN)
    with pytest.raises(SourceError, match="fetch it by hand and put it at") as caught:
        find(file, places)
    assert places.raw_dir is not None
    assert str(places.raw_dir / "demo" / "file.jsonl") in str(caught.value.todo)


# Plans


def test_a_plan_tells_where_a_file_would_come_from(places: RawSettings, server: FaultyServer) -> None:
    file = source(offered(server, **PIN))
    offline = replace(places, offline=True)
    first = plan_file(file, "file", places)
    assert (first.origin, first.where, first.bytes) == ("download", f"{server.url}/file.jsonl", len(CONTENT))
    assert plan_file(file, "file", offline).origin == "missing"
    assert server.log == []
    assert files_in(places.cache) == {}
    found = locate(file, "file", places)
    second = plan_file(file, "file", offline)
    assert (second.origin, second.where) == ("cache", str(found.raw.path))
    path = local(places)
    third = plan_file(file, "file", places)
    assert (third.origin, third.where) == ("raw-dir", str(path))


def test_a_plan_for_a_file_to_fetch_by_hand_says_how(places: RawSettings) -> None:
    for file in (by_hand("file.jsonl", "Ask."), member(by_hand("files.zip", "Ask."), "file.jsonl")):
        planned = plan_file(source(file), "file", places)
        assert (planned.name, planned.origin) == ("file.jsonl", "by-hand")
        assert planned.where.startswith("Ask; put it at ")


def test_a_plan_knows_both_ways_to_have_a_member(places: RawSettings, server: FaultyServer) -> None:
    archive = offered(server, ARCHIVES["files.zip"], "files.zip", bytes=len(ARCHIVES["files.zip"]))
    file = source(member(archive, "a/test.jsonl"))
    planned = plan_file(file, "file", places)
    assert (planned.origin, planned.bytes) == ("download", len(ARCHIVES["files.zip"]))
    path = local(places, ARCHIVES["files.zip"], "files.zip")
    assert plan_file(file, "file", places).where == str(path)
    path = local(places, name="a/test.jsonl")
    assert plan_file(file, "file", places).where == str(path)


# Two commands at once

CHILD = """
import sys
from pathlib import Path
from builders.spec import Source, https
from pipelines.raw.locations import RawSettings, locate
url, folder, digest = sys.argv[1:]
source = Source("demo", "Demo", "mit", "https://example.org", "demo2020", {"file": https(url, sha256=digest or None)})
found = locate(source, "file", RawSettings(cache=Path(folder), lock=Path(folder, "lock.json")))
print(found.origin, found.verified, found.sha256)
"""


@pytest.mark.parametrize("pinned", [True, False], ids=["pinned", "unknown digest"])
def test_two_commands_that_want_one_file_fetch_it_once(server: FaultyServer, tmp_path: Path, pinned: bool) -> None:
    server.files["/file.jsonl"] = CONTENT
    server.fail("/file.jsonl", Fault(stall_after=1000))
    (tmp_path / "cache").mkdir()
    digest = sha256(CONTENT) if pinned else ""
    command = [sys.executable, "-c", CHILD, f"{server.url}/file.jsonl", str(tmp_path / "cache"), digest]

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    with start() as first:
        server.wait_for_requests(1)
        with start() as second:
            assert second.stderr is not None
            waiting = second.stderr.readline()
            server.release.set()
            results = [child.communicate()[0].split() for child in (first, second)]

    assert waiting == "demo/file.jsonl: waiting for another command that is fetching it ...\n"
    assert [result[0] for result in results] == ["download", "cache"]
    assert {result[2] for result in results} == {sha256(CONTENT)}
    assert results[0][1] == str(pinned)
    assert len(server.log) == 1


def test_many_unknown_files_fetched_at_once_are_all_recorded(places: RawSettings, server: FaultyServer) -> None:
    from concurrent.futures import ThreadPoolExecutor

    files = [offered(server, str(number).encode(), f"{number}.txt") for number in range(12)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda file: find(file, places), files))
    assert set(read_lock(places.lock)) == {f"demo/{number}.txt" for number in range(12)}


# What the other commands pay


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    script = (
        "import sys, pipelines.raw.locations\n"
        "print([name for name in ('httpx', 'huggingface_hub', 'filelock', 'tqdm', 'polars') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
