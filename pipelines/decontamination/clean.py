"""Writes a corpus again without some of its rows: the same files, formats and compression, in another folder.

Rows of JSON lines and CSV that are kept keep their bytes; a file of Parquet keeps its schema, its codecs, and the
borders of its row groups. A file is written by one process, so the bytes do not depend on how many there are.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders.errors import DatasetError, UsageError
from pipelines.checking.data_files import DataFile, file_changed, open_output, require_unchanged
from pipelines.checking.rows import in_batches, open_parquet, read_header, read_lines, read_records
from pipelines.process import workers
from pipelines.process.files import file_sha256, locked
from pipelines.process.outputs import KINDS, Output, claim
from pipelines.process.stages import BYTES, stage
from pipelines.release.folder import write_json
from pipelines.release.staging import staged_folder

REPORT = "removed.json"
DROP_SCHEMA = {"file": pl.String, "row": pl.Int64, "reason": pl.String}
GROUP_BYTES = 256 << 20  # a larger row group is written as several: one is held in memory


@dataclass(frozen=True)
class ScannedFile:
    """What was read of a file of a corpus: the SHA-256 of its bytes, and its rows."""

    sha256: str
    rows: int


# A file, the numbers of its rows to drop, sorted, and what was scanned of it.
_FileWork = tuple[DataFile, Any, ScannedFile | None]


@dataclass(frozen=True)
class CleanFile:
    """A file of a clean copy: its path in the copy, the SHA-256 of the file in the corpus, its rows before and after."""

    file: str
    sha256: str
    rows: int
    kept: int


@dataclass(frozen=True)
class CleanCorpus:
    """A clean copy: the rows of the corpus, those of the copy, and how many were dropped for each reason.

    A row that was dropped for several reasons counts once for each.
    """

    rows: int
    kept: int
    dropped: dict[str, int]


def write_clean(
    files: Sequence[DataFile],
    drop: pl.DataFrame,
    target: Path,
    *,
    scanned: Mapping[str, ScannedFile] | None = None,
    jobs: int = 1,
    overwrite: bool = False,
) -> CleanCorpus:
    """Write the files of a corpus into a folder, without some rows, and removed.json, which counts them by reason.

    drop: the columns of DROP_SCHEMA; a row may occur several times. scanned: what the numbers of rows are of, by the name of the
    file; one that is absent had no rows; None where that is not known. target: does not exist, or is a clean copy, which
    is replaced once the new one is complete. jobs: how many files are written at a time. overwrite: the target may hold other
    files, which are then gone.

    Raises UsageError where the target is in the corpus, is a folder with other content, or cannot hold two files of one
    name; SourceError for a file that cannot be read, or is not the one that was scanned; ReleaseError for a disk that is full.
    """
    check_target(files, target)
    claim([Output("--clean", target, KINDS["clean"])], overwrite=overwrite)
    rows = {file: group["row"].unique().sort().to_numpy() for (file,), group in drop.group_by("file")}
    nothing = np.array([], dtype="i8")
    none = ScannedFile("", 0)
    known = {file.name: None if scanned is None else scanned.get(file.name, none) for file in files}
    work = [(file, rows.get(file.name, nothing), known[file.name]) for file in files]
    with (
        locked(target.with_name(f".{target.name}.lock"), str(target), remove=True),
        staged_folder(target, "the clean corpus", marker=REPORT) as folder,
        stage("writing the clean corpus", total=sum(file.size for file in files), unit=BYTES) as advance,
    ):
        copy, processes = partial(_copy, folder=folder), max(1, min(jobs, len(work)))
        copied = workers.run_in_processes(
            copy, work, processes, killed=_killed_too_often, on_end=lambda piece: advance(piece[0].size)
        )
        written = sorted(copied, key=lambda file: file.file)
        counts = drop.unique().group_by("reason").len().sort("reason")
        rows_before, kept = sum(file.rows for file in written), sum(file.kept for file in written)
        clean = CleanCorpus(rows_before, kept, dict(counts.iter_rows()))
        write_json(folder / REPORT, asdict(clean) | {"files": [asdict(file) for file in written]})
    return clean


def check_target(files: Sequence[DataFile], target: Path) -> None:
    """Raise UsageError where a clean copy of these files cannot be written to a folder; see `write_clean`."""
    inside, resolve = target.resolve(), cache(Path.resolve)
    for file in files:
        root = resolve(file.root)
        if inside == root or root in inside.parents or inside in root.parents or inside in file.path.resolve().parents:
            what = "the clean corpus cannot be written into the corpus itself"
            raise UsageError(what, where=str(target), found=file.name, todo="name a folder outside of the corpus")
    names = Counter(file.relative for file in files)
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        found = " and ".join(file.name for file in files if file.relative == twice[0])
        what = f"two files of the corpus are called {twice[0]!r}"
        raise UsageError(
            what, where=str(target), found=found, todo="clean the folders one by one, each into its own folder"
        )
    if REPORT in names:
        raise UsageError(f"a file of the corpus is called {REPORT!r}", where=str(target), todo="rename it")


def _killed_too_often(work: _FileWork, attempts: int, found: str) -> DatasetError:
    what = f"a process that writes the clean corpus was killed {attempts} times"
    todo = "run it again, with fewer processes if memory was short"
    return DatasetError(what, where=work[0].name, found=found, todo=todo)


def _copy(work: _FileWork, folder: Path) -> CleanFile:
    """Write one file without some rows, whose numbers are sorted.

    Raises SourceError where the file is not the one that was scanned, before, after or while it was read.
    """
    file, drop, scanned = work
    require_unchanged(file)
    path = folder / file.relative
    path.parent.mkdir(parents=True, exist_ok=True)
    if file.format == "Parquet":
        rows, kept = _copy_parquet(file, drop, path)
    else:
        rows, kept = _copy_text(file, drop, path)
    digest = file_sha256(file.path)
    require_unchanged(file)
    if scanned is not None and rows != scanned.rows:
        raise file_changed(file, f"{rows:,} rows", f"{scanned.rows:,}")
    if scanned is not None and digest != scanned.sha256 != "":
        raise file_changed(file, f"sha256 {digest}", scanned.sha256)
    return CleanFile(file.relative, digest, rows, kept)


def _copy_text(file: DataFile, drop: Any, path: Path) -> tuple[int, int]:
    row = kept = 0
    with open_output(path, file.compression) as output:
        for records in _records(file, output):
            keep = _keep(row, len(records), drop)
            data = b"".join(
                records if keep.all() else (data for data, wanted in zip(records, keep, strict=True) if wanted)
            )
            output.write(data)
            row, kept = row + len(records), kept + int(keep.sum())
    return row, kept


def _records(file: DataFile, output: Any) -> Iterator[list[bytes]]:
    """The bytes of the rows of a file, in lists. The header of CSV is written on the way."""
    if file.format == "JSON lines":
        yield from read_lines(file)
        return
    header = read_header(file)
    if header is None:
        return
    output.write(header[1])
    lines = chain.from_iterable(read_lines(file, len(header[1])))
    for records in in_batches(read_records(file, lines, 0)):
        yield [data for _, data in records]


def _copy_parquet(file: DataFile, drop: Any, path: Path) -> tuple[int, int]:
    row = kept = 0
    with open_parquet(file) as source:
        metadata, schema = source.metadata, source.schema_arrow
        with pq.ParquetWriter(path, schema, compression=_codecs(metadata)) as writer:
            for number in range(metadata.num_row_groups):
                group = metadata.row_group(number)
                batch_size = max(1, group.num_rows * GROUP_BYTES // max(group.total_byte_size, GROUP_BYTES))
                for batch in source.iter_batches(batch_size, [number], use_threads=False):
                    keep = _keep(row, batch.num_rows, drop)
                    table = pa.Table.from_batches([batch], schema).filter(pa.array(keep))
                    if table.num_rows:
                        writer.write_table(table, row_group_size=table.num_rows)
                    row, kept = row + batch.num_rows, kept + table.num_rows
    return row, kept


def _codecs(metadata: Any) -> dict[str, str] | str:
    """The codec of each column, as the first row group has it."""
    if not metadata.num_row_groups or not metadata.num_columns:
        return "snappy"
    group = metadata.row_group(0)
    columns = (group.column(index) for index in range(group.num_columns))
    return {column.path_in_schema: column.compression.replace("UNCOMPRESSED", "NONE") for column in columns}


def _keep(first: int, count: int, drop: Any) -> Any:
    """For `count` rows from `first` on, whether each is kept."""
    keep = np.ones(count, dtype=bool)
    start, stop = np.searchsorted(drop, [first, first + count])
    keep[drop[start:stop] - first] = False
    return keep
