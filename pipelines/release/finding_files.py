"""All rows of all findings as Parquet, so that a dataset can be fixed; findings that a recipe reports.

    <folder>/<kind>/<config>-<split>.parquet    the rows of one kind in one table, in row order within each finding
    <folder>/findings.json                      {"files": [...]}: the paths of these files, written last

pipelines.audit.findings says what the columns are. The files that findings.json lists are ours: the next run replaces or
removes them. Any other file in the folder is left as it is.

Who audits the rows of a release again cannot find them, and takes them from its manifest.
"""

import json
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import polars as pl

from builders.errors import ReleaseError
from builders.spec import Reported
from cards.kinds import find_kind
from cards.manifest import Manifest
from pipelines.audit.findings import FindingRows, findings_where, list_rows, with_examples, without_rows
from pipelines.audit.tables import Frames
from pipelines.process.files import link_or_copy, locked
from pipelines.release.staging import staged_folder

INDEX = "findings.json"


def write_findings(folder: Path, findings: Sequence[FindingRows]) -> list[Path]:
    """Write the rows of the findings below a folder; returns the files, sorted. Findings about no rows (a label) are left out.

    All is written beside the folder, which is exchanged at the end: killed at any moment, it holds the rows of one run.

    Raises ReleaseError where another file is in the way and for a disk that is full or fails, OSError for a folder that cannot be
    written.
    """
    with (
        locked(folder.parent / f".{folder.name}.lock", folder.name, remove=True),
        staged_folder(folder, "the rows of findings", marker=INDEX) as new,
    ):
        ours = _listed_files(folder)
        names = _write_tables(new, findings)
        _keep_others(folder, new, ours)
        (new / INDEX).write_text(json.dumps({"files": names}, indent=1) + "\n", "utf-8")
    return [folder / name for name in names]


def _write_tables(folder: Path, findings: Sequence[FindingRows]) -> list[str]:
    """Write a table for each kind and location; returns their paths below the folder, sorted."""
    parts: dict[str, list[pl.DataFrame]] = {}
    for found in findings:
        finding, rows = found.finding, list_rows(found)
        if not rows.is_empty():
            name = f"{finding.kind}/{_file_name(finding.config)}-{_file_name(finding.split)}.parquet"
            parts.setdefault(name, []).append(rows)
    for name, frames in parts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        pl.concat(frames, how="diagonal").write_parquet(folder / name)
    return sorted(parts)


def _listed_files(folder: Path) -> set[str]:
    """The paths of the files that an earlier run wrote.

    Raises ReleaseError for a file in place of the folder, and for a list that is not ours.
    """
    if folder.exists() and not folder.is_dir():
        raise _occupied(folder)
    if not (folder / INDEX).exists():
        return set()
    try:
        return {INDEX, *json.loads((folder / INDEX).read_bytes())["files"]}
    except (ValueError, KeyError, TypeError):
        raise _occupied(folder / INDEX) from None


def _keep_others(folder: Path, new: Path, ours: Collection[str]) -> None:
    """Give the files of a folder that are not ours to the new one too, unless a new file has the name.

    Raises ReleaseError for one that has the name of a kind.
    """
    for path in folder.rglob("*"):
        name = path.relative_to(folder)
        if (path.is_dir() and not path.is_symlink()) or name.as_posix() in ours or (new / name).is_file():
            continue
        if (new / name).is_dir():
            raise _occupied(path)
        (new / name).parent.mkdir(parents=True, exist_ok=True)
        link_or_copy(path, new / name, follow_symlinks=False)


def _occupied(path: Path) -> ReleaseError:
    return ReleaseError(
        "another file is where rows of findings would be written",
        where=str(path),
        todo="move it away, or name another folder",
    )


def _file_name(part: str) -> str:
    """A config or split as part of a file name: names of foreign datasets may hold anything."""
    return re.sub(r"[^\w-]", "_", part) or "all"


def report_rows(reported: Iterable[Reported], frames: Frames) -> list[FindingRows]:
    """The findings with their rows. frames: the tables of the release, by config and split."""
    findings: list[FindingRows] = []
    for finding in reported:
        findings += findings_where(
            finding.kind,
            (finding.config, finding.split, finding.column),
            frames[finding.config][finding.split].select("id").with_row_index("position"),
            pl.col("id").is_in(list(finding.ids)),
            detail=finding.detail,
        )
    return with_examples(findings, frames)


def reported_before(manifest: Manifest) -> list[FindingRows]:
    """The findings that the recipe of a release reported, from its manifest: without their rows."""
    return [without_rows(finding) for finding in manifest.findings if find_kind(finding.kind).reported]
