"""Numbers that represent texts: hashes under a seed that gives no two different texts of a dataset the same number.

With such a seed, comparing numbers is comparing texts exactly, in 8 bytes a text. The numbers differ between versions of
polars: compare them, never store them.
"""

import itertools
from collections.abc import Sequence

import polars as pl

from builders import tasks
from pipelines.audit.tables import Frames, text_columns
from pipelines.stages import stage

HASHES_PER_PASS = 50_000  # repeated hashes whose texts are compared in one pass; bounds the memory


def hash_seed(task: tasks.Task, frames: Frames) -> int:
    """The `collision_free_seed` of all texts of a dataset, as models receive them."""
    return collision_free_seed(list(text_columns(task, frames).values()))


def collision_free_seed(texts: Sequence[pl.LazyFrame]) -> int:
    """The first seed with which polars' `hash` gives different texts different numbers.

    texts: frames of one string column, `text`. Memory: one number for each text, and the texts of HASHES_PER_PASS repeated
    numbers.
    """
    combined = pl.concat(texts) if texts else pl.LazyFrame({"text": []}, {"text": pl.String})
    with stage("hashing texts"):
        return next(seed for seed in itertools.count() if _is_collision_free(combined, seed))


def _is_collision_free(texts: pl.LazyFrame, seed: int) -> bool:
    """Whether all texts with the same number are equal."""
    hashed = texts.with_columns(hash=pl.col("text").hash(seed))
    hashes = hashed.select("hash").collect(engine="streaming")["hash"]
    repeated = hashes.filter(hashes.is_duplicated()).unique()
    for part in repeated.to_frame().iter_slices(HASHES_PER_PASS):
        groups = hashed.filter(pl.col("hash").is_in(part["hash"].implode())).group_by("hash")
        extremes = groups.agg(pl.col("text").min().alias("first"), pl.col("text").max().alias("last"))
        if not extremes.filter(pl.col("first") != pl.col("last")).collect(engine="streaming").is_empty():
            return False
    return True
