"""The index of texts, as a file and in memory: fingerprints of the texts of benchmarks, each with the row it comes from.

It is a Parquet file, so that other programs can read it; docs/contamination.md describes it to the byte. Its bytes depend on
its texts alone. Pages have checksums, and the list of tables has a digest: damage is an error, never a wrong match.

Equal texts are one group, so that a text that a thousand rows share is looked up once. Most texts of a corpus are in no index.
A bitmap says so in one read of memory per number; only what it lets through is searched in the sorted numbers.
"""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from builders.errors import SourceError
from pipelines.audit.near_duplicates import BANDS
from pipelines.audit.shingles import Ragged, offsets_from_lengths, take_rows, take_slices
from pipelines.decontamination.fingerprints import ANCHOR_WORDS, probe_digest
from pipelines.process.files import replacing

Array = npt.NDArray[Any]

FORMAT = 1
KEY = b"embedding-datasets.contamination-index"
ROW_GROUP_ROWS = 65_536
MAX_ENTRIES = 1 << 32
NUMBERS = pa.list_(pa.field("element", pa.uint32(), nullable=False))
COLUMNS = {  # in the order of the fields of TextIndex
    "table": pa.uint16(), "row": pa.string(), "exact": pa.uint64(), "folded": pa.uint64(), "words": pa.uint64(),
    "rough": pa.uint32(), "anchor": pa.uint32(), "n_words": pa.uint32(), "label": pa.uint64(), "label_name": pa.uint64(),
    "bands": NUMBERS, "positives": NUMBERS,
}  # fmt: skip
SCHEMA = pa.schema([pa.field(name, kind, nullable=False) for name, kind in COLUMNS.items()])
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
    """An index in memory: an array for each column of the file, and one value for each text in it.

    rows: the name of the row (pyarrow string array). See pipelines.decontamination.fingerprints for the other columns. labels,
    label_names: hashes (uint64) of the label as a number and by name, 0 for none. positives: the entries of a query's relevant
    documents.
    """

    tables: tuple[IndexTable, ...]
    table: Array
    rows: Any = field(repr=False)
    exact: Array
    folded: Array
    words: Array
    rough: Array
    anchor: Array
    counts: Array
    labels: Array
    label_names: Array
    bands: Ragged
    positives: Ragged


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: int
    probe: str
    entries: int
    tables: tuple[IndexTable, ...]


def write_index(path: Path, entries: Iterable[pa.Table], tables: list[IndexTable]) -> None:
    """Write an index, in groups of ROW_GROUP_ROWS however the entries are divided.

    entries: of SCHEMA. tables: may be filled while the entries are read; the list is written after the last of them.
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
        written, digests = 0, _ColumnDigests()
        with writer:
            for group in in_groups(entries, ROW_GROUP_ROWS):
                writer.write_table(group, row_group_size=ROW_GROUP_ROWS)
                written += group.num_rows
                for name in SCHEMA.names:
                    digests.update(name, group.column(name))
            if not written:
                writer.write_table(SCHEMA.empty_table())
            header = msgspec.json.encode(_Header(FORMAT, probe_digest(), written, tuple(tables)))
            digest = hashlib.sha256(header).hexdigest().encode()
            columns = msgspec.json.encode(digests.hexdigests())
            writer.add_key_value_metadata({KEY: header, KEY + b".sha256": digest, KEY + b".columns": columns})


class _ColumnDigests:
    """The SHA-256 of each column, however it is divided: of a list, of all lengths and of all values."""

    def __init__(self) -> None:
        self._streams = {name: (hashlib.sha256(), hashlib.sha256()) for name in SCHEMA.names}

    def update(self, name: str, column: pa.ChunkedArray) -> None:
        """Add the rows of a column, or of a part of it."""
        lengths, values = self._streams[name]
        if COLUMNS[name] == NUMBERS:
            lengths.update(pc.list_value_length(column).to_numpy().astype("<i8").data)
            values.update(pc.list_flatten(column).to_numpy().data)
        elif name == "row":
            lengths.update(pc.binary_length(column).to_numpy().astype("<i8").data)
            values.update("".join(column.to_pylist()).encode())
        else:
            values.update(column.to_numpy().data)

    def hexdigests(self) -> dict[str, str]:
        """The digests of what was added so far, by column."""
        return {
            name: hashlib.sha256(lengths.digest() + values.digest()).hexdigest()
            for name, (lengths, values) in self._streams.items()
        }


def read_index_tables(path: Path) -> tuple[IndexTable, ...]:
    """The list of tables of an index, read without its entries: damage to the entries is not noticed.

    Raises SourceError as read_index does.
    """
    with _open_index(path) as (_, header):
        return header.tables


def read_index(path: Path) -> TextIndex:
    """The index in a file.

    Raises SourceError for a file that is missing, damaged, of a later format, or not an index; and where this version computes
    other fingerprints than the one that wrote it.
    """
    with _open_index(path) as (parquet, header):
        index = TextIndex(header.tables, *_read_columns(parquet, header.entries))
    pa.default_memory_pool().release_unused()  # what the pages of the file were decoded to
    fault = _find_fault(index)
    if fault:
        raise _damaged(path, fault)
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
def _open_index(path: Path) -> Iterator[tuple[pq.ParquetFile, _Header]]:
    """The file of an index, for the time of the block; what cannot be read in it is a SourceError."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as parquet:
            yield parquet, _read_header(path, parquet)
    except FileNotFoundError:
        raise SourceError("index not found", where=str(path)) from None
    except (OSError, pa.ArrowException, ValueError, msgspec.MsgspecError) as error:
        raise _damaged(path, str(error)) from None


def _read_header(path: Path, parquet: pq.ParquetFile) -> _Header:
    metadata = parquet.metadata.metadata or {}
    if KEY not in metadata:
        raise SourceError(
            "not an index of texts",
            where=str(path),
            found="a Parquet file without the metadata of an index",
            todo="make one with embedding-datasets contamination index NAME... --output FILE",
        )
    text = metadata[KEY]
    if hashlib.sha256(text).hexdigest().encode() != metadata.get(KEY + b".sha256"):
        raise _damaged(path, "the list of tables has another digest than was written")
    found = msgspec.json.decode(text)["format"]
    if found != FORMAT:
        raise SourceError(
            "the index has a format that this version cannot read",
            where=str(path),
            found=f"format {found}",
            expected=f"format {FORMAT}",
            todo="update this package, or build the index again" if found > FORMAT else REBUILD,
        )
    header = msgspec.json.decode(text, type=_Header)
    if header.probe != probe_digest():
        raise SourceError(
            "the index was made with other versions of libraries, which compute other fingerprints",
            where=str(path),
            found=f"probe {header.probe[:16]}",
            expected=f"probe {probe_digest()[:16]}",
            todo=REBUILD,
        )
    return header


def _read_columns(parquet: pq.ParquetFile, entries: int) -> Iterator[Any]:
    """The columns in their order: arrays for numbers, Ragged for lists, a pyarrow array for the names of rows.

    Raises ValueError where types or number of rows are not those of an index.
    """
    found = parquet.schema_arrow.remove_metadata()
    if not found.equals(SCHEMA):
        raise ValueError(f"the columns are {', '.join(f'{column.name} {column.type}' for column in found)}"[:300])
    if parquet.metadata.num_rows != entries:
        raise ValueError(f"{parquet.metadata.num_rows:,} texts, {entries:,} expected")
    digests = _ColumnDigests()
    # An index of 0.2.0 has no digests of its columns.
    written = msgspec.json.decode((parquet.metadata.metadata or {}).get(KEY + b".columns", b"{}"), type=dict[str, str])
    for name in SCHEMA.names:  # each by itself, so that no column is in memory twice for long
        column = parquet.read([name], use_threads=False).column(0)
        digests.update(name, column)
        if len(column) != entries or (written and written.get(name) != digests.hexdigests()[name]):
            raise ValueError(f"the column {name} has {len(column):,} values, or others than were written")
        if COLUMNS[name] == NUMBERS:
            lengths = pc.list_value_length(column).to_numpy()
            yield Ragged(pc.list_flatten(column).to_numpy(), offsets_from_lengths(lengths))
        else:
            yield column.combine_chunks() if name == "row" else column.to_numpy()


def _find_fault(index: TextIndex) -> str:
    """What is wrong with the columns of an index; empty where nothing is."""
    rows = np.bincount(index.table, minlength=len(index.tables)).tolist()
    if rows != [table.rows for table in index.tables]:
        return "tables with other numbers of rows than the list of tables says"
    if (index.bands.lengths % BANDS).any():
        return f"bands that are not {BANDS} numbers each"
    if len(index.positives.values) and index.positives.values.max() >= len(index.table):
        return "a query with a document that the index does not have"
    return ""


def _damaged(path: Path, found: str) -> SourceError:
    return SourceError(
        "the index cannot be read: it is truncated, damaged, or not an index of texts",
        where=str(path),
        found=found[:300],
        todo="fetch it again, or build it again",
    )


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


@dataclass(frozen=True)
class Links:
    """Texts that make a whole together: both texts of a row, or a query and a relevant document.

    partners: for each group, the groups that it is linked with, sorted; a pair of groups is listed for one of the two.
    entries: for each pair, all links between rows, each as an array of three: the entry of one text, that of the other, and PAIR
    or POSITIVE.
    """

    partners: Ragged
    entries: Ragged


@dataclass(frozen=True)
class Lookup:
    """An index arranged for lookups.

    index: without its bands and positives, which take half of the memory and are arranged here. group_of_entry: the group of
    each entry, -1 for an empty text. entries: the entries of each group. exact, folded, words, anchor, counts: as in the index,
    for each group. rough: the groups by the number of their whole text. anchors: the texts of ANCHOR_WORDS words or more by the
    number of their first words, as a number of run_lengths; these are the different numbers of words of texts that begin so.
    bands: for each band, the sets by number. group_of_set: sets are the bands of a group, one or two for each.
    """

    index: TextIndex
    group_of_entry: Array
    entries: Ragged
    exact: Array
    folded: Array
    words: Array
    anchor: Array
    counts: Array
    rough: Numbers
    anchors: Numbers
    run_lengths: Ragged
    bands: tuple[Numbers, ...]
    group_of_set: Array
    links: Links


def load_lookup(path: Path) -> Lookup:
    """The index in a file, arranged for lookups: about 400 bytes of memory for each of its texts.

    Raises SourceError as read_index does.
    """
    return arrange_index(read_index(path))


def arrange_index(index: TextIndex) -> Lookup:
    """Arrange an index for lookups."""
    exact, firsts, group_of_entry = np.unique(index.exact, return_index=True, return_inverse=True)
    if len(exact) and exact[0] == 0:
        exact, firsts, group_of_entry = exact[1:], firsts[1:], group_of_entry - 1
    used = np.flatnonzero(group_of_entry >= 0)
    groups = group_of_entry[used]
    lengths = np.bincount(groups, minlength=len(exact))
    entries = Ragged(used[np.argsort(groups, kind="stable")], offsets_from_lengths(lengths))
    anchor, counts = index.anchor[firsts], index.counts[firsts]
    anchors, run_lengths = _arrange_anchors(anchor, counts)
    bands, group_of_set = _arrange_bands(index.bands, firsts)
    nothing = Ragged(np.empty(0, np.uint32), np.zeros(1, np.int64))
    return Lookup(
        replace(index, bands=nothing, positives=nothing),
        group_of_entry,
        entries,
        exact,
        index.folded[firsts],
        index.words[firsts],
        anchor,
        counts,
        arrange_numbers(index.rough[firsts], np.arange(len(firsts))),
        anchors,
        run_lengths,
        bands,
        group_of_set,
        _arrange_links(index, group_of_entry, len(exact)),
    )


def arrange_numbers(numbers: Array, owners: Array, *, bits_per_number: int = 64) -> Numbers:
    """Numbers (uint32) for lookup.

    bits_per_number: of the bitmap, or up to twice as many. With 64, it lets one of 64 other numbers through, or fewer.
    """
    bits = min(max(int(len(numbers) * bits_per_number).bit_length(), MIN_BITS), MAX_BITS)
    keys = np.sort(
        numbers.astype(np.uint64) << np.uint64(32) | owners.astype(np.uint64)
    )  # several times as fast as argsort
    ordered, owners = (keys >> np.uint64(32)).astype(np.uint32), keys.astype(np.uint32)
    is_used = np.zeros(1 << bits, np.bool_)
    is_used[ordered >> np.uint32(32 - bits)] = True
    return Numbers(ordered, owners, np.packbits(is_used, bitorder="little"), 32 - bits)


def _arrange_anchors(anchor: Array, counts: Array) -> tuple[Numbers, Ragged]:
    has_anchor = counts >= ANCHOR_WORDS
    combined = np.unique(anchor[has_anchor].astype(np.uint64) << np.uint64(32) | counts[has_anchor])
    numbers, lengths = np.unique((combined >> np.uint64(32)).astype(np.uint32), return_counts=True)
    run_lengths = Ragged((combined & np.uint64(0xFFFFFFFF)).astype(np.int64), offsets_from_lengths(lengths))
    return arrange_numbers(numbers, np.arange(len(numbers)), bits_per_number=128), run_lengths


def _arrange_bands(bands: Ragged, firsts: Array) -> tuple[tuple[Numbers, ...], Array]:
    of_groups = take_rows(bands, firsts)
    numbers = of_groups.values.reshape(-1, BANDS)
    sets = np.arange(len(numbers))
    arranged = (arrange_numbers(numbers[:, band], sets, bits_per_number=16) for band in range(BANDS))
    return tuple(arranged), np.repeat(np.arange(len(firsts)), of_groups.lengths // BANDS)


def _arrange_links(index: TextIndex, group_of_entry: Array, groups: int) -> Links:
    of_first = [number for number, table in enumerate(index.tables) if table.pair is not None and table.pair > number]
    left = np.flatnonzero(np.isin(index.table, of_first))
    queries = np.repeat(np.arange(len(index.exact)), index.positives.lengths)
    ones = np.concatenate([left, queries])
    others = np.concatenate([left + 1, index.positives.values.astype(np.int64)])
    kinds = np.repeat([PAIR, POSITIVE], [len(left), len(queries)])
    links = np.stack([ones, others, kinds], axis=1)
    links = links[(group_of_entry[ones] >= 0) & (group_of_entry[others] >= 0)]
    one, other = group_of_entry[links[:, 0]], group_of_entry[links[:, 1]]
    # A text such as `yes` may have many partners. Each pair is kept with the one that has fewer, so that few are looked at.
    degrees = np.bincount(np.concatenate([one, other]), minlength=groups)
    is_reversed = degrees[one] > degrees[other]
    first, second = np.where(is_reversed, other, one), np.where(is_reversed, one, other)
    keys = first * max(groups, 1) + second
    order = np.argsort(keys, kind="stable")
    _, pairs = np.unique(keys[order], return_index=True)
    offsets = np.searchsorted(first[order][pairs], np.arange(groups + 1))
    return Links(Ragged(second[order][pairs], offsets), Ragged(links[order], np.append(pairs, len(links))))
