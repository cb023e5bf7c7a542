"""Releases that differ from what a build gives, with manifests that agree with them."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq

from cards.manifest import Manifest, encode
from pipelines.release import folder, parquet
from pipelines.release.content_hash import dataset_sha256


def copy_release(release_dir: Path, target: Path, **changes: Any) -> Path:
    """Copy a release; its manifest has these fields changed."""
    shutil.copytree(release_dir, target)
    return with_manifest(target, **changes)


def with_manifest(release_dir: Path, **changes: Any) -> Path:
    """Change fields of a release's manifest in place."""
    manifest: Manifest = replace(folder.require_manifest(release_dir), **changes)
    (release_dir / folder.MANIFEST).write_bytes(encode(manifest))
    return release_dir


def with_rows(release_dir: Path, change: Callable[[pl.DataFrame], pl.DataFrame], table: int = 0) -> Path:
    """Change the rows of one table of a release in place."""
    tables = list(folder.require_manifest(release_dir).tables)
    old = tables[table]
    frame = pl.concat([pl.read_parquet(release_dir / file.path) for file in old.files])
    for file in old.files:
        (release_dir / file.path).unlink()
    tables[table] = parquet.write_table(change(frame), release_dir, old.config, old.split)
    digest = dataset_sha256({(table.config, table.split): table.content_sha256 for table in tables})
    return with_manifest(release_dir, tables=tuple(tables), content_sha256=digest)


def recompress(release_dir: Path) -> Path:
    """Write the data files of a release in other bytes, with the same rows, in place."""
    tables = []
    for table in folder.require_manifest(release_dir).tables:
        for file in table.files:
            pq.write_table(pq.read_table(release_dir / file.path), release_dir / file.path, compression="gzip")
        files = tuple(parquet.describe_file(release_dir / file.path, release_dir) for file in table.files)
        tables.append(replace(table, files=files))
    return with_manifest(release_dir, tables=tuple(tables))
