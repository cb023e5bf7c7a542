"""Raw files inside archives and at second addresses: found, verified, asked for once; files that their publisher may replace."""

import io
import json
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from builders.errors import SourceError
from builders.raw_files import GitHub, Hub, by_hand, github, https, hub, member
from builders.spec import Source
from pipelines.raw.locations import locate
from pipelines.raw.pins import LockEntry, read_lock_file, record_entry
from pipelines.raw.settings import RawSettings
from tests.support.faulty_server import Fault, FaultyServer
from tests.support.raw_files import (
    ARCHIVES,
    COMMIT,
    CONTENT,
    MEMBERS,
    OTHER,
    PIN,
    cached_names,
    error_of,
    git_blob,
    local_path,
    locate_file,
    make_zip,
    serve,
    sha256,
    source_of,
    write_local,
)


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_member_is_read_in_its_archive_and_has_a_digest_of_its_own(
    raw_settings: RawSettings, server: FaultyServer, name: str
) -> None:
    archive = serve(server, ARCHIVES[name], name, sha256=sha256(ARCHIVES[name]))
    located = locate_file(member(archive, "a/test.jsonl", name="test.jsonl", **PIN), raw_settings)
    assert (located.raw.path.name, located.raw.member) == (name, "a/test.jsonl")
    assert (located.name, located.raw.name) == ("test.jsonl", "demo/test.jsonl")
    assert located.url == f"{server.url}/{name}#a/test.jsonl"
    assert (located.sha256, located.bytes, located.verified) == (sha256(CONTENT), len(CONTENT), True)
    assert cached_names(raw_settings) == {name}


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_git_blob_id_verifies_a_member(raw_settings: RawSettings, name: str) -> None:
    write_local(raw_settings, ARCHIVES[name], name)
    file = member(by_hand(name, "ask"), "a/test.jsonl", git_blob=git_blob(CONTENT))
    assert locate_file(file, raw_settings).verified


def test_a_local_copy_of_a_member_comes_before_the_archive(raw_settings: RawSettings) -> None:
    path = write_local(raw_settings, name="a/test.jsonl")
    write_local(raw_settings, ARCHIVES["files.zip"], "files.zip")
    located = locate_file(member(https("https://example.org/files.zip"), "a/test.jsonl", **PIN), raw_settings)
    assert (located.raw.path, located.raw.member) == (path, None)
    assert located.url == "https://example.org/files.zip#a/test.jsonl"


def test_a_member_in_a_local_archive_is_verified_by_its_own_digest_or_by_that_of_the_archive(
    raw_settings: RawSettings,
) -> None:
    path = write_local(raw_settings, ARCHIVES["files.zip"], "files.zip")
    unpinned = https("https://example.org/files.zip")
    located = locate_file(member(unpinned, "a/test.jsonl"), raw_settings)
    assert (located.raw.path, located.origin, located.verified) == (path, "raw-dir", False)
    assert locate_file(member(unpinned, "a/test.jsonl", **PIN), raw_settings).verified
    pinned = https("https://example.org/files.zip", sha256=sha256(ARCHIVES["files.zip"]))
    assert locate_file(member(pinned, "a/test.jsonl"), raw_settings).verified


def test_another_archive_is_refused_even_if_the_member_is_right(
    raw_settings: RawSettings, server: FaultyServer
) -> None:
    other = make_zip(MEMBERS | {"more": b"more"})
    file = member(serve(server, other, "files.zip", sha256=sha256(ARCHIVES["files.zip"])), "a/test.jsonl", **PIN)
    assert "demo/files.zip is not the pinned file" in str(error_of(locate_file, file, raw_settings))
    assert cached_names(raw_settings) == set()
    write_local(raw_settings, other, "files.zip")
    assert "demo/files.zip is not the pinned file" in str(error_of(locate_file, file, raw_settings))


def test_a_member_with_another_digest_is_refused(raw_settings: RawSettings) -> None:
    path = write_local(raw_settings, ARCHIVES["files.tar.gz"], "files.tar.gz")
    with pytest.raises(SourceError, match="is not the pinned file") as caught:
        locate_file(member(by_hand("files.tar.gz", "ask"), "a/test.jsonl", sha256=sha256(OTHER)), raw_settings)
    assert caught.value.where == f"{path}: a/test.jsonl"
    assert f"JSON of 17 KB (sha256 {sha256(CONTENT)}" in str(caught.value)
    assert path.read_bytes() == ARCHIVES["files.tar.gz"]


@pytest.mark.parametrize("name", ["files.zip", "files.tar"])
def test_a_directory_in_an_archive_is_not_a_member(raw_settings: RawSettings, name: str) -> None:
    buffer = io.BytesIO()
    if name == "files.zip":
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.mkdir("a")
    else:
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            directory = tarfile.TarInfo("a/")
            directory.type = tarfile.DIRTYPE
            tar.addfile(directory)
    write_local(raw_settings, buffer.getvalue(), name)
    assert "cannot be read" in str(
        error_of(
            locate_file, member(by_hand(name, "ask"), "a/" if name == "files.zip" else "a", name="a"), raw_settings
        )
    )


def test_a_file_that_is_not_an_archive_is_an_error_and_leaves_the_cache(
    raw_settings: RawSettings, server: FaultyServer
) -> None:
    archive = serve(server, b'{"error": "quota"}', "files.zip")
    assert 'begins with b\'{"error": "quota' in str(
        error_of(locate_file, member(archive, "a/test.jsonl"), raw_settings)
    )
    assert cached_names(raw_settings) == set()
    assert read_lock_file(raw_settings.lock) == {}


def test_an_archive_without_a_known_digest_is_recorded_once_its_member_is_verified(
    raw_settings: RawSettings, server: FaultyServer
) -> None:
    archive = serve(server, ARCHIVES["files.zip"], "files.zip")
    assert "is not the pinned file" in str(
        error_of(locate_file, member(archive, "a/test.jsonl", sha256=sha256(OTHER)), raw_settings)
    )
    assert (read_lock_file(raw_settings.lock), cached_names(raw_settings)) == ({}, set())
    assert not locate_file(member(archive, "a/test.jsonl"), raw_settings).verified
    assert set(read_lock_file(raw_settings.lock)) == {"demo/files.zip"}
    assert locate_file(member(archive, "a/test.jsonl"), raw_settings).verified


def test_an_archive_inside_an_archive_must_be_extracted_by_hand(raw_settings: RawSettings) -> None:
    inner = member(by_hand("outer.zip", "ask"), "files.zip")
    with pytest.raises(SourceError, match="is an archive inside another archive") as caught:
        locate_file(member(inner, "a/test.jsonl"), raw_settings)
    assert caught.value.todo == f"extract it and put it at {local_path(raw_settings, 'files.zip')}"
    write_local(raw_settings, ARCHIVES["files.zip"], "files.zip")
    assert locate_file(member(inner, "a/test.jsonl"), raw_settings).sha256 == sha256(CONTENT)


OTHER_COMMIT = "b" * 40
ON_HUB = "/datasets/org/data/resolve"
LIST = f"/api/datasets/org/data/revision/{COMMIT}?blobs=true"


@pytest.mark.parametrize(
    "revision", ["main", "6dafb66", "refs/convert/parquet", "g" * 40, COMMIT.upper(), f"{COMMIT}\n"]
)
def test_anything_but_a_full_commit_is_refused_unless_it_is_declared_moving(revision: str) -> None:
    for declare in (hub, github):
        with pytest.raises(ValueError, match="is not a full commit of 40 hex digits"):
            declare("org/data", revision, "f.txt")
    assert hub("org/data", revision, "f.txt", moving=True).location == Hub("org/data", revision, "f.txt", moving=True)


def test_a_host_that_is_not_found_is_asked_once_and_without_a_retry(raw_settings: RawSettings) -> None:
    waits: list[float] = []
    settings = replace(raw_settings, patience=replace(raw_settings.patience, sleep=waits.append))
    first = error_of(locate_file, https("https://nowhere.invalid/one"), settings)
    second = error_of(locate_file, https("https://nowhere.invalid/two"), settings)
    assert (first.repeated, first.unresolved, waits) == (False, "nowhere.invalid", [])
    assert (second.repeated, second.found) == (True, "nowhere.invalid was not found")
    assert [error.missing and error.missing.name for error in (first, second)] == ["demo/one", "demo/two"]


def test_an_archive_that_is_gone_is_asked_for_once_for_all_of_its_members(
    raw_settings: RawSettings, server: FaultyServer
) -> None:
    archive = https(f"{server.url}/files.zip")
    for name, repeated in (("a/test.jsonl", False), ("a/readme.txt", True)):
        assert error_of(locate_file, member(archive, name), raw_settings).repeated == repeated
    assert [request.path for request in server.log] == ["/files.zip"]


@pytest.mark.parametrize("content", [CONTENT, OTHER])
def test_a_copy_is_taken_where_the_publisher_fails_if_it_has_the_digest(
    raw_settings: RawSettings, server: FaultyServer, content: bytes
) -> None:
    server.files[f"/raw/org/copy/{COMMIT}/test.jsonl"] = content
    copies = (GitHub("org/copy", COMMIT, "test.jsonl"),)
    for file in (https(f"{server.url}/gone", name="f.jsonl"), member(https(f"{server.url}/gone.zip"), "a/test.jsonl")):
        pinned = replace(file, copies=copies, **PIN)
        if content == OTHER:
            assert "status 404" in str(error_of(locate_file, pinned, raw_settings))
            continue
        located = locate_file(pinned, raw_settings)
        assert (located.raw.path.read_bytes(), located.verified, located.raw.member) == (CONTENT, True, None)
        assert error_of(locate_file, replace(file, copies=copies), raw_settings).missing, "no digest, no copy"


def test_a_copy_in_another_format_is_never_verified(raw_settings: RawSettings, server: FaultyServer) -> None:
    server.files[f"{ON_HUB}/{COMMIT}/data/rows.parquet"] = OTHER
    copy = Hub("org/data", COMMIT, "data/rows.parquet")
    file = replace(https(f"{server.url}/gone.tskv"), copies=(copy,), **PIN)
    for _ in range(2):  # the second time, its digest is in the lock file
        located = locate_file(file, raw_settings)
        assert (located.name, located.raw.name, located.raw.path.suffix) == (
            "gone.tskv",
            "demo/rows.parquet",
            ".parquet",
        )
        assert (located.sha256, located.verified) == (sha256(OTHER), False)


@pytest.mark.parametrize("digest", [PIN["sha256"], "0" * 64])
def test_a_small_member_of_a_large_archive_is_taken_out_by_range_requests_if_it_has_the_digest(
    raw_settings: RawSettings, server: FaultyServer, digest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.raw.locations.LARGE", 5_000_000)
    noise = b"".join(bytes.fromhex(sha256(b"%d" % number)) for number in range(200_000))
    content = make_zip({"noise": noise, "a/test.jsonl": CONTENT, "more": noise})
    archive = serve(server, content, "x.zip", sha256=sha256(content), bytes=len(content))
    file = member(archive, "a/test.jsonl", sha256=digest, bytes=len(CONTENT))
    if digest == PIN["sha256"]:
        located = locate_file(file, raw_settings)
        assert (located.raw.path.read_bytes(), located.raw.member, located.verified) == (CONTENT, None, True)
        assert locate_file(file, raw_settings).origin == "cache"
        assert sum(request.sent for request in server.log) < 5_000_000
    else:
        assert "is not the pinned file" in str(error_of(locate_file, file, raw_settings))
        assert None in server.ranges(), "then the archive as a whole"


def of_two_files(server: FaultyServer, published_bytes: int) -> Source:
    """A source of two files of a repository that has three."""
    files = {name: hub("org/data", COMMIT, f"{number}.jsonl") for number, name in enumerate("ab")}
    server.files |= {f"{ON_HUB}/{COMMIT}/{file.name}": CONTENT for file in files.values()}
    siblings = [{"rfilename": f"{number}.jsonl", "size": 17_000, "blobId": "x"} for number in range(3)]
    server.files[LIST] = json.dumps({"sha": COMMIT, "gated": False, "siblings": siblings}).encode()
    return replace(source_of(files["a"]), files=files, published_bytes=published_bytes)


def test_a_source_with_other_bytes_than_published_is_refused_before_any_download(
    raw_settings: RawSettings, server: FaultyServer
) -> None:
    source = of_two_files(server, 51_000)
    for key in ("a", "b"):
        with pytest.raises(SourceError, match="its files are not all that is published") as caught:
            locate(source, key, raw_settings)
    assert caught.value.found == "34,000 bytes; not read, though like those that are: 2.jsonl, 1 in all"
    assert caught.value.expected == "51,000 bytes"
    assert [request.path for request in server.log] == [LIST]


@pytest.mark.parametrize("fault", [Fault(), Fault(status=404)])
def test_a_source_whose_bytes_add_up_or_are_not_listed_is_downloaded(
    raw_settings: RawSettings, server: FaultyServer, fault: Fault
) -> None:
    source = of_two_files(server, 34_000)
    server.always[LIST] = fault
    assert [locate(source, key, raw_settings).bytes for key in ("a", "b")] == [17_000, 17_000]
    assert [request.path for request in server.log].count(LIST) == 1


def test_a_moving_file_is_verified_once_the_lock_file_of_the_checkout_has_its_commit(
    raw_settings: RawSettings, server: FaultyServer, tmp_path: Path
) -> None:
    file = hub("org/data", "main", "f.txt", moving=True)
    server.files[f"{ON_HUB}/main/f.txt"] = CONTENT
    server.always[f"{ON_HUB}/main/f.txt"] = Fault(headers={"X-Repo-Commit": OTHER_COMMIT})
    first, second = (locate_file(file, raw_settings) for _ in range(2))
    entry = {"sha256": sha256(CONTENT), "bytes": 17_000, "commit": OTHER_COMMIT}
    assert json.loads((raw_settings.cache / "raw.lock.json").read_text()) == {"demo/f.txt": entry}
    assert json.loads(raw_settings.lock.read_text()) == {}
    assert (first.verified, second.verified, second.origin) == (False, False, "cache")
    record_entry("demo/f.txt", LockEntry(**entry), (raw_settings.lock,))
    accepted = locate_file(file, raw_settings)
    assert accepted.verified
    assert accepted.url == f"https://huggingface.co/datasets/org/data/resolve/{OTHER_COMMIT}/f.txt"
    server.files[f"{ON_HUB}/{OTHER_COMMIT}/f.txt"] = CONTENT
    assert locate_file(file, replace(raw_settings, cache=tmp_path / "new")).verified
    assert server.log[-1].path == f"{ON_HUB}/{OTHER_COMMIT}/f.txt"
