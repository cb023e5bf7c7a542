"""The formats of trainers: sentence-transformers, FlagEmbedding, MEDI and INSTRUCTOR.

A format is a record in TRAINERS, with the function that writes it, and the template of its README.md, `readme/<name>.md.jinja`:
options and tests follow from these, and docs/training.md has a row for each.

Of FlagEmbedding the prompt is empty: without one, and without --query_instruction_for_retrieval, version 1.4.2 puts `None`
before queries.

It draws one of the positives in each epoch, and repeats negatives where a row has fewer than it takes. It cannot take
rows without any: they are dropped.

Of MEDI a text is a pair of instruction and text. The rows of a task follow each other: a batch is a run of rows, and a run with
rows of two tasks is skipped. INSTRUCTOR's train.py reads the task from `task_name` in some versions and from `task_id` in
others. It refuses an instruction that does not begin with "Represent ", unless it is empty, and removes the space behind one. So
the prefix is in the text unless the caller chooses otherwise.

The losses of sentence-transformers take as many negatives of each row as there are columns, and a null is not a text. So rows
with fewer negatives than asked for are in separate files, by their number:

    data/ru-wanli.parquet               anchor, positive, negative_1, ..., negative_7
    data/ru-wanli.3-negatives.parquet   anchor, positive, negative_1, ..., negative_3

To a trainer each file is a dataset, and a batch comes from one dataset.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders.errors import UsageError
from pipelines.exporting.sets import (
    BATCH,
    DATA,
    MOST_NEGATIVES,
    Choices,
    DataFile,
    ExportedSet,
    Positives,
    Prefixes,
    Tally,
    TrainingSet,
    read_pairs,
    share,
)  # fmt: skip


def drop_without_negative(batch: pl.DataFrame, tally: Tally) -> pl.DataFrame:
    """The rows that have a negative; the others are counted."""
    kept = batch.filter(pl.col("negatives").list.len() > 0)
    if kept.height < batch.height:
        tally.dropped["no negative"] += batch.height - kept.height
    return kept


def write_flagembedding_set(training_set: TrainingSet, folder: Path, choices: Choices) -> ExportedSet:
    """Write the file of a set, if it has a row with a negative."""
    path, tally = f"{DATA}/{training_set.name}.jsonl", Tally()
    query = (pl.lit(training_set.query_prefix) + pl.col("query")).alias("query")
    document = pl.lit(training_set.document_prefix) + pl.element()
    with (folder / path).open("wb") as stream:
        for batch in read_pairs(training_set, choices.negatives, tally):
            rows = drop_without_negative(batch, tally)
            tally.count_written(rows, rows.height, int(rows["positives"].list.len().sum()))
            texts = rows.select(
                query,
                pos=pl.col("positives").list.eval(document),
                neg=pl.col("negatives").list.eval(document),
                prompt=pl.lit(""),
            )
            stream.writelines(
                orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in texts.iter_rows(named=True)
            )
    if not tally.rows:
        (folder / path).unlink()  # the trainer cannot read an empty file
        return ExportedSet(training_set, tally, ())
    return ExportedSet(training_set, tally, (DataFile(path, training_set.name, tally.rows),))


PATH = f"{DATA}/medi-data.json"  # the name that train.py looks for


def write_medi(sets: Sequence[TrainingSet], folder: Path, choices: Choices) -> list[ExportedSet]:
    """Write all sets into one file; it is JSON if there is a row."""
    written = []
    with (folder / PATH).open("wb") as stream:
        separator = b"[\n"
        for number, training_set in enumerate(sets):
            tally = Tally()
            for row in _rows(training_set, number, choices, tally):
                stream.write(separator + orjson.dumps(row))
                separator = b",\n"
            files = (DataFile(PATH, training_set.name, tally.rows),) if tally.rows else ()
            written.append(ExportedSet(training_set, tally, files))
        stream.write(b"\n]\n")
    return written


def _rows(training_set: TrainingSet, number: int, choices: Choices, tally: Tally) -> Iterator[dict[str, Any]]:
    as_instruction = choices.prefixes == "instruction"

    def pair(prefix: str, text: str) -> list[str]:
        return [prefix, text] if as_instruction else ["", prefix + text]

    for batch in read_pairs(training_set, choices.negatives, tally):
        rows = drop_without_negative(batch, tally)
        pairs = _one_positive(rows, choices)
        tally.count_written(rows, pairs.height, pairs.height)
        for query, document, negatives in pairs.iter_rows():
            yield {
                "query": pair(training_set.query_prefix, query),
                "pos": pair(training_set.document_prefix, document),
                "neg": pair(training_set.document_prefix, negatives[0]),
                "task_name": training_set.name,
                "task_id": number,
            }


TRAINING = "training.json"


def describe_training(sets: Sequence[ExportedSet]) -> dict[str, Any]:
    """The content of training.json: for each dataset of the trainer its file, rows, weight and prompts by column."""
    total = sum(file.rows for exported in sets for file in exported.files)
    datasets, prompts = {}, {}
    for exported in sets:
        for file in exported.files:
            datasets[file.name] = {"file": file.path, "rows": file.rows, "weight": share(file.rows, total)}
            prompts[file.name] = dict.fromkeys(_columns(file.negatives or 0), exported.source.document_prefix) | {
                "anchor": exported.source.query_prefix
            }
    return {"datasets": datasets, "prompts": prompts}


@dataclass
class _File:
    """A Parquet file that is being written, in row groups of BATCH rows. pending: rows that wait for theirs to be full.

    name: what the trainer calls its rows.
    """

    name: str
    writer: Any
    pending: pl.DataFrame
    rows: int = 0

    def add(self, rows: pl.DataFrame) -> None:
        self.rows += rows.height
        self.pending = pl.concat([self.pending, rows])
        while self.pending.height >= BATCH:
            self._write(self.pending.head(BATCH))
            self.pending = self.pending.slice(BATCH)

    def close(self) -> None:
        if self.pending.height:
            self._write(self.pending)
        self.writer.close()

    def _write(self, frame: pl.DataFrame) -> None:
        table = frame.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(self.writer.schema)
        self.writer.write_table(table, row_group_size=BATCH)


def write_parquet_set(training_set: TrainingSet, folder: Path, choices: Choices) -> ExportedSet:
    """Write the files of a set: one for each number of negatives."""
    files, tally = dict[int, _File](), Tally()
    with ExitStack() as stack:
        for batch in read_pairs(training_set, choices.negatives, tally):
            pairs = _one_positive(batch, choices)
            tally.count_written(batch, pairs.height, pairs.height)
            for (count,), rows in pairs.group_by(pl.col("negatives").list.len(), maintain_order=True):
                number = int(str(count))
                columns = _columns(number)
                if number not in files:
                    # The rows with as many negatives as asked for have the name of the set.
                    name = training_set.name + (f".{number}-negatives" if number != choices.negatives else "")
                    schema = pa.schema([pa.field(column, pa.string(), nullable=False) for column in columns])
                    writer = pq.ParquetWriter(folder / DATA / f"{name}.parquet", schema, compression="zstd")
                    files[number] = _File(name, writer, pl.DataFrame(schema=dict.fromkeys(columns, pl.String)))
                    stack.callback(files[number].close)
                negatives = {column: pl.col("negatives").list.get(place) for place, column in enumerate(columns[2:])}
                files[number].add(rows.select("anchor", "positive", **negatives))
    described = [
        DataFile(f"{DATA}/{file.name}.parquet", file.name, file.rows, number)
        for number, file in sorted(files.items(), reverse=True)
    ]
    return ExportedSet(training_set, tally, tuple(described))


def _one_positive(batch: pl.DataFrame, choices: Choices) -> pl.DataFrame:
    """Rows with the first positive of each, or a row a positive. Columns: anchor, positive (String), negatives (List(String))."""
    positive = pl.col("positives").list.first() if choices.positives == "first" else pl.col("positives")
    rows = batch.select(anchor="query", positive=positive, negatives="negatives")
    return rows if choices.positives == "first" else rows.explode("positive")


def _columns(negatives: int) -> list[str]:
    return ["anchor", "positive", *(f"negative_{number + 1}" for number in range(negatives))]


def write_each(
    write: Callable[[TrainingSet, Path, Choices], ExportedSet],
    sets: Sequence[TrainingSet],
    folder: Path,
    choices: Choices,
) -> list[ExportedSet]:
    """Write each set into its own files."""
    return [write(training_set, folder, choices) for training_set in sets]


@dataclass(frozen=True)
class Trainer:
    """A trainer whose format is written.

    write: the sets into a folder that has DATA. describe: the content of training.json, for a trainer that reads one. negatives:
    the fewest and the most of a row. positives, prefixes: what Choices may say, the default first. reasons: why an option has no
    other value.
    """

    name: str
    write: Callable[[Sequence[TrainingSet], Path, Choices], list[ExportedSet]]
    describe: Callable[[Sequence[ExportedSet]], dict[str, Any]] | None = None
    negatives: tuple[int, int] = (0, MOST_NEGATIVES)
    positives: tuple[Positives, ...] = ("first", "each")
    prefixes: tuple[Prefixes, ...] = ("text",)
    reasons: Mapping[str, str] = field(default_factory=dict)


TRAINERS = {trainer.name: trainer for trainer in (
    Trainer(
        "sentence-transformers", partial(write_each, write_parquet_set), describe=describe_training, prefixes=("apart",),
    ),
    Trainer(
        "flagembedding", partial(write_each, write_flagembedding_set),
        negatives=(1, MOST_NEGATIVES), positives=("all",),
        reasons={"negatives": "it cannot read rows without a negative", "positives": "a row has all of its positives"},
    ),
    Trainer(
        "medi", write_medi, negatives=(1, 1), prefixes=("text", "instruction"),
        reasons={"negatives": "a row has one negative"},
    ),
)}  # fmt: skip


def make_choices(
    trainer: Trainer, negatives: int | None, positives: Positives | None, prefixes: Prefixes | None
) -> Choices:
    """The choices that options make; None for what is left to the trainer.

    Raises UsageError for what the format does not have.
    """
    few, most = trainer.negatives
    if negatives is not None and not few <= negatives <= most:
        numbers = str(most) if few == most else f"{few} to {most}"
        raise UsageError(f"--negatives is {numbers} for {trainer.name}: {trainer.reasons['negatives']}")
    if positives is not None and positives not in trainer.positives:
        raise UsageError(f"--positives is not for {trainer.name}: {trainer.reasons['positives']}")
    if prefixes is not None and len(trainer.prefixes) == 1:
        with_choice = ", ".join(other.name for other in TRAINERS.values() if len(other.prefixes) > 1)
        raise UsageError(f"--prefixes is for --as {with_choice}")
    number = most if negatives is None else negatives
    return Choices(trainer.name, number, positives or trainer.positives[0], prefixes or trainer.prefixes[0])
