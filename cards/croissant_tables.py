"""The tables of a release in Croissant: its files, a record set for each config, the splits and the labels as enumerations.

A config has the name that it loads by, its record set the same one, as in the Croissant that the Hub makes of a dataset. The
column `text` of the config `default` is the field `default/text`.

What mlcroissant 1.1 can read decided four things. It finds no files in a file set that is `containedIn` the files, so a file
set names the paths of its files. It applies the regular expression of a split twice, so the expression matches a split's
name too. It reads every table that a field `references`, so judgements do not reference the corpus: reading a thousand of them
would read gigabytes. It stops at a reference without `field`, which the specification writes and the Hub does not.
"""

import re
from collections.abc import Iterable
from typing import Any

from builders import tasks
from builders.spec import Dataset
from builders.tasks import Task
from cards import front_matter
from cards.columns import describe_labels
from cards.manifest import Column, Manifest, Table

PARQUET = "application/x-parquet"  # what mlcroissant and the Hub call it
TYPES = {"string": "sc:Text", "int64": "sc:Integer", "float64": "sc:Float", "bool": "sc:Boolean"}
SPLITS, LABELS = "splits", "labels"  # the record sets of the enumerations
SPLIT_KINDS = {
    "train": "cr:TrainingSplit", "validation": "cr:ValidationSplit", "dev": "cr:ValidationSplit", "test": "cr:TestSplit",
}  # fmt: skip


def describe_files(dataset: Dataset, manifest: Manifest) -> list[dict[str, Any]]:
    """The `distribution`: every data file with its digest, and for each config the set of its files."""
    files: list[dict[str, Any]] = [
        {
            "@type": "cr:FileObject",
            "@id": identifier(file.path),
            "name": file.path.rpartition("/")[2],
            "contentUrl": file.path,
            "contentSize": f"{file.bytes} B",
            "encodingFormat": PARQUET,
            "sha256": file.sha256,
        }
        for file in manifest.files
    ]
    for name, tables in _configs(dataset, manifest).items():
        paths = [file.path for table in tables for file in table.files]
        files.append(
            {
                "@type": "cr:FileSet",
                "@id": _file_set(name),
                "name": _file_set(name),
                "description": f"The data files of the config {name}.",
                "encodingFormat": PARQUET,
                "includes": paths,
            }
        )
    return files


def describe_tables(dataset: Dataset, manifest: Manifest) -> list[dict[str, Any]]:
    """The `recordSet`: the splits, the labels where they are numbers with names, and each config."""
    configs = _configs(dataset, manifest)
    names = dict.fromkeys(table.split for table in manifest.tables)
    splits = [{f"{SPLITS}/name": name, f"{SPLITS}/url": SPLIT_KINDS.get(name, "cr:Split")} for name in names]
    types = {"name": "sc:Text", "url": "sc:URL"}
    sets = [_enumeration(SPLITS, "The splits of the dataset.", "cr:Split", types, splits)]
    if labels := tasks.label_names(dataset.task):
        numbered = [{f"{LABELS}/id": number, f"{LABELS}/name": name} for number, name in enumerate(labels)]
        types = {"id": "sc:Integer", "name": "sc:Text"}
        sets.append(_enumeration(LABELS, "The labels, by number.", "sc:Enumeration", types, numbered))
    return sets + [_record_set(name, tables, dataset.task) for name, tables in configs.items()]


def identifier(text: str) -> str:
    """A text as an id in Croissant: a relative IRI, in which most characters are escaped. Ordinary names stay as they are."""
    return re.sub(r"[^A-Za-z0-9/_.~-]", lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), text)


def _configs(dataset: Dataset, manifest: Manifest) -> dict[str, list[Table]]:
    """The tables of each config, by the name that it loads by."""
    configs = front_matter.tables_by_config(manifest)
    names = front_matter.config_names(dataset, configs)
    return {names[config]: tables for config, tables in configs.items()}


def _file_set(config: str) -> str:
    return identifier(f"{config}-files")


def _enumeration(
    name: str, description: str, kind: str, types: dict[str, str], records: list[dict[str, Any]]
) -> dict[str, Any]:
    """A record set with its few records in it. types: of its fields; the first is the key."""
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": description,
        "dataType": kind,
        "key": {"@id": f"{name}/{next(iter(types))}"},
        "field": [
            {"@type": "cr:Field", "@id": f"{name}/{field}", "name": field, "dataType": data_type}
            for field, data_type in types.items()
        ],
        "data": records,
    }


def _record_set(name: str, tables: list[Table], task: Task) -> dict[str, Any]:
    """The rows of a config, each with its split."""
    columns, record_set = tables[0].columns, identifier(name)
    counts = ", ".join(f"{table.rows:,} in {table.split}" for table in tables)
    split_field = f"{record_set}/{_split_name(columns)}"
    described: dict[str, Any] = {
        "@type": "cr:RecordSet",
        "@id": record_set,
        "name": name,
        "description": f"The rows of the config {name}: {counts}.",
    }
    if tables[0].config in {"corpus", "queries"}:
        described["key"] = [{"@id": split_field}, {"@id": f"{record_set}/id"}]
    split = {
        "@type": "cr:Field",
        "@id": split_field,
        "name": _split_name(columns),
        "description": "The split that the row belongs to.",
        "dataType": "sc:Text",
        "references": {"field": {"@id": f"{SPLITS}/name"}},
        "source": {
            "fileSet": {"@id": _file_set(name)},
            "extract": {"fileProperty": "fullpath"},
            "transform": {"regex": _split_pattern(tables)},
        },
    }
    return described | {"field": [split, *(_field(record_set, _file_set(name), column, task) for column in columns)]}


def _split_name(columns: Iterable[Column]) -> str:
    """The name of the field with the split, which must not be that of a column."""
    names, name = {column.name for column in columns}, "split"
    while name in names:
        name = f"_{name}"
    return name


def _split_pattern(tables: list[Table]) -> str:
    """The regular expression that finds the split in the path of a file: `(?:data/)?(train|test)(?:-.+)?$`.

    Path and rest are optional because mlcroissant applies it to its result again. The longest name comes first: a split `dev-x`
    is not the split `dev`.
    """
    splits = sorted({table.split for table in tables}, key=lambda split: (-len(split), split))
    folder = re.escape(tasks.config_folder(tables[0].config))
    return f"(?:{folder}/)?({'|'.join(map(re.escape, splits))})(?:-.+)?$"


def _field(record_set: str, file_set: str, column: Column, task: Task) -> dict[str, Any]:
    """A column. A single number of a label references its name; mlcroissant cannot look up the numbers of a list."""
    item, is_list = column.type.removeprefix("list<").removesuffix(">"), column.type.startswith("list<")
    is_label = column.name == task.type.label
    described: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{record_set}/{identifier(column.name)}",
        "name": column.name,
        "dataType": [TYPES[item], "cr:Label"] if is_label else TYPES[item],
    }
    if is_list:
        described |= {"isArray": True, "arrayShape": "-1"}
    if is_label and isinstance(task, tasks.STS):
        described["description"] = f"{describe_labels(task)}."
    elif is_label and tasks.label_names(task):
        described["description"] = f"{'Ids' if is_list else 'An id'} of the record set {LABELS}."
        if not is_list:
            described["references"] = {"field": {"@id": f"{LABELS}/id"}}
    return described | {"source": {"fileSet": {"@id": file_set}, "extract": {"column": column.name}}}
