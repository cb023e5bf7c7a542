"""Read a bitext in the format of Moses: two texts, where line n of one is the translation of line n of the other."""

from collections.abc import Iterator
from itertools import islice, zip_longest

import polars as pl

from builders.reading.errors import malformed
from builders.reading.lines import iterate_lines
from builders.spec import Raw

BATCH = 50_000  # lines of a frame


def moses_batches(first: Raw, second: Raw) -> Iterator[pl.DataFrame]:
    r"""Yield frames of the pairs of lines: number (Int64: the line, from 0), first, second (String, perhaps empty).

    Only "\n" and "\r\n" end a line. `limit` of the first file counts pairs.

    Raises SourceError for text that is not UTF-8, and where one file has more lines than the other.
    """
    pairs = islice(zip_longest(iterate_lines(first), iterate_lines(second)), first.limit)
    start = 0
    while batch := list(islice(pairs, BATCH)):
        for shorter, longer, side in ((first, second, 0), (second, first, 1)):
            if batch[-1][side] is None:
                lines = start + next(number for number, pair in enumerate(batch) if pair[side] is None)
                what, found = "the two files of the bitext have different numbers of lines", f"{lines:,} lines"
                raise malformed(shorter, "", what, found=found, expected=f"as many lines as {longer.name}")
        numbers = pl.int_range(start, start + len(batch), dtype=pl.Int64, eager=True).alias("number")
        yield pl.DataFrame(batch, {"first": pl.String, "second": pl.String}, orient="row").insert_column(0, numbers)
        start += len(batch)
