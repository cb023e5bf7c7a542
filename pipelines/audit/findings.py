"""Findings from conditions: how many rows of a table meet one, their share, and which rows these are.

Every family of findings (integrity, texts, duplicates, leaks, labels, judgements, wrong_language) makes its findings here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import polars as pl

from cards.manifest import Finding, Severity
from pipelines.audit.kinds import KINDS
from pipelines.audit.row_names import name_rows
from pipelines.audit.tables import Frames, Location, row_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

EXAMPLES = 5
ROW_COLUMNS = ("position", "row", "twin_split", "twin")


@dataclass(frozen=True)
class FindingRows:
    """A finding and its rows.

    rows: one for each row of the finding, with `position` (in its table, uint32), or with `row`, a name, where it is not a row of
    the table. Where another row makes it a finding, its twin, `twin` is the position of that and `twin_split` its split. tables:
    those of the finding's config, by split, that the positions refer to.
    """

    finding: Finding
    rows: pl.LazyFrame
    tables: Mapping[str, pl.LazyFrame] = field(default_factory=dict)


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

    rows: what the finding counts; its share is of all of them. Its column `position` says which row of the table each is (and
    the columns `twin` and `twin_split` its twin); without that column, its ids name it; without ids, it is the table itself.
    severity: that of the kind, unless given. Examples are added later, by `with_examples`.
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
    finding = Finding(kind, severity or KINDS[kind].severity, *location, count, count / total, detail=detail)
    kept = [column for column in ROW_COLUMNS if column in marked.collect_schema().names()]
    return [FindingRows(finding, marked.filter("__match").select(kept))]


def table_finding(kind: str, config: str, split: str = "", column: str = "", *, detail: str = "") -> Finding:
    """A finding about a whole table or column, which counts once."""
    return Finding(kind, KINDS[kind].severity, config, split, column, 1, 1.0, detail=detail)


def without_rows(finding: Finding) -> FindingRows:
    """A finding about something else than rows: a table, a column, labels."""
    return FindingRows(finding, pl.LazyFrame(schema={"position": pl.UInt32}))


def with_examples(findings: Sequence[FindingRows], frames: Frames) -> list[FindingRows]:
    """The findings with their tables and the names of their first rows. frames: the audited tables, by config and split."""
    return [_with_examples(one, frames.get(one.finding.config, {})) for one in findings]


def _with_examples(one: FindingRows, tables: Mapping[str, pl.LazyFrame]) -> FindingRows:
    rows = one.rows.head(EXAMPLES).collect()
    if one.finding.examples or rows.is_empty():
        return replace(one, tables=tables)
    names = rows["row"] if "row" in rows.columns else name_rows(tables[one.finding.split], rows["position"])
    finding = replace(one.finding, examples=tuple(map(str, names)), twins=_name_twins(rows, tables))
    return replace(one, finding=finding, tables=tables)


def _name_twins(rows: pl.DataFrame, tables: Mapping[str, pl.LazyFrame]) -> tuple[str, ...]:
    """The names of the twins of some rows, with their splits; empty where they have none."""
    if "twin" not in rows.columns:
        return ()
    splits = rows["twin_split"].to_list()
    names = {split: name_rows(tables[split], rows["twin"]) for split in dict.fromkeys(splits)}
    return tuple(f"{split}: {names[split][number]}" for number, split in enumerate(splits))
