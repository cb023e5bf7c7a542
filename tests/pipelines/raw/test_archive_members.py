"""Raw files inside archives: found, verified, and what damaged archives do."""

import io
import tarfile
import zipfile

import pytest

from builders.errors import SourceError
from builders.raw_files import by_hand, https, member
from pipelines.raw.pins import read_lock_file
from pipelines.raw.settings import RawSettings
from tests.support.faulty_server import FaultyServer
from tests.support.raw_files import (
    ARCHIVES,
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
    write_local,
)


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_member_is_read_in_its_archive_and_has_a_digest_of_its_own(
    raw_settings: RawSettings, server: FaultyServer, name: str
) -> None:
    archive = serve(server, ARCHIVES[name], name, sha256=sha256(ARCHIVES[name]))
    file = member(archive, "a/test.jsonl", name="test.jsonl", **PIN)
    located = locate_file(file, raw_settings)
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
    archive = serve(server, other, "files.zip", sha256=sha256(ARCHIVES["files.zip"]))
    file = member(archive, "a/test.jsonl", **PIN)
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


@pytest.mark.parametrize("name", ARCHIVES)
def test_the_error_for_a_missing_member_lists_similar_names(raw_settings: RawSettings, name: str) -> None:
    path = write_local(raw_settings, ARCHIVES[name], name)
    with pytest.raises(SourceError, match="cannot be read") as caught:
        locate_file(member(by_hand(name, "ask"), "a/tests.jsonl"), raw_settings)
    assert caught.value.where == str(path)
    assert str(caught.value.found).startswith("2 other files: 'a/test.jsonl'")
    assert caught.value.expected == "a file 'a/tests.jsonl' in the archive"


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
    with pytest.raises(SourceError, match="cannot be read"):
        locate_file(member(by_hand(name, "ask"), "a/" if name == "files.zip" else "a", name="a"), raw_settings)


@pytest.mark.parametrize("name", ARCHIVES)
def test_a_truncated_archive_is_an_error(raw_settings: RawSettings, name: str) -> None:
    write_local(raw_settings, ARCHIVES[name][: len(ARCHIVES[name]) // 2], name)
    assert "cannot be read" in str(error_of(locate_file, member(by_hand(name, "ask"), "a/test.jsonl"), raw_settings))


@pytest.mark.parametrize(
    ("signature", "offset", "words"),
    [(b"a/test.jsonl", 20, "cannot be read"), (b"PK\x01\x02", 8, "is encrypted")],
    ids=["flipped bit", "encrypted"],
)
def test_a_damaged_or_encrypted_member_is_an_error(
    raw_settings: RawSettings, signature: bytes, offset: int, words: str
) -> None:
    data = bytearray(ARCHIVES["files.zip"])
    data[(data.rindex if words == "is encrypted" else data.index)(signature) + offset] ^= 1
    write_local(raw_settings, bytes(data), "files.zip")
    with pytest.raises(SourceError, match="cannot be read"):
        locate_file(member(by_hand("files.zip", "ask"), "a/test.jsonl"), raw_settings)


def test_a_file_that_is_not_an_archive_is_an_error_and_leaves_the_cache(
    raw_settings: RawSettings, server: FaultyServer
) -> None:
    archive = serve(server, b'{"error": "quota"}', "files.zip")
    with pytest.raises(SourceError, match=r'begins with b.\{"error": "quota'):
        locate_file(member(archive, "a/test.jsonl"), raw_settings)
    assert cached_names(raw_settings) == set()
    assert read_lock_file(raw_settings.lock) == {}


def test_an_archive_without_a_known_digest_is_recorded_once_its_member_is_verified(
    raw_settings: RawSettings, server: FaultyServer
) -> None:
    archive = serve(server, ARCHIVES["files.zip"], "files.zip")
    with pytest.raises(SourceError, match="is not the pinned file"):
        locate_file(member(archive, "a/test.jsonl", sha256=sha256(OTHER)), raw_settings)
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
