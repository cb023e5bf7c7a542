"""open_raw: the same bytes from every packing, and errors for packed data that are truncated, corrupt or something else."""

import base64
import gzip
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.errors import SourceError
from builders.reading import json_lines, read_json_lines, read_lines
from builders.spec import Raw
from tests.support.reading import AB, PACKINGS, make_tar, make_zip, read_bytes, source_error, zst_frame

UNCHECKED = ("plain", "tar", "zst", "several zst frames")  # no checksum, or frames that end where the file is cut
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


@pytest.mark.parametrize("kind", [kind for kind in PACKINGS if kind not in {*UNCHECKED, "two gz members"}])
def test_a_packed_file_cut_or_corrupted_anywhere_is_refused_or_unharmed(
    kind: str, example_raw: Callable[..., Raw]
) -> None:
    name, member, pack = PACKINGS[kind]
    data = "".join(f"line {number * number} строка\n" for number in range(20)).encode()
    whole = pack(data)
    for end in range(len(whole)):
        error = source_error(lambda end=end: read_bytes(example_raw(whole[:end], name, member)))
        assert str(error.where).endswith(name)
    for position in range(len(whole)):
        flipped = whole[:position] + bytes([whole[position] ^ 0x10]) + whole[position + 1 :]
        try:
            assert read_bytes(example_raw(flipped, name, member)) == data  # the flipped byte is in a date, for example
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
        ("a.tar.gz", "t", gzip.compress(b"no archive" * 100), "begins with b'\\x1f\\x8b"),
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
