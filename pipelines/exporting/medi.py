"""The format of MEDI and INSTRUCTOR: one JSON array of `{"query", "pos", "neg", "task_name", "task_id"}`, one negative a row.

A text is a pair of instruction and text. The rows of a task follow each other: a batch is a run of rows, and a run with rows of
two tasks is skipped. INSTRUCTOR's train.py reads the task from `task_name` in some versions and from `task_id` in others. It
refuses an instruction that does not begin with "Represent ", unless it is empty, and removes the space behind one. So the prefix
is in the text unless the caller chooses otherwise.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from pipelines.exporting.flagembedding import drop_without_negative
from pipelines.exporting.pairs import Tally, read_pairs
from pipelines.exporting.records import DATA, Choices, DataFile, ExportedSet
from pipelines.exporting.releases import TrainingSet

PATH = f"{DATA}/medi-data.json"  # the name that train.py looks for


def write_sets(sets: Sequence[TrainingSet], folder: Path, choices: Choices) -> list[ExportedSet]:
    """Write all sets into one file; it is JSON if there is a row."""
    (folder / DATA).mkdir()
    written = []
    with (folder / PATH).open("wb") as stream:
        separator = b"[\n"
        for number, one in enumerate(sets):
            tally = Tally()
            for row in _rows(one, number, choices, tally):
                stream.write(separator + orjson.dumps(row))
                separator = b",\n"
            files = (DataFile(PATH, one.name, tally.rows),) if tally.rows else ()
            written.append(ExportedSet(one, tally, files))
        stream.write(b"\n]\n")
    return written


def _rows(one: TrainingSet, number: int, choices: Choices, tally: Tally) -> Iterator[dict[str, Any]]:
    as_instruction = choices.prefixes == "instruction"

    def pair(prefix: str, text: str) -> list[str]:
        return [prefix, text] if as_instruction else ["", prefix + text]

    for batch in read_pairs(one, choices.negatives, tally):
        rows = drop_without_negative(batch, tally)
        first = choices.positives == "first"
        positive = pl.col("positives").list.first() if first else pl.col("positives")
        pairs = rows.select("query", positive=positive, negative=pl.col("negatives").list.first())
        if not first:
            pairs = pairs.explode("positive")
        tally.count_written(rows, pairs.height)
        tally.rows += pairs.height
        for query, document, negative in pairs.iter_rows():
            yield {
                "query": pair(one.query_prefix, query),
                "pos": pair(one.document_prefix, document),
                "neg": pair(one.document_prefix, negative),
                "task_name": one.name,
                "task_id": number,
            }
