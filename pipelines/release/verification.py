"""What is wrong with a release as it lies in a folder: its files and its rows against its manifest."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from builders.spec import VERSION
from pipelines.release import staging
from pipelines.release.content_hash import dataset_sha256
from pipelines.release.parquet import File, Table, describe_file, hash_table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TEXT = {
    "dataset": str,
    "version": str,
    "source": str,
    "task": str,
    "content_sha256": str,
    "sample": bool,
    "partial": bool,
}
MANIFEST = {**TEXT, "tables": list, "splits": list, "raw": list, "recipe": dict, "dropped": list, "findings": list}
TABLE = {
    "config": str,
    "split": str,
    "rows": int,
    "content_sha256": str,
    "num_bytes": int,
    "columns": list,
    "files": list,
}
COLUMN = {"name": str, "type": str}
FILE = {"path": str, "bytes": int, "sha256": str}
FINDING = {"kind": str, "severity": str, "config": str, "split": str, "column": str, "count": int}
DROPPED = {"reason": str, "split": str, "count": int}


def is_manifest(value: Any) -> bool:
    """Whether a value has the shape of a manifest, and names no file outside its release.

    A manifest may come from the Hub: its paths are data until they are known to stay in their folder.
    """
    return (
        _has(value, MANIFEST)
        and VERSION.fullmatch(value["version"]) is not None
        and isinstance(value["recipe"].get("options"), dict)
        and all(_has(one, FINDING) for one in value["findings"])
        and all(_has(one, DROPPED) for one in value["dropped"])
        and all(
            _has(table, TABLE)
            and all(_has(column, COLUMN) for column in table["columns"])
            and all(_has(file, FILE) and file.keys() == FILE.keys() and _stays(file["path"]) for file in table["files"])
            for table in value["tables"]
        )
    )


def _has(value: Any, kinds: Mapping[str, type]) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(key), kind) for key, kind in kinds.items())


def _stays(path: str) -> bool:
    """Whether a path is a file in a folder of its release, under this name on every system."""
    parts = PurePosixPath(path).parts
    return len(parts) == 2 and "/".join(parts) == path and ".." not in parts and not set(path) & set("\\:\0")


def verify_release(place: Path, manifest: Mapping[str, Any]) -> list[str]:
    """Files that are missing, changed or not in the manifest; tables whose rows are not those of the manifest.

    Every file is read and every row hashed: an empty list says that the rows are those of the manifest's content_sha256.
    """

    problems, hashes = [], {}
    for table in manifest["tables"]:
        damaged = []
        for file in table["files"]:
            path = place / file["path"]
            if not path.is_file():
                damaged.append(f"{file['path']} is missing")
            elif (now := describe_file(path, place)).sha256 != file["sha256"]:
                damaged.append(f"{file['path']} has changed: {now.bytes} bytes, sha256 {now.sha256[:16]}...")
        if not damaged:
            columns = tuple((column["name"], column["type"]) for column in table["columns"])
            files = tuple(File(**file) for file in table["files"])
            head = (
                table["config"],
                table["split"],
                table["rows"],
                columns,
                table["content_sha256"],
                table["num_bytes"],
            )
            digest = hashes[table["config"], table["split"]] = hash_table(place, Table(*head, files))
            if digest != table["content_sha256"]:
                damaged.append(f"{table['config']}/{table['split']}: other rows than the manifest's")
        problems += damaged
    named = {file["path"] for file in staging.files_of(manifest)}
    strays = [path.relative_to(place).as_posix() for path in sorted(place.rglob("*.parquet"))]
    problems += [f"{stray} is in no table of the manifest" for stray in strays if stray not in named]
    problems += [f"{name} is missing" for name in (staging.CARD, staging.STATISTICS) if not (place / name).is_file()]
    if not problems and dataset_sha256(hashes) != manifest["content_sha256"]:
        problems.append("content_sha256 is not that of the tables")
    return problems
