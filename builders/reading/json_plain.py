"""A fast parser for JSON lines that hold only strings; it returns the rows of `builders.reading.json` or nothing."""

import polars as pl
import pyarrow as pa
from pyarrow import json


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
