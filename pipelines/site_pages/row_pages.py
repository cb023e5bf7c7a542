"""The rows of a table as pages of the site, in bounded memory: every row of a table of up to 200 MB, else those that are named.

A record is [position, name, value, ...]: the position of the row in its table, its name (pipelines.audit.row_names), and its
values in the order of the columns.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from pipelines.audit.row_names import hash_values
from pipelines.audit.tables import row_id
from pipelines.site_pages.data_scripts import RecordList, write_list

MAX_BYTES = 200_000_000  # of the values of a table whose rows are all shown
BATCH_ROWS = 20_000  # read at a time: a row group of a release


@dataclass(frozen=True)
class NamedRows:
    """The rows to show of a table that is too large to be shown whole.

    positions: of rows that a finding names. ids: of queries and documents that a judgement names, or a list of candidates.
    """

    positions: pl.Series
    ids: pl.Series


def write_rows(page_dir: Path, folder: str, table: pl.LazyFrame, named: NamedRows | None) -> RecordList:
    """Write the rows of a table as a list. named: only these rows; None for all."""
    return write_list(page_dir, folder, _records(table, named))


def listed_ids(table: pl.LazyFrame, named: NamedRows | None) -> pl.DataFrame:
    """The `id` of every record of such a list, with its `index` in it: where a judgement finds its query and its document."""
    ids = table.with_row_index("__position").select("__position", "id")
    ids = ids if named is None else ids.filter(_is_named(table, named))
    listed = ids.select("id").collect(engine="streaming").with_row_index("index")
    return listed.unique("id", keep="first", maintain_order=True)


def read_batches(table: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """The rows of a table in batches, each read on demand, with their `__position`."""
    start = 0
    while len(batch := table.slice(start, BATCH_ROWS).collect(engine="streaming")):
        yield batch.with_row_index("__position", offset=start)
        start += BATCH_ROWS


def _records(table: pl.LazyFrame, named: NamedRows | None) -> Iterator[list[Any]]:
    own_id = row_id(table.collect_schema().names())
    name_batch = _id_names(own_id) if own_id is not None else _value_names(table)
    for batch in read_batches(table):
        names = name_batch(batch)
        rows = batch.insert_column(1, names.alias("__name"))
        yield from map(list, (rows if named is None else rows.filter(_is_named(table, named))).iter_rows())


def _is_named(table: pl.LazyFrame, named: NamedRows) -> pl.Expr:
    is_named = pl.col("__position").is_in(named.positions.implode())
    return is_named | pl.col("id").is_in(named.ids.implode()) if "id" in table.collect_schema() else is_named


def _id_names(own_id: pl.Expr) -> Callable[[pl.DataFrame], pl.Series]:
    return lambda batch: batch.select(own_id.cast(pl.String)).to_series()


def _value_names(table: pl.LazyFrame) -> Callable[[pl.DataFrame], pl.Series]:
    """A function that names the rows of each batch of a table without ids, in order, as pipelines.audit.row_names names them.

    Of the names that occurred, only those of equal rows are kept: which rows may be equal is known from a hash of 8 bytes a row.
    """
    row_hash = pl.struct(table.collect_schema().names()).hash(0).alias("__hash")
    hashes = table.select(row_hash).collect(engine="streaming")["__hash"]
    repeated = hashes.filter(hashes.is_duplicated()).unique()
    copies: Counter[str] = Counter()

    def name(digest: str, again: bool) -> str:
        copies[digest] += again
        return digest if copies[digest] <= 1 else f"{digest}-{copies[digest]}"

    def name_batch(batch: pl.DataFrame) -> pl.Series:
        is_repeated = batch.select(row_hash.is_in(repeated.implode())).to_series()
        digests = map(hash_values, batch.drop("__position").iter_rows())
        return pl.Series("__name", [name(*pair) for pair in zip(digests, is_repeated, strict=True)], pl.String)

    return name_batch
