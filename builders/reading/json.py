"""Read JSON lines, JSON arrays of objects, and JSON objects of objects."""

import codecs
import io
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, BinaryIO

import orjson
import polars as pl

from builders import limits
from builders.errors import SourceError
from builders.reading.archives import open_raw
from builders.reading.errors import malformed, not_utf8, shorten, too_large
from builders.reading.json_elements import JSON_SPACE, read_elements
from builders.reading.json_plain import parse_plain_lines
from builders.reading.json_records import to_records
from builders.reading.values import Columns, MismatchError, check_values, make_schema, mismatch_error
from builders.spec import Raw

BATCH = 4 << 20  # bytes of JSON per frame
MEMBER_BATCH = 1 << 20  # bytes per frame of json_members: as fast, and parsing takes forty bytes of memory per byte
SPACE = JSON_SPACE.encode()


def json_batches(
    raw: Raw,
    columns: Columns,
    *,
    optional: Collection[str] = (),
    numbers_as_text: Collection[str] = (),
    records: Collection[str] = (),
) -> Iterator[tuple[int, Callable[[], pl.DataFrame]]]:
    """Yield the batches of `json_lines` unparsed, so that the caller can parse several at once.

    Each is the number of its first line, from 1, and a function that parses it, with the errors of `json_lines`.
    """
    options = {"optional": optional, "numbers_as_text": numbers_as_text, "records": records}
    for first, lines in _line_batches(raw):
        yield first, partial(_frame, raw, "line", first, lines, columns, **options)


def json_lines(
    raw: Raw,
    columns: Columns,
    *,
    optional: Collection[str] = (),
    numbers_as_text: Collection[str] = (),
    records: Collection[str] = (),
) -> Iterator[pl.DataFrame]:
    r"""Yield frames of the named columns of a file with one JSON object per line, a few megabytes at a time.

    columns: String, Int64, Float64, Boolean, List and Struct of these. Other keys are ignored; the last value of a repeated
    key counts.
    optional: paths that may be null or missing (both become null): a column `part`, a key below it `question.note`, the items
    of a list `answers[]`. numbers_as_text: String columns in which the source also writes numbers; a number becomes its
    shortest JSON text (10, 10.0, 8.5). records: columns of lists of objects that a line may also have as one object of lists
    (builders.reading.json_records).

    Lines end in "\n" or "\r\n"; the last line end may be missing. Blank lines are allowed only at the end of the file.

    Raises SourceError for a line that is not UTF-8, not JSON or not an object, and for a column that is missing, null or of
    another type; see `builders.reading.values.check_values`.
    """
    for _, parse in json_batches(raw, columns, optional=optional, numbers_as_text=numbers_as_text, records=records):
        yield parse()


def read_json_lines(
    raw: Raw, columns: Columns, *, optional: Collection[str] = (), numbers_as_text: Collection[str] = ()
) -> pl.DataFrame:
    """The frames of `json_lines` as one frame; it has no rows if the file is empty."""
    return _concat(json_lines(raw, columns, optional=optional, numbers_as_text=numbers_as_text), columns)


def read_json_array(
    raw: Raw, columns: Columns, *, optional: Collection[str] = (), numbers_as_text: Collection[str] = ()
) -> pl.DataFrame:
    """The objects of a file that is one JSON array, under the rules of `json_lines`.

    Errors number the records from 1. The file is read in pieces: only the frame is held in memory.
    """
    batches = _element_batches(raw, "[]", BATCH)
    frames = (
        _frame(raw, "record", first, batch, columns, optional=optional, numbers_as_text=numbers_as_text)
        for first, _, batch in batches
    )
    return _concat(frames, columns)


def json_objects(raw: Raw, columns: Columns, *, optional: Collection[str] = ()) -> Iterator[pl.DataFrame]:
    """Yield frames of a file that is one JSON array of objects or has one object per line: its first character says which.

    The rules and errors are those of `json_lines`; in an array, errors number the records from 1. The file is read in pieces.
    """
    if not _begins_with_bracket(raw):
        yield from json_lines(raw, columns, optional=optional)
        return
    for first, _, batch in _element_batches(raw, "[]", BATCH):
        yield _frame(raw, "record", first, batch, columns, optional=optional)


def json_members(raw: Raw, columns: Columns, *, key: str, optional: Collection[str] = ()) -> Iterator[pl.DataFrame]:
    """Yield frames of a file that is one JSON object of objects, {"name": {...}, ...}, about a megabyte at a time.

    key: the first column (String), which holds the names. The other columns are those of the objects, under the rules of
    `json_lines`. Errors number the members from 1. A repeated name gives a row for each member. The file is read in pieces.
    """
    for first, names, batch in _element_batches(raw, "{}", MEMBER_BATCH):
        frame = _frame(raw, "record", first, batch, columns, optional=optional)
        yield frame.insert_column(0, pl.Series(key, names, pl.String))


def _begins_with_bracket(raw: Raw) -> bool:
    """Whether the first byte of a file is `[`, after a byte order mark and spaces."""
    with open_raw(replace(raw, watch=None)) as file:
        head = file.read(len(codecs.BOM_UTF8)).removeprefix(codecs.BOM_UTF8).lstrip(SPACE)
        while not head and (more := file.read(BATCH)):
            head = more.lstrip(SPACE)
    return head.startswith(b"[")


def _concat(frames: Iterator[pl.DataFrame], columns: Columns) -> pl.DataFrame:
    return pl.concat([pl.DataFrame(schema=pl.Schema(columns)), *frames])


def _frame(
    raw: Raw,
    unit: str,
    first: int,
    batch: list[bytes],
    columns: Columns,
    *,
    optional: Collection[str],
    numbers_as_text: Collection[str] = (),
    records: Collection[str] = (),
) -> pl.DataFrame:
    """The frame of one batch of JSON texts; `first` is the number of its first line or record."""
    schema = make_schema(columns, optional)
    if any(schema.get(name) != pl.String for name in numbers_as_text):
        raise ValueError(f"numbers_as_text names {sorted(numbers_as_text)}: not all are String columns")
    frame = parse_plain_lines(batch, schema) if unit == "line" else None
    if frame is not None:
        return frame
    record = pl.Struct(schema)
    rows, error = _parse(batch)
    for name in numbers_as_text:
        _numbers_to_text(rows, name)
    for name in records:
        _read_records(rows, name, schema[name], raw=raw, unit=unit, first=first)
    try:
        check_values(rows, record, "", optional)
    except MismatchError:
        index, mismatch = _first_mismatch(rows, record, optional)
        raise mismatch_error(raw, f"{unit} {first + index}", mismatch) from mismatch
    if error is not None:
        raise _invalid_json(raw, f"{unit} {first + len(rows)}", batch[len(rows)], error) from error
    return pl.DataFrame([pl.Series(name, [row.get(name) for row in rows], schema[name]) for name in schema])


def _parse(batch: list[bytes]) -> tuple[list[Any], orjson.JSONDecodeError | None]:
    """The parsed texts up to the first invalid one, and the error of that one."""
    rows = []
    for text in batch:
        try:
            rows.append(orjson.loads(text))
        except orjson.JSONDecodeError as error:
            return rows, error
    return rows, None


def _numbers_to_text(rows: list[Any], name: str) -> None:
    for row in rows:
        if isinstance(row, dict) and type(row.get(name)) in (int, float):
            row[name] = orjson.dumps(row[name]).decode()


def _read_records(rows: list[Any], name: str, dtype: pl.DataType, *, raw: Raw, unit: str, first: int) -> None:
    for number, row in enumerate(rows, first):
        if isinstance(row, dict) and name in row:
            try:
                row[name] = to_records(row[name], name, dtype)
            except MismatchError as mismatch:
                raise mismatch_error(raw, f"{unit} {number}", mismatch) from mismatch


def _first_mismatch(rows: list[Any], record: pl.Struct, optional: Collection[str]) -> tuple[int, MismatchError]:
    """The first row that does not match: checking a batch finds only the column."""
    for index, row in enumerate(rows):
        try:
            check_values([row], record, "", optional)
        except MismatchError as mismatch:
            return index, mismatch
    raise AssertionError("a batch matches if each of its rows does")


def _invalid_json(raw: Raw, location: str, text: bytes, error: orjson.JSONDecodeError) -> SourceError:
    if not text.strip(SPACE):
        what, found = "a blank line among the records", "a blank line"
        return malformed(raw, location, what, found=found, expected="a JSON object")
    try:
        line = text.decode().rstrip("\r\n")
    except UnicodeDecodeError as decode_error:
        return not_utf8(raw, location, decode_error)
    start = max(0, error.pos - 30)
    found = f"{error.msg}, at character {error.pos + 1}: {shorten(line[start:])}"
    return malformed(raw, location, "invalid JSON", found=found, expected="one complete JSON object")


def _line_batches(raw: Raw) -> Iterator[tuple[int, list[bytes]]]:
    """Yield runs of lines, each with the number of its first line.

    Blank lines at the end of the file are dropped. A blank line among the records stays, and parsing refuses it.
    """
    first, remaining = 1, raw.limit
    blank: list[bytes] = []
    with open_raw(raw) as file:
        while (remaining is None or remaining > 0) and (lines := _read_lines(raw, file, first + len(blank))):
            if first == 1 and not blank:
                lines[0] = lines[0].removeprefix(codecs.BOM_UTF8)
            lines = blank + lines
            end = len(lines)
            while end and not lines[end - 1].strip(SPACE):
                end -= 1
            blank = lines[end:]
            lines = lines[:end] if remaining is None else lines[: min(end, remaining)]
            if lines:
                yield first, lines
            first += len(lines)
            remaining = remaining if remaining is None else remaining - len(lines)


def _read_lines(raw: Raw, file: BinaryIO, first: int) -> list[bytes]:
    """The next lines of a file, BATCH bytes and the rest of the last one; `first` is the number of the first."""
    data = file.read(BATCH)
    if data and not data.endswith(b"\n"):
        rest = file.readline(limits.MAX_RECORD + 1)
        if len(rest) > limits.MAX_RECORD:
            number = first + data.count(b"\n")
            raise too_large(raw, f"line {number}", "a line", limits.MAX_RECORD)
        data += rest
    return io.BytesIO(data).readlines()


def _element_batches(raw: Raw, brackets: str, size: int) -> Iterator[tuple[int, list[str], list[bytes]]]:
    """Yield runs of elements of about `size` bytes: the number of the first, from 1, their names, and their JSON texts."""
    first, total, names, batch = 1, 0, list[str](), list[bytes]()
    for name, element in read_elements(raw, brackets, size):
        names.append(name)
        batch.append(element)
        total += len(element)
        if total >= size:
            yield first, names, batch
            first, total, names, batch = first + len(batch), 0, [], []
    if batch:
        yield first, names, batch
