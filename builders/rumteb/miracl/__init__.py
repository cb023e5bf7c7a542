"""MIRACL, its Russian part: questions, and the passages of Russian Wikipedia that answer them (Zhang et al., 2023)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from builders.batches import map_in_order
from builders.checkpoints import run_once
from builders.errors import RecipeError, SourceError
from builders.reading import json_batches, read_csv
from builders.rumteb.miracl.bm25 import count, rank
from builders.shaping.rows import drop
from builders.shaping.sampling import hash_order
from builders.spec import Prompts, Raw, RawFiles, Source, Tables, Version, dataset, github, hub
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
TWIN = {"passage": pl.Int64(), "id": pl.String(), "first": pl.String()}

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
    benchmark="rumteb",
    task=Retrieval(splits=("dev",)),
    needs=("topics", "qrels", *SHARDS),
    versions={
        "1.0.0": "The dev questions over the whole corpus, as MIRACL publishes them.",
        "2.0.0": Version(
            "Every passage once: of those with the same title and text the first stays, and takes over the judgements of the"
            " others.",
            {"clean": True},
        ),
    },
    prompts=PROMPTS,
    checkpoints=True,
    subset="ru",
)
def retrieval(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Find the passages of Russian Wikipedia that answer a question.

    corpus: id (MIRACL's docid, `<article>#<passage>`), title (the article's), text: all passages, in the order of the raw files,
    or, if `clean`, the first of each title and text; queries: id (MIRACL's), text: the dev questions with a relevant passage;
    qrels: query-id, corpus-id, score (Int64, 1): the relevant passages.
    """
    questions, judged, dropped = _judged(raw)
    shards = _stored(raw)
    passages = pl.concat(shards)
    observed = _observed(judged, passages)
    if clean:
        twins = _twins(passages, raw.scratch / "twins.parquet")
        passages = passages.filter(~_is_in(twins))
        judged, moved, more = _moved(judged, twins)
        dropped, observed = dropped + more, observed | moved
    _refuse_missing(judged, passages.select("id"), raw)
    frames: dict[str, pl.DataFrame | pl.LazyFrame] = {
        "corpus": passages.select("id", "title", "text"),
        "queries": questions,
        "qrels": judged.filter(pl.col("score") > 0),
    }
    return Tables({config: {"dev": frame} for config, frame in frames.items()}, dropped, observed)


@dataset(
    "miracl-reranking-ru",
    benchmark="rumteb",
    task=Reranking(splits=("dev",)),
    needs=("topics", "qrels", *SHARDS),
    versions={
        "1.0.0": "The dev questions, each with its judged passages and BM25's best of the others.",
        "2.0.0": Version(
            "No list has the same title and text twice: of such passages of the corpus the first stays, and takes over the"
            " judgements of the others.",
            {"clean": True},
        ),
    },
    sample={"candidates": 4},
    prompts=PROMPTS,
    checkpoints=True,
    subset="ru",
)
def reranking(raw: RawFiles, *, candidates: int = 100, clean: bool = False) -> Tables:
    """Put the passages that answer a question before others that speak of the same things.

    The candidates of a question are its judged passages and, up to `candidates` in all, the best others by BM25 over the whole
    corpus (bm25.py, beside this file; a passage is its title, a space and its text); if `clean`, without the passages that have
    the title and text of an earlier one. corpus: id (MIRACL's docid), title, text: every candidate once, in the order of the raw
    files; queries: id (MIRACL's), text: the dev questions with a relevant passage; qrels: query-id, corpus-id, score (Int64: 1
    relevant, 0 judged not to be; those that BM25 added are not judged and not here); top_ranked: query-id, corpus-ids
    (List(String): all candidates, in hash order, so that no place tells which are relevant or judged).
    """
    questions, judged, dropped = _judged(raw)
    shards = _stored(raw)
    passages = pl.concat(shards)
    observed, twins = _observed(judged, passages), pl.DataFrame(schema=TWIN)
    if clean:
        twins = _twins(passages, raw.scratch / "twins.parquet")
        judged, moved, more = _moved(judged, twins)
        dropped, observed = dropped + more, observed | moved
    ranked = _ranked(questions, shards, twins, candidates, raw)
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
    observed["candidates that BM25 added"] = listed.height - judged.height
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


def _stored(raw: RawFiles) -> list[pl.LazyFrame]:
    """The passages of each shard that has any, in files: passage (their 0-based place in the corpus), id, title, text."""
    shards: list[pl.LazyFrame] = []
    start = 0
    for number, key in enumerate(SHARDS):
        folder = run_once(_kept(raw, f"passages-{number:02d}"), partial(_store, raw.whole(key)))
        if files := sorted(folder.iterdir()):
            stored = pl.scan_ipc(files, glob=False, row_index_name="passage", row_index_offset=start)
            shards.append(stored.with_columns(pl.col("passage").cast(pl.Int64)).rename({"docid": "id"}))
            start += shards[-1].select(pl.len()).collect().item()
    if not shards:
        raise _empty(raw)
    return shards


def _kept(raw: RawFiles, name: str) -> Path:
    """A place for what a killed build leaves to the next one, or, where nothing is kept, for this build alone."""
    return (raw.checkpoints or raw.scratch) / name


def _store(raw: Raw, folder: Path) -> None:
    batches = ((folder / f"{first:09d}.arrow", parse) for first, parse in json_batches(raw, PASSAGE))
    for _ in map_in_order(_store_batch, batches):
        pass


def _store_batch(batch: tuple[Path, Callable[[], pl.DataFrame]]) -> None:
    file, parse = batch
    parse().write_ipc(file, compression="lz4")


def _twins(passages: pl.LazyFrame, file: Path) -> pl.DataFrame:
    """The passages whose title and text an earlier one has (TWIN): `first` is the id of the first that has them."""
    # Eight bytes a passage tell which ones may have a twin; only their texts are compared.
    number = pl.struct("title", "text").hash()
    numbers = passages.select(number).collect(engine="streaming").to_series().sort()
    twice = numbers.filter(numbers == numbers.shift()).unique()
    alike = _found(passages, number.is_in(twice.implode()), file)
    text = pl.struct("title", "text")
    firsts = alike.with_columns(first=pl.col("id").first().over(text))
    return firsts.filter(~text.is_first_distinct()).select(pl.col(name).cast(dtype) for name, dtype in TWIN.items())


def _is_in(twins: pl.DataFrame) -> pl.Expr:
    return pl.col("passage").is_in(twins["passage"].implode())


def _moved(judged: pl.DataFrame, twins: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, int], tuple[Dropped, ...]]:
    """The judgements, with those of a twin given to the first of its passages; how many these are; and what is left out."""
    firsts = twins.select("first", **{"corpus-id": "id"})
    found = judged.join(firsts, on="corpus-id", how="left", maintain_order="left")
    moved = found.with_columns(pl.coalesce("first", "corpus-id").alias("corpus-id")).drop("first")
    pair = ["query-id", "corpus-id"]
    best = moved.with_columns(pl.col("score").max().over(pair))  # what was found relevant once is relevant
    again = ~pl.struct(pair).is_first_distinct()
    reason = "the passage is equal to another one that is judged for the question"
    kept, merged = drop(best, again, reason, split="dev", key="query-id")
    _, gone = drop(
        twins, pl.lit(value=True), "the passage is equal to an earlier one, into which it was merged", split="dev"
    )
    return kept, {"judgements given to an equal passage": found["first"].count()}, gone + merged


def _ranked(
    questions: pl.DataFrame, shards: list[pl.LazyFrame], twins: pl.DataFrame, depth: int, raw: RawFiles
) -> pl.DataFrame:
    """The best passages of each question by BM25, from the best: query-id, passage. Twins are no passages."""
    text = pl.when(~_is_in(twins)).then(pl.concat_str("title", "text", separator=" ")).alias("text")
    counted = [
        run_once(_kept(raw, f"words-{number:02d}"), partial(_count, questions["text"], shard.select(text)))
        for number, shard in enumerate(shards)
    ]
    best = rank(questions["text"], counted, depth=depth)
    return best.select(questions["id"].gather(best["query"]).alias("query-id"), "passage")


def _count(questions: pl.Series, texts: pl.LazyFrame, folder: Path) -> None:
    batches = texts.collect_batches(chunk_size=20_000, maintain_order=True, engine="streaming")
    count(questions, (batch["text"] for batch in batches), folder)


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
