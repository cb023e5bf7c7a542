"""The format of sentence-transformers: Parquet with the columns anchor, positive, negative_1, ..., and texts without prefixes.

Its losses take as many negatives of each row as there are columns, and a null is not a text. So rows with fewer negatives than
asked for are in files of their own, by their number:

    data/ru-wanli.parquet               anchor, positive, negative_1, ..., negative_7
    data/ru-wanli.3-negatives.parquet   anchor, positive, negative_1, ..., negative_3

To a trainer each file is a dataset, and a batch comes from one dataset.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.exporting.pairs import BATCH, Tally, read_pairs
from pipelines.exporting.records import DATA, Choices, DataFile, ExportedSet, share
from pipelines.exporting.releases import TrainingSet

TRAINING = "training.json"


def write_sets(sets: Sequence[TrainingSet], folder: Path, choices: Choices) -> list[ExportedSet]:
    """Write the files of all sets."""
    return [_write_set(one, folder, choices) for one in sets]


def describe_training(sets: Sequence[ExportedSet]) -> dict[str, Any]:
    """The content of training.json: for each dataset of the trainer its file, rows, weight and prompts by column."""
    total = sum(file.rows for one in sets for file in one.files)
    datasets, prompts = {}, {}
    for one in sets:
        for file in one.files:
            datasets[file.name] = {"file": file.path, "rows": file.rows, "weight": share(file.rows, total)}
            columns = _columns(file.negatives or 0)
            prompts[file.name] = dict.fromkeys(columns, one.source.document_prefix) | {
                "anchor": one.source.query_prefix
            }
    return {"datasets": datasets, "prompts": prompts}


@dataclass
class _File:
    """A Parquet file that is being written, in row groups of BATCH rows. pending: rows that wait for theirs to be full."""

    writer: Any
    rows: int = 0
    pending: list[pl.DataFrame] = field(default_factory=list)

    def add(self, rows: pl.DataFrame) -> None:
        self.rows += rows.height
        self.pending.append(rows)
        while sum(frame.height for frame in self.pending) >= BATCH:
            frame = pl.concat(self.pending)
            self._write(frame.head(BATCH))
            self.pending = [frame.slice(BATCH)]

    def close(self) -> None:
        if any(frame.height for frame in self.pending):
            self._write(pl.concat(self.pending))
        self.writer.close()

    def _write(self, frame: pl.DataFrame) -> None:
        table = frame.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(self.writer.schema)
        self.writer.write_table(table, row_group_size=BATCH)


def _write_set(one: TrainingSet, folder: Path, choices: Choices) -> ExportedSet:
    files: dict[int, _File] = {}
    tally = Tally()
    with ExitStack() as stack:
        for batch in read_pairs(one, choices.negatives, tally):
            pairs = _one_positive(batch, choices)
            tally.count_written(batch, batch.height if choices.positives == "first" else pairs.height)
            tally.rows += pairs.height
            for (count,), rows in pairs.group_by(pl.col("negatives").list.len(), maintain_order=True):
                number = int(str(count))
                if number not in files:
                    writer = _open_writer(folder / _path(one, number, choices), number)
                    files[number] = _File(writer)
                    stack.callback(files[number].close)
                files[number].add(_spread(rows, number))
    described = [
        DataFile(_path(one, number, choices), _name(one, number, choices), file.rows, number)
        for number, file in sorted(files.items(), reverse=True)
    ]
    return ExportedSet(one, tally, tuple(described))


def _one_positive(batch: pl.DataFrame, choices: Choices) -> pl.DataFrame:
    """Rows with the first positive of each, or a row a positive. Columns: anchor, positive (String), negatives (List(String))."""
    positive = pl.col("positives").list.first() if choices.positives == "first" else pl.col("positives")
    rows = batch.select(anchor="query", positive=positive, negatives="negatives")
    return rows if choices.positives == "first" else rows.explode("positive")


def _spread(rows: pl.DataFrame, count: int) -> pl.DataFrame:
    """The same rows with a column for each negative; all have `count`."""
    negatives = {f"negative_{number + 1}": pl.col("negatives").list.get(number) for number in range(count)}
    return rows.select("anchor", "positive", **negatives)


def _columns(negatives: int) -> list[str]:
    return ["anchor", "positive", *(f"negative_{number + 1}" for number in range(negatives))]


def _open_writer(path: Path, negatives: int) -> Any:
    path.parent.mkdir(exist_ok=True)
    schema = pa.schema([pa.field(name, pa.string(), nullable=False) for name in _columns(negatives)])
    return pq.ParquetWriter(path, schema, compression="zstd")


def _name(one: TrainingSet, negatives: int, choices: Choices) -> str:
    """What the trainer calls the rows with this many negatives: the set's name where they have as many as asked for."""
    return one.name if negatives == choices.negatives else f"{one.name}.{negatives}-negatives"


def _path(one: TrainingSet, negatives: int, choices: Choices) -> str:
    return f"{DATA}/{_name(one, negatives, choices)}.parquet"
