"""Texts of benchmarks' test data by their hashes, from an index; and the headers of Parquet files of ours.

Pages have checksums; so a file that was damaged or edited is an error, never other rows.

docs/contamination.md describes the file. Read here are its columns of hashes of whole texts, which need no other library:
`exact`, of the text, and `folded`, of the text after folding. Near-duplicates and texts inside longer ones are not looked up.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders.errors import SourceError
from builders.raw_files import by_hand
from builders.shaping.folding import hash_folded, hash_texts
from builders.spec import Raw, Reported


def header_metadata(key: bytes, header: bytes) -> dict[bytes, bytes]:
    """The metadata of a file with a header: the header under the key, its sha256 in hex under `<key>.sha256`."""
    return {key: header, key + b".sha256": hashlib.sha256(header).hexdigest().encode()}


def read_header(metadata: Mapping[bytes, bytes] | None, key: bytes) -> bytes:
    """The header of a file from its metadata.

    Raises ValueError for a file without one, and for one that does not have its digest.
    """
    found = metadata or {}
    if key not in found:
        raise ValueError("no header")
    if header_metadata(key, found[key])[key + b".sha256"] != found.get(key + b".sha256"):
        raise ValueError("a header that does not have its digest")
    return found[key]


@contextmanager
def open_checked(raw: Raw, refuse: Callable[[str], SourceError]) -> Iterator[pq.ParquetFile]:
    """A Parquet file of ours whose pages are verified. refuse: the error for what is wrong with it, from words for that."""
    try:
        with pq.ParquetFile(raw.path, page_checksum_verification=True) as file:
            yield file
    except (pa.ArrowException, pl.exceptions.PolarsError, OSError, ValueError, LookupError, TypeError) as error:
        raise refuse(str(error).split("\n", 1)[0][:200] or type(error).__name__) from error


KEY = b"embedding-datasets.contamination-index"
FORMATS = (1, 2)  # the second has more columns, which are not read here
KINDS = ("exact", "folded")  # the strictest first
NOT_TESTED = ("train", "validation")  # splits of the index that no benchmark scores
MIN_WORDS = 5  # of a text that is looked up: shorter ones are in every corpus and prove nothing
FILE = "benchmark-index.parquet"


INDEX_FILE = by_hand(
    FILE,
    "an index of the texts of the benchmarks that the training data must not have: build these, then "
    "embedding-datasets contamination index rumteb ateb --output DIR/benchmark-index.parquet, where --raw-dir DIR has it for all "
    "sources; or copy the file from somebody who has it. Version 1.0.0 counts what it finds, later versions drop it",
    made_by="contamination index",
)


def number_texts(texts: pl.Series, seed: int = 0) -> tuple[pl.Series, pl.Series]:
    """The different texts, in the order of their first rows, and of each text its place among them (UInt32).

    They are joined by hashes, then compared: a join by long texts would copy them all.
    """
    rows = texts.hash(seed).to_frame("hash")
    is_first = rows["hash"].is_first_distinct()
    different, places = texts.filter(is_first), rows.filter(is_first).with_row_index("place")
    numbers = rows.join(places, on="hash", how="left", maintain_order="left")["place"]
    is_exact = different.gather(numbers).equals(texts)
    return (different, numbers) if is_exact else number_texts(texts, seed + 1)


BenchmarkIndex = dict[str, pl.Series]  # the hashes of the test data of benchmarks, by kind, sorted (UInt64)


def kinds_of(index: BenchmarkIndex, texts: pl.Series) -> pl.Series:
    """The first kind by which the index has each text; null for a text that it does not have."""
    different, numbers = number_texts(texts)  # a random negative is one in many rows
    found = pl.repeat(None, len(different), dtype=pl.String, eager=True)
    for kind in reversed(index):
        hashes = pl.Series(hash_texts(different)) if kind == "exact" else hash_folded(different)
        is_in = hashes.is_in(index[kind].implode())
        found = pl.select(kind=pl.when(is_in).then(pl.lit(kind)).otherwise(found)).to_series()
    return found.gather(numbers).alias(texts.name)


def read_benchmark_index(raw: Raw) -> BenchmarkIndex:
    """The hashes of an index that are of texts of MIN_WORDS words or more, in tables that a benchmark scores.

    Raises SourceError for a file that is damaged, of another format, or not an index.
    """
    with open_checked(raw, partial(_refused, raw)) as file:
        header = json.loads(read_header(file.metadata.metadata, KEY))
        if header["format"] not in FORMATS:
            raise _refused(raw, f"format {header['format']}")
        tested = [number for number, table in enumerate(header["tables"]) if table["split"] not in NOT_TESTED]
        frame = pl.DataFrame(file.read(columns=["table", "n_words", *KINDS]))
    rows = frame.filter(pl.col("table").is_in(tested) & (pl.col("n_words") >= MIN_WORDS))
    return {kind: rows[kind].filter(rows[kind] != 0).unique().sort() for kind in KINDS}


def find_matches(rows: pl.DataFrame, config: str, split: str, index: BenchmarkIndex) -> tuple[Reported, ...]:
    """The rows of a table of pairs that have texts of the index, for each of its columns of texts."""
    reported = []
    for column in ("query", "positives", "negatives"):
        texts = rows.select("id", text=column)
        if column != "query":
            texts = texts.filter(pl.col("text").list.len() > 0).explode("text")
        found = texts.with_columns(kind=kinds_of(index, texts["text"])).filter(pl.col("kind").is_not_null())
        if found.height:
            counts = {kind: found.filter(kind=kind)["id"].n_unique() for kind in index}
            detail = ", ".join(f"{kind} {count:,}" for kind, count in counts.items() if count)
            ids = tuple(found["id"].unique(maintain_order=True))
            reported.append(Reported("query_in_benchmark_test", config, split, column, ids, detail))
    return tuple(reported)


def _refused(raw: Raw, found: str) -> SourceError:
    return SourceError(
        f"{raw.name}: not an index of the texts of benchmarks, or damaged",
        where=str(raw.path),
        found=found,
        expected=f"an index of format {' or '.join(map(str, FORMATS))}",
        todo="make it with embedding-datasets contamination index NAME... --output FILE",
    )
