"""The pairs in the source's files, and their distinct sentences."""

from collections.abc import Iterable

import polars as pl

from builders.reading import read_csv
from builders.spec import Raw


def read_pairs(raw: Raw, split: str) -> pl.DataFrame:
    """The pairs of one file: id, sentence1, sentence2, score."""
    columns = {"sentence1": pl.String(), "sentence2": pl.String(), "score": pl.Float64()}
    rows = read_csv(raw, columns, header=False)
    number = pl.int_range(1, pl.len() + 1).cast(pl.String)
    return rows.select((f"{split}-" + number).alias("id"), *columns)


def distinct_sentences(files: Iterable[Raw]) -> list[str]:
    """All distinct sentences, in the order of the files: the input of the classifier."""
    tables = [read_pairs(raw, "") for raw in files]
    each = [table.select(pl.concat_list("sentence1", "sentence2").explode()) for table in tables]
    return pl.concat(each).to_series().unique(maintain_order=True).to_list()
