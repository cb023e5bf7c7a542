"""How a data file is written and its rows as a lazy frame: Parquet, Arrow, JSON, JSON lines, CSV and TSV in their dialects."""

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import orjson
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from builders import limits
from builders.errors import DatasetError, SourceError
from pipelines.process.files import disk_failure, temporary_file_error
from pipelines.process.safe_text import first_line
from pipelines.raw.pins import describe_content, read_head

Format = Literal["Parquet", "JSON lines", "JSON", "CSV", "TSV", "Arrow", "text", "WARC"]
ARROW = ".arrow"  # what `save_to_disk` writes
Compression = Literal["", "gzip", "zstd", "bz2", "xz"]
FORMATS: dict[str, Format] = {
    ".parquet": "Parquet", ".jsonl": "JSON lines", ".ndjson": "JSON lines", ".json": "JSON", ".csv": "CSV", ".tsv": "TSV",
}  # fmt: skip
CORPUS_FORMATS = FORMATS | {ARROW: "Arrow", ".txt": "text", ".warc": "WARC", ".wet": "WARC"}  # what a scan reads
UNCOMPRESSED = ("Parquet", "Arrow")  # their pages are compressed, not the file
COMPRESSIONS: dict[str, Compression] = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd", ".bz2": "bz2", ".xz": "xz"}
PARQUET_MAGIC, ARROW_MAGIC, ARROW_STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
MAGIC = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd", "bz2": b"BZh", "xz": b"\xfd7zXZ\0", "": b""}
NAMES = tuple(dict.fromkeys(FORMATS.values()))
COMPRESSIBLE = (".jsonl", ".ndjson", ".csv", ".tsv")  # these may be followed by .gz

# The texts that `datasets` reads as null in CSV, in text columns too: it uses pandas, and these are the defaults of pandas.
CSV_NULLS = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL",
    "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip


def extension(name: str) -> str | None:
    """The extension of a data file, in lower case and without `.gz`; None for any other file."""
    bare = name.lower()
    suffix = PurePosixPath(bare.removesuffix(".gz")).suffix
    return suffix if suffix in (COMPRESSIBLE if bare.endswith(".gz") else (*FORMATS, ARROW)) else None


def scan_files(files: Sequence[Path]) -> pl.LazyFrame:
    """The files of one table as a lazy frame; types that a format does not have are inferred from all rows.

    Raises SourceError for a file that cannot be read, and for files in several formats.
    """
    formats = {_format(file) for file in files}
    if len(formats) > 1:
        raise SourceError(
            "the files of one table have several formats",
            where=", ".join(map(str, files[:4])),
            found=", ".join(sorted(formats)),
        )
    try:
        for file in files if formats == {"Parquet"} else ():
            _refuse_repeated_texts(file)
        frame = _scan(formats.pop(), files)
        frame.collect_schema()
    except (pl.exceptions.PolarsError, pa.ArrowException, OSError) as error:
        raise unreadable_file(files, error) from error
    return frame


def refuse_expansion(name: str, count: int, stored: int) -> None:
    """Raise SourceError where a file comes to far more bytes of data than it has: it may be written to exhaust its reader."""
    if count > limits.FREE_EXPANSION + limits.MAX_EXPANSION * stored:
        raise SourceError(
            "compressed data that expand without measure",
            where=name,
            found=f"{count:,} bytes from {stored:,}",
            expected=f"at most {limits.MAX_EXPANSION} times as many",
            todo="leave the file out",
        )


def count_bytes(batch: pa.RecordBatch) -> int:
    """The bytes of the values of a batch; a text that a dictionary repeats counts each time."""
    count = 0
    for column in batch.columns:
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else None
        if kind is not None and (
            pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind)
        ):
            lengths = pc.binary_length(column.dictionary).take(column.indices)
            count += pc.sum(lengths).as_py() or 0
        else:
            count += column.nbytes
    return count


def _refuse_repeated_texts(file: Path) -> None:
    """Raise SourceError for Parquet that expands without measure: a dictionary page can repeat one text a billion times.

    polars decodes whole columns, so the texts are counted before, a few at a time.
    """
    with pq.ParquetFile(file) as parquet:
        sized = [field.name for field in parquet.schema_arrow if not pa.types.is_primitive(field.type)]
        count, size = 0, file.stat().st_size
        for batch in parquet.iter_batches(1_000, columns=sized, use_threads=False) if sized else ():
            count += count_bytes(batch)
            refuse_expansion(str(file), count, size)


def unreadable_file(files: Sequence[Path], error: Exception) -> DatasetError:
    """The error for rows that cannot be read. It names the first file that cannot be read alone, if there is one.

    If there is none, and a disk is full, it is that of the temporary files: what reads rows writes no others.
    """
    for file in files:
        file_format = _format(file)
        try:
            for _ in _scan(file_format, [file]).collect_batches():
                pass
        except (pl.exceptions.PolarsError, OSError) as cause:
            content = describe_content(read_head(file), file.stat().st_size) if file.is_file() else "no file"
            return SourceError(
                "cannot read the file",
                where=_location(file, file_format),
                found=f"{content}: {first_line(cause)}",
                expected=file_format,
                todo="correct the file; if it is not yours, download it again, and if it is unchanged, tell its publisher",
            )
    if (failure := disk_failure(error)) is not None:
        return temporary_file_error(failure)
    return SourceError(
        "cannot read the rows of a table",
        where=", ".join(map(str, files[:4])) + (", ..." if len(files) > 4 else ""),
        found=first_line(error),
    )


def _format(file: Path) -> str:
    suffix = extension(file.name) or ".parquet"
    return "Arrow" if suffix == ARROW else FORMATS[suffix]


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written: what separates its columns, what its name says of that, and its encoding."""

    separator: str
    usual: str
    encoding: Literal["utf-8", "cp1251"] = "utf-8"

    @property
    def note(self) -> str:
        """What differs from what `datasets` reads, in words; empty where nothing does."""
        name = {";": "a semicolon", "|": "a vertical bar", "\t": "a tab", ",": "a comma"}[self.separator]
        between = f"{name} separates its columns" if self.separator != self.usual else ""
        encoded = "its encoding is Windows-1251" if self.encoding != "utf-8" else ""
        words = " and ".join(filter(None, (between, encoded)))
        return f"{words}, which `datasets` does not expect" if words else ""


def find_dialect(file: Path) -> Dialect:
    """The dialect of a CSV file, from its first line and its first bytes; that of `datasets` for a compressed or empty one.

    Only a first line without a comma is looked at for other separators. Bytes that are not UTF-8 are Windows-1251 where they
    are Cyrillic letters there.
    """
    usual = "\t" if _format(file) == "TSV" else ","
    own = Dialect(usual, usual)
    with file.open("rb") as stream:
        head = stream.read(SNIFFED)
    if head.startswith((MAGIC["gzip"], MAGIC["zstd"])):
        return own
    first = head.split(b"\n", 1)[0]
    others = [other for other in ("\t", ";", "|", ",") if other.encode() in first]
    separator = usual if usual.encode() in first or not others else others[0]
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        letters = [byte for byte in head if byte >= 0x80]
        if sum(byte >= 0xC0 or byte in (0xA8, 0xB8) for byte in letters) > len(letters) / 2:
            return Dialect(separator, usual, "cp1251")
    return Dialect(separator, usual)


SNIFFED = 1 << 20  # bytes of a file that tell how it is written


def _scan(file_format: str, files: Sequence[Path]) -> pl.LazyFrame:
    match file_format:
        case "Parquet":
            return pl.scan_parquet(list(files), glob=False)
        case "CSV" | "TSV":
            return pl.concat([_scan_csv(list(group), dialect) for dialect, group in groupby(files, find_dialect)])
        case "Arrow":
            return pl.concat(
                [  # Arrow's file format, or its stream format, as `save_to_disk` writes it
                    pl.scan_ipc(file) if read_head(file).startswith(ARROW_MAGIC) else pl.read_ipc_stream(file).lazy()
                    for file in files
                ]
            )
        case "JSON" if any(read_head(file).lstrip()[:1] == b"[" for file in files):
            return pl.concat([pl.read_json(file, infer_schema_length=None).lazy() for file in files])
    return pl.scan_ndjson(list(files), infer_schema_length=None)


def _scan_csv(files: list[Path], dialect: Dialect) -> pl.LazyFrame:
    sources: Any = files
    if dialect.encoding != "utf-8":
        sources = [file.read_text(dialect.encoding).encode() for file in files]
    return pl.scan_csv(
        sources, separator=dialect.separator, null_values=list(CSV_NULLS), infer_schema_length=None, glob=False
    )


def _location(file: Path, file_format: str) -> str:
    """The file and, in JSON lines, the first line that is not JSON."""
    if file_format != "JSON lines" or file.name.lower().endswith(".gz"):
        return str(file)
    with file.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                orjson.loads(line.strip() or b"{}")
            except orjson.JSONDecodeError:
                return f"{file}, line {number}"
    return str(file)
