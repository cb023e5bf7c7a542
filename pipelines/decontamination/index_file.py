"""The index of texts, as a file and in memory: fingerprints of the texts of benchmarks, each with the row it comes from.

It is a Parquet file, so that other programs can read it; docs/contamination.md describes it to the byte. Its bytes depend on
its texts alone. Pages have checksums, and the list of tables has a digest: damage is an error, never a wrong match.

Equal texts are one group, so that a text that a thousand rows share is looked up once. Most texts of a corpus are in no index.
A bitmap says so in one read of memory per number; only what it lets through is searched in the sorted numbers.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from builders.errors import SourceError, UsageError
from builders.shaping.benchmark_index import KEY, header_metadata, read_header
from pipelines.audit.copies.near_duplicates import BANDS
from pipelines.audit.copies.shingles import Array, Ragged, offsets_from_lengths, take_rows, take_slices
from pipelines.decontamination.fingerprints import (
    ANCHOR_WORDS,
    MAX_SEEDS,
    SEED_WORDS,
    probe_digest,
    seed_positions,
)
from pipelines.decontamination.views import VIEWS
from pipelines.process.files import SharedFile, replacing

FORMAT = 2
RECORD = KEY + b".record"
FOLDING = 1  # of builders.shaping.folding.FOLDINGS: that of the columns folded, words and letters
ROW_GROUP_ROWS = 65_536
MAX_ENTRIES, MAX_TABLES = 1 << 32, 1 << 16
NUMBERS = pa.list_(pa.field("element", pa.uint32(), nullable=False))
COLUMNS = {
    "table": pa.uint16(), "row": pa.string(), "exact": pa.uint64(), "folded": pa.uint64(), "words": pa.uint64(),
    "rough": pa.uint32(), "anchor": pa.uint32(), "n_words": pa.uint32(), "label": pa.uint64(), "label_name": pa.uint64(),
    "bands": NUMBERS, "positives": NUMBERS,
}  # fmt: skip
COLUMNS_2 = COLUMNS | {"letters": pa.uint64(), "rough_letters": pa.uint32(), "seeds": NUMBERS}
SCHEMAS = {
    number: pa.schema([pa.field(name, kind, nullable=False) for name, kind in columns.items()])
    for number, columns in ((1, COLUMNS), (2, COLUMNS_2))
}
SCHEMA = SCHEMAS[FORMAT]
PRINTS = {  # the columns that fingerprint_texts computes
    number: [name for name in schema.names if name not in ("table", "row", "label", "label_name", "positives")]
    for number, schema in SCHEMAS.items()
}
REPEATED = ["table", "label", "label_name"]  # columns with few values
REBUILD = "build the index again with this version: embedding-datasets contamination index"


@dataclass(frozen=True)
class IndexTable:
    """A column of texts in an index, and the release it comes from.

    config, split: as the dataset itself names them. rows: of the table, so entries of the index. content_sha256: of the release;
    empty for a dataset without one. pair: the number of the table with the other texts of the same rows, None where a row has
    one text; of a row with two, the entry of the first table comes right before that of the second.
    """

    dataset: str
    version: str
    content_sha256: str
    config: str
    split: str
    column: str
    task: str
    languages: tuple[str, ...]
    rows: int
    pair: int | None = None

    @property
    def identity(self) -> tuple[str, str, str]:
        """dataset, version and content_sha256: the release that the texts come from."""
        return self.dataset, self.version, self.content_sha256

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """dataset, version, config, split and column, which name a table in matches."""
        return self.dataset, self.version, self.config, self.split, self.column


@dataclass(frozen=True)
class TextIndex:
    """An index in memory.

    columns: those of the file, by name: arrays of numbers, Ragged for lists, a pyarrow array for the names of rows. Those that
    the format of the file lacks are 0 or empty. views: those under which its texts are looked for, none for the first format.
    """

    tables: tuple[IndexTable, ...]
    columns: Mapping[str, Any] = field(repr=False)
    views: tuple[str, ...] = ()


class IndexHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an index says of itself: its format, the fingerprints of fixed texts, how many entries it has, its tables."""

    format: int
    probe: str
    entries: int
    tables: tuple[IndexTable, ...]
    folding: int = FOLDING
    views: tuple[str, ...] = ()


class Unread(msgspec.Struct, frozen=True):
    """A dataset that an index should have, and that it lacks at least in part. version: a commit; tasks: those of mteb."""

    dataset: str
    reason: str
    version: str = ""
    tasks: tuple[str, ...] = ()


class Record(msgspec.Struct, frozen=True):
    """What an index was made of. source: `MTEB(rus, v1.1) of mteb 2.26.24`. licenses: as mteb states them, by dataset."""

    source: str = ""
    licenses: dict[str, str] = {}
    unread: tuple[Unread, ...] = ()


def write_index(
    path: Path, entries: Iterable[pa.Table], tables: list[IndexTable], record: Record | None = None
) -> None:
    """Write an index, in groups of ROW_GROUP_ROWS however the entries are divided.

    entries: of SCHEMA. tables: may be filled while the entries are read; the list is written after the last of them. record: for
    read_record; an index without one has the same bytes as before there were records.
    """
    with replacing(path) as part:
        writer = pq.ParquetWriter(
            part,
            SCHEMA,
            compression="zstd",
            compression_level=1,
            use_dictionary=REPEATED,
            write_statistics=False,
            write_page_checksum=True,
            store_schema=False,
            version="2.6",
        )
        written, digests = 0, {name: (hashlib.sha256(), hashlib.sha256()) for name in SCHEMA.names}
        with writer:
            for group in in_groups(entries, ROW_GROUP_ROWS):
                writer.write_table(group, row_group_size=ROW_GROUP_ROWS)
                written += group.num_rows
                for name in SCHEMA.names:
                    for digest, values in zip(digests[name], _parts(group.column(name)), strict=True):
                        digest.update(values.data)
            if not written:
                writer.write_table(SCHEMA.empty_table())
            views = tuple(view.name for view in VIEWS)
            probe = probe_digest(PRINTS[FORMAT])
            header = msgspec.json.encode(IndexHeader(FORMAT, probe, written, tuple(tables), FOLDING, views))
            columns = msgspec.json.encode({name: _column_digest(*both) for name, both in digests.items()})
            made_of = {} if record is None else header_metadata(RECORD, msgspec.json.encode(record, order="sorted"))
            writer.add_key_value_metadata(header_metadata(KEY, header) | {KEY + b".columns": columns} | made_of)


def join_indexes(paths: Sequence[Path], output: Path, record: Record) -> list[IndexTable]:
    """Write the texts of several indexes of this version as one, in their order, and return its tables.

    It has the bytes of an index that is made of all these datasets at once. Raises SourceError as read_index does, UsageError for
    more texts or tables than an index can hold.
    """
    tables: list[IndexTable] = []
    write_index(output, _join_entries(paths, tables), tables, record)
    return tables


def _join_entries(paths: Sequence[Path], tables: list[IndexTable]) -> Iterator[pa.Table]:
    """The entries of several indexes, whose tables follow each other in the list."""
    first = 0
    for path in paths:
        with _open_index(path) as (parquet, header):
            start = len(tables)
            require_room(first + header.entries, start + len(header.tables))
            tables += [
                table if table.pair is None else replace(table, pair=table.pair + start) for table in header.tables
            ]
            for group in range(parquet.num_row_groups):
                moved = pl.DataFrame(parquet.read_row_group(group)).with_columns(
                    (pl.col("table") + start).cast(pl.UInt16),
                    pl.col("positives").list.eval((pl.element() + first).cast(pl.UInt32)),
                )
                yield to_entries(moved)
            first += header.entries


def to_entries(frame: pl.DataFrame) -> pa.Table:
    """The entries of an index in a frame with its columns, in any order."""
    return frame.select(SCHEMA.names).to_arrow(compat_level=pl.CompatLevel.oldest()).cast(SCHEMA)


def require_room(entries: int, tables: int) -> None:
    """Raise UsageError for more texts, or tables, than an index can hold."""
    if entries > MAX_ENTRIES or tables > MAX_TABLES:
        raise UsageError(
            "too many texts for one index",
            expected=f"at most {MAX_ENTRIES:,} texts in {MAX_TABLES:,} tables",
            todo="make several",
        )


def _parts(column: pa.ChunkedArray) -> tuple[Array, Array]:
    """The lengths of the values of a column, none for numbers, and all values, one after the other."""
    if column.type == NUMBERS:
        return pc.list_value_length(column).to_numpy().astype("<i8"), pc.list_flatten(column).to_numpy()
    if pa.types.is_string(column.type):
        text = "".join(column.to_pylist()).encode()
        return pc.binary_length(column).to_numpy().astype("<i8"), np.frombuffer(text, np.uint8)
    return np.empty(0, "<i8"), column.to_numpy()


def _column_digest(lengths: Any, values: Any) -> str:
    """The digest of a column from the SHA-256 of all lengths, and that of all values."""
    return hashlib.sha256(lengths.digest() + values.digest()).hexdigest()


def read_index_header(path: Path) -> IndexHeader:
    """The header of an index, read without its entries: damage to these is not noticed. Raises SourceError as read_index does."""
    with _open_index(path) as (_, header):
        return header


def read_record(path: Path) -> Record:
    """What an index was made of; an empty record where it does not say so.

    Raises SourceError as read_index does.
    """
    with _open_index(path) as (parquet, _):
        metadata = parquet.metadata.metadata or {}
        return msgspec.json.decode(read_header(metadata, RECORD), type=Record) if RECORD in metadata else Record()


def read_index(path: Path | SharedFile) -> TextIndex:
    """The index in a file.

    Raises SourceError for a file that is missing, damaged, of a later format, or not an index; and where this version computes
    other fingerprints than the one that wrote it.
    """
    with _open_index(path) as (parquet, header):
        index = TextIndex(header.tables, dict(_read_columns(parquet, header)), header.views)
        _require_sound(index)
    pa.default_memory_pool().release_unused()  # what the pages of the file were decoded to
    return index


def in_groups(tables: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """The rows of tables as tables of `rows` rows, in one chunk each, however they were divided; the last may have fewer."""
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        while sum(map(len, waiting)) >= rows:
            joined = pa.concat_tables(waiting)
            yield joined.slice(0, rows).combine_chunks()
            waiting = [joined.slice(rows)]
    if sum(map(len, waiting)):
        yield pa.concat_tables(waiting).combine_chunks()


@contextmanager
def _open_index(index: Path | SharedFile) -> Iterator[tuple[pq.ParquetFile, IndexHeader]]:
    """The file of an index, for the time of the block; what cannot be read in it is a SourceError."""
    path, source = (index.path, pa.BufferReader(index.data)) if isinstance(index, SharedFile) else (index, index)
    try:
        with pq.ParquetFile(source, page_checksum_verification=True) as parquet:
            yield parquet, _read_header(path, parquet)
    except FileNotFoundError:
        raise SourceError("index not found", where=str(path)) from None
    except (OSError, pa.ArrowException, ValueError, msgspec.MsgspecError) as error:
        raise SourceError(
            "the index cannot be read: it is truncated, damaged, or not an index of texts",
            where=str(path),
            found=str(error)[:300],
            todo="fetch it again, or build it again",
        ) from None


def _read_header(path: Path, parquet: pq.ParquetFile) -> IndexHeader:
    metadata = parquet.metadata.metadata or {}
    if KEY not in metadata:
        raise SourceError(
            "not an index of texts",
            where=str(path),
            found="a Parquet file without the metadata of an index",
            todo="make one with embedding-datasets contamination index NAME... --output FILE",
        )
    text = read_header(metadata, KEY)
    found = msgspec.json.decode(text)["format"]
    if found not in SCHEMAS:
        raise SourceError(
            "the index has a format that this version cannot read",
            where=str(path),
            found=f"format {found}",
            expected=f"format {' or '.join(map(str, SCHEMAS))}",
            todo="update this package, or build the index again" if found > FORMAT else REBUILD,
        )
    header = msgspec.json.decode(text, type=IndexHeader)
    if header.probe != (probe := probe_digest(PRINTS[found])):
        raise SourceError(
            "the index was made with other versions of libraries, which compute other fingerprints",
            where=str(path),
            found=f"probe {header.probe[:16]}",
            expected=f"probe {probe[:16]}",
            todo=REBUILD,
        )
    return header


def _read_columns(parquet: pq.ParquetFile, header: IndexHeader) -> Iterator[tuple[str, Any]]:
    """The columns with their names; see TextIndex.

    Raises ValueError where types, values or the number of rows are not those of an index.
    """
    found, entries, schema = parquet.schema_arrow.remove_metadata(), header.entries, SCHEMAS[header.format]
    if not found.equals(schema):
        raise ValueError(f"the columns are {', '.join(f'{column.name} {column.type}' for column in found)}"[:300])
    if parquet.metadata.num_rows != entries:
        raise ValueError(f"{parquet.metadata.num_rows:,} texts, {entries:,} expected")
    # An index of 0.2.0 has no digests of its columns.
    written = msgspec.json.decode((parquet.metadata.metadata or {}).get(KEY + b".columns", b"{}"), type=dict[str, str])
    for name, kind in COLUMNS_2.items():  # each by itself, so that no column is in memory twice for long
        is_written = name in schema.names
        column = (
            parquet.read([name], use_threads=False).column(0)
            if is_written
            else pa.chunked_array([pa.repeat(pa.scalar([] if kind == NUMBERS else 0, kind), entries)])
        )
        lengths, values = _parts(column)
        digest = _column_digest(hashlib.sha256(lengths.data), hashlib.sha256(values.data))
        is_other = is_written and written and written.get(name) != digest
        if len(column) != entries or is_other:
            raise ValueError(f"the column {name} has {len(column):,} values, or others than were written")
        if name == "row":
            yield name, column.combine_chunks()
        else:
            yield name, Ragged(values, offsets_from_lengths(lengths)) if kind == NUMBERS else values


def _require_sound(index: TextIndex) -> None:
    """Raise ValueError where the columns of an index do not fit each other."""
    table, positives, seeds = (index.columns[name] for name in ("table", "positives", "seeds"))
    rows = np.bincount(table, minlength=len(index.tables)).tolist()
    faults = {
        "tables with other numbers of rows than the list of tables says": rows != [each.rows for each in index.tables],
        f"bands that are not {BANDS} numbers each": (index.columns["bands"].lengths % BANDS).any(),
        "more seeds than a text can have": (seeds.lengths > np.minimum(index.columns["n_words"], MAX_SEEDS)).any(),
        "a query with a document that the index does not have": (positives.values >= len(table)).any(),
    }
    for fault, is_so in faults.items():
        if is_so:
            raise ValueError(fault)


MIN_BITS, MAX_BITS = 10, 30
PAIR, POSITIVE = 1, 2  # what a link is: both texts of a row, or a query and a relevant document


@dataclass(frozen=True)
class Numbers:
    """Numbers (uint32), sorted, with the owner of each, and a bitmap of their first bits."""

    sorted: Array
    owners: Array
    bitmap: Array
    shift: int

    def may_have(self, numbers: Array) -> Array:
        """Whether each number may be among these; False is certain."""
        bits = numbers >> np.uint32(self.shift)
        found: Array = self.bitmap[bits >> np.uint32(3)] >> (bits & np.uint32(7)).astype(np.uint8) & np.uint8(1)
        return found.view(np.bool_)

    def ranges(self, numbers: Array) -> tuple[Array, Array]:
        """For each number, where its owners begin and end."""
        return np.searchsorted(self.sorted, numbers), np.searchsorted(self.sorted, numbers, "right")

    def find(self, numbers: Array) -> tuple[Array, Array]:
        """The position among `numbers` and the owner, for each owner of each of them."""
        candidates = np.flatnonzero(self.may_have(numbers))
        starts, stops = self.ranges(numbers[candidates])
        return np.repeat(candidates, stops - starts), take_slices(self.owners, starts, stops).values


GROUPS = 1 << 16
MAX_OWNERS = 64  # a seed of more texts is one of a notice or a template, and is not looked for


@dataclass(frozen=True)
class Lookup:
    """An index arranged for lookups.

    index: without its lists, which take half of the memory and are arranged here. entries: those of each group. texts: columns
    of the index, for each group: exact, folded, words, letters, n_words. rough, letters: the groups by the numbers of all words
    and of all letters. anchors: the different numbers of words of texts of ANCHOR_WORDS words or more, by the number of their
    first words. bands: for each band, the sets by number. group_of_set: sets are the bands of a group, one or two for each.
    seeds: by number, counted over all groups; first_seeds: the first of each group, and their number; seed_weights: the sum of
    the weights of each group, see pipelines.decontamination.candidates.

    pairs: groups of texts that make a whole together, each pair once, for the one that has fewer links: the column
    partner, and of its links the lists one and other (the entries of both) and unit (PAIR or POSITIVE). first_pairs: where the
    pairs of each group begin, and their number.
    """

    index: TextIndex
    entries: Ragged
    texts: Mapping[str, Array]
    rough: Numbers
    letters: Numbers
    anchors: Numbers
    bands: tuple[Numbers, ...]
    group_of_set: Array
    seeds: Numbers
    first_seeds: Array
    seed_weights: Array
    pairs: pl.DataFrame
    first_pairs: Array

    def first_entries(self, groups: pl.Series) -> Array:
        """The first entry of each group."""
        return self.entries.values[self.entries.offsets[groups]]


def arrange_index(index: TextIndex) -> Lookup:
    """Arrange an index for lookups: about 500 bytes of memory for each of its texts."""
    columns = index.columns
    exact, firsts, group_of_entry = np.unique(columns["exact"], return_index=True, return_inverse=True)
    if len(exact) and exact[0] == 0:
        exact, firsts, group_of_entry = exact[1:], firsts[1:], group_of_entry - 1
    used = np.flatnonzero(group_of_entry >= 0)
    groups = group_of_entry[used]
    lengths = np.bincount(groups, minlength=len(exact))
    entries = Ragged(used[np.argsort(groups, kind="stable")], offsets_from_lengths(lengths))
    texts = {name: columns[name][firsts] for name in ("exact", "folded", "words", "letters", "n_words")}
    anchored = firsts[texts["n_words"] >= ANCHOR_WORDS]
    anchors = np.unique(columns["anchor"][anchored].astype(np.uint64) << np.uint64(32) | columns["n_words"][anchored])
    of_groups = take_rows(columns["bands"], firsts)
    sets = of_groups.values.reshape(-1, BANDS)
    has_letters = np.flatnonzero(columns["rough_letters"][firsts])
    lists = ("bands", "positives", "seeds")
    return Lookup(
        TextIndex(index.tables, {name: column for name, column in columns.items() if name not in lists}, index.views),
        entries,
        texts,
        arrange_numbers(columns["rough"][firsts], np.arange(len(firsts))),
        arrange_numbers(columns["rough_letters"][firsts][has_letters], has_letters),
        arrange_numbers(anchors >> np.uint64(32), anchors & np.uint64(0xFFFFFFFF), bits_per_number=128),
        tuple(arrange_numbers(band, np.arange(len(sets)), bits_per_number=16) for band in sets.T),
        np.repeat(np.arange(len(firsts)), of_groups.lengths // BANDS),
        *_arrange_seeds(take_rows(columns["seeds"], firsts), texts["n_words"]),
        *_arrange_links(columns, index.tables, group_of_entry, len(exact)),
    )


def _arrange_seeds(seeds: Ragged, n_words: Array) -> tuple[Numbers, Array, Array]:
    """The seeds by number, the first one of each group, and the sum of the weights of each group."""
    numbers = arrange_numbers(seeds.values, np.arange(len(seeds.values)), bits_per_number=32)
    owners, count = np.empty(len(seeds.values), np.uint8), len(seeds.lengths)
    counts = np.unique(numbers.sorted, return_counts=True)[1]
    owners[numbers.owners] = np.repeat(counts.clip(max=MAX_OWNERS + 1).astype(np.uint8), counts)
    totals = np.zeros(count, np.float32)
    for start in range(0, count, GROUPS):  # a part at a time: what is computed of a seed takes many bytes
        stop = min(start + GROUPS, count)
        first, last = seeds.offsets[start], seeds.offsets[stop]
        groups = np.repeat(np.arange(start, stop), seeds.lengths[start:stop])
        weights = weigh_seeds(np.arange(first, last) - seeds.offsets[groups], n_words[groups], owners[first:last])
        totals[start:stop] = np.bincount(groups - start, weights, stop - start)
    return numbers, seeds.offsets, totals


def weigh_seeds(numbers: Array, n_words: Array, owners: Array) -> Array:
    """The weights of seeds: half of the words from the one before to the one after, divided by how many texts have the seed.

    numbers: of each seed in its text, from 0. n_words: of its text. owners: how many texts have it; with more than MAX_OWNERS, it
    has the weight 0.
    """
    last = np.minimum(n_words.astype(np.int64) - SEED_WORDS, MAX_SEEDS - 1)
    before, after = (seed_positions((numbers + step).clip(0, last), n_words) for step in (-1, 1))
    weights: Array = np.where(owners <= MAX_OWNERS, (after - before) / 2 / owners.clip(min=1), 0.0)
    return weights


def arrange_numbers(numbers: Array, owners: Array, *, bits_per_number: int = 64) -> Numbers:
    """Numbers (uint32) for lookup.

    bits_per_number: of the bitmap, or up to twice as many. With 64, it lets one of 64 other numbers through, or fewer.
    """
    bits = min(max(int(len(numbers) * bits_per_number).bit_length(), MIN_BITS), MAX_BITS)
    keys = np.sort(
        numbers.astype(np.uint64) << np.uint64(32) | owners.astype(np.uint64)
    )  # several times as fast as argsort
    ordered, owners = (keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32)
    bitmap, used = np.zeros(1 << bits - 3, np.uint8), ordered >> np.uint32(32 - bits)
    if len(used):  # a bit of a byte for each number; of the numbers in one byte, all bits at once
        places, values = used >> np.uint32(3), np.uint8(1) << (used & np.uint32(7)).astype(np.uint8)
        firsts = np.flatnonzero(np.append(True, places[1:] != places[:-1]))
        bitmap[places[firsts]] = np.bitwise_or.reduceat(values, firsts)
    return Numbers(ordered, owners, bitmap, 32 - bits)


def _arrange_links(
    columns: Mapping[str, Any], tables: Sequence[IndexTable], group_of_entry: Array, groups: int
) -> tuple[pl.DataFrame, Array]:
    positives = columns["positives"]
    of_first = [number for number, table in enumerate(tables) if table.pair is not None and table.pair > number]
    left = np.flatnonzero(np.isin(columns["table"], of_first))
    queries = np.repeat(np.arange(len(group_of_entry)), positives.lengths)
    ones = np.concatenate([left, queries])
    others = np.concatenate([left + 1, positives.values.astype(np.int64)])
    units = np.repeat([PAIR, POSITIVE], [len(left), len(queries)])
    links = pl.DataFrame({"one": ones, "other": others, "unit": units})
    links = links.with_columns(group=group_of_entry[ones], partner=group_of_entry[others])
    links = links.filter(pl.min_horizontal("group", "partner") >= 0)
    # A text such as `yes` may have many partners. Each pair is kept with the one that has fewer, so that few are looked at.
    degrees = np.bincount(np.concatenate([links["group"], links["partner"]]), minlength=groups)
    is_kept = pl.Series(degrees[links["group"]] <= degrees[links["partner"]])
    turned = links.filter(~is_kept).select(one="other", other="one", unit="unit", group="partner", partner="group")
    links = pl.concat([links.filter(is_kept), turned])
    pairs = links.group_by("group", "partner").agg("one", "other", "unit").sort("group")
    return pairs.drop("group"), np.searchsorted(pairs["group"], np.arange(groups + 1))
