"""The format of FlagEmbedding: JSON lines `{"query", "pos", "neg", "prompt"}`, a file a set, with the prefixes in the texts.

The prompt is empty: without one, and without --query_instruction_for_retrieval, version 1.4.2 puts `None` before queries.

FlagEmbedding draws one of the positives in each epoch, and repeats negatives where a row has fewer than it takes. It cannot take
rows without any: they are dropped.
"""

from collections.abc import Sequence
from pathlib import Path

import orjson
import polars as pl

from pipelines.exporting.pairs import Tally, read_pairs
from pipelines.exporting.records import DATA, Choices, DataFile, ExportedSet
from pipelines.exporting.releases import TrainingSet

NO_NEGATIVE = "no negative"


def write_sets(sets: Sequence[TrainingSet], folder: Path, choices: Choices) -> list[ExportedSet]:
    """Write a file for each set that has a row with a negative."""
    return [_write_set(one, folder, choices) for one in sets]


def drop_without_negative(batch: pl.DataFrame, tally: Tally) -> pl.DataFrame:
    """The rows that have a negative; the others are counted."""
    kept = batch.filter(pl.col("negatives").list.len() > 0)
    if kept.height < batch.height:
        tally.dropped[NO_NEGATIVE] += batch.height - kept.height
    return kept


def _write_set(one: TrainingSet, folder: Path, choices: Choices) -> ExportedSet:
    path, tally = f"{DATA}/{one.name}.jsonl", Tally()
    (folder / DATA).mkdir(exist_ok=True)
    query = (pl.lit(one.query_prefix) + pl.col("query")).alias("query")
    document = pl.lit(one.document_prefix) + pl.element()
    with (folder / path).open("wb") as stream:
        for batch in read_pairs(one, choices.negatives, tally):
            rows = drop_without_negative(batch, tally)
            tally.count_written(rows, int(rows["positives"].list.len().sum()))
            tally.rows += rows.height
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
        return ExportedSet(one, tally, ())
    return ExportedSet(one, tally, (DataFile(path, one.name, tally.rows),))
