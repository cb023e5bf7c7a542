"""The beginning of a raw file by range requests, cut to a file of the same format that its reader takes whole.

The first megabyte is read; of a zip archive also the end, where its directory is, and the first megabyte of the member; of a
Parquet file the footer and the first row group, within BUDGET. Of other archives the names of members are seen. What is read lies
at its place in a file with holes.
"""

import csv
import io
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders import limits
from builders.errors import SourceError
from builders.raw_files import Member, RawFile
from builders.reading.archives import READ_ERRORS
from builders.reading.json import read_elements
from builders.spec import Raw
from pipelines.raw.download import DownloadRequest, Patience, open_client, read_range

MEGABYTE = 1 << 20
BUDGET = 16 << 20  # bytes of a row group
REST = 1 << 16  # bytes behind an element that cannot be read: with more, it is not the cut that is wrong
Copy = Callable[[int, int], int | None]


@dataclass(frozen=True)
class Head:
    """What is seen of a file. records: of the whole file, by its header. keys: types and nulls of its first records.

    failure: why its records cannot be told.
    """

    is_cut: bool
    records: int | None = None
    keys: dict[str, str] = field(default_factory=dict)
    failure: str = ""


def write_heads(
    request: DownloadRequest, files: list[RawFile], folder: Path, records: int, patience: Patience
) -> tuple[dict[str, Head], int, int]:
    """Write the first records of a file, or of the members that are needed of it, in their format and by their names.

    Returns what is seen of each, the size of the file as the server says it, and how many bytes were read.

    Raises SourceError where the server sends nothing.
    """
    stored, read = folder / "stored", 0
    folder.mkdir(parents=True, exist_ok=True)
    with open_client(request, patience) as client, stored.open("w+b") as store:

        def copy(start: int, stop: int) -> int | None:
            nonlocal read
            data, size = read_range(client, request, start, stop, patience)
            store.seek(start)
            store.write(data)
            store.flush()
            read += len(data)
            return size

        size = copy(0, MEGABYTE) or read
        heads = {file.name: _write_head(stored, size, file, records, copy) for file in files}
    return heads, size, read


def _write_head(stored: Path, size: int, file: RawFile, records: int, copy: Copy) -> Head:
    path, is_cut = stored.parent / file.name, size > MEGABYTE
    path.parent.mkdir(parents=True, exist_ok=True)
    archive = file.location.archive.name if isinstance(file.location, Member) else file.name
    try:
        if archive.endswith((".zip", ".parquet")) and is_cut:
            copy(max(MEGABYTE, size - MEGABYTE), size)
        if file.name.endswith(".parquet"):
            return _write_rows(stored, path, records, copy)
        with stored.open("rb") as stream:
            data = stream.read(MEGABYTE)
        if isinstance(file.location, Member):
            data, is_cut = _read_member(stored, data, file.location, copy)
        data, is_cut = _decompress(file.name, data, is_cut)
        data = _cut(data, file.name, path, records) if is_cut else data
        codec = {"gz": "gzip", "zst": "zstd"}.get(file.name.rpartition(".")[2])
        path.write_bytes(pa.compress(data, codec, asbytes=True) if codec else data)
        return Head(is_cut, keys=_describe_json(data) if ".json" in file.name else {})
    except (*READ_ERRORS, pa.ArrowException, SourceError) as error:
        return Head(is_cut, failure=f"{type(error).__name__}: {error}"[:500])


def _write_rows(stored: Path, path: Path, records: int, copy: Copy) -> Head:
    """The first rows of a Parquet file, with its schema."""
    with pq.ParquetFile(stored) as file:
        group = file.metadata.row_group(0)
        columns = [group.column(number) for number in range(group.num_columns)]
        start = min(column.dictionary_page_offset or column.data_page_offset for column in columns)
        end = start + sum(column.total_compressed_size for column in columns)
        if end - start > BUDGET:
            return Head(
                is_cut=True, records=file.metadata.num_rows, failure=f"its first row group has {end - start:,} bytes"
            )
        if end > MEGABYTE:
            copy(start, end)
        table = file.read_row_group(0).slice(0, records)
        pq.write_table(table, path)
        rows = file.metadata.num_rows
        return Head(table.num_rows < rows, rows, _describe(pl.DataFrame(table)))


def _read_member(stored: Path, head: bytes, location: Member, copy: Copy) -> tuple[bytes, bool]:
    """The first megabyte of a member of an archive, and whether that is not all of it."""
    names: list[str] = []
    if location.archive.name.endswith(".zip"):
        with zipfile.ZipFile(stored) as archive:
            names = archive.namelist()
            if location.path in names:
                info = archive.getinfo(location.path)
                copy(info.header_offset, info.header_offset + min(info.compress_size, MEGABYTE) + REST)
                with archive.open(info) as member:
                    data = member.read(MEGABYTE)
                return data, len(data) < info.file_size
    else:
        unpacked = _decompress(location.archive.name, head, is_cut=True)[0]
        with tarfile.open(fileobj=io.BytesIO(unpacked + bytes(1024)), mode="r:") as members:
            for each in members:
                names.append(each.name)
                if each.name == location.path:
                    data = unpacked[each.offset_data : each.offset_data + min(each.size, MEGABYTE)]
                    return data, len(data) < each.size
    raise LookupError(f"{location.path} is not among the members that were seen: {', '.join(names[:20])}")


def _decompress(name: str, data: bytes, is_cut: bool) -> tuple[bytes, bool]:
    """The data of the beginning of a file that may be compressed, and whether they are not all."""
    if name.endswith("gz"):
        inflate = zlib.decompressobj(wbits=31)
        return inflate.decompress(data, 64 * MEGABYTE), is_cut or not inflate.eof
    if not name.endswith(".zst"):
        return data, is_cut
    pieces, stream = list[bytes](), pa.CompressedInputStream(pa.BufferReader(data), "zstd")
    try:
        while piece := stream.read(REST):
            pieces.append(piece)
    except OSError:  # the data end within a frame
        is_cut = True
    return b"".join(pieces), is_cut


def _cut(data: bytes, name: str, path: Path, records: int) -> bytes:
    """The complete records of the beginning of a file. Raises SourceError for an element that is malformed before the cut."""
    if ".json" in name and data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        path.write_bytes(data)
        elements: list[bytes] = []
        try:
            elements += (text for _, text in islice(read_elements(Raw(name, path), "[]", REST), records))
        except SourceError:
            if len(data) - sum(map(len, elements)) > REST + len(elements):
                raise
        return b"[" + b",".join(elements) + b"]"
    lines = data.splitlines(keepends=True)[:-1]
    if ".csv" in name:  # a field in quotes may go on over several lines
        csv.field_size_limit(limits.MAX_RECORD)
        reader = csv.reader(line.decode("utf-8", "replace") for line in lines)
        lines = lines[: [0, *(reader.line_num for _ in islice(reader, records + 1))][-2]]
    return b"".join(lines)


def _describe(frame: pl.DataFrame) -> dict[str, str]:
    """The type of each column, and how many nulls it has: {"text": "String, 2 null"}."""
    return {name: f"{dtype}, {frame[name].null_count():,} null" for name, dtype in frame.schema.items()}


def _describe_json(data: bytes) -> dict[str, str]:
    """The same of the records of JSON; nothing where they do not have one type: the builder's reader says more."""
    try:
        return _describe(pl.read_json(data) if data.startswith(b"[") else pl.read_ndjson(data))
    except (pl.exceptions.PolarsError, ValueError):
        return {}
