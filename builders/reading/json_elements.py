"""Split one large JSON array or object into its elements, reading the file in pieces.

Not ijson: its fast backend silently replaces a lone surrogate with "?".
"""

import io
import json
import re
from collections.abc import Iterator

from builders import limits
from builders.errors import SourceError
from builders.reading.archives import open_raw
from builders.reading.errors import malformed, shorten
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
            found = shorten(buffer + reader.read(60)) if buffer else "an empty file"
            raise malformed(raw, "", f"not a JSON {kind}", found=found, expected=f"an {kind} of objects: {example}")
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
                what, expected = "a name that is not valid Unicode", "a name in UTF-8"
                raise malformed(raw, f"record {number}", what, found=shorten(name), expected=expected)
            yield name, text.encode("utf-8", "surrogateescape")
            number, position = number + 1, end
        trailing = _skip_spaces(reader, buffer, position, piece) if complete else ""
        if trailing:
            found, expected = shorten(trailing + reader.read(60)), f"nothing after {brackets[1]}"
            raise malformed(raw, "", f"text after the {kind}", found=found, expected=expected)


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
    expected = f"one complete JSON object, then , or {brackets[1]}"
    return malformed(raw, f"record {number}", "invalid JSON", found=found, expected=expected)
