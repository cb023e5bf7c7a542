"""All rows of a finding as a table, with their values and those of their twins. Its columns:

- `row`: the name of the row (pipelines.audit.row_names); `column` and `detail`: those of the finding.
- the columns of the table, with the row's values; null where the row is not in the table (an unjudged pair). A column that has
  one of the names used here gets a `_` behind its own.
- `twin_split` and `twin`: the split and the name of the row that makes it a finding; `twin <column>`: the values of that row.
  Only for kinds that compare rows.
"""

import polars as pl

from pipelines.audit.findings import FindingRows
from pipelines.audit.row_names import name_rows
from pipelines.audit.tables import row_id

OWN_COLUMNS = ("row", "column", "detail", "twin_split", "twin")


def list_rows(one: FindingRows, limit: int | None = None) -> pl.DataFrame:
    """The rows of a finding with their values and those of their twins, see above. limit: only the first so many."""
    rows = (one.rows if limit is None else one.rows.head(limit)).collect(engine="streaming")
    head = {"column": pl.lit(one.finding.column), "detail": pl.lit(one.finding.detail)}
    if "row" in rows.columns:
        return rows.select(pl.col("row").cast(pl.String), **head).hstack(_values_by_name(one, rows["row"]))
    if rows.is_empty():
        return pl.DataFrame()
    table = one.tables[one.finding.split]
    values = _with_free_names(_values(table, rows["position"]))
    listed = rows.select(name_rows(table, rows["position"]), **head).hstack(values)
    if "twin" not in rows.columns:
        return listed
    numbered = rows.select("twin", "twin_split").with_row_index("__order")
    parts = []
    for part in numbered.partition_by("twin_split", maintain_order=True):
        table = one.tables[part["twin_split"][0]]
        values = _values(table, part["twin"]).rename(lambda column: f"twin {column}")
        parts.append(part.select("__order", "twin_split", name_rows(table, part["twin"]).alias("twin")).hstack(values))
    return listed.hstack(pl.concat(parts, how="diagonal").sort("__order").drop("__order"))


def _values_by_name(one: FindingRows, names: pl.Series) -> pl.DataFrame:
    """The first row with each name, from the ids of the table; nulls for a name that it does not have."""
    table = one.tables.get(one.finding.split, pl.LazyFrame())
    name = row_id(table.collect_schema().names())
    if name is None:
        return pl.DataFrame()
    named = table.with_columns(__name=name.cast(pl.String))
    wanted = names.cast(pl.String).alias("__name").to_frame()
    rows = named.join(wanted.lazy().unique(), on="__name", how="semi", nulls_equal=True).collect(engine="streaming")
    rows = rows.unique("__name", keep="first", maintain_order=True)
    joined = wanted.join(rows, on="__name", how="left", maintain_order="left", nulls_equal=True)
    return _with_free_names(joined.drop("__name"))


def _with_free_names(values: pl.DataFrame) -> pl.DataFrame:
    return values.rename({name: f"{name}_" for name in OWN_COLUMNS if name in values.columns})


def _values(table: pl.LazyFrame, positions: pl.Series) -> pl.DataFrame:
    """The rows at some positions, in their order; positions may repeat or be null."""
    numbered = table.with_row_index("__position").filter(pl.col("__position").is_in(positions.drop_nulls().implode()))
    asked = pl.DataFrame({"__position": positions.cast(pl.UInt32)})
    rows = asked.join(numbered.collect(engine="streaming"), on="__position", how="left", maintain_order="left")
    return rows.drop("__position")
