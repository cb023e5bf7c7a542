"""The files of anybody's data: their bytes, which of them a name leads to, and the tables that they make.

A dataset is a folder with the layout of a Hub repository, and paths are relative to it (`data/test-00000-of-00001.parquet`). The
listing is enough: a repository is resolved before any file is downloaded. It is resolved as `datasets` does it
(pipelines.release.resolution), except a repository without `configs` whose files are named after configs: corpus.jsonl,
queries/test.parquet, en/train.csv. `datasets` puts all of them into one config, and mteb reads each by itself; so does this
module.

A corpus is files, folders and globs: all files below a folder in a format that is read here. Others are skipped, and listed;
hidden files are skipped without a word.
"""

import glob
import io
import lzma
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Any

import orjson
import polars as pl
import pyarrow as pa

from builders.errors import SourceError, UsageError
from builders.tasks import EVALUATED
from pipelines.checking.formats import (
    ARROW,
    ARROW_MAGIC,
    ARROW_STREAM,
    COMPRESSIONS,
    CORPUS_FORMATS,
    MAGIC,
    NAMES,
    PARQUET_MAGIC,
    SNIFFED,
    UNCOMPRESSED,
    Compression,
    Format,
    extension,
    refuse_expansion,
)
from pipelines.process.addresses import HUB, AddressedFile, find_version, list_addresses, open_address, read_range
from pipelines.process.safe_text import first_line
from pipelines.raw.pins import HEAD, describe_content, read_head
from pipelines.release.resolution import CARD, Files, declared_configs, is_inside, resolve_files

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
    if saved := _saved_tables(paths):
        return saved
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
        configs = [config for config in front_matter["configs"] if config["config_name"] in selected]
        files = resolve_files(paths, {"configs": configs}, where)
    else:
        files = _resolve_without_configs(paths, where)
    if unsupported := _unsupported_files(files):
        raise SourceError(
            "a data file is in a format that is not supported",
            where=where,
            found=unsupported[0],
            expected=", ".join(NAMES),
        )
    return files


def _saved_tables(paths: Sequence[str]) -> Files:
    """The files of `Dataset.save_to_disk` and `DatasetDict.save_to_disk`, by split; none for any other folder."""
    folders = {str(PurePosixPath(path).parent) for path in paths if PurePosixPath(path).name == "state.json"}
    tables: Files = {}
    for path in sorted(path for path in paths if path.endswith(ARROW)):
        folder = str(PurePosixPath(path).parent)
        if folder in folders:
            tables.setdefault("default", {}).setdefault("train" if folder == "." else folder, []).append(path)
    return tables


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
        found=f"{len(data_files)} data files"
        + (f", among others {min(data_files or paths)}" if data_files or paths else ""),
        expected="a README.md whose front matter has `configs`, or names such as data/test-00000-of-00001.parquet, "
        "corpus/test.parquet, corpus.jsonl, qrels/test.tsv",
        todo="name the folder of one dataset (for a release of this package: outputs/<dataset>/<version>); a .txt is a .tsv if"
        " its first line names the columns, such as text<TAB>label",
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


PIECE = 4 << 20  # bytes read at a time


class Stream:
    """The decompressed bytes of a file from an offset on. An error names the file and how far it was read."""

    def __init__(self, name: str, file: Any, data: Any) -> None:
        self._name = name
        self._file = file
        self._data = data
        self._count = 0

    def read(self, size: int) -> bytes:
        """The next bytes: fewer than `size` only at the end of the file.

        Raises SourceError for compressed data that are truncated, corrupt, or far larger than a text compresses to.
        """
        try:
            data = bytes(self._data.read(size))
        except (OSError, EOFError, lzma.LZMAError, pa.ArrowException) as error:
            raise SourceError(
                "cannot read the file",
                where=self._name,
                found=f"{first_line(error)}, after {self._count:,} bytes of data",
                expected="a complete file",
                todo="download it again",
            ) from error
        self._count += len(data)
        refuse_expansion(self._name, self._count, self.position())
        return data

    def position(self) -> int:
        """The offset in the file on disk."""
        return int(self._file.tell())


@contextmanager
def open_stream(data_file: "DataFile", start: int = 0) -> Iterator[Stream]:
    """The decompressed bytes of a file; of a plain file from an offset on. Raises SourceError."""
    name, compression = data_file.name, data_file.compression
    try:
        file = open_native(data_file)
    except OSError as error:
        raise SourceError(
            "cannot read the file",
            where=name,
            found=str(error)[:200],
            todo="see that it exists and that you may read it",
        ) from error
    with file:
        file.seek(start)
        with ExitStack() as stack:
            data = stack.enter_context(lzma.open(file)) if compression == "xz" else file
            yield Stream(name, file, data if compression in ("", "xz") else pa.CompressedInputStream(file, compression))


def open_native(file: "DataFile") -> Any:
    """The bytes of a file as pyarrow reads them. Raises OSError, or SourceError for an address."""
    return pa.PythonFile(open_address(file.address), "r") if file.address else pa.OSFile(str(file.path))


def open_bytes(file: "DataFile") -> io.BufferedReader:
    """The bytes of a file as Python reads them. Raises OSError, or SourceError for an address."""
    return io.BufferedReader(open_address(file.address)) if file.address else file.path.open("rb")


def head_of(file: "DataFile") -> bytes:
    """The first bytes of a file. Raises OSError, or SourceError for an address."""
    if file.address:
        return read_range(file.address, 0, HEAD) if file.size else b""
    return read_head(file.path)


@contextmanager
def open_output(path: Path, compression: Compression) -> Iterator[Any]:
    """A new file to write bytes into; equal bytes in equal pieces give equal files."""
    with pa.OSFile(str(path), "wb") as file:
        if not compression:
            yield file
            return
        with lzma.open(file, "wb") if compression == "xz" else pa.CompressedOutputStream(file, compression) as stream:
            yield stream


READABLE = (
    "Parquet, Arrow (.arrow), JSON (.jsonl, .ndjson, or an array in .json), CSV, TSV, text (.txt) or WARC (.warc, .wet); all but "
    "the first two also with .gz, .zst, .bz2 or .xz"
)


@dataclass(frozen=True)
class DataFile:
    """A file of a corpus.

    name: what matches call it: the name on the command line and the path below it. relative: its path in a copy of the
    corpus. root: the folder that was named, or the file itself. size: in bytes. identity: what changes when its bytes do: its
    size, with the time of the last change or a digest. address: of a file that is not on this machine, whose path is then only
    its name; on the Hub it names a commit.
    """

    name: str
    relative: str
    root: Path
    path: Path
    format: Format
    compression: Compression
    size: int
    identity: str
    address: str = ""


# The files that a name leads to, by path; and the size of each that is skipped, by its name.
Listing = tuple[list[DataFile], dict[str, int]]


def list_local_files(name: str) -> Listing:
    """The files that the name of an existing file or folder, or a glob, leads to; each once, if several links lead to it.

    Raises UsageError for a glob that matches nothing, SourceError for a file that is named and cannot be read.
    """
    files: dict[Path, DataFile] = {}
    skipped = {}
    for base, path in _paths(name):
        if (found := _local_file(base, path, Path(name))) is None:
            skipped[str(path)] = path.stat().st_size
        else:
            files.setdefault(path.resolve(), found)
    return [*files.values()], skipped


def list_addressed_files(name: str) -> Listing:
    """The files that an address leads to: a file, all below a folder, or those that match a glob.

    Raises SourceError and UsageError as list_addresses does, and SourceError for a file that is not what its name says.
    """
    files, skipped = [], {}
    for each in list_addresses(name):
        path, is_named, found = Path(each.relative), each.address == name, None
        if is_inside(each.relative):
            found = describe_file(path, each.address, each.relative, each.version, path, is_named=is_named, stored=each)
        if found is None:
            skipped[each.address] = each.size
        else:
            files.append(found)
    return files, skipped


def data_format(name: str) -> tuple[Format, Compression] | None:
    """The format and the compression that the name of a file says; None for any other file."""
    bare = name.lower()
    compression = COMPRESSIONS.get(PurePosixPath(bare).suffix, "")
    known = CORPUS_FORMATS.get(PurePosixPath(PurePosixPath(bare).stem if compression else bare).suffix)
    refused = compression and (known in UNCOMPRESSED or (known == "WARC" and compression != "gzip"))
    return None if known is None or refused else (known, compression)


def describe_file(
    path: Path,
    name: str,
    relative: str,
    identity: str,
    root: Path,
    *,
    is_named: bool,
    stored: AddressedFile | None = None,
) -> DataFile | None:
    """A file with its format; None for one that is not a data file, unless it is named itself. stored: where it is not here.

    Raises SourceError for a file that is not what its name says.
    """
    known = data_format(path.name)
    size, address = (stored.size, stored.address) if stored else (path.stat().st_size, "")
    data = DataFile(name, relative, root, path.absolute(), *(known or ("text", "")), size, identity, address)
    if known is None:
        if is_named:
            raise _wrong_content(data, READABLE)
        return None
    if data.format == "JSON" and (found := _json_format(data)) != "JSON":
        if found is None and not is_named:
            return None
        data = replace(data, format=found or "JSON")
    _check_content(data)
    return data


def _paths(name: str) -> list[tuple[Path, Path]]:
    """The files that a name leads to: the folder that their paths are relative to, and the path."""
    path = Path(name)
    if path.is_dir():
        return [(path, file) for file in _below(path)]
    if path.is_file():
        return [(path.parent, path)]
    if path.exists():
        raise UsageError(
            "not a file, and no folder", where=name, expected="files with data", todo="name a file or a folder"
        )
    base = Path(*takewhile(lambda part: not glob.has_magic(part), path.parts))
    pattern = path.relative_to(base).as_posix()
    # Not of the module glob, whose `**` follows links to folders: a link to `..` would have no end.
    matches = sorted(base.glob(pattern)) if pattern != "." else []
    hidden = "/." in f"/{pattern}"
    matches = [found for found in matches if hidden or "/." not in f"/{found.relative_to(base).as_posix()}"]
    files = [
        file for found in matches for file in (_below(found) if found.is_dir() else [found] if found.is_file() else [])
    ]
    if not files:
        raise UsageError(
            "the glob matches no file",
            where=name,
            todo="see that the folder is right, and that the shell leaves the glob alone: put it in quotes",
        )
    return [(base, file) for file in dict.fromkeys(files)]


def list_files(dataset_dir: Path) -> list[str]:
    """The files below a folder, by their paths relative to it.

    A symbolic link may lead to another file in the folder, or into the cache of the Hub's library, whose snapshots are links to
    the files in `blobs` beside them.

    Raises SourceError for a file that is a symbolic link to any other place: what is there is not part of the dataset, and
    messages quote what they read.
    """
    inside = dataset_dir.resolve()
    permitted = [inside, inside.parent.parent / "blobs"] if inside.parent.name == "snapshots" else [inside]
    paths = []
    for path in dataset_dir.rglob("*"):
        if not path.is_file():
            continue
        if not any(path.resolve().is_relative_to(folder) for folder in permitted):
            raise SourceError(
                "a file of the dataset is a symbolic link out of its folder",
                where=str(path),
                found=f"a link to {path.resolve()}",
                expected="files in the folder itself",
                todo="replace the link by a copy of the file",
            )
        paths.append(path.relative_to(dataset_dir).as_posix())
    return paths


def _below(folder: Path) -> list[Path]:
    """The files below a folder by path, without hidden ones and those in hidden folders. Raises SourceError as `list_files`."""
    return [folder / relative for relative in sorted(list_files(folder)) if "/." not in f"/{relative}"]


def _local_file(base: Path, path: Path, named: Path) -> DataFile | None:
    """A file below a folder; None for one that is not a data file. named: the folder, the file itself, or a glob."""
    relative, root = path.relative_to(base).as_posix(), base if base == named else path
    if any("\ud800" <= character <= "\udfff" for character in str(path)):  # a name may hold any bytes
        raise UsageError("the name of a file is not UTF-8", where=str(path), todo="rename the file")
    try:
        return describe_file(path, path.as_posix(), relative, _identity(path), root, is_named=path == named)
    except OSError as error:
        raise SourceError(
            "cannot read the file",
            where=str(path),
            found=error.strerror or str(error),
            todo="see that it exists and that you may read it",
        ) from error


def _identity(path: Path) -> str:
    state = path.stat()
    return f"{state.st_size}-{state.st_mtime_ns}"


def require_unchanged(file: DataFile) -> None:
    """Raise SourceError for a file that was changed, replaced or removed after it was listed."""
    if file.address.startswith(HUB):  # a commit never changes
        return
    if file.address:
        if (version := find_version(file.address)) != file.identity:
            raise file_changed(file, f"size and ETag, or time of change: {version}", file.identity)
        return
    found = _identity(file.path) if file.path.is_file() else "no file"
    if found != file.identity:
        raise file_changed(file, f"size and time of change {found}", file.identity)


def corrupt_file(file: DataFile, what: str, expected: str, error: BaseException) -> SourceError:
    """The error for a file that a reader gives up, by that reader's error. what: the format, in a sentence."""
    return SourceError(
        f"truncated or corrupt {what}",
        where=file.name,
        found=first_line(error),
        expected=expected,
        todo="download it again, or leave it out",
    )


def file_changed(file: DataFile, found: str, expected: str) -> SourceError:
    """The error for a file that has other bytes than before."""
    return SourceError(
        "the file was changed while it was read",
        where=file.name,
        found=found,
        expected=expected,
        todo="run it again when nothing writes to the file, which all nodes of a cluster see; nothing was written of this run",
    )


def _check_content(file: DataFile) -> None:
    """Refuse a file whose first bytes are not those of its format: an HTML page, a git-lfs pointer, a zip archive.

    Raises SourceError.
    """
    head = head_of(file)
    magic = MAGIC[file.compression]
    if file.format in UNCOMPRESSED:
        magic = PARQUET_MAGIC if file.format == "Parquet" else ARROW_STREAM
    if not head.startswith((magic, ARROW_MAGIC) if file.format == "Arrow" else magic) or (
        file.compression and not head
    ):
        raise _wrong_content(file, f"{file.compression or file.format} data")
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if file.format == "JSON lines" and not file.compression and text and not text.startswith((b"{", b"[")):
        raise _wrong_content(file, "JSON lines: one object a line")
    if file.format == "JSON" and (file.compression in ("bz2", "xz") or _json_format(file) is None):
        raise SourceError(
            "neither JSON lines nor a JSON array that can be read",
            where=file.name,
            found=describe_content(head, file.size)
            if file.compression or not text.startswith(b"{")
            else "one object in many lines",
            expected="one object a line, or an array of objects, compressed as gzip or zstd if at all",
            todo="convert it, for example: jq -c '.[]' FILE.json > FILE.jsonl",
        )


def _json_format(file: DataFile) -> Format | None:
    """How a file named `.json` is written: as lines, if its first line is complete, or as one array; None for anything else.

    `[{"text": "a"}, {"text": "b"}]` alone is an array; with more lines behind it, its lines are rows, such as chats.
    """
    with open_stream(file) as stream:
        first = stream.read(SNIFFED).removeprefix(b"\xef\xbb\xbf").lstrip()
    line, end, rest = first.partition(b"\n")
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        is_long = not end and len(first) >= SNIFFED
        return "JSON" if first.startswith(b"[") else "JSON lines" if is_long or not first else None
    is_array = isinstance(value, list) and not rest.strip() and not any(isinstance(item, str) for item in value)
    return "JSON" if is_array else "JSON lines" if isinstance(value, dict | list) else None


def _wrong_content(file: DataFile, expected: str) -> SourceError:
    return SourceError(
        "not a file that a corpus may have"
        if expected == READABLE
        else "the file is not in the format that its name says",
        where=file.name,
        found=describe_content(head_of(file), file.size),
        expected=expected,
        todo="leave it out, or convert it" if expected == READABLE else "download it again, or give it the right name",
    )
