"""Two datasets side by side, whoever made them: which tables correspond, in which layout they are compared, and what differs.

Where all tables have counterparts with the same columns, these are compared as they are. Otherwise both datasets are read as a
task of mteb, as `check` reads them, and its columns are compared.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from builders import tasks
from builders.errors import DatasetError, ReleaseError, UsageError
from cards.manifest import Manifest
from pipelines.audit.tables import count_rows
from pipelines.checking.columns import is_list, rename_columns
from pipelines.checking.data_files import Location, Tables, belongs_to
from pipelines.checking.datasets import (
    UNKNOWN_LANGUAGE,
    ForeignDataset,
    ForeignOptions,
    find_files,
    read_tables,
    reading_frames,
)
from pipelines.checking.formats import scan_files
from pipelines.checking.targets import Target, locate_target, resolve_target
from pipelines.identity import USUAL
from pipelines.identity.rows import Common, TableDifference, common_columns, compare_rows
from pipelines.process.stages import stage
from pipelines.release.comparison import compare_figures
from pipelines.release.folder import (
    MANIFEST,
    STATISTICS,
    edited_documents,
    require_manifest,
    scan_tables,
    verify_release,
)

ID_COLUMNS = {
    "corpus": "corpus-id",
    "queries": "query-id",
    "query": "query-id",
}  # what judgements call the ids of a table
ADDED = {"id", "negative_kinds"}  # what the reader of training pairs adds to others' layouts
Exchanged = dict[
    tuple[str, str], dict[str, pl.DataFrame]
]  # ids of A that are others in B, by subset and column, by split
SPLITS = ({"validation", "valid", "val", "dev"}, {"test", "eval", "evaluation"}, {"train", "training"})


@dataclass(frozen=True)
class Side:
    """A dataset to compare. name: what the user calls it. where: its commit, or its folder or file. front_matter: of its card.

    manifest: of a release of this package, in the folder `release_dir`.
    """

    name: str
    where: str
    tables: Tables
    front_matter: Mapping[str, Any]
    manifest: Manifest | None = None
    release_dir: Path | None = None


@dataclass(frozen=True)
class TablePair:
    """A table of A and the one of B that corresponds to it; None where one of them lacks it.

    ignored: columns that the layout of the task does not have, as in TableDifference.
    """

    old: Location | None
    new: Location | None
    old_frame: pl.LazyFrame | None
    new_frame: pl.LazyFrame | None
    ignored: tuple[str, ...] = ()


def compare_datasets(a: Side, b: Side, options: ForeignOptions, allowed: Sequence[str] = USUAL) -> dict[str, Any]:
    """What differs between two datasets, for JSON.

    options: the task, columns, languages and subsets, as for `check`. allowed: differences that do not count, keys of
    `pipelines.identity.ALLOWED`.

    Returns same (whether nothing that counts differs), differences (what differs: these keys, `rows`, `tables`), a and b
    (name, where, dataset, version, content_sha256), task (of the compared layout, empty for the datasets' own), notes, tables
    (TableDifference), and of two releases figures (statistics and others that differ, as [a, b]) and equal_figures.

    Raises SourceError for rows that cannot be read, UsageError for options that fit no table.
    """
    a, b = _select_subsets((a, b), options.subsets)
    task, pairs, notes = _align(a, b, options)
    found: dict[int, TableDifference] = {}
    exchanged: Exchanged = {}
    for number, pair in sorted(
        enumerate(pairs), key=lambda item: _has_judgements(item[1])
    ):  # texts first: then ids are known
        location = "/".join(pair.new or pair.old or ())
        with stage(location), reading_frames(f"{a.name}, {b.name}: {location}"):
            difference = _compare(pair, exchanged)
        renamed = pair.old and pair.new and pair.old != pair.new
        found[number] = replace(difference, old="/".join(pair.old or ())) if renamed else difference
    tables = [found[number] for number in range(len(pairs))]
    differences = list(dict.fromkeys(word for table in tables for word in _differences(table)))
    figures, equal = ({}, 0) if not (a.release_dir and b.release_dir) else compare_figures(a.release_dir, b.release_dir)
    return {
        "same": not set(differences) - set(allowed),
        "differences": differences,
        "a": _head(a),
        "b": _head(b),
        "task": task,
        "notes": notes,
        "tables": tables,
        "figures": figures,
        "equal_figures": equal,
    }


def read_side(name: str, options: ForeignOptions, releases: Path) -> Side:
    """The dataset that a name means, as for `check`. releases: where those of the catalogue are.

    Raises UsageError for a name that means nothing or several datasets, and as read_target does.
    """
    return read_target(resolve_target(name, releases), options)


def read_target(target: Target, options: ForeignOptions) -> Side:
    """The dataset that a name means; a release is verified against its manifest.

    Raises SourceError or ReleaseError for what cannot be read.
    """
    name = target.name
    path, fetched = (target.file, None) if target.file else locate_target(target, options.subsets)
    where = f"commit {path.name}" if fetched else str(path)
    if (path / MANIFEST).is_file():
        manifest = require_manifest(path)
        # A card edited on the Hub does not matter here; edited statistics do, because they are compared.
        if problems := verify_release(path, manifest) + edited_documents(path, manifest, [STATISTICS]):
            raise ReleaseError(
                "the release is damaged",
                where=name,
                found=problems[0],
                todo=f"remove {path}, then build or fetch it again",
            )
        return Side(name, where, scan_tables(path, manifest.tables), {}, manifest, path)
    files = find_files(path, options.subsets)
    tables = {
        config: {split: scan_files([files.folder / file for file in paths]) for split, paths in splits.items()}
        for config, splits in files.tables.items()
    }
    return Side(name, where, tables, files.front_matter)


def _select_subsets(sides: tuple[Side, Side], subsets: Sequence[str]) -> list[Side]:
    """The datasets with these subsets alone, where they have them. Raises UsageError for a subset that neither has."""
    configs = dict.fromkeys(config for side in sides for config in side.tables)
    for subset in subsets:
        if not any(belongs_to(config, subset) for config in configs):
            raise UsageError(
                f"no subset {subset!r}",
                where=", ".join(side.name for side in sides),
                found=f"configs: {', '.join(configs)}",
            )
    selected = [
        {name: splits for name, splits in side.tables.items() if any(belongs_to(name, subset) for subset in subsets)}
        for side in sides
    ]
    return [replace(side, tables=tables or side.tables) for side, tables in zip(sides, selected, strict=True)]


def _has_judgements(pair: TablePair) -> bool:
    frame = pair.new_frame if pair.old_frame is None else pair.old_frame
    return frame is not None and "query-id" in frame.collect_schema()


def _align(a: Side, b: Side, options: ForeignOptions) -> tuple[str, list[TablePair], list[str]]:
    """The type of task that both are read as, empty for the datasets' own layout; pairs of tables, and notes.

    Their own layout, unless that of a task compares a table or a column of the task that it does not.
    """
    sides = _rename_columns((a, b), options.columns)
    pairs = _pair_tables(*(side.tables for side in sides))
    own = _common_columns(pairs)
    incomplete = any(common.columns for common in own.values())
    may_pair = {pair.old is None for pair in pairs if pair.old is None or pair.new is None} == {True, False}
    if not (options.task or incomplete or may_pair):
        return "", pairs, _pair_notes(pairs)
    try:
        datasets, unused = _read_as_task(sides, replace(options, columns={}))
    except DatasetError as error:
        if options.task:
            raise
        words = f"{a.name} and {b.name} are not read as a task ({error.what}): columns that both have are compared"
        return "", pairs, [*_pair_notes(pairs), *([words] if incomplete else [])]
    of_task = _pair_tables(*map(task_tables, datasets))
    ignored = [_ignored_columns(of_side, names) for of_side, names in zip(datasets, unused, strict=True)]
    for number, pair in enumerate(of_task):
        names = [f"-{name}" for name in ignored[0].get(pair.old, ())] + [
            f"+{name}" for name in ignored[1].get(pair.new, ())
        ]
        of_task[number] = replace(pair, ignored=tuple(names))
    every = {name for common in own.values() for name in common.types}  # for tables that the task calls otherwise
    compared = {location: set(common.types) for location, common in own.items()}
    gains = [set(common.types) - compared.get(at, every) for at, common in _common_columns(of_task).items()]
    if not options.task and len(gains) <= len(own) and not any(gains):
        return "", pairs, _pair_notes(pairs)
    notes = [
        f"{side}: {note}"
        for side, of_side in zip("AB", datasets, strict=True)
        for dataset in of_side
        for note in dataset.notes
        if note != UNKNOWN_LANGUAGE
    ]
    return datasets[0][0].task.type.name, of_task, [*_pair_notes(of_task), *dict.fromkeys(notes)]


def _common_columns(pairs: Sequence[TablePair]) -> dict[Location | None, Common]:
    """What the two tables of each pair have in common, by the location in B."""
    return {
        pair.new: common_columns(pair.old_frame, pair.new_frame)
        for pair in pairs
        if pair.old_frame is not None and pair.new_frame is not None
    }


def _rename_columns(sides: tuple[Side, Side], columns: Mapping[str, str]) -> list[Side]:
    """The datasets with the columns of --map under our names, in each that has them.

    Raises UsageError for a column that neither has.
    """
    found = list(map(_column_names, sides))
    for own, other in columns.items():
        if not any(other in names for names in found):
            raise UsageError(
                f"--map {own}={other}: neither dataset has a column {other!r}",
                todo="write our column first, then the one in the files: --map text=sentence",
            )
    own_columns = [{own: other for own, other in columns.items() if other in names} for names in found]
    return [
        replace(side, tables=rename_columns(side.tables, mapped)[0])
        for side, mapped in zip(sides, own_columns, strict=True)
    ]


def _column_names(side: Side) -> set[str]:
    return {name for splits in side.tables.values() for frame in splits.values() for name in frame.collect_schema()}


def _pair_tables(old: Tables, new: Tables) -> list[TablePair]:
    """The tables of two datasets that correspond, in the order of B, then those of A alone."""
    pairs: list[TablePair] = []
    for old_config, new_config in _pair_names(list(old), list(new)):
        olds, news = old.get(old_config or "", {}), new.get(new_config or "", {})
        for old_split, new_split in _pair_names(list(olds), list(news)):
            pairs.append(
                TablePair(
                    (old_config, old_split) if old_config and old_split else None,
                    (new_config, new_split) if new_config and new_split else None,
                    olds.get(old_split or ""),
                    news.get(new_split or ""),
                )
            )
    return sorted(pairs, key=lambda pair: pair.new is None)


def _pair_names(olds: list[str], news: list[str]) -> list[tuple[str | None, str | None]]:
    """Names of A and B that correspond: equal ones, then two names of one split, then a name of each where one has no other."""
    pairs: dict[str, str] = {name: name for name in news if name in olds}
    for new in news:
        alike = next((names for names in SPLITS if new in names), set())
        old = next((name for name in olds if name in alike and name not in pairs.values()), None)
        if new not in pairs and old is not None:
            pairs[new] = old
    if not pairs and len(olds) == len(news) == 1:
        pairs = {news[0]: olds[0]}
    return [(pairs.get(new), new) for new in news] + [(old, None) for old in olds if old not in pairs.values()]


def _pair_notes(pairs: Sequence[TablePair]) -> list[str]:
    return [
        f"{'/'.join(pair.old)} of A is compared with {'/'.join(pair.new)} of B"
        for pair in pairs
        if pair.old and pair.new and pair.old != pair.new
    ]


def _read_as_task(
    sides: Sequence[Side], options: ForeignOptions
) -> tuple[list[list[ForeignDataset]], list[tuple[str, ...]]]:
    """The datasets of both sides in the layout of one type of task: the requested one, a release's, or what the columns say.

    Also the columns of each side that are not read: names of labels, where the other side has numbers alone.

    Raises SourceError or UsageError where one of them cannot be read as it.
    """
    task = options.task or next((side.manifest.task for side in sides if side.manifest), None)
    if task is None:
        try:
            task = read_side_as(sides[0], None, options)[0].task.type.name
        except DatasetError:
            task = read_side_as(sides[1], None, options)[0].task.type.name
    datasets = [read_side_as(side, task, options) for side in sides]
    unused: list[tuple[str, ...]] = [(), ()]
    named = ["label_text" in _column_names(side) for side in sides]
    if named.count(True) == 1 and _have_numbers(datasets[named.index(False)]):
        number = named.index(True)
        unused[number] = ("label_text",)
        tables = {
            config: {split: frame.drop("label_text", strict=False) for split, frame in splits.items()}
            for config, splits in sides[number].tables.items()
        }
        datasets[number] = read_side_as(replace(sides[number], tables=tables), task, options)
    return datasets, unused


def _have_numbers(datasets: Sequence[ForeignDataset]) -> bool:
    return all(
        label.lstrip("-").isdigit()
        for dataset in datasets
        if isinstance(dataset.task, tasks.Classification)
        for label in dataset.task.labels
    )


def read_side_as(side: Side, task: str | None, options: ForeignOptions) -> list[ForeignDataset]:
    """The datasets of a side in the layout of a type of task; None for what its columns say.

    Raises SourceError or UsageError where it cannot be read so.
    """
    return read_tables(side.tables, side.name, side.front_matter, replace(options, task=task), {})


def task_tables(datasets: Sequence[ForeignDataset]) -> Tables:
    """The tables of a task with its columns alone; labels of texts by their names, so that their numbers do not matter.

    Ids and kinds of negatives that the reader adds to training pairs are left out.
    """
    tables: Tables = {}
    for dataset in datasets:
        seen = set()
        for config, layout, split, frame, own in _located_tables(dataset):
            if own in seen and layout.config != "queries":  # a corpus that splits share
                continue
            seen.add(own)
            names = [name for name in layout.columns if name in frame.collect_schema()]
            if isinstance(dataset.task, tasks.Contrastive):
                present = {name.lstrip("_") for name in dataset.tables[own[0]][own[1]].collect_schema()}
                names = [name for name in names if name in present or name not in ADDED]
            tables.setdefault(config, {})[split] = frame.select(names).pipe(_name_labels, dataset.task)
    return tables


def _located_tables(dataset: ForeignDataset) -> Iterator[tuple[str, tasks.Layout, str, pl.LazyFrame, Location]]:
    """The tables of a dataset by config, with layout, split, frame, and the config and split of their files."""
    for layout in tasks.layouts(dataset.task):
        config = "-".join(filter(None, (dataset.subset, layout.config)))
        for split, frame in dataset.frames.get(layout.config, {}).items():
            yield config, layout, split, frame, dataset.own_locations[layout.config, split]


def _ignored_columns(datasets: Sequence[ForeignDataset], unused: Sequence[str]) -> dict[Location | None, list[str]]:
    """By table, the columns that the layout of a task does not have, `name (type)`; and these unused ones."""
    ignored: dict[Location | None, list[str]] = {}
    for dataset in datasets:
        for config, layout, split, _, own in _located_tables(dataset):
            names = {*layout.columns, *(name.replace("-", "_") for name in layout.columns)}
            names |= {"_id"} if "id" in layout.columns else set()
            others = [f"{name} ({kind})" for name, kind in dataset.schemas[own].items() if name not in names]
            ignored[config, split] = [*others, *unused]
    return ignored


def _name_labels(frame: pl.LazyFrame, task: tasks.Task) -> pl.LazyFrame:
    """A table with the names of its labels in `label`, as text, instead of numbers that follow from all labels that occur."""
    columns = frame.collect_schema()
    if isinstance(task, tasks.MultilabelClassification) and columns.get("label") == pl.List(pl.Int64):
        names = pl.element().replace_strict(range(len(task.labels)), list(task.labels), return_dtype=pl.String)
        return frame.with_columns(pl.col("label").list.eval(names).list.sort())
    if isinstance(task, tasks.Classification) and "label_text" in columns:
        return frame.drop("label").rename({"label_text": "label"})
    return frame


def _compare(pair: TablePair, exchanged: Exchanged) -> TableDifference:
    """How a table differs.

    exchanged: those of documents and queries are added here. Judgements and candidates are read with those of their own split, or
    with all of them where splits share documents.
    """
    config, split = pair.new or pair.old or ("", "")
    old, new = pair.old_frame, pair.new_frame
    if old is None or new is None:
        rows = sum(count_rows(frame) for frame in (old, new) if frame is not None)
        if new is None:
            return TableDifference(config, split, "gone", rows, 0, removed=rows)
        return TableDifference(config, split, "new", 0, rows, added=rows)
    subset, part = next(((config.removesuffix(part), part) for part in ID_COLUMNS if config.endswith(part)), ("", ""))
    columns = old.collect_schema()
    for (other, column), of_splits in exchanged.items():
        ids = (
            of_splits[split] if split in of_splits else pl.concat(of_splits.values()).unique("old", maintain_order=True)
        )
        for name in {column, f"{column}s"} & set(columns) if config.startswith(other) else ():
            translated = pl.element() if is_list(columns[name]) else pl.col(name)
            translated = translated.cast(pl.String).replace(ids["old"], ids["new"])
            old = old.with_columns(pl.col(name).list.eval(translated) if is_list(columns[name]) else translated)
    difference, ids = compare_rows(config, split, old, new)
    difference = replace(difference, columns=(*difference.columns, *pair.ignored))
    if part:
        exchanged.setdefault((subset, ID_COLUMNS[part]), {})[split] = ids
    return difference


def _differences(table: TableDifference) -> list[str]:
    """What differs in a table, as in compare_datasets."""
    rows = table.added or table.removed or table.same_text or table.same_id
    found = {
        "tables": table.state in {"new", "gone"},
        "rows": rows and table.state == "changed",
        "folded": table.folded,
        "ids": table.differing.get("id"),
        "labels": table.labels,
        "order": table.reordered,
        "columns": table.columns,
        "types": table.types,
    }
    return [word for word, differs in found.items() if differs]


def _head(side: Side) -> dict[str, str | None]:
    manifest = side.manifest
    return {
        "name": side.name,
        "where": side.where,
        "dataset": manifest.dataset if manifest else None,
        "version": manifest.version if manifest else None,
        "content_sha256": manifest.content_sha256 if manifest else None,
    }
