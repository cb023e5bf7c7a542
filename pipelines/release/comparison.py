"""Two releases side by side: which rows were added, removed and changed, and which numbers differ.

What is the same is decided by content hashes. Where two tables differ, rows are matched by their key: `id`, else `query-id` and
`corpus-id`, else `query-id`, else (or where a key stands twice) the whole row, as often as it stands there. Rows are compared
by numbers of 64 bits that stand for them, so that tables larger than memory can be compared.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from builders.errors import ReleaseError
from cards import markdown
from pipelines import command
from pipelines.release import staging
from pipelines.release.verification import is_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path


EXAMPLES = 5
KEYS = (("id",), ("query-id", "corpus-id"), ("query-id",))
NUMBER, PLACE = "__number", "__place"


@dataclass(frozen=True)
class Change:
    """What became of one table.

    state: `same`, `new`, `gone` or `changed`. before, after: rows. key: the columns that rows were matched by; none: the whole
    row, so that a row with another value counts as one removed and one added. columns: (name, type) that only one of the two
    has, marked with - or +. reordered: the same rows in another order. examples: up to five for `added` and `removed` (rows)
    and for `changed` (the key, and old and new value of each column that differs).
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


def compare_tables(old: Path, new: Path) -> list[Change]:
    """What became of every table between two releases, in the new one's order, then what is gone.

    Raises ReleaseError for a folder that is no release.
    """
    manifests = {place: manifest_of(place) for place in (old, new)}
    frames = {place: staging.frames_of(place, manifest) for place, manifest in manifests.items()}
    olds, news = (
        {(table["config"], table["split"]): table for table in manifests[place]["tables"]} for place in (old, new)
    )
    changes = []
    for config, split in dict.fromkeys([*news, *olds]):
        before, after = olds.get((config, split)), news.get((config, split))
        if before is None or after is None:
            state = "new" if before is None else "gone"
            rows = (before["rows"] if before else 0, after["rows"] if after else 0)
            changes.append(Change(config, split, state, *rows, added=rows[1], removed=rows[0]))
        elif before["content_sha256"] == after["content_sha256"]:
            changes.append(Change(config, split, "same", before["rows"], after["rows"]))
        else:
            changes.append(_changed(before, after, frames[old][config][split], frames[new][config][split]))
    return changes


def manifest_of(place: Path) -> dict[str, Any]:
    """The manifest of a release.

    Raises ReleaseError for a folder that is none.
    """
    manifest = staging.read_manifest(place)
    if manifest is None:
        raise ReleaseError("there is no release here", where=str(place), todo="name a folder with a manifest.json")
    if not is_manifest(manifest):
        raise ReleaseError("this manifest is of another program", where=str(place / staging.MANIFEST))
    return manifest


def compare_figures(old: Path, new: Path) -> tuple[dict[str, tuple[Any, Any]], int]:
    """Statistics, options of the recipe, drops and findings that differ, as {name: (old, new)}, and how many are equal."""
    before, after = (_figures(place) for place in (old, new))
    names = list(dict.fromkeys([*before, *after]))
    differing = {name: (before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)}
    return differing, len(names) - len(differing)


def page(changes: Sequence[Change]) -> list[str]:
    """What became of the tables, as lines for a terminal."""
    heading = ["table", "rows before", "rows after", "added", "removed", "changed", "note"]
    rows = [
        [
            f"{change.config}/{change.split}",
            *(f"{count:,}" for count in (change.before, change.after, change.added, change.removed, change.changed)),
            "; ".join(_remarks(change)),
        ]
        for change in changes
    ]
    lines = command.table([heading, *rows]).splitlines()
    for change in changes:
        for kind, examples in (change.examples or {}).items():
            if examples:
                lines += ["", f"{kind} in {change.config}/{change.split}, for example:"]
                lines += [f"  {markdown.code(example, 80).strip('`')}" for example in examples]
    return lines


def _remarks(change: Change) -> Iterator[str]:
    if change.state in {"new", "gone", "same"}:
        yield change.state
    if change.columns:
        yield f"columns {', '.join(change.columns)}"
    if change.reordered:
        yield "the same rows in another order"
    if change.state == "changed" and not change.key:
        yield "matched by whole rows"


def _changed(before: Mapping[str, Any], after: Mapping[str, Any], old: pl.LazyFrame, new: pl.LazyFrame) -> Change:
    """How two tables of other content differ."""
    kinds = [{column["name"]: column["type"] for column in table["columns"]} for table in (before, after)]
    common = [name for name, kind in kinds[1].items() if kinds[0].get(name) == kind]
    columns = [f"-{name} ({kind})" for name, kind in kinds[0].items() if name not in common]
    columns += [f"+{name} ({kind})" for name, kind in kinds[1].items() if name not in common]
    head = (before["config"], before["split"], "changed", before["rows"], after["rows"])
    if not common:
        return Change(*head, columns=tuple(columns), added=after["rows"], removed=before["rows"])
    key = _key(common, old, new)
    sides = [_numbered(frame, key, common) for frame in (old, new)]
    match = list(key) or [NUMBER, "__copy"]
    only = [sides[mine].join(sides[other], on=match, how="anti").sort(PLACE) for mine, other in ((0, 1), (1, 0))]
    both = sides[0].join(sides[1], on=match, how="inner", suffix="_new").sort(f"{PLACE}_new")
    other = both.filter(both[NUMBER] != both[f"{NUMBER}_new"]) if key else both.clear()
    untouched = not (columns or only[0].height or only[1].height or other.height)
    return Change(
        *head,
        key,
        tuple(columns),
        added=only[1].height,
        removed=only[0].height,
        changed=other.height,
        reordered=untouched and not both[PLACE].is_sorted(),
        examples={
            "added": _rows(new, only[1][PLACE]),
            "removed": _rows(old, only[0][PLACE]),
            "changed": _pairs(_rows(old, other[PLACE]), _rows(new, other[f"{PLACE}_new"]), key),
        },
    )


def _key(common: list[str], old: pl.LazyFrame, new: pl.LazyFrame) -> tuple[str, ...]:
    """The columns that name a row in both tables; none where no such columns tell all rows apart."""

    key = next((names for names in KEYS if set(names) <= set(common)), ())
    for frame in (old, new) if key else ():
        names = frame.select(key)
        rows, named = (one.select(pl.len()).collect(engine="streaming").item() for one in (names, names.unique()))
        if rows != named:
            return ()
    return key


def _numbered(frame: pl.LazyFrame, key: tuple[str, ...], common: list[str]) -> pl.DataFrame:
    """For every row: its place, its key, a number that stands for its values; without a key, which copy of itself it is."""

    number = pl.struct(common).hash(0).alias(NUMBER)
    rows = frame.with_row_index(PLACE).select(PLACE, *key, number).collect(engine="streaming").sort(PLACE)
    if key:
        return rows
    return rows.with_columns(pl.col(PLACE).rank("ordinal").over(NUMBER).alias("__copy"))


def _rows(frame: pl.LazyFrame, places: pl.Series) -> list[dict[str, Any]]:
    """The rows at the first few places, in that order."""

    wanted = places.head(EXAMPLES)
    found = frame.with_row_index(PLACE).filter(pl.col(PLACE).is_in(wanted.implode())).collect(engine="streaming")
    rows = {row.pop(PLACE): row for row in found.to_dicts()}
    return [rows[place] for place in wanted]


def _pairs(olds: list[dict[str, Any]], news: list[dict[str, Any]], key: tuple[str, ...]) -> list[dict[str, Any]]:
    """The key of each row, and (old, new) of each column that differs."""
    return [
        {name: new[name] for name in key}
        | {name: [old[name], new[name]] for name in new if name in old and old[name] != new[name]}
        for old, new in zip(olds, news, strict=True)
    ]


def _figures(place: Path) -> dict[str, Any]:
    manifest = manifest_of(place)
    findings = {
        f"{one['kind']} in {'/'.join(filter(None, (one['config'], one['split'], one['column'])))}": one["count"]
        for one in manifest["findings"]
    }
    dropped = {f"{one['split']}: {one['reason']}": one["count"] for one in manifest["dropped"]}
    path = place / staging.STATISTICS
    try:
        statistics = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise ReleaseError("the statistics of this release cannot be read", where=str(path), found=str(error)) from None
    parts = {"option": manifest["recipe"]["options"], "dropped": dropped, "finding": findings}
    return dict(_flat({"statistics": statistics} | parts))


def _flat(values: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        inner = f"{path} / {name}" if path else str(name)
        if isinstance(value, dict):
            yield from _flat(value, inner)
        else:
            yield inner, value
