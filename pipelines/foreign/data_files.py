"""Assigns the data files of a folder to tables: by the `configs` of its front matter, else by the names of the files.

A folder has the layout of a Hub repository, and paths are relative to it (`data/test-00000-of-00001.parquet`). The listing is
enough: a repository is resolved before any file is downloaded. The rules are those of `datasets` 5.2, with one addition: folders
and file names that are not splits name configs, as in the repositories that mteb reads.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from builders import limits
from builders.errors import SourceError
from builders.tasks import TYPES
from pipelines.foreign.file_formats import NAMES, extension

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Files = dict[str, dict[str, list[str]]]  # config -> split -> paths

CARD = "README.md"
# The configs of task types with several tables (corpus, queries, ...): alone, or after a subset, as in `ru-corpus`.
PART_CONFIGS = (
    *dict.fromkeys(layout.config for kind in TYPES.values() if len(kind.layouts) > 1 for layout in kind.layouts),
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
    """The data files of each table, by config and split, in the order of their names.

    paths: all files of the folder. where: the folder or repository, for errors. subsets: the ones to read, as mteb names them;
    the subset `ru` is the config `ru`, or the configs `ru-corpus`, `ru-queries` and `ru-qrels`.

    Raises SourceError for malformed `configs`, for more patterns than builders.limits permits, for a config or split without
    files, for a folder without tables, and for an unknown subset.
    """
    data_files = sorted(path for path in paths if _is_data_file(path))
    declared = {str(config["config_name"]): config for config in _declared_configs(front_matter, where)}
    inferred = {} if declared else _tables_by_name(data_files)
    configs = list(declared or inferred)
    if not configs:
        raise SourceError(
            "no tables found",
            where=where,
            found=f"{len(data_files)} data files" + (f", such as {data_files[0]}" if data_files else ""),
            expected="a README.md whose front matter has `configs`, or names such as data/test-00000-of-00001.parquet, "
            "corpus/test.parquet, corpus.jsonl, qrels/test.tsv",
            todo="name the folder of one dataset (for a release of this package: outputs/<dataset>/<version>)",
        )
    for subset in subsets:
        if not any(_belongs_to(config, subset) for config in configs):
            raise SourceError(f"no subset {subset!r}", where=where, found=f"configs: {', '.join(configs)}")
    if declared:
        _refuse_many_patterns(declared.values(), len(data_files), where)
    selected = [name for name in configs if not subsets or any(_belongs_to(name, subset) for subset in subsets)]
    return {
        name: _declared_splits(declared[name], data_files, where) if declared else inferred[name] for name in selected
    }


def _belongs_to(config: str, subset: str) -> bool:
    return config == subset or config in {f"{subset}-{part}" for part in PART_CONFIGS}


def _declared_configs(front_matter: Mapping[str, Any], where: str) -> list[Any]:
    configs = front_matter.get("configs") or []
    if not isinstance(configs, list) or not all(isinstance(one, dict) and "config_name" in one for one in configs):
        expected = "a list, with config_name and data_files for each config"
        raise SourceError("malformed `configs`", where=f"{where}, {CARD}", expected=expected)
    return configs


def _refuse_many_patterns(configs: Iterable[Mapping[str, Any]], files: int, where: str) -> None:
    """Bound the time that matching takes: each pattern is compared with each file."""
    card = f"{where}, {CARD}"
    patterns = [
        pattern
        for config in configs
        if config.get("data_files") is not None
        for several in _patterns_by_split(config["data_files"], card).values()
        for pattern in several
    ]
    longest = max(map(len, patterns), default=0)
    if longest > limits.MAX_PATTERN:
        found, expected = f"a pattern of {longest:,} characters", f"at most {limits.MAX_PATTERN:,}"
    elif len(patterns) > limits.MAX_PATTERNS:
        found, expected = f"{len(patterns):,} patterns", f"at most {limits.MAX_PATTERNS:,}"
    elif len(patterns) * files > limits.MAX_COMPARISONS:
        found = f"{len(patterns):,} patterns for {files:,} files"
        expected = f"at most {limits.MAX_COMPARISONS:,} comparisons of a pattern with a file"
    else:
        return
    todo = "check a part of the dataset: copy the files of some configs, or shorten `data_files`"
    raise SourceError("too many patterns in `data_files`", where=card, found=found, expected=expected, todo=todo)


def _is_data_file(path: str) -> bool:
    """Whether a path has a data format and stays inside its folder on every system. `datasets` ignores hidden files."""
    *folders, name = parts = PurePosixPath(path).parts
    plain = "/".join(parts) == path and ".." not in parts and not set(path) & set("\\:\0")
    hidden = name.startswith(".") or any(folder.startswith((".", "__")) for folder in folders)
    return plain and not hidden and extension(name) is not None


def _tables_by_name(data_files: list[str]) -> Files:
    tables: Files = {}
    for path in data_files:
        if location := _location_by_name(path):
            config, split = location
            tables.setdefault(config, {}).setdefault(split, []).append(path)
    return tables


def _location_by_name(path: str) -> tuple[str, str] | None:
    """The config and split that a file's path names; None for a path that names none.

    `<config>/<split>.<extension>` or `<config>/<split>/<shard>.<extension>`; without a folder, or in `data`, the config is
    `default`. A split may be followed by a shard number. A file named after a part, such as corpus.jsonl, is the only split of
    its config.
    """
    *folders, name = PurePosixPath(path).parts
    stem = name[: name.lower().rindex(extension(name) or "")]
    split = SHARD_NUMBER.sub("", stem)
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


def _declared_splits(config: Mapping[str, Any], data_files: list[str], where: str) -> dict[str, list[str]]:
    """The splits of a config of the front matter, with the files that match their patterns."""
    card, data_dir = f"{where}, {CARD}", str(config.get("data_dir") or "").strip("/")
    prefix = f"{data_dir}/" if data_dir else ""
    inside = [path.removeprefix(prefix) for path in data_files if path.startswith(prefix)]
    if config.get("data_files") is None:
        splits = _tables_by_name(inside).get("default", {})
    else:
        patterns = _patterns_by_split(config["data_files"], card)
        splits = {split: _matching_files(several, inside) for split, several in patterns.items()}
    missing = [split for split, matching in splits.items() if not matching]
    if missing or not splits:
        raise SourceError(
            f"no files match the config {config['config_name']!r}",
            where=card,
            found=", ".join(f"none for the split {split}" for split in missing)
            or f"no split in {prefix or 'the folder'}",
            expected="files in one of the formats " + ", ".join(NAMES),
            todo="correct `data_files`, or download the files",
        )
    return {split: [prefix + path for path in matching] for split, matching in splits.items()}


def _patterns_by_split(data_files: Any, where: str) -> dict[str, list[str]]:
    """The patterns of each split; as in `datasets`, patterns without a split belong to `train`."""
    entries = data_files if isinstance(data_files, list) else [data_files]
    if all(isinstance(entry, str) for entry in entries):
        return {"train": entries}
    patterns: dict[str, list[str]] = {}
    for entry in entries:
        path = entry.get("path") if isinstance(entry, dict) and "split" in entry else None
        paths: list[Any] = path if isinstance(path, list) else [path]
        if not paths or not all(isinstance(path, str) for path in paths):
            expected = "split and path"
            raise SourceError("malformed `data_files`", where=where, found=str(entry)[:200], expected=expected)
        patterns.setdefault(str(entry["split"]), []).extend(paths)
    return patterns


def _matching_files(patterns: list[str], paths: list[str]) -> list[str]:
    """The paths that match, in the order of the patterns, then of the names. `*` matches within a folder, `**` across folders."""
    split_patterns = [pattern.removeprefix("./").split("/") for pattern in patterns]
    return list(
        dict.fromkeys(path for pattern in split_patterns for path in paths if _matches(path.split("/"), pattern))
    )


def _matches(path: list[str], pattern: list[str]) -> bool:
    """Whether the parts of a path match those of a pattern.

    For each part of the pattern, `ends` holds how many parts of the path it and those before it can match: for `a/**` and the
    path a/b/c that is {1}, then {1, 2, 3}. The time is bounded by the product of both lengths, whatever the pattern.
    """
    ends = {0}
    for part in pattern:
        if part == "**":
            ends = set(range(min(ends), len(path) + 1)) if ends else ends
        else:
            ends = {end + 1 for end in ends if end < len(path) and fnmatchcase(path[end], part)}
    return len(path) in ends
