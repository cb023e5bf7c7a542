"""Findings from conditions: how many rows of a table meet one, their share, and which rows these are.

Every family of findings (integrity, texts, duplicates, leaks, labels, judgements, wrong_language) makes its findings here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress

import polars as pl

from cards.manifest import Finding, Severity
from pipelines.audit.kinds import KINDS
from pipelines.audit.row_names import name_rows
from pipelines.audit.tables import Frames, Location, row_id

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
    is_match = condition.fill_null(value=False)
    counting = [pl.len().alias("total"), is_match.sum().alias("count")]
    counted = rows.select(counting)
    total, count = (counted if isinstance(counted, pl.DataFrame) else counted.collect(engine="streaming")).row(0)
    if not count:
        return []
    rows = rows.lazy()
    columns = rows.collect_schema().names()
    if "position" not in columns and "row" not in columns:
        name = row_id(columns)
        rows = rows.with_row_index("position") if name is None else rows.with_columns(row=name)
    finding = Finding(kind, severity or KINDS[kind].severity, *location, count, count / total, detail=detail)
    kept = [column for column in ROW_COLUMNS if column in rows.collect_schema().names()]
    return [FindingRows(finding, rows.with_columns(is_match.alias("__match")).filter("__match").select(kept))]


def findings_for_each(
    rows: pl.LazyFrame | pl.DataFrame, conditions: Sequence[tuple[str, Location, pl.Expr]]
) -> list[FindingRows]:
    """The findings of several conditions, each with its kind and location; the rows are read once if none is met."""
    is_met = {str(number): where.fill_null(value=False).any() for number, (_, _, where) in enumerate(conditions)}
    met = compress(conditions, rows.lazy().select(**is_met).collect(engine="streaming").row(0))
    return [one for kind, location, where in met for one in findings_where(kind, location, rows, where)]


def table_finding(kind: str, config: str, split: str = "", column: str = "", *, detail: str = "") -> Finding:
    """A finding about a whole table or column, which counts once."""
    return Finding(kind, KINDS[kind].severity, config, split, column, 1, 1.0, detail=detail)


def without_rows(finding: Finding) -> FindingRows:
    """A finding about something else than rows: a table, a column, labels."""
    return FindingRows(finding, pl.LazyFrame(schema={"position": pl.UInt32}))


def with_examples(findings: Sequence[FindingRows], frames: Frames) -> list[FindingRows]:
    """The findings with their tables and the names of their first rows. frames: the audited tables, by config and split."""
    heads = [pl.DataFrame() if one.finding.examples else one.rows.head(EXAMPLES).collect() for one in findings]
    wanted: dict[tuple[str, str], dict[int, None]] = {}  # positions by table: naming rows may read all of it, so once
    for one, rows in zip(findings, heads, strict=True):
        for split, position in [*_positions(rows, one.finding.split), *_twins(rows)]:
            wanted.setdefault((one.finding.config, split), {})[position] = None
    names = {
        (config, split): dict(zip(some, name_rows(frames[config][split], pl.Series(list(some))), strict=True))
        for (config, split), some in wanted.items()
    }
    located = []
    for one, rows in zip(findings, heads, strict=True):
        finding, tables = one.finding, frames.get(one.finding.config, {})
        if not rows.is_empty():
            own = [names[finding.config, split][position] for split, position in _positions(rows, finding.split)]
            examples = tuple(map(str, rows["row"] if "row" in rows.columns else own))
            twins = tuple(f"{split}: {names[finding.config, split][position]}" for split, position in _twins(rows))
            finding = replace(finding, examples=examples, twins=twins)
        located.append(replace(one, finding=finding, tables=tables))
    return located


def _positions(rows: pl.DataFrame, split: str) -> list[tuple[str, int]]:
    """The split and the position of rows that are in a table."""
    return [(split, position) for position in rows["position"]] if "position" in rows.columns else []


def _twins(rows: pl.DataFrame) -> list[tuple[str, int]]:
    """The split and the position of the twins of rows, where they have twins."""
    return list(rows.select("twin_split", "twin").iter_rows()) if "twin" in rows.columns else []
