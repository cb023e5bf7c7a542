"""Files that once ended in a traceback, or in minutes or gigabytes, when benchmarks/fuzz_readers.py found them."""

import io
import zipfile
from collections.abc import Callable

import polars as pl

from builders import limits
from builders.reading.archives import read_members
from builders.reading.pickle import pickle_members
from builders.reading.xml import read_xml_values
from builders.spec import Raw
from tests.support.reading import make_zip, read_bytes, source_error


def test_a_zip_whose_names_are_not_utf_8_is_an_error(raw: Callable[..., Raw]) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("д", b"x")  # zipfile marks such names as UTF-8
    broken = file.getvalue().replace("д".encode(), b"\xff\xfe")
    source_error(lambda: read_bytes(raw(broken, member="a")))
    source_error(lambda: list(read_members(raw(broken), ["a"])))


def test_a_zip_with_an_empty_name_is_an_error(raw: Callable[..., Raw]) -> None:
    broken = bytearray(make_zip({"a": b"y"}))
    entry = broken.index(b"PK\x01\x02")
    broken[entry + 28 : entry + 30] = b"\0\0"  # the length of its name
    broken[entry + 46 : entry + 47] = b""
    end = broken.index(b"PK\x05\x06")
    broken[end + 12 : end + 16] = (end - entry).to_bytes(4, "little")
    source_error(lambda: list(read_members(raw(bytes(broken)), ["a"])))


def test_a_short_pickle_that_would_reserve_gigabytes_is_an_error(raw: Callable[..., Raw]) -> None:
    number = limits.MAX_MEMO + 1
    for opcode in (b"r" + number.to_bytes(4, "little"), b"p%d\n" % number):
        error = source_error(lambda data=b"}" + opcode + b".": list(pickle_members(raw(data), {"a": pl.String})))
        assert error.found == "a reference 20,000,001"


def test_an_error_quotes_only_the_beginning_of_a_long_name(raw: Callable[..., Raw]) -> None:
    file = raw(f"<d><r><value name='a'>1</value></r><{'x' * 60_000}/></d>")
    error = source_error(lambda: read_xml_values(file, {"a": pl.String}, records=("r",)))
    assert len(str(error)) < 5_000
