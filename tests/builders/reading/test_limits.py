"""Files written to exhaust the reader: every limit of builders.limits is fed, and is an error."""

import gzip
import io
import tarfile
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from builders import limits
from builders.errors import SourceError
from builders.reading.archives import open_raw, read_members
from builders.reading.csv import read_csv
from builders.reading.json import json_members, read_json_array, read_json_lines
from builders.reading.lines import read_documents, read_lines
from builders.reading.tskv import read_tskv
from builders.reading.xml import read_xml_values
from builders.spec import Raw
from tests.support.reading import AB, make_tar, make_zip, read_bytes, source_error, zst_frame

TEXT = {"a": pl.String}
LINE_READERS: dict[str, Callable[[Raw], Any]] = {
    "csv": lambda file: read_csv(file, TEXT),
    "documents": read_documents,
    "json lines": lambda file: read_json_lines(file, TEXT),
    "lines": read_lines,
    "tskv": lambda file: read_tskv(file, TEXT),
}


def test_the_limits_that_are_lowered_here_are_far_above_what_real_files_have() -> None:
    assert limits.MAX_RECORD == limits.FREE_EXPANSION == 67_108_864  # the longest line known has 19 KB
    assert limits.MAX_XML_ELEMENTS == 1_000_000  # the most known are 52,000
    assert limits.MAX_EXPANSION == 200  # text comes to 3 to 20 bytes for each compressed byte


@pytest.mark.parametrize("reader", LINE_READERS)
def test_a_line_that_never_ends_is_an_error_with_its_number(
    reader: str, raw: Callable[..., Raw], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_RECORD", 5_000_000)
    head = {"csv": "a\n", "documents": "<d>\n", "json lines": '{"a": "b"}\n', "lines": "x\n", "tskv": "a=b\n"}[reader]
    file = raw(gzip.compress(head.encode() + bytes(20_000_000)), name="source/file.gz")
    error = source_error(lambda: LINE_READERS[reader](file))
    assert "a line is too large" in str(error)
    assert str(error.where).endswith("line 2")
    assert error.found == "more than 5,000,000 bytes"


def test_a_line_at_the_limit_is_read(raw: Callable[..., Raw], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_RECORD", 100)
    assert read_lines(raw("x" * 99 + "\ny")) == ["x" * 99, "y"]
    assert "a line is too large" in str(source_error(lambda: read_lines(raw("x" * 100 + "\ny"))))


@pytest.mark.parametrize("text", ['a\n"' + "x\n" * 200, 'a\n"x\n"' + ',"x\n"' * 200], ids=["one field", "many fields"])
def test_a_row_of_csv_that_never_ends_is_an_error_with_its_first_line(
    text: str, raw: Callable[..., Raw], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_RECORD", 100)
    error = source_error(lambda: read_csv(raw(text), TEXT))
    assert "a row is too large" in str(error)
    assert str(error.where).endswith("line 2")


def test_an_element_of_json_that_never_ends_is_an_error_with_its_number(
    raw: Callable[..., Raw], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_RECORD", 5_000_000)
    array = gzip.compress(b'[{"a": "b"}, {"a": "' + b"x" * 30_000_000)
    error = source_error(lambda: read_json_array(raw(array, name="source/file.gz"), TEXT))
    assert str(error.where).endswith("record 2")
    members = gzip.compress(b'{"1": {"a": "b"}, "2": {"a": "' + b"x" * 30_000_000)
    error = source_error(lambda: list(json_members(raw(members, name="source/file.gz"), TEXT, key="k")))
    assert str(error.where).endswith("record 2")


@pytest.mark.parametrize(
    ("lowered", "text", "words"),
    [
        ({"MAX_XML": 100}, "<d>" + " " * 100 + "</d>", "the XML is too large"),
        ({}, "<a>" * 16_000_000, "elements nested too deeply\n.*\n.*more than 100 levels"),
        ({"MAX_XML_ELEMENTS": 10_000}, "<d>" + "<a/>" * 10_000 + "</d>", "more than 10,000 elements"),
    ],
    ids=["too large", "opened without end", "too many"],
)
def test_xml_that_exceeds_a_limit_is_an_error(
    lowered: dict[str, int], text: str, words: str, raw: Callable[..., Raw], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in lowered.items():
        monkeypatch.setattr(limits, name, value)
    with pytest.raises(SourceError, match=words):
        read_xml_values(raw(text), AB, records=("r",))


ZEROS = bytes(10_000_000)


@pytest.mark.parametrize(
    ("name", "member", "data"),
    [
        ("file.gz", None, gzip.compress(ZEROS, mtime=0)),
        ("file.zst", None, zst_frame(ZEROS)),
        ("file.zip", "a", make_zip({"a": ZEROS})),
        ("file.tar.gz", "a", make_tar({"a": ZEROS}, "w:gz")),
        ("file.tar.gz", "b", make_tar({"a": ZEROS, "b": b"x"}, "w:gz")),
        ("file.zip", "a.gz", make_zip({"a.gz": gzip.compress(ZEROS, mtime=0)})),
    ],
    ids=["gz", "zst", "zip", "tar.gz", "tar.gz, another member", "gz in zip"],
)
def test_data_that_expand_without_measure_are_an_error(
    name: str, member: str | None, data: bytes, raw: Callable[..., Raw], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FREE_EXPANSION", 6_000_000)
    assert len(data) < 20_000

    def read() -> None:
        with open_raw(raw(data, name=name, member=member)) as file:
            while file.read(1 << 20):
                pass

    assert "expand without measure" in str(source_error(read))


def test_an_archive_of_too_many_files_is_an_error(raw: Callable[..., Raw], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_ARCHIVE_MEMBERS", 10)
    members = {f"{number}": b"x" for number in range(11)}
    for data in (make_zip(members), make_tar(members), make_tar(members, "w:gz")):
        assert "more than 10 files" in str(source_error(lambda data=data: read_bytes(raw(data, member="10"))))
    error = source_error(lambda: list(read_members(raw(make_zip(members)), ["10"])))
    assert "more than 10 files" in str(error)


def test_a_member_that_is_read_whole_is_bounded(raw: Callable[..., Raw], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_MEMBER", 10)
    error = source_error(lambda: list(read_members(raw(make_zip({"in/a": bytes(11)})), ["a"])))
    assert "a file in the archive is too large" in str(error)
    assert str(error.where).endswith("in/a")


def tar_with_header(size: bytes, kind: bytes = tarfile.REGTYPE, data: bytes = b"") -> bytes:
    """A tar with one header whose size is given as it is in the file, in 12 bytes."""
    info = tarfile.TarInfo("a")
    info.type = kind
    header = bytearray(info.tobuf())
    header[124:136] = size
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + data + bytes(1024)


def test_a_tar_header_with_a_negative_size_is_an_error(raw: Callable[..., Raw]) -> None:
    negative = tar_with_header(b"\xff" * 12)  # base 256, two's complement: -1
    for member in ("a", "b"):
        error = source_error(lambda member=member: read_bytes(raw(negative, name="f.tar", member=member)))
        assert "has the size -1" in str(error)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME], ids=["pax", "long name"])
def test_a_tar_header_that_would_be_read_into_memory_is_bounded(kind: bytes, raw: Callable[..., Raw]) -> None:
    packed = gzip.compress(tar_with_header(b"%011o\0" % 300_000_000, kind))
    error = source_error(lambda: read_bytes(raw(packed, name="f.tar.gz", member="b")))
    assert "a header of 300,0" in str(error)


def test_a_zip_with_two_files_of_one_name_is_an_error(raw: Callable[..., Raw]) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        archive.writestr("a", b"first")
        archive.writestr("a", b"second")
        archive.writestr("b", b"other")
    assert "several files 'a' in the archive" in str(source_error(lambda: read_bytes(raw(file.getvalue(), member="a"))))
    assert read_bytes(raw(file.getvalue(), member="b")) == b"other"
    error = source_error(lambda: list(read_members(raw(file.getvalue()), ["a"])))
    assert "two files with the same name" in str(error)
