"""Taking some files out of a tar: which ones, in one pass, and which archives are refused."""

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from isal import igzip

from builders.reading import archives, read_lines
from builders.reading.archives import take_members
from builders.spec import Raw
from tests.support.reading import make_tar, source_error

TXT = re.compile(r"(?:.*/)?(?P<word>[a-z]+)\.txt")
MEMBERS = {"in/b.txt": b"1\n2\n", "in/b.bin": b"x" * 5_000, "./a.txt": b"y" * 512, "c.txt.gz": b"z", "c.txt": b""}


@pytest.mark.parametrize(("name", "mode"), [("t.tar", "w"), ("t.tar.gz", "w:gz")])
def test_files_that_match_are_taken_in_the_order_of_the_archive(
    name: str, mode: str, raw: Callable[..., Raw], tmp_path: Path
) -> None:
    taken = take_members(raw(make_tar(MEMBERS, mode), name), TXT, tmp_path / "folder")
    assert [(one.match["word"], one.raw.path.read_bytes()) for one in taken] == [
        ("b", b"1\n2\n"),
        ("a", b"y" * 512),
        ("c", b""),
    ]


def test_a_limit_is_that_of_each_file(raw: Callable[..., Raw], tmp_path: Path) -> None:
    taken = take_members(raw(make_tar(MEMBERS, "w:gz"), "t.tar.gz", limit=1), TXT, tmp_path / "folder")
    assert read_lines(taken[0].raw) == ["1"]
    assert taken[1].raw.limit == 1


def test_a_tar_gz_is_never_read_twice(raw: Callable[..., Raw], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class ForwardOnly(igzip.IGzipFile):
        def seek(self, offset: int, whence: int = 0) -> int:
            if whence == 0:  # 1 is how `tell` asks
                assert offset >= self.tell() or (offset == 0 and self.tell() <= 512), "the archive is read again"
            return int(super().seek(offset, whence))

    monkeypatch.setattr(archives, "igzip", SimpleNamespace(IGzipFile=ForwardOnly))
    sizes = {"a": 511, "b": 512, "c": 513, "d": 70_000, "e": 1_024}
    members = {f"{word}.{kind}": b"x" * size for word, size in sizes.items() for kind in ("txt", "bin")}
    taken = take_members(raw(make_tar(members, "w:gz"), "t.tar.gz"), TXT, tmp_path / "folder")
    assert [one.raw.path.stat().st_size for one in taken] == list(sizes.values())


def test_names_of_an_archive_are_no_paths(raw: Callable[..., Raw], tmp_path: Path) -> None:
    data = make_tar({"../../evil.txt": b"1", "/tmp/evil.txt": b"2"}, "w:gz")
    taken = take_members(raw(data, "t.tar.gz"), TXT, tmp_path / "folder")
    assert [one.raw.path for one in taken] == [tmp_path / "folder" / "000000", tmp_path / "folder" / "000001"]


def test_an_archive_without_a_wanted_file_is_refused_with_some_of_its_names(
    raw: Callable[..., Raw], tmp_path: Path
) -> None:
    members = {f"{number}.bin": b"" for number in range(7)}
    error = source_error(lambda: take_members(raw(make_tar(members, "w:gz"), "t.tar.gz"), TXT, tmp_path / "folder"))
    assert error.found == "'0.bin', '1.bin', '2.bin', '3.bin', '4.bin', ..."
    assert TXT.pattern in str(error.expected)


def test_a_wanted_file_that_is_there_twice_is_refused(raw: Callable[..., Raw], tmp_path: Path) -> None:
    data = make_tar({"a.txt": b"1", "./a.txt": b"2"}, "w:gz")
    error = source_error(lambda: take_members(raw(data, "t.tar.gz"), TXT, tmp_path / "folder"))
    assert "a.txt" in str(error.found)


@pytest.mark.parametrize("keep", [0.2, 0.6, 0.99])
def test_a_truncated_archive_is_refused(keep: float, raw: Callable[..., Raw], tmp_path: Path) -> None:
    data = make_tar({f"{letter}.txt": bytes(range(256)) * 40 for letter in "abcdef"}, "w:gz")
    error = source_error(lambda: take_members(raw(data[: int(keep * len(data))], "t.tar.gz"), TXT, tmp_path / "folder"))
    assert "truncated" in str(error.found)


def test_a_missing_file_and_one_that_is_no_tar_are_refused(raw: Callable[..., Raw], tmp_path: Path) -> None:
    file = raw(b"PK not a tar" * 100, "t.tar.gz")
    assert "tar" in str(source_error(lambda: take_members(file, TXT, tmp_path / "one")).expected)
    file.path.unlink()
    assert "No such file" in str(source_error(lambda: take_members(file, TXT, tmp_path / "two")).found)
