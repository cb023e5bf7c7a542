"""Column types: check parsed data against them, parse the cells of text tables; errors for malformed raw files, worded alike."""

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain, islice
from types import NoneType
from typing import Any, TypeVar

import orjson
import polars as pl
from polars.datatypes import DataTypeClass

from builders.errors import SourceError
from builders.spec import Raw
from builders.tasks import ColumnType

LONGEST = 2_000  # characters of a file that a message quotes
BATCH = 20_000  # rows held as Python objects


def malformed(raw: Raw, location: str, what: str, *, found: str, expected: str) -> SourceError:
    """The error for a malformed file; `location` is a line or record of it ("line 3"), or "" for the file as a whole."""
    return SourceError(
        f"{raw.name}: {what[:LONGEST]}",
        where=f"{raw.name}, {location[:LONGEST]}" if location else raw.name,
        found=found if len(found) <= LONGEST else f"{found[:LONGEST]}...",
        expected=expected,
        todo=f"if {raw.path} is not the published file, fetch it again; if it is, its format has changed",
    )


def not_utf8(raw: Raw, location: str, error: UnicodeDecodeError) -> SourceError:
    """The error for bytes that are not UTF-8; `location` is the line or record that holds them."""
    return malformed(
        raw,
        location,
        "invalid UTF-8",
        found=f"byte 0x{error.object[error.start]:02x} at byte {error.start + 1} ({error.reason})",
        expected="UTF-8",
    )


def too_large(raw: Raw, location: str, what: str, limit: int) -> SourceError:
    """The error for a record that exceeds a limit in bytes; `what` is "a line" or "an element"."""
    return malformed(
        raw, location, f"{what} is too large", found=f"more than {limit:,} bytes", expected=f"at most {limit:,} bytes"
    )


def shorten(text: str, width: int = 60) -> str:
    """The beginning of a text, enough to recognise it: quoted, with control characters escaped."""
    return repr(text if len(text) <= width else text[:width] + "...")


Type = pl.DataType | DataTypeClass
Columns = Mapping[str, Type]
Record = TypeVar("Record")

INTEGER = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
BOOLEANS = {"true": True, "True": True, "false": False, "False": False}
INT64 = range(-(2**63), 2**63)
# For each column type: the Python types that fit, and the type's name in error messages.
EXPECTED: dict[Type, tuple[set[type], str]] = {
    pl.String: ({str}, "a string"),
    pl.Int64: ({int}, "an integer of 64 bits"),
    pl.Float64: ({int, float}, "a number"),
    pl.Boolean: ({bool}, "true or false"),
    pl.List: ({list}, "a list"),
    pl.Struct: ({dict}, "an object"),
}
TYPE_NAMES = {
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "a boolean",
    list: "a list",
    dict: "an object",
    NoneType: "null",
}


class MismatchError(Exception):
    """A value does not match its column. The reader knows the file and the line, and makes it a SourceError."""

    def __init__(self, what: str, *, found: str, expected: str) -> None:
        super().__init__(what)
        self.what = what
        self.found = found
        self.expected = expected


def mismatch_error(raw: Raw, location: str, mismatch: MismatchError) -> SourceError:
    """The SourceError for a value that does not match its column, at a line or record of a file."""
    return malformed(raw, location, mismatch.what, found=mismatch.found, expected=mismatch.expected)


def make_schema(columns: Columns, optional: Collection[str]) -> pl.Schema:
    """The columns as a schema.

    Raises TypeError for a type that no reader supports and ValueError for an optional path that no column has: both are bugs
    of the builder, not faults of the file.
    """
    schema = pl.Schema(columns)
    paths = {path for name, dtype in schema.items() for path in _paths(name, dtype)}
    if not paths.issuperset(optional):
        raise ValueError(
            f"unknown paths in optional: {sorted(set(optional) - paths)}; the columns have {sorted(paths)}"
        )
    return schema


def describe_type(dtype: Type) -> str:
    """A column type in the words of error messages: "a string", "an object"."""
    return EXPECTED[dtype.base_type()][1]


def collect_rows(
    raw: Raw,
    records: Iterable[tuple[int, Record]],
    parse: Callable[[Record], list[Any]],
    schema: pl.Schema,
    unit: str = "line",
) -> pl.DataFrame:
    """The frame of at most `raw.limit` records of a file; BATCH rows at a time are Python objects.

    records: each with its number, by which errors name it as a `unit` of the file. parse: the values of a record.

    Raises SourceError for a record for which `parse` raises MismatchError.
    """

    def parsed() -> Iterator[list[Any]]:
        for number, record in islice(records, raw.limit):
            try:
                yield parse(record)
            except MismatchError as mismatch:
                raise mismatch_error(raw, f"{unit} {number}", mismatch) from mismatch

    frames, rows = [pl.DataFrame(schema=schema)], parsed()
    while batch := list(islice(rows, BATCH)):
        frames.append(pl.DataFrame(batch, schema, orient="row"))
    return pl.concat(frames)


def _paths(path: str, dtype: Type) -> Iterator[str]:
    yield path
    if isinstance(dtype, pl.List):
        yield from _paths(f"{path}[]", dtype.inner)
    elif isinstance(dtype, pl.Struct):
        for field in dtype.fields:
            yield from _paths(f"{path}.{field.name}", field.dtype)
    elif dtype not in (pl.String, pl.Int64, pl.Float64, pl.Boolean):
        raise TypeError(f"{path}: {dtype} is not supported; use String, Int64, Float64, Boolean, List or Struct")


def check_record(raw: Raw, location: str, record: Any, columns: Columns) -> None:
    """Check one record, of parsed JSON or a pickle, against columns, under the rules of `check_values`.

    location: the place of the record in the file, for the error. The type `pl.Struct({})` accepts every object. Texts must be
    valid Unicode too: unlike parsed JSON, a pickle can hold lone surrogates.

    Raises SourceError for the first value that does not match.
    """
    try:
        check_values([record], pl.Struct(make_schema(columns, ())), "", (), check_unicode=True)
    except MismatchError as mismatch:
        raise mismatch_error(raw, location, mismatch) from mismatch


def check_values(
    values: list[Any], dtype: Type, path: str, optional: Collection[str], *, check_unicode: bool = False
) -> None:
    """Check that parsed values have exactly the given type, at every depth; keys that a struct does not name are ignored.

    All values of a column are checked together, which is much faster than one by one.
    path: the column, then `.key` for the value under a key and `[]` for the items of a list: `question.choices[].label`.
    Only paths in `optional` may be null or missing. An integer fits Float64; a boolean does not fit a number.
    check_unicode: refuse lone surrogates, which JSON parsers refuse by themselves.

    Raises MismatchError for the first value that does not match.
    """
    types, expected = EXPECTED[dtype.base_type()]
    name = path or "the record"
    value_types = set(map(type, values))
    if NoneType in value_types:
        if path not in optional:
            raise MismatchError(f"{name} is null", found="null", expected=expected)
        values = [value for value in values if value is not None]
        value_types.discard(NoneType)
    if not value_types <= types:
        value = next(value for value in values if type(value) not in types)
        raise MismatchError(f"{name} has the wrong type", found=describe_value(value), expected=expected)
    if dtype == pl.Int64 and values and not (min(values) in INT64 and max(values) in INT64):
        value = next(value for value in values if value not in INT64)
        raise MismatchError(f"{name} is too large", found=describe_value(value), expected=expected)
    if dtype == pl.String and check_unicode:
        _check_unicode(values, name)
    elif isinstance(dtype, pl.List):
        items = list(chain.from_iterable(values))
        check_values(items, dtype.inner, f"{path}[]", optional, check_unicode=check_unicode)
    elif isinstance(dtype, pl.Struct):
        for field in dtype.fields:
            inner = f"{path}.{field.name}" if path else field.name
            if inner not in optional and not all(field.name in value for value in values):
                value = next(value for value in values if field.name not in value)
                keys = ", ".join(shorten(str(key)) for key in islice(value, 20)) or "none"
                raise MismatchError(f"{inner} is missing", found=f"the keys: {keys}", expected=f"a key {field.name!r}")
            fields = [value.get(field.name) for value in values]
            check_values(fields, field.dtype, inner, optional, check_unicode=check_unicode)


def _check_unicode(texts: list[str], name: str) -> None:
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise MismatchError(
                f"{name} is not valid Unicode",
                found=f"U+{ord(text[error.start]):04X} alone in {shorten(text[max(0, error.start - 20) :])}",
                expected="no lone surrogates",
            ) from error


def describe_value(value: Any) -> str:
    kind = TYPE_NAMES.get(type(value))
    try:
        text = orjson.dumps(value).decode() if kind else repr(value)
    except TypeError:  # a value from a pickle with parts that JSON does not have
        text = repr(value)
    return f"{text if len(text) <= 60 else text[:60] + '...'} ({kind or type(value).__name__})"


def cell_parser(dtype: Type, name: str, *, optional: bool) -> Callable[[str], Any]:
    """A function that parses the text of one cell as a value of the column's type.

    A String is the text itself. Numbers are written as in JSON; a leading "+", leading zeros, and a point at either end ("3.",
    ".5") are accepted too, blanks, inf and nan are not. Booleans are true or false, or True or False. An empty cell is null
    if the column is optional.

    The function raises MismatchError for any other text. Raises TypeError for a type that a table cannot hold.
    """
    if dtype == pl.String:
        return str
    parsers: dict[Type, Callable[[str], Any]] = {
        pl.Int64: _parse_integer, pl.Float64: _parse_number, pl.Boolean: BOOLEANS.get
    }  # fmt: skip
    if (parser := parsers.get(dtype.base_type())) is None:
        raise TypeError(f"column {name}: a table cannot hold {dtype}")
    expected = describe_type(dtype)

    def parse(text: str) -> Any:
        if not text and optional:
            return None
        if (value := parser(text)) is None:
            raise MismatchError(f"{name} has the wrong type", found=shorten(text), expected=expected)
        return value

    return parse


def _parse_integer(text: str) -> int | None:
    # Only zeros in front make a 64-bit integer longer than this; int() refuses texts of thousands of digits.
    return int(text) if len(text) <= 40 and INTEGER.fullmatch(text) and int(text) in INT64 else None


def _parse_number(text: str) -> float | None:
    return float(text) if NUMBER.fullmatch(text) and math.isfinite(float(text)) else None


COLUMN_TYPES: dict[pl.DataType, ColumnType] = {
    pl.String(): "string",
    pl.Int64(): "int64",
    pl.Float64(): "float64",
    pl.Boolean(): "bool",
    pl.List(pl.String()): "list<string>",
    pl.List(pl.Int64()): "list<int64>",
}
