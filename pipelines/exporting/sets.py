"""The releases and the sets of an export, their rows with all their negatives, and what is recorded of them in export.json.

    provided  a b      mined  c d      random  d e      at most 4:  a b c d

Provided negatives come first, then mined, then random ones. A random one that was mined too is taken once.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders import catalogue
from builders.errors import ReleaseError, UsageError
from builders.tasks import Contrastive
from cards.manifest import Manifest, Table
from pipelines.checking.targets import Target, locate_target, resolve_targets
from pipelines.hub import client, repository
from pipelines.process.stages import stage
from pipelines.raw.digests import default_cache
from pipelines.release import folder
from pipelines.release.parquet import describe_file

TASK = Contrastive.type.name
SHOWN = 10  # names in an error
# A manifest may come from the Hub, and its names become those of files; what follows a dot in these is ours.
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,99}")


@dataclass(frozen=True)
class TrainingRelease:
    """A release of training data, and its folder."""

    manifest: Manifest
    release_dir: Path


@dataclass(frozen=True)
class TrainingSet:
    """A config of a release, with what is put before its queries and before its other texts (`search_query: `)."""

    name: str
    release: TrainingRelease
    table: Table
    query_prefix: str
    document_prefix: str


def find_releases(names: Sequence[str], releases: Path) -> list[TrainingRelease]:
    """The releases that names mean, each once: datasets, sources, groups, folders, `ORG/NAME@TAG`. releases: where they are.

    Of a dataset without a version, the newest version that was built.

    Raises UsageError for a name that means nothing, for data that are not training data and for two versions of one dataset;
    ReleaseError where a release has not been built or cannot be read, with all that are missing; SourceError for what the Hub
    does not have.
    """
    targets = [target for name in names for target in resolve_targets(name, releases)]
    missing = [target for target in targets if target.folder is not None and not target.folder.is_dir()]
    if missing:
        _refuse_missing(missing, names, releases)
    found: dict[str, TrainingRelease] = {}
    for target in targets:
        release = _read_release(target)
        dataset, other = release.manifest.dataset, found.get(release.manifest.dataset)
        if other is not None and other.release_dir.resolve() != release.release_dir.resolve():
            raise UsageError(
                f"two releases of {dataset}",
                found=f"{other.manifest.version} and {release.manifest.version}",
                todo="name one of them",
            )
        found[dataset] = release
    return list(found.values())


def _refuse_missing(missing: Sequence[Target], names: Sequence[str], releases: Path) -> None:
    """Raise UsageError where a dataset that was not built is not training data, else ReleaseError for all that were not."""
    for target in missing:
        assert target.folder is not None
        dataset = target.folder.relative_to(releases).parts[0]
        task = catalogue.load(catalogue.entries()[dataset]).dataset.task
        if not isinstance(task, Contrastive):
            raise _not_training_data(dataset, task.type.name)
    listed = [target.name for target in missing]
    one = len(listed) == 1
    raise ReleaseError(
        f"{listed[0]} has not been built" if one else f"{len(listed)} releases have not been built",
        where=str(releases),
        found=None if one else _join(listed),
        todo=f"build: embedding-datasets build {' '.join(names)}; or pass the folder with the releases: --releases DIR",
    )


def _not_training_data(name: str, task: str) -> UsageError:
    return UsageError(
        f"{name} is not training data",
        found=f"task {task}",
        expected=f"task {TASK}",
        todo="name training data: embedding-datasets show training",
    )


def _read_release(target: Target) -> TrainingRelease:
    """Raises UsageError for other data than training data, ReleaseError for an invalid release."""
    if target.repository is not None:
        release_dir = repository.fetch_release_at(client.connect(), *target.repository, default_cache())
    else:
        release_dir, _ = locate_target(target)
    if not (release_dir / folder.MANIFEST).is_file():
        raise ReleaseError(
            "no release found",
            where=str(release_dir),
            found="no manifest.json",
            todo="name the folder of a release, outputs/<dataset>/<version>, or a dataset",
        )
    manifest = folder.require_manifest(release_dir)
    if manifest.task != TASK:
        raise _not_training_data(manifest.name, manifest.task)
    if not NAME.fullmatch(manifest.dataset):
        raise ReleaseError("invalid name of a dataset", where=str(release_dir), found=manifest.dataset[:100])
    return TrainingRelease(manifest, release_dir)


def select_sets(releases: Sequence[TrainingRelease], configs: Sequence[str] | None) -> list[TrainingSet]:
    """The sets of releases in their order, or those with these names.

    Raises UsageError for a name that no release has and for sets of one name; ReleaseError for a set without prefixes or with
    a name that no file can have.
    """
    found: dict[str, TrainingSet] = {}
    for release in releases:
        for table in release.manifest.tables:
            if configs is not None and table.config not in configs:
                continue
            if table.config in found:
                raise UsageError(
                    f"two sets are named {table.config}",
                    found=f"{found[table.config].release.manifest.name} and {release.manifest.name}",
                    todo="export them into two folders, or choose sets with --configs",
                )
            found[table.config] = _training_set(release, table)
    unknown = [name for name in configs or () if name not in found]
    if unknown:
        known = [table.config for release in releases for table in release.manifest.tables]
        raise UsageError(f"no set is named {unknown[0]!r}", expected=_join(known), todo="correct --configs")
    return list(found.values())


def _training_set(release: TrainingRelease, table: Table) -> TrainingSet:
    where = f"{release.release_dir}, config {table.config}"
    if not NAME.fullmatch(table.config):
        raise ReleaseError("invalid name of a config", where=where[:300], expected="letters, digits, _ and -")
    prompts = release.manifest.prompts
    prefixes = {config.config: config.rosberta for config in prompts.configs} if prompts else {}
    prefix = prefixes.get(table.config, ())
    if not prefix:
        raise ReleaseError(
            "the manifest has no prefixes of a config",
            where=where,
            found="prompts.configs",
            todo="build the release again with this version",
        )
    return TrainingSet(table.config, release, table, f"{prefix[0]}: ", f"{prefix[-1]}: ")


def _join(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


BATCH = 2_000  # rows: of 9 texts of 512 tokens, about 50 MB
KINDS = ("provided", "mined", "random")
MINED = "mined"
COLUMNS = {name: kind for name, kind in Contrastive.type.layouts[0].columns.items() if name != "id"}


@dataclass
class Tally:
    """The rows and texts of a set that were written and those that were not, counted on the way.

    read: rows of the release. rows: rows written. dropped: rows that were not, by reason. left_out: texts of other rows that were
    not written. negatives: those written, by kind.
    """

    read: int = 0
    rows: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    negatives: Counter[str] = field(default_factory=Counter)

    def count_written(self, batch: pl.DataFrame, rows: int, positives: int) -> None:
        """Count what is written of a batch, as read_pairs yields it: how many rows, with how many of its positives."""
        self.rows += rows
        self.left_out["positives"] += int(batch["positives"].list.len().sum()) - positives
        self.left_out["negatives"] += int(batch["available"].sum()) - int(batch["negatives"].list.len().sum())
        kinds = batch["kinds"].explode().drop_nulls().value_counts()
        self.negatives.update(dict(kinds.iter_rows()))


def read_pairs(training_set: TrainingSet, negatives: int, tally: Tally) -> Iterator[pl.DataFrame]:
    """The rows of a set in batches of at most BATCH, in order.

    negatives: the most of a row. Columns: query (String); positives (List(String)); negatives, kinds (List(String), as long as
    each other); available (UInt32: how many negatives there were).

    Raises ReleaseError for files that are not those of the manifest, and for rows that are not those of training data.
    """
    if damage := folder.damaged_files(training_set.release.release_dir, training_set.table):
        raise _damaged(training_set, damage[0])
    columns = _columns(training_set)
    with stage(f"exporting {training_set.name}", total=training_set.table.rows, unit="rows") as advance:
        for batch in _read_batches(training_set, columns):
            _refuse_damaged_rows(batch, training_set)
            tally.read += batch.height
            yield join_negatives(batch, negatives)
            advance(batch.height)
    if tally.read != training_set.table.rows:
        raise _damaged(training_set, f"{tally.read:,} rows", expected=f"{training_set.table.rows:,}")


def join_negatives(batch: pl.DataFrame, most: int) -> pl.DataFrame:
    """Rows of a release with their negatives in one list; see read_pairs for the columns."""
    text, kind = pl.col("text"), pl.col("kind")
    rows = batch.with_row_index("row")
    lists = [rows.select("row", text="negatives", kind="negative_kinds").explode("text", "kind")]
    if MINED in batch.columns:
        lists.append(rows.select("row", text=MINED).explode("text").with_columns(kind=pl.lit(MINED)))
    order = kind.replace_strict({name: place for place, name in enumerate(KINDS)}, return_dtype=pl.UInt8)
    both = (kind == "random") & (kind == MINED).any().over("row", "text")
    joined = (
        pl.concat(lists)
        .filter(text.is_not_null())  # an empty list is exploded into a null
        .filter(~both)
        .sort("row", order, maintain_order=True)
        .group_by("row", maintain_order=True)
        .agg(negatives=text.head(most), kinds=kind.head(most), available=pl.len())
    )
    return (
        rows.select("row", "query", "positives")
        .join(joined, on="row", how="left", maintain_order="left")
        .with_columns(pl.col("negatives", "kinds").fill_null([]), pl.col("available").fill_null(0))
        .drop("row")
    )


def _columns(training_set: TrainingSet) -> list[str]:
    """The columns to read. Raises ReleaseError where the table lacks one, or has one of another type."""
    types = {column.name: column.type for column in training_set.table.columns}
    wanted = COLUMNS | ({MINED: "list<string>"} if MINED in types else {})
    for name, kind in wanted.items():
        if types.get(name) != kind:
            raise _damaged(training_set, f"column {name}: {types.get(name, 'missing')}", expected=kind)
    return list(wanted)


def _read_batches(training_set: TrainingSet, columns: list[str]) -> Iterator[pl.DataFrame]:
    """The rows of all files, in batches whose borders follow from the rows alone."""
    for file in training_set.table.files:
        try:
            with pq.ParquetFile(training_set.release.release_dir / file.path) as parquet:
                for number in range(parquet.num_row_groups):
                    group = pl.DataFrame(pl.from_arrow(parquet.read_row_group(number, columns=columns)))
                    yield from group.select(columns).iter_slices(BATCH)
        except (OSError, pa.ArrowException, pl.exceptions.PolarsError, KeyError, ValueError) as error:
            raise _damaged(training_set, f"{file.path}: {error}"[:300]) from None


def _refuse_damaged_rows(batch: pl.DataFrame, training_set: TrainingSet) -> None:
    """Raise ReleaseError for what no build writes: nulls, a row without a positive, kinds that do not fit the negatives."""
    expected = {"string": pl.String(), "list<string>": pl.List(pl.String)}
    types = {name: expected[COLUMNS.get(name, "list<string>")] for name in batch.columns}
    if dict(batch.schema) != types:
        raise _damaged(training_set, f"columns of other types: {dict(batch.schema)}"[:300])
    lists = [name for name, dtype in types.items() if dtype != pl.String()]
    has_null = [pl.any_horizontal(pl.all().is_null())]
    has_null += [pl.col(name).list.eval(pl.element().is_null()).list.any() for name in lists]
    problems = {
        "a null": pl.any_horizontal(has_null),
        "a row without a positive": pl.col("positives").list.len() == 0,
        "another number of kinds than of negatives": pl.col("negatives").list.len()
        != pl.col("negative_kinds").list.len(),
        "an unknown kind of negative": pl.col("negative_kinds").list.eval(~pl.element().is_in(KINDS)).list.any(),
    }
    for problem, condition in problems.items():
        if batch.select(condition.any()).item():
            raise _damaged(training_set, problem)


def _damaged(training_set: TrainingSet, found: str, expected: str | None = None) -> ReleaseError:
    return ReleaseError(
        "the release is damaged",
        where=f"{training_set.release.release_dir}, config {training_set.name}",
        found=found,
        expected=expected,
        todo=f"embedding-datasets check {training_set.release.release_dir} says what is wrong; build it again",
    )


RECORD = "export.json"  # a folder that has it is an export, and holds what it lists
DATA = "data"  # the folder of the files to train on: trainers that are given a folder read every file in it


MOST_NEGATIVES = 7
Positives = Literal["first", "each", "all"]
Prefixes = Literal["apart", "text", "instruction"]


@dataclass(frozen=True)
class Choices:
    """How an export is written.

    trainer: the format. negatives: the most of a row. positives: `first` for one row with the first positive, `each` for a row a
    positive, `all` for one row with all of them. prefixes: where those of ru-en-RoSBERTa are: `apart` from the texts, in the
    `text`, or as its `instruction`.
    """

    trainer: str
    negatives: int
    positives: Positives
    prefixes: Prefixes


@dataclass(frozen=True)
class DataFile:
    """A file to train on: its path in the export, and the name of its rows. negatives: of each row, where all have as many."""

    path: str
    name: str
    rows: int
    negatives: int | None = None


@dataclass(frozen=True)
class ExportedSet:
    """A set as it was written: its files, and the counts of its rows."""

    source: TrainingSet
    tally: Tally
    files: tuple[DataFile, ...]


def describe_export(
    folder: Path, choices: Choices, releases: Sequence[Manifest], sets: Sequence[ExportedSet]
) -> dict[str, Any]:
    """The content of export.json. folder: that of the export, with every other file in place. releases: of the sets."""
    total = sum(exported.tally.rows for exported in sets)
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        "generator": "embedding-datasets export",
        "format": choices.trainer,
        "options": {name: value for name, value in asdict(choices).items() if name != "trainer"},
        "rows": total,
        "releases": [
            {key: getattr(release, key) for key in ("dataset", "version", "content_sha256", "sample", "partial")}
            for release in releases
        ],
        "sets": [_describe_set(exported, total) for exported in sets],
        "files": [asdict(describe_file(path, folder)) for path in paths],
    }


def _describe_set(exported: ExportedSet, total: int) -> dict[str, Any]:
    tally = exported.tally
    return {
        "name": exported.source.name,
        "dataset": exported.source.release.manifest.dataset,
        "prefixes": {"query": exported.source.query_prefix, "document": exported.source.document_prefix},
        "rows_of_release": tally.read,
        "rows": tally.rows,
        "weight": share(tally.rows, total),
        "dropped": dict(sorted(tally.dropped.items())),
        "left_out": {what: count for what, count in sorted(tally.left_out.items()) if count},
        "negatives": dict(sorted(tally.negatives.items())),
        "files": [{"path": file.path, "name": file.name, "rows": file.rows} for file in exported.files],
    }


def share(rows: int, total: int) -> float:
    """The sampling weight of some rows: their share of all, so that every row is as likely as any other."""
    return round(rows / total, 6) if total else 0.0
