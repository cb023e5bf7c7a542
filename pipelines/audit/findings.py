"""Findings from conditions: how many rows of a table meet one, their share, and the first five by name.

Every family of findings (integrity, texts, duplicates, leaks, labels, judgements, wrong_language) makes its findings here.
"""

from __future__ import annotations

import polars as pl

from cards.manifest import Finding, Severity
from pipelines.audit.kinds import KINDS
from pipelines.audit.tables import Location, row_name

EXAMPLES = 5


def findings_where(
    kind: str,
    location: Location,
    rows: pl.LazyFrame | pl.DataFrame,
    condition: pl.Expr,
    *,
    detail: str = "",
    severity: Severity | None = None,
) -> list[Finding]:
    """One finding for the rows that meet a condition, none if no row does. A null condition is not met.

    rows: what the finding counts; its share is of all of them. severity: that of the kind, unless given.
    """
    count, total, examples = _count_where(rows.lazy(), condition)
    if not count:
        return []
    return [Finding(kind, severity or KINDS[kind].severity, *location, count, count / total, examples, detail)]


def table_finding(kind: str, config: str, split: str = "", column: str = "", *, detail: str = "") -> Finding:
    """A finding about a whole table or column, which counts once."""
    return Finding(kind, KINDS[kind].severity, config, split, column, 1, 1.0, (), detail)


def _count_where(rows: pl.LazyFrame, condition: pl.Expr) -> tuple[int, int, tuple[str, ...]]:
    """The number of rows that meet a condition, the number of all rows, and the names of the first that meet it."""
    name = row_name(rows.collect_schema().names())
    marked = rows.with_row_index("__row").with_columns(condition.fill_null(value=False).alias("__match"))
    counts = marked.select(pl.len().alias("total"), pl.col("__match").sum().alias("count")).collect(engine="streaming")
    total, count = counts.row(0)
    if not count:
        return 0, total, ()
    names = marked.filter("__match").select(name.alias("__name")).head(EXAMPLES).collect()["__name"]
    return count, total, tuple(str(one) for one in names)
