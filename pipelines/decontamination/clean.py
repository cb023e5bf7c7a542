"""Writes a corpus again without some of its rows: the same files, formats and compression, in another folder.

A row that is kept keeps its bytes or its values: see `copy_rows` in pipelines.checking.corpora.
A file is written by one process, or one task of Ray, so the bytes do not depend on how many there are.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from operator import itemgetter
from pathlib import Path, PurePath, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from builders.errors import UsageError
from pipelines.checking.corpora import copy_rows
from pipelines.checking.data_files import DataFile, file_changed, open_bytes, require_unchanged
from pipelines.decontamination.engines import Engine, run_pieces
from pipelines.process.addresses import require_free, upload
from pipelines.process.files import locked
from pipelines.process.outputs import KINDS, Output, claim
from pipelines.process.stages import BYTES, stage
from pipelines.process.workers import killed_error
from pipelines.release.folder import write_json
from pipelines.release.staging import staged_folder

REPORT = "removed.json"
LOCAL = Engine()
DROP_SCHEMA = {"file": pl.String, "row": pl.Int64, "reason": pl.String}


ScannedFile = tuple[
    str | None, int
]  # what was read of a file of a corpus: the SHA-256 of its bytes, if known, and its rows
# A file, the numbers of its rows to drop, sorted, and what was scanned of it.
_FileWork = tuple[DataFile, Any, ScannedFile | None]


def write_clean(
    files: Sequence[DataFile],
    drop: pl.DataFrame,
    target: Path | str,
    *,
    scanned: Mapping[str, ScannedFile] | None = None,
    unread: Sequence[Mapping[str, Any]] = (),
    engine: Engine = LOCAL,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Write the files of a corpus into a folder, without some rows, and removed.json, which counts them by reason.

    Returns what removed.json has: `rows` of the corpus, `kept` in the copy, and `dropped` for each reason, where a row with
    several counts once for each; `unread`; and `files`: the path of each in the copy, the `sha256` of the one in the corpus, and
    its `rows` and `kept`.

    drop: the columns of DROP_SCHEMA; a row may occur several times. scanned: what the numbers of rows are of, by the name of the
    file; one that is absent had no rows; None where that is not known. unread: what the scan did not read, for removed.json.
    target: does not exist, or is a clean copy, which is replaced once the new one is complete; all nodes of a cluster see it. Or
    an address, with no files yet: the copy is complete once it has removed.json.
    engine: what writes the files. overwrite: the target may hold other files, which are then gone.

    Raises UsageError where the target is in the corpus, is a folder with other content, or cannot hold two files of one
    name; SourceError for a file that cannot be read, or is not the one that was scanned; ReleaseError for a disk that is full.
    """
    check_target(files, target)
    rows = {file: group["row"].unique().sort().to_numpy() for (file,), group in drop.group_by("file")}
    nothing = np.array([], dtype="i8")
    work = [
        (file, rows.get(file.name, nothing), None if scanned is None else scanned.get(file.name, (None, 0)))
        for file in files
    ]
    with (
        _open_target(target, overwrite=overwrite) as (folder, address),
        stage("writing the clean corpus", total=sum(file.size for file in files), unit=BYTES) as advance,
    ):
        copy = partial(_copy, folder=folder, address=address)
        killed = partial(
            killed_error,
            what="a process that writes the clean corpus was killed {} times",
            where=lambda piece: piece[0].name,
            todo="run it again, with fewer processes if memory was short",
        )
        copied = run_pieces(work, copy, engine, killed=killed, on_end=lambda piece: advance(piece[0].size))
        written = sorted(copied, key=itemgetter("file"))
        counts = drop.unique().group_by("reason").len().sort("reason")
        clean = {
            "rows": sum(file["rows"] for file in written),
            "kept": sum(file["kept"] for file in written),
            "dropped": dict(counts.iter_rows()),
            "unread": unread,
            "files": written,
        }
        write_json(folder / REPORT, clean)
    return clean


@contextmanager
def _open_target(target: Path | str, *, overwrite: bool) -> Iterator[tuple[Path, str | None]]:
    """The folder to write into; for an address, one of this machine for the report, and the address for everything else."""
    if isinstance(target, str):
        require_free(target, REPORT, overwrite=overwrite)
        with TemporaryDirectory() as scratch:
            yield Path(scratch), target
            upload(Path(scratch, REPORT), target, REPORT)
        return
    claim([Output("--clean", target, KINDS["clean"])], overwrite=overwrite)
    with (
        locked(target.with_name(f".{target.name}.lock"), str(target), remove=True),
        staged_folder(target, "the clean corpus", marker=REPORT) as folder,
    ):
        yield folder.resolve(), None


def check_target(files: Sequence[DataFile], target: Path | str) -> None:
    """Raise UsageError where a clean copy of these files cannot be written to a folder or an address; see `write_clean`."""
    inside, resolve = PurePosixPath(target) if isinstance(target, str) else target.resolve(), cache(Path.resolve)
    for file in files:
        path: PurePath = PurePosixPath(file.address) if file.address else file.path.resolve()
        root = PurePosixPath(file.address.removesuffix(f"/{file.relative}")) if file.address else resolve(file.root)
        if inside == root or root in inside.parents or inside in root.parents or inside in path.parents:
            raise UsageError(
                "the clean corpus cannot be written into the corpus itself",
                where=str(target),
                found=file.name,
                todo="name a folder outside of the corpus",
            )
    names = Counter(file.relative for file in files)
    if twice := [name for name, count in names.items() if count > 1]:
        raise UsageError(
            f"two files of the corpus are called {twice[0]!r}",
            where=str(target),
            found=" and ".join(file.name for file in files if file.relative == twice[0]),
            todo="clean the folders one by one, each into its own folder",
        )
    if REPORT in names:
        raise UsageError(f"a file of the corpus is called {REPORT!r}", where=str(target), todo="rename it")


def _copy(work: _FileWork, folder: Path, address: str | None) -> dict[str, Any]:
    """Write one file into a folder, or to an address, without some rows; returns what removed.json says of it.

    Raises SourceError where the file is not the one that was scanned, before, after or while it was read; UsageError where this
    machine does not see the folder.
    """
    file, drop, scanned = work
    if address is None and not folder.is_dir():
        raise UsageError(
            "a node of the cluster does not see the folder of the clean copy",
            where=str(folder.parent),
            todo="name one that all nodes see, or an address",
        )
    require_unchanged(file)
    with nullcontext(folder) if address is None else TemporaryDirectory() as target:
        path = Path(target, file.relative)
        path.parent.mkdir(parents=True, exist_ok=True)
        rows, kept = copy_rows(file, drop, path)
        with open_bytes(file) as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        require_unchanged(file)
        before, rows_before = scanned or (None, rows)
        if rows != rows_before:
            raise file_changed(file, f"{rows:,} rows", f"{rows_before:,}")
        if before is not None and digest != before:
            raise file_changed(file, f"sha256 {digest}", before)
        if address is not None:
            upload(path, address, file.relative)
    return {"file": file.relative, "sha256": digest, "rows": rows, "kept": kept}
