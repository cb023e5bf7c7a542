"""The rows of files as batches of texts: JSON, CSV and TSV, also with the bytes of each record, Parquet and Arrow, lines, WARC.

Texts are in all strings, at any depth, but ids, addresses and labels (pipelines.checking.batches), or in the columns that are
named. The formats of sentence-transformers (anchor, positive, negative_1, sentence1, score), BGE (query, pos, neg), MEDI (an
array of objects with lists) and chats need no rules.

The row of a record is its number from 0, without the header; a field in quotes may hold line ends. The row of a line is its
number from 0, blank lines included: row 4 is the fifth line. The rows of an array are its elements, those of WARC its records.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, TypeVar

import orjson
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders import limits
from builders.errors import SourceError, UsageError
from builders.reading.csv import split_rows
from builders.reading.json import read_elements
from builders.reading.lines import split_lines
from builders.reading.values import shorten
from builders.spec import Raw
from pipelines.checking.batches import (
    BATCH_ROWS,
    LABEL_SCHEMA,
    LABELS,
    TEXT_SCHEMA,
    Collector,
    TextBatch,
    Unread,
    holds_strings,
    may_hold_text,
    row_error,
    shorten_json,
    table_texts,
)
from pipelines.checking.data_files import PIECE, DataFile, corrupt_file, open_native, open_stream
from pipelines.checking.formats import ARROW_MAGIC, count_bytes, refuse_expansion
from pipelines.process.addresses import open_address


def read_lines(
    file: DataFile,
    start: int = 0,
    stop: int | None = None,
    first_row: int = 0,
    advance: Callable[[int], None] | None = None,
) -> Iterator[list[bytes]]:
    """The lines between two offsets, with their line ends, in lists of a few megabytes.

    start, stop: offsets of the beginnings of lines, in the decompressed data; stop may be None, for the end. first_row:
    of the first line, for errors. advance: gets the bytes on disk that were read since its last call.

    Raises SourceError for data that cannot be decompressed, and for a line of more than `limits.MAX_RECORD` bytes.
    """
    offset = 0 if file.compression else start
    with open_stream(file, offset) as stream:
        while offset < start and (skipped := stream.read(min(PIECE, start - offset))):
            offset += len(skipped)

        def pieces() -> Iterator[bytes]:
            nonlocal offset
            position = stream.position()
            while data := stream.read(PIECE if stop is None else min(PIECE, stop - offset)):
                offset += len(data)
                if advance is not None:
                    advance(stream.position() - position)
                    position = stream.position()
                yield data

        def too_large(lines_before: int) -> SourceError:
            return row_error(
                file.name,
                first_row + lines_before,
                "a line is too large",
                found=f"more than {limits.MAX_RECORD:,} bytes",
                expected=f"at most {limits.MAX_RECORD:,} bytes",
                todo="see that the file has line ends, or leave it out",
            )

        yield from split_lines(pieces(), too_large)


SHOWN = 30  # columns that an error lists


@dataclass(frozen=True)
class Layout:
    """The columns of a file.

    columns: all of them, in order; of JSON those of the first records. texts: those with strings. label: the one
    with labels, if there is one. requested: `texts` are the only ones to read; otherwise records of JSON may have
    others too.
    """

    columns: tuple[str, ...]
    texts: tuple[str, ...]
    label: str | None
    requested: bool


def choose_columns(where: str, columns: Sequence[str], textual: Sequence[str], requested: Sequence[str]) -> Layout:
    """The layout of a file. columns: all that it has. textual: those that hold a string. requested: of --text.

    Raises UsageError where the file has none of the requested columns, or one that holds no texts.
    """
    label = next((name for name in LABELS if name in columns and name not in requested), None)
    if not requested:
        return Layout(tuple(columns), tuple(textual), label, requested=False)
    texts = tuple(dict.fromkeys(name for name in requested if name in columns))
    if not texts:
        raise UsageError(
            f"the file has no column {' or '.join(repr(name) for name in requested)}",
            where=where,
            found=f"columns {list_names(columns)}",
            todo="name columns of the corpus with --text, or leave the file out",
        )
    if wrong := [name for name in texts if name not in textual]:
        raise UsageError(
            f"the column {wrong[0]!r} holds no texts",
            where=where,
            found="another type",
            expected="strings, or lists and objects with strings",
            todo=f"name another column with --text: {list_names(textual)}",
        )
    return Layout(tuple(columns), texts, label, requested=True)


def list_names(names: Sequence[str]) -> str:
    """The names of columns as an error lists them."""
    shown = [repr(name[:100]) for name in names[:SHOWN]]
    return ", ".join([*shown, "..."] if len(names) > SHOWN else shown) or "none"


HEADER = -1  # the row of the header, as `read_records` counts
FIX_ROW = "fix the row, or leave the file out"
BOM = b"\xef\xbb\xbf"
Record = tuple[list[str], bytes]  # the fields, and the bytes of the record with its line end
Fields = TypeVar("Fields")

SEPARATORS = {"CSV": ",", "TSV": "\t"}


def read_records(file: DataFile, lines: Iterable[bytes], first_row: int) -> Iterator[Record]:
    """The records of consecutive lines of a file of CSV or TSV. first_row: of the first record, or HEADER.

    Raises SourceError, with the row, for text that is not UTF-8, a quote that is never closed, text behind a closing
    quote, and a record of more than `limits.MAX_RECORD` characters.
    """
    row, parts = first_row, list[bytes]()

    def decoded() -> Iterator[str]:
        for line in lines:
            try:
                text = (line.removeprefix(BOM) if row == HEADER and not parts else line).decode()
            except UnicodeDecodeError as error:
                raise row_error(
                    file.name,
                    row,
                    "invalid UTF-8",
                    found=f"byte 0x{error.object[error.start]:02x} ({error.reason})",
                    expected="UTF-8",
                    todo=FIX_ROW,
                ) from error
            parts.append(line)
            yield text

    def too_large() -> SourceError:
        return row_error(
            file.name,
            row,
            "a row is too large",
            found=f"more than {limits.MAX_RECORD:,} characters",
            expected=f"at most {limits.MAX_RECORD:,} characters",
            todo=FIX_ROW,
        )

    def invalid(error: csv.Error, text: str) -> SourceError:
        return row_error(
            file.name,
            row,
            "invalid row",
            found=f"{error}: {shorten(text)}",
            expected='fields with " around those that hold line ends, and each " in them doubled',
            todo=FIX_ROW,
        )

    for fields, _ in split_rows(decoded(), SEPARATORS[file.format], quotes=True, too_large=too_large, invalid=invalid):
        yield fields, b"".join(parts)
        parts.clear()
        row += 1


def _require_columns(file: str, names: Sequence[str], where: str, found: str | None, todo: str) -> None:
    """Raise SourceError for too many columns, and for a name that two of them have. where, found, todo: of the latter."""
    if len(names) > limits.MAX_COLUMNS:
        raise SourceError(
            "too many columns",
            where=file,
            found=f"{len(names):,} columns",
            expected=f"at most {limits.MAX_COLUMNS:,}",
            todo="leave the file out; a separator that occurs in texts makes columns of words",
        )
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise SourceError(
            f"two columns are called {twice[0]!r}",
            where=where,
            found=found,
            expected="a name for each column",
            todo=todo,
        )


def csv_layout(file: str, header: Sequence[str], requested: Sequence[str]) -> Layout:
    """The layout of a file by its header; raises SourceError for a name that it has twice, and the errors of
    `choose_columns`."""
    _require_columns(file, header, f"{file}, header", "the header", "fix the header")
    return choose_columns(file, header, header, requested)


def parse_records(file: str, first_row: int, records: Sequence[Record], layout: Layout) -> TextBatch:
    """The texts of consecutive records: the fields of text columns that are not empty.

    Raises SourceError, with the row, for a record with too few or too many fields.
    """
    collector, width = Collector(), len(layout.columns)
    names = [(index, name, layout.requested or may_hold_text(name)) for index, name in enumerate(layout.columns)]
    label = layout.columns.index(layout.label) if layout.label is not None else None
    for row, (fields, _) in enumerate(records, first_row):
        if len(fields) != width:
            if not fields:
                continue
            raise row_error(
                file,
                row,
                "a row has too few or too many fields",
                found=f"{len(fields)} fields: {shorten(str(fields))}",
                expected=f"{width} fields, as in the header",
                todo=FIX_ROW,
            )
        for index, name, is_text in names:
            if name in layout.texts:
                collector.add(row, name, fields[index], is_text=is_text)
            elif index != label:
                collector.unread[name, "request"] += len(fields[index].encode())
        if label is not None and fields[label]:
            collector.label_rows.append(row)
            collector.labels.append(fields[label])
    return collector.batch(file, len(records))


FIX_LINE = "fix the line, or leave the file out"
HEAD_LINES = 100  # of a file of JSON lines, whose columns are those of its layout
TEXT = "text"  # the column of a line of text and of a record of WARC
LIST = ""  # the column of a line that is a list: its texts are `[0]`, `[1]`, ...


def json_layout(file: str, lines: Sequence[bytes], requested: Sequence[str]) -> Layout:
    """The layout of a file from its first lines, or the first elements of its array.

    Raises SourceError for a line that is invalid or not an object or a list, and the errors of `choose_columns`.
    """
    head = Collector()
    columns: dict[str, None] = {}
    for row, line in enumerate(lines):
        record = _parse(file, row, line) or {}
        columns |= dict.fromkeys(record)
        for number, name in enumerate(columns):
            head.add(number, name, record.get(name), is_text=True)
    names = [*columns]
    textual = [names[number] for number in dict.fromkeys(sorted(head.rows))]
    # A column that only later rows have may be one of texts.
    return choose_columns(file, names, textual or (names if len(lines) == HEAD_LINES else []), requested)


def parse_lines(file: str, first_row: int, lines: Sequence[bytes], layout: Layout) -> TextBatch:
    """The texts of consecutive lines, or of elements of an array.

    By default these are all strings of a record but ids, addresses and labels, in columns that the first records lack too. A
    requested column may be missing or null; a number in it is an error.

    Raises SourceError, with the row, for a line that is not UTF-8, not JSON, or not an object or a list.
    """
    collector = Collector()
    rows, columns, texts, add = collector.rows, collector.columns, collector.texts, collector.add
    for row, line in enumerate(lines, first_row):
        if (record := _parse(file, row, line)) is None:
            continue
        for name, value in _requested(file, row, record, layout, collector) if layout.requested else record.items():
            is_text = layout.requested or may_hold_text(name)
            if is_text and type(value) is str and value[:1] not in "[{":
                rows.append(row)
                columns.append(name)
                texts.append(value)
            else:
                add(row, name, value, is_text=is_text)
        for name in LABELS:
            if name in record and not (layout.requested and name in layout.texts):
                collector.label_rows.append(row)
                collector.labels.append(record[name])
                break
    return collector.batch(file, len(lines))


def _requested(
    file: str, row: int, record: dict[str, Any], layout: Layout, collector: Collector
) -> Iterable[tuple[str, Any]]:
    """The requested columns of a record; the others are counted. Raises SourceError where one holds a number."""
    for name in record.keys() - layout.texts - {layout.label}:
        collector.unread[name, "request"] += len(orjson.dumps(record[name], default=str))
    values = {name: record[name] for name in layout.texts if record.get(name) is not None}
    for name, value in values.items():
        if any(type(item) not in (str, list, dict, type(None)) for item in (value if type(value) is list else [value])):
            raise row_error(
                file,
                row,
                f"the column {name!r} has the wrong type",
                found=shorten_json(value),
                expected="a string, or a list or an object of strings",
                todo="fix the row, or name other columns with --text",
            )
    return values.items()


def _parse(file: str, row: int, line: bytes) -> dict[str, Any] | None:
    """The record of a line, whose text, if it is a list, is in the column LIST; None for a blank line."""
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        line = line.removeprefix(BOM) if row == 0 else line
        if not line.strip():
            return None
        record = _parse_leniently(file, row, line, error)
    if type(record) is dict:
        if any(line.count(_quoted(name)) > 1 for name in record):
            _refuse_repeated_key(file, row, line)
        return record
    if type(record) is list:
        return {LIST: record}
    raise row_error(
        file,
        row,
        "not a JSON object",
        found=shorten_json(record),
        expected='an object, such as {"text": "..."}, or a list of texts',
        todo=FIX_LINE,
    )


@lru_cache(maxsize=10_000)
def _quoted(name: str) -> bytes:
    return f'"{name}"'.encode(errors="replace")


def _refuse_repeated_key(file: str, row: int, line: bytes) -> None:
    """Raise SourceError where the object of a line has a key twice: readers take the first value, the last one, or neither."""
    with suppress(ValueError, RecursionError):  # what only `_parse_leniently` reads
        names = [name for name, _ in json.loads(line, object_pairs_hook=list)]
        if len(set(names)) < len(names):
            [(name, _)] = Counter(names).most_common(1)
            raise row_error(
                file,
                row,
                f"the key {name!r} occurs twice",
                found=shorten(line.decode()),
                expected="each key once",
                todo=FIX_LINE,
            )


def _parse_leniently(file: str, row: int, line: bytes, error: orjson.JSONDecodeError) -> Any:
    """What Python's own json writes and orjson refuses: NaN, and halves of surrogate pairs, which become U+FFFD."""
    try:
        text = line.decode()
    except UnicodeDecodeError as problem:
        raise row_error(
            file,
            row,
            "invalid UTF-8",
            found=f"byte 0x{problem.object[problem.start]:02x} at byte {problem.start + 1} of the line",
            expected="UTF-8",
            todo=FIX_LINE,
        ) from problem
    try:
        return _replace_surrogates(json.loads(text))
    except (ValueError, RecursionError) as problem:
        where = f", at character {error.pos + 1}" if isinstance(problem, ValueError) else ": nested too deeply"
        raise row_error(
            file,
            row,
            "invalid JSON",
            found=f"{error.msg}{where}: {shorten(text.rstrip()[max(0, error.pos - 30) :])}",
            expected="one complete JSON object a line",
            todo=FIX_LINE,
        ) from problem


def _replace_surrogates(value: Any) -> Any:
    if type(value) is str:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if type(value) is list:
        return [_replace_surrogates(item) for item in value]
    if type(value) is dict:
        return {_replace_surrogates(key): _replace_surrogates(item) for key, item in value.items()}
    return value


BATCH_BYTES = 4 << 20  # of the values of a batch, on average
BUFFER = 1 << 20


@contextmanager
def open_parquet(file: DataFile) -> Iterator[Any]:
    """A Parquet file, which is read in pieces.

    Raises SourceError, on opening or from the block, where it is truncated or corrupt.
    """
    try:
        with pq.ParquetFile(
            open_native(file) if file.address else file.path, buffer_size=BUFFER, pre_buffer=False
        ) as opened:
            yield opened
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:  # a name in the footer with any bytes
        raise corrupt_file(file, "Parquet file", "Parquet", error) from error


def table_layout(file: DataFile, schema: Any, requested: Sequence[str]) -> Layout:
    """The layout of Parquet or Arrow by its schema; raises the errors of `choose_columns`, and SourceError for a name that it
    has twice."""
    _require_columns(file.name, schema.names, file.name, None, "rename one, or leave the file out")
    textual = [name for name, kind in zip(schema.names, schema.types, strict=True) if holds_strings(kind)]
    return choose_columns(file.name, schema.names, textual, requested)


def find_group_borders(file: DataFile, layout: Layout, size: int) -> list[tuple[int, int, int, int]]:
    """Where a file is divided: for each piece first row, first row group, the one after its last, and its bytes in the
    file.

    size: how many bytes of texts, decompressed, a piece has at least; a row group is never divided.
    """
    pieces = []
    with open_parquet(file) as opened:
        metadata = opened.metadata
        row = first_row = first = texts = stored = 0
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            columns = [group.column(index) for index in range(group.num_columns)]
            row += group.num_rows
            texts += sum(
                column.total_uncompressed_size for column in columns if _belongs_to(column.path_in_schema, layout.texts)
            )
            stored += sum(column.total_compressed_size for column in columns)
            if texts >= size or number == metadata.num_row_groups - 1:
                if row > first_row:
                    pieces.append((first_row, first, number + 1, stored))
                first_row, first, texts, stored = row, number + 1, 0, 0
    return pieces


def read_groups(file: DataFile, layout: Layout, first_row: int, start: int, stop: int) -> Iterator[TextBatch]:
    """The texts of some row groups: the rows that they have in all, and `first_row` is the first of them.

    Only leaves that are strings are read from the disk.

    Raises SourceError for data that are corrupt or not UTF-8.
    """
    with open_parquet(file) as opened:
        groups = [opened.metadata.row_group(number) for number in range(start, stop)]
        chunks = [group.column(index) for group in groups for index in range(group.num_columns)]
        leaves = [opened.schema.column(index) for index in range(len(opened.schema))]
        nulls = [field.name for field in opened.schema_arrow if pa.types.is_null(field.type)]
        names, unread = [], Unread()
        for index, leaf in enumerate(leaves):
            reason = "null" if leaf.path in nulls else _leaf_reason(leaf, layout)
            if not reason or _belongs_to(leaf.path, (layout.label or "",)):
                names.append(leaf.path)
            else:
                sizes = (group.column(index).total_uncompressed_size for group in groups)
                unread[REPEATED.sub("[]", leaf.path), reason] += sum(sizes)
        yield TextBatch(file.name, pl.DataFrame(schema=TEXT_SCHEMA), pl.DataFrame(schema=LABEL_SCHEMA), unread)
        stored, count = sum(chunk.total_compressed_size for chunk in chunks), 0
        texts = (chunk for chunk in chunks if _belongs_to(chunk.path_in_schema, layout.texts))
        values = sum(chunk.total_uncompressed_size for chunk in texts)
        size = max(1, min(BATCH_ROWS, sum(group.num_rows for group in groups) * BATCH_BYTES // max(values, 1)))
        for batch in opened.iter_batches(size, list(range(start, stop)), names, use_threads=False):
            count += count_bytes(batch)
            refuse_expansion(file.name, count, min(stored, file.size))
            table = pa.table(batch)
            table.validate(full=True)  # texts are UTF-8
            yield table_texts(file.name, layout, first_row, table)
            first_row += batch.num_rows


REPEATED = re.compile(r"\.(?:list|bag|array)\.(?:element|item|array|array_element)(?=\.|$)")


def _leaf_reason(leaf: Any, layout: Layout) -> str:
    """Why a leaf of a Parquet file is not read; empty where it is."""
    if leaf.logical_type.type in ("STRING", "JSON", "ENUM"):
        return "" if _belongs_to(leaf.path, layout.texts) else "request"
    return "binary" if leaf.physical_type == "BYTE_ARRAY" else "number"


def read_arrow(file: DataFile, layout: Layout) -> Iterator[TextBatch]:
    """The texts of an Arrow file, batch by batch. Raises SourceError for data that are corrupt or not UTF-8."""
    row = 0
    with open_arrow(file) as (_, batches):
        for batch in batches:
            for start in range(0, batch.num_rows, BATCH_ROWS):
                table = pa.table(batch.slice(start, BATCH_ROWS))
                table.validate(full=True)
                unread = Unread()
                for name, column in zip(table.column_names, table.columns, strict=True):
                    if name not in (*layout.texts, layout.label):
                        unread[name, _type_reason(column.type)] += column.nbytes
                texts = table_texts(file.name, layout, row, table)
                yield replace(texts, unread=Unread(texts.unread) + unread)
                row += table.num_rows


def _type_reason(kind: Any) -> str:
    if holds_strings(kind):
        return "request"
    types = pa.types
    return (
        "binary"
        if types.is_binary(kind) or types.is_large_binary(kind)
        else "null"
        if types.is_null(kind)
        else "number"
    )


@contextmanager
def open_arrow(file: DataFile) -> Iterator[tuple[Any, Iterator[Any]]]:
    """The schema and the record batches of Arrow's file format, or its stream format, as `save_to_disk` writes it."""
    try:
        with open_native(file) if file.address else pa.memory_map(str(file.path)) as source:
            is_file = source.read(len(ARROW_MAGIC)) == ARROW_MAGIC
            source.seek(0)
            if is_file:
                opened = pa.ipc.open_file(source)
                yield opened.schema, map(opened.get_batch, range(opened.num_record_batches))
            else:
                opened = pa.ipc.open_stream(source)
                yield opened.schema, iter(opened)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise corrupt_file(file, "Arrow file", "Arrow", error) from error


def _belongs_to(path: str, names: Sequence[str]) -> bool:
    """Whether a leaf belongs to one of these columns: `pos.list.element` to `pos`."""
    return any(path == name or path.startswith(f"{name}.") for name in names)


def read_rows(file: DataFile) -> Iterator[list[bytes]]:
    """The lines of a file, or the elements of its array, in lists of a few megabytes. Raises SourceError as `read_lines` does."""
    if file.format != "JSON":
        yield from read_lines(file)
        return
    raw = Raw(file.name, file.path, opener=partial(open_address, file.address) if file.address else None)
    for elements in in_batches(read_elements(raw, "[]", PIECE)):
        yield [element for _, element in elements]


def in_batches(records: Iterable[tuple[Fields, bytes]]) -> Iterator[list[tuple[Fields, bytes]]]:
    """Records with their bytes, in lists of BATCH_ROWS, or of fewer that come to a few megabytes."""
    batch, size = list[tuple[Fields, bytes]](), 0
    for record in records:
        batch.append(record)
        size += len(record[1])
        if len(batch) == BATCH_ROWS or size >= PIECE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
