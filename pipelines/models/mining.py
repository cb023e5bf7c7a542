"""Mining: a model ranks the documents of a training set or of a corpus for each of its queries, once, into a raw file.

builders.ranking.mined_negatives describes the file, from which builds read hard negatives.

Products are computed in single precision, a block of queries by a block of documents; those that may be among the nearest are
computed again in double precision and rounded. So the order does not depend on blocks, threads or the library that multiplies,
and documents of equal score are in the order of the pool.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, repeat
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders.catalogue import Definition
from builders.errors import ReleaseError, SourceError, UsageError
from builders.ranking.hard_negatives import document_texts
from builders.ranking.mined_negatives import (
    FORMAT,
    KEY,
    RankingHeader,
    digest_texts,
    encode_header,
    queries_digest,
    read_ranking_header,
)
from builders.shaping.benchmark_index import header_metadata
from builders.shaping.contrastive import document_pool
from cards.manifest import Manifest
from pipelines.models.loading import Embedder
from pipelines.models.vectors import Vectors, embed_texts
from pipelines.process.files import replacing
from pipelines.process.resumable import resumable_file, scratch_folder
from pipelines.process.stages import stage
from pipelines.release.folder import find_damage, read_manifest, scan_table

Places = npt.NDArray[np.int64]

NONE = 0xFFFF_FFFF  # in the unfinished file: a rank that the pool is too small for
ROW_GROUP_ROWS = 65_536
SCHEMA = pa.schema([pa.field("candidates", pa.list_(pa.field("element", pa.uint32(), nullable=False)), nullable=False)])


def write_ranking(
    target: Path,
    header: RankingHeader,
    rank: Callable[[int], Iterable[list[Places]]],
    block: int,
    advance: Callable[[int], None],
) -> None:
    """Write the ranking of all queries into a file, completely or not at all.

    rank: blocks of queries from a given one on, a list of `block` queries each; for each query the places of the documents up to
    the last rank. advance: called with the number of queries that are ranked. Each block is written to a file beside the target,
    from which the next call with the same header resumes.
    """
    part = target.with_name(f"{target.name}.part")
    first, last = header.ranks
    width = last - first + 1
    head = encode_header(header) + b"\n"

    def finished(file: BinaryIO) -> Iterator[int]:
        size = 4 * width * block
        return repeat(size, (part.stat().st_size - file.tell()) // size)

    with resumable_file(part, head, finished) as (file, blocks):
        done = min(blocks * block, header.queries.count)
        advance(done)
        for lists in rank(done):
            rows = np.full((len(lists), width), NONE, dtype="<u4")
            for row, places in zip(rows, lists, strict=True):
                candidates = places[first - 1 : last]
                row[: len(candidates)] = candidates
            file.write(rows.tobytes())
            file.flush()
            advance(len(lists))
    shape = (header.queries.count, width)
    # Windows removes no file that is mapped: nothing may hold the map after the call.
    _write_parquet(target, header, np.memmap(part, dtype="<u4", mode="r", offset=len(head), shape=shape))
    part.unlink()


def overlap(one: Path, other: Path) -> tuple[float, float]:
    """The share of candidates that two rankings of the same queries have in common: the mean over queries, and the least.

    Raises SourceError for files that are not rankings, or not of the same pool and queries.
    """
    (header, lists), (other_header, other_lists) = _read(one), _read(other)
    if (header.pool, header.queries, header.ranks) != (other_header.pool, other_header.queries, other_header.ranks):
        raise SourceError(
            "rankings of different texts",
            where=f"{one} and {other}",
            found="another pool, other queries or other ranks",
            expected="one pool, the same queries and the same ranks",
            todo="mine the same version of the dataset",
        )
    shares = [
        len(set(some) & set(others)) / max(len(some), len(others), 1) if some or others else 1.0
        for some, others in zip(lists.to_pylist(), other_lists.to_pylist(), strict=True)
    ]
    return (sum(shares) / len(shares), min(shares)) if shares else (1.0, 1.0)


def _read(path: Path) -> tuple[RankingHeader, pa.ChunkedArray]:
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            return read_ranking_header(file), file.read()["candidates"]
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise SourceError(
            "not a ranking of documents, or damaged", where=str(path), found=str(error).partition("\n")[0][:200]
        ) from error


def _write_parquet(target: Path, header: RankingHeader, rows: npt.NDArray[np.uint32]) -> None:
    """Write the finished file. rows: the candidates of each query, then NONE where there are fewer."""
    options = {"compression": "zstd", "write_page_checksum": True, "store_schema": False, "version": "2.6"}
    with replacing(target) as unfinished, pq.ParquetWriter(unfinished, SCHEMA, **options) as writer:
        for begin in range(0, len(rows), ROW_GROUP_ROWS):
            some = np.asarray(rows[begin : begin + ROW_GROUP_ROWS])
            is_candidate = some != NONE
            bounds = np.concatenate([[0], np.cumsum(is_candidate.sum(axis=1))]).astype(np.int32)
            lists = pa.ListArray.from_arrays(
                bounds, pa.array(some[is_candidate], pa.uint32()), type=SCHEMA.field(0).type
            )
            writer.write_table(pa.table([lists], schema=SCHEMA))
        writer.add_key_value_metadata(header_metadata(KEY, encode_header(header)))


QUERIES, DOCUMENTS = 256, 16_384  # rows of a block
# More than single precision is off by, for vectors of length one: documents this near to the last rank are computed again.
MARGIN = 5e-5
DECIMALS = 9  # of a score in double precision: far more than its error, far fewer than would tell equal texts apart
SEARCH = "exact inner product of normalized vectors, in double precision, rounded to 9 decimals"
TIES = "by place in the pool"


def rank_documents(queries: Vectors, documents: Vectors, last: int, start: int = 0) -> Iterator[list[Places]]:
    """The places of the `last` nearest documents of each query, the nearest first; a list for each block of queries.

    queries, documents: normalized vectors, a row each; may be mapped from files. start: the first query, a multiple of QUERIES.
    Fewer documents than `last` are all ranked.
    """
    for begin in range(start, len(queries), QUERIES):
        block = np.ascontiguousarray(queries[begin : begin + QUERIES])
        nearest = _nearest(block, documents, last)
        yield [_rank(query, documents, places, last) for query, places in zip(block, nearest, strict=True)]


def _nearest(queries: Vectors, documents: Vectors, count: int) -> list[Places]:
    """For each query, ascending, the places of all documents that may be among the `count` nearest."""
    count = min(count, len(documents))
    best = np.full((len(queries), count), -np.inf, dtype="f4")  # the scores of the nearest so far, in no order
    rows, places, scores = [], [], []
    for begin in range(0, len(documents), DOCUMENTS):
        products = queries @ np.ascontiguousarray(documents[begin : begin + DOCUMENTS]).T
        best = np.partition(np.concatenate([best, products], axis=1), products.shape[1], axis=1)[:, -count:]
        row, column = np.nonzero(products >= best.min(axis=1, keepdims=True) - MARGIN)
        rows.append(row)
        places.append(column + begin)
        scores.append(products[row, column])
    row, place, score = (np.concatenate(parts) for parts in (rows, places, scores))
    is_near = score >= best.min(axis=1)[row] - MARGIN
    order = np.argsort(row[is_near], kind="stable")
    ends = np.cumsum(np.bincount(row[is_near], minlength=len(queries)))
    return np.split(place[is_near][order], ends[:-1])


def _rank(query: Vectors, documents: Vectors, places: Places, last: int) -> Places:
    """Those places, the nearest first, `last` at most."""
    exact = documents[places].astype("f8") @ query.astype("f8")
    order = np.lexsort((places, -np.round(exact, DECIMALS)))
    return places[order[:last]]


QUERY, DOCUMENT = "query: ", "passage: "  # what E5 was trained with
INSTRUCTED = "Instruct: {}\nQuery: ", ""  # what E5 that takes instructions was trained with
CHUNK = 4_096  # texts whose vectors are in memory while they are computed


@dataclass(frozen=True)
class MinedTable:
    """A table of a release, and the raw file that its ranking becomes. prefixes: before queries and documents."""

    release_dir: Path
    manifest: Manifest
    config: str
    ranks: tuple[int, int]
    name: str
    prefixes: tuple[str, str] = (QUERY, DOCUMENT)


@dataclass(frozen=True)
class MinedTexts:
    """What a table has to rank. queries: with the columns id and query. documents: reads all of them."""

    queries: pl.DataFrame
    documents: Callable[[], Iterable[str]]
    count: int


def find_tables(definition: Definition, output: Path, configs: Sequence[str] = ()) -> list[MinedTable]:
    """The tables of a dataset's release that are mined. configs: only these, or models where another dataset is ranked.

    Raises UsageError for a dataset whose negatives are not mined and for an unknown config or model, ReleaseError where the
    version that is mined is not built.
    """
    dataset, mining = definition.dataset, definition.dataset.mining
    if mining is None:
        raise UsageError(
            f"{dataset.name}: its negatives are not mined",
            todo="name training data with a version that has mined negatives: embedding-datasets show training",
        )
    if unknown := [config for config in configs if config not in mining.files]:
        what = "is not built from a ranking by" if mining.of else "has no config"
        raise UsageError(f"{dataset.name} {what} {unknown[0]!r}", expected=", ".join(mining.files))
    mined = f"{mining.of or dataset.name}@{mining.version}"
    release_dir = output / (mining.of or dataset.name) / mining.version
    manifest = read_manifest(release_dir)
    build = f"embedding-datasets build {mined}"
    if manifest is None or manifest.partial:
        raise ReleaseError(
            f"{mined} is " + ("not built" if manifest is None else "built in part"),
            where=str(release_dir),
            todo=f"build the version that is mined: {build}",
        )
    if damage := find_damage(release_dir, manifest):
        raise ReleaseError(
            f"{manifest.name} is damaged", where=str(release_dir), found=damage[0], todo=f"{build} --force"
        )
    files = {
        config: definition.source.files[key].name
        for config, key in mining.files.items()
        if not configs or config in configs
    }
    if not mining.of:
        ranks = dataset.options(mining.version, sample=manifest.sample)["mined_ranks"]
        return [MinedTable(release_dir, manifest, config, ranks, name) for config, name in files.items()]
    ranks = 1, dataset.options(dataset.newest, sample=manifest.sample)["depth"]
    instruction = dataset.prompts.instruction if dataset.prompts else ""
    instructed = INSTRUCTED[0].format(instruction), INSTRUCTED[1]
    return [
        MinedTable(
            release_dir, manifest, "corpus", ranks, name, instructed if "-instruct" in model else (QUERY, DOCUMENT)
        )
        for model, name in files.items()
    ]


def mine(table: MinedTable, embedder: Embedder, target: Path) -> None:
    """Write the ranking of a table: the places of its documents in the order of their scores, for each query.

    Vectors are kept in the file of the embedder, and the ranking in a file beside the target, so that a killed run resumes.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    texts = read_texts(table)
    header = describe(table, texts, embedder)
    with scratch_folder(target.parent, ".mining-") as scratch:
        documents = _embed(embedder, table.prefixes[1], texts.documents(), texts.count, scratch / "documents")
        count = texts.queries.height
        queries = _embed(embedder, table.prefixes[0], texts.queries["query"], count, scratch / "queries")
        with stage(f"ranking {table.config}", total=count, unit="queries") as advance:
            write_ranking(
                target, header, lambda done: rank_documents(queries, documents, header.ranks[1], done), QUERIES, advance
            )


def compare(table: MinedTable, embedder: Embedder, target: Path) -> tuple[float, float]:
    """Rank a table again, beside its file: the share of candidates in common with it, the mean over queries and the least.

    Raises SourceError where the file is not a ranking of this table.
    """
    with scratch_folder(target.parent, ".comparing-") as scratch:
        again = scratch / target.name
        mine(table, embedder, again)
        return overlap(again, target)


def read_texts(table: MinedTable) -> MinedTexts:
    """The queries and documents of a table: of training data its own, else those of a retrieval dataset."""
    frames = {entry.config: scan_table(table.release_dir, entry) for entry in table.manifest.tables}
    if "queries" in frames:
        count = frames["corpus"].select(pl.len()).collect().item()
        queries = frames["queries"].rename({"text": "query"}).collect()
        return MinedTexts(queries, partial(document_texts, frames["corpus"]), count)
    rows = frames[table.config].collect()
    pool = document_pool(rows).to_list()
    return MinedTexts(rows, lambda: pool, len(pool))


def describe(table: MinedTable, texts: MinedTexts, embedder: Embedder) -> RankingHeader:
    """The header of the ranking that an embedder makes of a table."""
    return RankingHeader(
        format=FORMAT,
        dataset=table.manifest.dataset,
        version=table.manifest.version,
        config=table.config,
        model=embedder.model,
        weights=embedder.weights,
        revision=embedder.revision,
        query_prefix=table.prefixes[0],
        document_prefix=table.prefixes[1],
        pooling=embedder.pooling,
        max_tokens=embedder.max_tokens,
        search=SEARCH,
        ties=TIES,
        ranks=table.ranks,
        pool=digest_texts(texts.documents(), texts.count),
        queries=queries_digest(texts.queries),
        tools=embedder.tools,
    )


def _embed(embedder: Embedder, prefix: str, texts: Iterable[str], count: int, path: Path) -> Vectors:
    """The vectors of `count` texts, a row each, mapped from a file: those of a million documents need not be in memory."""
    vectors: Vectors | None = None
    embed, left = partial(embedder.embed, prefix), iter(texts)
    for start in range(0, count, CHUNK):
        some = embed_texts(embedder.vectors, prefix, list(islice(left, CHUNK)), embed, embedder.model)
        if vectors is None:
            vectors = np.lib.format.open_memmap(path, mode="w+", dtype="f4", shape=(count, some.shape[1]))
        vectors[start : start + len(some)] = some
    return np.zeros((0, 0), dtype="f4") if vectors is None else vectors
