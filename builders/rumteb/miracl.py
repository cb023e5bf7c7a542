"""MIRACL, its Russian part: questions, and the passages of Russian Wikipedia that answer them (Zhang et al., 2023)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from builders.batches import in_order
from builders.errors import RecipeError, SourceError
from builders.reading import json_batches, read_csv
from builders.shaping.bm25 import rank
from builders.shaping.dropping import drop
from builders.shaping.sampling import hash_order
from builders.spec import Prompts, RawFiles, Source, Tables, dataset, github, hub
from builders.tasks import Reranking, Retrieval

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from builders.spec import Dropped

JUDGED = "5b819c1a45c8a0a3ec9426f476694f44a29dfaf3"
CORPUS = "d921ec7e349ce0d28daf30b2da9da5ee698bef0d"
SHARDS = tuple(f"docs-{number}" for number in range(20))
PROMPTS = Prompts(
    "Given a question, retrieve Wikipedia passages that answer the question",
    rosberta=("search_query", "search_document"),
    e5=("query", "passage"),
)
PASSAGE = {"docid": pl.String(), "title": pl.String(), "text": pl.String()}
TOPIC = {"id": pl.String(), "text": pl.String()}
JUDGEMENT = {"query-id": pl.String(), "iteration": pl.String(), "corpus-id": pl.String(), "score": pl.Int64()}

SOURCE = Source(
    name="miracl",
    title="MIRACL, Russian",
    license="apache-2.0",
    license_note="MIRACL states this licence for its questions, judgements and passages. The text of the passages is that of "
    "Russian Wikipedia, which is under CC BY-SA 3.0.",
    homepage="https://project-miracl.github.io",
    citation="zhang2023miracl",
    annotations=("expert-generated",),
    files={
        "topics": github(
            "castorini/anserini-tools",
            JUDGED,
            "topics/topics.miracl-v1.0-ru-dev.tsv",
            sha256="91a7c3b6d21f79a12b5330f0a62811962f9370a0bf539cba8b3fecaa095f0616",
        ),
        "qrels": github(
            "castorini/anserini-tools",
            JUDGED,
            "qrels/qrels.miracl-v1.0-ru-dev.tsv",
            sha256="f877b43c7f53b76aab25e406e5a607ef1c5adba4ffaa11e1b252a4326735a19b",
        ),
        **{shard: hub("miracl/miracl-corpus", CORPUS, f"miracl-corpus-v1.0-ru/{shard}.jsonl.gz") for shard in SHARDS},
    },
)


@dataset(
    "miracl-retrieval-ru",
    group="rumteb",
    task=Retrieval(splits=("dev",)),
    languages=("rus-Cyrl",),
    needs=("topics", "qrels", *SHARDS),
    versions={"1.0.0": "The dev questions over the whole corpus, as MIRACL publishes them."},
    prompts=PROMPTS,
)
def retrieval(raw: RawFiles) -> Tables:
    """Find the passages of Russian Wikipedia that answer a question.

    corpus: id (MIRACL's docid, `<article>#<passage>`), title (the article's), text: all passages, in the order of the raw files;
    queries: id (MIRACL's), text: the dev questions with a relevant passage; qrels: query-id, corpus-id, score (Int64, 1): the
    relevant passages.
    """
    questions, judged, dropped = _judged(raw)
    passages = _stored(raw)
    _refuse_missing(judged, passages.select("id"), raw)
    frames: dict[str, pl.DataFrame | pl.LazyFrame] = {
        "corpus": passages.select("id", "title", "text"),
        "queries": questions,
        "qrels": judged.filter(pl.col("score") > 0),
    }
    return Tables({config: {"dev": frame} for config, frame in frames.items()}, dropped, _observed(judged, passages))


@dataset(
    "miracl-reranking-ru",
    group="rumteb",
    task=Reranking(splits=("dev",)),
    languages=("rus-Cyrl",),
    needs=("topics", "qrels", *SHARDS),
    versions={"1.0.0": "The dev questions, each with its judged passages and BM25's best of the others."},
    sample={"candidates": 4},
    prompts=PROMPTS,
)
def reranking(raw: RawFiles, *, candidates: int = 100) -> Tables:
    """Put the passages that answer a question before others that speak of the same things.

    The candidates of a question are its judged passages and, up to `candidates` in all, the best others by BM25 over the whole
    corpus (builders.shaping.bm25, a passage being its title, a space and its text). corpus: id (MIRACL's docid), title, text:
    every candidate once, in the order of the raw files; queries: id (MIRACL's), text: the dev questions with a relevant passage;
    qrels: query-id, corpus-id, score (Int64: 1 relevant, 0 judged not to be; those that BM25 added are not judged and not
    here); top_ranked: query-id, corpus-ids (List(String): all candidates, in hash order, so that no place tells which are
    relevant or judged).
    """
    questions, judged, dropped = _judged(raw)
    passages = _stored(raw)
    ranked = _ranked(questions, passages, candidates, raw.scratch)
    wanted = pl.col("id").is_in(judged["corpus-id"].implode()) | pl.col("passage").is_in(ranked["passage"].implode())
    found = _found(passages, wanted, raw.scratch / "found.parquet")
    _refuse_missing(judged, found.lazy().select("id"), raw)
    others = ranked.join(found.select("passage", pl.col("id").alias("corpus-id")), on="passage", maintain_order="left")
    listed = _listed(judged, others.select("query-id", "corpus-id"), candidates)
    _refuse_short(questions, listed, candidates)
    pairs = listed.select(pl.concat_str("query-id", "corpus-id", separator=" ")).to_series()
    in_order_of_hash = listed.with_columns(place=hash_order(pairs, "miracl-reranking-ru")).sort("place", "corpus-id")
    lists = in_order_of_hash.group_by("query-id").agg(pl.col("corpus-id").alias("corpus-ids"))
    frames = {
        "corpus": found.filter(pl.col("id").is_in(listed["corpus-id"].implode())).select("id", "title", "text"),
        "queries": questions,
        "qrels": judged,
        "top_ranked": questions.select(pl.col("id").alias("query-id")).join(
            lists, on="query-id", maintain_order="left"
        ),
    }
    observed = _observed(judged, passages) | {"candidates that BM25 added": listed.height - judged.height}
    return Tables({config: {"dev": frame} for config, frame in frames.items()}, dropped, observed)


def _judged(raw: RawFiles) -> tuple[pl.DataFrame, pl.DataFrame, tuple[Dropped, ...]]:
    """The questions with a relevant passage, their judgements in the order of the raw file, and what became of the others."""
    topics = read_csv(raw.whole("topics"), TOPIC, separator="\t", header=False, quotes=False)
    judgements = read_csv(raw.whole("qrels"), JUDGEMENT, separator="\t", header=False, quotes=False).drop("iteration")
    strangers = judgements.join(topics, left_on="query-id", right_on="id", how="anti", maintain_order="left")
    _refuse(strangers, raw, "a judgement of a question that does not exist")
    relevant = judgements.filter(pl.col("score") > 0)
    asked = topics.slice(0, raw["topics"].limit)
    unanswered = ~pl.col("id").is_in(relevant["query-id"].implode())
    questions, dropped = drop(asked, unanswered, "no passage is judged relevant", split="dev")
    kept = judgements.join(questions, left_on="query-id", right_on="id", how="semi", maintain_order="left")
    return questions, kept, dropped


def _stored(raw: RawFiles) -> pl.LazyFrame:
    """All passages, from files in `raw.scratch`: passage (their 0-based place in the corpus), id, title, text."""
    folder = raw.scratch / "passages"
    folder.mkdir()
    batches = (
        (folder / f"{shard:02d}-{first:09d}.arrow", parse)
        for shard, key in enumerate(SHARDS)
        for first, parse in json_batches(raw.whole(key), PASSAGE)
    )
    files = list(in_order(_store, batches))
    if not files:
        raise _empty(raw)
    stored = pl.scan_ipc(files, glob=False, row_index_name="passage")
    return stored.with_columns(pl.col("passage").cast(pl.Int64)).rename({"docid": "id"})


def _store(batch: tuple[Path, Callable[[], pl.DataFrame]]) -> Path:
    file, parse = batch
    parse().write_ipc(file, compression="lz4")
    return file


def _ranked(questions: pl.DataFrame, passages: pl.LazyFrame, depth: int, scratch: Path) -> pl.DataFrame:
    """The best passages of each question by BM25, from the best: query-id, passage."""
    folder = scratch / "bm25"
    folder.mkdir()
    texts = passages.select(pl.concat_str("title", "text", separator=" ").alias("text"))
    batches = texts.collect_batches(chunk_size=20_000, maintain_order=True, engine="streaming")
    best = rank(questions["text"], (batch["text"] for batch in batches), depth=depth, scratch=folder)
    return best.select(questions["id"].gather(best["query"]).alias("query-id"), "passage")


def _found(passages: pl.LazyFrame, wanted: pl.Expr, file: Path) -> pl.DataFrame:
    """The passages that meet a condition, in order, by way of a file."""
    # A row that polars has filtered keeps the texts of its whole batch in memory, as do rows that wait to be written.
    passages.filter(wanted).sink_parquet(file, row_group_size=2_000)
    return pl.read_parquet(file, glob=False)


def _listed(judged: pl.DataFrame, others: pl.DataFrame, candidates: int) -> pl.DataFrame:
    """The judged passages of each question, and the first of the others up to `candidates`: query-id, corpus-id."""
    pair = ["query-id", "corpus-id"]
    room = judged.group_by("query-id").agg(room=candidates - pl.len().cast(pl.Int64))
    unjudged = others.join(judged, on=pair, how="anti", maintain_order="left")
    place = pl.int_range(pl.len()).over("query-id")
    added = unjudged.join(room, on="query-id", maintain_order="left").filter(place < pl.col("room"))
    return pl.concat([judged.select(pair), added.select(pair)])


def _observed(judged: pl.DataFrame, passages: pl.LazyFrame) -> dict[str, int]:
    return {
        "passages in the raw files": passages.select(pl.len()).collect(engine="streaming").item(),
        "judgements": judged.height,
        "judgements of a relevant passage": judged.filter(pl.col("score") > 0).height,
    }


def _refuse_missing(judged: pl.DataFrame, passages: pl.LazyFrame, raw: RawFiles) -> None:
    known = passages.filter(pl.col("id").is_in(judged["corpus-id"].implode())).collect(engine="streaming")
    missing = judged.join(known, left_on="corpus-id", right_on="id", how="anti", maintain_order="left")
    _refuse(missing, raw, "a judged passage that is not in the corpus")


def _refuse(wrong: pl.DataFrame, raw: RawFiles, what: str) -> None:
    if wrong.height:
        question, passage = wrong.select("query-id", "corpus-id").row(0)
        raise SourceError(
            what,
            where=raw["qrels"].name,
            found=f"question {question}, passage {passage} ({wrong.height:,} such judgements in all)",
            expected="questions of the topics, passages of the corpus",
            todo="see that all files are there whole, and of one version of MIRACL",
        )


def _refuse_short(questions: pl.DataFrame, listed: pl.DataFrame, candidates: int) -> None:
    counts = questions.join(listed.group_by("query-id").len(), left_on="id", right_on="query-id", maintain_order="left")
    short = counts.filter(pl.col("len") < candidates)
    if short.height:
        raise RecipeError(
            "too few candidates",
            where=f"question {short['id'][0]}",
            found=f"{short['len'][0]}: no other passage shares a word with it ({short.height:,} such questions in all)",
            expected=f"{candidates} or more",
            todo="check that the raw files are complete; a smaller build needs fewer candidates in the recipe's options",
        )


def _empty(raw: RawFiles) -> SourceError:
    return SourceError(
        "the corpus is empty",
        where=f"{raw[SHARDS[0]].name} to {raw[SHARDS[-1]].name}",
        found="no passage",
        expected="passages, one JSON object a line",
        todo="fetch the files again",
    )
