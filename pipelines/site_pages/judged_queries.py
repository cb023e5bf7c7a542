"""The queries of a split with their judged documents, as a list of the site.

A record is [query, [[document, score], ...], [document, ...]]: the place of the query in the list of its table; every judged
document with its score, the highest first; and the candidates of the query (reranking) that nobody judged. A document is its
place in the list of the corpus, or its id where it is not in that list.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from pipelines.audit.tables import Frames
from pipelines.site_pages.data_scripts import RecordList, write_list

BATCH_QUERIES = 1_000


def write_queries(
    page_dir: Path, folder: str, frames: Frames, ids: tuple[pl.DataFrame, pl.DataFrame], *, split: str
) -> tuple[RecordList, dict[int, int]]:
    """Write the queries of a split; returns the list, and the number of queries by the number of their positives.

    ids: of the queries and of the documents, see pipelines.site_pages.row_pages.listed_ids.
    """
    positives: Counter[int] = Counter()

    def counted() -> Iterator[list[Any]]:
        for record in _records(frames, split, *ids):
            positives[sum(score > 0 for _, score in record[1])] += 1
            yield record

    return write_list(page_dir, folder, counted()), dict(sorted(positives.items()))


def _records(frames: Frames, split: str, query_ids: pl.DataFrame, document_ids: pl.DataFrame) -> Iterator[list[Any]]:
    candidates = frames.get("top_ranked", {}).get(split)
    for batch in query_ids.iter_slices(BATCH_QUERIES):
        of_batch = pl.col("query-id").is_in(batch["id"].implode())
        pairs = frames["qrels"][split].filter(of_batch).select("query-id", "score", id="corpus-id")
        judged = _by_query(pairs, document_ids)
        listed = {}
        if candidates is not None:
            exploded = candidates.filter(of_batch).select("query-id", id="corpus-ids").explode("id").drop_nulls()
            listed = _by_query(exploded.with_columns(score=0), document_ids)
        for query, index in batch.select("id", "index").iter_rows():
            own = sorted(judged.get(query, []), key=lambda pair: -pair[1])
            done = {document for document, _ in own}
            yield [index, own, [document for document, _ in listed.get(query, []) if document not in done]]


def _by_query(pairs: pl.LazyFrame, document_ids: pl.DataFrame) -> dict[str, list[tuple[int | str, int]]]:
    """Document and score of each pair of `query-id`, `id` and `score`, by query, in their order."""
    placed = pairs.collect(engine="streaming").join(document_ids, on="id", how="left", maintain_order="left")
    found: dict[str, list[tuple[int | str, int]]] = {}
    for query, score, document, index in placed.select("query-id", "score", "id", "index").iter_rows():
        found.setdefault(query, []).append((document if index is None else index, score))
    return found
