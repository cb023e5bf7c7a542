"""What differs between two versions of a dataset, with all rows that differ as lists of the site.

A record of removed and of added rows is [name, position, values]; one of changed rows is [name, position in the new version, old
values, new values]. Values are in the order of the columns of the version that they are of.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from cards.manifest import Manifest, Table
from pipelines.audit.row_names import name_rows
from pipelines.release.comparison import RowMatch, compare_figures, match_rows
from pipelines.release.folder import scan_tables
from pipelines.site_pages.data_scripts import RecordList, write_list
from pipelines.site_pages.row_pages import MAX_BYTES

BATCH_ROWS = 10_000
Sides = tuple[pl.LazyFrame | None, pl.LazyFrame | None]  # the rows of a table in the old and in the new version
MAX_LISTED = 1_000  # rows that are listed of a table above MAX_BYTES


@dataclass(frozen=True)
class TableChange:
    """How a table differs. state: `same`, `new`, `gone`, `changed` or `reordered`.

    before, after: rows. columns: those that only one version has, with `-` or `+`. removed, added, changed: counts. lists: the
    rows that differ, by `removed`, `added` and `changed`; empty where texts may not be shown. old_columns, new_columns: the
    names of their values.
    """

    config: str
    split: str
    state: str
    before: int
    after: int
    columns: tuple[str, ...] = ()
    removed: int = 0
    added: int = 0
    changed: int = 0
    old_columns: tuple[str, ...] = ()
    new_columns: tuple[str, ...] = ()
    lists: Mapping[str, RecordList] = field(default_factory=dict)


def compare_versions(
    page_dir: Path, folder: str, old: tuple[Path, Manifest], new: tuple[Path, Manifest], *, with_rows: bool
) -> list[TableChange]:
    """How each table differs between two releases.

    folder: below that of the page, where the rows that differ are written, if `with_rows`.
    """
    olds, news = ({(table.config, table.split): table for table in manifest.tables} for _, manifest in (old, new))
    changes = []
    for number, location in enumerate(dict.fromkeys([*news, *olds]), 1):
        before, after = olds.get(location), news.get(location)
        sides = (_scan(old[0], before), _scan(new[0], after))
        change, match = _compare_table(before, after, sides)
        if match is not None and with_rows:
            large = max(table.num_bytes for table in (before, after) if table) > MAX_BYTES
            limit = MAX_LISTED if large else None
            lists = _write_lists(page_dir, f"{folder}/table-{number}", match, sides, limit=limit)
            change = replace(change, lists=lists)
        changes.append(change)
    return changes


def _scan(release_dir: Path, table: Table | None) -> pl.LazyFrame | None:
    return scan_tables(release_dir, [table])[table.config][table.split] if table else None


def changed_figures(old: Path, new: Path) -> list[tuple[str, Any, Any]]:
    """The statistics, options, dropped rows and findings that differ between two releases: name, old and new value."""
    return [(name, *values) for name, values in compare_figures(old, new)[0].items()]


def _compare_table(before: Table | None, after: Table | None, sides: Sides) -> tuple[TableChange, RowMatch | None]:
    table = after or before
    assert table is not None
    rows = [one.rows if one else 0 for one in (before, after)]
    columns = [tuple(column.name for column in one.columns) if one else () for one in (before, after)]
    same = TableChange(
        table.config, table.split, "same", rows[0], rows[1], old_columns=columns[0], new_columns=columns[1]
    )
    if before is None or after is None or sides[0] is None or sides[1] is None:
        state = "new" if before is None else "gone"
        return replace(same, state=state, removed=rows[0], added=rows[1]), None
    if before.content_sha256 == after.content_sha256:
        return same, None
    match = match_rows(before, after, sides[0], sides[1])
    change = replace(
        same,
        state="reordered" if match.reordered else "changed",
        columns=match.columns,
        removed=match.removed.len(),
        added=match.added.len(),
        changed=match.changed.height,
    )
    return change, match


def _write_lists(
    page_dir: Path, folder: str, match: RowMatch, sides: Sides, *, limit: int | None
) -> dict[str, RecordList]:
    """Write the rows that differ. limit: only the first so many of each list."""
    old, new = sides
    assert old is not None
    assert new is not None
    changed = match.changed if limit is None else match.changed.head(limit)
    lists = {}
    for name, table, positions in (("removed", old, match.removed), ("added", new, match.added)):
        shown = positions if limit is None else positions.head(limit)
        if shown.len():
            lists[name] = write_list(page_dir, f"{folder}/{name}", (list(row) for row in _rows(table, shown)))
    if changed.height:
        both = zip(_rows(old, changed["old"]), _rows(new, changed["new"]), strict=True)
        records = ([name, position, before, after] for (_, _, before), (name, position, after) in both)
        lists["changed"] = write_list(page_dir, f"{folder}/changed", records)
    return lists


def _rows(table: pl.LazyFrame, positions: pl.Series) -> Iterator[tuple[str, int, list[Any]]]:
    """Name, position and values of the rows at some positions, in that order."""
    for start in range(0, positions.len(), BATCH_ROWS):
        batch = positions.slice(start, BATCH_ROWS).cast(pl.UInt32).rename("__position")
        found = table.with_row_index("__position").filter(pl.col("__position").is_in(batch.implode()))
        rows = batch.to_frame().join(
            found.collect(engine="streaming"), on="__position", how="left", maintain_order="left"
        )
        names = name_rows(table, batch)
        for name, (position, *values) in zip(names, rows.iter_rows(), strict=True):
            yield name, position, values
