"""What the tests of the readers share: raw files with given bytes, archives, and the checks of an error's parts."""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from builders.errors import SourceError
from builders.reading.archives import open_raw
from builders.spec import Raw

BOM = b"\xef\xbb\xbf"
# All of Unicode except surrogates, which UTF-8 cannot encode, with many characters that careless readers take for line ends.
TEXT = st.text() | st.text(alphabet=st.sampled_from('\x00\r\n\t ,"\x0b\x85\xa0\u2028\ufeffaяß😀<d>&\\'))

AB: dict[str, Any] = {"a": pl.String, "b": pl.Int64}
QUESTION = pl.Struct({"stem": pl.String, "choices": pl.List(pl.Struct({"text": pl.String, "label": pl.String}))})
NESTED: dict[str, Any] = {
    "id": pl.String,
    "question": QUESTION,
    "score": pl.Float64,
    "flags": pl.Struct({"hate,speech": pl.Boolean}),
    "uids": pl.List(pl.Int64),
}
NESTED_ROW: dict[str, Any] = {
    "id": "x",
    "question": {"stem": "s", "choices": [{"text": "t", "label": "A"}, {"label": "B", "text": "u"}]},
    "score": 1.5,
    "flags": {"hate,speech": True},
    "uids": [],
}


def write_raw(
    folder: Path, data: bytes | str, name: str = "source/file", member: str | None = None, limit: int | None = None
) -> Raw:
    """A raw file with these bytes: `folder` and the base name of `name` are its path."""
    path = folder / Path(name).name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return Raw(name, path, member, limit)


def source_error(read: Callable[[], Any]) -> SourceError:
    """The SourceError that a call raises, which must have all its parts."""
    with pytest.raises(SourceError) as caught:
        read()
    error = caught.value
    assert error.where
    assert error.found
    assert error.expected
    assert error.todo
    return error


def read_bytes(file: Raw) -> bytes:
    with open_raw(file) as stream:
        return stream.read()


def make_zip(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def write_zip(path: Path, members: dict[str, str | bytes]) -> Raw:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return Raw(f"source/{path.name}", path)


def make_tar(members: dict[str, bytes], mode: str = "w") -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


def zst_frame(data: bytes) -> bytes:
    """Data as one zstd frame."""
    return bytes(pa.Codec("zstd").compress(data))


# Ways to store a file: its name, the member that holds the data, and the bytes on disk for given data.
PACKINGS: dict[str, tuple[str, str | None, Callable[[bytes], bytes]]] = {
    "plain": ("t.txt", None, lambda data: data),
    "gz": ("t.txt.gz", None, gzip.compress),
    "two gz members": ("t.gz", None, lambda data: gzip.compress(data[:5]) + gzip.compress(data[5:])),
    "zst": ("t.txt.zst", None, zst_frame),
    "several zst frames": ("t.zst", None, lambda data: b"".join(map(zst_frame, (b"", data[:5], b"", data[5:], b"")))),
    "zip": ("t.zip", "in/t.txt", lambda data: make_zip({"in/": b"", "other": b"x", "in/t.txt": data})),
    "gz in zip": ("t.zip", "t.txt.gz", lambda data: make_zip({"t.txt.gz": gzip.compress(data)})),
    "zst in zip": ("t.zip", "t.txt.zst", lambda data: make_zip({"t.txt.zst": zst_frame(data)})),
    "tar": ("t.tar", "in/t.txt", lambda data: make_tar({"other": b"x", "in/t.txt": data, "z": b"z"})),
    "tar.gz": ("t.tar.gz", "1.1/t.txt", lambda data: make_tar({"a": b"x", "./1.1/t.txt": data, "z": b"z"}, "w:gz")),
    "gz in tar.gz": ("t.tgz", "t.gz", lambda data: make_tar({"t.gz": gzip.compress(data)}, "w:gz")),
}
