"""A scan, from the corpus and the index to its matches: runs the partitions, adds up the matches, and writes them.

The matches stay in files, one for each partition, and are read again for every output. Memory is bounded by the size of
the index: it only holds which of its rows were found.
"""

import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders.batches import map_in_order
from pipelines.checking.corpora import Corpus, Partition, read_partition
from pipelines.checking.data_files import require_unchanged
from pipelines.decontamination.clean import DROP_SCHEMA, ScannedFile
from pipelines.decontamination.engines import RAY, Engine, open_checkpoints, read_results, run_partitions, scan_digest
from pipelines.decontamination.index_file import (
    ROW_GROUP_ROWS,
    IndexTable,
    Lookup,
    arrange_index,
    in_groups,
    read_index,
    read_index_header,
)
from pipelines.decontamination.indexing import IndexedDataset, StoredTexts, open_texts, write_texts
from pipelines.decontamination.matching import (
    COVERAGE_SCHEMA,
    FOUND_SCHEMA,
    KINDS,
    MATCH_SCHEMA,
    TABLE_SCHEMA,
    THRESHOLD,
    BatchMatches,
    find_matches,
    short_texts,
)
from pipelines.process import installation
from pipelines.process.files import SharedFile, file_sha256, replacing
from pipelines.process.outputs import MARK
from pipelines.process.resumable import scratch_folder

PARTS = (
    ("matches", FOUND_SCHEMA),
    ("short", {"group": pl.Int64, "rows": pl.Int64}),
    ("coverage", COVERAGE_SCHEMA),
)  # of BatchMatches, with the columns of each


def scan_partition(
    partition: Partition,
    *,
    index: Path | SharedFile,
    texts: Path | SharedFile | None = None,
    threshold: float = THRESHOLD,
    whole_texts: bool = False,
    threads: int | None = None,
) -> pl.DataFrame:
    """The matches of a partition, as a frame of one row for `Scan.results`; an engine runs it through `functools.partial`.

    index: its file, which a process reads once. texts: the file of the available texts, which `write_texts` writes. threads: on
    which the batches are searched, by default as many as polars has. The result of the first partition of a local file has its
    digest. Rows of a partition that is cut are numbered from 0.

    Raises SourceError for a corpus or an index that cannot be read, and for a file that is changed meanwhile.
    """
    file = partition.file
    require_unchanged(file)
    lookup, source = load_scan(index, texts)
    find = partial(find_matches, lookup, source=source, threshold=threshold, whole_texts=whole_texts)
    found = list(map_in_order(find, read_partition(partition), threads=threads or pl.thread_pool_size()))
    digest = file_sha256(file.path) if partition.first_row == 0 and not file.address else None
    require_unchanged(file)
    joined = {
        name: pl.concat([pl.DataFrame(schema=schema), *(getattr(batch, name) for batch in found)])
        for name, schema in PARTS
    }
    joined["short"] = joined["short"].group_by("group").agg(pl.col("rows").sum()).sort("group")
    joined["coverage"] = (
        joined["coverage"].group_by("column", "reason").agg(pl.col("bytes").sum()).sort("column", "reason")
    )
    return pl.DataFrame(
        {
            **{name: frame.to_struct().implode() for name, frame in joined.items()},
            "rows": [sum(batch.rows for batch in found)],
            "texts": [sum(batch.texts for batch in found)],
            "sha256": pl.Series([digest], dtype=pl.String),
        }
    )


@lru_cache(maxsize=1)
def load_scan(index: Path | SharedFile, texts: Path | SharedFile | None) -> tuple[Lookup, StoredTexts | None]:
    """An index, ready for a search, and its available texts: once in a process."""
    lookup = arrange_index(read_index(index))
    return lookup, None if texts is None else open_texts(lookup.index, texts)


TABLE = list(TABLE_SCHEMA)
# The more a row of the corpus shares with a row of the benchmark, the higher.
UNIT_RANKS = {"text": 0, "labelled text": 1, "pair": 2, "query with positive": 3, "labelled pair": 4}
FOUND_TEXTS = pl.Schema(
    TABLE_SCHEMA
    | {"row": pl.String}
    | dict.fromkeys(KINDS, pl.Boolean)
    | {"unit": pl.Int64, "matches": pl.Int64, "is_estimated": pl.Boolean}
)
MAX_WAITING = 500_000  # rows of partial sums before they are added up


@dataclass(frozen=True)
class Sums:
    """Sums over a scan.

    found: a row for each text of the index that was found, with the columns of FOUND_TEXTS: whether it has each kind; unit: a
    value of UNIT_RANKS, the highest; is_estimated: whether all its matches are. short: the columns of `short_texts`. rows,
    texts: of the corpus; rows_found: of the corpus, with a match. unread: what was not read, with the columns of COVERAGE_SCHEMA,
    the most first; files in other formats have the reason `format`. read: the bytes of all texts.
    """

    found: pl.DataFrame
    short: pl.DataFrame
    rows: int
    texts: int
    rows_found: int
    unread: pl.DataFrame
    read: int

    @property
    def share_found(self) -> float:
        """The share of the rows of the corpus with a match, 0 to 1."""
        return self.rows_found / self.rows if self.rows else 0.0


@dataclass(frozen=True)
class Scan:
    """What a scan found.

    tables: of the index. available: for each, whether its texts are on this machine. folder: the one with the results of
    partitions. index, texts: the files that the search read.
    """

    corpus: Corpus
    tables: tuple[IndexTable, ...]
    available: tuple[bool, ...]
    threshold: float
    folder: Path = field(repr=False)
    index: Path = field(repr=False)
    texts: Path | None = field(repr=False)

    @cached_property
    def partitions(self) -> list[Partition]:
        """The partitions in such an order that their matches follow each other in the order of the contract.

        Each knows its first row, by now also one that is cut.
        """
        ordered = sorted(
            self.corpus.partitions,
            key=lambda partition: (partition.file.name.encode(), partition.first_row, partition.number),
        )
        results = read_results(self.folder, (partition for partition in ordered if partition.is_cut))
        numbered, rows = list[Partition](), Counter[str]()
        for partition in ordered:
            name = partition.file.name
            numbered.append(replace(partition, first_row=rows[name]) if partition.is_cut else partition)
            rows[name] += next(results)["rows"][0] if partition.is_cut else 0
        return numbered

    def results(self) -> Iterator[BatchMatches]:
        """The matches of each of `partitions`, over all of its batches."""
        for partition, result in zip(self.partitions, read_results(self.folder, self.partitions), strict=True):
            matches, short, coverage = (pl.DataFrame(result[name][0].struct.unnest()) for name, _ in PARTS)
            if partition.is_cut:
                matches = matches.with_columns(pl.col("corpus_row") + partition.first_row)
            yield BatchMatches(matches, short, result["rows"][0], result["texts"][0], coverage)

    @cached_property
    def sums(self) -> Sums:
        """What was found of each row of the index, and how much was read."""
        skipped = [(name, "format", size) for name, size in self.corpus.skipped.items()]
        waiting, short = [pl.DataFrame(schema=FOUND_TEXTS)], list[pl.DataFrame]()
        coverage, counts = [pl.DataFrame(skipped, COVERAGE_SCHEMA, orient="row")], Counter[str]()
        for result in self.results():
            rows_found = result.matches.select("corpus_file", "corpus_row").n_unique()
            counts.update(rows=result.rows, texts=result.texts, rows_found=rows_found)
            of_kinds = (pl.col("kind").eq(kind).alias(kind) for kind in KINDS)
            unit = pl.col("unit").replace_strict(UNIT_RANKS, return_dtype=pl.Int64)
            found = result.matches.select(*TABLE, "row", *of_kinds, unit, "is_estimated", matches=pl.lit(1, pl.Int64))
            waiting.append(_merge(found))
            if sum(map(len, waiting[1:])) > MAX_WAITING:
                waiting = [_merge(pl.concat(waiting))]
            coverage.append(result.coverage)
            short.append(result.short)
        found = _merge(pl.concat(waiting)).sort(*TABLE, "row")
        counted = pl.DataFrame(schema=TABLE_SCHEMA | {"row": pl.String, "corpus_rows": pl.Int64})
        if any(map(len, short)):
            counted = short_texts(load_scan(self.index, self.texts)[0], short)
        sizes = pl.concat(coverage).group_by("column", "reason").agg(pl.col("bytes").sum())
        unread = sizes.filter(pl.col("reason") != "").sort(-pl.col("bytes"), "column", "reason")
        read = int(sizes.filter(reason="")["bytes"].sum())
        return Sums(found, counted, counts["rows"], counts["texts"], counts["rows_found"], unread, read)

    @cached_property
    def files(self) -> dict[str, ScannedFile]:
        """What was read of each file, by its name; a file without rows is absent."""
        read: dict[str, ScannedFile] = {}
        for partition, result in zip(self.partitions, read_results(self.folder, self.partitions), strict=True):
            before, rows = read.get(partition.file.name, (None, 0))
            read[partition.file.name] = before or result["sha256"][0], rows + result["rows"][0]
        return read


@contextmanager
def open_scan(
    corpus: Corpus,
    index: Path,
    datasets: Sequence[IndexedDataset],
    engine: Engine,
    *,
    checkpoints: Path,
    threshold: float,
    whole_texts: bool = False,
) -> Iterator[Scan]:
    """Search a corpus, for the time of the block, after which the results of its partitions are removed.

    Where the block ends with an error they stay, and the next scan of the same resumes. datasets: those whose texts are
    available. whole_texts: without views and passages. checkpoints: a folder of this machine, for these results and scratch
    files.

    Raises SourceError for a corpus or an index that cannot be read, and what run_partitions raises.
    """
    tables, known = read_index_header(index).tables, {dataset.identity for dataset in datasets}
    available = tuple(table.identity in known for table in tables)
    options = {
        "index": file_sha256(index),
        "available": available,
        "threshold": threshold,
        "whole_texts": whole_texts,
        "code": installation.describe(),
    }
    checkpoints.mkdir(parents=True, exist_ok=True)
    load_scan.cache_clear()  # a later scan may have other texts under the same name
    with (
        _texts_file(checkpoints.resolve()) as scratch,
        open_checkpoints(checkpoints, scan_digest(corpus.partitions, options)) as folder,
    ):
        texts = scratch if any(available) else None
        if texts is not None:
            write_texts(tables, datasets, texts)
        threads = 1 if engine.name == RAY else None  # a task of Ray has one processor
        work = partial(scan_partition, threshold=threshold, whole_texts=whole_texts, threads=threads)
        files = {"index": index.resolve()} | ({} if texts is None else {"texts": texts})
        run_partitions(corpus.partitions, work, engine, folder, files)
        yield Scan(corpus, tables, available, threshold, folder, index.resolve(), texts)


@contextmanager
def _texts_file(folder: Path) -> Iterator[Path]:
    """A file for the texts of benchmarks, which no killed scan leaves behind.

    On Linux it has no name in the folder: it ends with this process, and others open it through /proc.
    """
    with scratch_folder(folder, ".texts-") as scratch:
        if not Path("/proc/self/fd").is_dir():
            yield scratch / "texts.arrow"
            return
        with tempfile.TemporaryFile(dir=scratch) as file:
            yield Path(f"/proc/{os.getpid()}/fd/{file.fileno()}")


def _merge(found: pl.DataFrame) -> pl.DataFrame:
    """One row for each text of the index."""
    merged = found.group_by(*TABLE, "row").agg(
        *(pl.col(kind).any() for kind in KINDS),
        pl.col("unit").max(),
        pl.col("matches").sum(),
        pl.col("is_estimated").all(),
    )
    return merged.select(FOUND_TEXTS.names()).cast(FOUND_TEXTS)


@dataclass(frozen=True)
class TableSummary:
    """What was found of a table of the index.

    kinds: how many of its rows have each kind; a row counts once, with the strictest. units: how many rows have more in one row
    of the corpus than their text, once each, by the most that one has. estimated: rows with no match but near ones whose
    similarity is estimated.
    short: rows with a text of 1 to 4 words that the corpus has, but not with the rest of its unit: not in `kinds`.
    """

    table: IndexTable
    is_available: bool
    kinds: Mapping[str, int]
    units: Mapping[str, int]
    estimated: int
    short: int

    @property
    def found(self) -> int:
        """How many rows were found."""
        return sum(self.kinds.values())

    @property
    def share(self) -> float:
        """The share of rows that were found, 0 to 1."""
        return self.found / self.table.rows if self.table.rows else 0.0


def summarise(scan: Scan) -> list[TableSummary]:
    """A summary for each table of the index, in its order."""
    found, short = scan.sums.found, scan.sums.short
    strictest = pl.coalesce(pl.when(kind).then(pl.lit(kind)) for kind in KINDS)
    by_kind = _counts(found.with_columns(kind=strictest), "kind")
    by_unit = _counts(found, "unit")
    estimated = _counts(found.filter("is_estimated"))
    short_alone = _counts(short.join(found, on=[*TABLE, "row"], how="anti"))
    return [
        TableSummary(
            table,
            is_available,
            {kind: by_kind[*table.key, kind] for kind in KINDS},
            {unit: by_unit[*table.key, rank] for unit, rank in UNIT_RANKS.items() if rank},
            estimated[table.key],
            short_alone[table.key],
        )
        for table, is_available in zip(scan.tables, scan.available, strict=True)
    ]


def _counts(frame: pl.DataFrame, *columns: str) -> Counter[tuple[Any, ...]]:
    """How many rows each table has, for each choice of values of the columns."""
    counted = frame.group_by(*TABLE, *columns).agg(__rows=pl.len())
    return Counter({row[:-1]: row[-1] for row in counted.iter_rows()})


SCHEMA = pa.schema(
    [
        pa.field(name, {pl.String: pa.string(), pl.Int64: pa.int64(), pl.Float64: pa.float64()}.get(kind, pa.bool_()))
        for name, kind in MATCH_SCHEMA.items()
    ]
)


def write_matches(scan: Scan, path: Path) -> None:
    """Write all matches as Parquet, with the columns of MATCH_SCHEMA, sorted by the first eleven.

    The bytes do not depend on how the corpus was divided.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part, pq.ParquetWriter(part, SCHEMA, compression="zstd", store_schema=False) as writer:
        matches = (
            result.matches.select(*MATCH_SCHEMA).to_arrow(compat_level=pl.CompatLevel.oldest())
            for result in scan.results()
        )
        for group in in_groups((table.cast(SCHEMA) for table in matches), ROW_GROUP_ROWS):
            writer.write_table(group, row_group_size=ROW_GROUP_ROWS)
        writer.add_key_value_metadata({MARK: "matches"})


def write_flags(scan: Scan, path: Path) -> None:
    """Write the rows of the index that were found as Parquet, to leave them out of an evaluation.

    Columns: dataset, version, config, split, row (String), kinds (list of String, the strictest first), matches (Int64: how many
    there are of all its texts), in the order of the first five.
    """
    key = ["dataset", "version", "config", "split", "row"]
    rows = scan.sums.found.group_by(key).agg(*(pl.col(kind).any() for kind in KINDS), pl.col("matches").sum())
    kinds = pl.concat_list(pl.when(kind).then(pl.lit(kind)) for kind in KINDS).list.drop_nulls()
    flags = rows.select(*key, kinds=kinds, matches="matches").sort(key)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part:
        flags.write_parquet(part, compression="zstd", row_group_size=ROW_GROUP_ROWS, metadata={MARK: "flags"})


def rows_to_drop(scan: Scan) -> pl.DataFrame:
    """The rows of the corpus with a match, by kind, as `write_clean` takes them: the columns of DROP_SCHEMA."""
    parts = [
        result.matches.select(file="corpus_file", row="corpus_row", reason="kind").unique() for result in scan.results()
    ]
    return pl.concat([pl.DataFrame(schema=DROP_SCHEMA), *parts])
