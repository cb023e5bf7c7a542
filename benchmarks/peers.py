"""Two searches of the audit beside libraries that do the same: python benchmarks/all.py duplicates statistics

The data are a retrieval dataset of generated texts, of 60 to 200 words, half of them Cyrillic. One document in 50 is the one
before it without its last word. There is a query of 8 words for every tenth document.

duplicates, the near-duplicates among the documents (90 % of the runs of three words):

- ours: pipelines.audit.copies.near_duplicates;
- datasketch: MinHash with 14 bands of 5 hashes as ours has, then the same comparison of candidates in plain Python. It knows
  neither short texts nor words in another order, and a candidate needs one band in common, where ours needs two.

statistics, mteb's descriptive statistics of the dataset:

- ours: pipelines.audit.statistics, with quantiles and languages, which mteb does not have;
- mteb: what its calculate_descriptive_statistics does with loaded data, which are read first.
"""

import json
import random
import sys
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.programs import Task

TABLES = ("corpus", "queries", "qrels")


def prepare(folder: Path, documents: int) -> None:
    """Write the tables."""
    import numpy as np

    from benchmarks.planted_leaks import make_texts

    texts, source = make_texts(np.random.default_rng(5), documents, 60, 200), random.Random(5)
    for row in range(49, documents, 50):
        texts[row] = texts[row - 1].rpartition(" ")[0]
    corpus = pl.DataFrame({"id": [f"d{row}" for row in range(documents)], "title": "", "text": texts})
    asked = range(0, documents, 10)
    queries = pl.DataFrame(
        {"id": [f"q{row}" for row in asked], "text": [" ".join(source.sample(texts[row].split(), 8)) for row in asked]}
    )
    pairs = {"query-id": queries["id"], "corpus-id": [f"d{row}" for row in asked], "score": 1}
    for name, table in zip(TABLES, (corpus, queries, pl.DataFrame(pairs)), strict=True):
        table.write_parquet(folder / f"{name}.parquet")


def near_duplicates(folder: Path) -> None:
    """Write the rows that are near-duplicates of an earlier one."""
    from pipelines.audit.copies.near_duplicates import find_near_duplicates

    frame = pl.scan_parquet(folder / "corpus.parquet")
    rows = frame.select(pl.len()).collect().item()
    zeros, compared = pl.repeat(0, rows, dtype=pl.UInt32, eager=True), pl.repeat(value=True, n=rows, eager=True)
    found = find_near_duplicates([frame], {"text": pl.col("text")}, zeros, compared)
    (folder / "ours.json").write_text(json.dumps(found["row"].to_list()))


def datasketch(folder: Path) -> None:
    """Write the rows that are near-duplicates of an earlier one, as datasketch proposes them."""
    from datasketch import MinHash, MinHashLSH

    from builders.shaping.folding import fold_text_1

    found, kept = [], list[set[bytes]]()
    index = MinHashLSH(num_perm=70, params=(14, 5))
    texts = pl.read_parquet(folder / "corpus.parquet", columns=["text"]).select(fold_text_1(pl.col("text")))
    for row, text in enumerate(texts.to_series()):
        words = text.split()
        shingles = {" ".join(words[start : start + 3]).encode() for start in range(len(words) - 2)}
        sketch = MinHash(num_perm=70)
        sketch.update_batch(shingles)
        earlier = (kept[other] for other in index.query(sketch))
        if any(len(shingles & other) >= 0.9 * len(shingles | other) for other in earlier):
            found.append(row)
        index.insert(row, sketch)
        kept.append(shingles)
    (folder / "datasketch.json").write_text(json.dumps(found))


def compare_duplicates(folder: Path) -> str:
    """Exit unless the documents that were shortened are found; say what datasketch finds."""
    ours = json.loads((folder / "ours.json").read_bytes())
    rows = pl.scan_parquet(folder / "corpus.parquet").select(pl.len()).collect().item()
    if not set(ours) >= set(range(49, rows, 50)):
        sys.exit("a near-duplicate that was planted is not found")
    theirs = folder / "datasketch.json"
    shared = (
        f"; {len(set(ours) & set(json.loads(theirs.read_bytes())))} of them by datasketch" if theirs.exists() else ""
    )
    return f"{len(ours)} near-duplicates{shared}"


def describe(folder: Path) -> None:
    """Write our statistics."""
    from builders import tasks
    from cards.statistics import to_json
    from pipelines.audit.statistics import describe_tables

    frames = {name: {"test": pl.scan_parquet(folder / f"{name}.parquet")} for name in TABLES}
    (folder / "ours.json").write_text(json.dumps(to_json(describe_tables(tasks.Retrieval(), frames))["test"]))


def mteb(folder: Path) -> None:
    """Write mteb's statistics."""
    import mteb as library
    import pyarrow.parquet as pq
    from datasets import Dataset
    from mteb.abstasks import AbsTaskRetrieval

    class Generated(AbsTaskRetrieval):
        metadata = library.TaskMetadata(
            name="Generated", description="", dataset={"path": "none/none", "revision": "0"}, type="Retrieval",
            category="t2t", modalities=["text"], eval_splits=["test"], eval_langs=["rus-Cyrl"], main_score="ndcg_at_10",
        )  # fmt: skip

    corpus, queries, qrels = (Dataset(pq.read_table(folder / f"{name}.parquet")) for name in TABLES)
    relevant: dict[str, dict[str, int]] = {}
    for row in qrels:
        relevant.setdefault(row["query-id"], {})[row["corpus-id"]] = row["score"]
    data: Any = {"corpus": corpus, "queries": queries, "relevant_docs": relevant, "top_ranked": None}
    task = Generated()
    task.dataset, task.data_loaded = {"default": {"test": data}}, True
    # Not calculate_descriptive_statistics itself, which writes its results into the folder of the library.
    statistics = task._calculate_descriptive_statistics_from_split("test", hf_subset="default")  # noqa: SLF001
    (folder / "mteb.json").write_text(json.dumps(statistics))


def compare_statistics(folder: Path) -> str:
    """Exit if a figure that both have differs by more than rounding."""
    if not (folder / "mteb.json").exists():
        return ""
    ours, theirs = (flatten(json.loads((folder / f"{name}.json").read_bytes())) for name in ("ours", "mteb"))
    shared = ours.keys() & theirs.keys()
    wrong = [key for key in shared if abs(ours[key] - theirs[key]) > 1e-9 * abs(theirs[key])]
    if wrong or not shared:
        sys.exit(f"other figures than mteb's: {', '.join(wrong) or 'all'}")
    return f"{len(shared)} figures are those of mteb"


def flatten(value: Any, name: str = "") -> dict[str, float]:
    """The numbers of nested dictionaries, by path."""
    if isinstance(value, dict):
        return {path: number for key, part in value.items() for path, number in flatten(part, f"{name}.{key}").items()}
    return {name: value} if isinstance(value, int | float) else {}


SIZES = ((20_000,), (200_000,))
TASKS = {
    "duplicates": Task(
        "documents", *SIZES, prepare, {"ours": near_duplicates, "datasketch": datasketch},
        peers={"datasketch": "datasketch"}, check=compare_duplicates,
    ),
    "statistics": Task(
        "documents", *SIZES, prepare, {"ours": describe, "mteb": mteb}, peers={"mteb": "mteb"}, check=compare_statistics
    ),
}  # fmt: skip
