"""open_raw: the same bytes from every packing, and errors for packed data that are truncated, corrupt or something else.
read_members: many files of one zip archive. Taking some files out of a tar: which ones, in one pass, and which archives
are refused.
"""

import base64
import gzip
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from isal import igzip

from builders.errors import SourceError
from builders.reading import archives
from builders.reading.archives import read_members, take_members
from builders.reading.json import json_lines, read_json_lines
from builders.reading.lines import read_lines
from builders.spec import Raw
from tests.support.reading import AB, PACKINGS, make_tar, make_zip, read_bytes, source_error, write_zip, zst_frame

# No checksum, or frames or members that end where the file is cut.
UNCHECKED = ("plain", "tar", "zst", "several zst frames", "two gz members")
# The lines of COUNTED by `zstd -19`, which adds a checksum; pyarrow's codec adds none.
COUNTED = "".join(f"line {number * number} строка\n" for number in range(20)).encode()
ZST_WITH_CHECKSUM = base64.b85decode(
    "D77#B1Zc$q0J1|36wv2Y;R9IEY7JF5y0es0N^FT@1m{%D9*c{}{pPEp_=j>U=OVxLU^(WRLr=Z*f(Yak6BMWrK(_mDpd%Lp5E|hdF*+PvvBUnTr-1@;Ub?$21zEj3F8"
)


@pytest.mark.parametrize("kind", PACKINGS)
def test_a_file_reads_the_same_from_every_packing(kind: str, raw: Callable[..., Raw]) -> None:
    name, member, pack = PACKINGS[kind]
    data = "строка\r\nline\n".encode() * 100_000
    assert read_bytes(raw(pack(data), name, member)) == data


@given(data=st.binary(max_size=2000), kind=st.sampled_from(sorted(PACKINGS)))
def test_any_bytes_survive_any_packing(data: bytes, kind: str, example_raw: Callable[..., Raw]) -> None:
    name, member, pack = PACKINGS[kind]
    assert read_bytes(example_raw(pack(data), name, member)) == data


@pytest.mark.parametrize(
    ("name", "member", "whole"),
    [
        *((name, member, pack(COUNTED)) for kind, (name, member, pack) in PACKINGS.items() if kind not in UNCHECKED),
        ("t.zst", None, ZST_WITH_CHECKSUM),
    ],
    ids=[*(kind for kind in PACKINGS if kind not in UNCHECKED), "zst with a checksum"],
)
def test_a_packed_file_cut_or_corrupted_anywhere_is_refused_or_unharmed(
    name: str, member: str | None, whole: bytes, example_raw: Callable[..., Raw]
) -> None:
    for end in range(len(whole)):
        error = source_error(lambda end=end: read_bytes(example_raw(whole[:end], name, member)))
        assert str(error.where).endswith(name)
    for position in range(len(whole)):
        flipped = whole[:position] + bytes([whole[position] ^ 0x10]) + whole[position + 1 :]
        try:
            assert (
                read_bytes(example_raw(flipped, name, member)) == COUNTED
            )  # the flipped byte is in a date, for example
        except SourceError as error:
            assert str(error.where).endswith(name)  # noqa: PT017 - either outcome is right


def test_a_zst_cut_or_corrupted_anywhere_is_refused_or_unharmed(example_raw: Callable[..., Raw]) -> None:
    for end in range(len(ZST_WITH_CHECKSUM)):
        error = source_error(lambda end=end: read_bytes(example_raw(ZST_WITH_CHECKSUM[:end], "t.zst")))
        assert (
            "an empty file" in str(error.found) or "truncated" in str(error.found) or "begins with" in str(error.found)
        )
    for position in range(len(ZST_WITH_CHECKSUM)):
        flipped = bytearray(ZST_WITH_CHECKSUM)
        flipped[position] ^= 0x10
        try:
            assert read_bytes(example_raw(bytes(flipped), "t.zst")) == COUNTED
        except SourceError as error:
            assert str(error.where).endswith("t.zst")  # noqa: PT017 - either outcome is right


def test_frames_of_a_zst_that_hold_no_data_are_passed_over(raw: Callable[..., Raw]) -> None:
    skippable = b"\x5a\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"notes"
    assert read_bytes(raw(skippable + zst_frame(b"one ") + skippable + zst_frame(b"two"), "t.zst")) == b"one two"
    assert read_bytes(raw(zst_frame(b""), "t.zst")) == b""


def test_a_zst_that_goes_on_with_something_else_is_refused(raw: Callable[..., Raw]) -> None:
    error = source_error(lambda: read_bytes(raw(zst_frame(b"one\n") + b'{"a": 1}\n', "t.zst")))
    assert "corrupt data" in str(error.found)


def test_json_lines_in_frames_that_divide_a_line_are_read_and_split_at_line_feeds_alone(
    raw: Callable[..., Raw],
) -> None:
    lines = '{"a": "x\u2028y\x85z", "b": 1}\n{"a": "ж", "b": 2}\n'.encode()
    data = b"".join(zst_frame(lines[start : start + 7]) for start in range(0, len(lines), 7))
    assert read_json_lines(raw(data, "rows.jsonl.zst"), AB).rows() == [("x\u2028y\x85z", 1), ("ж", 2)]


def test_a_truncated_zst_error_names_the_file_and_the_lines_that_were_read(raw: Callable[..., Raw]) -> None:
    lines = b"".join(b'{"a": "%d", "b": %d}\n' % (number * number, number) for number in range(400_000))
    data = zst_frame(lines[:5_000_000]) + zst_frame(lines[5_000_000:])
    error = source_error(lambda: list(json_lines(raw(data[:-2000], "source/rows.jsonl.zst"), AB)))
    assert str(error.where).endswith("rows.jsonl.zst")
    read = re.search(r"truncated data, after ([\d,]+) bytes and ([\d,]+) lines", str(error.found))
    assert read
    count = int(read[1].replace(",", ""))
    assert lines[:count].count(b"\n") == int(read[2].replace(",", ""))
    assert count > 5_000_000


def test_a_truncated_gz_error_says_how_much_was_read_and_to_fetch_the_file_again(raw: Callable[..., Raw]) -> None:
    lines = b"".join(b'{"a": "%d", "b": %d}\n' % (number * number, number) for number in range(400_000))
    error = source_error(lambda: read_json_lines(raw(gzip.compress(lines)[:-2000], "source/rows.jsonl.gz"), AB))
    assert str(error.where).endswith("rows.jsonl.gz")
    assert "truncated data, after 1" in str(error.found)
    assert "fetch it again" in str(error.todo)


def test_errors_after_the_limit_may_go_unnoticed(raw: Callable[..., Raw]) -> None:
    file = raw('{"a": "x", "b": 1}\nbroken', limit=1)
    assert read_json_lines(file, AB).rows() == [("x", 1)]


@pytest.mark.parametrize(
    ("name", "member", "data", "found"),
    [
        ("a.gz", None, b"<!DOCTYPE html>", "begins with b'<!DOCTYPE html>'"),
        ("a.gz", None, b"", "an empty file"),
        ("a.zst", None, b"<!DOCTYPE html>", "begins with b'<!DOCTYPE html>'"),
        ("a.zst", None, b"", "an empty file"),
        ("a.zip", "t", b"<html>404</html>", "begins with b'<html>404"),
        ("a.tar.gz", "t", gzip.compress(b"no archive" * 100, mtime=0), "begins with b'\\x1f\\x8b"),
        ("a.zip", "t.gz", make_zip({"t.gz": b"plain"}), "begins with b'plain'"),
    ],
    ids=[
        "a page",
        "an empty file",
        "a page for zst",
        "an empty zst",
        "a page for a zip",
        "gzip without a tar",
        "a member that is not gzip",
    ],
)
def test_a_file_that_is_not_packed_as_its_name_says_is_refused(
    name: str, member: str | None, data: bytes, found: str, raw: Callable[..., Raw]
) -> None:
    assert found in str(source_error(lambda: read_bytes(raw(data, name, member))).found)


@pytest.mark.parametrize("pack", [make_zip, make_tar, lambda members: make_tar(members, "w:gz")])
def test_the_error_for_a_missing_member_lists_the_nearest_names(
    pack: Callable[[dict[str, bytes]], bytes], raw: Callable[..., Raw]
) -> None:
    members = {"vitaminc_real/test.jsonl": b"", "vitaminc_real/LICENSE": b"", "q": b""}
    error = source_error(lambda: read_bytes(raw(pack(members), "v.zip", "vitaminc_real/tests.jsonl")))
    assert str(error.found) == "3 other files: 'vitaminc_real/test.jsonl', 'vitaminc_real/LICENSE', ..."
    assert "'vitaminc_real/tests.jsonl'" in str(error.expected)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    error = source_error(lambda: read_lines(Raw("source/a", tmp_path / "a")))
    assert str(error.where).endswith("/a")
    assert error.found == "No such file or directory"
    assert "Is a directory" in str(source_error(lambda: read_lines(Raw("source/a", tmp_path))).found)


def test_a_zip_member_with_a_password_is_refused(raw: Callable[..., Raw]) -> None:
    data = bytearray(make_zip({"t": b"text"}))
    data[6] |= 1  # the encryption flag in the member's own header
    data[data.index(b"PK\x01\x02") + 8] |= 1  # and in the central directory
    assert "password" in str(source_error(lambda: read_bytes(raw(bytes(data), "a.zip", "t"))).found)


def test_requested_files_come_from_any_folder_and_nothing_is_extracted(tmp_path: Path) -> None:
    files = {
        "a/1.json": "one",
        "../../2.json": "two",
        "/etc/3.json": "three",
        "4.json": "four",
        "a/": "",
        "1.json.txt": "no",
    }
    raw = write_zip(tmp_path / "articles.zip", files)
    members = list(read_members(raw, ["1.json", "2.json", "3.json", "5.json"]))
    assert members == [("1.json", b"one"), ("2.json", b"two"), ("3.json", b"three")]
    assert [path.name for path in tmp_path.iterdir()] == ["articles.zip"]


def test_two_files_with_the_same_name_are_refused(tmp_path: Path) -> None:
    raw = write_zip(tmp_path / "articles.zip", {"a/1.json": "one", "b/1.json": "other"})
    with pytest.raises(SourceError, match="two files with the same name") as caught:
        list(read_members(raw, ["1.json"]))
    assert "a/1.json and b/1.json" in str(caught.value)


@pytest.mark.parametrize("damage", ["truncated", "not a zip", "missing", "flipped"])
def test_a_corrupt_archive_is_an_error(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "articles.zip"
    raw = write_zip(path, {"1.json": "text " * 500})
    data = path.read_bytes()
    path.write_bytes(
        {"truncated": data[:-30], "not a zip": b"{}", "flipped": data.replace(b"text", b"tixt", 1)}.get(damage, b"")
    )
    if damage == "missing":
        path.unlink()
    with pytest.raises(SourceError, match=r"articles\.zip cannot be read"):
        list(read_members(raw, ["1.json"]))


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
