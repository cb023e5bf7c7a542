"""The texts of an index that are at hand, in a file from which each is read by the number of its entry.

Near-duplicates are compared exactly where the release that an entry is of is on this machine. Its texts are written once, in the
order of the index, to an Arrow file in a scratch folder that is mapped into memory: a scan reads the few that it needs, and the
system keeps no more of the file than there is room for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from builders.shaping.short_hashes import hash_texts
from pipelines.audit.tables import text_layouts
from pipelines.corpus_scan.index_file import IndexTable, TextIndex
from pipelines.corpus_scan.indexing import BATCH_ROWS, IndexedDataset, interleave
from pipelines.corpus_scan.table_texts import texts_with
from pipelines.stages import stage

Array = npt.NDArray[Any]

BATCH_TEXTS = 16_384  # in a record batch of the file; all have as many, but the last
SCHEMA = pa.schema([("text", pa.large_string())])


@dataclass(frozen=True)
class StoredTexts:
    """The texts of an index that are at hand. batches: record batches of BATCH_TEXTS texts, in the order of the entries."""

    index: TextIndex
    batches: Sequence[Any]

    def texts(self, entries: Array) -> pl.Series:
        """The text of each entry, null where it is not at hand, and where it is not the one that was indexed."""
        order = np.argsort(entries, kind="stable")
        ordered = entries[order]
        numbers, firsts = np.unique(ordered // BATCH_TEXTS, return_index=True)
        parts = [
            self.batches[number].column(0).take(pa.array(positions % BATCH_TEXTS))
            for number, positions in zip(numbers.tolist(), np.split(ordered, firsts[1:]), strict=False)
        ]
        texts = pl.Series(pa.chunked_array(parts, pa.large_string()), dtype=pl.String).gather(np.argsort(order))
        is_same = hash_texts(texts.fill_null("")) == self.index.exact[entries]
        return texts.zip_with(pl.Series(is_same), pl.repeat(None, len(texts), dtype=pl.String, eager=True))


def write_texts(tables: Sequence[IndexTable], datasets: Sequence[IndexedDataset], path: Path) -> None:
    """Write the texts of those datasets that an index is of, in the order of its entries; null for all others.

    tables: of the index. A dataset is that of a table if it has the same name, version and content_sha256.
    """
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, SCHEMA) as writer:
        waiting = SCHEMA.empty_table()
        for texts in _read_texts(tables, datasets):
            array = texts.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(pa.large_string())
            waiting = pa.concat_tables([waiting, pa.table([array], schema=SCHEMA)])
            while waiting.num_rows >= BATCH_TEXTS:
                writer.write_table(waiting.slice(0, BATCH_TEXTS).combine_chunks(), max_chunksize=BATCH_TEXTS)
                waiting = waiting.slice(BATCH_TEXTS)
        writer.write_table(waiting.combine_chunks(), max_chunksize=BATCH_TEXTS)


def open_texts(index: TextIndex, path: Path) -> StoredTexts:
    """The texts in a file of write_texts, read from the disk when they are needed."""
    file = pa.ipc.open_file(pa.memory_map(str(path)))
    return StoredTexts(index, [file.get_batch(number) for number in range(file.num_record_batches)])


def _read_texts(tables: Sequence[IndexTable], datasets: Sequence[IndexedDataset]) -> Iterator[pl.Series]:
    """The texts of all entries, in their order; null where they are not at hand."""
    for number, table in enumerate(tables):
        if table.pair is not None and table.pair < number:
            continue  # its texts are read with those of the other table
        frame = next((frame for one in datasets if (frame := _frame_of(one, table)) is not None), None)
        columns = 1 if table.pair is None else 2
        with stage(f"texts of {table.dataset} {table.config}/{table.split}", total=table.rows, unit="rows") as advance:
            for start in range(0, table.rows, BATCH_ROWS):
                missing = min(BATCH_ROWS, table.rows - start)
                if frame is not None:
                    batch = frame.slice(start, missing).collect(engine="streaming")
                    yield interleave([column.cast(pl.String).fill_null("") for column in batch.get_columns()])
                    missing -= len(batch)
                yield pl.repeat(None, missing * columns, dtype=pl.String, eager=True)
                advance(BATCH_ROWS)


def _frame_of(dataset: IndexedDataset, table: IndexTable) -> pl.LazyFrame | None:
    """The texts of the rows of a table, if it is one of the dataset's; None where it is not, or has other rows."""
    if dataset.identity != table.identity:
        return None
    for layout in text_layouts(dataset.task):
        for split, frame in dataset.frames.get(layout.config, {}).items():
            if dataset.own_location(layout.config, split) == (table.config, table.split):
                texts = texts_with(layout, table.column)
                return None if texts is None else frame.select(**texts)
    return None
