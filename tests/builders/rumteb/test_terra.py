"""TERRa: the real file has the published pairs."""

from collections.abc import Callable
from typing import Any

import polars as pl

from pipelines.make import BuildResult
from tests.support.real_releases import read_table


def text_lengths(texts: pl.Series) -> tuple[int, int, int]:
    """The minimum, mean (rounded) and maximum number of characters."""
    lengths: Any = texts.str.len_chars()
    return lengths.min(), round(lengths.mean()), lengths.max()


def test_the_real_file_has_the_published_pairs(complete_release: Callable[[str], BuildResult]) -> None:
    rows = read_table(complete_release("terra-pairclassification"), split="dev")
    assert rows.height == 307
    assert rows["labels"].value_counts(sort=True)["count"].to_list() == [154, 153]
    assert rows["sentence1"].n_unique() == 282
    assert text_lengths(rows["sentence1"]) == (39, 231, 717)
    assert text_lengths(rows["sentence2"]) == (12, 46, 129)
