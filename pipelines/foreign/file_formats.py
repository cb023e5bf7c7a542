"""The formats of data files: which names have one, the files of a table as a lazy frame, and why a file cannot be read."""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import orjson
import polars as pl

from builders.errors import SourceError
from pipelines.raw.content_types import describe_content, read_head
from pipelines.safe_text import first_line

FORMATS = {
    ".parquet": "Parquet", ".jsonl": "JSON lines", ".ndjson": "JSON lines", ".json": "JSON", ".csv": "CSV", ".tsv": "TSV",
}  # fmt: skip
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
    return suffix if suffix in (COMPRESSIBLE if bare.endswith(".gz") else FORMATS) else None


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
        frame = _scan(formats.pop(), files)
        frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable_file(files, error) from error
    return frame


def unreadable_file(files: Sequence[Path], error: Exception) -> SourceError:
    """The error for rows that cannot be read. It names the first file that cannot be read alone, if there is one."""
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
                todo="download the file again; if it is unchanged, only its publisher can fix it",
            )
    where = ", ".join(map(str, files[:4])) + (", ..." if len(files) > 4 else "")
    return SourceError("cannot read the rows of a table", where=where, found=first_line(error))


def _format(file: Path) -> str:
    return FORMATS[extension(file.name) or ".parquet"]


def _scan(file_format: str, files: Sequence[Path]) -> pl.LazyFrame:
    match file_format:
        case "Parquet":
            return pl.scan_parquet(list(files), glob=False)
        case "CSV" | "TSV":
            separator = "\t" if file_format == "TSV" else ","
            return pl.scan_csv(
                list(files), separator=separator, null_values=list(CSV_NULLS), infer_schema_length=None, glob=False
            )
        case "JSON" if any(read_head(file).lstrip()[:1] == b"[" for file in files):
            return pl.concat([pl.read_json(file, infer_schema_length=None).lazy() for file in files])
    return pl.scan_ndjson(list(files), infer_schema_length=None)


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
