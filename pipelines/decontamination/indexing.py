"""Makes the index of the texts of datasets: table by table, in batches, so that memory does not grow with the tables.

Entries are sorted by dataset as given, then by table in the order of the task, then by row. Of a row with two texts both entries
follow each other. Their order and the index's bytes depend on nothing else.

Near-duplicates are compared exactly where the release of an entry is on this machine. Its texts are written once, in the
order of the index, to an Arrow file in a scratch folder that is mapped into memory: a scan reads the few that it needs, and the
system keeps no more of the file than there is room for.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from builders import catalogue, tasks
from builders.batches import map_in_order
from builders.errors import ReleaseError, SourceError, UsageError
from builders.shaping.factuality import has_sides, side_texts
from builders.shaping.folding import hash_texts
from pipelines.audit.copies.near_duplicates import read_batches
from pipelines.audit.copies.shingles import Array
from pipelines.audit.findings import hash_values
from pipelines.audit.tables import Frames, available_splits, count_rows, model_inputs, row_id, text_layouts
from pipelines.checking.batches import label_texts
from pipelines.checking.datasets import ForeignDataset, ForeignOptions, reading_frames
from pipelines.checking.targets import define_release, read_dataset, resolve_targets
from pipelines.decontamination.fingerprints import fingerprint_texts
from pipelines.decontamination.index_file import (
    IndexTable,
    Record,
    TextIndex,
    Unread,
    in_groups,
    require_room,
    to_entries,
    write_index,
)
from pipelines.process.files import SharedFile
from pipelines.process.stages import stage
from pipelines.release.folder import MANIFEST, require_manifest, scan_tables

Texts = dict[str, pl.Expr]  # one or two texts of each row, by column


def table_texts(layout: tasks.Layout, frame: pl.LazyFrame) -> list[Texts]:
    """The texts of a table's rows: its columns; then, as a pair, the sides of texts that all are `Premise: ... Hypothesis: ...`.

    A training corpus has premise and hypothesis in two fields, and not these words. The columns of the sides are named
    `text[premise]` and `text[hypothesis]`.
    """
    columns = model_inputs(layout)
    if layout.config != "default" or len(columns) != 1:
        return [columns]
    [(name, text)] = columns.items()
    both = frame.select(rows=pl.len(), sided=has_sides(text.cast(pl.String)).sum()).collect(engine="streaming")
    return [columns, _sides(name, text)] if 0 < both["sided"][0] == both["rows"][0] else [columns]


def _sides(name: str, text: pl.Expr) -> Texts:
    return dict(zip((f"{name}[premise]", f"{name}[hypothesis]"), side_texts(text), strict=True))


NO_POSITIVES = pl.DataFrame(schema={"query-id": pl.String, "positives": pl.List(pl.UInt32)})


@dataclass(frozen=True)
class IndexedDataset:
    """A release, or a dataset that this package did not build, with its tables in the layout of its task.

    content_sha256: of the release, empty where there is none. own_locations: the dataset's own config and split
    of a table, where they differ from those of its task. splits: those to index, where others than usual are evaluated.
    """

    dataset: str
    version: str
    task: tasks.Task
    frames: Frames = field(repr=False)
    languages: tuple[str, ...] = ()
    content_sha256: str = ""
    own_locations: Mapping[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    splits: tuple[str, ...] = ()

    @property
    def identity(self) -> tuple[str, str, str]:
        """dataset, version and content_sha256, as those of an IndexTable."""
        return self.dataset, self.version, self.content_sha256

    def own_location(self, config: str, split: str) -> tuple[str, str]:
        """The dataset's own config and split for a table of the task."""
        return self.own_locations.get((config, split), (config, split))


def index_tables(
    datasets: Sequence[IndexedDataset], output: Path, splits: Sequence[str] = (), record: Record | None = None
) -> list[IndexTable]:
    """Write the index of the texts of datasets, as a model receives them, and return its tables.

    splits: those to index beside the one that a benchmark evaluates, where a dataset has them. record: see write_index.

    Raises UsageError for a split that no dataset has, and for more texts than an index can hold; SourceError for a dataset that
    lacks a table or a column with texts, and for rows that cannot be read.
    """
    chosen = [_choose_splits(dataset, splits) for dataset in datasets]
    if unknown := set(splits).difference(*chosen):
        raise UsageError(
            f"no dataset has the split {', '.join(sorted(unknown))}",
            expected=", ".join(
                sorted({split for dataset in datasets for split in available_splits(dataset.task, dataset.frames)})
            ),
        )
    tables: list[IndexTable] = []
    parts = (_index_dataset(dataset, own, tables) for dataset, own in zip(datasets, chosen, strict=True))
    with reading_frames(", ".join(dataset.dataset for dataset in datasets)):
        write_index(output, chain.from_iterable(parts), tables, record)
    return tables


def _choose_splits(dataset: IndexedDataset, splits: Sequence[str]) -> list[str]:
    """The splits of a dataset to index: the one that a benchmark evaluates, and those requested that it has."""
    available, evaluated = available_splits(dataset.task, dataset.frames), tasks.evaluated_split(dataset.task)
    usual = [evaluated] if evaluated in available else available[-1:]
    return [split for split in available if split in (dataset.splits or [*usual, *splits])]


def _index_dataset(dataset: IndexedDataset, splits: Sequence[str], tables: list[IndexTable]) -> Iterator[pa.Table]:
    """The entries of a dataset; adds its tables to the list."""
    for split in splits:
        positives = NO_POSITIVES
        for layout in text_layouts(dataset.task):
            frame = _require_table(dataset, layout, split)
            rows, location = count_rows(frame), dataset.own_location(layout.config, split)
            for texts in table_texts(layout, frame):
                first, entry = len(tables), sum(table.rows for table in tables)
                require_room(entry + rows * len(texts), first + len(texts))
                of_queries = positives if layout.config == "queries" else NO_POSITIVES
                if layout.config == "corpus":
                    positives = _find_positives(dataset, split, entry)
                tables += [
                    IndexTable(
                        *dataset.identity,
                        *location,
                        column,
                        dataset.task.type.name,
                        dataset.languages,
                        rows,
                        None if len(texts) == 1 else first + 1 - number,
                    )
                    for number, column in enumerate(texts)
                ]
                work = partial(_index_batch, tables=range(first, len(tables)), positives=of_queries)
                name = f"fingerprints of {dataset.dataset} {'/'.join(location)}"
                with stage(name, total=rows, unit="rows") as advance:
                    for entries in map_in_order(work, read_batches(_describe_rows(dataset, frame, texts))):
                        yield entries
                        advance(len(entries) // len(texts))


def _require_table(dataset: IndexedDataset, layout: tasks.Layout, split: str) -> pl.LazyFrame:
    """A table with the columns of its texts. Raises SourceError where the dataset lacks it, or one of them."""
    frame = dataset.frames.get(layout.config, {}).get(split)
    columns = frame.collect_schema().names() if frame is not None else []
    needed = [*layout.text, "title"] if layout.config == "corpus" else layout.text
    missing = [column for column in needed if column not in columns]
    if frame is None or missing:
        raise SourceError(
            "a table with texts is missing" if frame is None else f"the column {missing[0]} is missing",
            where=f"{dataset.dataset}, {layout.config}/{split}",
            found=", ".join(columns) or None,
            todo="embedding-datasets check lists what is wrong with a dataset",
        )
    return frame


def _find_positives(dataset: IndexedDataset, split: str, first_entry: int) -> pl.DataFrame:
    """The entries of the relevant documents of queries. first_entry: that of the corpus.

    Columns: query-id (String), positives (List(UInt32), ascending).
    """
    qrels, corpus = dataset.frames.get("qrels", {}).get(split), dataset.frames["corpus"][split]
    name = row_id(corpus.collect_schema().names())
    judged = {"query-id", "corpus-id", "score"}
    if qrels is None or name is None or not judged <= set(qrels.collect_schema().names()):
        return NO_POSITIVES
    documents = corpus.select(name.cast(pl.String).fill_null("").alias("corpus-id")).with_row_index(
        "entry", first_entry
    )
    positive = qrels.filter(pl.col("score") > 0).select(pl.col("query-id", "corpus-id").cast(pl.String))
    entries = positive.join(documents, on="corpus-id").group_by("query-id")
    return entries.agg(positives=pl.col("entry").unique().sort()).collect(engine="streaming")


def _describe_rows(dataset: IndexedDataset, frame: pl.LazyFrame, texts: Texts) -> pl.LazyFrame:
    """What is indexed of each row of a table: texts, name; label and label_name, as texts, null for none."""
    columns, label = frame.collect_schema(), dataset.task.type.label
    name = row_id(columns.names())
    if name is None:
        frame, name = pl.concat([frame, _name_rows(frame).lazy()], how="horizontal"), pl.col("__name")
    by_number = by_name = pl.lit(None, pl.String)
    if label in columns:
        by_number, names = _label_text(label), tasks.label_names(dataset.task)
        if "label_text" in columns:
            by_name = _label_text("label_text")
        elif names and columns[label].is_integer():
            numbers = list(range(len(names)))
            by_name = pl.col(label).replace_strict(numbers, list(names), default=None, return_dtype=pl.String)
    return frame.select(_listed(texts), name=name.cast(pl.String).fill_null(""), label=by_number, label_name=by_name)


def _listed(texts: Texts) -> pl.Expr:
    """The texts of each row as a list."""
    return pl.concat_list([text.cast(pl.String).fill_null("") for text in texts.values()]).alias("texts")


def _label_text(column: str) -> pl.Expr:
    return pl.col(column).map_batches(label_texts, return_dtype=pl.String, is_elementwise=True)


def _name_rows(frame: pl.LazyFrame) -> pl.DataFrame:
    """The names of the rows of a table without ids, see pipelines.audit.findings; equal rows are numbered from the second on."""
    parts = [pl.DataFrame(map(hash_values, batch.iter_rows()), {"digest": pl.String}) for batch in read_batches(frame)]
    digest, copy = pl.col("digest"), pl.int_range(1, pl.len() + 1).over("digest")
    named = pl.when(copy > 1).then(pl.format("{}-{}", digest, copy)).otherwise(digest)
    return pl.concat([pl.DataFrame(schema={"digest": pl.String}), *parts]).select(__name=named)


def _index_batch(rows: pl.DataFrame, tables: range, positives: pl.DataFrame) -> pa.Table:
    """The entries of some rows of a table. tables: the numbers of those that its texts belong to."""
    rows = rows.join(positives, left_on="name", right_on="query-id", how="left", maintain_order="left")
    entries = rows.select(
        "texts",
        table=pl.lit(list(tables), pl.List(pl.UInt16)),
        row="name",
        label=hash_labels(rows["label"]),
        label_name=hash_labels(rows["label_name"]),
        positives=pl.col("positives").fill_null([]),
    ).explode("texts", "table")
    return to_entries(entries.hstack(fingerprint_texts(entries["texts"])))


def hash_labels(labels: pl.Series) -> Array:
    """The hash of each label (String), 0 for null."""
    return hash_texts(labels.fill_null(""))


def from_release(release_dir: Path) -> IndexedDataset:
    """The dataset in the folder of a release.

    Raises ReleaseError for a folder that is not a release of a dataset of the catalogue.
    """
    manifest, definition = define_release(release_dir)
    dataset = definition.dataset
    return IndexedDataset(
        manifest.dataset,
        manifest.version,
        dataset.task,
        scan_tables(release_dir, manifest.tables),
        dataset.languages,
        manifest.content_sha256,
    )


def from_foreign(dataset: ForeignDataset, name: str, revision: str) -> IndexedDataset:
    """A dataset that this package did not build, under its own names of tables. revision: its version in the index."""
    return IndexedDataset(
        name, revision, dataset.task, dataset.frames, dataset.languages, own_locations=dataset.own_locations
    )


BATCH_TEXTS = 16_384  # in a record batch of the file; all have as many, but the last
TEXT_SCHEMA = pa.schema([("text", pa.large_string())])


@dataclass(frozen=True)
class StoredTexts:
    """The texts of an index that are available. batches: record batches of BATCH_TEXTS texts, in the order of the entries."""

    index: TextIndex
    batches: Sequence[Any]


def available_texts(source: StoredTexts | None, entries: Array) -> pl.Series:
    """The text of each entry, null where it is not available, and where it is not the one that was indexed.

    source: the available texts of the index, if any.
    """
    nulls = pl.repeat(None, len(entries), dtype=pl.String, eager=True)
    if source is None:
        return nulls
    order = np.argsort(entries, kind="stable")
    ordered = entries[order]
    numbers, firsts = np.unique(ordered // BATCH_TEXTS, return_index=True)
    parts = [
        source.batches[number].column(0).take(pa.array(positions % BATCH_TEXTS))
        for number, positions in zip(numbers.tolist(), np.split(ordered, firsts[1:]), strict=False)
    ]
    texts = pl.Series(pa.chunked_array(parts, pa.large_string()), dtype=pl.String).gather(np.argsort(order))
    is_same = hash_texts(texts.fill_null("")) == source.index.columns["exact"][entries]
    return texts.zip_with(pl.Series(is_same), nulls)


def write_texts(tables: Sequence[IndexTable], datasets: Sequence[IndexedDataset], path: Path) -> None:
    """Write the texts of an index, in the order of its entries; null where no dataset has them.

    tables: of the index. A dataset is that of a table if it has the same name, version and content_sha256.
    """
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, TEXT_SCHEMA) as writer:
        arrays = (series.to_arrow(compat_level=pl.CompatLevel.oldest()) for series in _read_texts(tables, datasets))
        texts = (pa.table([array.cast(pa.large_string())], schema=TEXT_SCHEMA) for array in arrays)
        for group in in_groups(texts, BATCH_TEXTS):
            writer.write_table(group)


def open_texts(index: TextIndex, path: Path | SharedFile) -> StoredTexts:
    """The texts in a file of write_texts, read from the disk when they are needed."""
    file = pa.ipc.open_file(path.data if isinstance(path, SharedFile) else pa.memory_map(str(path)))
    return StoredTexts(index, [file.get_batch(number) for number in range(file.num_record_batches)])


def _read_texts(tables: Sequence[IndexTable], datasets: Sequence[IndexedDataset]) -> Iterator[pl.Series]:
    """The texts of all entries, in their order; null where they are not available, and behind the end of a shorter table."""
    frames = {
        (dataset.identity, *dataset.own_location(layout.config, split), column): frame.select(_listed(texts))
        for dataset in reversed(datasets)  # so that the first of two with the same identity is read
        for layout in text_layouts(dataset.task)
        for texts in (model_inputs(layout), *(_sides(*item) for item in model_inputs(layout).items()))
        for split, frame in dataset.frames.get(layout.config, {}).items()
        for column in texts
    }
    nulls = pl.repeat(None, BATCH_TEXTS, dtype=pl.String, eager=True)
    for number, table in enumerate(tables):
        if table.pair is not None and table.pair < number:
            continue  # its texts are read with those of the other table
        frame = frames.get((table.identity, table.config, table.split, table.column))
        missing = table.rows * (1 if table.pair is None else 2)
        with stage(f"texts of {table.dataset} {table.config}/{table.split}", total=table.rows, unit="rows") as advance:
            for batch in read_batches(frame.head(table.rows)) if frame is not None else ():
                texts = batch["texts"].explode()
                yield texts
                missing -= len(texts)
                advance(len(batch))
            while missing > 0:
                yield nulls.head(missing)
                missing -= BATCH_TEXTS


NOT_BUILT = "not built"


def find_datasets(
    names: Sequence[str], releases: Path, options: ForeignOptions, missing: list[Unread] | None = None
) -> list[IndexedDataset]:
    """The datasets that names mean, each once. releases: where those of the catalogue are. options: for datasets of others.

    missing: gets the datasets that have not been built, which are an error without it.

    Raises UsageError for an unknown name, ReleaseError for releases that have not been built, SourceError for a dataset that
    cannot be read.
    """
    targets = [target for name in names for target in resolve_targets(name, releases)]
    absent = dict.fromkeys(one.name for one in targets if one.folder is not None and not one.folder.is_dir())
    if missing is not None:
        missing += [Unread(name, NOT_BUILT) for name in absent]
        targets = [target for target in targets if target.name not in absent]
    elif len(absent) > 1:
        raise ReleaseError(
            f"{len(absent)} datasets have not been built",
            where=str(releases),
            found=f"no {', '.join(absent)}",
            todo="build them, name a folder with releases, or index what is there with --all-built",
        )
    found: dict[tuple[str, str, str], list[IndexedDataset]] = {}
    for target in targets:
        read = read_dataset(target, replace(options, keep_ids=True))
        datasets = [from_release(read)] if isinstance(read, Path) else [from_foreign(one, *read[:2]) for one in read[2]]
        found.setdefault(datasets[0].identity, datasets)
    if missing and not found:
        raise ReleaseError("no dataset of these has been built", where=str(releases), todo="build one first")
    return [dataset for datasets in found.values() for dataset in datasets]


def available_releases(tables: Iterable[IndexTable], releases: Path) -> list[IndexedDataset]:
    """The releases of an index that are below a folder with the same content."""
    found = []
    for name, version, digest in dict.fromkeys(table.identity for table in tables):
        if not digest or name not in catalogue.entries():
            continue  # a name in a file of others must not become a path
        release_dir = releases / name / version
        with suppress(ReleaseError):  # damaged: its texts are not available
            if (release_dir / MANIFEST).is_file() and require_manifest(release_dir).content_sha256 == digest:
                found.append(from_release(release_dir))
    return found
