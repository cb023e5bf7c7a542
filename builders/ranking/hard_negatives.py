"""Hard negatives: the part of a large corpus that rankings find for some of its queries, small enough to be searched often.

mteb made its tasks with hard negatives by a program (https://github.com/orionw/mteb-lite) that takes the relevant documents of
a query, then in turn the next document of BM25, multilingual-e5-large and e5-mistral-7b-instruct, until there are 250 in all, for
at most 1,000 queries that a random generator drew (https://github.com/embeddings-benchmark/mteb/pull/1236). Its rankings are not
published. Here queries are drawn by hashes, BM25 is computed by the build, and the rankings of the two models are raw files that
`embedding-datasets decide DATASET --model MODEL` writes, in the format of builders.ranking.mined_negatives.
"""

from collections.abc import Iterable, Iterator
from functools import partial

import polars as pl

from builders.batches import run_once
from builders.ranking.bm25 import count, rank
from builders.ranking.mined_negatives import Digest, digest_texts, queries_digest, read_lists
from builders.raw_files import RawFile, by_hand
from builders.shaping.sampling import sample
from builders.shaping.text import WHITE_SPACE
from builders.spec import Mining, RawFiles, Tables, Version

MODELS = {  # those of mteb, with the commits that it names
    "intfloat/multilingual-e5-large": "ab10c1a7f42e74530fe7ae5be82e6d4f11a719eb",
    "intfloat/e5-mistral-7b-instruct": "07163b72af1488142a360786df853f237b1a3ca1",
}
QUERIES, DEPTH = 1_000, 250  # as in mteb
BATCH = 20_000  # documents that are in memory at once
CITATIONS = ("enevoldsen2025mmteb", "wang2024multilingual", "wang2024improving")
OWN_POOLS = (
    "queries are drawn by a hash of our own, and the pools are made here, because mteb's rankings are not published"
)


def _key(model: str) -> str:
    return f"ranked-{model.rpartition('/')[2]}"


def ranked_files(dataset: str, base: str, version: str) -> dict[str, RawFile]:
    """The raw files with the rankings of the models for a dataset, by key. base, version: the dataset whose corpus is ranked."""
    return {
        _key(model): by_hand(
            f"ranked/{model.rpartition('/')[2]}.parquet",
            f"the documents of {base} as {model} ranks them: embedding-datasets build {base}@{version}, then embedding-datasets"
            f" decide {dataset} --model {model} --raw-dir DIR; or copy the file from somebody who has it",
            made_by="mine",
        )
        for model in MODELS
    }


RANKED = tuple(map(_key, MODELS))
VERSIONS = {
    "1.0.0": Version(
        "The pool of a query has 250 documents in all, as mteb's: the judged ones, then those of three rankings in turn.",
        needs=RANKED,
    ),
    "2.0.0": Version(
        "The pool of a query is larger: its judged documents, and the first 250 documents of each of the three rankings.",
        {"union": True},
        needs=RANKED,
    ),
}


def ranking_of(base: str, version: str) -> Mining:
    """Which dataset is ranked, and the raw file of each model."""
    return Mining(version, {model: _key(model) for model in MODELS}, {}, of=base)


def document_texts(corpus: pl.LazyFrame) -> Iterator[str]:
    """The documents of a corpus as a model reads them, in their order, without holding all of them in memory."""
    for batch in document_batches(corpus):
        yield from batch


def document_batches(corpus: pl.LazyFrame) -> Iterator[pl.Series]:
    """The same documents in batches, each read on demand."""
    text = pl.concat_str("title", pl.lit(" "), "text").str.strip_chars(WHITE_SPACE).alias("text")
    for batch in corpus.select(text).collect_batches(chunk_size=BATCH, maintain_order=True, engine="streaming"):
        yield batch["text"]


def pool_hard_negatives(
    tables: Tables, raw: RawFiles, split: str, *, seed: str, queries: int, depth: int, union: bool
) -> Tables:
    """The part of a retrieval dataset that is pooled for `queries` of its queries, drawn by their ids.

    tables: of the whole dataset. The pool of a query has `depth` documents in all: the judged ones, then the first of each
    ranking (BM25, then the models in the order of MODELS), the second of each, and so on, each document once. With `union`, it
    has the judged ones and the first `depth` of each ranking. The corpus is all documents of any pool, in their order. A build
    of a part of the raw files has no rankings of models: its pools are those of BM25.

    Raises SourceError for a ranking that is damaged, of another model or depth, or of other documents or queries; RecipeError
    for too few queries.
    """
    whole = {config: splits[split].lazy() for config, splits in tables.frames.items()}
    corpus, asked = whole["corpus"].with_row_index("place").cast({"place": pl.Int64}), whole["queries"].collect()
    is_part = any(file.limit is not None for file in raw.files.values())
    drawn = sample(asked, min(queries, asked.height) if is_part else queries, key="id", seed=seed, what="queries")
    qrels = whole["qrels"].collect().join(drawn, left_on="query-id", right_on="id", how="semi", maintain_order="left")
    size = corpus.select(pl.len()).collect(engine="streaming").item()
    words = run_once(raw.resumable / "words", partial(count, drawn["text"], document_batches(whole["corpus"])))
    best = rank(drawn["text"], [words], depth=depth)
    rankings = [best.select(pl.col("passage").alias("place"), **{"query-id": drawn["id"].gather(best["query"])})]
    if not is_part:
        texts = digest_texts(document_texts(whole["corpus"]), size)
        rankings += _read_rankings(raw, asked, drawn["id"], texts, depth)
    ids = corpus.filter(pl.col("id").is_in(qrels["corpus-id"].implode())).select("place", **{"corpus-id": "id"})
    judged = qrels.join(ids.collect(engine="streaming"), on="corpus-id", maintain_order="left")
    pools = _merge_rankings(judged, rankings, limit=None if union else depth)
    frames: dict[str, pl.DataFrame | pl.LazyFrame] = {
        "corpus": corpus.filter(pl.col("place").is_in(pools["place"].unique().implode())).drop("place"),
        "queries": drawn,
        "qrels": qrels,
    }
    pair = ["query-id", "place"]
    unranked = judged.filter(pl.col("score") > 0).join(
        pl.concat(ranking.select(pair) for ranking in rankings), on=pair, how="anti"
    )
    observed = {
        **tables.observed,
        "documents of the whole corpus": size,
        "documents of all pools, each as often as pools have it": pools.height,
        "relevant documents that no ranking has": unranked.height,
    }
    return Tables({config: {split: frame} for config, frame in frames.items()}, tables.dropped, observed)


def _read_rankings(
    raw: RawFiles, asked: pl.DataFrame, drawn: pl.Series, documents: Digest, depth: int
) -> list[pl.DataFrame]:
    """The rankings of the models for the queries that were drawn: query-id, place. asked: all queries, as they were ranked."""
    queries, rankings = queries_digest(asked.rename({"text": "query"})), []
    for model in MODELS:
        _, places = read_lists(raw.whole(_key(model)), (model,), (1, depth), documents, queries)
        ranking = pl.DataFrame({"query-id": asked["id"], "place": places})
        rankings.append(ranking.filter(pl.col("query-id").is_in(drawn.implode())).explode("place"))
    return rankings


def _merge_rankings(judged: pl.DataFrame, rankings: Iterable[pl.DataFrame], *, limit: int | None) -> pl.DataFrame:
    """The documents of each query, once each: query-id, place, judged ones first, then in the order of their best ranks.

    limit: how many of a query; more only where more are judged.
    """
    ranked = [
        ranking.select("query-id", "place", rank=pl.int_range(pl.len()).over("query-id"), number=pl.lit(number))
        for number, ranking in enumerate([judged, *rankings])
    ]
    first = pl.when(pl.col("number") == 0).then(-1).otherwise("rank")
    pools = pl.concat(ranked).sort(first, "number", maintain_order=True)
    pools = pools.unique(["query-id", "place"], keep="first", maintain_order=True)
    position = pl.int_range(pl.len()).over("query-id")
    return pools if limit is None else pools.filter((pl.col("number") == 0) | (position < limit))
