"""The candidates of MIRACL's questions: their judged passages, and the best others by BM25."""

from functools import partial
from pathlib import Path

import polars as pl

from builders.batches import log_taken_over, run_once
from builders.ranking.bm25 import count, rank
from builders.rumteb.miracl.passages import is_duplicate
from builders.shaping.sampling import too_few
from builders.spec import RawFiles


def rank_passages(
    questions: pl.DataFrame, shards: list[pl.LazyFrame], duplicates: pl.DataFrame, depth: int, raw: RawFiles
) -> pl.DataFrame:
    """The `depth` best passages of each question by BM25, from the best: query-id, passage (Int64). Duplicates are left out.

    Term counts of every shard are a checkpoint.
    """
    text = pl.when(~is_duplicate(duplicates)).then(pl.concat_str("title", "text", separator=" ")).alias("text")
    folders = [raw.resumable / f"words-{number:02d}" for number in range(len(shards))]
    log_taken_over("shards of term counts", folders)
    counted = [
        run_once(folder, partial(_count, questions["text"], shard.select(text)))
        for folder, shard in zip(folders, shards, strict=True)
    ]
    best = rank(questions["text"], counted, depth=depth)
    return best.select(questions["id"].gather(best["query"]).alias("query-id"), "passage")


def _count(questions: pl.Series, texts: pl.LazyFrame, folder: Path) -> None:
    batches = texts.collect_batches(chunk_size=20_000, maintain_order=True, engine="streaming")
    count(questions, (batch["text"] for batch in batches), folder)


def choose_candidates(judgements: pl.DataFrame, ranked: pl.DataFrame, size: int) -> pl.DataFrame:
    """The judged passages of each question, filled up to `size` with the best others: query-id, corpus-id.

    ranked: query-id, corpus-id, from the best passage of each question; judged passages are skipped.

    Raises RecipeError for a question with fewer candidates.
    """
    pair = ["query-id", "corpus-id"]
    missing = judgements.group_by("query-id").agg(missing=size - pl.len().cast(pl.Int64))
    others = ranked.join(judgements, on=pair, how="anti", maintain_order="left")
    rank = pl.int_range(pl.len()).over("query-id")
    added = others.join(missing, on="query-id", maintain_order="left").filter(rank < pl.col("missing"))
    candidates = pl.concat([judgements.select(pair), added.select(pair)])
    counts = candidates.group_by("query-id", maintain_order=True).len().filter(pl.col("len") < size)
    for question, length in counts.head(1).iter_rows():
        raise too_few(
            "candidates",
            f"{length}: no other passage shares a word with it ({counts.height:,} such questions in all)",
            f"{size}",
            where=f"question {question}",
        )
    return candidates
