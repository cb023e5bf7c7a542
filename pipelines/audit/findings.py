"""Findings from conditions: how many rows of a table meet one, their share, and which rows these are.

Every family of findings (integrity, texts, duplicates, leaks, labels, judgements, wrong_language) makes its findings here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from cards.manifest import Finding, Severity
from pipelines.audit.kinds import KINDS
from pipelines.audit.row_names import name_rows
from pipelines.audit.tables import Frames, Location, row_id

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLES = 5
ROW_COLUMNS = ("position", "row", "twin_split", "twin")


@dataclass(frozen=True)
class FindingRows:
    """A finding and its rows.

    finding: without examples, unless it names no rows (labels). rows: one for each row of the finding, with `position` (in its
    table, uint32), or with `row`, a name, where that is no row of the table. Where the row has a twin, the other row that makes it
    a finding, `twin` is its position and `twin_split` its split, in the same config.
    """

    finding: Finding
    rows: pl.LazyFrame


NO_ROWS = pl.LazyFrame(schema={"position": pl.UInt32})


def findings_where(
    kind: str,
    location: Location,
    rows: pl.LazyFrame | pl.DataFrame,
    condition: pl.Expr,
    *,
    detail: str = "",
    severity: Severity | None = None,
) -> list[FindingRows]:
    """One finding for the rows that meet a condition, none if no row does. A null condition is not met.

    rows: what the finding counts; its share is of all of them. With a column `position`, that names the row of the table (and the
    columns `twin` and `twin_split` its twin); else, if it has ids, these name the row; else it is the table itself. severity: that
    of the kind, unless given.
    """
    rows = rows.lazy()
    columns = rows.collect_schema().names()
    if "position" not in columns and "row" not in columns:
        name = row_id(columns)
        rows = rows.with_row_index("position") if name is None else rows.with_columns(row=name)
    marked = rows.with_columns(condition.fill_null(value=False).alias("__match"))
    counts = marked.select(pl.len().alias("total"), pl.col("__match").sum().alias("count")).collect(engine="streaming")
    total, count = counts.row(0)
    if not count:
        return []
    finding = Finding(kind, severity or KINDS[kind].severity, *location, count, count / total, (), detail)
    kept = [column for column in ROW_COLUMNS if column in marked.collect_schema().names()]
    return [FindingRows(finding, marked.filter("__match").select(kept))]


def table_finding(kind: str, config: str, split: str = "", column: str = "", *, detail: str = "") -> FindingRows:
    """A finding about a whole table or column, which counts once."""
    return FindingRows(Finding(kind, KINDS[kind].severity, config, split, column, 1, 1.0, (), detail), NO_ROWS)


def with_examples(findings: Sequence[FindingRows], frames: Frames) -> list[FindingRows]:
    """The findings with the names of their first rows as examples. frames: the tables that were audited, by config and split."""
    return [one if one.finding.examples else _with_examples(one, frames) for one in findings]


def _with_examples(one: FindingRows, frames: Frames) -> FindingRows:
    rows = one.rows.head(EXAMPLES).collect()
    if "row" in rows.columns:
        names = rows["row"].cast(pl.String).to_list()
    elif rows.is_empty():
        names = []
    else:
        names = name_rows(frames[one.finding.config][one.finding.split], rows["position"]).to_list()
    return replace(one, finding=replace(one.finding, examples=tuple(map(str, names))))
