"""A training corpus in partitions: pieces of its files that are read in any order, on any machine that has the files.

Where a file is divided follows from its bytes alone, and a row has the same number in every partition. Parquet is
divided between row groups, plain JSON lines, text and CSV between records; a compressed file, an array of JSON, Arrow and WARC
are one partition, because they can only be read from their beginning.
"""

import logging
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from glob import has_magic
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, compress, islice, repeat
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from huggingface_hub import close_session

from builders.errors import SourceError, UsageError
from pipelines.checking.batches import BATCH_ROWS, Collector, TextBatch, may_hold_text, row_error
from pipelines.checking.data_files import (
    PIECE,
    READABLE,
    DataFile,
    Listing,
    corrupt_file,
    head_of,
    list_addressed_files,
    list_local_files,
    open_bytes,
    open_output,
    open_stream,
)
from pipelines.checking.formats import ARROW_MAGIC
from pipelines.checking.rows import (
    BOM,
    FIX_LINE,
    HEAD_LINES,
    HEADER,
    SEPARATORS,
    TEXT,
    Layout,
    Record,
    choose_columns,
    csv_layout,
    find_group_borders,
    in_batches,
    json_layout,
    list_names,
    open_arrow,
    open_parquet,
    parse_lines,
    parse_records,
    read_arrow,
    read_groups,
    read_lines,
    read_records,
    read_rows,
    table_layout,
)
from pipelines.checking.targets import locate_target, resolve_targets
from pipelines.hub import client, repository
from pipelines.process.addresses import ADDRESS, HUB, find_line
from pipelines.process.stages import BYTES, stage

PARTITION_BYTES = 64 << 20


@dataclass(frozen=True)
class Partition:
    """Some consecutive rows of a file.

    number: in the order of the corpus, from 0. start, stop: of Parquet row groups, otherwise offsets in the
    decompressed data; stop is None for the end of the file. size: its part of the bytes on disk, for progress. is_cut: start
    and stop are any offsets, and a line belongs to the partition in which it begins; `first_row` is 0 until all are read.
    """

    number: int
    file: DataFile
    layout: Layout
    first_row: int
    start: int
    stop: int | None
    size: int
    is_cut: bool = False

    @property
    def where(self) -> str:
        """The file and the place in it, for errors."""
        return f"{self.file.name}, from {f'byte {self.start:,}' if self.is_cut else f'row {self.first_row}'}"


def cut_file(file: DataFile, layout: Layout, size: int = PARTITION_BYTES) -> Iterator[Partition]:
    """The partitions of a file, of at least `size` bytes each but for the last; their numbers are all 0.

    Raises SourceError where Parquet or CSV cannot be read.
    """
    if file.format == "Parquet":
        for first_row, start, stop, stored in find_group_borders(file, layout, size):
            yield Partition(0, file, layout, first_row, start, stop, stored)
        return
    if file.address and file.format in ("JSON lines", "text") and not file.compression:  # workers find the lines
        for start in range(0, file.size, size):
            stop = min(start + size, file.size)
            yield Partition(0, file, layout, 0, start, stop, stop - start, is_cut=file.size > size)
        return
    header = read_header(file) if file.format in SEPARATORS else None
    first = len(header[1]) if header else 0
    if file.compression or file.format in ("JSON", "Arrow", "WARC") or file.size - first <= size:
        if file.compression or file.size > first:
            yield Partition(0, file, layout, 0, first, None, file.size)
        return
    borders = _record_borders(file, first, size) if header else list(find_line_borders(file, size))
    for (start, row), (stop, _) in zip(borders, [*borders[1:], (file.size, 0)], strict=True):
        yield Partition(0, file, layout, row, start, stop, stop - start)


def read_partition(partition: Partition) -> Iterator[TextBatch]:
    """The texts of a partition in batches of a few megabytes, in order. Reading a large compressed file is a stage.

    Raises SourceError, with file and row, for what cannot be read.
    """
    file, layout, row = partition.file, partition.layout, partition.first_row
    match file.format:
        case "Parquet":
            assert partition.stop is not None
            yield from read_groups(file, layout, row, partition.start, partition.stop)
        case "Arrow":
            yield from read_arrow(file, layout)
        case "WARC":
            yield from read_warc(file)
        case _ if file.size <= 2 * PARTITION_BYTES or not file.compression:
            yield from _read_text(partition, None)
        case _:
            with stage(f"reading {PurePosixPath(file.name).name}", total=file.size, unit=BYTES) as advance:
                yield from _read_text(partition, advance)


def _read_text(partition: Partition, advance: Callable[[int], None] | None) -> Iterator[TextBatch]:
    file, layout, row = partition.file, partition.layout, partition.first_row
    start, stop = partition.start, partition.stop
    if partition.is_cut:
        start, stop = (find_line(file.address, offset or 0, file.size) for offset in (start, stop))
    pieces = read_rows(file) if file.format == "JSON" else read_lines(file, start, stop, row, advance)
    batches: Iterable[Any] = (
        lines[first : first + BATCH_ROWS] for lines in pieces for first in range(0, len(lines), BATCH_ROWS)
    )
    parse: Callable[..., TextBatch] = parse_texts if file.format == "text" else parse_lines
    if file.format in SEPARATORS:
        batches, parse = in_batches(read_records(file, chain.from_iterable(pieces), row)), parse_records
    name = partition.where if partition.is_cut and not row else file.name
    for batch in batches:
        yield replace(parse(name, row, batch, layout), file=file.name)
        row += len(batch)


def parse_texts(file: str, first_row: int, lines: Sequence[bytes], layout: Layout) -> TextBatch:
    """The texts of consecutive lines of plain text. Raises SourceError, with the row, for a line that is not UTF-8."""
    collector = Collector()
    for row, line in enumerate(lines, first_row):
        try:
            text = line.removeprefix(BOM if row == 0 else b"").decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise row_error(
                file,
                row,
                "invalid UTF-8",
                found=f"byte 0x{error.object[error.start]:02x} at byte {error.start + 1} of the line",
                expected="UTF-8",
                todo=FIX_LINE,
            ) from error
        collector.add(row, layout.texts[0], text, is_text=True)
    return collector.batch(file, len(lines))


def read_warc(file: DataFile) -> Iterator[TextBatch]:
    """The texts of WARC in batches: the content of records whose type is text, which web pages and WET files have."""
    collector, first, size = Collector(), 0, 0
    for row, (kind, content_type, content) in enumerate(warc_records(file)):
        if kind in WARC_TYPES and content_type.startswith(WARC_TEXTS):
            charset = content_type.rpartition("charset=")[2].strip(" \"'") if "charset=" in content_type else "utf-8"
            collector.add(row, TEXT, _decode(content, charset), is_text=True)
        else:
            collector.unread[f"{kind} {content_type.partition(';')[0]}".rstrip(), "binary"] += len(content)
        size += len(content)
        if row - first == BATCH_ROWS - 1 or size > PIECE:
            yield collector.batch(file.name, row + 1 - first)
            collector, first, size = Collector(), row + 1, 0
        count = row + 1
    if size:
        yield collector.batch(file.name, count - first)


WARC_TYPES = ("response", "resource", "conversion")
WARC_TEXTS = ("text/", "application/xhtml", "application/json", "application/xml")


def warc_records(file: DataFile, *, as_stored: bool = False) -> Iterator[tuple[str, str, bytes]]:
    """The type, the type of the content, and the content of each record of WARC. as_stored: its bytes in the file instead.

    Raises SourceError for other and for truncated data, UsageError without the library.
    """
    if find_spec("warcio") is None:
        raise UsageError(
            "WARC is read by the package warcio, which is not installed",
            where=file.name,
            todo="pip install 'embedding-datasets[warc]'",
        )
    failed: type[Exception] = import_module("warcio.exceptions").ArchiveLoadFailed
    try:
        with open_bytes(file) as stream, open_bytes(file) as stored:
            archive = import_module("warcio.archiveiterator").ArchiveIterator(stream)
            for record in archive:
                headers = record.http_headers
                content_type = headers.get_header("Content-Type") if headers else record.content_type
                content = record.content_stream().read()
                _require_whole(record)
                if as_stored:
                    stored.seek(archive.get_record_offset())
                    content = stored.read(archive.get_record_length() + (0 if file.compression else len(b"\r\n\r\n")))
                yield record.rec_type or "", (content_type or "").lower(), content
    except (AttributeError, ValueError, EOFError, OSError, zlib.error, failed) as error:
        raise corrupt_file(file, "WARC", "WARC", error) from error


def _require_whole(record: Any) -> None:
    if record.raw_stream.limit:
        raise ValueError(f"the file ends {record.raw_stream.limit:,} bytes before the end of a record")


def _decode(content: bytes, charset: str) -> str:
    try:
        return content.decode(charset, "replace")
    except LookupError:
        return content.decode("utf-8", "replace")


def read_header(file: DataFile) -> Record | None:
    """The header of a file of CSV or TSV; None for an empty file."""
    return next(read_records(file, chain.from_iterable(read_lines(file)), HEADER), None)


def find_line_borders(file: DataFile, size: int) -> Iterator[tuple[int, int]]:
    """Where a plain file is divided into pieces of at least `size` bytes: offset and row of the first line of each.

    The lines are counted at the speed of the disk.
    """
    with open_stream(file) as stream:
        offset, row, target = 0, 0, size
        yield offset, row
        while data := stream.read(PIECE):
            counted = 0
            while end := data.find(b"\n", max(counted, target - 1 - offset)) + 1:
                row, counted, target = row + data.count(b"\n", counted, end), end, offset + end + size
                if offset + end < file.size:
                    yield offset + end, row
            row, offset = row + data.count(b"\n", counted), offset + len(data)


def _record_borders(file: DataFile, start: int, size: int) -> list[tuple[int, int]]:
    """As find_line_borders, of a file of CSV whose header ends at `start`. A line without quotes is a record; where there are
    some, only parsing tells where the record ends."""
    borders, offset, target = [(start, 0)], start, start + size
    lines = chain.from_iterable(read_lines(file, start))
    for row, line in enumerate(lines):
        if offset >= target:
            borders.append((offset, row))
            target = offset + size
        record = next(read_records(file, chain([line], lines), row))[1] if b'"' in line else line
        offset += len(record)
    return borders


GROUP_BYTES = 256 << 20  # a larger row group is written as several: one is held in memory


def copy_rows(file: DataFile, drop: Any, path: Path) -> tuple[int, int]:
    """Write a file again without some rows, in its format; returns how many rows it has, and how many are kept.

    Rows of JSON, CSV, text and WARC keep their bytes; a file of Parquet keeps its schema, its codecs, and the borders of its row
    groups, one of Arrow its schema and batches. drop: the numbers of the rows, sorted.
    """
    row = kept = 0
    with _open_copy(file, path) as write:
        for records in _read_copied(file, write):
            size = len(records)
            keep = np.ones(size, dtype=bool)
            start, stop = np.searchsorted(drop, [row, row + size])
            keep[drop[start:stop] - row] = False
            write(_keep_rows(records, keep) if isinstance(records, pa.Table) else list(compress(records, keep)))
            row, kept = row + size, kept + int(keep.sum())
    return row, kept


def _keep_rows(records: pa.Table, keep: Any) -> pa.Table:
    """Some rows of a table, in one piece; pyarrow cannot filter all types, not the strings that polars writes."""
    borders = np.flatnonzero(np.diff(keep, prepend=False, append=False)).reshape(-1, 2).tolist()
    parts = [records.slice(start, stop - start) for start, stop in borders]
    return pa.concat_tables([records.slice(0, 0), *parts]).combine_chunks()


Records = Any  # a table, or the bytes of each row


def _read_copied(file: DataFile, write: Callable[[Records], None]) -> Iterator[Records]:
    """The rows of a file as they are copied. The header of CSV is written on the way."""
    match file.format:
        case "Parquet":
            with open_parquet(file) as source:
                for number in range(source.metadata.num_row_groups):
                    group = source.metadata.row_group(number)
                    size = max(1, group.num_rows * GROUP_BYTES // max(group.total_byte_size, GROUP_BYTES))
                    for batch in source.iter_batches(size, [number], use_threads=False):
                        yield pa.Table.from_batches([batch], source.schema_arrow)
        case "Arrow":
            with open_arrow(file) as (_, batches):
                yield from map(pa.table, batches)
        case "WARC":
            yield from ([content] for *_, content in warc_records(file, as_stored=True))
        case "JSON lines" | "JSON" | "text":
            yield from read_rows(file)
        case _ if (header := read_header(file)) is not None:
            write([header[1]])
            lines = chain.from_iterable(read_lines(file, len(header[1])))
            yield from ([data for _, data in records] for records in in_batches(read_records(file, lines, 0)))


@contextmanager
def _open_copy(file: DataFile, path: Path) -> Iterator[Callable[[Records], None]]:
    """A function that writes rows into a new file of the same format and compression."""
    with ExitStack() as stack:
        if file.format == "Parquet":
            with open_parquet(file) as source:
                writer = stack.enter_context(
                    pq.ParquetWriter(path, source.schema_arrow, compression=_codecs(source.metadata))
                )
            yield lambda table: writer.write_table(table, row_group_size=len(table)) if len(table) else None
        elif file.format == "Arrow":
            is_file = head_of(file).startswith(ARROW_MAGIC)
            with open_arrow(file) as (schema, _):
                create = pa.ipc.new_file if is_file else pa.ipc.new_stream
                yield stack.enter_context(create(str(path), schema)).write_table
        else:
            compression = "" if file.format == "WARC" else file.compression  # its records are compressed one by one
            output = stack.enter_context(open_output(path, compression))
            if file.format != "JSON":
                yield lambda records: output.write(b"".join(records))
                return
            parts = iter(chain([b"[\n"], repeat(b",\n")))
            yield lambda records: output.write(b"".join(next(parts) + record for record in records))
            output.write(b"[]\n" if next(parts) == b"[\n" else b"\n]\n")


def _codecs(metadata: Any) -> dict[str, str] | str:
    """The codec of each column, as the first row group has it."""
    if not metadata.num_row_groups or not metadata.num_columns:
        return "snappy"
    group = metadata.row_group(0)
    columns = (group.column(index) for index in range(group.num_columns))
    return {column.path_in_schema: column.compression.replace("UNCOMPRESSED", "NONE") for column in columns}


HUB_FORM = "hf://datasets/ORG/NAME[@REVISION][/PATH]"
# hf://datasets/ORG/NAME@REVISION/PATH; a slash in a revision is written %2F, but for those that the Hub makes itself.
HUB_NAME = re.compile(
    rf"hf://datasets/(?P<repo>{client.REPOSITORY.pattern})"
    r"(?:@(?P<revision>refs/(?:pr/\d+|convert/[\w-]+)|[\w.%-]+))?(?:/(?P<path>.*))?",
    re.ASCII,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Corpus:
    """A corpus: its files with their layouts, in order, its partitions, and the files that were skipped.

    skipped: the size of each by its name. empty: files without rows, which have no layout.
    """

    files: tuple[tuple[DataFile, Layout], ...]
    partitions: tuple[Partition, ...]
    skipped: Mapping[str, int]
    empty: tuple[DataFile, ...] = ()


def infer_layout(file: DataFile, requested: Sequence[str]) -> Layout | None:
    """The layout of a file; None where it has no rows.

    Raises SourceError where the beginning of the file cannot be read, and the errors of `choose_columns`.
    """
    match file.format:
        case "Parquet":
            with open_parquet(file) as opened:
                return table_layout(file, opened.schema_arrow, requested)
        case "Arrow":
            with open_arrow(file) as (schema, _):
                return table_layout(file, schema, requested)
        case "JSON lines" | "JSON":
            lines = list(islice(chain.from_iterable(read_rows(file)), HEAD_LINES))
            return json_layout(file.name, lines, requested) if b"".join(lines).strip() else None
        case "text" | "WARC":
            return choose_columns(file.name, [TEXT], [TEXT], requested) if file.size else None
    header = read_header(file)
    return None if header is None else csv_layout(file.name, header[0], requested)


def open_corpus(
    names: Sequence[str],
    columns: Sequence[str] = (),
    *,
    releases: Path = Path("outputs"),
    partition_bytes: int = PARTITION_BYTES,
) -> Corpus:
    """The corpus that names lead to: files, folders, globs, addresses (s3://bucket/folder), datasets on the Hub
    (`ORG/NAME[@REVISION]`, or `hf://datasets/ORG/NAME[@REVISION][/PATH]` for a part of one), and releases of the catalogue.

    columns: the columns with texts, by default all of strings or lists of strings but ids, addresses and labels. releases: where
    those of the catalogue are.

    Raises UsageError for a name or a column that does not exist, SourceError for a file that cannot be read and a
    corpus without rows.
    """
    found: dict[str, DataFile] = {}
    skipped: dict[str, int] = {}
    for name in names:
        for files_of_name, others in _list_name(name, releases):
            for file in files_of_name:
                found.setdefault(file.address or str(file.path.resolve()), file)
            skipped |= others
    if not found:
        raise SourceError(
            "no file that a corpus may have", where=", ".join(names), found=_list_files([*skipped]), expected=READABLE
        )
    if skipped:
        logger.info("files skipped, not in a format of a corpus: %s", _list_files([*skipped]))
    files, empty = list[tuple[DataFile, Layout]](), list[DataFile]()
    partitions: list[Partition] = []
    with stage("dividing the corpus", total=sum(file.size for file in found.values()), unit=BYTES) as advance:
        for file in found.values():
            if (layout := infer_layout(file, columns)) is None:
                empty.append(file)
            else:
                files.append((file, layout))
                partitions += cut_file(file, layout, partition_bytes)
            advance(file.size)
    if not partitions:
        raise SourceError(
            "the corpus has no rows", where=", ".join(names), found=_list_files(list(found)), todo="name others"
        )
    present = list_names(list(dict.fromkeys(name for _, layout in files for name in layout.columns)))
    if not any(layout.requested or may_hold_text(name) for _, layout in files for name in layout.texts):
        raise SourceError(
            f"{'the file has' if len(found) == 1 else 'the files have'} no column of texts",
            where=", ".join(names),
            found=f"columns {present}",
            expected="a column of strings that is not an id, an address or a label",
            todo="name other files, or a column with --text",
        )
    if missing := [name for name in columns if not any(name in layout.texts for _, layout in files)]:
        raise UsageError(
            f"no file has the column {missing[0]!r}",
            where=", ".join(names),
            found=present,
            todo="name another column with --text",
        )
    numbered = tuple(replace(partition, number=number) for number, partition in enumerate(partitions))
    return Corpus(tuple(files), numbered, skipped, tuple(empty))


def _list_name(name: str, releases: Path) -> Iterator[Listing]:
    """The files that a name leads to; of a release of the catalogue, its folder's.

    Raises UsageError for a name that means nothing, ReleaseError for a release that has not been built.
    """
    if name.startswith(HUB):
        if (match := HUB_NAME.fullmatch(name)) is None:
            raise UsageError(
                "not the name of a dataset on the Hub",
                where=name,
                expected=HUB_FORM,
                todo="name it as the Hub does: hf://datasets/ORG/NAME, hf://datasets/ORG/NAME@REVISION/PATH",
            )
        root = name[: match.start("path")] if match["path"] else name
        revision = unquote(match["revision"] or repository.MAIN)
        yield _list_repository(root.rstrip("/"), match["repo"], revision, (match["path"] or "").strip("/"))
    elif ADDRESS.fullmatch(name):
        yield list_addressed_files(name)
    elif Path(name).exists() or has_magic(name):
        yield list_local_files(name)
    else:
        for target in resolve_targets(name, releases):
            if target.repository is not None:
                yield _list_repository(name, *target.repository, "")
            else:
                yield list_local_files(str(locate_target(target)[0]))


def _list_repository(name: str, repo: str, revision: str, path: str) -> Listing:
    """The data files of a dataset on the Hub, at the commit of a revision. name: what precedes their paths in matches. path: only
    those at it, below it, or that it matches as a glob.

    Raises SourceError where the Hub does not give the files.
    """
    at = repository.require_snapshot(client.connect(), repo, revision)
    close_session()  # it leaves retries to pipelines.hub.client; the next one, which reads the files, is as in a worker
    root = f"{HUB}datasets/{at.repo}@{repository.require_commit(repo, at)}"
    files, skipped = list_addressed_files(f"{root}/{path}".rstrip("/"))
    renamed = [replace(file, name=file.name.replace(root, name, 1)) for file in files]
    return renamed, {each.replace(root, name, 1): size for each, size in skipped.items()}


def _list_files(names: Sequence[str]) -> str:
    shown = ", ".join(names[:5]) or "nothing"
    return f"{shown}, and {len(names) - 5:,} more" if len(names) > 5 else shown
