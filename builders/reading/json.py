"""Read JSON lines, JSON arrays of objects, and JSON objects of objects.

Not ijson: its fast backend silently replaces a lone surrogate with "?".

`datasets` turns a list of objects, [{"id": 1, "text": "a"}, {"id": 2, "text": "b"}], into an object of lists of equal lengths,
{"id": [1, 2], "text": ["a", "b"]}, and a program that writes its rows as JSON publishes the second shape.
"""

import codecs
import io
import json
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, cast

import orjson
import polars as pl
import pyarrow as pa
import pyarrow.json as arrow_json

from builders import limits
from builders.errors import SourceError
from builders.reading.archives import open_raw
from builders.reading.lines import split_lines
from builders.reading.values import (
    Columns,
    MismatchError,
    Type,
    check_values,
    describe_value,
    make_schema,
    malformed,
    mismatch_error,
    not_utf8,
    shorten,
    too_large,
)
from builders.spec import Raw

JSON_SPACE = " \t\r\n"
SPACES = re.compile(f"[{JSON_SPACE}]*")
SURROGATE = re.compile("[\ud800-\udfff]")
# The decoder only finds where an element ends. The caller parses the element with orjson, which refuses NaN and lone surrogates.
DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


def read_elements(raw: Raw, brackets: str, piece: int) -> Iterator[tuple[str, bytes]]:
    """Yield name and JSON text of each element of the array ("[]", names are "") or member of the object ("{}") in a file.

    piece: how many characters to read at a time, at least; an element may be longer. `raw.limit` counts elements. Bytes that are
    not UTF-8 pass through: the parser of the element refuses them and names its record.

    Raises SourceError, with the record's number from 1, if the file is not such an array or object.
    """
    kind, example = ("array", "[{...}, ...]") if brackets == "[]" else ("object", '{"name": {...}, ...}')
    with open_raw(raw) as file:
        reader = io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="")
        buffer, position, number = _skip_spaces(reader, "", 0, piece), 0, 1
        if not buffer.startswith(brackets[0]):
            raise malformed(
                raw,
                "",
                f"not a JSON {kind}",
                found=shorten(buffer + reader.read(60)) if buffer else "an empty file",
                expected=f"an {kind} of objects: {example}",
            )
        buffer = _skip_spaces(reader, buffer, 1, piece)
        complete = buffer.startswith(brackets[1])
        position = int(complete)
        while not complete and (raw.limit is None or number <= raw.limit):
            try:
                name, text, complete, end = _parse_element(buffer, position, brackets)
            except (json.JSONDecodeError, RecursionError) as error:
                length = len(buffer) - position
                # An element that is still incomplete at the limit is malformed.
                more = "" if length > limits.MAX_RECORD else reader.read(max(piece, length))
                if not more:
                    raise _invalid_element(raw, number, buffer[position:], error, brackets) from error
                buffer, position = buffer[position:] + more, 0
                continue
            if SURROGATE.search(name):
                raise malformed(
                    raw,
                    f"record {number}",
                    "a name that is not valid Unicode",
                    found=shorten(name),
                    expected="a name in UTF-8",
                )
            yield name, text.encode("utf-8", "surrogateescape")
            number, position = number + 1, end
        trailing = _skip_spaces(reader, buffer, position, piece) if complete else ""
        if trailing:
            raise malformed(
                raw,
                "",
                f"text after the {kind}",
                found=shorten(trailing + reader.read(60)),
                expected=f"nothing after {brackets[1]}",
            )


def _skip_spaces(reader: io.TextIOWrapper, buffer: str, position: int, piece: int) -> str:
    """The buffer from the next character that is not a space, read on if necessary; empty at the end of the file."""
    rest = buffer[position:].lstrip(JSON_SPACE)
    while not rest and (more := reader.read(piece)):
        rest = more.lstrip(JSON_SPACE)
    return rest


def _parse_element(text: str, position: int, brackets: str) -> tuple[str, str, bool, int]:
    """Name and text of the element at a position, whether it is the last one, and the position after it."""
    name, start = _parse_name(text, position) if brackets == "{}" else ("", _after_spaces(text, position))
    end = DECODER.raw_decode(text, start)[1]
    delimiter_at = _after_spaces(text, end)
    delimiter = text[delimiter_at : delimiter_at + 1]
    if delimiter not in {",", brackets[1]}:
        raise json.JSONDecodeError(f"expected ',' or '{brackets[1]}' after an element", text, delimiter_at)
    return name, text[start:end], delimiter == brackets[1], delimiter_at + 1


def _parse_name(text: str, position: int) -> tuple[str, int]:
    """The name of the member at a position, and the position of its value."""
    start = _after_spaces(text, position)
    name, end = DECODER.raw_decode(text, start)
    colon = _after_spaces(text, end)
    if text[start] != '"' or text[colon : colon + 1] != ":":
        raise json.JSONDecodeError("expected a name in quotes and ':'", text, start)
    return name, _after_spaces(text, colon + 1)


def _after_spaces(text: str, position: int) -> int:
    match = SPACES.match(text, position)
    assert match is not None
    return match.end()


def _invalid_element(raw: Raw, number: int, rest: str, error: Exception, brackets: str) -> SourceError:
    text = rest.lstrip(JSON_SPACE)
    if not text:
        found = f"the file ends before the closing {brackets[1]}"
    elif isinstance(error, json.JSONDecodeError):
        found = f"{error.msg}: {shorten(error.doc[max(0, error.pos - 30) :])}"
    else:
        found = f"an element nested too deeply: {shorten(text)}"
    return malformed(
        raw,
        f"record {number}",
        "invalid JSON",
        found=found,
        expected=f"one complete JSON object, then , or {brackets[1]}",
    )


def parse_plain_lines(lines: list[bytes], columns: pl.Schema) -> pl.DataFrame | None:
    """The frame of lines that each are one object with exactly these keys and a string under each; otherwise None.

    None does not mean that the lines are malformed: the strict parser decides, and names the line. pyarrow's parser runs without
    the GIL. It refuses repeated and unknown keys, values of other types, lone surrogates and bad escapes, but it does not check
    the encoding, so that is done here, and it ignores line ends: to it `{...}{...}` on one line is two rows, and an object may
    continue on the next line. Counting rows is not enough, since the two can cancel out. So every line must also begin with `{`
    and end with `}`. An object cannot continue with `{` after a value, so each line then holds at least one whole object, and
    exactly one if there are as many rows as lines.
    """
    if any(dtype != pl.String for dtype in columns.values()):
        return None
    if not all(line.startswith(b"{") and line.rstrip(b"\r\n").endswith(b"}") for line in lines):
        return None
    data = b"".join(lines)
    schema = pa.schema([(name, pa.string()) for name in columns])
    try:
        pl.Series([data]).cast(pl.String)  # raises an error for invalid UTF-8
        table = arrow_json.read_json(
            pa.BufferReader(data),
            arrow_json.ReadOptions(use_threads=False, block_size=len(data) + 1),
            arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
        )
    except (pl.exceptions.PolarsError, pa.ArrowInvalid):
        return None
    if table.num_rows != len(lines) or any(column.null_count for column in table.columns):
        return None
    return cast("pl.DataFrame", pl.from_arrow(table)).select(columns.names())


def to_records(value: Any, name: str, dtype: Type) -> Any:
    """A value of the column `name` as a list of objects with the keys of its type; a value of neither shape as it is.

    dtype: List(Struct). A key that the object lacks, or that is null, is in no record.

    Raises MismatchError for lists of different lengths and for a key without a list, TypeError for another dtype.
    """
    if not isinstance(dtype, pl.List) or not isinstance(dtype.inner, pl.Struct):
        raise TypeError(f"column {name}: records need a List of Struct, not {dtype}")
    if not isinstance(value, dict):
        return value
    lists = {field.name: value[field.name] for field in dtype.inner.fields if value.get(field.name) is not None}
    for key, items in lists.items():
        if not isinstance(items, list):
            raise MismatchError(f"{name}.{key} has the wrong type", found=describe_value(items), expected="a list")
    lengths = {key: len(items) for key, items in lists.items()}
    if len(set(lengths.values())) > 1:
        raise MismatchError(
            f"{name} has lists of different lengths",
            found=", ".join(f"{length:,} of {key}" for key, length in lengths.items()),
            expected="as many of each",
        )
    return [dict(zip(lists, items, strict=True)) for items in zip(*lists.values(), strict=True)]


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
    (builders.reading.json).

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


def read_json_array(raw: Raw, columns: Columns, *, optional: Collection[str] = ()) -> pl.DataFrame:
    """The objects of a file that is one JSON array, under the rules of `json_lines`.

    Errors number the records from 1. The file is read in pieces: only the frame is held in memory.
    """
    return _concat(_array_frames(raw, columns, optional), columns)


def json_objects(raw: Raw, columns: Columns, *, optional: Collection[str] = ()) -> Iterator[pl.DataFrame]:
    """Yield frames of a file that is one JSON array of objects or has one object per line: its first character says which.

    The rules and errors are those of `json_lines`; in an array, errors number the records from 1. The file is read in pieces.
    """
    is_array = _begins_with_bracket(raw)
    yield from _array_frames(raw, columns, optional) if is_array else json_lines(raw, columns, optional=optional)


def _array_frames(raw: Raw, columns: Columns, optional: Collection[str]) -> Iterator[pl.DataFrame]:
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
        return malformed(
            raw, location, "a blank line among the records", found="a blank line", expected="a JSON object"
        )
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
        pieces = iter(partial(file.read, BATCH), b"") if remaining != 0 else ()
        for lines in split_lines(pieces, partial(_line_too_large, raw)):
            if first == 1 and not blank:
                lines[0] = lines[0].removeprefix(codecs.BOM_UTF8)
            several = blank + lines
            end = len(several)
            while end and not several[end - 1].strip(SPACE):
                end -= 1
            blank = several[end:]
            several = several[:end] if remaining is None else several[: min(end, remaining)]
            if several:
                yield first, several
            first += len(several)
            remaining = remaining if remaining is None else remaining - len(several)
            if remaining == 0:
                return


def _line_too_large(raw: Raw, lines_before: int) -> SourceError:
    return too_large(raw, f"line {lines_before + 1}", "a line", limits.MAX_RECORD)


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
