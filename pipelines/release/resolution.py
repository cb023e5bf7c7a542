"""Resolves which files the library `datasets` reads, from a listing and the front matter: config -> split -> paths.

`load_dataset` matches the patterns of `configs`, or its own patterns where there are none, against the files of a folder or
repository. Its own functions do that here too, on a file system of names alone: nothing is opened, no server is asked, and no
name leads out of the listing. What they would match for very long is refused before they see it (builders/limits.py).
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from glob import has_magic
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import fsspec
from fsspec.spec import AbstractFileSystem

from builders import limits
from builders.errors import SourceError

if TYPE_CHECKING:
    from datasets import DownloadConfig

Files = dict[str, dict[str, list[str]]]  # config -> split -> paths

CARD = "README.md"
PROTOCOL, ROOT = "listing", "root"
OWN_PATTERNS = 60  # the patterns that `datasets` tries where there are none: 53 in 5.2
CONFIG_KEYS = ("config_name", "data_files", "data_dir", "default")  # what decides which files are read
# What the functions of `datasets` raise for front matter that they do not expect.
REFUSALS = (ValueError, TypeError, AttributeError, LookupError, AssertionError, OSError, RuntimeError, re.error)


def resolve_files(paths: Iterable[str], front_matter: Mapping[str, Any], where: str) -> Files:
    """The files that `load_dataset` reads, by config and split, in its order; a file that two patterns match occurs twice.

    paths: all files of the folder or repository. where: the folder or repository, for errors.

    Raises SourceError where `load_dataset` raises: for malformed `configs`, for a config or split without files, for formats that
    it does not read together. Also for patterns that lead out of the listing, and for more than builders.limits permits.
    """
    card = f"{where}, {CARD}"
    configs = declared_configs(front_matter, card)
    listing = _Listing.of(path for path in paths if is_inside(path))
    _refuse_much_matching(configs, listing, card)
    if not configs:
        return {"default": _resolve_without_configs(listing, where)}
    files: Files = {}
    for name, config in configs.items():
        folder = _inside(str(config.get("data_dir") or ""), card).strip("/")
        splits = _config_splits(listing, name, config.get("data_files"), folder, card)
        missing = [split for split, matching in splits.items() if not matching]
        if missing or not splits:
            raise _no_files(name, card, ", ".join(f"none for the split {split}" for split in missing) or "no split")
        files[name] = splits
    # The first config decides on the format of all, and for that, its `data_dir` is ignored.
    name, first = next(iter(configs.items()))
    _infer_format(_config_splits(listing, name, first.get("data_files"), "", card), card)
    return files


def is_inside(path: str) -> bool:
    """Whether a path of a listing stays inside its folder on every system."""
    parts = PurePosixPath(path).parts
    return "/".join(parts) == path and ".." not in parts and not set(path) & set("\\:\0")


@dataclass(frozen=True, repr=False)  # fsspec hashes the repr of what a file system is made with
class _Listing:
    """Paths below ROOT, sorted, and what fsspec says of each."""

    paths: list[str]
    info: dict[str, dict[str, Any]]

    @classmethod
    def of(cls, paths: Iterable[str]) -> _Listing:
        names = sorted({f"{ROOT}/{path}" for path in paths})
        return cls(names, {name: {"name": name, "size": 0, "type": "file"} for name in names})


class _ListingFileSystem(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no type hints
    """The file system in which `datasets` looks for files: the names of a listing, and no content."""

    protocol = PROTOCOL
    cachable = False

    def __init__(self, listing: _Listing, **options: Any) -> None:
        super().__init__(**options)
        self._listing = listing

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        return self._listing.info[self._strip_protocol(path)]

    def exists(self, path: str, **_: Any) -> bool:
        return self._strip_protocol(path) in self._listing.info

    def find(self, path: str, maxdepth: int | None = None, **_: Any) -> dict[str, dict[str, Any]]:
        """The files below a folder, at most `maxdepth` levels deep."""
        prefix = f"{self._strip_protocol(path)}/"
        paths, start = self._listing.paths, bisect_left(self._listing.paths, prefix)
        end = bisect_left(paths, prefix[:-1] + chr(ord("/") + 1), start)
        levels = math.inf if maxdepth is None else maxdepth + prefix.count("/") - 1
        return {name: self._listing.info[name] for name in paths[start:end] if name.count("/") <= levels}


fsspec.register_implementation(PROTOCOL, _ListingFileSystem)


def declared_configs(front_matter: Mapping[str, Any], card: str) -> dict[str, dict[str, Any]]:
    """The `configs` of the front matter by name, as `datasets` reads them; only the keys that decide which files are read.

    Raises SourceError for malformed ones.
    """
    from datasets import BuilderConfig, logging
    from datasets.utils.metadata import MetadataConfigs

    logging.set_verbosity_error()  # `datasets` writes to stderr by itself, past pipelines/process/safe_text.py
    configs = front_matter.get("configs") or []
    if not isinstance(configs, list) or not all(
        isinstance(config, dict) and "config_name" in config for config in configs
    ):
        raise _malformed("configs", card, "a list, with config_name and data_files for each config")
    configs = [{key: config[key] for key in CONFIG_KEYS if key in config} for config in configs]
    for config in configs:
        try:
            BuilderConfig(name=config["config_name"])
            if not isinstance(config.get("data_dir") or "", str):
                raise TypeError("data_dir is not a text")
        except REFUSALS as error:
            raise _malformed("configs", card, "names and folders that `datasets` accepts", str(error)) from None
        try:
            MetadataConfigs.from_dataset_card_data({"configs": [config]})
            if not all(isinstance(pattern, str) for pattern in _patterns(config)):
                raise TypeError("a path is not a text")
        except REFUSALS:
            raise _malformed(
                "data_files",
                card,
                "a pattern, or a list with split and path",
                f"{config['config_name']}: {config.get('data_files')}",
            ) from None
    metadata = MetadataConfigs.from_dataset_card_data({"configs": configs})
    try:
        metadata.get_default_config_name()
    except ValueError as error:
        raise _malformed("configs", card, "one default config", str(error)) from None
    if metadata and next(iter(metadata.values())).get("data_files", ...) is None:
        raise _malformed("data_files", card, "patterns for the first config", "null")
    return dict(metadata)


def _patterns(config: Mapping[str, Any]) -> Iterator[Any]:
    """The patterns of a config, whatever their split."""
    from datasets.data_files import sanitize_patterns

    if config.get("data_files") is not None:
        for patterns in sanitize_patterns(config["data_files"]).values():
            yield from patterns


def _refuse_much_matching(configs: Mapping[str, Mapping[str, Any]], listing: _Listing, card: str) -> None:
    """Bound the time that matching takes: each pattern is compared with each file, by a regular expression that backtracks.

    Its steps, for the longest path of n characters: n for a pattern such as `data/train-*`; for each further `*` in one name,
    and for each `**`, n times as many, divided by how many there are (their order is fixed).
    """
    files, longest = len(listing.paths), max(map(len, listing.paths), default=0)
    patterns = [pattern for config in configs.values() for pattern in _patterns(config)]
    own = sum(config.get("data_files") is None for config in configs.values()) * OWN_PATTERNS
    steps = own * files * longest
    limit = found = ""
    for pattern in patterns:
        choices = sum(1 if part == "**" else max(0, len(re.findall(r"\*+", part)) - 1) for part in pattern.split("/"))
        steps += files * longest ** (choices + 1) // math.factorial(choices + 1)
        if len(pattern) > limits.MAX_PATTERN:
            found, limit = f"a pattern of {len(pattern):,} characters", f"at most {limits.MAX_PATTERN:,}"
        elif choices > limits.MAX_WILDCARDS:
            found = f"a pattern with {choices:,} `**` and further `*` in a name"
            limit = f"at most {limits.MAX_WILDCARDS}"
    total = len(patterns) + own
    if total > limits.MAX_PATTERNS:
        found, limit = f"{total:,} patterns", f"at most {limits.MAX_PATTERNS:,}"
    elif total * files > limits.MAX_COMPARISONS or (not found and steps > limits.MAX_MATCHING_STEPS):
        found = f"{total:,} patterns for {files:,} files"
        limit = f"at most {limits.MAX_COMPARISONS:,} comparisons of a pattern with a file, fewer if patterns have several `*`"
    if found:
        raise SourceError(
            "too many patterns in `data_files`",
            where=card,
            found=found,
            expected=limit,
            todo="check a part of the dataset: copy the files of some configs, or shorten `data_files`",
        )


def _resolve_without_configs(listing: _Listing, where: str) -> dict[str, list[str]]:
    """The splits of a repository without `configs`: only files of the format that most of them have."""
    from datasets.packaged_modules import _MODULE_TO_EXTENSIONS

    splits = _own_splits(listing, "", where)
    extensions = "|".join(map(re.escape, _MODULE_TO_EXTENSIONS[_infer_format(splits, where)]))
    of_format = re.compile(rf".*({extensions})(\..+)?$")
    return {split: [path for path in files if of_format.match(path)] for split, files in splits.items()}


def _own_splits(listing: _Listing, folder: str, where: str) -> dict[str, list[str]]:
    """The files below a folder by the names of splits in their paths: the patterns that `datasets` tries."""
    from datasets.data_files import get_data_patterns

    try:
        patterns = get_data_patterns(_base(folder), download_config=_options(listing))
    except REFUSALS as error:
        raise SourceError(
            "`datasets` finds no data files",
            where=where,
            found=str(error).replace(f"{PROTOCOL}://{ROOT}", "the folder"),
        ) from None
    return {str(split): _matching_files(listing, several, folder) for split, several in patterns.items()}


def _config_splits(listing: _Listing, config: str, data_files: Any, folder: str, card: str) -> dict[str, list[str]]:
    """The files of a config, by split; as in `datasets`, patterns without a split belong to `train`."""
    from datasets.data_files import sanitize_patterns

    if data_files is None:
        try:
            return _own_splits(listing, folder, card)
        except SourceError as error:
            raise _no_files(config, card, error.found or "") from None
    patterns = {
        split: [_inside(pattern, card) for pattern in several]
        for split, several in sanitize_patterns(data_files).items()
    }
    try:
        return {split: _matching_files(listing, several, folder) for split, several in patterns.items()}
    except FileNotFoundError as error:
        raise _no_files(
            config, card, str(error).replace(f"{PROTOCOL}://{ROOT}/", "").partition(" with any supported")[0]
        ) from None
    except REFUSALS as error:
        raise _malformed("data_files", card, "patterns that `datasets` accepts", str(error)) from None


def _matching_files(listing: _Listing, patterns: list[str], folder: str) -> list[str]:
    """The files that match, in the order of the patterns, then of the names.

    Raises FileNotFoundError for a name without wildcards that matches no file, as `datasets` does.
    """
    from datasets.data_files import resolve_pattern
    from datasets.packaged_modules import _ALL_ALLOWED_EXTENSIONS

    matching: list[str] = []
    for pattern in patterns:
        try:
            matching += resolve_pattern(pattern, _base(folder), _ALL_ALLOWED_EXTENSIONS, _options(listing))
        except FileNotFoundError:
            if not has_magic(pattern):
                raise
    return [path.removeprefix(f"{PROTOCOL}://{ROOT}/") for path in matching]


def _base(folder: str) -> str:
    return f"{PROTOCOL}://{ROOT}/{folder}".rstrip("/")


def _options(listing: _Listing) -> DownloadConfig:
    from datasets import DownloadConfig

    return DownloadConfig(storage_options={PROTOCOL: {"listing": listing}})


def _infer_format(splits: Mapping[str, list[str]], where: str) -> str:
    """The module of `datasets` that reads these files: `parquet`, `json`, `csv`.

    Archives are not looked into.
    """
    from datasets.load import infer_module_for_data_files

    plain = {split: [path for path in files if not path.endswith(".zip")] for split, files in splits.items()}
    try:
        module, _ = infer_module_for_data_files(plain)
    except (*REFUSALS, StopIteration) as error:
        raise SourceError(
            "`datasets` cannot tell the format of the data files", where=where, found=str(error) or "no split"
        ) from None
    return str(module)


def _inside(pattern: str, card: str) -> str:
    """A pattern or folder that is relative to the listing and stays in it. Raises SourceError for any other."""
    from datasets.utils.file_utils import is_relative_path

    if not is_relative_path(pattern) or "::" in pattern or ".." in PurePosixPath(pattern).parts:
        raise SourceError(
            "the front matter names files outside the dataset",
            where=card,
            found=pattern[:200],
            expected="paths of its own files",
            todo="load such a dataset yourself, and check a folder with its files",
        )
    return pattern.removeprefix("./")


def _malformed(key: str, card: str, expected: str, found: str | None = None) -> SourceError:
    return SourceError(f"malformed `{key}`", where=card, found=found[:200] if found else None, expected=expected)


def _no_files(config: str, card: str, found: str) -> SourceError:
    return SourceError(
        f"no files match the config {config!r}",
        where=card,
        found=found,
        todo="correct `data_files`, or download the files",
    )
