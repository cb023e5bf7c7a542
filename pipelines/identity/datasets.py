"""Two datasets side by side, whoever made them: which tables correspond, in which layout they are compared, and what differs.

Where all tables have counterparts with the same columns, these are compared as they are. Otherwise both datasets are read as a
task of mteb, as `check` reads them, and its columns are compared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from builders import tasks
from builders.errors import DatasetError, ReleaseError, SourceError, UsageError
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
)
from pipelines.checking.formats import scan_files
from pipelines.checking.targets import Target, locate_target, resolve_targets
from pipelines.identity import USUAL
from pipelines.identity.rows import TableDifference, compare_rows
from pipelines.process.safe_text import first_line
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
    """A table of A and the one of B that corresponds to it; None where one of them lacks it."""

    old: Location | None
    new: Location | None
    old_frame: pl.LazyFrame | None
    new_frame: pl.LazyFrame | None


def compare_datasets(a: Side, b: Side, options: ForeignOptions, allowed: Sequence[str] = USUAL) -> dict[str, Any]:
    """What differs between two datasets, for JSON.

    options: the task, columns, languages and subsets, as for `check`. allowed: differences that do not count, keys of
    `pipelines.identity.ALLOWED`.

    Returns same (whether nothing that counts differs), differences (what differs: these keys, `rows`, `tables`), a and b
    (name, where, dataset, version, content_sha256), task (of the compared layout, empty for the datasets' own), notes, tables
    (TableDifference), and of two releases figures (statistics and others that differ, as [a, b]) and equal_figures.

    Raises SourceError for rows that cannot be read, UsageError for options that fit no table.
    """
    task, pairs, notes = _align(a, b, options)
    found: dict[int, TableDifference] = {}
    exchanged: dict[tuple[str, str], pl.DataFrame] = {}
    for number, pair in sorted(
        enumerate(pairs), key=lambda item: _has_judgements(item[1])
    ):  # texts first: then ids are known
        location = "/".join(pair.new or pair.old or ())
        with stage(location):
            try:
                difference = _compare(pair, exchanged)
            except pl.exceptions.PolarsError as error:
                where = f"{a.name}, {b.name}: {location}"
                raise SourceError("cannot read the rows of a table", where=where, found=first_line(error)) from error
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
    targets = resolve_targets(name, releases)
    if len(targets) > 1:
        found = ", ".join(target.name for target in targets)
        raise UsageError(f"{name!r} means several datasets", found=found, todo="name one of them")
    return read_target(targets[0], options)


def read_target(target: Target, options: ForeignOptions) -> Side:
    """The dataset that a name means; a release is verified against its manifest.

    Raises SourceError or ReleaseError for what cannot be read.
    """
    name = target.name
    if target.file is not None:
        path, where = target.file, str(target.file)
    else:
        path, fetched = locate_target(target, options.subsets, option="--releases")
        where = f"commit {path.name}" if fetched else str(path)
    if (path / MANIFEST).is_file():
        manifest = require_manifest(path)
        # A card edited on the Hub does not matter here; edited statistics do, because they are compared.
        if problems := verify_release(path, manifest) + edited_documents(path, manifest, [STATISTICS]):
            todo = f"remove {path}, then build or fetch it again"
            raise ReleaseError("the release is damaged", where=name, found=problems[0], todo=todo)
        return Side(
            name, where, _select_subsets(scan_tables(path, manifest.tables), options.subsets), {}, manifest, path
        )
    files = find_files(path, options.subsets)
    tables = {
        config: {split: scan_files([files.folder / file for file in paths]) for split, paths in splits.items()}
        for config, splits in files.tables.items()
    }
    return Side(name, where, tables, files.front_matter)


def _select_subsets(tables: Tables, subsets: Sequence[str]) -> Tables:
    return {
        config: splits
        for config, splits in tables.items()
        if not subsets or any(belongs_to(config, subset) for subset in subsets)
    }


def _has_judgements(pair: TablePair) -> bool:
    frame = pair.new_frame if pair.old_frame is None else pair.old_frame
    return frame is not None and "query-id" in frame.collect_schema()


def _align(a: Side, b: Side, options: ForeignOptions) -> tuple[str, list[TablePair], list[str]]:
    """The type of task that both are read as, empty for the datasets' own layout; pairs of tables, and notes."""
    sides = _rename_columns((a, b), options.columns)
    pairs = _pair_tables(*(side.tables for side in sides))
    if not options.task and all(_have_same_columns(pair) for pair in pairs):
        return "", pairs, _pair_notes(pairs)
    try:
        datasets = _read_as_task(sides, replace(options, columns={}))
    except DatasetError as error:
        if options.task:
            raise
        words = f"{a.name} and {b.name} are not read as a task ({error.what}): columns that both have are compared"
        return "", pairs, [*_pair_notes(pairs), words]
    tables: list[Tables] = []
    notes: list[str] = []
    for side, of_side in zip("AB", datasets, strict=True):
        tables.append(task_tables(of_side))
        notes += dict.fromkeys(
            f"{side}: {note}" for dataset in of_side for note in dataset.notes if note != UNKNOWN_LANGUAGE
        )
    pairs = _pair_tables(*tables)
    return datasets[0][0].task.type.name, pairs, [*_pair_notes(pairs), *notes]


def _rename_columns(sides: tuple[Side, Side], columns: Mapping[str, str]) -> list[Side]:
    """The datasets with the columns of --map under our names, in each that has them.

    Raises UsageError for a column that neither has.
    """
    found = [
        {name for splits in side.tables.values() for frame in splits.values() for name in frame.collect_schema()}
        for side in sides
    ]
    for own, other in columns.items():
        if not any(other in names for names in found):
            todo = "write our column first, then the one in the files: --map text=sentence"
            raise UsageError(f"--map {own}={other}: neither dataset has a column {other!r}", todo=todo)
    own_columns = [{own: other for own, other in columns.items() if other in names} for names in found]
    return [
        replace(side, tables=rename_columns(side.tables, mapped)[0])
        for side, mapped in zip(sides, own_columns, strict=True)
    ]


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


def _have_same_columns(pair: TablePair) -> bool:
    return (
        pair.old_frame is None
        or pair.new_frame is None
        or set(pair.old_frame.collect_schema()) == set(pair.new_frame.collect_schema())
    )


def _pair_notes(pairs: Sequence[TablePair]) -> list[str]:
    return [
        f"{'/'.join(pair.old)} of A is compared with {'/'.join(pair.new)} of B"
        for pair in pairs
        if pair.old and pair.new and pair.old != pair.new
    ]


def _read_as_task(sides: Sequence[Side], options: ForeignOptions) -> list[list[ForeignDataset]]:
    """The datasets of both sides in the layout of one type of task: the requested one, a release's, or what the columns say.

    Raises SourceError or UsageError where one of them cannot be read as it.
    """
    task = options.task or next((side.manifest.task for side in sides if side.manifest), None)
    if task is None:
        try:
            task = read_side_as(sides[0], None, options)[0].task.type.name
        except DatasetError:
            task = read_side_as(sides[1], None, options)[0].task.type.name
    return [read_side_as(side, task, options) for side in sides]


def read_side_as(side: Side, task: str | None, options: ForeignOptions) -> list[ForeignDataset]:
    """The datasets of a side in the layout of a type of task; None for what its columns say.

    Raises SourceError or UsageError where it cannot be read so.
    """
    return read_tables(side.tables, side.name, side.front_matter, replace(options, task=task), {})


def task_tables(datasets: Sequence[ForeignDataset]) -> Tables:
    """The tables of a task with its columns alone; labels of texts by their names, so that their numbers do not matter."""
    tables: Tables = {}
    for dataset in datasets:
        seen = set()
        for layout in tasks.layouts(dataset.task):
            config = "-".join(filter(None, (dataset.subset, layout.config)))
            for split, frame in dataset.frames.get(layout.config, {}).items():
                own = dataset.own_locations[layout.config, split]
                if own in seen and layout.config != "queries":  # a corpus that splits share
                    continue
                seen.add(own)
                names = [name for name in layout.columns if name in frame.collect_schema()]
                tables.setdefault(config, {})[split] = frame.select(names).pipe(_name_labels, dataset.task)
    return tables


def _name_labels(frame: pl.LazyFrame, task: tasks.Task) -> pl.LazyFrame:
    """A table with the names of its labels in `label`, as text, instead of numbers that follow from all labels that occur."""
    columns = frame.collect_schema()
    if isinstance(task, tasks.MultilabelClassification) and columns.get("label") == pl.List(pl.Int64):
        names = pl.element().replace_strict(range(len(task.labels)), list(task.labels), return_dtype=pl.String)
        return frame.with_columns(pl.col("label").list.eval(names).list.sort())
    if isinstance(task, tasks.Classification) and "label_text" in columns:
        return frame.drop("label").rename({"label_text": "label"})
    return frame


def _compare(pair: TablePair, exchanged: dict[tuple[str, str], pl.DataFrame]) -> TableDifference:
    """How a table differs.

    exchanged: by subset and column of ids, the ids of A that are others in B. Those of documents and queries are added here, and
    judgements and candidates are read with them.
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
    for (other, column), ids in exchanged.items():
        for name in {column, f"{column}s"} & set(columns) if config.startswith(other) else ():
            translated = pl.element() if is_list(columns[name]) else pl.col(name)
            translated = translated.cast(pl.String).replace(ids["old"], ids["new"])
            old = old.with_columns(pl.col(name).list.eval(translated) if is_list(columns[name]) else translated)
    difference, ids = compare_rows(config, split, old, new)
    if part and len(ids):
        key = subset, ID_COLUMNS[part]
        exchanged[key] = pl.concat([exchanged.get(key, ids.clear()), ids]).unique("old", maintain_order=True)
    return difference


def _differences(table: TableDifference) -> list[str]:
    """What differs in a table, as in compare_datasets."""
    rows = table.added or table.removed or table.same_text or table.same_id
    found = {
        "tables": table.state in {"new", "gone"},
        "rows": rows and table.state == "changed",
        "folded": table.folded,
        "ids": table.new_ids,
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
