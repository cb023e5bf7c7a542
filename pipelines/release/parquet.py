"""Tables to Parquet and back: the same files from the same rows, in bounded memory.

The borders of row groups and shards follow from the rows alone, never from how the frame was chunked or computed. For example
50,000 short rows make three row groups, of 20,000, 20,000 and 10,000 rows, whether the frame came in one chunk or in fifty.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders.batches import prefetch
from builders.errors import ReleaseError
from builders.reading.values import COLUMN_TYPES
from builders.tasks import config_folder
from cards.manifest import Column, File, Table
from pipelines.process.files import file_sha256
from pipelines.process.stages import stage
from pipelines.release.content_hash import TableHash, fill_null, to_numpy

# The Hub's viewer reads whole row groups and gives up near 286 MiB. A shard is the least that a re-upload costs.
ROW_GROUP_ROWS, ROW_GROUP_BYTES = 20_000, 32 << 20
SHARD_BYTES = 512 << 20
# Rows with lists can be of many texts, and a batch is in memory three times while it is converted.
BATCH_ROWS, LIST_BATCH_ROWS = 20_000, 2_000


def write_table(frame: pl.DataFrame | pl.LazyFrame, release_dir: Path, config: str, split: str) -> Table:
    """Write one table below a release's folder as `<config>/<split>-00000-of-0000N.parquet`.

    Raises ReleaseError for a column type that a release may not hold.
    """
    columns = _columns(frame, f"{config}/{split}")
    schema, content, num_bytes = _schema(columns), TableHash(columns), 0
    data_dir = release_dir / config_folder(config)
    data_dir.mkdir(parents=True, exist_ok=True)
    parts: list[Path] = []
    writer, space_left = None, 0
    beside = ThreadPoolExecutor(1)
    height = None if isinstance(frame, pl.LazyFrame) else frame.height
    try:
        with stage(f"writing {config}/{split}", total=height, unit="rows") as advance:
            # While one group is compressed, another thread hashes it and the next is prepared.
            empty = pa.Table.from_batches([], schema)
            for group, size in chain(prefetch(_row_groups(_batches(frame, schema))), [(empty, 0)]):
                if parts and not group.num_rows:
                    break  # the empty group at the end gives a table without rows a file too
                hashed = beside.submit(content.update, group)
                num_bytes += size
                if writer is None or space_left < size:
                    if writer is not None:
                        writer.close()
                    parts.append(data_dir / f"{split}-{len(parts):05d}.part")
                    writer, space_left = _open_writer(parts[-1], schema), SHARD_BYTES
                writer.write_table(group, row_group_size=max(group.num_rows, 1))
                hashed.result()
                space_left -= size
                advance(group.num_rows)
    finally:
        beside.shutdown()
        if writer is not None:
            writer.close()
    files = []
    for number, part in enumerate(parts):
        final = part.with_name(f"{split}-{number:05d}-of-{len(parts):05d}.parquet")
        part.rename(final)
        files.append(describe_file(final, release_dir))
    return Table(config, split, content.rows, columns, content.hexdigest(), num_bytes, tuple(files))


def hash_table(release_dir: Path, table: Table) -> TableHash:
    """The hash of the rows in the files of a table.

    Raises ReleaseError for a file that is missing or is not valid Parquet, and for other columns than the table's.
    """
    content, names = TableHash(table.columns), [column.name for column in table.columns]
    with stage(f"reading back {table.location}", total=table.rows, unit="rows") as advance:
        for file in table.files:
            try:
                with pq.ParquetFile(release_dir / file.path) as parquet:
                    _refuse_other_types(parquet.schema_arrow, table, file)
                    for number in range(parquet.num_row_groups):
                        group = parquet.read_row_group(number, columns=names)
                        content.update(group)
                        advance(group.num_rows)
            except (OSError, pa.ArrowException, KeyError, ValueError) as error:  # ValueError: names that are not UTF-8
                raise ReleaseError("a file of the release cannot be read", where=file.path, found=str(error)) from None
    return content


def _refuse_other_types(schema: Any, table: Table, file: File) -> None:
    """Raise ReleaseError where the columns of a file have other types than the manifest says."""
    for expected in _schema(table.columns):
        found = schema.field(expected.name).type
        plain = str(found).replace("large_", "").replace("element: ", "item: ")
        if plain != str(expected.type):
            raise ReleaseError(
                "a file of the release has another type of column than its manifest",
                where=f"{file.path}, column {expected.name}",
                found=str(found)[:200],
                expected=str(expected.type),
                todo="build the release again, or fetch it again",
            )


def describe_file(path: Path, release_dir: Path) -> File:
    """The path, size and digest of a file of a release."""
    return File(path.relative_to(release_dir).as_posix(), path.stat().st_size, file_sha256(path))


def _columns(frame: pl.DataFrame | pl.LazyFrame, table: str) -> tuple[Column, ...]:
    columns = []
    for name, dtype in frame.lazy().collect_schema().items():
        kind = COLUMN_TYPES.get(dtype)
        if kind is None:
            raise ReleaseError(
                "a release cannot hold this type of column",
                where=f"table {table}, column {name}",
                found=str(dtype),
                expected="String, Int64, Float64, Boolean, List(String) or List(Int64)",
                todo="cast the column in the recipe",
            )
        columns.append(Column(name, kind))
    return tuple(columns)


def _schema(columns: tuple[Column, ...]) -> Any:
    types = {
        "string": pa.string(),
        "int64": pa.int64(),
        "float64": pa.float64(),
        "bool": pa.bool_(),
        "list<string>": pa.list_(pa.string()),
        "list<int64>": pa.list_(pa.int64()),
    }
    return pa.schema([(column.name, types[column.type]) for column in columns])


def _open_writer(path: Path, schema: Any) -> Any:
    return pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        write_page_index=True,
        # Pages end where the values say so, for a Hub that stores equal chunks once, and files are 1 % larger. Measured on 60,000
        # rows: a version without one row shares 90 % of its bytes with the one before (50 % with other pages), without ten rows
        # 75 % (0), with 1 % more rows at the end 99 % either way; where every hundredth row is gone, nothing.
        use_content_defined_chunking=True,
    )


def _batches(frame: pl.DataFrame | pl.LazyFrame, schema: Any) -> Iterator[Any]:
    """Small pyarrow tables with all rows in order."""
    has_lists = any(pa.types.is_list(field.type) for field in schema)
    size = LIST_BATCH_ROWS if has_lists else BATCH_ROWS
    batches: Iterator[pl.DataFrame] = (
        frame.collect_batches(chunk_size=size, maintain_order=True, engine="streaming")
        if isinstance(frame, pl.LazyFrame)
        else frame.iter_slices(size)
    )
    for batch in batches:
        rows = _without_other_rows(batch) if has_lists else batch
        arrow = rows.to_arrow(compat_level=pl.CompatLevel.oldest())
        yield pa.Table.from_batches(arrow.to_batches()).cast(schema)


def _without_other_rows(batch: pl.DataFrame) -> pl.DataFrame:
    """The same rows in their own memory: else the texts of all rows would be converted for each batch of rows with lists.

    A slice of a column of lists keeps the values of the whole column, and pyarrow casts at most 2 GB of them.
    """
    return batch.select(pl.all().gather(pl.int_range(batch.height)))


def _row_groups(batches: Iterator[Any]) -> Iterator[tuple[Any, int]]:
    """The same rows in row groups, each with the size of its values in bytes."""
    pending: list[Any] = []
    rows = size = 0
    for batch in batches:
        ends, start = np.cumsum(_row_bytes(batch)), 0
        while start < batch.num_rows:
            before = int(ends[start - 1]) if start else 0
            by_bytes = int(np.searchsorted(ends, before + ROW_GROUP_BYTES - size, side="right"))
            stop = min(batch.num_rows, start + ROW_GROUP_ROWS - rows, max(by_bytes, start + (rows == 0)))
            if stop > start:
                pending.append(batch.slice(start, stop - start))
                rows, size = rows + stop - start, size + int(ends[stop - 1]) - before
            if stop < batch.num_rows or rows == ROW_GROUP_ROWS:
                yield pa.concat_tables(pending).combine_chunks(), size
                pending, rows, size = [], 0, 0
            start = stop
    if pending:
        yield pa.concat_tables(pending).combine_chunks(), size


def _row_bytes(batch: Any) -> Any:
    """The size of each row's values in bytes."""
    import pyarrow.compute as pc

    total = np.zeros(batch.num_rows, dtype="i8")
    for column in batch.columns:
        array = column.combine_chunks()
        if pa.types.is_list(array.type):
            items = pc.list_flatten(array)
            sizes = np.concatenate([[0], np.cumsum(_row_bytes(pa.Table.from_arrays([items], ["item"])))])
            ends = np.cumsum(to_numpy(fill_null(pc.list_value_length(array))))
            total += np.diff(sizes[np.concatenate([[0], ends])])
        elif pa.types.is_string(array.type):
            total += to_numpy(fill_null(pc.binary_length(array)))
        else:
            total += 8
    return total
