"""A corpus file in partitions: pieces that are read one by one, in any order, on any machine that has the file.

Where a file is divided follows from its bytes alone, and a row has the same number in every partition. Parquet is
divided between row groups, plain JSON lines and CSV between records; a compressed file is one partition, because it can
only be read from its beginning.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from pipelines.corpus_scan import csv_rows, json_rows, parquet_rows
from pipelines.corpus_scan.batches import BATCH_ROWS
from pipelines.corpus_scan.corpus_batch import CorpusBatch
from pipelines.corpus_scan.corpus_files import CorpusFile
from pipelines.corpus_scan.csv_rows import Record
from pipelines.corpus_scan.layouts import Layout
from pipelines.corpus_scan.lines import find_line_borders, read_lines
from pipelines.corpus_scan.streams import PIECE
from pipelines.stages import BYTES, stage

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
        return parquet_rows.infer_layout(file, requested)
    if file.format == "JSON lines":
        lines = list(islice(chain.from_iterable(read_lines(file)), HEAD_LINES))
        return json_rows.infer_layout(file.name, lines, requested) if b"".join(lines).strip() else None
    header = read_header(file)
    return None if header is None else csv_rows.infer_layout(file.name, header[0], requested)


def cut_file(file: CorpusFile, layout: Layout, size: int = PARTITION_BYTES) -> Iterator[Partition]:
    """The partitions of a file, of at least `size` bytes each but for the last; their numbers are all 0.

    Raises SourceError where Parquet or CSV cannot be read.
    """
    if file.format == "Parquet":
        for first_row, start, stop, stored in parquet_rows.find_group_borders(file, layout, size):
            yield Partition(0, file, layout, first_row, start, stop, stored)
        return
    header = read_header(file) if file.format in csv_rows.SEPARATORS else None
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
        yield from parquet_rows.read_groups(file, layout, row, partition.start, partition.stop)
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
                yield json_rows.parse_lines(file.name, row, batch, layout)
                row += len(batch)
        return
    records = csv_rows.read_records(file.name, chain.from_iterable(pieces), _separator(file), row)
    for several in in_batches(records):
        yield csv_rows.parse_records(file.name, row, several, layout)
        row += len(several)


def in_batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Records in lists of BATCH_ROWS, or of fewer that come to a few megabytes."""
    batch, size = list[csv_rows.Record](), 0
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
    lines = chain.from_iterable(read_lines(file))
    return next(csv_rows.read_records(file.name, lines, _separator(file), csv_rows.HEADER), None)


def _record_borders(file: CorpusFile, start: int, size: int) -> list[tuple[int, int]]:
    """As find_line_borders, of a file of CSV whose header ends at `start`: only parsing tells which line ends are in
    quotes."""
    borders, offset, target = [(start, 0)], start, start + size
    lines = chain.from_iterable(read_lines(file, start))
    for row, (_, data) in enumerate(csv_rows.read_records(file.name, lines, _separator(file), 0)):
        if offset >= target:
            borders.append((offset, row))
            target = offset + size
        offset += len(data)
    return borders


def _separator(file: CorpusFile) -> str:
    return csv_rows.SEPARATORS[file.format]
