"""Converts the columns of a table to those of its task; a difference that breaks readers is a finding.

What mteb 2.26 casts itself is not a finding: numbers as `_id`, as ids of judgements and candidates, and as clusters; whole
numbers written as floats; whole scores.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from builders.tasks import EVALUATED, Layout
from cards.manifest import Finding
from pipelines.audit.findings import table_finding
from pipelines.foreign.tables import Location

# Columns of strings in which mteb accepts numbers.
NUMBERS_ALLOWED = {
    ("qrels", "query-id"),
    ("qrels", "corpus-id"),
    ("top_ranked", "query-id"),
    ("default", "labels"),
}


@dataclass(frozen=True)
class FittedTable:
    """A table with the columns of its task. findings: its defects. notes: what was ignored or interpreted differently."""

    frame: pl.LazyFrame
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]


def is_list(dtype: Any) -> bool:
    """Whether a polars type is a list type."""
    return isinstance(dtype, pl.List | pl.Array)


def fit_table(layout: Layout, location: Location, frame: pl.LazyFrame) -> FittedTable:
    """A table with the columns and types of a layout. `label` keeps its type: see labels.number_labels.

    Columns that cannot be converted stay as they are, and audit.integrity reports them. A table of labelled texts keeps its other
    columns, as numbers or strings without nulls: they may tell the label.
    """
    findings, notes = [], []
    schema = frame.collect_schema()
    lists = [column for column in layout.columns if column != "label" and is_list(schema.get(column))]
    if set(layout.text) & set(lists):
        frame = frame.explode(lists)
        schema = frame.collect_schema()
        notes.append(f"{location[0]}: each row is a list of texts, an older layout; one row per text was read")
    columns: dict[str, pl.Expr] = {}
    sources = set()
    for column, expected in layout.columns.items():
        source = _source_column(column, schema)
        if source is None:
            if column == "title":
                columns[column] = pl.lit("")
            continue
        sources.add(source)
        if source == column.replace("-", "_") != column:
            findings.append(table_finding("missing_column", *location, column, detail=f"it is named {source}"))
        if column in ("label", "label_text"):
            columns[column] = pl.col(source)
            continue
        numbers_allowed = source == "_id" or (layout.config, column) in NUMBERS_ALLOWED
        columns[column], problem = _cast(frame, source, schema[source], expected, numbers_allowed=numbers_allowed)
        if problem:
            findings.append(table_finding("wrong_type", *location, column, detail=problem))
    others = [column for column in schema if column not in sources]
    if layout.closed:
        findings += [table_finding("unexpected_column", *location, column) for column in others]
    elif others:
        notes.append(f"{location[0]}: ignored columns {', '.join(others)}")
    if any(layout is kind.layouts[0] for kind in EVALUATED.values() if kind.label):
        columns |= {
            name: other for name in others if name != "id" and (other := _other_column(name, schema[name])) is not None
        }
    return FittedTable(frame.select(**columns), tuple(findings), tuple(notes))


def _other_column(name: str, dtype: Any) -> pl.Expr | None:
    """A column that is not one of its table's layout, as numbers or strings; None where it has a nested or binary type."""
    column = pl.col(name)
    if is_list(dtype) and isinstance(dtype.inner, pl.String):
        return column.cast(pl.List(pl.String)).list.join(", ", ignore_nulls=True).fill_null("")
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        return None
    return column.cast(pl.Float64).fill_null(math.nan) if dtype.is_numeric() else column.cast(pl.String).fill_null("")


def _source_column(column: str, schema: Mapping[str, Any]) -> str | None:
    """The name of a column in a table: `_id` for `id`, as in mteb, and `query_id` for `query-id`."""
    names = ["_id", "id"] if column == "id" else [column, column.replace("-", "_")]
    return next((name for name in names if name in schema), None)


def _cast(frame: pl.LazyFrame, name: str, dtype: Any, expected: str, *, numbers_allowed: bool) -> tuple[pl.Expr, str]:
    """A column cast to the expected type, or unchanged where that is impossible, and what is wrong with its own type.

    numbers_allowed: whether mteb accepts numbers, and lists of them, for strings.
    """
    column, problem = pl.col(name), f"{dtype}, expected {expected}"
    match expected:
        case "string" if isinstance(dtype, pl.String | pl.Null | pl.Categorical | pl.Enum):
            return column.cast(pl.String), ""
        case "string" if dtype.is_numeric() or dtype == pl.Boolean:
            return column.cast(pl.String), "" if numbers_allowed else problem
        case "string" if is_list(dtype) and numbers_allowed:
            return column.cast(pl.List(pl.String)).list.join(" / "), ""
        case "list<string>" if is_list(dtype):
            return column.cast(pl.List(pl.String)), ""
        case "int64" if dtype.is_integer() or isinstance(dtype, pl.Boolean | pl.Null):
            return column.cast(pl.Int64), ""
        case "int64" if dtype.is_numeric():
            number = column.cast(pl.Float64).fill_nan(None)
            fractions = _count_true(frame, number != number.floor())
            away_from_zero = pl.when(number < 0).then(number.floor()).otherwise(number.ceil())  # 0.5 stays relevant
            return away_from_zero.cast(pl.Int64), f"{fractions:,} values are not whole numbers" if fractions else ""
        case "float64" if dtype.is_numeric() or dtype == pl.Null:
            return column.cast(pl.Float64), ""
        case "int64" | "float64" if dtype == pl.String:
            number = column.cast(pl.Int64 if expected == "int64" else pl.Float64, strict=False)
            if not _count_true(frame, column.is_not_null() & number.is_null()):
                return number, "" if expected == "int64" else problem
            if name == "labels":
                return column.rank("dense").cast(pl.Int64) - 1, problem
    return column, ""


def _count_true(frame: pl.LazyFrame, condition: pl.Expr) -> int:
    return int(frame.select(condition.sum()).collect(engine="streaming").item())
