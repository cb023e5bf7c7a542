"""One rule for what commands write: never an input, and nothing that this package did not write.

Files are compared by device and inode: links and other spellings of a path lead to the same file. This package knows its own
Parquet by a key in the metadata, a page by its generator, JSON by its `$schema`, a folder by the file that lists the others.
Version 0.2.0 set fewer marks: its files are known by their columns, keys and first lines.
"""

import base64
import glob
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from builders.errors import UsageError
from builders.limits import MAX_MANIFEST, read_at_most

MARK = "embedding-datasets"  # the key in the metadata of Parquet, and the beginning of the generator of a page
SCHEMA = "urn:embedding-datasets:"  # the beginning of `$schema`
RELEASE = "manifest.json"  # a folder that has it is a release, or is read as one
OLD_PAGE = (
    b'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy"'
    b" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
)
# How the Markdown, the SARIF and the badge of a check begin.
REPORTS = (
    b"<!-- embedding-datasets check -->\n",
    (
        b'{"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",'
        b' "runs": [{"tool": {"driver": {"name": "embedding-datasets"'
    ),
    b'{"schemaVersion": 1, "label": "embedding data"',
)


@dataclass(frozen=True)
class Kind:
    """A kind of file or folder that commands write.

    name: with its article, for errors. wrote: whether this package wrote the file at a path. lists: for a folder, the paths below
    it that this package wrote: files, or folders with all that is in them.
    """

    name: str
    wrote: Callable[[Path], bool] | None = None
    lists: Callable[[Path], set[str]] | None = None


@dataclass(frozen=True)
class Output:
    """An output of a command. option: what names it on the command line."""

    option: str
    path: Path
    kind: Kind


def claim(outputs: Sequence[Output], inputs: Sequence[Path] = (), *, overwrite: bool = False) -> None:
    """Raise UsageError where a command would write over an input, a release, another output, or what this package did not write.

    inputs: the files and folders that the command reads. overwrite: replace what somebody else wrote, if it is none of the inputs
    and in no release.
    """
    for one, other in combinations(outputs, 2):
        if _same_place(one.path, other.path) or _is_below(one.path, other) or _is_below(other.path, one):
            raise _refusal("two outputs would be written in one place", one, f"{other.option} {other.path}")
    for output in outputs:
        _require_free_place(output, inputs)
        if output.path.exists():
            _require_replaceable(output, inputs, overwrite=overwrite)


def existing(name: str) -> Iterator[Path]:
    """The files and folders that a name on the command line means, as it is or as a glob; none for that of a dataset, say."""
    if not name:
        return
    try:
        exists = Path(name).exists()
    except (OSError, ValueError):  # too long, or with a null character
        return
    if exists:
        yield Path(name)
    elif glob.has_magic(name):
        yield from map(Path, glob.iglob(name, recursive=True))  # noqa: PTH207 - as the name is written


def _require_free_place(output: Output, inputs: Sequence[Path]) -> None:
    """Raise UsageError for an output inside a release, or for a folder that holds an input."""
    place = output.path.resolve()
    for parent in place.parents:
        if (parent / RELEASE).is_file():
            raise _refusal("the output is inside a release", output, str(parent))
    if output.kind.lists is None:
        return
    for path in inputs:
        if place == path.resolve() or place in path.resolve().parents:
            raise _refusal("an input is in the folder that would be replaced", output, str(path))


def _require_replaceable(output: Output, inputs: Sequence[Path], *, overwrite: bool) -> None:
    """Raise UsageError where what is at the path of an output stays as it is."""
    path, kind = output.path, output.kind
    if (kind.lists is None) != path.is_file() or (kind.lists is not None) != path.is_dir():
        expected = "a file" if kind.lists is None else "a folder"
        raise _refusal("something else is where the output would be", output, _describe(path), expected)
    if kind.lists is not None:
        others = _others(path, kind.lists(path))
        if releases := [other for other in others if Path(other).name == RELEASE]:
            raise _refusal("a release is in the folder that would be replaced", output, releases[0])
        if others and not overwrite:
            shown = ", ".join(others[:5]) + (", ..." if len(others) > 5 else "")
            raise _refusal(f"the folder holds other files than {kind.name}", output, shown, overwrite=True)
        return
    found = next((each for each in inputs if _holds(each, path)), None)
    ours = kind.wrote is not None and kind.wrote(path)
    if found is not None and (found.is_file() or not ours):
        raise _refusal("the output is an input", output, str(found))
    if not ours and not overwrite:
        raise _refusal(f"the file is not {kind.name} that this package wrote", output, _describe(path), overwrite=True)


def _refusal(
    what: str, output: Output, found: str, expected: str | None = None, *, overwrite: bool = False
) -> UsageError:
    return UsageError(
        what,
        where=f"{output.option} {output.path}",
        found=found,
        expected=expected,
        todo=f"name another {output.option}" + (", or replace what is there with --overwrite" if overwrite else ""),
    )


def _same_place(one: Path, other: Path) -> bool:
    """Whether two paths name one file, also where neither exists yet; names that differ in case alone may do so too."""
    if one.exists() and other.exists():
        return one.samefile(other)
    one, other = one.resolve(), other.resolve()
    return one.name.casefold() == other.name.casefold() and one.parent == other.parent


def _is_below(path: Path, folder: Output) -> bool:
    return folder.kind.lists is not None and folder.path.resolve() in path.resolve().parents


def _holds(given: Path, path: Path) -> bool:
    """Whether an input is a file, or a folder with it: by name, or by another name of the same bytes."""
    if given.is_file():
        return given.samefile(path)
    if given.resolve() in path.resolve().parents:
        return True
    return path.stat().st_nlink > 1 and any(file.samefile(path) for file in given.rglob("*") if file.exists())


def _others(folder: Path, ours: set[str]) -> list[str]:
    """The files below a folder that this package did not write, sorted."""
    files = [path.relative_to(folder) for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    return sorted(
        path.as_posix() for path in files if ours.isdisjoint(place.as_posix() for place in (path, *path.parents))
    )


def _describe(path: Path) -> str:
    if path.is_dir():
        return "a folder"
    return f"a file of {path.stat().st_size:,} bytes" if path.is_file() else "a special file"


def _read_json(path: Path) -> Mapping[str, Any]:
    """The object in a JSON file; empty for anything else."""
    try:
        content = json.loads(read_at_most(path, MAX_MANIFEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _is_page(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(4096)
    return f'<meta name="generator" content="{MARK}'.encode() in head or head.startswith(OLD_PAGE)


def _is_report(path: Path) -> bool:
    """Whether a file is what a check writes beside its page: Markdown, SARIF, a badge."""
    with path.open("rb") as file:
        return file.read(256).startswith(REPORTS)


def _is_parquet(path: Path, what: str, columns: Sequence[str]) -> bool:
    try:
        with pq.ParquetFile(path) as parquet:
            marks, names = parquet.metadata.metadata or {}, parquet.schema_arrow.names
    except (OSError, pa.ArrowException):
        return False
    is_marked = marks.get(MARK.encode()) == what.encode() or f"{MARK}.{what}".encode() in marks
    return is_marked or (bool(columns) and names == list(columns))


def _is_json(path: Path, what: str, keys: Sequence[str]) -> bool:
    content = _read_json(path)
    return content.get("$schema") == SCHEMA + what or (bool(keys) and content.keys() >= set(keys))


def _is_statement(path: Path) -> bool:
    """Whether a file is an in-toto statement of this package, signed or not."""
    content = _read_json(path)
    if "payload" in content:
        try:
            content = json.loads(base64.b64decode(content["payload"], validate=True))
        except (ValueError, TypeError, RecursionError):
            return False
    return SCHEMA in json.dumps(content) and isinstance(content, dict) and "_type" in content


def _listed(folder: Path, index: str, key: str, generator: str | None = None) -> set[str]:
    """The paths that the file `index` of a folder lists, with its own; none where it is not by this generator."""
    content = _read_json(folder / index)
    listed = content.get("files")
    if not isinstance(listed, list) or content.get("generator") != generator:
        return set()
    return {index, *(str(entry.get(key)) if isinstance(entry, dict) else str(entry) for entry in listed)}


MATCH_COLUMNS = (
    "corpus_file", "corpus_row", "corpus_column", "dataset", "version", "config", "split", "row", "column", "kind", "similarity",
    "is_estimated", "unit",
)  # fmt: skip
FLAG_COLUMNS = ("dataset", "version", "config", "split", "row", "kinds", "matches")
KINDS: Mapping[str, Kind] = {
    "page": Kind("a page", _is_page),
    "check": Kind("a report of a check", _is_report),
    "statement": Kind("a statement", _is_statement),
    "report": Kind(
        "a build report", lambda _: True
    ),  # it is added to: see build_report.records, which refuse other files
    "probe": Kind("a report of a probe", partial(_is_json, what="probe", keys=("probe", "datasets"))),
    "map": Kind("a map of shared texts", partial(_is_json, what="contamination-map", keys=("datasets", "shared"))),
    "index": Kind("an index", partial(_is_parquet, what="contamination-index", columns=())),
    "matches": Kind("a table of matches", partial(_is_parquet, what="matches", columns=MATCH_COLUMNS)),
    "flags": Kind("a table of flagged rows", partial(_is_parquet, what="flags", columns=FLAG_COLUMNS)),
    "clean": Kind("a clean copy", lists=partial(_listed, index="removed.json", key="file")),
    "export": Kind("an export", lists=partial(_listed, index="export.json", key="path", generator=f"{MARK} export")),
    "site": Kind("a site", lists=partial(_listed, index="site.json", key="path", generator=f"{MARK} site")),
    "findings": Kind("rows of findings", lists=lambda _: {"."}),  # what else is there stays: see write_findings
}
