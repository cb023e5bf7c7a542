"""Where raw files are found, in which order; plans; two commands at once. Raw files that are missing: what the error tells
the user to do.
"""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from builders.errors import SourceError, UsageError
from builders.raw_files import by_hand, github, https, member
from pipelines.raw.locations import locate, plan_file
from pipelines.raw.pins import read_lock_file
from pipelines.raw.settings import RawSettings
from tests.support.faulty_server import Fault, FaultyServer
from tests.support.paths import ROOT
from tests.support.raw_files import (
    ARCHIVES,
    CONTENT,
    OTHER,
    PIN,
    error_of,
    files_in,
    local_path,
    locate_file,
    serve,
    sha256,
    source_of,
    suggested_path,
    write,
    write_local,
)


def test_raw_dir_comes_before_the_cache_and_the_network(raw_settings: RawSettings, server: FaultyServer) -> None:
    file = serve(server, **PIN)
    locate_file(file, replace(raw_settings, raw_dir=None))
    path = write_local(raw_settings)
    located = locate_file(file, raw_settings, limit=5)
    assert located.origin == "raw-dir"
    assert (located.raw.path, located.raw.member, located.raw.limit) == (path, None, 5)
    assert located.raw.name == "demo/file.jsonl"
    assert len(server.log) == 1


def test_a_downloaded_file_comes_from_the_cache_the_next_time(raw_settings: RawSettings, server: FaultyServer) -> None:
    file = serve(server, **PIN)
    first, second = locate_file(file, raw_settings), locate_file(file, raw_settings)
    assert (first.origin, second.origin) == ("download", "cache")
    assert replace(second, origin="download") == first
    assert first.raw.path.read_bytes() == CONTENT
    assert (first.name, first.url) == ("file.jsonl", f"{server.url}/file.jsonl")
    assert (first.sha256, first.bytes, first.verified) == (sha256(CONTENT), len(CONTENT), True)
    assert locate_file(file, replace(raw_settings, offline=True)) == second
    assert len(server.log) == 1


def test_a_name_may_contain_directories(raw_settings: RawSettings, server: FaultyServer) -> None:
    server.files["/train.jsonl"] = CONTENT
    file = https(f"{server.url}/train.jsonl", name="main/train.jsonl", **PIN)
    assert locate_file(file, raw_settings).raw.path.parts[-2:] == ("main", "train.jsonl")
    path = write_local(raw_settings, name="main/train.jsonl")
    assert locate_file(file, raw_settings).raw.path == path


def test_two_pinned_versions_of_a_name_are_cached_side_by_side(raw_settings: RawSettings, server: FaultyServer) -> None:
    one = locate_file(serve(server, **PIN), raw_settings)
    two = locate_file(serve(server, OTHER, sha256=sha256(OTHER)), raw_settings)
    assert one.raw.path != two.raw.path
    assert one.raw.path.read_bytes() == CONTENT
    assert two.raw.path.read_bytes() == OTHER


def test_two_commits_of_a_name_without_digests_are_cached_side_by_side(
    raw_settings: RawSettings, server: FaultyServer
) -> None:
    server.files |= {f"/raw/org/data/{40 * 'a'}/f.txt": CONTENT, f"/raw/org/data/{40 * 'b'}/f.txt": OTHER}
    one = locate_file(github("org/data", 40 * "a", "f.txt"), raw_settings)
    raw_settings.lock.write_text(json.dumps({"demo/f.txt": {"sha256": sha256(OTHER), "bytes": len(OTHER)}}))
    two = locate_file(github("org/data", 40 * "b", "f.txt"), raw_settings)
    assert (one.sha256, two.sha256) == (sha256(CONTENT), sha256(OTHER))


def test_raw_dir_is_never_written_to(raw_settings: RawSettings, server: FaultyServer) -> None:
    write_local(raw_settings, ARCHIVES["files.zip"], "files.zip")
    write_local(raw_settings, name="unpinned.jsonl")
    assert raw_settings.raw_dir is not None
    before = files_in(raw_settings.raw_dir)
    locate_file(member(https("https://example.org/files.zip"), "a/test.jsonl"), raw_settings)
    locate_file(by_hand("unpinned.jsonl", "ask"), raw_settings)
    locate_file(serve(server), raw_settings)
    assert files_in(raw_settings.raw_dir) == before
    assert {path.name for path in raw_settings.raw_dir.rglob("*")} == {"demo", "files.zip", "unpinned.jsonl"}


def test_a_raw_dir_that_does_not_exist_is_a_usage_error(raw_settings: RawSettings, server: FaultyServer) -> None:
    wrong = replace(raw_settings, raw_dir=Path("no", "such", "directory"))
    for function in (locate, plan_file):
        with pytest.raises(UsageError, match="correct --raw-dir"):
            function(source_of(serve(server)), "file", wrong)


@pytest.mark.parametrize("kind", ["a directory", "a broken link", "a special file"])
def test_anything_but_a_file_is_an_error(raw_settings: RawSettings, server: FaultyServer, kind: str) -> None:
    path = local_path(raw_settings)
    path.parent.mkdir()
    make: dict[str, Callable[[], object]] = {
        "a directory": path.mkdir,
        "a broken link": lambda: path.symlink_to("nowhere"),
        "a special file": lambda: os.mkfifo(path),
    }
    make[kind]()
    for function in (locate, plan_file):
        with pytest.raises(SourceError, match=kind) as caught:
            function(source_of(serve(server)), "file", raw_settings)
        assert caught.value.where == str(path)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that opens but cannot be read")
def test_an_unreadable_file_is_an_error(raw_settings: RawSettings) -> None:
    path = local_path(raw_settings)
    path.parent.mkdir()
    path.symlink_to("/proc/self/mem")
    with pytest.raises(SourceError, match=r"demo/file\.jsonl cannot be read") as caught:
        locate_file(by_hand("file.jsonl", "ask"), raw_settings)
    assert caught.value.where == str(path)


def test_an_unreadable_directory_is_an_error(raw_settings: RawSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(_: Path) -> bool:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "is_file", forbidden)
    assert "Permission denied" in str(error_of(locate_file, by_hand("file.jsonl", "ask"), raw_settings))


def test_a_link_to_a_file_is_followed(raw_settings: RawSettings, tmp_path: Path) -> None:
    path = local_path(raw_settings)
    path.parent.mkdir()
    path.symlink_to(write(tmp_path / "elsewhere", CONTENT))
    assert locate_file(by_hand("file.jsonl", "ask", **PIN), raw_settings).verified


# Plans


def test_a_plan_says_where_a_file_would_come_from(raw_settings: RawSettings, server: FaultyServer) -> None:
    file = source_of(serve(server, **PIN))
    offline = replace(raw_settings, offline=True)
    first = plan_file(file, "file", raw_settings)
    assert (first.origin, first.where, first.bytes) == ("download", f"{server.url}/file.jsonl", len(CONTENT))
    assert plan_file(file, "file", offline).origin == "missing"
    assert server.log == []
    assert files_in(raw_settings.cache) == {}
    located = locate(file, "file", raw_settings)
    second = plan_file(file, "file", offline)
    assert (second.origin, second.where) == ("cache", str(located.raw.path))
    path = write_local(raw_settings)
    third = plan_file(file, "file", raw_settings)
    assert (third.origin, third.where) == ("raw-dir", str(path))


def test_a_plan_for_a_file_fetched_by_hand_says_how(raw_settings: RawSettings) -> None:
    for file in (by_hand("file.jsonl", "Ask."), member(by_hand("file.jsonl", "Ask."), "a.jsonl")):
        planned = plan_file(source_of(file), "file", raw_settings)
        assert (planned.name, planned.origin) == ("demo/file.jsonl", "by-hand")
        assert planned.where.startswith("Ask; put it at ")


def test_a_plan_finds_a_member_alone_or_in_its_archive(raw_settings: RawSettings, server: FaultyServer) -> None:
    archive = serve(server, ARCHIVES["files.zip"], "files.zip", bytes=len(ARCHIVES["files.zip"]))
    file = source_of(member(archive, "a/test.jsonl"))
    planned = plan_file(file, "file", raw_settings)
    assert (planned.origin, planned.bytes) == ("download", len(ARCHIVES["files.zip"]))
    path = write_local(raw_settings, ARCHIVES["files.zip"], "files.zip")
    assert plan_file(file, "file", raw_settings).where == str(path)
    path = write_local(raw_settings, name="a/test.jsonl")
    assert plan_file(file, "file", raw_settings).where == str(path)


# Two commands at once

COMMAND = """
import sys
from pathlib import Path
from builders.raw_files import https
from builders.spec import Source
from pipelines.raw.locations import locate
from pipelines.raw.settings import RawSettings
from pipelines.process.terminal import configure_logging
configure_logging()
url, cache, digest = sys.argv[1:]
source = Source("demo", "Demo", "mit", "https://example.org", "demo2020", {"file": https(url, sha256=digest or None)})
located = locate(source, "file", RawSettings(cache=Path(cache), lock=Path(cache, "lock.json")))
print(located.origin, located.verified, located.sha256)
"""


@pytest.mark.parametrize("pinned", [True, False], ids=["pinned", "unknown digest"])
def test_two_commands_that_need_a_file_download_it_once(server: FaultyServer, tmp_path: Path, pinned: bool) -> None:
    server.files["/file.jsonl"] = CONTENT
    server.fail("/file.jsonl", Fault(stall_after=1000))
    (tmp_path / "cache").mkdir()
    digest = sha256(CONTENT) if pinned else ""
    command = [sys.executable, "-c", COMMAND, f"{server.url}/file.jsonl", str(tmp_path / "cache"), digest]

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    with start() as first:
        server.wait_for_requests(1)
        with start() as second:
            assert second.stderr is not None
            waiting = second.stderr.readline()
            server.release.set()
            results = [process.communicate()[0].split() for process in (first, second)]

    assert waiting == "demo/file.jsonl: waiting for another command that is downloading it\n"
    assert [result[0] for result in results] == ["download", "cache"]
    assert {result[2] for result in results} == {sha256(CONTENT)}
    assert results[0][1] == str(pinned)
    assert len(server.log) == 1


def test_files_without_digests_downloaded_at_once_are_all_recorded(
    raw_settings: RawSettings, server: FaultyServer
) -> None:
    files = [serve(server, str(number).encode(), f"{number}.txt") for number in range(12)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda file: locate_file(file, raw_settings), files))
    assert set(read_lock_file(raw_settings.lock)) == {f"demo/{number}.txt" for number in range(12)}


def test_the_error_for_a_file_fetched_by_hand_says_how_and_where_to_put_it(raw_settings: RawSettings) -> None:
    file = by_hand("file.jsonl", "Ask the authors at https://example.org/ask.", **PIN)
    error = error_of(locate_file, file, raw_settings)
    assert error.what == "demo/file.jsonl must be fetched by hand"
    path = local_path(raw_settings)
    assert error.todo == f"Ask the authors at https://example.org/ask; put it at {path}"
    assert str(path) in str(error.found)
    assert str(error.expected).startswith(f"sha256 {sha256(CONTENT)}")
    assert error.exit_code == 3


def test_without_a_raw_dir_a_file_fetched_by_hand_goes_into_the_cache(raw_settings: RawSettings) -> None:
    without_raw_dir = replace(raw_settings, raw_dir=None)
    file = by_hand("file.jsonl", "Ask.", **PIN)
    path = suggested_path(error_of(locate_file, file, without_raw_dir).todo)
    assert path.is_relative_to(raw_settings.cache)
    write(path, CONTENT)
    assert (locate_file(file, without_raw_dir).origin, locate_file(file, without_raw_dir).verified) == ("cache", True)
    write(path, OTHER)
    assert "is not the pinned file" in str(error_of(locate_file, file, without_raw_dir))


def test_a_file_put_by_hand_is_still_found_after_its_instructions_change(raw_settings: RawSettings) -> None:
    without_raw_dir = replace(raw_settings, raw_dir=None)
    write(suggested_path(error_of(locate_file, by_hand("file.jsonl", "Ask."), without_raw_dir).todo), CONTENT)
    assert locate_file(by_hand("file.jsonl", "Please ask."), without_raw_dir).origin == "cache"


def test_an_archive_fetched_by_hand_may_be_put_whole_or_extracted(raw_settings: RawSettings) -> None:
    file = member(by_hand("files.zip", "Ask."), "a/test.jsonl", **PIN)
    with pytest.raises(SourceError, match=r"demo/files\.zip must be fetched by hand") as caught:
        locate_file(file, raw_settings)
    archive, extracted = local_path(raw_settings, "files.zip"), local_path(raw_settings, "a/test.jsonl")
    assert caught.value.todo == f"Ask; put it at {archive} (or the extracted member at {extracted})"


def test_the_error_for_a_file_missing_offline_lists_the_paths_searched(
    raw_settings: RawSettings, server: FaultyServer
) -> None:
    error = error_of(locate_file, serve(server, **PIN), replace(raw_settings, offline=True))
    assert error.what == "demo/file.jsonl not found, and --offline is set"
    assert str(local_path(raw_settings)) in str(error.found)
    assert str(raw_settings.cache) in str(error.found)
    assert "or run without --offline" in str(error.todo)
    assert error.exit_code == 3
    assert server.log == []


def test_the_error_for_a_server_that_is_down_says_where_to_put_the_file(
    raw_settings: RawSettings, server: FaultyServer
) -> None:
    server.always["/file.jsonl"] = Fault(status=500)
    file = https(f"{server.url}/file.jsonl", **PIN)
    with pytest.raises(SourceError, match="fetch it by hand and put it at") as caught:
        locate_file(file, raw_settings)
    assert str(local_path(raw_settings)) in str(caught.value.todo)
