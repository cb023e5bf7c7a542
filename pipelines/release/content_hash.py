"""The identity of rows: a SHA-256 that any program can compute again from the rows alone.

**A table.** `content_sha256` is SHA-256 over, in this order:

1. the 22 bytes `embedding-datasets/1\\n\\n`;
2. for each column, in order: its name and its type, as `json.dumps([name, type], ensure_ascii=True)` in ASCII, and a `\\n`.
   Types are `string`, `int64`, `float64`, `bool`, `list<string>` and `list<int64>`;
3. the number of rows in decimal ASCII, and a `\\n`;
4. for each column, in order, the 32-byte SHA-256 digests of its streams.

The streams of a column hold one item a row, in row order, without separators:

- *validity*: one byte, 1 for a value, 0 for a null. A null is 0, empty or length 0 in all other streams;
- of a `string`: *lengths* in bytes of UTF-8, as unsigned 64-bit little-endian, then *bytes*, the UTF-8 of all values;
- of an `int64`: *values*, 64-bit two's complement, little-endian;
- of a `float64`: *values*, IEEE 754 binary64, little-endian, every NaN as 0x7ff8000000000000;
- of a `bool`: *values*, one byte, 1 or 0;
- of a list: *lengths*, the number of items, as unsigned 64-bit little-endian; then the streams (validity first) of the
  column that all items of all lists make, one after the other.

**A dataset.** `content_sha256` is SHA-256 over one line a table, `json.dumps([config, split, hex digest of the table])` in
ASCII and a `\\n`, in ascending order of (config, split) as code points.

Nothing else reaches a hash: not files, shards, row groups, compression, library versions, dates or tools.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from cards.manifest import Column

PREFIX = b"embedding-datasets/1\n\n"
STREAMS = {"string": 3, "int64": 2, "float64": 2, "bool": 2, "list<string>": 5, "list<int64>": 4}


class TableHash:
    """Takes a table batch by batch, however it is cut, and gives its content_sha256.

    columns: in order.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = columns
        self.rows = 0
        self._streams = [[hashlib.sha256() for _ in range(STREAMS[column.type])] for column in columns]

    def update(self, batch: Any) -> None:
        """Add the rows of a pyarrow Table or RecordBatch with exactly these columns."""
        self.rows += batch.num_rows
        for column, streams in zip(self.columns, self._streams, strict=True):
            values = batch.column(column.name)
            for chunk in getattr(values, "chunks", [values]):
                for stream, data in zip(streams, _streams(chunk, column.type), strict=True):
                    stream.update(data)

    def hexdigest(self) -> str:
        """The digest of what was added so far."""
        whole = hashlib.sha256(PREFIX)
        for column in self.columns:
            whole.update(json.dumps([column.name, column.type]).encode("ascii") + b"\n")
        whole.update(b"%d\n" % self.rows)
        for streams in self._streams:
            for stream in streams:
                whole.update(stream.digest())
        return whole.hexdigest()


def dataset_sha256(tables: Mapping[tuple[str, str], str]) -> str:
    """The content_sha256 of a dataset from those of its tables, by (config, split)."""
    lines = (json.dumps([config, split, digest]) + "\n" for (config, split), digest in sorted(tables.items()))
    return hashlib.sha256("".join(lines).encode("ascii")).hexdigest()


def _streams(array: Any, kind: str) -> list[Any]:
    """The bytes that one pyarrow array adds to each stream of its column."""
    import pyarrow.compute as pc

    def fixed(values: Any, dtype: str) -> Any:
        return np.ascontiguousarray(to_numpy(values).astype(dtype, copy=False)).data

    validity = fixed(array.is_valid(), "u1")
    if kind == "string":
        text = fill_null(array.cast(pa.large_string()))
        return [validity, fixed(pc.binary_length(text), "<u8"), _utf8(text)]
    if kind == "int64":
        return [validity, fixed(fill_null(array), "<i8")]
    if kind == "bool":
        return [validity, fixed(fill_null(array), "u1")]
    if kind == "float64":
        values = to_numpy(fill_null(array)).astype("<f8")
        values[np.isnan(values)] = np.nan
        return [validity, values.data]
    lengths = fill_null(pc.list_value_length(array))
    return [validity, fixed(lengths, "<u8"), *_streams(pc.list_flatten(array), kind.removeprefix("list<")[:-1])]


# What pyarrow has for both, and for making a scalar or an array, imports pandas: it takes as long as to build a small release.
def fill_null(values: Any) -> Any:
    """An array of numbers, truth values or strings with zero, false or nothing for each null."""
    import pyarrow.compute as pc

    empty = [None, pa.py_buffer(bytes(16)), pa.py_buffer(b"")]  # of a string: where it begins and ends, and its bytes
    zero = pa.Array.from_buffers(values.type, 1, empty[: values.type.num_buffers])[0]
    return pc.coalesce(values, zero)


def to_numpy(values: Any) -> Any:
    """An array of numbers or truth values without nulls; truth values as 1 and 0."""
    return np.from_dlpack(values.cast(pa.uint8()) if pa.types.is_boolean(values.type) else values)


def _utf8(text: Any) -> Any:
    """The bytes of all values of a large_string array without nulls, as one view of its buffer."""
    _, offsets, data = text.buffers()
    if data is None or not len(text):
        return b""
    ends = np.frombuffer(offsets, dtype="i8")[text.offset : text.offset + len(text) + 1]
    return memoryview(data)[int(ends[0]) : int(ends[-1])]
