"""Rank the documents of a training set for each of its queries, from a release of the version that is mined."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from builders.catalogue import Definition
from builders.errors import ReleaseError, UsageError
from builders.shaping.contrastive import SPLIT, document_pool
from builders.shaping.mined_negatives import FORMAT, RankingHeader, pool_digest, queries_digest
from cards.manifest import Manifest
from pipelines.mining.embedders import DOCUMENT, QUERY, Embedder
from pipelines.mining.rankings import overlap, write_ranking
from pipelines.mining.search import QUERIES, SEARCH, TIES, rank_documents
from pipelines.release.folder import find_damage, read_manifest, scan_tables
from pipelines.scores.embedding_cache import Vectors, embed_texts
from pipelines.stages import stage

CHUNK = 4_096  # texts whose vectors are in memory while they are computed


@dataclass(frozen=True)
class MinedTable:
    """A table of a release, and the raw file that its ranking becomes."""

    release_dir: Path
    manifest: Manifest
    config: str
    ranks: tuple[int, int]
    name: str


def find_tables(definition: Definition, output: Path, configs: Sequence[str] = ()) -> list[MinedTable]:
    """The tables of a dataset's release that are mined. configs: only these; all without any.

    Raises UsageError for a dataset whose negatives are not mined and for an unknown config, ReleaseError where the version that
    is mined is not built.
    """
    dataset, mining = definition.dataset, definition.dataset.mining
    if mining is None:
        todo = "name training data with a version that has mined negatives: embedding-datasets show training"
        raise UsageError(f"{dataset.name}: its negatives are not mined", todo=todo)
    if unknown := [config for config in configs if config not in mining.files]:
        raise UsageError(f"{dataset.name} has no config {unknown[0]!r}", expected=", ".join(mining.files))
    release_dir = output / dataset.name / mining.version
    manifest = read_manifest(release_dir)
    build = f"embedding-datasets build {dataset.name}@{mining.version}"
    if manifest is None or manifest.partial:
        what = f"{dataset.name}@{mining.version} is " + ("not built" if manifest is None else "built in part")
        raise ReleaseError(what, where=str(release_dir), todo=f"build the version that is mined: {build}")
    if damage := find_damage(release_dir, manifest):
        raise ReleaseError(
            f"{manifest.name} is damaged", where=str(release_dir), found=damage[0], todo=f"{build} --force"
        )
    options = dataset.options(mining.version, sample=manifest.sample)
    return [
        MinedTable(release_dir, manifest, config, options["mined_ranks"], definition.source.files[key].name)
        for config, key in mining.files.items()
        if not configs or config in configs
    ]


def mine(table: MinedTable, embedder: Embedder, target: Path) -> None:
    """Write the ranking of a table: the places of its documents in the order of their scores, for each query.

    Vectors are kept in the file of the embedder, and the ranking in a file beside the target, so that a killed run resumes.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    rows = read_rows(table)
    pool = document_pool(rows)
    header = describe(table, rows, pool, embedder)
    with tempfile.TemporaryDirectory(prefix="mining-", dir=target.parent) as scratch:
        documents = _embed(embedder, DOCUMENT, pool, Path(scratch) / "documents")
        queries = _embed(embedder, QUERY, rows["query"].to_list(), Path(scratch) / "queries")
        with stage(f"ranking {table.config}", total=rows.height, unit="queries") as advance:
            write_ranking(
                target, header, lambda done: rank_documents(queries, documents, header.ranks[1], done), QUERIES, advance
            )


def compare(table: MinedTable, embedder: Embedder, target: Path) -> tuple[float, float]:
    """Rank a table again, beside its file: the share of candidates in common with it, the mean over queries and the least.

    Raises SourceError where the file is not a ranking of this table.
    """
    with tempfile.TemporaryDirectory(prefix="mining-", dir=target.parent) as scratch:
        again = Path(scratch) / target.name
        mine(table, embedder, again)
        return overlap(again, target)


def read_rows(table: MinedTable) -> pl.DataFrame:
    """The rows of a table."""
    tables = [one for one in table.manifest.tables if one.config == table.config and one.split == SPLIT]
    return scan_tables(table.release_dir, tables)[table.config][SPLIT].collect()


def describe(table: MinedTable, rows: pl.DataFrame, pool: Sequence[str], embedder: Embedder) -> RankingHeader:
    """The header of the ranking that an embedder makes of a table."""
    return RankingHeader(
        format=FORMAT,
        dataset=table.manifest.dataset,
        version=table.manifest.version,
        config=table.config,
        model=embedder.model,
        weights=embedder.weights,
        revision=embedder.revision,
        query_prefix=QUERY,
        document_prefix=DOCUMENT,
        pooling=embedder.pooling,
        max_tokens=embedder.max_tokens,
        search=SEARCH,
        ties=TIES,
        ranks=table.ranks,
        pool=pool_digest(pool),
        queries=queries_digest(rows),
        tools=embedder.tools,
    )


def _embed(embedder: Embedder, prefix: str, texts: Sequence[str], path: Path) -> Vectors:
    """The vectors of texts, a row each, mapped from a file: those of a million documents need not be in memory."""
    vectors: Vectors | None = None

    def embed(some: list[str]) -> Vectors:
        return embedder.embed(prefix, some)

    for start in range(0, len(texts), CHUNK):
        some = embed_texts(embedder.vectors, prefix, texts[start : start + CHUNK], embed, embedder.model)
        if vectors is None:
            vectors = np.lib.format.open_memmap(path, mode="w+", dtype="f4", shape=(len(texts), some.shape[1]))
        vectors[start : start + len(some)] = some
    return np.zeros((0, 0), dtype="f4") if vectors is None else vectors
