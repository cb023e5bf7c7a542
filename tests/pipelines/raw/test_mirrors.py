"""Mirrors: what is configured, when they are asked, and that a digest decides."""

import json
import logging
import os
import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from builders.errors import SourceError, UsageError
from builders.raw_files import RawFile, by_hand, https, hub, member
from pipelines.raw.locations import locate, plan_file
from pipelines.raw.mirrors import HubMirror, digest_path, parse_mirrors
from pipelines.raw.pins import Pin
from pipelines.raw.settings import RawSettings
from tests.support.downloads import PAGE
from tests.support.faulty_server import Fault, FaultyServer
from tests.support.raw_files import (
    ARCHIVES,
    CONTENT,
    OTHER,
    PIN,
    TOKEN,
    error_of,
    files_in,
    git_blob,
    locate_file,
    make_zip,
    serve,
    sha256,
    source_of,
    write,
    write_local,
)

PATH = f"sha256/{sha256(CONTENT)[:2]}/{sha256(CONTENT)}"
BY_HAND = by_hand("file.jsonl", "Please ask.", **PIN)


@pytest.fixture
def mirror() -> Iterator[FaultyServer]:
    """A mirror on another port, with the file."""
    with FaultyServer({f"/m/{PATH}": CONTENT}) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the file, as a mirror."""
    write(tmp_path / "mirror" / PATH, CONTENT)
    return tmp_path / "mirror"


def with_mirrors(raw_settings: RawSettings, *mirrors: object, **others: Any) -> RawSettings:
    entries = [one.as_uri() if isinstance(one, Path) else str(one) for one in mirrors]
    return replace(raw_settings, mirrors=parse_mirrors(" ".join(entries)), **others)


def gone(server: FaultyServer, **digest: Any) -> RawFile:
    """A raw file that its publisher no longer has."""
    file = serve(server, **digest)
    server.files.clear()
    return file


def fails(file: RawFile, raw_settings: RawSettings) -> SourceError:
    """The error of looking for a file; nothing is left in the cache."""
    error = error_of(locate_file, file, raw_settings)
    kept = [name for name in files_in(raw_settings.cache) if name.startswith("raw/") and not name.endswith(".lock")]
    assert kept == []
    return error


# What is configured


def test_mirrors_are_separated_by_white_space_or_commas_and_named_once() -> None:
    text = (
        "https://a.example/raw/, hf://datasets/org\n hf://datasets/org/files,/a/b\thttps://a.example/raw file:///a%20b"
    )
    assert parse_mirrors(text) == (
        "https://a.example/raw",
        HubMirror("org"),
        HubMirror("org/files"),
        Path("/a/b"),
        Path("/a b"),
    )
    assert parse_mirrors(" ,") == ()


@pytest.mark.parametrize(
    "entry",
    [
        "http://a.example",
        "ftp://a.example",
        "https://",
        "https://me:secret@a.example",
        "https://a.example/?sig=1",
        "file://host/a",
        "hf://models/org",
        "hf://datasets/",
        "hf://datasets/../x",
        "hf://datasets/org/a/b",
    ],
)
def test_anything_else_is_refused(entry: str) -> None:
    with pytest.raises(UsageError, match="invalid mirror"):
        parse_mirrors(entry)


def test_the_digest_is_the_path_and_a_file_without_one_has_none() -> None:
    assert digest_path(Pin(sha256="ab" * 32)) == f"sha256/ab/{'ab' * 32}"
    assert digest_path(Pin(git_blob="cd" * 20)) == f"git-blob/cd/{'cd' * 20}"
    assert digest_path(Pin(bytes=3)) is None


def test_a_source_has_a_repository_of_its_own_unless_one_is_named() -> None:
    assert HubMirror("org").repository("hh_rlhf") == "org/raw-hh_rlhf"
    assert HubMirror("org/files").repository("hh_rlhf") == "org/files"


# When they are asked


def test_a_mirror_is_not_asked_while_the_publisher_has_the_file(
    server: FaultyServer, mirror: FaultyServer, raw_settings: RawSettings
) -> None:
    settings = with_mirrors(raw_settings, f"{mirror.url}/m")
    assert locate_file(serve(server, **PIN), settings).origin == "download"
    assert locate_file(serve(server, **PIN), settings).origin == "cache"
    assert mirror.log == []


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=404),
        Fault(status=410),
        Fault(status=403),
        Fault(status=401),
        Fault(status=503),
        Fault(status=429, headers={"Retry-After": "600"}),
        Fault(status=302, headers={"Location": "file:///etc/passwd"}),
        Fault(status=302, headers={"Location": "/file.jsonl"}),
        Fault(body=OTHER),
        Fault(body=PAGE),
        Fault(body=CONTENT[:-1] + b"\r"),
    ],
    ids=["404", "410", "403", "401", "503", "long wait", "file:", "loop", "other size", "page", "other bytes"],
)
def test_a_mirror_has_what_the_publisher_lacks_or_changed(
    server: FaultyServer,
    mirror: FaultyServer,
    raw_settings: RawSettings,
    fault: Fault,
    caplog: pytest.LogCaptureFixture,
) -> None:
    file = serve(server, **PIN)
    server.always["/file.jsonl"] = fault
    with caplog.at_level(logging.INFO):
        located = locate_file(file, with_mirrors(raw_settings, f"{mirror.url}/m"))
    assert (located.origin, located.verified, located.raw.path.read_bytes()) == ("mirror", True, CONTENT)
    assert located.url == f"{server.url}/file.jsonl"
    assert f"taken from the mirror {mirror.url}/m" in caplog.text
    requests = len(mirror.log)
    assert locate_file(file, with_mirrors(raw_settings, f"{mirror.url}/m")).origin == "cache"
    assert len(mirror.log) == requests


def test_a_mirror_serves_while_nothing_listens_at_the_publisher(
    server: FaultyServer, folder: Path, raw_settings: RawSettings
) -> None:
    file = serve(server, **PIN)
    server.stop()
    assert locate_file(file, with_mirrors(raw_settings, folder)).origin == "mirror"


def test_the_publisher_is_retried_less_where_there_are_mirrors(
    server: FaultyServer, folder: Path, raw_settings: RawSettings
) -> None:
    file = serve(server, **PIN)
    of_an_archive = member(serve(server, name="files.zip"), "a/test.jsonl", **PIN)
    server.always = {path: Fault(status=503) for path in server.files}
    for number, needed in enumerate((file, of_an_archive), 1):
        assert locate_file(needed, with_mirrors(raw_settings, folder)).origin == "mirror"
        assert len(server.log) == 3 * number


def test_a_gated_file_may_come_from_a_mirror_which_gets_no_token(
    server: FaultyServer, mirror: FaultyServer, raw_settings: RawSettings
) -> None:
    file = hub("org/data", "main", "file.jsonl", gated=True, moving=True, **PIN)
    server.always["/datasets/org/data/resolve/main/file.jsonl"] = Fault(status=403)
    assert locate_file(file, with_mirrors(raw_settings, f"{mirror.url}/m")).origin == "mirror"
    assert [request.headers.get("authorization") for request in server.log] == [f"Bearer {TOKEN}"]
    assert [request.headers.get("authorization") for request in mirror.log] == [None]


def test_a_mirror_on_the_hub_is_asked_with_the_users_token(server: FaultyServer, raw_settings: RawSettings) -> None:
    file = serve(server, **PIN)
    del server.files["/file.jsonl"]
    server.files[f"/datasets/org/raw-demo/resolve/main/{PATH}"] = CONTENT
    assert locate_file(file, with_mirrors(raw_settings, "hf://datasets/org")).origin == "mirror"
    tokens = {request.path[:8]: request.headers.get("authorization") for request in server.log}
    assert tokens == {"/file.js": None, "/dataset": f"Bearer {TOKEN}"}


@pytest.mark.parametrize(("base", "words"), [("hf://datasets/org", ", or does not show it to you"), ("{url}/m", "")])
def test_the_hub_answers_the_same_for_what_is_missing_and_for_what_a_token_may_not_see(
    server: FaultyServer, raw_settings: RawSettings, base: str, words: str
) -> None:
    mirror = base.format(url=server.url)
    error = fails(BY_HAND, with_mirrors(raw_settings, mirror))
    assert (error.found or "").endswith(f"mirror {mirror}: it does not have file.jsonl{words}")


def test_a_source_that_an_organisation_does_not_keep_is_no_news(
    server: FaultyServer, folder: Path, raw_settings: RawSettings, caplog: pytest.LogCaptureFixture
) -> None:
    server.always[f"/datasets/org/raw-demo/resolve/main/{PATH}"] = Fault(status=401)
    error = fails(BY_HAND, with_mirrors(raw_settings, "hf://datasets/org"))
    words = "mirror hf://datasets/org: status 401: it does not have file.jsonl, or keeps it private"
    assert (error.found or "").endswith(words)
    with caplog.at_level(logging.WARNING, "httpx"), caplog.at_level(logging.INFO, "pipelines"):
        locate_file(BY_HAND, with_mirrors(raw_settings, "hf://datasets/org", folder))
    assert [record.getMessage() for record in caplog.records] == [f"demo/file.jsonl: taken from the mirror {folder}"]


def test_offline_asks_folders_alone(mirror: FaultyServer, folder: Path, raw_settings: RawSettings) -> None:
    error = fails(BY_HAND, with_mirrors(raw_settings, f"{mirror.url}/m", "hf://datasets/org", offline=True))
    assert "mirror" not in str(error)
    settings = with_mirrors(raw_settings, f"{mirror.url}/m", folder, offline=True)
    assert plan_file(source_of(BY_HAND), "file", settings).where == str(folder / PATH)
    assert locate_file(BY_HAND, settings).origin == "mirror"
    assert mirror.log == []


def test_a_file_of_no_known_digest_is_never_taken_from_a_mirror(
    server: FaultyServer, folder: Path, raw_settings: RawSettings
) -> None:
    files = (serve(server), member(serve(server, name="files.zip"), "a/test.jsonl"))
    server.files.clear()
    for file in files:
        error = fails(file, with_mirrors(raw_settings, folder))
        assert error.found == "status 404; mirrors not asked, because no digest of it is known"


def test_a_wrong_file_below_raw_dir_is_an_error_whatever_mirrors_have(folder: Path, raw_settings: RawSettings) -> None:
    write_local(raw_settings, OTHER)
    assert "not the pinned file" in str(error_of(locate_file, BY_HAND, with_mirrors(raw_settings, folder)))


def test_a_git_blob_id_names_a_file_too(server: FaultyServer, tmp_path: Path, raw_settings: RawSettings) -> None:
    blob = git_blob(CONTENT)
    write(tmp_path / "mirror" / "git-blob" / blob[:2] / blob, CONTENT)
    located = locate_file(gone(server, git_blob=blob), with_mirrors(raw_settings, tmp_path / "mirror"))
    assert (located.origin, located.sha256) == ("mirror", sha256(CONTENT))


# Archives: the archive is asked for where its digest is known, then the member


def test_an_archive_comes_from_a_mirror(server: FaultyServer, tmp_path: Path, raw_settings: RawSettings) -> None:
    digest = sha256(ARCHIVES["files.zip"])
    write(tmp_path / "mirror" / "sha256" / digest[:2] / digest, ARCHIVES["files.zip"])
    file = member(serve(server, name="files.zip", sha256=digest), "a/test.jsonl", **PIN)
    server.files.clear()
    located = locate_file(file, with_mirrors(raw_settings, tmp_path / "mirror"))
    assert (located.origin, located.raw.member, located.sha256) == ("mirror", "a/test.jsonl", sha256(CONTENT))


@pytest.mark.parametrize(
    "content", [None, make_zip({"a/test.jsonl": OTHER}), PAGE], ids=["gone", "another archive", "a page"]
)
def test_a_member_comes_by_itself_where_the_archive_has_no_digest(
    server: FaultyServer, folder: Path, raw_settings: RawSettings, content: bytes | None
) -> None:
    file = member(serve(server, name="files.zip"), "a/test.jsonl", name="test.jsonl", **PIN)
    server.files.clear()
    server.files |= {"/files.zip": content} if content else {}
    settings = with_mirrors(raw_settings, folder)
    located = locate_file(file, settings)
    assert (located.origin, located.raw.member, located.raw.path.read_bytes()) == ("mirror", None, CONTENT)
    requests = len(server.log)
    assert locate_file(file, settings).origin == "cache"
    assert len(server.log) == requests
    assert plan_file(source_of(file), "file", settings).origin == "cache"


def test_a_plan_offline_names_the_member_that_a_folder_has(folder: Path, raw_settings: RawSettings) -> None:
    file = member(https("https://a.example/files.zip"), "a/test.jsonl", name="test.jsonl", **PIN)
    plan = plan_file(source_of(file), "file", with_mirrors(raw_settings, folder, offline=True))
    assert (plan.name, plan.origin, plan.where) == ("demo/test.jsonl", "mirror", str(folder / PATH))


def test_a_member_that_is_nowhere_names_the_archive_and_all_that_was_asked(
    server: FaultyServer, tmp_path: Path, raw_settings: RawSettings
) -> None:
    file = member(serve(server, name="files.zip", sha256="0" * 64), "a/test.jsonl", **PIN)
    server.files.clear()
    error = fails(file, with_mirrors(raw_settings, tmp_path))
    assert error.what == "demo/files.zip not found at its URL"
    assert error.found == (
        f"status 404; mirror {tmp_path}: it does not have files.zip; mirror {tmp_path}: it does not have a/test.jsonl"
    )
    assert error.missing is not None


# A mirror that is wrong is an error of that mirror


def test_the_next_mirror_is_asked_and_the_error_lists_what_each_said(
    server: FaultyServer, mirror: FaultyServer, tmp_path: Path, raw_settings: RawSettings
) -> None:
    (tmp_path / "empty").mkdir()
    write(tmp_path / "changed" / PATH, OTHER)
    mirror.files[f"/page/{PATH}"] = PAGE
    mirror.always[f"/broken/{PATH}"] = Fault(status=500)
    mirrors = [tmp_path / "nowhere", tmp_path / "empty", tmp_path / "changed"]
    mirrors += [f"{mirror.url}/{name}" for name in ("none", "page", "broken")]
    file = gone(server, **PIN)
    error = fails(file, with_mirrors(raw_settings, *mirrors))
    said = dict(part.removeprefix("mirror ").split(": ", 1) for part in (error.found or "").split("; ")[1:7])
    assert {name.rpartition("/")[2]: words.split(" (")[0] for name, words in said.items()} == {
        "nowhere": "no such folder",
        "empty": "it does not have file.jsonl",
        "changed": "another file, JSON of 15 KB",
        "none": "it does not have file.jsonl",
        "page": "another file, an HTML page of 2 KB",
        "broken": "the server answered 500 Internal Server Error",
    }
    assert (error.found or "").startswith("status 404; ")
    assert locate_file(file, with_mirrors(raw_settings, *mirrors, f"{mirror.url}/m")).origin == "mirror"


@pytest.mark.parametrize("kind", ["directory", "endless", "pipe", "broken link", "no permission"])
def test_what_is_not_a_readable_file_in_a_folder_is_refused(
    server: FaultyServer, tmp_path: Path, raw_settings: RawSettings, kind: str
) -> None:
    path = tmp_path / "mirror" / PATH
    path.parent.mkdir(parents=True)
    match kind:
        case "directory":
            path.mkdir()
        case "endless":
            path.symlink_to("/dev/zero")
        case "pipe":
            os.mkfifo(path)
        case "broken link":
            path.symlink_to(tmp_path / "nowhere")
        case _:
            write(path, CONTENT)
            path.parent.chmod(0)
            if os.access(path, os.R_OK):
                pytest.skip("this user may read everything")
    file = gone(server, **PIN)
    try:
        error = fails(file, with_mirrors(raw_settings, tmp_path / "mirror"))
    finally:
        path.parent.chmod(0o700)
    words = {"broken link": "a broken link at", "no permission": "Permission denied"}
    assert f"mirror {tmp_path / 'mirror'}: {words.get(kind, 'not a file')}" in (error.found or "")


def test_a_link_in_a_folder_is_followed_because_the_digest_decides(
    server: FaultyServer, tmp_path: Path, raw_settings: RawSettings
) -> None:
    (tmp_path / "mirror" / PATH).parent.mkdir(parents=True)
    (tmp_path / "mirror" / PATH).symlink_to(write(tmp_path / "elsewhere", CONTENT))
    assert not locate_file(gone(server, **PIN), with_mirrors(raw_settings, tmp_path / "mirror")).raw.path.is_symlink()


@pytest.mark.parametrize(
    ("first", "ranges"), [(b"{", ["bytes=10000-"]), (b"#", ["bytes=10000-", None])], ids=["same file", "another file"]
)
def test_a_mirror_continues_what_the_publisher_began_and_is_asked_for_all_of_it_where_that_was_another_file(
    server: FaultyServer, mirror: FaultyServer, raw_settings: RawSettings, first: bytes, ranges: list[str | None]
) -> None:
    file = serve(server, content=first + CONTENT[1:], **PIN)
    server.fail("/file.jsonl", Fault(cut_after=10_000))
    server.always["/file.jsonl"] = Fault(status=503)
    assert locate_file(file, with_mirrors(raw_settings, f"{mirror.url}/m")).raw.path.read_bytes() == CONTENT
    assert mirror.ranges() == ranges


def test_what_a_killed_copy_left_is_not_used(folder: Path, raw_settings: RawSettings) -> None:
    target = raw_settings.cache / "raw" / "demo" / sha256(CONTENT)[:12] / "file.jsonl"
    write(target.with_name("file.jsonl.part"), OTHER[:5000])
    write(target.with_name("file.jsonl.part.json"), json.dumps({"url": (folder / PATH).as_uri()}).encode())
    located = locate_file(BY_HAND, with_mirrors(raw_settings, folder))
    assert (located.raw.path, located.raw.path.read_bytes()) == (target, CONTENT)
    assert {path.name for path in target.parent.iterdir()} == {"file.jsonl", "file.jsonl.lock"}


def test_a_mirror_with_other_bytes_is_named_also_where_another_has_the_file(
    folder: Path, tmp_path: Path, raw_settings: RawSettings, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path / "changed" / PATH, OTHER)
    (tmp_path / "empty").mkdir()
    with caplog.at_level(logging.INFO):
        locate_file(
            BY_HAND, with_mirrors(raw_settings, tmp_path / "none", tmp_path / "empty", tmp_path / "changed", folder)
        )
    assert [record.getMessage().split(" (")[0] for record in caplog.records] == [
        f"mirror {tmp_path / 'none'}: no such folder",
        f"demo/file.jsonl: mirror {tmp_path / 'changed'}: another file, JSON of 15 KB",
        f"demo/file.jsonl: taken from the mirror {folder}",
    ]


def test_a_full_disk_ends_the_search(
    server: FaultyServer, mirror: FaultyServer, raw_settings: RawSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.raw.download.shutil.disk_usage", lambda _: SimpleNamespace(free=0))
    assert "not enough disk space" in str(
        error_of(locate_file, serve(server, **PIN), with_mirrors(raw_settings, f"{mirror.url}/m"))
    )
    assert mirror.log == []


def test_a_mirror_that_redirects_to_another_host_or_scheme_is_refused_there(
    server: FaultyServer, mirror: FaultyServer, raw_settings: RawSettings
) -> None:
    file = gone(server, **PIN)
    mirror.always[f"/m/{PATH}"] = Fault(status=302, headers={"Location": f"ftp://127.0.0.1/{PATH}"})
    assert "ftp://127.0.0.1" in (fails(file, with_mirrors(raw_settings, f"{mirror.url}/m")).found or "")


def test_two_files_with_one_digest_are_one_file_of_a_mirror(
    server: FaultyServer, folder: Path, raw_settings: RawSettings
) -> None:
    source = replace(source_of(serve(server, **PIN)), files={key: serve(server, name=key, **PIN) for key in ("a", "b")})
    server.files.clear()
    for key in source.files:
        assert locate(source, key, with_mirrors(raw_settings, folder)).origin == "mirror"


def test_a_closed_port_is_said_once_for_each_mirror(server: FaultyServer, raw_settings: RawSettings) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    file = gone(server, **PIN)
    error = fails(file, with_mirrors(raw_settings, f"http://127.0.0.1:{port}/a", f"http://127.0.0.1:{port}/b"))
    assert str(error).count("ConnectError") == 2
