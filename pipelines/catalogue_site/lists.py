"""Lists of the site as classic scripts, in bounded memory: rows, queries with their documents, findings, changes.

A list of records, such as the rows of a table, is a folder of pages of 1,000 records, `rows-0001.js` and so on, each one call:

    rows_push("table-1",1,[[0,"3f2c","A text"],...]);

Modules and fetch do not work where a page is opened from a folder; a classic script does. The values are JSON without `<`, so
that no text can end a script or open a tag, and without U+2028 and U+2029, which older browsers take for the end of a line.

A record is [position, name, value, ...]: the position of the row in its table, its name (pipelines.audit.findings), and its
values in the order of the columns.

A record is [row, position, values, twin, twin split, twin values]: the names of the row and of its twin (null where there is
none), the position of the row in its table (null where it is not known, -1 for a pair of query and document that is not judged),
and the values of both in the order of `columns`.

A record is [query, [[document, score], ...], [document, ...]]: the place of the query in the list of its table; every judged
document with its score, the highest first; and the candidates of the query (reranking) that nobody judged. A document is its
place in the list of the corpus, or its id where it is not in that list.

A record of removed and of added rows is [name, position, values]; one of changed rows is [name, position in the new version, old
values, new values]. Values are in the order of the columns of the version that they are of.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from cards.manifest import Manifest
from pipelines.audit.findings import (
    OWN_COLUMNS,
    FindingRows,
    hash_rows,
    hash_values,
    list_rows,
    name_rows,
    rows_at,
)
from pipelines.audit.tables import JUDGED_TABLES, Frames, row_id
from pipelines.release.comparison import (
    Change,
    RowMatch,
    compare_table,
    pair_tables,
)

PAGE_RECORDS = 1_000
LARGEST_NUMBER = 2**53  # beyond it, JavaScript rounds whole numbers
ESCAPES = ((b"<", b"\\u003c"), ("\u2028".encode(), b"\\u2028"), ("\u2029".encode(), b"\\u2029"))


@dataclass(frozen=True)
class RecordList:
    """A list of records on disk. folder: below that of the page which shows it."""

    folder: str
    records: int
    pages: int


def as_json(value: Any) -> bytes:
    """A value as JSON that may be part of a script or of a data block of a page.

    A character that UTF-8 cannot hold (half of a pair of surrogates) becomes U+FFFD, a number that is not finite null, and a
    whole number that JavaScript would round its text.
    """
    try:
        text = orjson.dumps(value, option=orjson.OPT_STRICT_INTEGER)
    except (TypeError, ValueError):
        text = orjson.dumps(_portable(value))
    for character, escape in ESCAPES:
        text = text.replace(character, escape)
    return text


def _portable(value: Any) -> Any:
    match value:
        case str():
            return _replace_surrogates(value)
        case bool() | None:
            return value
        case int():
            return value if abs(value) < LARGEST_NUMBER else str(value)
        case dict():
            return {_replace_surrogates(str(key)): _portable(item) for key, item in value.items()}
        case list() | tuple():
            return [_portable(item) for item in value]
        case _:
            return value


def _replace_surrogates(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def write_list(page_dir: Path, folder: str, records: Iterable[Any]) -> RecordList:
    """Write records as a list below the folder of a page. They are read one page at a time."""
    (page_dir / folder).mkdir(parents=True)
    source, pages, written = iter(records), 0, 0
    while page := list(islice(source, PAGE_RECORDS)):
        pages, written = pages + 1, written + len(page)
        call = b"rows_push(%b,%d,%b);\n" % (as_json(folder), pages, as_json(page))
        (page_dir / folder / f"rows-{pages:04d}.js").write_bytes(call)
    return RecordList(folder, written, pages)


MAX_BYTES = 200_000_000  # of the values of a table whose rows are all shown
READ_ROWS = 20_000  # read at a time: a row group of a release


ALL_ROWS = pl.lit(True)


def write_rows(page_dir: Path, folder: str, table: pl.LazyFrame, shown: pl.Expr = ALL_ROWS) -> RecordList:
    """Write the rows of a table as a list. shown: which rows, by their columns and `__position`."""
    return write_list(page_dir, folder, _row_records(table, shown))


def listed_ids(table: pl.LazyFrame, shown: pl.Expr = ALL_ROWS) -> pl.DataFrame:
    """The `id` of every record of such a list, with its `index` in it: where a judgement finds its query and its document."""
    ids = table.select("id").with_row_index("__position").filter(shown).select("id")
    listed = ids.collect(engine="streaming").with_row_index("index")
    return listed.unique("id", keep="first", maintain_order=True)


def read_batches(table: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """The rows of a table in batches, each read on demand, with their `__position`."""
    start = 0
    while len(batch := table.slice(start, READ_ROWS).collect(engine="streaming")):
        yield batch.with_row_index("__position", offset=start)
        start += READ_ROWS


def _row_records(table: pl.LazyFrame, shown: pl.Expr) -> Iterator[list[Any]]:
    own_id = row_id(table.collect_schema().names())
    name_batch = _id_names(own_id) if own_id is not None else _value_names(table)
    for batch in read_batches(table):
        rows = batch.insert_column(1, name_batch(batch).alias("__name"))
        yield from map(list, rows.filter(shown).iter_rows())


def _id_names(own_id: pl.Expr) -> Callable[[pl.DataFrame], pl.Series]:
    return lambda batch: batch.select(own_id.cast(pl.String)).to_series()


def _value_names(table: pl.LazyFrame) -> Callable[[pl.DataFrame], pl.Series]:
    """A function that names the rows of each batch of a table without ids, in order, as pipelines.audit.findings names them.

    Of the names that occurred, only those of equal rows are kept: which rows may be equal is known from a hash of 8 bytes a row.
    """
    is_repeated = hash_rows(table).is_duplicated()
    copies: Counter[str] = Counter()

    def name(digest: str, again: bool) -> str:
        copies[digest] += again
        return digest if copies[digest] <= 1 else f"{digest}-{copies[digest]}"

    def name_batch(batch: pl.DataFrame) -> pl.Series:
        digests = map(hash_values, batch.drop("__position").iter_rows())
        again = is_repeated.gather(batch["__position"])
        return pl.Series("__name", [name(*pair) for pair in zip(digests, again, strict=True)], pl.String)

    return name_batch


BATCH_ROWS = 10_000


def write_finding(
    page_dir: Path, folder: str, finding_rows: FindingRows, frames: Frames
) -> tuple[RecordList, tuple[str, ...]]:
    """Write all rows of a finding as a list; returns it with the names of the values of its records.

    frames: all tables of the dataset, for the texts of what a judgement names.
    """
    columns = _columns(finding_rows, frames)
    return write_list(page_dir, folder, _finding_records(finding_rows, frames, columns)), columns


def named_positions(found: Iterable[FindingRows], config: str, split: str) -> pl.Series:
    """The positions of all rows of a table that findings name, as rows or as twins."""
    parts = [pl.LazyFrame(schema={"position": pl.UInt32})]
    for finding_rows in found:
        columns = finding_rows.rows.collect_schema().names()
        if finding_rows.finding.config == config and finding_rows.finding.split == split and "position" in columns:
            parts.append(finding_rows.rows.select(pl.col("position").cast(pl.UInt32)))
        if finding_rows.finding.config == config and finding_rows.twin_split == split and "twin" in columns:
            parts.append(finding_rows.rows.select(position=pl.col("twin").cast(pl.UInt32)))
    return pl.concat(parts).drop_nulls().unique().collect(engine="streaming")["position"]


def _columns(finding_rows: FindingRows, frames: Frames) -> tuple[str, ...]:
    table = finding_rows.tables.get(finding_rows.finding.split)
    own = table.collect_schema().names() if table is not None else []
    return (*own, *(f"{config}: text" for config in _judged(own, finding_rows, frames)))


def _judged(columns: Iterable[str], finding_rows: FindingRows, frames: Frames) -> list[str]:
    """The tables whose rows the rows of a finding refer to by id."""
    return [
        config
        for config, column in JUDGED_TABLES.items()
        if column in columns and finding_rows.finding.split in frames.get(config, {})
    ]


def _finding_records(finding_rows: FindingRows, frames: Frames, columns: Sequence[str]) -> Iterator[list[Any]]:
    rows = finding_rows.rows.collect(engine="streaming")
    tables = finding_rows.tables  # none for what a recipe found
    splits = {finding_rows.finding.split, finding_rows.twin_split} & tables.keys()
    hashes = {split: _name_hashes(tables[split]) for split in splits if "position" in rows.columns}
    for batch in rows.iter_slices(BATCH_ROWS):
        listed = list_rows(replace(finding_rows, rows=batch.lazy()), hashes=hashes)
        positions = batch["position"].to_list() if "position" in batch.columns else [None] * len(listed)
        if "position" not in batch.columns and finding_rows.finding.config == "qrels":
            listed, positions = _with_unjudged_pairs(listed)
        texts = _judged_texts(listed, finding_rows, frames)
        own = {column: f"{column}_" if column in OWN_COLUMNS else column for column in columns}
        values = [
            [texts[column][1].get(key) for key in listed[texts[column][0]]]
            if column in texts
            else _values(listed, name)
            for column, name in own.items()
        ]
        twins = [_values(listed, f"twin {column}") for column in columns]
        for row, position, twin, split, of_row, of_twin in zip(
            listed["row"], positions, _values(listed, "twin"), _values(listed, "twin_split"),
            _rows_of(values, len(listed)), _rows_of(twins, len(listed)), strict=True,
        ):  # fmt: skip
            is_shown = position is not None or any(value is not None for value in of_row)
            yield [row, position, of_row if is_shown else None, twin, split, None if twin is None else of_twin]


def _name_hashes(table: pl.LazyFrame) -> pl.Series | None:
    """What names of rows follow from, read once for all batches; None for a table with ids."""
    return hash_rows(table) if row_id(table.collect_schema().names()) is None else None


def _rows_of(columns: Sequence[Sequence[Any]], height: int) -> list[tuple[Any, ...]]:
    return list(zip(*columns, strict=True)) if columns else [()] * height


def _values(listed: pl.DataFrame, column: str) -> list[Any]:
    return listed[column].to_list() if column in listed.columns else [None] * len(listed)


def _with_unjudged_pairs(listed: pl.DataFrame) -> tuple[pl.DataFrame, list[int | None]]:
    """Named rows of judgements, with the ids of those that are not in the table from their names; and their positions."""
    keys = ["query-id", "corpus-id"]
    is_absent = pl.all_horizontal(pl.col(key).is_null() for key in keys)
    parts = pl.col("row").str.split(" ")
    # An id with a space in it cannot be told apart: such a pair keeps its name alone.
    is_pair = is_absent & (parts.list.len() == 2)
    ids = [
        pl.when(is_pair).then(parts.list.get(place, null_on_oob=True)).otherwise(key).alias(key)
        for place, key in enumerate(keys)
    ]
    absent = listed.select(is_absent).to_series()
    return listed.with_columns(ids), [-1 if is_absent else None for is_absent in absent]


def _judged_texts(
    listed: pl.DataFrame, finding_rows: FindingRows, frames: Frames
) -> dict[str, tuple[str, dict[str, str | None]]]:
    """The texts of the queries and documents that rows refer to: by column, the column with their id, and the texts by id."""
    found = {}
    for config in _judged(listed.columns, finding_rows, frames):
        key = JUDGED_TABLES[config]
        ids = listed[key].drop_nulls().unique()
        rows = frames[config][finding_rows.finding.split].filter(pl.col("id").is_in(ids.implode())).select("id", "text")
        texts = dict(rows.collect(engine="streaming").unique("id", keep="first", maintain_order=True).iter_rows())
        found[f"{config}: text"] = (key, texts)
    return found


BATCH_QUERIES = 1_000


def write_queries(
    page_dir: Path, folder: str, frames: Frames, ids: tuple[pl.DataFrame, pl.DataFrame], *, split: str
) -> tuple[RecordList, dict[int, int]]:
    """Write the queries of a split; returns the list, and the number of queries by the number of their positives.

    ids: of the queries and of the documents, see pipelines.catalogue_site.lists.listed_ids.
    """
    positives: Counter[int] = Counter()

    def counted() -> Iterator[list[Any]]:
        for record in _query_records(frames, split, *ids):
            positives[sum(score > 0 for _, score in record[1])] += 1
            yield record

    return write_list(page_dir, folder, counted()), dict(sorted(positives.items()))


def _query_records(
    frames: Frames, split: str, query_ids: pl.DataFrame, document_ids: pl.DataFrame
) -> Iterator[list[Any]]:
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


MAX_LISTED = 1_000  # rows that are listed of a table above MAX_BYTES


@dataclass(frozen=True)
class TableChange(Change):
    """How a table differs, and the rows that do.

    lists: by `removed`, `added` and `changed`; empty where texts may not be shown. old_columns, new_columns: the names of their
    values.
    """

    old_columns: tuple[str, ...] = ()
    new_columns: tuple[str, ...] = ()
    lists: Mapping[str, RecordList] = field(default_factory=dict)


def compare_versions(
    page_dir: Path, folder: str, old: tuple[Path, Manifest], new: tuple[Path, Manifest], *, with_rows: bool
) -> list[TableChange]:
    """How each table differs between two releases.

    folder: below that of the page, where the rows that differ are written, if `with_rows`.
    """
    changes = []
    for number, (before, after) in enumerate(pair_tables(old[1], new[1]), 1):
        change, match = compare_table((old[0], before), (new[0], after))
        lists = {}
        if match is not None and with_rows:
            large = max(table.num_bytes for table in (before, after) if table) > MAX_BYTES
            limit = MAX_LISTED if large else None
            lists = _write_lists(page_dir, f"{folder}/table-{number}", match, limit=limit)
        columns = [tuple(column.name for column in table.columns) if table else () for table in (before, after)]
        changes.append(TableChange(**vars(change), old_columns=columns[0], new_columns=columns[1], lists=lists))
    return changes


def _write_lists(page_dir: Path, folder: str, match: RowMatch, *, limit: int | None) -> dict[str, RecordList]:
    """Write the rows that differ. limit: only the first so many of each list."""
    changed = match.changed if limit is None else match.changed.head(limit)
    lists = {}
    for name, table, positions in (("removed", match.old, match.removed), ("added", match.new, match.added)):
        shown = positions if limit is None else positions.head(limit)
        if shown.len():
            lists[name] = write_list(page_dir, f"{folder}/{name}", (list(row) for row in _rows(table, shown)))
    if changed.height:
        both = zip(_rows(match.old, changed["old"]), _rows(match.new, changed["new"]), strict=True)
        records = ([name, position, before, after] for (_, _, before), (name, position, after) in both)
        lists["changed"] = write_list(page_dir, f"{folder}/changed", records)
    return lists


def _rows(table: pl.LazyFrame, positions: pl.Series) -> Iterator[tuple[str, int, list[Any]]]:
    """Name, position and values of the rows at some positions, in that order."""
    hashes = _name_hashes(table)
    for start in range(0, positions.len(), BATCH_ROWS):
        batch = positions.slice(start, BATCH_ROWS)
        rows = rows_at(table, batch).iter_rows()
        for name, position, values in zip(name_rows(table, batch, hashes), batch, rows, strict=True):
            yield name, position, list(values)
