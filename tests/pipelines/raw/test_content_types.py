"""The first bytes of a file, in words."""

import gzip

import pytest

from pipelines.raw.pins import HEAD, describe_content
from tests.support.raw_files import make_tar, make_zip


@pytest.mark.parametrize(
    ("head", "content_type"),
    [
        (b"<!DOCTYPE html>", "an HTML page"),
        (b"\xef\xbb\xbf\r\n<HTML lang=ru>", "an HTML page"),
        (b"version https://git-lfs.github.com/spec/v1", "a git-lfs pointer"),
        (make_zip({"a": b"a"}), "a zip archive"),
        (gzip.compress(b"a"), "gzip data"),
        (make_tar({"a": b"a"}, "w"), "a tar archive"),
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
def test_the_first_bytes_of_a_file_show_its_type(head: bytes, content_type: str) -> None:
    assert describe_content(head[:HEAD], 2048) == f"{content_type} of 2 KB"
