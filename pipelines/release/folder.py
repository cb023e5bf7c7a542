"""A release in its folder: the names of its files, its manifest, its tables; and whether they are those of its manifest.

outputs/<dataset>/<version>/
  README.md  manifest.json  statistics.json  croissant.json  scores.json
  data/<split>-00000-of-0000N.parquet        for config `default`
  <config>/<split>-00000-of-0000N.parquet    for every other config
"""

import hashlib
import json
from collections.abc import Container, Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from builders import limits
from builders.errors import ReleaseError
from builders.spec import VERSION, version_key
from cards.manifest import Document, Manifest, Table, decode, tables_by_config
from cards.scores import Scores, decode_scores
from pipelines.process.stages import BYTES, stage
from pipelines.release.content_hash import dataset_sha256
from pipelines.release.parquet import describe_file, hash_table

MANIFEST, STATISTICS, CARD, CROISSANT = "manifest.json", "statistics.json", "README.md", "croissant.json"
SCORES = "scores.json"
DOCUMENTS = (CARD, STATISTICS, CROISSANT, SCORES)  # what describes the rows
SMALL = 4 << 20  # bytes of values that an audit keeps in memory
OPTIONAL = frozenset({CROISSANT, SCORES})  # old releases lack the first, and those that were not scored the second


def version_dirs(dataset_dir: Path) -> list[Path]:
    """The folders in `<dataset>/` that are named after a version, oldest version first; none where the folder is missing."""
    versions = (path for path in dataset_dir.glob("*") if VERSION.fullmatch(path.name) and path.is_dir())
    return sorted(versions, key=lambda release_dir: version_key(release_dir.name))


def releases_below(releases: Path) -> list[Path]:
    """The releases in `<dataset>/<version>/` of a folder, by dataset and version.

    Hidden folders and links out of the folder are left out.
    """
    return [
        release_dir
        for dataset_dir in sorted(releases.glob("[!.]*"))
        for release_dir in version_dirs(dataset_dir)
        if (release_dir / MANIFEST).exists() and (release_dir / MANIFEST).resolve().is_relative_to(releases.resolve())
    ]


def read_manifest(release_dir: Path) -> Manifest | None:
    """The manifest of a release; None where the folder is missing or empty.

    Raises ReleaseError for a folder with anything else in it, and for an invalid manifest.
    """
    path = release_dir / MANIFEST
    try:
        data = limits.read_at_most(path, limits.MAX_MANIFEST)
    except (FileNotFoundError, NotADirectoryError):
        if not release_dir.exists() or (release_dir.is_dir() and not any(release_dir.iterdir())):
            return None
        raise ReleaseError(
            "not a release directory",
            where=str(release_dir),
            found="a folder without a manifest.json" if release_dir.is_dir() else "a file",
            todo="name the folder of a release; to build one here, move this away or choose another --output",
        ) from None
    return decode(data, str(path))


def require_manifest(release_dir: Path) -> Manifest:
    """The manifest of a release.

    Raises ReleaseError where there is none, and for an invalid one.
    """
    manifest = read_manifest(release_dir)
    if manifest is None:
        raise ReleaseError(
            "no release found",
            where=str(release_dir),
            todo="name a folder with a manifest.json: outputs/<dataset>/<version>",
        )
    return manifest


def read_scores(release_dir: Path) -> Scores | None:
    """The scores of a release; None where there are none.

    Raises ReleaseError for an invalid scores.json.
    """
    path = release_dir / SCORES
    try:
        return decode_scores(limits.read_at_most(path, limits.MAX_MANIFEST), str(path))
    except (FileNotFoundError, NotADirectoryError):
        return None


def find_damage(release_dir: Path, manifest: Manifest) -> list[str]:
    """What is missing or has changed in a release, a line a file: data files by their sizes, card and statistics by bytes.

    `verify_release` reads the bytes of the data files too.
    """
    damage = []
    for file in manifest.files:
        try:
            size = (release_dir / file.path).stat().st_size
        except FileNotFoundError:
            damage.append(f"{file.path} is missing")
        else:
            damage += [f"{file.path} has {size:,} bytes, not {file.bytes:,}"] if size != file.bytes else []
    damage += [f"{name} is missing" for name in document_names(manifest) if not (release_dir / name).is_file()]
    return damage + edited_documents(release_dir, manifest)


def document_names(manifest: Manifest) -> tuple[str, ...]:
    """The documents of a release, in the order of DOCUMENTS: an older one has only those that its manifest lists."""
    listed = {document.path for document in manifest.documents}
    return tuple(name for name in DOCUMENTS if name not in OPTIONAL or name in listed)


def describe_document(name: str, content: bytes) -> Document:
    """The manifest's entry of a document."""
    return Document(name, len(content), hashlib.sha256(content).hexdigest())


def describe_documents(release_dir: Path) -> tuple[Document, ...]:
    """The manifest's entries of the documents in a folder."""
    present = [name for name in DOCUMENTS if name not in OPTIONAL or (release_dir / name).is_file()]
    return tuple(describe_document(name, (release_dir / name).read_bytes()) for name in present)


def edited_documents(release_dir: Path, manifest: Manifest, names: Container[str] = DOCUMENTS) -> list[str]:
    """What differs between the documents in a folder and those of the manifest, a line for each.

    A missing file is not listed, nor is one that an older manifest holds no digest of.
    """
    edited = []
    for document in manifest.documents:
        path = release_dir / document.path
        if document.path in names and path.is_file():
            present = describe_document(document.path, path.read_bytes())
            if present != document:
                edited.append(
                    f"{document.path} was edited after the build: {present.bytes:,} bytes, sha256 "
                    f"{present.sha256[:16]}..., not {document.sha256[:16]}..."
                )
    return edited


def scan_tables(release_dir: Path, tables: Iterable[Table]) -> dict[str, dict[str, pl.LazyFrame]]:
    """Lazy frames over tables of a release, by config and split, their rows in order."""
    return {
        config: {split: scan_table(release_dir, table) for split, table in splits.items()}
        for config, splits in tables_by_config(tables).items()
    }


def open_tables(release_dir: Path, tables: Sequence[Table]) -> dict[str, dict[str, pl.LazyFrame]]:
    """The frames of scan_tables, for many readers of undamaged files: the tables of a small release are read here, once."""
    frames = scan_tables(release_dir, tables)
    if sum(table.num_bytes for table in tables) > SMALL:
        return frames
    return {
        config: {split: frame.collect().lazy() for split, frame in splits.items()} for config, splits in frames.items()
    }


def scan_table(release_dir: Path, table: Table) -> pl.LazyFrame:
    """A lazy frame over a table of a release, its rows in order."""
    return pl.scan_parquet([release_dir / file.path for file in table.files], glob=False)


def write_json(path: Path, value: Any) -> None:
    """Write JSON as people read it: indented, UTF-8, with a final newline."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8", newline="\n")


def verify_release(release_dir: Path, manifest: Manifest) -> list[str]:
    """The problems of a release: files missing, changed or not in the manifest; tables with other rows than the manifest's.

    Every data file is read and every row hashed: an empty list means that the rows are those of the manifest's content_sha256.
    Card, statistics and croissant.json need only exist: see pipelines.release.folder.edited_documents.

    Raises ReleaseError for a file that has the manifest's digest and is not valid Parquet, or has columns of other types.
    """
    problems: list[str] = []
    for table in manifest.tables:
        damaged = damaged_files(release_dir, table)
        if not damaged:
            content = hash_table(release_dir, table)
            if content.hexdigest() != table.content_sha256:
                damaged.append(f"{table.location}: other rows than the manifest's")
            elif content.rows != table.rows:
                damaged.append(f"{table.location}: {content.rows:,} rows, {table.rows:,} in the manifest")
        problems += damaged
    named = {file.path for file in manifest.files}
    present = [path.relative_to(release_dir).as_posix() for path in sorted(release_dir.rglob("*.parquet"))]
    problems += [f"{path} is in no table of the manifest" for path in present if path not in named]
    problems += [f"{name} is missing" for name in document_names(manifest) if not (release_dir / name).is_file()]
    hashes = {(table.config, table.split): table.content_sha256 for table in manifest.tables}
    if not problems and dataset_sha256(hashes) != manifest.content_sha256:
        problems.append("content_sha256 is not that of the tables")
    return problems


def damaged_files(release_dir: Path, table: Table) -> list[str]:
    """The files of a table that are missing or have other bytes than the manifest says, a line for each."""
    damaged = []
    with stage(
        f"comparing files of {table.location}", total=sum(file.bytes for file in table.files), unit=BYTES
    ) as advance:
        for file in table.files:
            path = release_dir / file.path
            if not path.is_file():
                damaged.append(f"{file.path} is missing")
            elif (present := describe_file(path, release_dir)).sha256 != file.sha256:
                damaged.append(f"{file.path} has changed: {present.bytes} bytes, sha256 {present.sha256[:16]}...")
            advance(file.bytes)
    return damaged
