"""What differs between two versions of a dataset, with all rows that differ as lists of the site.

A record of removed and of added rows is [name, position, values]; one of changed rows is [name, position in the new version, old
values, new values]. Values are in the order of the columns of the version that they are of.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from pipelines.audit.row_names import name_rows
from pipelines.release.comparison import compare_figures, match_rows
from pipelines.release.folder import scan_tables
from pipelines.site_pages.data_scripts import write_list
from pipelines.site_pages.row_pages import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cards.manifest import Manifest, Table
    from pipelines.release.comparison import RowMatch
    from pipelines.site_pages.data_scripts import RecordList

BATCH_ROWS = 10_000
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
    columns: tuple[str, ...]
    removed: int
    added: int
    changed: int
    old_columns: tuple[str, ...]
    new_columns: tuple[str, ...]
    lists: dict[str, RecordList]


def compare_versions(
    page_dir: Path, folder: str, old: tuple[Path, Manifest], new: tuple[Path, Manifest], *, with_rows: bool
) -> list[TableChange]:
    """How each table differs between two releases.

    folder: below that of the page, where the rows that differ are written, if `with_rows`.
    """
    olds, news = ({(table.config, table.split): table for table in manifest.tables} for _, manifest in (old, new))
    changes = []
    for number, (config, split) in enumerate(dict.fromkeys([*news, *olds]), 1):
        before, after = olds.get((config, split)), news.get((config, split))
        old_rows, new_rows = (
            scan_tables(release_dir, [table])[config][split] if table else None
            for (release_dir, _), table in zip((old, new), (before, after), strict=True)
        )
        change, match = _compare_table(before, after, old_rows, new_rows)
        if match is not None and with_rows and old_rows is not None and new_rows is not None:
            large = max(table.num_bytes for table in (before, after) if table) > MAX_BYTES
            limit = MAX_LISTED if large else None
            lists = _write_lists(page_dir, f"{folder}/table-{number}", match, old_rows, new_rows, limit)
            change = replace(change, lists=lists)
        changes.append(change)
    return changes


def changed_figures(old: Path, new: Path) -> list[tuple[str, Any, Any]]:
    """The statistics, options, dropped rows and findings that differ between two releases: name, old and new value."""
    return [(name, *values) for name, values in compare_figures(old, new)[0].items()]


def _compare_table(
    before: Table | None, after: Table | None, old: pl.LazyFrame | None, new: pl.LazyFrame | None
) -> tuple[TableChange, RowMatch | None]:
    table = after or before
    assert table is not None
    columns = [tuple(column.name for column in one.columns) if one else () for one in (before, after)]
    rows = [one.rows if one else 0 for one in (before, after)]

    def change(state: str, removed: int, added: int, changed: int = 0, differing: tuple[str, ...] = ()) -> TableChange:
        head = (table.config, table.split, state, *rows, differing)
        return TableChange(*head, removed, added, changed, *columns, {})

    if before is None or after is None or old is None or new is None:
        return change("new" if before is None else "gone", *rows), None
    if before.content_sha256 == after.content_sha256:
        return change("same", 0, 0), None
    match = match_rows(before, after, old, new)
    state = "reordered" if match.reordered else "changed"
    counts = (match.removed.len(), match.added.len(), match.changed.height)
    return change(state, *counts, match.columns), match


def _write_lists(
    page_dir: Path, folder: str, match: RowMatch, old: pl.LazyFrame, new: pl.LazyFrame, limit: int | None
) -> dict[str, RecordList]:
    """Write the rows that differ. limit: only the first so many of each list."""
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
