"""MIRACL, its Russian part: questions, and the passages of Russian Wikipedia that answer them (Zhang et al., 2023)."""

from dataclasses import replace

import polars as pl

from builders.published import id_and_title, published_files
from builders.ranking.hard_negatives import (
    CITATIONS,
    DEPTH,
    OWN_POOLS,
    QUERIES,
    VERSIONS,
    pool_hard_negatives,
    ranked_files,
    ranking_of,
)
from builders.ranking.mined_negatives import mining, training_files, training_versions, with_mined
from builders.raw_files import github, hub
from builders.rumteb.miracl.candidates import choose_candidates, rank_passages
from builders.rumteb.miracl.judgements import merge_duplicates, read_judgements, refuse_missing_passages
from builders.rumteb.miracl.passages import (
    DUPLICATE,
    SHARDS,
    collect_passages,
    find_duplicates,
    is_duplicate,
    read_passages,
)
from builders.rumteb.miracl.titles import ARTICLES, CONFIG, texts_to_measure, title_pairs
from builders.shaping.benchmark_index import read_benchmark_index
from builders.shaping.measurements import LIMIT, measure_tokens, read_tokens
from builders.shaping.popularity import TIMES, sample_pool, select_pool
from builders.shaping.sampling import list_candidates
from builders.spec import RawFiles, Source, Tables, Version, dataset
from builders.tasks import Contrastive, Reranking, Retrieval

JUDGED = "5b819c1a45c8a0a3ec9426f476694f44a29dfaf3"
CORPUS = "d921ec7e349ce0d28daf30b2da9da5ee698bef0d"
RANKED_DATASET = ("miracl-retrieval-ru", "2.0.0")

SOURCE = Source(
    name="miracl",
    title="MIRACL, Russian",
    license="apache-2.0",
    license_note="MIRACL states this licence for its questions, judgements and passages. The text of the passages is from "
    "Russian Wikipedia, which is licensed under CC BY-SA 3.0.",
    homepage="https://project-miracl.github.io",
    citation="zhang2023miracl",
    annotations=("expert-generated",),
    files={
        "topics": github(
            "castorini/anserini-tools",
            JUDGED,
            "topics/topics.miracl-v1.0-ru-dev.tsv",
            sha256="91a7c3b6d21f79a12b5330f0a62811962f9370a0bf539cba8b3fecaa095f0616",
            bytes=108_525,
        ),
        "qrels": github(
            "castorini/anserini-tools",
            JUDGED,
            "qrels/qrels.miracl-v1.0-ru-dev.tsv",
            sha256="f877b43c7f53b76aab25e406e5a607ef1c5adba4ffaa11e1b252a4326735a19b",
            bytes=255_921,
        ),
        **{
            shard: hub("miracl/miracl-corpus", CORPUS, f"miracl-corpus-v1.0-ru/{shard}.jsonl.gz", about=80_000_000)
            for shard in SHARDS
        },
        **training_files("miracl", (CONFIG,)),
        **ranked_files("miracl-retrieval-hard-negatives-ru", *RANKED_DATASET),
        **published_files("miracl-retrieval-hard-negatives-ru"),
    },
    measurements=(measure_tokens(SHARDS, texts_to_measure),),
)


@dataset(
    "miracl-retrieval-ru",
    pretty_name="MIRACL retrieval (Russian)",
    task_ids=("document-retrieval",),
    benchmark="rumteb",
    task=Retrieval(splits=("dev",)),
    needs=("topics", "qrels", *SHARDS),
    versions={
        "1.0.0": "The dev questions over the whole corpus, as published by MIRACL.",
        "2.0.0": Version(
            "Every passage once: of passages with the same title and text, the first is kept, with the judgements of all.",
            {"clean": True},
        ),
    },
    checkpoints=True,
    subset="ru",
)
def retrieval(raw: RawFiles, *, clean: bool = False) -> Tables:
    """Find the passages of Russian Wikipedia that answer a question.

    corpus: id (MIRACL's docid, `<article>#<passage>`), title (the article's), text: all passages, in the order of the raw files;
    with `clean`, the first of each title and text; queries: id (MIRACL's), text: the dev questions with a relevant passage;
    qrels: query-id, corpus-id, score (Int64, 1): the relevant passages.
    """
    tables = _whole_corpus(raw, clean=clean)
    relevant = tables.frames["qrels"]["dev"].filter(pl.col("score") > 0)
    return replace(tables, frames={**tables.frames, "qrels": {"dev": relevant}})


def _whole_corpus(raw: RawFiles, *, clean: bool) -> Tables:
    """The tables of `retrieval`, but all judgements: score 1 relevant, 0 judged not relevant."""
    questions, judgements, dropped = read_judgements(raw)
    passages = pl.concat(read_passages(raw))
    observed = _counts(judgements, passages)
    if clean:
        duplicates = find_duplicates(passages, raw.scratch / "duplicates.parquet")
        passages = passages.filter(~is_duplicate(duplicates))
        judgements, merged, counts = merge_duplicates(judgements, duplicates)
        dropped, observed = dropped + merged, observed | counts
    refuse_missing_passages(judgements, passages, raw)
    frames: dict[str, pl.DataFrame | pl.LazyFrame] = {
        "corpus": passages.select("id", "title", "text"),
        "queries": questions,
        "qrels": judgements,
    }
    return Tables({config: {"dev": frame} for config, frame in frames.items()}, dropped, observed)


def read_records(raw: RawFiles) -> dict[str, pl.LazyFrame]:
    """All passages, the questions with a relevant one, and their judgements, with the ids that mteb's copy has too."""
    tables = {config: splits["dev"].lazy() for config, splits in _whole_corpus(raw, clean=False).frames.items()}
    passages = tables["corpus"].with_columns(id_and_title(["title"]))
    return {"corpus": passages, "queries": tables["queries"].with_columns(id_and_title([])), "qrels": tables["qrels"]}


@dataset(
    "miracl-retrieval-hard-negatives-ru",
    pretty_name="MIRACL retrieval, hard negatives (Russian)",
    task_ids=("document-retrieval",),
    benchmark="mteb-rus-v1.1",
    task=Retrieval(splits=("dev",)),
    needs=("topics", "qrels", *SHARDS),
    versions=VERSIONS,
    prompts=retrieval.prompts,
    citation=CITATIONS,
    mining=ranking_of(*RANKED_DATASET),
    sample={"queries": 4, "depth": 3},
    checkpoints=True,
    subset="ru",
    own_rows=OWN_POOLS,
    published=read_records,
)
def hard_negatives(raw: RawFiles, *, queries: int = QUERIES, depth: int = DEPTH, union: bool = False) -> Tables:
    """Find the passages of Russian Wikipedia that answer a question, among those that rankings find for any question.

    The corpus is that of version 2.0.0 of miracl-retrieval-ru, and `queries` of its questions are drawn in hash order. The pool
    of a question has `depth` passages: the judged ones, and those that BM25 and two models rank first, in turn; with `union`,
    the judged ones and the first `depth` of each ranking (builders.ranking.hard_negatives). corpus: id (MIRACL's docid), title
    (the article's), text: the passages of all pools, in the order of the raw files; queries: id (MIRACL's), text: dev questions
    with a relevant passage, in hash order; qrels: query-id, corpus-id, score (Int64: 1 relevant, 0 judged not relevant).
    """
    seed = "miracl-retrieval-hard-negatives-ru"
    whole = _whole_corpus(raw, clean=True)
    return pool_hard_negatives(whole, raw, "dev", seed=seed, queries=queries, depth=depth, union=union)


@dataset(
    "miracl-reranking-ru",
    pretty_name="MIRACL reranking (Russian)",
    benchmark="rumteb",
    task=Reranking(splits=("dev",)),
    needs=("topics", "qrels", *SHARDS),
    versions={
        "1.0.0": "The dev questions with lists made here, not MTEB's: the judged passages and the best others by BM25.",
        "2.0.0": Version(
            "No list contains the same title and text twice: of such passages in the corpus, the first is kept, with the"
            " judgements of all.",
            {"clean": True},
        ),
    },
    sample={"candidates": 4},
    checkpoints=True,
    subset="ru",
    own_rows="the lists of candidates are made here",
)
def reranking(raw: RawFiles, *, candidates: int = 100, clean: bool = False) -> Tables:
    """Rank the passages that answer a question above others on the same subject.

    The candidates of a question are its judged passages and, up to `candidates` in total, the best other passages of the corpus
    by BM25 (builders.ranking.bm25; a passage is its title, a space and its text). `clean` leaves out passages with the
    title and text of an earlier one. corpus: id (MIRACL's docid), title, text: every candidate once, in the order of the raw
    files; queries: id (MIRACL's), text: the dev questions with a relevant passage; qrels: query-id, corpus-id, score (Int64: 1
    relevant, 0 judged not relevant; candidates added by BM25 have no judgement); top_ranked: query-id, corpus-ids (List(String):
    all candidates, in hash order, so that no position reveals which ones are relevant or judged).
    """
    questions, judgements, dropped = read_judgements(raw)
    shards = read_passages(raw)
    passages = pl.concat(shards)
    observed, duplicates = _counts(judgements, passages), pl.DataFrame(schema=DUPLICATE)
    if clean:
        duplicates = find_duplicates(passages, raw.scratch / "duplicates.parquet")
        judgements, merged, counts = merge_duplicates(judgements, duplicates)
        dropped, observed = dropped + merged, observed | counts
    ranked = rank_passages(questions, shards, duplicates, candidates, raw)
    needed = pl.col("id").is_in(judgements["corpus-id"].implode()) | pl.col("passage").is_in(
        ranked["passage"].implode()
    )
    pool = collect_passages(passages, needed, raw.scratch / "candidates.parquet")
    refuse_missing_passages(judgements, pool.lazy(), raw)
    ranked = ranked.join(pool.select("passage", pl.col("id").alias("corpus-id")), on="passage", maintain_order="left")
    pairs = choose_candidates(judgements, ranked.drop("passage"), candidates)
    lists = list_candidates(pairs, seed="miracl-reranking-ru")
    frames = {
        "corpus": pool.filter(pl.col("id").is_in(pairs["corpus-id"].implode())).select("id", "title", "text"),
        "queries": questions,
        "qrels": judgements,
        "top_ranked": questions.select(pl.col("id").alias("query-id")).join(
            lists, on="query-id", maintain_order="left"
        ),
    }
    observed["candidates that BM25 added"] = pairs.height - judgements.height
    return Tables({config: {"dev": frame} for config, frame in frames.items()}, dropped, observed)


@dataset(
    "miracl-contrastive",
    pretty_name="MIRACL title-paragraph training pairs (Russian)",
    task=Contrastive((CONFIG,)),
    needs=(*SHARDS, "tokens", "index"),
    versions=training_versions(
        "The set MIRACL Title-Paragraph of the ruMTEB paper's Table 6, as far as the paper says how it was made.",
        (CONFIG,),
    ),
    mining=mining((CONFIG,)),
    citation=("snegirev2025rumteb",),
    sample={"rows": 12, "mined_ranks": (2, 4)},
)
@with_mined
def contrastive(
    raw: RawFiles,
    *,
    rows: int = 100_000,
    articles: int = ARTICLES,
    times: int = TIMES,
    max_tokens: int = LIMIT,
    clean: bool = False,
) -> Tables:
    """Which first paragraphs belong to a title?

    The first `articles` of the corpus in hash order: a row is the title and the article's passages from the first one, joined by
    line feeds, as many as have at most `max_tokens` together and follow each other without a gap
    (builders.rumteb.miracl.titles). builders.shaping.popularity.select_pool drops articles whose first passage alone is too long
    and repeated rows, and takes `times` * `rows` of the others; `rows` are drawn of these in hash order. `clean` also drops what
    builders.shaping.contrastive.clean_pairs does and what the index of benchmarks has. Columns: id (String:
    `miracl:miracl-title-paragraph:<number of the article>`); query (String); positives (List(String), one each); negatives,
    negative_kinds (List(String), empty).

    Raises SourceError for texts whose tokens were not counted.
    """
    tokens, index = read_tokens(raw.whole("tokens")), read_benchmark_index(raw.whole("index"))
    pairs = title_pairs(rows, articles, tokens, max_tokens)
    pool = select_pool(pairs, raw.files, SOURCE.name, tokens, raw.scratch, times=times, limit=max_tokens)
    return sample_pool(pool, CONFIG, index, size=rows, clean=clean)


def _counts(judgements: pl.DataFrame, passages: pl.LazyFrame) -> dict[str, int]:
    return {
        "passages in the raw files": passages.select(pl.len()).collect(engine="streaming").item(),
        "judgements": judgements.height,
        "judgements of a relevant passage": judgements.filter(pl.col("score") > 0).height,
    }
