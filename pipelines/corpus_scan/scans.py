"""A scan from the corpus and the index to its matches: runs the partitions, and adds up what was found.

What was found stays in files, one for each partition, and is read again for every output. In memory is only what the size of the
index bounds: which of its rows were found.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

import polars as pl

from pipelines import installation
from pipelines.corpus_scan.checkpoints import open_checkpoints, scan_digest
from pipelines.corpus_scan.corpora import Corpus
from pipelines.corpus_scan.engines import RAY, Engine, run_partitions
from pipelines.corpus_scan.index_file import IndexTable, read_index_tables
from pipelines.corpus_scan.indexing import IndexedDataset
from pipelines.corpus_scan.lookup import Lookup
from pipelines.corpus_scan.matching import KINDS, TABLE_SCHEMA, short_texts
from pipelines.corpus_scan.partitions import Partition
from pipelines.corpus_scan.scanning import PartitionMatches, load_scan, read_scan, scan_partition
from pipelines.corpus_scan.stored_texts import StoredTexts, write_texts
from pipelines.files import file_sha256

TABLE = list(TABLE_SCHEMA)
# The more of the benchmark a row of the corpus has, the higher.
UNIT_RANKS = {"text": 0, "labelled text": 1, "pair": 2, "query with positive": 3, "labelled pair": 4}
FOUND_SCHEMA = pl.Schema(
    TABLE_SCHEMA
    | {"row": pl.String}
    | dict.fromkeys(KINDS, pl.Boolean)
    | {"unit": pl.Int64, "matches": pl.Int64, "is_estimated": pl.Boolean}
)
MAX_WAITING = 500_000  # rows of partial sums before they are added up


@dataclass(frozen=True)
class Scan:
    """What a scan found.

    tables: of the index. at_hand: for each, whether its texts are on this machine. folder: with the results of partitions. index,
    texts: the files that the search read.
    """

    corpus: Corpus
    tables: tuple[IndexTable, ...]
    at_hand: tuple[bool, ...]
    threshold: float
    folder: Path = field(repr=False)
    index: Path = field(repr=False)
    texts: Path | None = field(repr=False)

    @cached_property
    def partitions(self) -> list[Partition]:
        """The partitions in such an order that their matches follow each other in the order of the contract."""
        return sorted(self.corpus.partitions, key=lambda one: (one.file.name.encode(), one.first_row, one.number))

    def results(self) -> Iterator[PartitionMatches]:
        """The results of `partitions`."""
        return read_scan(self.folder, self.partitions)

    @cached_property
    def sums(self) -> "Sums":
        """What was found of each row of the index, and how much was read."""
        return _add_up(self)

    def load(self) -> tuple[Lookup, StoredTexts | None]:
        """The index and its texts at hand, as the search in this process loaded them."""
        return load_scan(self.index, self.texts)


@dataclass(frozen=True)
class Sums:
    """Sums over a scan.

    found: a row for each text of the index that was found, with the columns of FOUND_SCHEMA: whether it has each kind; unit: a
    value of UNIT_RANKS, the highest; is_estimated: whether all its matches are. short: the columns of `short_texts`. rows,
    texts: of the corpus; rows_found: of the corpus, with a match.
    """

    found: pl.DataFrame
    short: pl.DataFrame
    rows: int
    texts: int
    rows_found: int

    @property
    def share_found(self) -> float:
        """The share of the rows of the corpus with a match, 0 to 1."""
        return self.rows_found / self.rows if self.rows else 0.0


@contextmanager
def open_scan(
    corpus: Corpus,
    index: Path,
    datasets: Sequence[IndexedDataset],
    engine: Engine,
    *,
    checkpoints: Path,
    threshold: float,
) -> Iterator[Scan]:
    """Search a corpus, for the time of the block, after which the results of its partitions are removed.

    Where the block ends with an error they stay, and the next scan of the same resumes. datasets: those whose texts are at hand.
    checkpoints: a folder for these results and scratch files, which all machines of an engine see.

    Raises SourceError for a corpus or an index that cannot be read, and what run_partitions raises.
    """
    tables, known = read_index_tables(index), {one.identity for one in datasets}
    at_hand = tuple(one.identity in known for one in tables)
    options = {
        "index": file_sha256(index),
        "at_hand": at_hand,
        "threshold": threshold,
        "code": installation.describe(),
    }
    checkpoints.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix=".texts-", dir=checkpoints.resolve()) as scratch,
        open_checkpoints(checkpoints, scan_digest(corpus.partitions, options)) as folder,
    ):
        texts = Path(scratch) / "texts.arrow" if any(at_hand) else None
        if texts is not None:
            write_texts(tables, datasets, texts)
        threads = 1 if engine.name == RAY else None  # a task of Ray has one processor
        work = partial(scan_partition, index=index.resolve(), texts=texts, threshold=threshold, threads=threads)
        run_partitions(corpus.partitions, work, engine, folder)
        yield Scan(corpus, tables, at_hand, threshold, folder, index.resolve(), texts)


def _add_up(scan: Scan) -> Sums:
    waiting, short = [pl.DataFrame(schema=FOUND_SCHEMA)], list[pl.DataFrame]()
    rows = texts = rows_found = 0
    for result in scan.results():
        matches = result.matches
        rows, texts = rows + result.rows, texts + result.texts
        rows_found += matches.select("corpus_file", "corpus_row").n_unique() if len(matches) else 0
        waiting.append(_merge(_as_found(matches)))
        if sum(map(len, waiting[1:])) > MAX_WAITING:
            waiting = [_merge(pl.concat(waiting))]
        if len(result.short):
            short.append(result.short)
    found = _merge(pl.concat(waiting)).sort(*TABLE, "row")
    counted = pl.DataFrame(schema=TABLE_SCHEMA | {"row": pl.String, "corpus_rows": pl.Int64})
    if short:
        counted = short_texts(scan.load()[0], short)
    return Sums(found, counted, rows, texts, rows_found)


def _as_found(matches: pl.DataFrame) -> pl.DataFrame:
    return matches.select(
        *TABLE,
        "row",
        *((pl.col("kind") == kind).alias(kind) for kind in KINDS),
        pl.col("unit").replace_strict(UNIT_RANKS, return_dtype=pl.Int64),
        pl.lit(1, pl.Int64).alias("matches"),
        "is_estimated",
    )


def _merge(found: pl.DataFrame) -> pl.DataFrame:
    """One row for each text of the index."""
    merged = found.group_by(*TABLE, "row").agg(
        *(pl.col(kind).any() for kind in KINDS),
        pl.col("unit").max(),
        pl.col("matches").sum(),
        pl.col("is_estimated").all(),
    )
    return merged.select(FOUND_SCHEMA.names()).cast(FOUND_SCHEMA)
