"""Rows of JSON lines: objects, or lists of texts as sentence-transformers publishes pairs (`["anchor", "positive"]`).

The row of a line is its number from 0, blank lines included: row 4 is the fifth line.
"""

import json
from collections.abc import Sequence
from typing import Any

import orjson

from builders.reading.errors import shorten
from pipelines.corpus_scan.batches import Collector, row_error, shorten_json
from pipelines.corpus_scan.corpus_batch import CorpusBatch
from pipelines.corpus_scan.layouts import LABELS, Layout, choose_columns, may_hold_text

TODO = "fix the line, or leave the file out"
BOM = b"\xef\xbb\xbf"
LIST = ""  # the column of a line that is a list: its texts are `[0]`, `[1]`, ...


def infer_layout(file: str, lines: Sequence[bytes], requested: Sequence[str]) -> Layout:
    """The layout of a file from its first lines.

    Raises SourceError for a line that is invalid or not an object or a list, and the errors of `choose_columns`.
    """
    columns: dict[str, bool] = {}  # name -> whether a text was found
    for row, line in enumerate(lines):
        for name, value in (_parse(file, row, line) or {}).items():
            columns[name] = columns.get(name, False) or _is_text(value)
    return choose_columns(file, [*columns], [name for name, textual in columns.items() if textual], requested)


def parse_lines(file: str, first_row: int, lines: Sequence[bytes], layout: Layout) -> CorpusBatch:
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
        return record
    if type(record) is list:
        return {LIST: record}
    expected = 'an object, such as {"text": "..."}, or a list of texts'
    raise row_error(file, row, "not a JSON object", found=shorten_json(record), expected=expected, todo=TODO)


def _parse_leniently(file: str, row: int, line: bytes, error: orjson.JSONDecodeError) -> Any:
    """What Python's own json writes and orjson refuses: NaN, and halves of surrogate pairs, which become U+FFFD."""
    try:
        text = line.decode()
    except UnicodeDecodeError as problem:
        found = f"byte 0x{problem.object[problem.start]:02x} at byte {problem.start + 1} of the line"
        raise row_error(file, row, "invalid UTF-8", found=found, expected="UTF-8", todo=TODO) from problem
    try:
        return _replace_surrogates(json.loads(text))
    except (ValueError, RecursionError) as problem:
        where = f", at character {error.pos + 1}" if isinstance(problem, ValueError) else ": nested too deeply"
        found = f"{error.msg}{where}: {shorten(text.rstrip()[max(0, error.pos - 30) :])}"
        expected = "one complete JSON object a line"
        raise row_error(file, row, "invalid JSON", found=found, expected=expected, todo=TODO) from problem


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
