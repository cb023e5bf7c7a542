"""The rows of files as batches of texts: JSON lines, CSV and TSV, also with the bytes of each record, and Parquet.

Texts are in all columns of strings or lists of strings but ids, addresses and labels, or in the columns that are named.
The formats of sentence-transformers (anchor, positive, negative_1, sentence1, score) and BGE (query, pos, neg) need no
their own rules: their texts are strings or lists of strings, and their labels have names that are known here.

The row of a record is its number from 0, without the header; a field in quotes may hold line ends. A blank line is a
row without texts.

The row of a line is its number from 0, blank lines included: row 4 is the fifth line.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from typing import Any

import numpy as np
import orjson
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders import limits
from builders.errors import SourceError, UsageError
from builders.reading.csv import split_rows
from builders.reading.lines import split_lines
from builders.reading.values import shorten
from pipelines.checking.batches import (
    BATCH_ROWS,
    LABEL_SCHEMA,
    Collector,
    TextBatch,
    label_texts,
    row_error,
    shorten_json,
)
from pipelines.checking.data_files import PIECE, DataFile, open_stream
from pipelines.checking.formats import count_bytes, refuse_expansion
from pipelines.process.safe_text import first_line


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
    with open_stream(file.path, file.compression, file.name, offset) as stream:
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
            found, expected = f"more than {limits.MAX_RECORD:,} bytes", f"at most {limits.MAX_RECORD:,} bytes"
            what, todo = "a line is too large", "see that the file has line ends, or leave it out"
            return row_error(file.name, first_row + lines_before, what, found=found, expected=expected, todo=todo)

        yield from split_lines(pieces(), too_large)


def find_line_borders(file: DataFile, size: int) -> Iterator[tuple[int, int]]:
    """Where a plain file is divided into pieces of at least `size` bytes: offset and row of the first line of each.

    The lines are counted at the speed of the disk.
    """
    with open_stream(file.path, "", file.name) as stream:
        offset, row, target = 0, 0, size
        yield offset, row
        while data := stream.read(PIECE):
            counted = 0
            while end := data.find(b"\n", max(counted, target - 1 - offset)) + 1:
                row, counted, target = row + data.count(b"\n", counted, end), end, offset + end + size
                if offset + end < file.size:
                    yield offset + end, row
            row, offset = row + data.count(b"\n", counted), offset + len(data)


LABELS = ("label", "labels", "score", "similarity_score", "similarity")  # the first one that a row has is its label
# Columns of strings that hold no text, by the last word of their names: `doc_id`, `source-url`, `pos_scores`, `sha256`.
NOT_TEXT = re.compile(
    r"(?:.*[-_.\s])?(?:_?ids?|idx|index|uuid|guid|urls?|uri|link|path|file|filename|hash|md5|sha1|sha256|digest|"
    r"date|datetime|time|timestamp|created|modified|lang|language|languages|licen[cs]e|type|split|"
    r"labels?|scores?|similarity)",
    re.IGNORECASE,
)
SHOWN = 30  # columns that an error lists


@dataclass(frozen=True)
class Layout:
    """The columns of a file.

    columns: all of them, in order; of JSON lines those of the first records. texts: those with texts. label: the one
    with labels, if there is one. requested: `texts` are the only ones to read; otherwise records of JSON lines may have
    others too.
    """

    columns: tuple[str, ...]
    texts: tuple[str, ...]
    label: str | None
    requested: bool


@lru_cache(maxsize=4096)
def may_hold_text(name: str) -> bool:
    """Whether a column of strings with this name is read by default."""
    return NOT_TEXT.fullmatch(name) is None


def choose_columns(where: str, columns: Sequence[str], textual: Sequence[str], requested: Sequence[str]) -> Layout:
    """The layout of a file. columns: all that it has. textual: those with strings or lists of strings. requested: of
    --text.

    Raises UsageError where the file has none of the requested columns, or one that holds no texts, SourceError where it
    has no texts.
    """
    label = next((name for name in LABELS if name in columns and name not in requested), None)
    if not requested:
        texts = tuple(name for name in textual if may_hold_text(name))
        if not texts:
            raise SourceError(
                "the file has no column of texts",
                where=where,
                found=f"columns {list_names(columns)}",
                expected="a column of strings, or of lists of strings, that is not an id, an address or a label",
                todo="leave the file out, or name a column with --text",
            )
        return Layout(tuple(columns), texts, label, requested=False)
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
            expected="strings, or lists of strings",
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
                found = f"byte 0x{error.object[error.start]:02x} ({error.reason})"
                raise row_error(file.name, row, "invalid UTF-8", found=found, expected="UTF-8", todo=FIX_ROW) from error
            parts.append(line)
            yield text

    def too_large() -> SourceError:
        found, expected = f"more than {limits.MAX_RECORD:,} characters", f"at most {limits.MAX_RECORD:,} characters"
        return row_error(file.name, row, "a row is too large", found=found, expected=expected, todo=FIX_ROW)

    def invalid(error: csv.Error, text: str) -> SourceError:
        expected = 'fields with " around those that hold line ends, and each " in them doubled'
        found = f"{error}: {shorten(text)}"
        return row_error(file.name, row, "invalid row", found=found, expected=expected, todo=FIX_ROW)

    for fields, _ in split_rows(decoded(), SEPARATORS[file.format], quotes=True, too_large=too_large, invalid=invalid):
        yield fields, b"".join(parts)
        parts.clear()
        row += 1


def _require_few_columns(file: str, names: Sequence[str]) -> None:
    if len(names) > limits.MAX_COLUMNS:
        todo = "leave the file out; a separator that occurs in texts makes columns of words"
        found, expected = f"{len(names):,} columns", f"at most {limits.MAX_COLUMNS:,}"
        raise SourceError("too many columns", where=file, found=found, expected=expected, todo=todo)


def csv_layout(file: str, header: Sequence[str], requested: Sequence[str]) -> Layout:
    """The layout of a file by its header; raises SourceError for a name that it has twice, and the errors of
    `choose_columns`."""
    _require_few_columns(file, header)
    if twice := [name for name, count in Counter(header).items() if count > 1]:
        what = f"two columns are called {twice[0]!r}"
        raise row_error(
            file, HEADER, what, found="the header", expected="a name for each column", todo="fix the header"
        )
    return choose_columns(file, header, header, requested)


def parse_records(file: str, first_row: int, records: Sequence[Record], layout: Layout) -> TextBatch:
    """The texts of consecutive records: the fields of text columns that are not empty.

    Raises SourceError, with the row, for a record with too few or too many fields.
    """
    collector, width = Collector(), len(layout.columns)
    texts = [(layout.columns.index(name), name) for name in layout.texts]
    label = layout.columns.index(layout.label) if layout.label is not None else None
    for row, (fields, _) in enumerate(records, first_row):
        if len(fields) != width:
            if not fields:
                continue
            what, found = "a row has too few or too many fields", f"{len(fields)} fields: {shorten(str(fields))}"
            raise row_error(file, row, what, found=found, expected=f"{width} fields, as in the header", todo=FIX_ROW)
        for index, name in texts:
            if fields[index]:
                collector.rows.append(row)
                collector.columns.append(name)
                collector.texts.append(fields[index])
        if label is not None and fields[label]:
            collector.label_rows.append(row)
            collector.labels.append(fields[label])
    return collector.batch(file)


FIX_LINE = "fix the line, or leave the file out"
LIST = ""  # the column of a line that is a list: its texts are `[0]`, `[1]`, ...


def json_layout(file: str, lines: Sequence[bytes], requested: Sequence[str]) -> Layout:
    """The layout of a file from its first lines.

    Raises SourceError for a line that is invalid or not an object or a list, and the errors of `choose_columns`.
    """
    columns: dict[str, bool] = {}  # name -> whether a text was found
    for row, line in enumerate(lines):
        for name, value in (_parse(file, row, line) or {}).items():
            columns[name] = columns.get(name, False) or _is_text(value)
    return choose_columns(file, [*columns], [name for name, textual in columns.items() if textual], requested)


def parse_lines(file: str, first_row: int, lines: Sequence[bytes], layout: Layout) -> TextBatch:
    """The texts of consecutive lines.

    By default these are all strings and lists of strings of a record but ids, addresses and labels, in columns that the
    first records lack too. A requested column may be missing or null; any other type in it is an error.

    Raises SourceError, with the row, for a line that is not UTF-8, not JSON, or not an object or a list.
    """
    collector = Collector()
    rows, columns, texts = collector.rows, collector.columns, collector.texts
    for row, line in enumerate(lines, first_row):
        record = _parse(file, row, line)
        if record is None:
            continue
        for name, value in _requested(file, row, record, layout) if layout.requested else record.items():
            kind = type(value)
            if kind is str:
                if value and (layout.requested or may_hold_text(name)):
                    rows.append(row)
                    columns.append(name)
                    texts.append(value)
            elif kind is list and (layout.requested or may_hold_text(name)):
                collector.add_items(row, name, value)
        for name in LABELS:
            if name in record and name not in layout.texts:
                collector.label_rows.append(row)
                collector.labels.append(record[name])
                break
    return collector.batch(file)


def _requested(file: str, row: int, record: dict[str, Any], layout: Layout) -> list[tuple[str, Any]]:
    """The values of the requested columns; raises SourceError where one is not a text, a list of texts, or null."""
    values = [(name, record[name]) for name in layout.texts if record.get(name) is not None]
    for name, value in values:
        items = value if type(value) is list else [value]
        if not all(type(item) is str or (item is None and value is not item) for item in items):
            what, todo = f"the column {name!r} has the wrong type", "fix the row, or name other columns with --text"
            expected = "a string, or a list of strings"
            raise row_error(file, row, what, found=shorten_json(value), expected=expected, todo=todo)
    return values


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
    expected = 'an object, such as {"text": "..."}, or a list of texts'
    raise row_error(file, row, "not a JSON object", found=shorten_json(record), expected=expected, todo=FIX_LINE)


@lru_cache(maxsize=10_000)
def _quoted(name: str) -> bytes:
    return f'"{name}"'.encode(errors="replace")


def _refuse_repeated_key(file: str, row: int, line: bytes) -> None:
    """Raise SourceError where the object of a line has a key twice: readers take the first value, the last one, or neither."""
    with suppress(ValueError, RecursionError):  # what only `_parse_leniently` reads
        names = [name for name, _ in json.loads(line, object_pairs_hook=list)]
        if len(set(names)) < len(names):
            [(name, _)] = Counter(names).most_common(1)
            what, expected = f"the key {name!r} occurs twice", "each key once"
            raise row_error(file, row, what, found=shorten(line.decode()), expected=expected, todo=FIX_LINE)


def _parse_leniently(file: str, row: int, line: bytes, error: orjson.JSONDecodeError) -> Any:
    """What Python's own json writes and orjson refuses: NaN, and halves of surrogate pairs, which become U+FFFD."""
    try:
        text = line.decode()
    except UnicodeDecodeError as problem:
        found = f"byte 0x{problem.object[problem.start]:02x} at byte {problem.start + 1} of the line"
        raise row_error(file, row, "invalid UTF-8", found=found, expected="UTF-8", todo=FIX_LINE) from problem
    try:
        return _replace_surrogates(json.loads(text))
    except (ValueError, RecursionError) as problem:
        where = f", at character {error.pos + 1}" if isinstance(problem, ValueError) else ": nested too deeply"
        found = f"{error.msg}{where}: {shorten(text.rstrip()[max(0, error.pos - 30) :])}"
        expected = "one complete JSON object a line"
        raise row_error(file, row, "invalid JSON", found=found, expected=expected, todo=FIX_LINE) from problem


def _replace_surrogates(value: Any) -> Any:
    if type(value) is str:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if type(value) is list:
        return [_replace_surrogates(item) for item in value]
    if type(value) is dict:
        return {_replace_surrogates(key): _replace_surrogates(item) for key, item in value.items()}
    return value


def _is_text(value: Any) -> bool:
    return type(value) is str or (type(value) is list and any(type(item) is str for item in value))


BATCH_BYTES = 4 << 20  # of the values of a batch, on average
BUFFER = 1 << 20


@contextmanager
def open_parquet(file: DataFile) -> Iterator[Any]:
    """A Parquet file, which is read in pieces.

    Raises SourceError, on opening or from the block, where it is truncated or corrupt.
    """
    try:
        with pq.ParquetFile(file.path, buffer_size=BUFFER, pre_buffer=False) as opened:
            yield opened
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:  # a name in the footer with any bytes
        raise SourceError(
            "truncated or corrupt Parquet file",
            where=file.name,
            found=first_line(error),
            expected="Parquet",
            todo="download it again, or leave it out",
        ) from error


def parquet_layout(file: DataFile, requested: Sequence[str]) -> Layout:
    """The layout of a file by its schema; raises the errors of `choose_columns`, and SourceError for a name that it has
    twice."""
    with open_parquet(file) as opened:
        schema = opened.schema_arrow
    _require_few_columns(file.name, schema.names)
    if twice := [name for name, count in Counter(schema.names).items() if count > 1]:
        what = f"two columns are called {twice[0]!r}"
        raise SourceError(
            what, where=file.name, expected="a name for each column", todo="rename one, or leave the file out"
        )
    return choose_columns(
        file.name, schema.names, [field.name for field in schema if _is_textual(field.type)], requested
    )


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
            texts += sum(column.total_uncompressed_size for column in columns if _belongs_to(column, layout.texts))
            stored += sum(column.total_compressed_size for column in columns)
            if texts >= size or number == metadata.num_row_groups - 1:
                if row > first_row:
                    pieces.append((first_row, first, number + 1, stored))
                first_row, first, texts, stored = row, number + 1, 0, 0
    return pieces


def read_groups(file: DataFile, layout: Layout, first_row: int, start: int, stop: int) -> Iterator[TextBatch]:
    """The texts of some row groups: the rows that they have in all, and `first_row` is the first of them.

    Raises SourceError for data that are corrupt or not UTF-8.
    """
    names = [*layout.texts, *([layout.label] if layout.label else [])]
    with open_parquet(file) as opened:
        groups = [opened.metadata.row_group(number) for number in range(start, stop)]
        columns = (group.column(index) for group in groups for index in range(group.num_columns))
        stored, count = sum(column.total_compressed_size for column in columns), 0
        for batch in opened.iter_batches(
            rows_per_batch(opened.metadata, layout, start, stop), list(range(start, stop)), names, use_threads=False
        ):
            count += count_bytes(batch)
            refuse_expansion(file.name, count, min(stored, file.size))
            table = pa.table(batch)
            table.validate(full=True)  # texts are UTF-8
            yield _batch(file.name, layout, first_row, table)
            first_row += batch.num_rows


def rows_per_batch(metadata: Any, layout: Layout, start: int, stop: int) -> int:
    """How many rows come to BATCH_BYTES, at most BATCH_ROWS."""
    groups = [metadata.row_group(number) for number in range(start, stop)]
    rows: int = sum(group.num_rows for group in groups)
    columns = (group.column(index) for group in groups for index in range(group.num_columns))
    size: int = sum(column.total_uncompressed_size for column in columns if _belongs_to(column, layout.texts))
    return max(1, min(BATCH_ROWS, rows * BATCH_BYTES // max(size, 1)))


def _belongs_to(column: Any, names: Sequence[str]) -> bool:
    """Whether a leaf belongs to one of these columns: `pos.list.element` to `pos`."""
    path = column.path_in_schema
    return any(path == name or path.startswith(f"{name}.") for name in names)


def _is_textual(kind: Any) -> bool:
    """Whether values of a type are strings, or lists of strings."""
    types = pa.types
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        kind = kind.value_type
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _batch(file: str, layout: Layout, first_row: int, table: Any) -> TextBatch:
    rows = pl.Series("row", np.arange(first_row, first_row + table.num_rows), dtype=pl.Int64)
    frames = [_column_texts(rows, name, pl.Series(name, table[name])) for name in layout.texts]
    texts = pl.concat(frames)
    if len(frames) > 1 or isinstance(table[layout.texts[0]].type, pa.ListType):
        texts = texts.sort("row", maintain_order=True)
    return TextBatch(file, texts, _labels(rows, pl.Series(table[layout.label])) if layout.label else _no_labels())


def _column_texts(rows: pl.Series, name: str, values: pl.Series) -> pl.DataFrame:
    """The texts of a column, without nulls and empty ones: row, column, text."""
    frame = pl.DataFrame({"row": rows, "text": values})
    column = pl.lit(name)
    if isinstance(values.dtype, pl.List | pl.Array):
        lists = pl.col("text").cast(pl.List(pl.String))
        frame = frame.with_columns(lists).filter(pl.col("text").list.len() > 0)
        frame = frame.with_columns(item=pl.int_ranges(0, pl.col("text").list.len(), dtype=pl.Int64))
        frame = frame.explode("text", "item")
        column = pl.concat_str(pl.lit(f"{name}["), pl.col("item").cast(pl.String), pl.lit("]"))
    text = pl.col("text").cast(pl.String)
    return frame.select("row", column=column, text=text).filter(pl.col("text") != "")


def _labels(rows: pl.Series, values: pl.Series) -> pl.DataFrame:
    if isinstance(values.dtype, pl.Struct | pl.Object | pl.Binary):
        return _no_labels()
    if isinstance(values.dtype, pl.Categorical | pl.Enum):
        values = values.cast(pl.String)
    labels = label_texts(values).cast(pl.String)
    return pl.DataFrame({"row": rows, "label": labels}, schema=LABEL_SCHEMA).drop_nulls()


def _no_labels() -> pl.DataFrame:
    return pl.DataFrame(schema=LABEL_SCHEMA)


HEAD_LINES = 100  # of a file of JSON lines, whose columns are those of its layout


def infer_layout(file: DataFile, requested: Sequence[str]) -> Layout | None:
    """The layout of a file; None where it has no rows.

    Raises SourceError where the beginning of the file cannot be read, and the errors of `choose_columns`.
    """
    if file.format == "Parquet":
        return parquet_layout(file, requested)
    if file.format == "JSON lines":
        lines = list(islice(chain.from_iterable(read_lines(file)), HEAD_LINES))
        return json_layout(file.name, lines, requested) if b"".join(lines).strip() else None
    header = read_header(file)
    return None if header is None else csv_layout(file.name, header[0], requested)


def read_header(file: DataFile) -> Record | None:
    """The header of a file of CSV or TSV; None for an empty file."""
    return next(read_records(file, chain.from_iterable(read_lines(file)), HEADER), None)


def in_batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Records in lists of BATCH_ROWS, or of fewer that come to a few megabytes."""
    batch, size = list[Record](), 0
    for record in records:
        batch.append(record)
        size += len(record[1])
        if len(batch) == BATCH_ROWS or size >= PIECE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
