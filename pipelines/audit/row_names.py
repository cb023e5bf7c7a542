"""The names of rows: the same in every version of a dataset that has the row, wherever in its table it is.

A row is named by its own id where its table has one: `id`, `query-id`, or `query-id` and `corpus-id`. Any other row is named by
its values: the first 16 hex digits of the SHA-256 of its values as a JSON list without spaces, in UTF-8, in the order of the
columns. The second of two equal rows has `-2` behind that, the third `-3`. Names are computed where they are needed and never
stored with the rows.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import orjson
import polars as pl

from pipelines.audit.tables import row_id

DIGITS = 16


def name_rows(frame: pl.LazyFrame, positions: pl.Series) -> pl.Series:
    """The names of the rows at some positions of a table, in the order of the positions, which may repeat; null for a null."""
    name = row_id(frame.collect_schema().names())
    numbered = frame.with_row_index("__position")
    wanted = positions.drop_nulls().unique().implode()
    if name is not None:
        rows = numbered.filter(pl.col("__position").is_in(wanted)).select("__position", __name=name.cast(pl.String))
        names = rows.collect(engine="streaming")
    else:
        names = _names_from_values(numbered, wanted)
    asked = pl.DataFrame({"__position": positions}, schema={"__position": names.schema["__position"]})
    return asked.join(names, on="__position", how="left", maintain_order="left")["__name"].alias("row")


def hash_values(values: Sequence[Any]) -> str:
    """The name of a row with these values that has no id, if no earlier row is equal."""
    return hashlib.sha256(orjson.dumps(values)).hexdigest()[:DIGITS]


def _names_from_values(numbered: pl.LazyFrame, wanted: pl.Series) -> pl.DataFrame:
    """Position and name of the rows at the wanted positions, and of all rows that are equal to one of them."""
    # The hashes of polars differ from version to version; they only say which rows may be equal.
    hashed = numbered.with_columns(__hash=pl.struct(pl.exclude("__position")).hash(0))
    hashes = hashed.filter(pl.col("__position").is_in(wanted)).select("__hash").collect(engine="streaming")["__hash"]
    rows = hashed.filter(pl.col("__hash").is_in(hashes.unique().implode())).drop("__hash").collect(engine="streaming")
    rows = rows.sort("__position")
    digests = [hash_values(values) for values in rows.drop("__position").iter_rows()]
    named = rows.select("__position", digest=pl.Series(digests, dtype=pl.String))
    copy = pl.int_range(1, pl.len() + 1).over("digest")
    name = pl.when(copy == 1).then("digest").otherwise(pl.format("{}-{}", "digest", copy))
    return named.select("__position", __name=name)
