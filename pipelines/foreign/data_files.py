"""Which data files make which table, by a dataset's front matter or else by their names; and how they are read.

A folder is laid out as on the Hub, and its files are known by their paths in it (`data/test-00000-of-00001.parquet`): so a
repository is understood from its listing, before any of it is downloaded. The model is what `datasets` 5.2 makes of it, but
that folders and file names that are no splits name configs, as in the repositories that mteb reads.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import orjson
import polars as pl
import yaml

from builders.errors import SourceError
from pipelines.raw import content_types

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path


Files = dict[str, dict[str, list[str]]]  # config -> split -> paths

CARD = "README.md"
PARTS = ("corpus", "queries", "query", "qrels", "top_ranked")  # configs of retrieval, each alone or after `<subset>-`
FORMATS = {
    ".parquet": "Parquet", ".jsonl": "JSON lines", ".ndjson": "JSON lines", ".json": "JSON", ".csv": "CSV", ".tsv": "TSV",
}  # fmt: skip
COMPRESSED = (".jsonl", ".ndjson", ".csv", ".tsv")  # formats that may also end in .gz
SHARD = re.compile(r"(?:^|[-_.])\d+(?:-of-\d+.*)?$", re.ASCII)
SPLIT = re.compile(
    r"(?:train|training|validation|valid|val|dev|test|testing|eval|evaluation)(?![a-z])[\w.-]*",
    re.ASCII | re.IGNORECASE,
)

# What pandas, with which `datasets` reads CSV, takes for a missing value, in columns of text too.
NULLS = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL",
    "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip


def parse_front_matter(card: bytes, where: str) -> dict[str, Any]:
    """The metadata at the head of a README.md; empty where it has none.

    Raises SourceError for metadata that are no YAML mapping.
    """

    found = re.match(
        r"\ufeff?---[ \t]*\r?\n(.*?)(?:^|\n)---[ \t]*(?:\r?\n|\Z)", card.decode("utf-8", "replace"), re.DOTALL
    )
    try:
        head = yaml.safe_load(found[1]) if found else None
    except yaml.YAMLError as error:
        words = " ".join(str(error).split())
        raise SourceError("the front matter is no YAML", where=where, found=words, todo="mend it") from error
    if head is not None and not isinstance(head, dict):
        raise SourceError("the front matter is no mapping", where=where, found=type(head).__name__, todo="mend it")
    return head or {}


def resolve_tables(paths: Iterable[str], head: Mapping[str, Any], where: str, subsets: Sequence[str] = ()) -> Files:
    """The tables of a folder with these files, each with its files in the order of their names.

    subsets: those asked for, as mteb names them; `ru` is the config `ru`, or `ru-corpus`, `ru-queries` and `ru-qrels`.

    Raises SourceError where the front matter's `configs` are malformed or match no file, where no file is a table's, and for a
    subset that is not there.
    """
    files = sorted(path for path in paths if _is_data(path))
    configs = _configs(head, where)
    named = _by_name(files) if not configs else {}
    names = list(named) or [str(one["config_name"]) for one in configs]
    if not names:
        raise SourceError(
            "no table is found here",
            where=where,
            found=f"{len(files)} data files" + (f", such as {files[0]}" if files else ""),
            expected="a README.md whose front matter has `configs`, or names such as data/test-00000-of-00001.parquet, "
            "corpus/test.parquet, corpus.jsonl, qrels/test.tsv",
            todo="name the folder of one dataset (of our own releases: outputs/<dataset>/<version>)",
        )
    for subset in subsets:
        if not any(_is_of(name, subset) for name in names):
            raise SourceError(f"there is no subset {subset!r}", where=where, found=f"configs: {', '.join(names)}")
    wanted = [name for name in names if not subsets or any(_is_of(name, subset) for subset in subsets)]
    declared = {str(one["config_name"]): one for one in configs}
    return {name: named[name] if named else _declared(declared[name], files, where) for name in wanted}


def _is_of(config: str, subset: str) -> bool:
    return config == subset or config in {f"{subset}-{part}" for part in PARTS}


def _configs(head: Mapping[str, Any], where: str) -> list[Any]:
    """The `configs` of a front matter."""
    configs = head.get("configs") or []
    if not isinstance(configs, list) or not all(isinstance(one, dict) and "config_name" in one for one in configs):
        expected = "config_name and data_files of each"
        raise SourceError("`configs` is no list of configs", where=f"{where}, {CARD}", expected=expected)
    return configs


def _is_data(path: str) -> bool:
    """Whether a path is a data file's, inside its folder on every system; hidden files are none, as for `datasets`."""
    *folders, name = parts = PurePosixPath(path).parts
    plain = "/".join(parts) == path and ".." not in parts and not set(path) & set("\\:\0")
    hidden = name.startswith(".") or any(folder.startswith((".", "__")) for folder in folders)
    return plain and not hidden and _ending(name) is not None


def _ending(name: str) -> str | None:
    """The ending of a data file's name, without `.gz`; None for any other file."""
    bare = name.lower()
    packed = bare.endswith(".gz")
    ending = PurePosixPath(bare.removesuffix(".gz")).suffix
    return ending if ending in (COMPRESSED if packed else FORMATS) else None


def _by_name(files: list[str]) -> Files:
    """The tables that the names of files mean."""
    found: Files = {}
    for path in files:
        if place := _placed(path):
            found.setdefault(place[0], {}).setdefault(place[1], []).append(path)
    return found


def _placed(path: str) -> tuple[str, str] | None:
    """The config and split of a file; None for a name that means none.

    `<config>/<split>.<ending>`, `<config>/<split>/<shard>.<ending>`, where no folder or `data` is the config `default`; a
    split may be followed by the number of a shard. A file named after a part of retrieval is its config's only split.
    """
    *folders, name = PurePosixPath(path).parts
    stem = name[: name.lower().rindex(_ending(name) or "")]
    split = SHARD.sub("", stem)
    folders = folders[1:] if folders[:1] == ["data"] else folders
    match folders:
        case []:
            if split in PARTS:
                return split, split
            return ("default", split) if SPLIT.fullmatch(split) or (path.startswith("data/") and split) else None
        case [folder] if SPLIT.fullmatch(folder):
            return "default", folder
        case [folder]:
            return folder, split or "train"
        case [folder, inner] if SPLIT.fullmatch(inner) or inner == folder:
            return folder, inner
    return None


def _declared(config: Mapping[str, Any], files: list[str], where: str) -> dict[str, list[str]]:
    """The splits of a config of a front matter, with what their patterns match."""
    place, folder = f"{where}, {CARD}", str(config.get("data_dir") or "").strip("/")
    below = f"{folder}/" if folder else ""
    inside = [path.removeprefix(below) for path in files if path.startswith(below)]
    if config.get("data_files") is None:
        splits = _by_name(inside).get("default", {})
    else:
        patterns = _patterns(config["data_files"], place)
        splits = {split: _matching(several, inside) for split, several in patterns.items()}
    missing = [split for split, matched in splits.items() if not matched]
    if missing or not splits:
        raise SourceError(
            f"config {config['config_name']!r} names files that are not there",
            where=place,
            found=", ".join(f"none for the split {split}" for split in missing)
            or f"no split in {below or 'the folder'}",
            expected="files in one of the formats " + ", ".join(dict.fromkeys(FORMATS.values())),
            todo="mend `data_files`, or get the files",
        )
    return {split: [below + path for path in matched] for split, matched in splits.items()}


def _patterns(data_files: Any, where: str) -> dict[str, list[str]]:
    """The patterns of each split; without a split they are those of `train`, as for `datasets`."""
    listed = data_files if isinstance(data_files, list) else [data_files]
    if all(isinstance(one, str) for one in listed):
        return {"train": listed}
    patterns: dict[str, list[str]] = {}
    for one in listed:
        path = one.get("path") if isinstance(one, dict) and "split" in one else None
        paths: list[Any] = path if isinstance(path, list) else [path]
        if not paths or not all(isinstance(path, str) for path in paths):
            raise SourceError("`data_files` is malformed", where=where, found=str(one)[:200], expected="split and path")
        patterns.setdefault(str(one["split"]), []).extend(paths)
    return patterns


def _matching(patterns: list[str], files: list[str]) -> list[str]:
    """The files that patterns match, in the order of the patterns, then of names: `*` stays in a folder, `**` does not."""
    parts = [pattern.removeprefix("./").split("/") for pattern in patterns]
    return list(dict.fromkeys(path for pattern in parts for path in files if _fits(path.split("/"), pattern)))


def _fits(path: list[str], pattern: list[str]) -> bool:
    if not pattern or not path:
        return not path and pattern in ([], ["**"])
    if pattern[0] == "**":
        return _fits(path, pattern[1:]) or _fits(path[1:], pattern)
    return fnmatchcase(path[0], pattern[0]) and _fits(path[1:], pattern[1:])


def scan(files: Sequence[Path]) -> pl.LazyFrame:
    """The files of one table as a lazy frame, its types as they stand in the files or as they are inferred from all rows.

    Raises SourceError for a file that cannot be read, and for files in several formats.
    """

    formats = {FORMATS[_ending(file.name) or ".parquet"] for file in files}
    if len(formats) > 1:
        raise SourceError(
            "the files of one table are in several formats",
            where=", ".join(map(str, files[:4])),
            found=", ".join(sorted(formats)),
        )
    try:
        frame = _scan(formats.pop(), files)
        frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable_file(files, error) from error
    return frame


def _scan(kind: str, files: Sequence[Path]) -> pl.LazyFrame:

    match kind:
        case "Parquet":
            return pl.scan_parquet(list(files), glob=False)
        case "CSV" | "TSV":
            separator = "\t" if kind == "TSV" else ","
            return pl.scan_csv(
                list(files), separator=separator, null_values=list(NULLS), infer_schema_length=None, glob=False
            )
        case "JSON" if any(content_types.read_head(file).lstrip()[:1] == b"[" for file in files):
            return pl.concat([pl.read_json(file, infer_schema_length=None).lazy() for file in files])
    return pl.scan_ndjson(list(files), infer_schema_length=None)


def unreadable_file(files: Sequence[Path], error: Exception) -> SourceError:
    """The error for a table whose rows cannot be read: it names the file that cannot be read by itself, if one is to blame."""

    for file in files:
        kind = FORMATS[_ending(file.name) or ".parquet"]
        try:
            for _ in _scan(kind, [file]).collect_batches():
                pass
        except (pl.exceptions.PolarsError, OSError) as why:
            described = (
                content_types.describe_content(content_types.read_head(file), file.stat().st_size)
                if file.is_file()
                else "no file"
            )
            return SourceError(
                "this file cannot be read", where=_line_of(file, kind), found=f"{described}: {_words(why)}", expected=kind,
                todo="get the file again; if it is as published, whoever publishes it must mend it",
            )  # fmt: skip
    where = ", ".join(map(str, files[:4])) + (", ..." if len(files) > 4 else "")
    return SourceError("the rows of a table cannot be read", where=where, found=_words(error))


def _words(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:300] or type(error).__name__


def _line_of(file: Path, kind: str) -> str:
    """A file, and of JSON lines the first that is none."""

    if kind != "JSON lines" or file.name.lower().endswith(".gz"):
        return str(file)
    with file.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                orjson.loads(line.strip() or b"{}")
            except orjson.JSONDecodeError:
                return f"{file}, line {number}"
    return str(file)
