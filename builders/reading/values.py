"""Columns and the values that fit them: checks of parsed JSON, and numbers from the text of a table."""

from __future__ import annotations

import math
import re
from itertools import chain
from types import NoneType
from typing import TYPE_CHECKING, Any

import orjson
import polars as pl

from builders.reading.archives import malformed, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from polars.datatypes import DataTypeClass

    from builders.errors import SourceError
    from builders.spec import Raw

    Type = pl.DataType | DataTypeClass
    Columns = Mapping[str, Type]

INTEGER = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
BOOLEANS = {"true": True, "True": True, "false": False, "False": False}
INT64 = range(-(2**63), 2**63)


class MisfitError(Exception):
    """A value that does not fit its column: the reader knows file and line, and makes a SourceError of it."""

    def __init__(self, what: str, *, found: str, expected: str) -> None:
        super().__init__(what)
        self.what = what
        self.found = found
        self.expected = expected


def misfit_error(raw: Raw, place: str, misfit: MisfitError) -> SourceError:
    """The user's error for a value that does not fit, at a line or record of a file."""
    return malformed(raw, place, misfit.what, found=misfit.found, expected=misfit.expected)


def schema_of(columns: Columns, optional: Collection[str]) -> pl.Schema:
    """The columns as a schema.

    Raises TypeError for a type that no reader fills, ValueError for an optional path that no column has: both are the
    builder's mistakes, not the file's.
    """

    schema = pl.Schema(columns)
    known = {path for name, dtype in schema.items() for path in _paths(name, dtype)}
    if not known.issuperset(optional):
        raise ValueError(f"optional names {sorted(set(optional) - known)}; the columns hold {sorted(known)}")
    return schema


def _paths(path: str, dtype: Type) -> Iterator[str]:

    yield path
    if isinstance(dtype, pl.List):
        yield from _paths(f"{path}[]", dtype.inner)
    elif isinstance(dtype, pl.Struct):
        for field in dtype.fields:
            yield from _paths(f"{path}.{field.name}", field.dtype)
    elif dtype not in (pl.String, pl.Int64, pl.Float64, pl.Boolean):
        raise TypeError(f"{path}: no reader fills {dtype}; String, Int64, Float64, Boolean, List and Struct are known")


def check_values(values: list[Any], dtype: Type, path: str, optional: Collection[str]) -> None:
    """See that parsed JSON values are exactly of a type, at every depth; what a struct does not name is ignored.

    The values of one column are looked at together: that is as cheap as their types are few. `path` is the column, then
    `.key` for what an object holds under a key, `[]` for the items of a list: `question.choices[].label`. Only what
    `optional` names by its path may be null or missing. An integer fits Float64; a boolean is no number.

    Raises MisfitError for the first value that does not fit.
    """

    kinds, expected = _kinds(dtype)
    name = path or "the record"
    found = set(map(type, values))
    if NoneType in found:
        if path not in optional:
            raise MisfitError(f"{name} is null", found="null", expected=expected)
        values = [value for value in values if value is not None]
        found.discard(NoneType)
    if not found <= kinds:
        value = next(value for value in values if type(value) not in kinds)
        raise MisfitError(f"{name} has the wrong type", found=_shown(value), expected=expected)
    if dtype == pl.Int64 and values and not (min(values) in INT64 and max(values) in INT64):
        value = next(value for value in values if value not in INT64)
        raise MisfitError(f"{name} is too large", found=_shown(value), expected=expected)
    if isinstance(dtype, pl.List):
        check_values(list(chain.from_iterable(values)), dtype.inner, f"{path}[]", optional)
    elif isinstance(dtype, pl.Struct):
        for field in dtype.fields:
            inner = f"{path}.{field.name}" if path else field.name
            if inner not in optional and not all(field.name in value for value in values):
                value = next(value for value in values if field.name not in value)
                keys = ", ".join(map(shorten, list(value)[:20])) or "none"
                raise MisfitError(f"{inner} is missing", found=f"the keys: {keys}", expected=f"a key {field.name!r}")
            check_values([value.get(field.name) for value in values], field.dtype, inner, optional)


def _kinds(dtype: Type) -> tuple[set[type], str]:
    """The Python types of parsed JSON that fit, and their name in a message."""

    kinds: dict[Type, tuple[set[type], str]] = {
        pl.String: ({str}, "a string"),
        pl.Int64: ({int}, "an integer of 64 bits"),
        pl.Float64: ({int, float}, "a number"),
        pl.Boolean: ({bool}, "true or false"),
        pl.List: ({list}, "a list"),
        pl.Struct: ({dict}, "an object"),
    }
    return kinds[dtype.base_type()]


def _shown(value: Any) -> str:
    names = {
        str: "a string",
        int: "an integer",
        float: "a number",
        bool: "a boolean",
        list: "a list",
        dict: "an object",
    }
    text = orjson.dumps(value).decode()
    return f"{text if len(text) <= 60 else text[:60] + '...'} ({names[type(value)]})"


def cell_parser(dtype: Type, name: str, *, optional: bool) -> Callable[[str], Any]:
    """How a table writes values of a type: a function of one text.

    A String is the text itself. Numbers are written as in JSON, but for a leading "+" or zeros, and a point at an end ("3.",
    ".5"): no blanks, no inf, no nan. Booleans are true or false, or True or False. An empty text is null where the column
    is optional.

    The function raises MisfitError for a text that is no such value. Raises TypeError for a type that no table holds.
    """

    if dtype == pl.String:
        return str
    kinds: dict[Type, Callable[[str], Any]] = {pl.Int64: _integer, pl.Float64: _number, pl.Boolean: BOOLEANS.get}
    convert = kinds.get(dtype.base_type())
    if convert is None:
        raise TypeError(f"column {name}: no table holds {dtype}")
    expected = _kinds(dtype)[1]

    def parse(text: str) -> Any:
        if not text and optional:
            return None
        value = convert(text)
        if value is None:
            raise MisfitError(f"{name} has the wrong type", found=shorten(text), expected=expected)
        return value

    return parse


def _integer(text: str) -> int | None:
    # No 64-bit integer is longer, but for zeros in front; int() refuses texts of thousands of digits.
    if len(text) > 40 or not INTEGER.fullmatch(text) or int(text) not in INT64:
        return None
    return int(text)


def _number(text: str) -> float | None:
    if not NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        return None
    return float(text)
