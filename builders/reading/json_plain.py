"""JSON lines that hold the wanted strings and nothing else: the same rows as in `records`, outside Python's lock."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
from pyarrow import json


def read_plain_lines(lines: list[bytes], columns: pl.Schema) -> pl.DataFrame | None:
    """The frame of lines that are each one object with exactly these keys and a string under each; None if one is not.

    None also means: somebody else must say what is wrong. pyarrow's parser is strict (a key that stands twice or is not
    asked for, a value of another type, a lone surrogate or bad escape are errors to it), but sees no lines and does not look
    at the encoding. Lines that begin with `{` and end with `}` hold at least one whole object each, since an object that went
    on in the next line would have to go on with `{` after a value; so they hold one each where there are as many rows.
    """

    if any(dtype != pl.String for dtype in columns.values()):
        return None
    if not all(line.startswith(b"{") and line.rstrip(b"\r\n").endswith(b"}") for line in lines):
        return None
    data = b"".join(lines)
    schema = pa.schema([(name, pa.string()) for name in columns])
    try:
        pl.Series([data]).cast(pl.String)  # is it UTF-8?
        table = json.read_json(
            pa.BufferReader(data),
            json.ReadOptions(use_threads=False, block_size=len(data) + 1),
            json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
        )
    except (pl.exceptions.PolarsError, pa.ArrowInvalid):
        return None
    if table.num_rows != len(lines) or any(column.null_count for column in table.columns):
        return None
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame.select(columns.names())
