"""How many rows of each table of an index were found, by kind, and how much of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from pipelines.corpus_scan.index_file import IndexTable
from pipelines.corpus_scan.matching import KINDS
from pipelines.corpus_scan.scans import TABLE, UNIT_RANKS, Scan

WHOLE_UNITS = ("labelled text", "pair", "query with positive", "labelled pair")


@dataclass(frozen=True)
class TableSummary:
    """What was found of a table of the index.

    kinds: how many of its rows have each kind; a row counts once, with the strictest. units: how many rows have more in one row
    of the corpus than their text, once each, by the most that one has. estimated: rows with no match but near ones whose
    similarity is estimated.
    short: rows with a text of 1 to 4 words that the corpus has, but not with the rest of its unit: not in `kinds`.
    """

    table: IndexTable
    at_hand: bool
    kinds: Mapping[str, int]
    units: Mapping[str, int]
    estimated: int
    short: int

    @property
    def found(self) -> int:
        """How many rows were found."""
        return sum(self.kinds.values())

    @property
    def share(self) -> float:
        """The share of rows that were found, 0 to 1."""
        return self.found / self.table.rows if self.table.rows else 0.0


def summarise(scan: Scan) -> list[TableSummary]:
    """A summary for each table of the index, in its order."""
    found, short = scan.sums.found, scan.sums.short
    strictest = pl.coalesce(pl.when(kind).then(pl.lit(kind)) for kind in KINDS)
    by_kind = _counts(found.with_columns(kind=strictest), "kind")
    by_unit = _counts(found, "unit")
    estimated = _counts(found.filter("is_estimated"), "is_estimated")
    alone = short.join(found, on=[*TABLE, "row"], how="anti").with_columns(one=pl.lit(1))
    by_short = _counts(alone, "one")
    summaries = []
    for table, at_hand in zip(scan.tables, scan.at_hand, strict=True):
        key = table.key
        kinds = {kind: by_kind.get((*key, kind), 0) for kind in KINDS}
        units = {name: by_unit.get((*key, UNIT_RANKS[name]), 0) for name in WHOLE_UNITS}
        short_rows, estimated_rows = by_short.get((*key, 1), 0), estimated.get((*key, True), 0)
        summaries.append(TableSummary(table, at_hand, kinds, units, estimated_rows, short_rows))
    return summaries


def _counts(frame: pl.DataFrame, column: str) -> dict[tuple[Any, ...], int]:
    """How many rows each table has with each value of a column."""
    counted = frame.group_by(*TABLE, column).agg(__rows=pl.len())
    return {row[:-1]: row[-1] for row in counted.iter_rows()}


def flagged_rows(scan: Scan) -> pl.DataFrame:
    """The rows of the index that were found, to leave out of an evaluation.

    Columns: dataset, version, config, split, row (String), kinds (list of String, the strictest first), matches (Int64: how many
    there are of all its texts), in the order of the first five.
    """
    key = ["dataset", "version", "config", "split", "row"]
    rows = scan.sums.found.group_by(key).agg(*(pl.col(kind).any() for kind in KINDS), pl.col("matches").sum())
    kinds = pl.concat_list(pl.when(kind).then(pl.lit(kind)) for kind in KINDS).list.drop_nulls()
    return rows.select(*key, kinds=kinds, matches="matches").sort(key)
