"""JSON lines, JSON arrays of objects, and JSON objects of objects."""

from __future__ import annotations

import codecs
import io
import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson
import polars as pl

from builders.reading.archives import malformed, not_utf8, open_raw, shorten
from builders.reading.json_plain import read_plain_lines
from builders.reading.values import MisfitError, check_values, misfit_error, schema_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from builders.errors import SourceError
    from builders.reading.values import Columns
    from builders.spec import Raw

BATCH = 4 << 20  # bytes of JSON that become one frame
MEMBERS = 1 << 20  # the same for json_members: as fast, and each byte of it takes forty while it is parsed
LONGEST = 64 << 20  # characters: an element that is not complete by then is broken, and the file is not read to its end
SPACES = " \t\r\n"  # those of JSON
BLANK = SPACES.encode()
SPACE = re.compile(f"[{SPACES}]*")
SURROGATE = re.compile("[\ud800-\udfff]")
# It only finds where an element ends: orjson, which takes neither NaN nor lone surrogates, says what the element is.
DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


def json_batches(
    raw: Raw, columns: Columns, *, optional: Collection[str] = (), numbers_as_text: Collection[str] = ()
) -> Iterator[tuple[int, Callable[[], pl.DataFrame]]]:
    """The batches of `json_lines` before they are parsed, for who parses several at once.

    Each is the number of its first line, from 1, and a function that parses it, with the errors of `json_lines`.
    """
    for first, lines in _line_batches(raw):
        yield (
            first,
            partial(_frame, raw, "line", first, lines, columns, optional=optional, numbers_as_text=numbers_as_text),
        )


def json_lines(
    raw: Raw, columns: Columns, *, optional: Collection[str] = (), numbers_as_text: Collection[str] = ()
) -> Iterator[pl.DataFrame]:
    r"""Frames of the named columns of a file with one JSON object a line, some megabytes at a time.

    columns: String, Int64, Float64, Boolean, List and Struct of these. Other keys are ignored; of a key that stands twice
    in one object the last counts.
    optional: paths that may be null or missing (both become null): a column `part`, a key below it `question.note`, the items
    of a list `answers[]`. numbers_as_text: String columns in which the source also writes numbers; a number becomes its
    shortest JSON text (10, 10.0, 8.5).

    Lines end in "\n" or "\r\n", the last one may lack it. Blank lines may stand at the end of the file, nowhere else.

    Raises SourceError for a line that is no UTF-8, no JSON or no object, and for a column that is missing, null or of another
    type; see `builders.reading.values.check_values`.
    """
    for _, parse in json_batches(raw, columns, optional=optional, numbers_as_text=numbers_as_text):
        yield parse()


def read_json_lines(
    raw: Raw, columns: Columns, *, optional: Collection[str] = (), numbers_as_text: Collection[str] = ()
) -> pl.DataFrame:
    """The frames of `json_lines` as one; no row where the file is empty."""
    return _whole(json_lines(raw, columns, optional=optional, numbers_as_text=numbers_as_text), columns)


def read_json_array(
    raw: Raw, columns: Columns, *, optional: Collection[str] = (), numbers_as_text: Collection[str] = ()
) -> pl.DataFrame:
    """A file that is one JSON array of objects, under the rules of `json_lines`.

    Errors count the records from 1. The file is read in pieces: only the frame itself is held.
    """
    batches = _element_batches(raw, "[]", BATCH)
    frames = (
        _frame(raw, "record", first, batch, columns, optional=optional, numbers_as_text=numbers_as_text)
        for first, _, batch in batches
    )
    return _whole(frames, columns)


def json_members(raw: Raw, columns: Columns, *, key: str, optional: Collection[str] = ()) -> Iterator[pl.DataFrame]:
    """Frames of a file that is one JSON object of objects, {"name": {...}, ...}, a megabyte or so at a time.

    key: the first column (String): the names. The others are those of the objects, under the rules of `json_lines`. Errors
    count the members from 1. Of a name that stands twice both members come. The file is read in pieces, never held.
    """

    for first, names, batch in _element_batches(raw, "{}", MEMBERS):
        frame = _frame(raw, "record", first, batch, columns, optional=optional)
        yield frame.insert_column(0, pl.Series(key, names, pl.String))


def _whole(frames: Iterator[pl.DataFrame], columns: Columns) -> pl.DataFrame:

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
) -> pl.DataFrame:
    """The frame of one batch of JSON texts; `first` is the number of its first line or record."""

    schema = schema_of(columns, optional)
    if any(schema.get(name) != pl.String for name in numbers_as_text):
        raise ValueError(f"numbers_as_text names {sorted(numbers_as_text)}: not all are String columns")
    plain = read_plain_lines(batch, schema) if unit == "line" else None
    if plain is not None:
        return plain
    record = pl.Struct(schema)
    rows, broken = _loaded(batch)
    for name in numbers_as_text:
        _write_numbers(rows, name)
    try:
        check_values(rows, record, "", optional)
    except MisfitError:
        index, misfit = _first_misfit(rows, record, optional)
        raise misfit_error(raw, f"{unit} {first + index}", misfit) from misfit
    if broken is not None:
        raise _no_json(raw, f"{unit} {first + len(rows)}", batch[len(rows)], broken) from broken
    return pl.DataFrame([pl.Series(name, [row.get(name) for row in rows], schema[name]) for name in schema])


def _loaded(batch: list[bytes]) -> tuple[list[Any], orjson.JSONDecodeError | None]:
    """The parsed texts up to the first that is no JSON, and what is wrong with that one."""
    rows = []
    for text in batch:
        try:
            rows.append(orjson.loads(text))
        except orjson.JSONDecodeError as error:
            return rows, error
    return rows, None


def _write_numbers(rows: list[Any], name: str) -> None:
    for row in rows:
        if isinstance(row, dict) and type(row.get(name)) in (int, float):
            row[name] = orjson.dumps(row[name]).decode()


def _first_misfit(rows: list[Any], record: pl.Struct, optional: Collection[str]) -> tuple[int, MisfitError]:
    """The row that does not fit: the check of a whole batch knows its column only."""
    for index, row in enumerate(rows):
        try:
            check_values([row], record, "", optional)
        except MisfitError as misfit:
            return index, misfit
    raise AssertionError("rows that fit one by one fit together")


def _no_json(raw: Raw, place: str, text: bytes, error: orjson.JSONDecodeError) -> SourceError:
    if not text.strip(BLANK):
        return malformed(raw, place, "a blank line among the records", found="a blank line", expected="a JSON object")
    try:
        line = text.decode().rstrip("\r\n")
    except UnicodeDecodeError as wrong:
        return not_utf8(raw, place, wrong)
    start = max(0, error.pos - 30)
    found = f"{error.msg}, at character {error.pos + 1}: {shorten(line[start:])}"
    return malformed(raw, place, "no JSON", found=found, expected="one complete JSON object")


def _line_batches(raw: Raw) -> Iterator[tuple[int, list[bytes]]]:
    """Runs of lines without the blank ones at the end of the file; one among the records stays, to be refused."""
    first, left = 1, raw.limit
    blank: list[bytes] = []
    with open_raw(raw) as file:
        while (left is None or left > 0) and (lines := file.readlines(BATCH)):
            if first == 1 and not blank:
                lines[0] = lines[0].removeprefix(codecs.BOM_UTF8)
            lines = blank + lines
            end = len(lines)
            while end and not lines[end - 1].strip(BLANK):
                end -= 1
            blank = lines[end:]
            lines = lines[:end] if left is None else lines[: min(end, left)]
            if lines:
                yield first, lines
            first += len(lines)
            left = left if left is None else left - len(lines)


def _element_batches(raw: Raw, brackets: str, piece: int) -> Iterator[tuple[int, list[str], list[bytes]]]:
    """Runs of elements: the number of the first, from 1, their names, and their JSON texts."""
    first, size, names, batch = 1, 0, list[str](), list[bytes]()
    for name, element in _elements(raw, brackets, piece):
        names.append(name)
        batch.append(element)
        size += len(element)
        if size >= piece:
            yield first, names, batch
            first, size, names, batch = first + len(batch), 0, [], []
    if batch:
        yield first, names, batch


def _elements(raw: Raw, brackets: str, piece: int) -> Iterator[tuple[str, bytes]]:
    """Name and JSON text of each element of the array ("[]", names are "") or member of the object ("{}").

    No ijson: its fast backend turns a lone surrogate into "?" without a word. Bytes that are no UTF-8 pass through, for
    orjson to refuse them in the record they stand in.
    """
    whole, each = ("array", "[{...}, ...]") if brackets == "[]" else ("object", '{"name": {...}, ...}')
    with open_raw(raw) as file:
        reader = io.TextIOWrapper(file, "utf-8-sig", "surrogateescape", newline="")
        buffer, at, number = _filled(reader, "", 0), 0, 1
        if not buffer.startswith(brackets[0]):
            found = shorten(buffer) if buffer else "an empty file"
            raise malformed(raw, "", f"no JSON {whole}", found=found, expected=f"an {whole} of objects: {each}")
        buffer = _filled(reader, buffer, 1)
        end = buffer.startswith(brackets[1])
        at = int(end)
        while not end and (raw.limit is None or number <= raw.limit):
            try:
                name, text, end, after = _element(buffer, at, brackets)
            except (json.JSONDecodeError, RecursionError) as error:
                more = "" if len(buffer) - at > LONGEST else reader.read(max(piece, len(buffer) - at))
                if not more:
                    raise _no_element(raw, number, buffer[at:], error, brackets) from error
                buffer, at = buffer[at:] + more, 0
                continue
            if SURROGATE.search(name):
                what, expected = "a name that is no text", "a name in UTF-8"
                raise malformed(raw, f"record {number}", what, found=shorten(name), expected=expected)
            yield name, text.encode("utf-8", "surrogateescape")
            number, at = number + 1, after
        rest = _filled(reader, buffer, at) if end else ""
        if rest:
            expected = f"nothing after {brackets[1]}"
            raise malformed(raw, "", f"text after the {whole}", found=shorten(rest), expected=expected)


def _filled(reader: io.TextIOWrapper, buffer: str, at: int) -> str:
    """The buffer from `at` without the blanks in front, read on until there is something else, or the file ends."""
    rest = buffer[at:].lstrip(SPACES)
    while not rest and (more := reader.read(BATCH)):
        rest = more.lstrip(SPACES)
    return rest


def _element(text: str, at: int, brackets: str) -> tuple[str, str, bool, int]:
    """Name and text of the element at `at`, whether it is the last one, and where the next begins."""
    name, start = _name(text, at) if brackets == "{}" else ("", _blank(text, at))
    end = DECODER.raw_decode(text, start)[1]
    after = _blank(text, end)
    mark = text[after : after + 1]
    if mark not in {",", brackets[1]}:
        raise json.JSONDecodeError(f"expected ',' or '{brackets[1]}' after an element", text, after)
    return name, text[start:end], mark == brackets[1], after + 1


def _name(text: str, at: int) -> tuple[str, int]:
    """The name of the member at `at`, and where its value begins."""
    start = _blank(text, at)
    name, end = DECODER.raw_decode(text, start)
    colon = _blank(text, end)
    if text[start] != '"' or text[colon : colon + 1] != ":":
        raise json.JSONDecodeError("expected a name in quotes and ':'", text, start)
    return name, _blank(text, colon + 1)


def _blank(text: str, at: int) -> int:
    match = SPACE.match(text, at)
    assert match is not None
    return match.end()


def _no_element(raw: Raw, number: int, rest: str, error: Exception, brackets: str) -> SourceError:
    text = rest.lstrip(SPACES)
    if not text:
        found = f"the file ends before the closing {brackets[1]}"
    elif isinstance(error, json.JSONDecodeError):
        found = f"{error.msg}: {shorten(error.doc[max(0, error.pos - 30) :])}"
    else:
        found = f"an element nested too deeply: {shorten(text)}"
    expected = f"one complete JSON object, then , or {brackets[1]}"
    return malformed(raw, f"record {number}", "no JSON", found=found, expected=expected)
