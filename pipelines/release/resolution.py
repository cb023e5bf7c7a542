"""Resolves which files the library `datasets` reads, from a listing and the front matter: config -> split -> paths.

`load_dataset` matches the patterns of `configs`, or its own patterns where there are none, against the files of a folder or
repository. The same is done here without the library, which needs pandas, and a second to import. The rules are those of version
5.2; tests compare the results with the library's. Nothing is opened, no server is asked, and no name leads out of the listing.
What would be matched for very long is refused (builders/limits.py).
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from glob import has_magic
from pathlib import Path, PurePosixPath
from typing import Any

from fsspec.utils import glob_translate

from builders import limits
from builders.errors import SourceError

Files = dict[str, dict[str, list[str]]]  # config -> split -> paths
Listing = Mapping[str, None]  # paths below ROOT, sorted

CARD, ROOT = "README.md", "root"
CONFIG_KEYS = ("data_files", "data_dir", "default")  # what decides which files are read
# How `datasets` reads a file with each ending, as module and options; it passes over files without any of these.
READERS: Mapping[str, str] = {
    ending: reader
    for reader, endings in json.loads(Path(__file__).with_name("readers.json").read_text("utf-8")).items()
    for ending in endings
}
ALLOWED = {*READERS, ".zip", ".manifest", ".idx", ".txn"}
PREFERRED = (".parquet", ".lance", ".vortex", ".arrow", ".jsonl", ".json", ".csv")  # where two endings are as frequent
# Files about data; they decide on the format of a split only where it has no others.
METADATA = {
    *("instruction.md", "latest_version_hint.json", "metadata.csv", "metadata.jsonl", "metadata.parquet", "task.toml")
}
IGNORED = {
    *(CARD, "config.json", "dataset_info.json", "dataset_infos.json", "dummy_data.zip", "dataset_dict.json")
}  # unless a pattern names them
SPLIT = re.compile(r"^\w+(\.\w+)*$")
SHARDS = "data/{}-[0-9][0-9][0-9][0-9][0-9]-of-[0-9][0-9][0-9][0-9][0-9]*.*"
SHARD = re.compile(r"(.+)-[0-9]{5}-of-[0-9]{4}")
WORDS = {
    "train": ("train", "training"),
    "validation": ("validation", "valid", "dev", "val"),
    "test": ("test", "testing", "eval", "evaluation"),
}
BETWEEN = "[-._ 0-9]"
FORMS = (
    ("**/{0}/**", "**/{0}{1}*/**", "**/*{1}{0}/**", "**/*{1}{0}{1}*/**"),
    ("**/{0}{1}*", "**/*{1}{0}{1}*"),
)
# The patterns that are tried one after the other where there are none, behind SHARDS.
OWN_PATTERNS: tuple[Mapping[str, Sequence[str]], ...] = (
    {"logs": ["**/*.eval"]},
    {"test": ["**/task.toml", "**/instruction.md"]},
    *(
        {split: [form.format(word, BETWEEN) for word in words for form in forms] for split, words in WORDS.items()}
        for forms in FORMS
    ),
    {"train": ["**"]},
)
OWN_COUNT = 1 + sum(len(several) for patterns in OWN_PATTERNS for several in patterns.values())


def resolve_files(paths: Iterable[str], front_matter: Mapping[str, Any], where: str) -> Files:
    """The files that `load_dataset` reads, by config and split, in its order; a file that two patterns match occurs twice.

    paths: all files of the folder or repository. where: the folder or repository, for errors.

    Raises SourceError where `load_dataset` raises: for malformed `configs`, for a config or split without files, for formats that
    it does not read together. Also for patterns that lead out of the listing, and for more than builders.limits permits.
    """
    card = f"{where}, {CARD}"
    configs = declared_configs(front_matter, card)
    listing = dict.fromkeys(sorted({f"{ROOT}/{path}" for path in paths if is_inside(path)}))
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


def declared_configs(front_matter: Mapping[str, Any], card: str) -> dict[str, dict[str, Any]]:
    """The `configs` of the front matter by name, as `datasets` reads them; only the keys that decide which files are read.

    Raises SourceError for malformed ones.
    """
    listed = front_matter.get("configs") or []
    if not isinstance(listed, list) or not all(isinstance(item, dict) and "config_name" in item for item in listed):
        raise _malformed("configs", card, "a list, with config_name and data_files for each config")
    configs: dict[str, dict[str, Any]] = {}
    for item in listed:
        name, folder, files = item["config_name"], item.get("data_dir") or "", item.get("data_files")
        if not isinstance(name, str) or set(name) & set("<>:/\\|?*") or not isinstance(folder, str):
            raise _malformed("configs", card, "names and folders that `datasets` accepts", f"{name}, {folder}")
        if files is not None and not _patterns_by_split(files):
            raise _malformed("data_files", card, "a pattern, or a list with split and path", f"{name}: {files}")
        configs[name] = {key: item[key] for key in CONFIG_KEYS if key in item}
    default = [name for name, item in configs.items() if name == "default" or item.get("default")]
    if len(default) > 1:
        raise _malformed("configs", card, "one default config", ", ".join(default))
    if configs and next(iter(configs.values())).get("data_files", ...) is None:
        raise _malformed("data_files", card, "patterns for the first config", "null")
    return configs


def _patterns_by_split(data_files: Any) -> dict[str, list[str]]:
    """The patterns of a config by split, those without a split as `train`; empty where `datasets` would not accept them."""
    items = [data_files] if isinstance(data_files, str) else data_files
    if isinstance(items, list) and any(isinstance(item, dict) for item in items):
        if not all(isinstance(item, dict) and item.keys() == {"split", "path"} for item in items):
            return {}
        named = [(item["split"], [item["path"]] if isinstance(item["path"], str) else item["path"]) for item in items]
        patterns = {split: several for split, several in named if isinstance(split, str) and SPLIT.match(split)}
        if len(patterns) < len(items):
            return {}
    else:
        patterns = {"train": items}
    well_formed = all(
        isinstance(several, list) and all(isinstance(pattern, str) for pattern in several)
        for several in patterns.values()
    )
    return patterns if well_formed else {}


def _refuse_much_matching(configs: Mapping[str, Mapping[str, Any]], listing: Listing, card: str) -> None:
    """Bound the time that matching takes: each pattern is compared with each file, by a regular expression that backtracks.

    Its steps, for the longest path of n characters: n for a pattern such as `data/train-*`; for each further `*` in one name,
    and for each `**`, n times as many, divided by how many there are (their order is fixed).
    """
    files, longest = len(listing), max(map(len, listing), default=0)
    named = [config["data_files"] for config in configs.values() if config.get("data_files") is not None]
    patterns = [pattern for item in named for several in _patterns_by_split(item).values() for pattern in several]
    own = (len(configs) - len(named)) * OWN_COUNT
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


def _resolve_without_configs(listing: Listing, where: str) -> dict[str, list[str]]:
    """The splits of a repository without `configs`: only files of the format that most of them have."""
    splits = _own_splits(listing, "", where)
    module = _infer_format(splits, where).partition(" ")[0]
    endings = [ending for ending, reader in READERS.items() if reader.partition(" ")[0] == module]
    of_format = re.compile(rf".*({'|'.join(map(re.escape, [*endings, '.zip']))})(\..+)?$")
    return {split: [path for path in files if of_format.match(path)] for split, files in splits.items()}


def _own_splits(listing: Listing, folder: str, where: str) -> dict[str, list[str]]:
    """The files below a folder by the names of splits in their paths: the patterns that `datasets` tries."""
    patterns: Mapping[str, Sequence[str]] = {}
    if shards := _matches(listing, SHARDS.format("*"), folder):
        names = [found[1] for path in shards if (found := SHARD.search(PurePosixPath(path).name))]
        if wrong := [name for name in names if not SPLIT.match(name)]:
            raise SourceError("not the name of a split", where=where, found=wrong[0], expected="letters, digits and _")
        ordered = sorted(set(names), key=lambda name: ([*WORDS, name].index(name), name))
        patterns = {name: [SHARDS.format(name)] for name in ordered}
    for own in OWN_PATTERNS:
        patterns = patterns or {
            split: several
            for split, several in own.items()
            if any(_matches(listing, pattern, folder) for pattern in several)
        }
    if not patterns:
        raise SourceError("`datasets` finds no data files", where=where, found="no file with data")
    return {split: _matching_files(listing, several, folder) for split, several in patterns.items()}


def _config_splits(listing: Listing, config: str, data_files: Any, folder: str, card: str) -> dict[str, list[str]]:
    """The files of a config, by split; as in `datasets`, patterns without a split belong to `train`."""
    if data_files is None:
        try:
            return _own_splits(listing, folder, card)
        except SourceError as error:
            raise _no_files(config, card, error.found or "") from None
    patterns = {
        split: [_inside(pattern, card) for pattern in several]
        for split, several in _patterns_by_split(data_files).items()
    }
    try:
        return {split: _matching_files(listing, several, folder) for split, several in patterns.items()}
    except FileNotFoundError as error:
        raise _no_files(config, card, f"Unable to find '{error}'") from None
    except (ValueError, re.error) as error:
        raise _malformed("data_files", card, "patterns that `datasets` accepts", str(error)) from None


def _matching_files(listing: Listing, patterns: Sequence[str], folder: str) -> list[str]:
    """The data files that match, in the order of the patterns, then of the names.

    Raises FileNotFoundError for a name without wildcards that matches no file, as `datasets` does; ValueError or re.error for a
    pattern that it does not accept.
    """
    matching: list[str] = []
    for pattern in patterns:
        found = [path for path in _matches(listing, pattern, folder) if {*_endings(path)} & ALLOWED]
        if not found and not has_magic(pattern):
            raise FileNotFoundError("/".join(filter(None, (folder, pattern))))
        matching += found
    return matching


def _matches(listing: Listing, pattern: str, folder: str) -> list[str]:
    """The files below a folder that a pattern matches; hidden ones, those below `__` and IGNORED only where it names them."""
    whole = "/".join(filter(None, (ROOT, folder, pattern)))
    if has_magic(whole):
        matches = re.compile(glob_translate(whole)).match
        found = [path for path in listing if matches(path)]
    else:
        found = [path for path in (whole.rstrip("/"),) if path in listing]
    ignored = IGNORED - {PurePosixPath(whole).name}
    return [
        path.removeprefix(f"{ROOT}/")
        for path in found
        if PurePosixPath(path).name not in ignored and _count_hidden(path) == _count_hidden(whole)
    ]


def _count_hidden(path: str) -> tuple[int, int]:
    """How many parts of a path begin with a dot, and how many of its folders with `__`."""
    parts = PurePosixPath(path).parts
    hidden = sum(part.startswith(".") and set(part) != {"."} for part in parts)
    return hidden, sum(part.startswith("__") for part in parts[:-1])


def _endings(path: str) -> list[str]:
    """All endings of a name: `.jsonl` and `.gz` of `x.jsonl.gz`."""
    return [f".{ending}" for ending in path.rpartition("/")[2].split(".")[1:]]


def _infer_format(splits: Mapping[str, Sequence[str]], where: str) -> str:
    """How `datasets` reads these files: the reader of the most frequent ending, which must be one for all splits.

    Archives are not looked into.
    """
    readers = {}
    for split, files in splits.items():
        counts = Counter(
            (ending.lower(), path.rpartition("/")[2] not in METADATA)
            for path in files
            if not path.endswith(".zip")
            for ending in _endings(path)
        )
        ranked = sorted(counts, key=lambda key: (key[1], counts[key], *(key[0] == name for name in PREFERRED), key[0]))
        known = [ending for ending, _ in ranked if ending in READERS or ending == ".zip"]
        readers[split] = READERS.get(known[-1], "") if known else ""
    if len(set(readers.values())) != 1 or not all(readers.values()):
        found = ", ".join(f"{split}: {reader or 'none'}" for split, reader in readers.items()) or "no split"
        raise SourceError("`datasets` cannot tell the format of the data files", where=where, found=found)
    return next(iter(readers.values()))


def _inside(pattern: str, card: str) -> str:
    """A pattern or folder that is relative to the listing and stays in it. Raises SourceError for any other."""
    if re.match(r"/|[A-Za-z][A-Za-z0-9+.-]*:", pattern) or "::" in pattern or ".." in PurePosixPath(pattern).parts:
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
