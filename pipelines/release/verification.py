"""Whether the files and rows of a release are those of its manifest."""

from pathlib import Path

from cards.manifest import Manifest, Table
from pipelines.release.content_hash import dataset_sha256
from pipelines.release.folder import document_names
from pipelines.release.parquet import count_rows, describe_file, hash_table
from pipelines.stages import BYTES, stage


def verify_release(release_dir: Path, manifest: Manifest) -> list[str]:
    """The problems of a release: files missing, changed or not in the manifest; tables with other rows than the manifest's.

    Every data file is read and every row hashed: an empty list means that the rows are those of the manifest's content_sha256.
    Card, statistics and croissant.json need only exist: see pipelines.release.folder.edited_documents.

    Raises ReleaseError for a file that has the manifest's digest and is not valid Parquet, or has columns of other types.
    """
    problems: list[str] = []
    hashes: dict[tuple[str, str], str] = {}
    for table in manifest.tables:
        damaged = _damaged_files(release_dir, table)
        if not damaged:
            digest = hashes[table.config, table.split] = hash_table(release_dir, table)
            if digest != table.content_sha256:
                damaged.append(f"{table.location}: other rows than the manifest's")
            elif (rows := count_rows(release_dir, table)) != table.rows:
                damaged.append(f"{table.location}: {rows:,} rows, {table.rows:,} in the manifest")
        problems += damaged
    named = {file.path for file in manifest.files}
    present = [path.relative_to(release_dir).as_posix() for path in sorted(release_dir.rglob("*.parquet"))]
    problems += [f"{path} is in no table of the manifest" for path in present if path not in named]
    problems += [f"{name} is missing" for name in document_names(manifest) if not (release_dir / name).is_file()]
    if not problems and dataset_sha256(hashes) != manifest.content_sha256:
        problems.append("content_sha256 is not that of the tables")
    return problems


def _damaged_files(release_dir: Path, table: Table) -> list[str]:
    damaged = []
    total = sum(file.bytes for file in table.files)
    with stage(f"comparing files of {table.location}", total=total, unit=BYTES) as advance:
        for file in table.files:
            path = release_dir / file.path
            if not path.is_file():
                damaged.append(f"{file.path} is missing")
            elif (present := describe_file(path, release_dir)).sha256 != file.sha256:
                damaged.append(f"{file.path} has changed: {present.bytes} bytes, sha256 {present.sha256[:16]}...")
            advance(file.bytes)
    return damaged
