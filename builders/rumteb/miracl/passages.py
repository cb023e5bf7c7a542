"""MIRACL's passages: read from the shards into checkpoints, and compared without holding all texts in memory."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl

from builders.batches import log_taken_over, map_in_order, run_once
from builders.errors import SourceError
from builders.reading.json import json_batches
from builders.spec import Raw, RawFiles

SHARDS = tuple(f"docs-{number}" for number in range(20))
PASSAGE = {"docid": pl.String(), "title": pl.String(), "text": pl.String()}
DUPLICATE = {"passage": pl.Int64(), "id": pl.String(), "first": pl.String()}


def read_passages(raw: RawFiles) -> list[pl.LazyFrame]:
    """The passages of each shard that has any: passage (Int64: the position in the corpus, from 0), id, title, text.

    Every shard is parsed once, into files of a checkpoint.

    Raises SourceError if no shard has a passage.
    """
    shards: list[pl.LazyFrame] = []
    start = 0
    folders = [raw.resumable / f"passages-{number:02d}" for number in range(len(SHARDS))]
    log_taken_over("shards of passages", folders)
    for key, folder in zip(SHARDS, folders, strict=True):
        run_once(folder, partial(_store_shard, raw.whole(key)))
        if files := sorted(folder.iterdir()):
            stored = pl.scan_ipc(files, glob=False, row_index_name="passage", row_index_offset=start)
            shards.append(stored.with_columns(pl.col("passage").cast(pl.Int64)).rename({"docid": "id"}))
            start += shards[-1].select(pl.len()).collect().item()
    if not shards:
        raise SourceError(
            "the corpus is empty",
            where=f"{raw[SHARDS[0]].name} to {raw[SHARDS[-1]].name}",
            found="no passages",
            expected="one passage per line, as a JSON object",
            todo="fetch the files again",
        )
    return shards


def _store_shard(raw: Raw, folder: Path) -> None:
    batches = ((folder / f"{first:09d}.arrow", parse) for first, parse in json_batches(raw, PASSAGE))
    for _ in map_in_order(_store_batch, batches):
        pass


def _store_batch(batch: tuple[Path, Callable[[], pl.DataFrame]]) -> None:
    file, parse = batch
    parse().write_ipc(file, compression="lz4")


def collect_passages(passages: pl.LazyFrame, where: pl.Expr, file: Path) -> pl.DataFrame:
    """The passages that meet a condition, in order, by way of a temporary file.

    Collected directly, each filtered row would keep the texts of its whole batch in memory, and so would rows waiting to be
    written in one large row group.
    """
    passages.filter(where).sink_parquet(file, row_group_size=2_000)
    return pl.read_parquet(file, glob=False)


def find_duplicates(passages: pl.LazyFrame, file: Path) -> pl.DataFrame:
    """The passages that have the title and text of an earlier one (DUPLICATE); `first` is the id of the earliest.

    Hashes of 8 bytes per passage preselect the candidates; only the texts of these are compared, by way of a temporary file.
    """
    number = pl.struct("title", "text").hash()
    numbers = passages.select(number).collect(engine="streaming").to_series().sort()
    repeated = numbers.filter(numbers == numbers.shift()).unique()
    candidates = collect_passages(passages, number.is_in(repeated.implode()), file)
    text = pl.struct("title", "text")
    firsts = candidates.with_columns(first=pl.col("id").first().over(text))
    return firsts.filter(~text.is_first_distinct()).select(
        pl.col(name).cast(dtype) for name, dtype in DUPLICATE.items()
    )


def is_duplicate(duplicates: pl.DataFrame) -> pl.Expr:
    """Whether a passage is one of these (DUPLICATE)."""
    return pl.col("passage").is_in(duplicates["passage"].implode())
