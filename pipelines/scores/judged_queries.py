"""The queries, documents and relevance judgements of a retrieval or reranking task, by position."""

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from pipelines.audit.tables import Frames, model_input

BATCH_ROWS = 20_000


@dataclass(frozen=True)
class JudgedQueries:
    """The queries that have a relevant document, as in mteb.

    ids, texts: of the queries. relevant: for each query, its relevant documents and their scores. documents: the ids of all
    documents, which the positions in `relevant` refer to; a relevant document that the corpus lacks has a negative position.
    """

    ids: pl.Series
    texts: pl.Series
    relevant: list[dict[int, int]]
    documents: pl.Series


def read_queries(frames: Frames, split: str) -> JudgedQueries:
    """Read all but the texts of documents."""
    documents = frames["corpus"][split].select("id").collect(engine="streaming")["id"]
    position = {name: number for number, name in enumerate(documents.to_list())}
    judgements = frames["qrels"][split].filter(pl.col("score") > 0).collect(engine="streaming")
    relevant: dict[str, dict[int, int]] = {}
    for query, document, score in judgements.select("query-id", "corpus-id", "score").iter_rows():
        own = relevant.setdefault(query, {})
        own[position.get(document, -1 - len(own))] = score
    queries = frames["queries"][split].select("id", "text").collect(engine="streaming")
    queries = queries.filter(pl.col("id").is_in(list(relevant)))
    return JudgedQueries(queries["id"], queries["text"], [relevant[query] for query in queries["id"]], documents)


def read_documents(frames: Frames, split: str) -> Iterator[pl.Series]:
    """The texts of the documents as a model receives them, in batches, each read on demand."""
    texts = frames["corpus"][split].select(text=model_input("corpus", "text"))
    start = 0
    while len(batch := texts.slice(start, BATCH_ROWS).collect(engine="streaming")):
        yield batch["text"]
        start += BATCH_ROWS
