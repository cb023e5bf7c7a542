"""The beginning of a raw file by range requests, cut to a file of the same format that its reader takes whole.

The first megabyte is read; of a zip archive also the end, where its directory is, and the first megabyte of the member; of a
Parquet file the footer and the first row group, within BUDGET. Of other archives the names of members are seen. What is read lies
at its place in a file with holes.
"""

import csv
import json
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast

import orjson
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders import limits
from builders.errors import SourceError
from builders.raw_files import Member, RawFile
from builders.reading.archives import READ_ERRORS, open_raw, tar_files
from builders.reading.json import read_elements
from builders.spec import Raw
from pipelines.process.terminal import format_size
from pipelines.raw.download import DownloadRequest, Patience, open_client, read_range

MEGABYTE = 1 << 20
BUDGET = 16 << 20  # bytes of a row group
REST = 1 << 16  # bytes of the header of a member, and of a piece
LIMIT = 64 * MEGABYTE  # of what is unpacked
SPACE = b"\xef\xbb\xbf \t\r\n"
Copy = Callable[[int, int], None]


@dataclass(frozen=True)
class Head:
    """What is seen of a file. records: of the whole file, by its header. keys: types and nulls of its first records.

    seen: how many rows, elements or lines were read. failure: why nobody can read the file. unread: why the probe did not. bytes:
    of a member of an archive, by its directory. later: what the header says of what follows the first records.
    """

    is_cut: bool
    records: int | None = None
    keys: dict[str, str] = field(default_factory=dict)
    failure: str = ""
    seen: int = 0
    unread: str = ""
    bytes: int | None = None
    later: str = ""


def write_heads(
    request: DownloadRequest, files: list[RawFile], folder: Path, records: int, patience: Patience
) -> tuple[dict[str, Head], int | None, int, list[str]]:
    """Write the first records of a file, or of the members that are needed of it, in their format and by their names.

    Returns what is seen of each, the size of the file as the server says it, how many bytes were read, and what the server did
    that left something unseen. What was read lies in `stored`.

    Raises SourceError where the server sends nothing.
    """
    stored, read = folder / "stored", 0
    folder.mkdir(parents=True, exist_ok=True)
    with open_client(request, patience) as client, stored.open("w+b") as store:

        def fetch(start: int, stop: int) -> tuple[int, int | None, bool]:
            nonlocal read
            data, size, ignored = read_range(client, request, start, stop, patience)
            store.seek(start)
            store.write(data)
            store.flush()
            read += len(data)
            return len(data), size, ignored

        def copy(start: int, stop: int) -> None:
            sent = fetch(start, stop)[0]
            if size is None or sent < min(stop, size) - start:
                raise _unread(request.name, f"the server sent {sent:,} bytes of {stop - start:,}")

        got, size, ignored = fetch(0, MEGABYTE)
        heads = {file.name: _write_head(stored, (size, got), file, records, copy) for file in files}
    slow = f"what a slow server did not send of the first megabyte in {patience.window:g} s: {format_size(got)} came"
    notes = ["what lies behind the first megabyte, for the server ignores ranges"] if ignored else []
    return heads, size, read, [*notes, slow] if got < min(size or 0, MEGABYTE) else notes


def _unread(name: str, why: str) -> SourceError:
    """An error for records that were not read, though they may well be sound."""
    return SourceError(name, found=why).lacking(name, "unavailable")


def _write_head(stored: Path, extent: tuple[int | None, int], file: RawFile, records: int, copy: Copy) -> Head:
    """extent: the size of the file, and how many bytes of its beginning were read."""
    size, got = extent
    path, is_cut, end = stored.parent / file.name, size is None or size > got, size or got + 1
    path.parent.mkdir(parents=True, exist_ok=True)
    archive = file.location.archive.name if isinstance(file.location, Member) else file.name
    try:
        if archive.endswith((".zip", ".parquet")) and is_cut:
            copy(max(got, end - MEGABYTE), end)
        if file.name.endswith(".parquet"):
            return _write_rows(stored, path, records, got, copy)
        return _write_records(stored, file, records, copy, is_cut=is_cut)
    except SourceError as error:  # what a malformed element holds is not quoted
        if error.missing:
            return Head(is_cut, unread=error.found or error.what)
        return Head(is_cut, failure="; ".join(filter(None, (error.what, error.where))))
    except (*READ_ERRORS, pa.ArrowException) as error:
        return Head(is_cut, failure=f"{type(error).__name__}: {error}".partition(" (b'")[0][:500])  # bytes of the file


def _write_records(stored: Path, file: RawFile, records: int, copy: Copy, *, is_cut: bool) -> Head:
    """The first elements or lines of a file that is not Parquet; all of one that was read whole."""
    if not stored.stat().st_size:
        raise SourceError("an empty file")
    data, is_cut, size = _read(stored, file, is_cut, copy)
    is_json, is_array = ".json" in file.name, data.lstrip(SPACE).startswith(b"[")
    if is_array and ".jsonl" in file.name:
        raise SourceError("one JSON array, where its name says that each line is an object")
    if is_cut:
        data = _cut(data, file.name, stored.parent / file.name, records)
    codec = {"gz": "gzip", "zst": "zstd"}.get(file.name.rpartition(".")[2])
    text = data.lstrip(SPACE)
    seen = len(orjson.loads(text) if is_json and is_array else text.splitlines()) - (".csv" in file.name)
    if seen < 1:
        long = _unread(file.name, "its first record is longer than what was read")
        raise long if is_cut else SourceError("no record in it")
    (stored.parent / file.name).write_bytes(pa.compress(data, codec, asbytes=True) if codec else data)
    return Head(is_cut, keys=_describe_json(data) if is_json else {}, seen=seen, bytes=size)


def _write_rows(stored: Path, path: Path, records: int, got: int, copy: Copy) -> Head:
    """The first rows of a Parquet file, with its schema."""
    with pq.ParquetFile(stored) as file:
        rows = file.metadata.num_rows
        if not rows:
            raise SourceError("no row in it")
        group = file.metadata.row_group(0)
        columns = [group.column(number) for number in range(group.num_columns)]
        start = min(column.dictionary_page_offset or column.data_page_offset for column in columns)
        end = start + sum(column.total_compressed_size for column in columns)
        if end - start > BUDGET:
            return Head(is_cut=True, records=rows, unread=f"its first row group has {end - start:,} bytes")
        if end > got:
            copy(start, end)
        table = file.read_row_group(0).slice(0, records)
        pq.write_table(table, path)
        groups = [file.metadata.row_group(number) for number in range(1, file.num_row_groups)]
        later = [each.column(number) for each in groups for number in range(each.num_columns)]
        nulls = {each.path_in_schema for each in later if each.statistics and each.statistics.null_count}
        return Head(
            table.num_rows < rows,
            rows,
            _describe(pl.DataFrame(table)),
            seen=table.num_rows,
            later=f"there are nulls behind the first row group, in {', '.join(sorted(nulls))}" * bool(nulls),
        )


def _read(stored: Path, file: RawFile, is_cut: bool, copy: Copy) -> tuple[bytes, bool, int | None]:
    """The beginning of a file, or of a member of an archive, as the reader of builds unpacks it, and whether it is not all.

    With the size of a member as the directory of its archive has it. is_cut: whether the file or the archive is.

    Raises SourceError where a build would, but not for data that end where the cut is.
    """
    location, data, names, size = file.location, bytearray(), list[str](), None
    raw = Raw(file.name, stored, location.path if isinstance(location, Member) else None)
    at_cut, most = is_cut and raw.member is None, MEGABYTE - REST if raw.member else LIMIT

    def take(stream: BinaryIO) -> bool:
        reader = cast("BufferedReader", stream)
        while len(data) < most and (piece := reader.read1(REST)):
            data.extend(piece)
        return at_cut or bool(data and reader.read1(1))

    try:
        if is_cut and isinstance(location, Member) and not location.archive.name.endswith(".zip"):
            for name, stream in tar_files(raw):
                names.append(name)
                if name == raw.member:
                    at_cut = take(stream)
                    return bytes(data), at_cut, size
        elif is_cut and raw.member:
            with zipfile.ZipFile(stored) as archive:
                for info in archive.infolist():
                    if info.filename == raw.member:
                        copy(info.header_offset, info.header_offset + min(info.compress_size, MEGABYTE) + REST)
                        size, at_cut = info.file_size, info.file_size > MEGABYTE
        with open_raw(raw) as stream:
            at_cut = take(stream)
    except SourceError as error:
        if not (is_cut and isinstance(error.__cause__, EOFError | tarfile.ReadError)):
            found = (error.found or "").partition(" that begins with ")[0].partition(" (b'")[0]  # bytes of the file
            raise SourceError(f"{found}, expected {error.expected}") from error
        if names and not data:
            raise _unread(file.name, f"{raw.member} is not among the first members: {', '.join(names[:20])}") from error
        at_cut = True
    return bytes(data), at_cut, size


def _cut(data: bytes, name: str, path: Path, records: int) -> bytes:
    """The complete records of the beginning of a file. Raises SourceError for an element that is malformed before the cut."""
    if ".json" in name and data.lstrip(SPACE).startswith(b"["):
        path.write_bytes(data)
        elements: list[bytes] = []
        try:
            elements += (text for _, text in islice(read_elements(Raw(name, path), "[]", REST), records))
        except SourceError as error:
            cause = error.__cause__
            is_end = isinstance(cause, json.JSONDecodeError) and cause.pos + len("\\u0000") >= len(cause.doc.rstrip())
            if not is_end and "Unterminated string" not in str(cause):
                raise
        return b"[" + b",".join(elements) + b"]"
    lines = data.splitlines(keepends=True)[:-1]
    if name.endswith(".json") and lines and not lines[0].rstrip().endswith(b"}"):
        raise _unread(name, "one JSON object: only its beginning was read")
    if ".csv" in name:  # a field in quotes may go on over several lines
        csv.field_size_limit(limits.MAX_RECORD)
        reader = csv.reader(line.decode("utf-8", "replace") for line in lines)
        lines = lines[: [0, 0, *(reader.line_num for _ in islice(reader, records + 2))][-2]]
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
