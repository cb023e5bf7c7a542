"""Whether `load_dataset` gives the rows of a release: the files that it reads, and what the card promises of them.

A manifest says what a release is; a reader loads what the repository's listing and the front matter of its card lead to. A file
beside those of the release, or an edited pattern, changes the rows that are loaded and no file of the release.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from builders.errors import SourceError
from cards.front_matter import parse_front_matter, split_front_matter
from cards.manifest import Manifest, Table, tables_by_config
from pipelines.release.resolution import Files, resolve_files

if TYPE_CHECKING:
    from datasets import DatasetInfo

# Files that `datasets` reads beside the card, and that change what it loads.
OTHER_METADATA = (".huggingface.yaml", "dataset_infos.json")
# Keys of a config that read other columns or rows of the same files.
READING_KEYS = ("columns", "features", "filters", "on_bad_files")
# What the functions of `datasets` raise for a `dataset_info` that they do not expect.
REFUSALS = (ValueError, TypeError, AttributeError, LookupError, AssertionError, OSError, RuntimeError)
COMPARES_INFO = find_spec("datasets") is not None  # which reads `dataset_info`
TYPE_NAMES = {pa.float64(): "float64", pa.bool_(): "bool"}  # where Arrow has another name than a manifest


def find_loading_faults(paths: Iterable[str], card: bytes, manifest: Manifest, repo: str | None = None) -> list[str]:
    """How what `load_dataset` reads differs from a release, a sentence for each difference.

    paths: all files of the folder or repository. card: its README.md. repo: the repository, `ORG/NAME`, if it is one.
    """
    paths = list(paths)
    other = [f"{path} changes what load_dataset reads" for path in OTHER_METADATA if path in paths]
    script = f"{(repo or '').rpartition('/')[2]}.py"
    if repo and script in paths:
        other.append(f"{script} makes load_dataset fail: scripts are not supported")
    try:
        front_matter = parse_front_matter(card, "README.md")
        if _read_by_the_library(card) != split_front_matter(card.decode("utf-8", "replace"))[0].strip():
            return [
                *other,
                "README.md: the Hub's library reads another front matter than the one between the first `---`",
            ]
        files = resolve_files(paths, front_matter, "")
    except SourceError as error:
        found = f" ({error.found})" if error.found else ""
        return [*other, f"README.md: load_dataset would fail: {error.what}{found}"]
    return (
        other
        + _compare_files(files, manifest)
        + [
            f"README.md: `{key}` of the config {config['config_name']} changes what is loaded"
            for config in front_matter.get("configs") or []
            for key in config
            if key in READING_KEYS
        ]
        + _compare_infos(front_matter, manifest)
    )


def _read_by_the_library(card: bytes) -> str:
    """The front matter as huggingface_hub finds it."""
    from huggingface_hub.repocard import REGEX_YAML_BLOCK

    match = REGEX_YAML_BLOCK.search(card.decode("utf-8", "replace"))
    return match[2].strip() if match else ""


def _compare_files(files: Files, manifest: Manifest) -> list[str]:
    faults = []
    tables = tables_by_config(manifest.tables)
    for config, splits in files.items():
        named = tables.get(config)
        if named is None and not _loads_subset(config, splits, tables):
            faults.append(f"the config {config} would be loaded, and the manifest does not name it")
        elif named is not None:
            for split in [*splits, *(split for split in named if split not in splits)]:
                faults += _compare_split(f"{config}/{split}", splits.get(split), named.get(split), manifest)
    return faults + [
        f"the config {name} would not be loaded"
        for name in tables
        if name not in files
        and not any(_loads_subset(config, splits, {name: tables[name]}) for config, splits in files.items())
    ]


def _loads_subset(config: str, splits: Mapping[str, list[str]], tables: Mapping[str, Mapping[str, Table]]) -> bool:
    """Whether a config loads one of the manifest under the name of a subset: `ru-corpus` the files of `corpus`."""
    return any(
        config.endswith(f"-{name}")
        and splits == {split: [file.path for file in table.files] for split, table in named.items()}
        for name, named in tables.items()
    )


def _compare_split(location: str, paths: list[str] | None, table: Table | None, manifest: Manifest) -> list[str]:
    expected = [file.path for file in table.files] if table else []
    if paths is None:
        return [f"{location} would not be loaded"]
    known = {file.path for file in manifest.files}
    counts = Counter(paths)
    faults = []
    for path, count in counts.items():
        if path not in expected:
            whose = "holds other rows in the manifest" if path in known else "and the manifest does not name it"
            faults.append(f"{path} would be loaded as {location}, {whose}")
        elif count > 1:
            faults.append(f"{path} would be loaded {count} times as {location}")
    faults += [f"{path} would not be loaded as {location}" for path in expected if path not in counts]
    if not faults and paths != expected:
        faults.append(f"the files of {location} would be loaded in another order")
    return faults


def _compare_infos(front_matter: Mapping[str, Any], manifest: Manifest) -> list[str]:
    """How the columns, splits and row counts of `dataset_info`, where it is given, differ from those of the manifest."""
    if front_matter.get("dataset_info") is None or not COMPARES_INFO:
        return []
    from datasets.info import DatasetInfosDict

    try:
        infos = DatasetInfosDict.from_dataset_card_data({"dataset_info": front_matter["dataset_info"]})
        tables = tables_by_config(manifest.tables)
        of_config = [(name, _named_tables(name, tables), info) for name, info in infos.items()]
        return [f"README.md: {fault}" for config in of_config for fault in _compare_info(*config)]
    except REFUSALS as error:
        return [f"README.md: load_dataset would fail: malformed `dataset_info` ({str(error)[:200]})"]


def _named_tables(config: str, tables: Mapping[str, Mapping[str, Table]]) -> Mapping[str, Table]:
    """The tables of a config, or those that it loads under the name of a subset; none for an unknown name."""
    named = [name for name in tables if config == name or config.endswith(f"-{name}")]
    return tables[max(named, key=len)] if named else {}


def _compare_info(config: str, tables: Mapping[str, Table], info: DatasetInfo) -> list[str]:
    if not tables:
        return [f"dataset_info names the config {config}, which is not in the manifest"]
    differing = []
    if info.features is not None:
        promised = [f"{field.name} {_type_name(field.type)}" for field in info.features.arrow_schema]
        columns = [[f"{column.name} {column.type}" for column in table.columns] for table in tables.values()]
        differing += [("columns", promised, found) for found in columns if found != promised][:1]
    if info.splits:
        promised = [f"{name} {split.num_examples}" for name, split in info.splits.items()]
        rows = [f"{split} {table.rows}" for split, table in tables.items()]
        differing += [("rows", promised, rows)] if {*promised} != {*rows} else []
    return [
        f"dataset_info of {config}: {what} {', '.join(promised)}; in the manifest {', '.join(found)}"
        for what, promised, found in differing
    ]


def _type_name(kind: pa.DataType) -> str:
    """The name that a manifest has for a type of Arrow."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"list<{_type_name(kind.value_type)}>"
    return TYPE_NAMES.get(kind, str(kind))
