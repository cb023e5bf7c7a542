"""The six column types of a release: what every reader understands."""

from typing import Literal

import polars as pl

ColumnType = Literal["string", "int64", "float64", "bool", "list<string>", "list<int64>"]
NAMES: dict[pl.DataType, ColumnType] = {
    pl.String(): "string",
    pl.Int64(): "int64",
    pl.Float64(): "float64",
    pl.Boolean(): "bool",
    pl.List(pl.String()): "list<string>",
    pl.List(pl.Int64()): "list<int64>",
}


def type_name(dtype: pl.DataType) -> ColumnType | None:
    """The name of a polars type; None for one that a release may not hold."""
    return NAMES.get(dtype)
