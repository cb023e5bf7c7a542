"""The rows of a training set for trainers: each query with its positives, and its negatives of all kinds in one list.

    provided  a b      mined  c d      random  d e      at most 4:  a b c d

Provided negatives come first, then mined, then random ones. A random one that was mined too is taken once.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders.errors import ReleaseError
from builders.tasks import Contrastive
from pipelines.exporting.releases import TrainingSet
from pipelines.release.parquet import describe_file
from pipelines.stages import BYTES, stage

BATCH = 2_000  # rows: of 9 texts of 512 tokens, about 50 MB
KINDS = ("provided", "mined", "random")
MINED = "mined"
COLUMNS = {name: kind for name, kind in Contrastive.type.layouts[0].columns.items() if name != "id"}


@dataclass
class Tally:
    """The rows and texts of a set that were written and those that were not, counted on the way.

    read: rows of the release. rows: rows written. dropped: rows that were not, by reason. left_out: texts of other rows that were
    not written. negatives: those written, by kind.
    """

    read: int = 0
    rows: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    negatives: Counter[str] = field(default_factory=Counter)

    def count_written(self, batch: pl.DataFrame, positives: int) -> None:
        """Count rows as they are written. batch: as read_pairs yields it. positives: how many of its positives are written."""
        self.left_out["positives"] += int(batch["positives"].list.len().sum()) - positives
        self.left_out["negatives"] += int(batch["available"].sum()) - int(batch["negatives"].list.len().sum())
        kinds = batch["kinds"].explode().drop_nulls().value_counts()
        self.negatives.update(dict(kinds.iter_rows()))


def read_pairs(one: TrainingSet, negatives: int, tally: Tally) -> Iterator[pl.DataFrame]:
    """The rows of a set in batches of at most BATCH, in order.

    negatives: the most of a row. Columns: query (String); positives (List(String)); negatives, kinds (List(String), as long as
    each other); available (UInt32: how many negatives there were).

    Raises ReleaseError for files that are not those of the manifest, and for rows that are not those of training data.
    """
    _refuse_damaged_files(one)
    columns = _columns(one)
    with stage(f"exporting {one.name}", total=one.table.rows, unit="rows") as advance:
        for batch in _read_batches(one, columns):
            _refuse_damaged_rows(batch, one)
            tally.read += batch.height
            yield join_negatives(batch, negatives)
            advance(batch.height)
    if tally.read != one.table.rows:
        raise _damaged(one, f"{tally.read:,} rows", expected=f"{one.table.rows:,}")


def join_negatives(batch: pl.DataFrame, most: int) -> pl.DataFrame:
    """Rows of a release with their negatives in one list; see read_pairs for the columns."""
    text, kind = pl.col("text"), pl.col("kind")
    rows = batch.with_row_index("row")
    lists = [rows.select("row", text="negatives", kind="negative_kinds").explode("text", "kind")]
    if MINED in batch.columns:
        lists.append(rows.select("row", text=MINED).explode("text").with_columns(kind=pl.lit(MINED)))
    order = kind.replace_strict({name: place for place, name in enumerate(KINDS)}, return_dtype=pl.UInt8)
    both = (kind == "random") & (kind == MINED).any().over("row", "text")
    every = pl.concat(lists).filter(text.is_not_null())  # an empty list is exploded into a null
    joined = (
        every.filter(~both)
        .sort("row", order, maintain_order=True)
        .group_by("row", maintain_order=True)
        .agg(negatives=text.head(most), kinds=kind.head(most), available=pl.len())
    )
    return (
        rows.select("row", "query", "positives")
        .join(joined, on="row", how="left", maintain_order="left")
        .with_columns(pl.col("negatives", "kinds").fill_null([]), pl.col("available").fill_null(0))
        .drop("row")
    )


def _columns(one: TrainingSet) -> list[str]:
    """The columns to read. Raises ReleaseError where the table lacks one, or has one of another type."""
    types = {column.name: column.type for column in one.table.columns}
    wanted = COLUMNS | ({MINED: "list<string>"} if MINED in types else {})
    for name, kind in wanted.items():
        if types.get(name) != kind:
            raise _damaged(one, f"column {name}: {types.get(name, 'missing')}", expected=kind)
    return list(wanted)


def _refuse_damaged_files(one: TrainingSet) -> None:
    release_dir, table = one.release.release_dir, one.table
    total = sum(file.bytes for file in table.files)
    with stage(f"comparing files of {one.name}", total=total, unit=BYTES) as advance:
        for file in table.files:
            if not (release_dir / file.path).is_file():
                raise _damaged(one, f"{file.path} is missing")
            if describe_file(release_dir / file.path, release_dir) != file:
                raise _damaged(one, f"{file.path} has other bytes than the manifest says")
            advance(file.bytes)


def _read_batches(one: TrainingSet, columns: list[str]) -> Iterator[pl.DataFrame]:
    """The rows of all files, in batches whose borders follow from the rows alone."""
    for file in one.table.files:
        try:
            with pq.ParquetFile(one.release.release_dir / file.path) as parquet:
                for number in range(parquet.num_row_groups):
                    group = pl.DataFrame(pl.from_arrow(parquet.read_row_group(number, columns=columns)))
                    yield from group.select(columns).iter_slices(BATCH)
        except (OSError, pa.ArrowException, pl.exceptions.PolarsError, KeyError, ValueError) as error:
            raise _damaged(one, f"{file.path}: {error}"[:300]) from None


def _refuse_damaged_rows(batch: pl.DataFrame, one: TrainingSet) -> None:
    """Raise ReleaseError for what no build writes: nulls, a row without a positive, kinds that do not fit the negatives."""
    expected = {"string": pl.String(), "list<string>": pl.List(pl.String)}
    types = {name: expected[COLUMNS.get(name, "list<string>")] for name in batch.columns}
    if dict(batch.schema) != types:
        raise _damaged(one, f"columns of other types: {dict(batch.schema)}"[:300])
    lists = [name for name, dtype in types.items() if dtype != pl.String()]
    has_null = [pl.any_horizontal(pl.all().is_null())]
    has_null += [pl.col(name).list.eval(pl.element().is_null()).list.any() for name in lists]
    problems = {
        "a null": pl.any_horizontal(has_null),
        "a row without a positive": pl.col("positives").list.len() == 0,
        "another number of kinds than of negatives": pl.col("negatives").list.len()
        != pl.col("negative_kinds").list.len(),
        "an unknown kind of negative": pl.col("negative_kinds").list.eval(~pl.element().is_in(KINDS)).list.any(),
    }
    for problem, condition in problems.items():
        if batch.select(condition.any()).item():
            raise _damaged(one, problem)


def _damaged(one: TrainingSet, found: str, expected: str | None = None) -> ReleaseError:
    return ReleaseError(
        "the release is damaged",
        where=f"{one.release.release_dir}, config {one.name}",
        found=found,
        expected=expected,
        todo=f"embedding-datasets check {one.release.release_dir} says what is wrong; build it again",
    )
