"""Scans a corpus: what an index finds in each partition, as work for an engine, and all results in order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import polars as pl

from builders.batches import map_in_order
from pipelines.corpus_scan.checkpoints import read_results
from pipelines.corpus_scan.lookup import Lookup, load_lookup
from pipelines.corpus_scan.matching import MATCH_SCHEMA, THRESHOLD, find_matches
from pipelines.corpus_scan.partitions import Partition, read_partition
from pipelines.corpus_scan.stored_texts import StoredTexts, open_texts

SHORT_SCHEMA = pl.Schema({"group": pl.Int64, "rows": pl.Int64})


@dataclass(frozen=True)
class PartitionMatches:
    """What was found in a partition; matches, short, rows and texts as in BatchMatches, over all of its batches."""

    matches: pl.DataFrame
    short: pl.DataFrame
    rows: int
    texts: int


def scan_partition(
    partition: Partition,
    *,
    index: Path,
    texts: Path | None = None,
    threshold: float = THRESHOLD,
    threads: int | None = None,
) -> pl.DataFrame:
    """What an index finds in a partition, as a frame of one row for `read_scan`; an engine runs it through `functools.partial`.

    index: its file, which a process reads once. texts: the file of the texts at hand, which `write_texts` writes. threads: on
    which the batches are searched, by default as many as polars has.

    Raises SourceError for a corpus or an index that cannot be read.
    """
    lookup, source = load_scan(index, texts)
    find = partial(find_matches, lookup, source=source, threshold=threshold)
    found = list(map_in_order(find, read_partition(partition), threads=threads or pl.thread_pool_size()))
    matches = pl.concat([pl.DataFrame(schema=MATCH_SCHEMA), *(one.matches for one in found)])
    short = pl.concat([pl.DataFrame(schema=SHORT_SCHEMA), *(one.short.cast(SHORT_SCHEMA) for one in found)])
    short = short.group_by("group").agg(pl.col("rows").sum()).sort("group").cast(SHORT_SCHEMA)
    return pl.DataFrame(
        {
            "matches": matches.to_struct().implode(),
            "short": short.to_struct().implode(),
            "rows": [sum(one.rows for one in found)],
            "texts": [sum(one.texts for one in found)],
        }
    )


def read_scan(folder: Path, partitions: Sequence[Partition]) -> Iterator[PartitionMatches]:
    """What was found in each partition, in the order of the corpus. folder: the checkpoints of the scan."""
    for result in read_results(folder, partitions):
        matches, short = (pl.DataFrame(result[name][0].struct.unnest()) for name in ("matches", "short"))
        yield PartitionMatches(matches, short, *result.select("rows", "texts").row(0))


@lru_cache(maxsize=1)
def load_scan(index: Path, texts: Path | None) -> tuple[Lookup, StoredTexts | None]:
    """An index, ready for a search, and its texts at hand: once in a process."""
    lookup = load_lookup(index)
    return lookup, None if texts is None else open_texts(lookup.index, texts)
