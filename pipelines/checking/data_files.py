"""The data files of a folder, assigned to tables, and their formats.

A folder has the layout of a Hub repository, and paths are relative to it (`data/test-00000-of-00001.parquet`). The listing is
enough: a repository is resolved before any file is downloaded. `datasets` itself resolves it (pipelines.release.resolution),
except a repository without `configs` whose files are named after configs: corpus.jsonl, queries/test.parquet, en/train.csv.
`datasets` puts all of them into one config, and mteb reads each by itself; so does this module.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import orjson
import polars as pl

from builders.errors import SourceError
from builders.tasks import EVALUATED
from pipelines.process.safe_text import first_line
from pipelines.raw.pins import describe_content, read_head
from pipelines.release.resolution import CARD, Files, declared_configs, is_inside, resolve_files

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


# The configs of task types with several tables (corpus, queries, ...): alone, or after a subset, as in `ru-corpus`.
PART_CONFIGS = (
    *dict.fromkeys(layout.config for kind in EVALUATED.values() if len(kind.layouts) > 1 for layout in kind.layouts),
    "query",  # an older name of `queries`
)
SHARD_NUMBER = re.compile(r"(?:^|[-_.])\d+(?:-of-\d+.*)?$", re.ASCII)
SPLIT = re.compile(
    r"(?:train|training|validation|valid|val|dev|test|testing|eval|evaluation)(?![a-z])[\w.-]*",
    re.ASCII | re.IGNORECASE,
)


def resolve_tables(
    paths: Iterable[str], front_matter: Mapping[str, Any], where: str, subsets: Sequence[str] = ()
) -> Files:
    """The data files of each table, by config and split, in the order in which they are read.

    paths: all files of the folder. where: the folder or repository, for errors. subsets: the ones to read, as mteb names them;
    the subset `ru` is the config `ru`, or the configs `ru-corpus`, `ru-queries` and `ru-qrels`.

    Raises SourceError where `datasets` could not load them (see pipelines.release.resolution), for files in formats that are not
    supported, for a folder without tables, and for an unknown subset.
    """
    paths = list(paths)
    declared = declared_configs(front_matter, f"{where}, {CARD}")
    inferred = {} if declared else _tables_by_name(sorted(path for path in paths if _is_data_file(path)))
    configs = list(declared or inferred) or ["default"]
    for subset in subsets:
        if not any(belongs_to(config, subset) for config in configs):
            raise SourceError(f"no subset {subset!r}", where=where, found=f"configs: {', '.join(configs)}")
    selected = [name for name in configs if not subsets or any(belongs_to(name, subset) for subset in subsets)]
    if inferred:
        return {name: inferred[name] for name in selected}
    if declared:
        configs = [one for one in front_matter["configs"] if one["config_name"] in selected]
        files = resolve_files(paths, {"configs": configs}, where)
    else:
        files = _resolve_without_configs(paths, where)
    if unsupported := _unsupported_files(files):
        what = "a data file is in a format that is not supported"
        raise SourceError(what, where=where, found=unsupported[0], expected=", ".join(NAMES))
    return files


def all_paths(files: Files) -> list[str]:
    """The paths of all tables."""
    return [path for splits in files.values() for paths in splits.values() for path in paths]


def _unsupported_files(files: Files) -> list[str]:
    return [path for path in all_paths(files) if extension(path) is None]


def _resolve_without_configs(paths: Sequence[str], where: str) -> Files:
    """The tables of a folder as `datasets` resolves it.

    Raises SourceError where it finds none, or files of another format.
    """
    try:
        files = resolve_files(paths, {}, where)
    except SourceError:
        files = {}
    if files and not _unsupported_files(files):
        return files
    data_files = [path for path in paths if _is_data_file(path)]
    raise SourceError(
        "no tables found",
        where=where,
        found=f"{len(data_files)} data files" + (f", such as {min(data_files)}" if data_files else ""),
        expected="a README.md whose front matter has `configs`, or names such as data/test-00000-of-00001.parquet, "
        "corpus/test.parquet, corpus.jsonl, qrels/test.tsv",
        todo="name the folder of one dataset (for a release of this package: outputs/<dataset>/<version>)",
    )


def belongs_to(config: str, subset: str) -> bool:
    """Whether a config is a subset, or a part of it: `ru`, or `ru-corpus`."""
    return config == subset or config in {f"{subset}-{part}" for part in PART_CONFIGS}


def _is_data_file(path: str) -> bool:
    """Whether a path has a data format and stays inside its folder on every system. `datasets` ignores hidden files."""
    *folders, name = PurePosixPath(path).parts
    hidden = name.startswith(".") or any(folder.startswith((".", "__")) for folder in folders)
    return is_inside(path) and not hidden and extension(name) is not None


def _tables_by_name(data_files: list[str]) -> Files:
    """The tables of files that are named after configs; none where all belong to `default`: then `datasets` decides."""
    tables: Files = {}
    for path in data_files:
        if location := _location_by_name(path):
            config, split = location
            tables.setdefault(config, {}).setdefault(split, []).append(path)
    named = set(tables) - {"default"} or any(path.startswith("default/") for path in data_files)
    return tables if named else {}


def split_of_file(name: str) -> str:
    """The split that the name of a single file says, without a shard number; `train` for any other name, as in `datasets`."""
    split = _stem(name)
    return split if SPLIT.fullmatch(split) else "train"


def _stem(name: str) -> str:
    """The name of a data file without its extension and without a shard number."""
    return SHARD_NUMBER.sub("", name[: name.lower().rindex(extension(name) or "")])


def _location_by_name(path: str) -> tuple[str, str] | None:
    """The config and split that a file's path names; None for a path that names none.

    `<config>/<split>.<extension>` or `<config>/<split>/<shard>.<extension>`; without a folder, or in `data`, the config is
    `default`. A split may be followed by a shard number. A file named after a part, such as corpus.jsonl, is the only split of
    its config.
    """
    *folders, name = PurePosixPath(path).parts
    split = _stem(name)
    folders = folders[1:] if folders[:1] == ["data"] else folders
    match folders:
        case []:
            if split in PART_CONFIGS:
                return split, split
            return ("default", split) if SPLIT.fullmatch(split) or (path.startswith("data/") and split) else None
        case [folder] if SPLIT.fullmatch(folder):
            return "default", folder
        case [folder]:
            return folder, split or "train"
        case [folder, inner] if SPLIT.fullmatch(inner) or inner == folder:
            return folder, inner
    return None


Tables = dict[str, dict[str, pl.LazyFrame]]  # config -> split -> frame
Location = tuple[str, str]  # config, split
