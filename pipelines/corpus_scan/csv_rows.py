"""Rows of CSV and TSV: records with their bytes, so that a copy keeps them as they are, and their texts.

The row of a record is its number from 0, without the header; a field in quotes may hold line ends. A blank line is a
row without texts.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence

from builders import limits
from builders.reading.errors import shorten
from pipelines.corpus_scan.batches import Collector, row_error
from pipelines.corpus_scan.corpus_batch import CorpusBatch
from pipelines.corpus_scan.layouts import Layout, choose_columns

HEADER = -1  # the row of the header, as `read_records` counts
TODO = "fix the row, or leave the file out"
BOM = b"\xef\xbb\xbf"
Record = tuple[list[str], bytes]  # the fields, and the bytes of the record with its line end

SEPARATORS = {"CSV": ",", "TSV": "\t"}


def read_records(file: str, lines: Iterable[bytes], separator: str, first_row: int) -> Iterator[Record]:
    """The records of consecutive lines. first_row: of the first record, or HEADER.

    Raises SourceError, with the row, for text that is not UTF-8, a quote that is never closed, text behind a closing
    quote, and a record of more than `limits.MAX_RECORD` bytes.
    """
    csv.field_size_limit(limits.MAX_RECORD)  # the module's default is 131,072 characters; it is for the whole process
    row, parts, size = first_row, list[bytes](), 0

    def decode() -> Iterator[str]:
        nonlocal size
        for line in lines:
            size += len(line)
            if size > limits.MAX_RECORD:  # a quote that is never closed makes one row of the rest of the file
                found, expected = f"more than {limits.MAX_RECORD:,} bytes", f"at most {limits.MAX_RECORD:,} bytes"
                raise row_error(file, row, "a row is too large", found=found, expected=expected, todo=TODO)
            try:
                text = (line.removeprefix(BOM) if row == HEADER and not parts else line).decode()
            except UnicodeDecodeError as error:
                found = f"byte 0x{error.object[error.start]:02x} ({error.reason})"
                raise row_error(file, row, "invalid UTF-8", found=found, expected="UTF-8", todo=TODO) from error
            parts.append(line)
            yield text

    reader = csv.reader(decode(), delimiter=separator, strict=True)
    while True:
        try:
            fields = next(reader, None)
        except csv.Error as error:
            found = f"{error}: {shorten(b''.join(parts).decode('utf-8', 'replace'))}"
            expected = 'fields with " around those that hold line ends, and each " in them doubled'
            raise row_error(file, row, "invalid row", found=found, expected=expected, todo=TODO) from error
        if fields is None:
            return
        yield fields, b"".join(parts)
        parts.clear()
        row, size = row + 1, 0


def infer_layout(file: str, header: Sequence[str], requested: Sequence[str]) -> Layout:
    """The layout of a file by its header; raises SourceError for a name that it has twice, and the errors of
    `choose_columns`."""
    if twice := [name for name in header if header.count(name) > 1]:
        what = f"two columns are called {twice[0]!r}"
        raise row_error(
            file, HEADER, what, found="the header", expected="a name for each column", todo="fix the header"
        )
    return choose_columns(file, header, header, requested)


def parse_records(file: str, first_row: int, records: Sequence[Record], layout: Layout) -> CorpusBatch:
    """The texts of consecutive records: the fields of text columns that are not empty.

    Raises SourceError, with the row, for a record with too few or too many fields.
    """
    collector, width = Collector(), len(layout.columns)
    texts = [(layout.columns.index(name), name) for name in layout.texts]
    label = layout.columns.index(layout.label) if layout.label is not None else None
    for row, (fields, _) in enumerate(records, first_row):
        if len(fields) != width:
            if not fields:
                continue
            what, found = "a row has too few or too many fields", f"{len(fields)} fields: {shorten(str(fields))}"
            raise row_error(file, row, what, found=found, expected=f"{width} fields, as in the header", todo=TODO)
        for index, name in texts:
            if fields[index]:
                collector.rows.append(row)
                collector.columns.append(name)
                collector.texts.append(fields[index])
        if label is not None and fields[label]:
            collector.label_rows.append(row)
            collector.labels.append(fields[label])
    return collector.batch(file)
