"""Two releases side by side: which rows were added, removed and changed, and which figures differ.

Content hashes decide which tables are the same. Where two tables differ, rows are matched by their key: `id`, else `query-id` and
`corpus-id`, else `query-id`, else (or where a key occurs twice) the whole row, once for each time it occurs. Rows are compared by
64-bit hashes, so that tables larger than memory can be compared.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from cards.manifest import Manifest, Table
from cards.statistics import read_statistics, to_json
from pipelines.audit.findings import EXAMPLES, POSITION, rows_at
from pipelines.audit.tables import count_rows
from pipelines.release.folder import STATISTICS, require_manifest, scan_table
from pipelines.release.ledger import LedgerTable

KEYS = (("id",), ("query-id", "corpus-id"), ("query-id",))
HASH, COPY = "__hash", "__copy"


@dataclass(frozen=True)
class Change:
    """How one table differs between two releases.

    state: `same`, `new`, `gone` or `changed`. before, after: rows. key: the columns that rows were matched by; empty for the
    whole row, where a row with another value counts as one removed and one added. columns: those that only one of the two has, as
    `-name (type)` and `+name (type)`. reordered: the same rows in another order. examples: up to five rows for `added` and
    `removed`; for `changed` the key, and old and new value of each column that differs.
    """

    config: str
    split: str
    state: str
    before: int
    after: int
    key: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    added: int = 0
    removed: int = 0
    changed: int = 0
    reordered: bool = False
    examples: Mapping[str, list[Any]] | None = None


@dataclass(frozen=True)
class RowMatch:
    """Which rows of two tables differ. old, new: their rows. comparable: whether they have a common column.

    removed: positions in the old table. added: positions in the new one. changed: the positions `old` and `new` of every row
    whose key both have, with other values.
    """

    old: pl.LazyFrame
    new: pl.LazyFrame
    removed: pl.Series
    added: pl.Series
    changed: pl.DataFrame
    comparable: bool = True


@dataclass(frozen=True)
class FirstDifference:
    """The first row at which two tables differ. position: from 0. old, new: the row of each, None behind its last row."""

    config: str
    split: str
    position: int
    old: Mapping[str, Any] | None
    new: Mapping[str, Any] | None


def compare_tables(old: Path, new: Path) -> list[Change]:
    """How every table differs between two releases: the tables of the new one in its order, then those only the old one has.

    Raises ReleaseError for a folder that is not a release.
    """
    changes = []
    for before, after in pair_tables(require_manifest(old), require_manifest(new)):
        change, match = compare_table((old, before), (new, after))
        changes.append(replace(change, examples=_examples(match, change.key)) if match else change)
    return changes


def pair_tables(old: Manifest, new: Manifest) -> list[tuple[Table | None, Table | None]]:
    """The tables of two releases by config and split: those of the new one in its order, then those only the old one has."""
    olds, news = ({(table.config, table.split): table for table in manifest.tables} for manifest in (old, new))
    return [(olds.get(location), news.get(location)) for location in dict.fromkeys([*news, *olds])]


def compare_table(old: tuple[Path, Table | None], new: tuple[Path, Table | None]) -> tuple[Change, RowMatch | None]:
    """How a table differs between two releases, without examples; and which rows do, where both releases have the table.

    old, new: the folder of each release, and the table in it.
    """
    (old_dir, before), (new_dir, after) = old, new
    if before is not None and after is not None:
        if before.content_sha256 == after.content_sha256:
            return Change(after.config, after.split, "same", before.rows, after.rows), None
        return _match_rows(before, after, scan_table(old_dir, before), scan_table(new_dir, after))
    if after is not None:
        return Change(after.config, after.split, "new", 0, after.rows, added=after.rows), None
    assert before is not None
    return Change(before.config, before.split, "gone", before.rows, 0, removed=before.rows), None


def find_first_difference(old: Path, new: Path) -> FirstDifference | None:
    """The first row that differs, in the first table of the old release that has other rows in the new one.

    Only columns that both have are compared. None where no table that both have differs in them.

    Raises ReleaseError for a folder that is not a release.
    """
    for after, before in pair_tables(require_manifest(new), require_manifest(old)):
        if after is None or before is None or after.content_sha256 == before.content_sha256:
            continue
        frames = [scan_table(old, before), scan_table(new, after)]
        position = _first_position(_common_columns(before, after)[1], *frames)
        if position is not None:
            rows = [frame.slice(position, 1).collect(engine="streaming").to_dicts() for frame in frames]
            return FirstDifference(before.config, before.split, position, *(row[0] if row else None for row in rows))
    return None


def _first_position(common: list[str], old: pl.LazyFrame, new: pl.LazyFrame) -> int | None:
    """The position of the first row that differs in these columns, or that only one of two tables has."""
    if not common:
        return None
    hashes = [_row_hashes(frame, (), common)[HASH] for frame in (old, new)]
    shared = min(map(len, hashes))
    differing = (hashes[0].head(shared) != hashes[1].head(shared)).arg_true()
    if len(differing):
        return int(differing[0])
    return None if len(hashes[0]) == len(hashes[1]) else shared


def describe_difference(old: Sequence[Table | LedgerTable], new: Sequence[Table | LedgerTable]) -> str:
    """How the tables of two manifests or ledger entries differ, in a line."""
    before, after = ({table.location: (table.rows, table.content_sha256) for table in tables} for tables in (old, new))
    changes = []
    for location in dict.fromkeys([*before, *after]):
        if location not in after:
            changes.append(f"{location} is gone ({before[location][0]} rows)")
        elif location not in before:
            changes.append(f"{location} is new ({after[location][0]} rows)")
        elif before[location] != after[location]:
            (old_rows, old_hash), (new_rows, new_hash) = before[location], after[location]
            rows = f"{old_rows} -> {new_rows} rows" if old_rows != new_rows else "other rows"
            changes.append(f"{location}: {rows}, {old_hash[:12]} -> {new_hash[:12]}")
    return "; ".join(changes) or "only the order of tables"


def compare_figures(old: Path, new: Path) -> tuple[dict[str, tuple[Any, Any]], int]:
    """Statistics, options, drops and findings that differ, as {name: (old, new)}, and the number of those that do not.

    Raises ReleaseError for a folder that is not a release.
    """
    before, after = (release_figures(release_dir) for release_dir in (old, new))
    names = list(dict.fromkeys([*before, *after]))
    differing = {name: (before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)}
    return differing, len(names) - len(differing)


def _match_rows(before: Table, after: Table, old: pl.LazyFrame, new: pl.LazyFrame) -> tuple[Change, RowMatch]:
    """Which rows of two tables with different content were added, removed and changed. old, new: their rows."""
    columns, common = _common_columns(before, after)
    change = Change(after.config, after.split, "changed", before.rows, after.rows, columns=columns)
    if not common:
        removed, added = (pl.int_range(rows, dtype=pl.UInt32, eager=True) for rows in (before.rows, after.rows))
        nothing = pl.DataFrame(schema={"old": pl.UInt32, "new": pl.UInt32})
        match = RowMatch(old, new, removed, added, nothing, comparable=False)
        return replace(change, added=after.rows, removed=before.rows), match
    key = _key(common, old, new)
    old_rows, new_rows = (_hashed(frame, key, common) for frame in (old, new))
    on = list(key) or [HASH, COPY]
    gone = old_rows.join(new_rows, on=on, how="anti").sort(POSITION)
    came = new_rows.join(old_rows, on=on, how="anti").sort(POSITION)
    both = old_rows.join(new_rows, on=on, how="inner", suffix="_new").sort(f"{POSITION}_new")
    changed = both.filter(both[HASH] != both[f"{HASH}_new"]) if key else both.clear()
    equal = not (columns or gone.height or came.height or changed.height)
    match = RowMatch(old, new, gone[POSITION], came[POSITION], changed.select(old=POSITION, new=f"{POSITION}_new"))
    change = replace(change, key=key, added=came.height, removed=gone.height, changed=changed.height)
    return replace(change, reordered=equal and not both[POSITION].is_sorted()), match


def _common_columns(before: Table, after: Table) -> tuple[tuple[str, ...], list[str]]:
    """The columns that only one of two tables has, as in Change, and the names of those that both have."""
    old_types, new_types = ({column.name: column.type for column in table.columns} for table in (before, after))
    common = [name for name, kind in new_types.items() if old_types.get(name) == kind]
    columns = [f"-{name} ({kind})" for name, kind in old_types.items() if name not in common]
    columns += [f"+{name} ({kind})" for name, kind in new_types.items() if name not in common]
    return tuple(columns), common


def _examples(match: RowMatch, key: tuple[str, ...]) -> dict[str, list[Any]] | None:
    """The first rows that differ, as in Change; None for tables without a common column."""
    if not match.comparable:
        return None
    changed = match.changed.head(EXAMPLES)
    return {
        "added": rows_at(match.new, match.added.head(EXAMPLES)).to_dicts(),
        "removed": rows_at(match.old, match.removed.head(EXAMPLES)).to_dicts(),
        "changed": _pairs(rows_at(match.old, changed["old"]), rows_at(match.new, changed["new"]), key),
    }


def _key(common: list[str], old: pl.LazyFrame, new: pl.LazyFrame) -> tuple[str, ...]:
    """The columns that name a row in both tables; none where no such columns tell all rows apart."""
    key = next((names for names in KEYS if set(names) <= set(common)), ())
    for frame in (old, new) if key else ():
        names = frame.select(key)
        if count_rows(names) != count_rows(names.unique()):
            return ()
    return key


def _hashed(frame: pl.LazyFrame, key: tuple[str, ...], common: list[str]) -> pl.DataFrame:
    """For every row its position, its key and a hash of its values; without a key, the number of equal rows before it."""
    rows = _row_hashes(frame, key, common)
    return rows if key else rows.with_columns(pl.col(POSITION).rank("ordinal").over(HASH).alias(COPY))


def _row_hashes(frame: pl.LazyFrame, key: tuple[str, ...], common: list[str]) -> pl.DataFrame:
    """For every row its position, its key and a hash of its values."""
    rows = frame.with_row_index(POSITION).select(POSITION, *key, pl.struct(common).hash(0).alias(HASH))
    return rows.collect(engine="streaming").sort(POSITION)


def _pairs(olds: pl.DataFrame, news: pl.DataFrame, key: tuple[str, ...]) -> list[dict[str, Any]]:
    """The key of each row, and [old, new] of each column that differs."""
    return [
        {name: new[name] for name in key}
        | {name: [old[name], new[name]] for name in new if name in old and old[name] != new[name]}
        for old, new in zip(olds.to_dicts(), news.to_dicts(), strict=True)
    ]


def release_figures(release_dir: Path) -> dict[str, Any]:
    """The statistics, options, drops and findings of a release by name: `statistics / test / num_samples`."""
    manifest = require_manifest(release_dir)
    findings = Counter[str]()
    # Several findings of a kind in one place differ in their detail: their counts add up.
    for finding in manifest.findings:
        location = "/".join(filter(None, (finding.config, finding.split, finding.column)))
        findings[f"{finding.kind} in {location}"] += finding.count
    figures = {
        "statistics": to_json(read_statistics(release_dir / STATISTICS)),
        "option": manifest.recipe.options,
        "dropped": {f"{drop.split}: {drop.reason}": drop.count for drop in manifest.dropped},
        "finding": findings,
    }
    return dict(_flat(figures))


def _flat(values: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        inner = f"{path} / {name}" if path else str(name)
        if isinstance(value, Mapping):
            yield from _flat(value, inner)
        else:
            yield inner, value
