"""Rows of Parquet: texts in columns of strings, and of lists of strings."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders.errors import SourceError
from pipelines.corpus_scan.batches import BATCH_ROWS
from pipelines.corpus_scan.corpus_batch import LABEL_SCHEMA, CorpusBatch, label_texts
from pipelines.corpus_scan.corpus_files import CorpusFile
from pipelines.corpus_scan.layouts import Layout, choose_columns
from pipelines.safe_text import first_line

BATCH_BYTES = 4 << 20  # of the values of a batch, on average
BUFFER = 1 << 20


@contextmanager
def open_parquet(file: CorpusFile) -> Iterator[Any]:
    """A Parquet file, which is read in pieces.

    Raises SourceError, on opening or from the block, where it is truncated or corrupt.
    """
    try:
        with pq.ParquetFile(file.path, buffer_size=BUFFER, pre_buffer=False) as opened:
            yield opened
    except (pa.ArrowException, OSError, ValueError) as error:  # ValueError: a name in the footer that is not UTF-8
        raise SourceError(
            "truncated or corrupt Parquet file",
            where=file.name,
            found=first_line(error),
            expected="Parquet",
            todo="download it again, or leave it out",
        ) from error


def infer_layout(file: CorpusFile, requested: Sequence[str]) -> Layout:
    """The layout of a file by its schema; raises the errors of `choose_columns`, and SourceError for a name that it has
    twice."""
    with open_parquet(file) as opened:
        schema = opened.schema_arrow
    if twice := [name for name in schema.names if schema.names.count(name) > 1]:
        what = f"two columns are called {twice[0]!r}"
        raise SourceError(
            what, where=file.name, expected="a name for each column", todo="rename one, or leave the file out"
        )
    return choose_columns(
        file.name, schema.names, [field.name for field in schema if _is_textual(field.type)], requested
    )


def find_group_borders(file: CorpusFile, layout: Layout, size: int) -> list[tuple[int, int, int, int]]:
    """Where a file is divided: for each piece first row, first row group, the one after its last, and its bytes in the
    file.

    size: how many bytes of texts, decompressed, a piece has at least; a row group is never divided.
    """
    pieces = []
    with open_parquet(file) as opened:
        metadata = opened.metadata
        row = first_row = first = texts = stored = 0
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            columns = [group.column(index) for index in range(group.num_columns)]
            row += group.num_rows
            texts += sum(column.total_uncompressed_size for column in columns if _belongs_to(column, layout.texts))
            stored += sum(column.total_compressed_size for column in columns)
            if texts >= size or number == metadata.num_row_groups - 1:
                if row > first_row:
                    pieces.append((first_row, first, number + 1, stored))
                first_row, first, texts, stored = row, number + 1, 0, 0
    return pieces


def read_groups(file: CorpusFile, layout: Layout, first_row: int, start: int, stop: int) -> Iterator[CorpusBatch]:
    """The texts of some row groups: the rows that they have in all, and `first_row` is the first of them.

    Raises SourceError for data that are corrupt or not UTF-8.
    """
    names = [*layout.texts, *([layout.label] if layout.label else [])]
    with open_parquet(file) as opened:
        for batch in opened.iter_batches(
            rows_per_batch(opened.metadata, layout, start, stop), list(range(start, stop)), names, use_threads=False
        ):
            table = pa.table(batch)
            table.validate(full=True)  # texts are UTF-8
            yield _batch(file.name, layout, first_row, table)
            first_row += batch.num_rows


def rows_per_batch(metadata: Any, layout: Layout, start: int, stop: int) -> int:
    """How many rows come to BATCH_BYTES, at most BATCH_ROWS."""
    groups = [metadata.row_group(number) for number in range(start, stop)]
    rows: int = sum(group.num_rows for group in groups)
    columns = (group.column(index) for group in groups for index in range(group.num_columns))
    size: int = sum(column.total_uncompressed_size for column in columns if _belongs_to(column, layout.texts))
    return max(1, min(BATCH_ROWS, rows * BATCH_BYTES // max(size, 1)))


def _belongs_to(column: Any, names: Sequence[str]) -> bool:
    """Whether a leaf belongs to one of these columns: `pos.list.element` to `pos`."""
    path = column.path_in_schema
    return any(path == name or path.startswith(f"{name}.") for name in names)


def _is_textual(kind: Any) -> bool:
    """Whether values of a type are strings, or lists of strings."""
    types = pa.types
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        kind = kind.value_type
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _batch(file: str, layout: Layout, first_row: int, table: Any) -> CorpusBatch:
    rows = pl.Series("row", np.arange(first_row, first_row + table.num_rows), dtype=pl.Int64)
    frames = [_column_texts(rows, name, pl.Series(name, table[name])) for name in layout.texts]
    texts = pl.concat(frames)
    if len(frames) > 1 or isinstance(table[layout.texts[0]].type, pa.ListType):
        texts = texts.sort("row", maintain_order=True)
    return CorpusBatch(file, texts, _labels(rows, pl.Series(table[layout.label])) if layout.label else _no_labels())


def _column_texts(rows: pl.Series, name: str, values: pl.Series) -> pl.DataFrame:
    """The texts of a column, without nulls and empty ones: row, column, text."""
    frame = pl.DataFrame({"row": rows, "text": values})
    column = pl.lit(name)
    if isinstance(values.dtype, pl.List | pl.Array):
        lists = pl.col("text").cast(pl.List(pl.String))
        frame = frame.with_columns(lists).filter(pl.col("text").list.len() > 0)
        frame = frame.with_columns(item=pl.int_ranges(0, pl.col("text").list.len(), dtype=pl.Int64))
        frame = frame.explode("text", "item")
        column = pl.concat_str(pl.lit(f"{name}["), pl.col("item").cast(pl.String), pl.lit("]"))
    text = pl.col("text").cast(pl.String)
    return frame.select("row", column=column, text=text).filter(pl.col("text") != "")


def _labels(rows: pl.Series, values: pl.Series) -> pl.DataFrame:
    if isinstance(values.dtype, pl.Struct | pl.Object | pl.Binary):
        return _no_labels()
    if isinstance(values.dtype, pl.Categorical | pl.Enum):
        values = values.cast(pl.String)
    labels = label_texts(values).cast(pl.String)
    return pl.DataFrame({"row": rows, "label": labels}, schema=LABEL_SCHEMA).drop_nulls()


def _no_labels() -> pl.DataFrame:
    return pl.DataFrame(schema=LABEL_SCHEMA)
