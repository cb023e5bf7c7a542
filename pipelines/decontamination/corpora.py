"""A training corpus in partitions: pieces of its files that are read in any order, on any machine that has the files.

Where a file is divided follows from its bytes alone, and a row has the same number in every partition. Parquet is
divided between row groups, plain JSON lines and CSV between records; a compressed file is one partition, because it can
only be read from its beginning.
"""

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders.errors import SourceError, UsageError
from pipelines.decontamination import line_rows
from pipelines.decontamination.batches import BATCH_ROWS, LABEL_SCHEMA, CorpusBatch, label_texts
from pipelines.decontamination.corpus_files import (
    PIECE,
    READABLE,
    CorpusFile,
    Listing,
    data_format,
    files_below,
    list_local_files,
)
from pipelines.decontamination.line_rows import (
    Layout,
    Record,
    choose_columns,
    find_line_borders,
    list_names,
    read_lines,
)
from pipelines.hub import client, repository
from pipelines.hub.client import HubClient
from pipelines.hub.inspection import COMMIT
from pipelines.process.safe_text import first_line
from pipelines.process.stages import BYTES, stage
from pipelines.raw.digests import default_cache

BATCH_BYTES = 4 << 20  # of the values of a batch, on average
BUFFER = 1 << 20


@contextmanager
def open_parquet(file: CorpusFile) -> Iterator[Any]:
    """A Parquet file, which is read in pieces.

    Raises SourceError, on opening or from the block, where it is truncated or corrupt.
    """
    try:
        with pq.ParquetFile(file.path, buffer_size=BUFFER, pre_buffer=False) as opened:
            yield opened
    except (pa.ArrowException, OSError, ValueError) as error:  # ValueError: a name in the footer that is not UTF-8
        raise SourceError(
            "truncated or corrupt Parquet file",
            where=file.name,
            found=first_line(error),
            expected="Parquet",
            todo="download it again, or leave it out",
        ) from error


def parquet_layout(file: CorpusFile, requested: Sequence[str]) -> Layout:
    """The layout of a file by its schema; raises the errors of `choose_columns`, and SourceError for a name that it has
    twice."""
    with open_parquet(file) as opened:
        schema = opened.schema_arrow
    if twice := [name for name in schema.names if schema.names.count(name) > 1]:
        what = f"two columns are called {twice[0]!r}"
        raise SourceError(
            what, where=file.name, expected="a name for each column", todo="rename one, or leave the file out"
        )
    return choose_columns(
        file.name, schema.names, [field.name for field in schema if _is_textual(field.type)], requested
    )


def find_group_borders(file: CorpusFile, layout: Layout, size: int) -> list[tuple[int, int, int, int]]:
    """Where a file is divided: for each piece first row, first row group, the one after its last, and its bytes in the
    file.

    size: how many bytes of texts, decompressed, a piece has at least; a row group is never divided.
    """
    pieces = []
    with open_parquet(file) as opened:
        metadata = opened.metadata
        row = first_row = first = texts = stored = 0
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            columns = [group.column(index) for index in range(group.num_columns)]
            row += group.num_rows
            texts += sum(column.total_uncompressed_size for column in columns if _belongs_to(column, layout.texts))
            stored += sum(column.total_compressed_size for column in columns)
            if texts >= size or number == metadata.num_row_groups - 1:
                if row > first_row:
                    pieces.append((first_row, first, number + 1, stored))
                first_row, first, texts, stored = row, number + 1, 0, 0
    return pieces


def read_groups(file: CorpusFile, layout: Layout, first_row: int, start: int, stop: int) -> Iterator[CorpusBatch]:
    """The texts of some row groups: the rows that they have in all, and `first_row` is the first of them.

    Raises SourceError for data that are corrupt or not UTF-8.
    """
    names = [*layout.texts, *([layout.label] if layout.label else [])]
    with open_parquet(file) as opened:
        for batch in opened.iter_batches(
            rows_per_batch(opened.metadata, layout, start, stop), list(range(start, stop)), names, use_threads=False
        ):
            table = pa.table(batch)
            table.validate(full=True)  # texts are UTF-8
            yield _batch(file.name, layout, first_row, table)
            first_row += batch.num_rows


def rows_per_batch(metadata: Any, layout: Layout, start: int, stop: int) -> int:
    """How many rows come to BATCH_BYTES, at most BATCH_ROWS."""
    groups = [metadata.row_group(number) for number in range(start, stop)]
    rows: int = sum(group.num_rows for group in groups)
    columns = (group.column(index) for group in groups for index in range(group.num_columns))
    size: int = sum(column.total_uncompressed_size for column in columns if _belongs_to(column, layout.texts))
    return max(1, min(BATCH_ROWS, rows * BATCH_BYTES // max(size, 1)))


def _belongs_to(column: Any, names: Sequence[str]) -> bool:
    """Whether a leaf belongs to one of these columns: `pos.list.element` to `pos`."""
    path = column.path_in_schema
    return any(path == name or path.startswith(f"{name}.") for name in names)


def _is_textual(kind: Any) -> bool:
    """Whether values of a type are strings, or lists of strings."""
    types = pa.types
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        kind = kind.value_type
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _batch(file: str, layout: Layout, first_row: int, table: Any) -> CorpusBatch:
    rows = pl.Series("row", np.arange(first_row, first_row + table.num_rows), dtype=pl.Int64)
    frames = [_column_texts(rows, name, pl.Series(name, table[name])) for name in layout.texts]
    texts = pl.concat(frames)
    if len(frames) > 1 or isinstance(table[layout.texts[0]].type, pa.ListType):
        texts = texts.sort("row", maintain_order=True)
    return CorpusBatch(file, texts, _labels(rows, pl.Series(table[layout.label])) if layout.label else _no_labels())


def _column_texts(rows: pl.Series, name: str, values: pl.Series) -> pl.DataFrame:
    """The texts of a column, without nulls and empty ones: row, column, text."""
    frame = pl.DataFrame({"row": rows, "text": values})
    column = pl.lit(name)
    if isinstance(values.dtype, pl.List | pl.Array):
        lists = pl.col("text").cast(pl.List(pl.String))
        frame = frame.with_columns(lists).filter(pl.col("text").list.len() > 0)
        frame = frame.with_columns(item=pl.int_ranges(0, pl.col("text").list.len(), dtype=pl.Int64))
        frame = frame.explode("text", "item")
        column = pl.concat_str(pl.lit(f"{name}["), pl.col("item").cast(pl.String), pl.lit("]"))
    text = pl.col("text").cast(pl.String)
    return frame.select("row", column=column, text=text).filter(pl.col("text") != "")


def _labels(rows: pl.Series, values: pl.Series) -> pl.DataFrame:
    if isinstance(values.dtype, pl.Struct | pl.Object | pl.Binary):
        return _no_labels()
    if isinstance(values.dtype, pl.Categorical | pl.Enum):
        values = values.cast(pl.String)
    labels = label_texts(values).cast(pl.String)
    return pl.DataFrame({"row": rows, "label": labels}, schema=LABEL_SCHEMA).drop_nulls()


def _no_labels() -> pl.DataFrame:
    return pl.DataFrame(schema=LABEL_SCHEMA)


PARTITION_BYTES = 64 << 20
HEAD_LINES = 100  # of a file of JSON lines, whose columns are those of its layout


@dataclass(frozen=True)
class Partition:
    """Some consecutive rows of a file.

    number: in the order of the corpus, from 0. start, stop: of Parquet row groups, otherwise offsets in the
    decompressed data; stop is None for the end of the file. size: its part of the bytes on disk, for progress.
    """

    number: int
    file: CorpusFile
    layout: Layout
    first_row: int
    start: int
    stop: int | None
    size: int


def infer_layout(file: CorpusFile, requested: Sequence[str]) -> Layout | None:
    """The layout of a file; None where it has no rows.

    Raises SourceError where the beginning of the file cannot be read, and the errors of `choose_columns`.
    """
    if file.format == "Parquet":
        return parquet_layout(file, requested)
    if file.format == "JSON lines":
        lines = list(islice(chain.from_iterable(read_lines(file)), HEAD_LINES))
        return line_rows.json_layout(file.name, lines, requested) if b"".join(lines).strip() else None
    header = read_header(file)
    return None if header is None else line_rows.csv_layout(file.name, header[0], requested)


def cut_file(file: CorpusFile, layout: Layout, size: int = PARTITION_BYTES) -> Iterator[Partition]:
    """The partitions of a file, of at least `size` bytes each but for the last; their numbers are all 0.

    Raises SourceError where Parquet or CSV cannot be read.
    """
    if file.format == "Parquet":
        for first_row, start, stop, stored in find_group_borders(file, layout, size):
            yield Partition(0, file, layout, first_row, start, stop, stored)
        return
    header = read_header(file) if file.format in line_rows.SEPARATORS else None
    first = len(header[1]) if header else 0
    if file.compression or file.size - first <= size:
        if file.compression or file.size > first:
            yield Partition(0, file, layout, 0, first, None, file.size)
        return
    borders = _record_borders(file, first, size) if header else list(find_line_borders(file, size))
    for (start, row), (stop, _) in zip(borders, [*borders[1:], (file.size, 0)], strict=True):
        yield Partition(0, file, layout, row, start, stop, stop - start)


def read_partition(partition: Partition) -> Iterator[CorpusBatch]:
    """The texts of a partition in batches of a few megabytes, in order. Reading a large compressed file is a stage.

    Raises SourceError, with file and row, for what cannot be read.
    """
    file, layout, row = partition.file, partition.layout, partition.first_row
    if file.format == "Parquet":
        assert partition.stop is not None
        yield from read_groups(file, layout, row, partition.start, partition.stop)
        return
    if file.size <= 2 * PARTITION_BYTES or not file.compression:
        yield from _read_text(partition, None)
        return
    with stage(f"reading {file.path.name}", total=file.size, unit=BYTES) as advance:
        yield from _read_text(partition, advance)


def _read_text(partition: Partition, advance: Callable[[int], None] | None) -> Iterator[CorpusBatch]:
    file, layout, row = partition.file, partition.layout, partition.first_row
    pieces = read_lines(file, partition.start, partition.stop, row, advance)
    if file.format == "JSON lines":
        for lines in pieces:
            for first in range(0, len(lines), BATCH_ROWS):
                batch = lines[first : first + BATCH_ROWS]
                yield line_rows.parse_lines(file.name, row, batch, layout)
                row += len(batch)
        return
    records = line_rows.read_records(file, chain.from_iterable(pieces), row)
    for several in in_batches(records):
        yield line_rows.parse_records(file.name, row, several, layout)
        row += len(several)


def in_batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Records in lists of BATCH_ROWS, or of fewer that come to a few megabytes."""
    batch, size = list[line_rows.Record](), 0
    for record in records:
        batch.append(record)
        size += len(record[1])
        if len(batch) == BATCH_ROWS or size >= PIECE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def read_header(file: CorpusFile) -> Record | None:
    """The header of a file of CSV or TSV; None for an empty file."""
    return next(line_rows.read_records(file, chain.from_iterable(read_lines(file)), line_rows.HEADER), None)


def _record_borders(file: CorpusFile, start: int, size: int) -> list[tuple[int, int]]:
    """As find_line_borders, of a file of CSV whose header ends at `start`: only parsing tells which line ends are in
    quotes."""
    borders, offset, target = [(start, 0)], start, start + size
    lines = chain.from_iterable(read_lines(file, start))
    for row, (_, data) in enumerate(line_rows.read_records(file, lines, 0)):
        if offset >= target:
            borders.append((offset, row))
            target = offset + size
        offset += len(data)
    return borders


HUB = "hf://"
HUB_FORM = "hf://datasets/ORG/NAME[@REVISION][/PATH]"
# hf://datasets/ORG/NAME@REVISION/PATH; a slash in a revision is written %2F, but for those that the Hub makes itself.
HUB_NAME = re.compile(
    rf"hf://datasets/(?P<repo>{client.REPOSITORY.pattern})"
    r"(?:@(?P<revision>refs/(?:pr/\d+|convert/[\w-]+)|[\w.%-]+))?(?:/(?P<path>.*))?",
    re.ASCII,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Corpus:
    """A corpus: its files with their layouts, in order, its partitions, and the files that were skipped."""

    files: tuple[tuple[CorpusFile, Layout], ...]
    partitions: tuple[Partition, ...]
    skipped: tuple[str, ...]

    @property
    def size(self) -> int:
        """The bytes of all partitions on disk."""
        return sum(partition.size for partition in self.partitions)


def open_corpus(
    names: Sequence[str],
    columns: Sequence[str] = (),
    *,
    hub: HubClient | None = None,
    cache: Path | None = None,
    partition_bytes: int = PARTITION_BYTES,
) -> Corpus:
    """The corpus that names lead to: files, folders, globs, and `hf://datasets/ORG/NAME[@REVISION][/PATH]`.

    columns: the columns with texts, by default all of strings or lists of strings but ids, addresses and labels. hub: the
    connection to the Hub, by default with the stored login. cache: where its files are kept, by default the package's cache.

    Raises UsageError for a name or a column that does not exist, SourceError for a file that cannot be read and a
    corpus without rows.
    """
    found: dict[str, CorpusFile] = {}
    skipped: list[str] = []
    for name in names:
        listing = _list_repository(name, hub, cache) if name.startswith(HUB) else list_local_files([name])
        for file in listing.files:
            found.setdefault(str(file.path.resolve()), file)
        skipped += listing.skipped
    if not found:
        what = "no file that a corpus may have"
        raise SourceError(what, where=", ".join(names), found=_list_files(skipped), expected=READABLE)
    if skipped:
        logger.info("files skipped, not in a format of a corpus: %s", _list_files(skipped))
    files: list[tuple[CorpusFile, Layout]] = []
    partitions: list[Partition] = []
    with stage("dividing the corpus", total=sum(file.size for file in found.values()), unit=BYTES) as advance:
        for file in found.values():
            layout = infer_layout(file, columns)
            if layout is not None:
                files.append((file, layout))
                partitions += cut_file(file, layout, partition_bytes)
            advance(file.size)
    if not partitions:
        raise SourceError(
            "the corpus has no rows", where=", ".join(names), found=_list_files(list(found)), todo="name others"
        )
    if missing := [name for name in columns if not any(name in layout.texts for _, layout in files)]:
        what = f"no file has the column {missing[0]!r}"
        present = list(dict.fromkeys(name for _, layout in files for name in layout.columns))
        raise UsageError(
            what, where=", ".join(names), found=list_names(present), todo="name another column with --text"
        )
    numbered = tuple(replace(partition, number=number) for number, partition in enumerate(partitions))
    return Corpus(tuple(files), numbered, tuple(skipped))


def _list_repository(name: str, hub: HubClient | None, cache: Path | None) -> Listing:
    """The data files of a dataset on the Hub, in the cache; with a path, only those at it, below it, or that it matches.

    Raises UsageError for a name of another form, SourceError where the Hub does not give the files.
    """
    match = HUB_NAME.fullmatch(name)
    if match is None:
        todo = "name it as the Hub does: hf://datasets/ORG/NAME, hf://datasets/ORG/NAME@REVISION/PATH"
        raise UsageError("not the name of a dataset on the Hub", where=name, expected=HUB_FORM, todo=todo)
    repo, path = match["repo"], (match["path"] or "").strip("/")
    hub = hub or client.connect()
    at = repository.require_snapshot(hub, repo, unquote(match["revision"] or repository.MAIN))
    if not COMMIT.fullmatch(at.sha):  # it becomes the name of a folder
        raise SourceError(
            "the Hub names no commit", where=name, found=repr(at.sha[:60]), expected="40 hexadecimal digits"
        )
    paths = [one for one in at.digests if _is_at(one, path) and _is_inside(one)]
    wanted = [one for one in sorted(paths) if data_format(one)]
    if not wanted:
        raise SourceError("no file that a corpus may have", where=name, found=_list_files(paths), expected=READABLE)
    folder = repository.fetch_files(hub, repo, at, wanted, cache or default_cache())
    root = name[: match.start("path")].rstrip("/") if match["path"] else name.rstrip("/")
    listing = files_below(folder, root, wanted, dict(at.digests))
    others = [
        f"{root}/{one}" for one in sorted(paths) if one not in wanted and not PurePosixPath(one).name.startswith(".")
    ]
    return Listing(listing.files, (*listing.skipped, *others))


def _is_at(path: str, requested: str) -> bool:
    """Whether a path of a repository is at or below a requested one, or matches it as a glob."""
    return (
        not requested or path == requested or path.startswith(f"{requested}/") or PurePosixPath(path).match(requested)
    )


def _is_inside(path: str) -> bool:
    """Whether a path that a server lists leads to a file below the folder that it is joined with."""
    parts = PurePosixPath(path).parts
    return not path.startswith("/") and ".." not in parts and "\\" not in path and "\0" not in path


def _list_files(names: Sequence[str]) -> str:
    shown = ", ".join(names[:5]) or "nothing"
    return f"{shown}, and {len(names) - 5:,} more" if len(names) > 5 else shown
