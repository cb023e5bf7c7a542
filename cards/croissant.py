"""The croissant.json of a release: what it is, in the words of Croissant 1.1, for programs that know datasets and not us.

The Hub makes its own Croissant of every dataset, from the card and the Parquet files. This one adds what only the build knows:
digests of raw and data files, recipe, rows dropped, findings, how texts and labels came about. It follows from the definition,
the manifest and the prose: same rows, same bytes, and no repository is named, so that the file is the same on disk and on the
Hub. Paths are relative to the folder of the file.

The words are those of four vocabularies. PROV (W3C), which Croissant recommends for provenance: the release `wasDerivedFrom` its
raw files and `wasGeneratedBy` its recipe. DQV (W3C), for data quality: a finding is a QualityMeasurement, its value the number of
rows. RAI (responsible AI): the prose of the card. schema.org's PropertyValue for the rest: options of the recipe, rows dropped,
numbers that it counted. The creators and the year are those of the first publication that the source names: when a version is
published is known only after it was built.

A config has the name that it loads by, and its record set the same one, as in the Croissant that the Hub makes of a dataset. The
column `text` of the config `default` is the field `default/text`.

What mlcroissant 1.1 can read decided four things. It finds no files in a file set that is `containedIn` the files, so a file
set names the paths of its files. It applies the regular expression of a split twice, so the expression matches a split's
name too. It reads every table that a field `references`, so judgements do not reference the corpus: reading a thousand of them
would read gigabytes. It stops at a reference without `field`, which the specification writes and the Hub does not.
"""

import json
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from builders import tasks
from builders.catalogue import Definition
from builders.tasks import Task
from cards import front_matter
from cards.columns import describe_labels
from cards.kinds import kind_name
from cards.manifest import Column, Finding, Manifest, Table, tables_by_config
from cards.render import read_filled_prose
from cards.texts import Prose, bibtex, read_field

# The context that mlcroissant expects. `http` and `https` are as it compares them.
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "name": {"@container": "@language"},
    "parentField": "cr:parentField",
    "path": "cr:path",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
    "prov": "http://www.w3.org/ns/prov#",
    "dqv": "http://www.w3.org/ns/dqv#",
}
# Names at SPDX of licences that the Hub writes otherwise than in capitals or small letters.
SPDX = {
    "afl-3.0": "AFL-3.0", "apache-2.0": "Apache-2.0", "bsd-2-clause": "BSD-2-Clause", "bsd-3-clause": "BSD-3-Clause",
    "mit": "MIT", "odbl": "ODbL-1.0", "odc-by": "ODC-By-1.0", "pddl": "PDDL-1.0",
}  # fmt: skip
ANNOTATORS = {"crowdsourced": "crowd workers", "expert-generated": "experts", "machine-generated": "programs"}
PARQUET = "application/x-parquet"  # what mlcroissant and the Hub call it
TYPES = {"string": "sc:Text", "int64": "sc:Integer", "float64": "sc:Float", "bool": "sc:Boolean"}
SPLITS, LABELS = "splits", "labels"  # the record sets of the enumerations
SPLIT_KINDS = {
    "train": "cr:TrainingSplit", "validation": "cr:ValidationSplit", "dev": "cr:ValidationSplit", "test": "cr:TestSplit",
}  # fmt: skip


def render_croissant(definition: Definition, manifest: Manifest) -> str:
    """The croissant.json of a release.

    Raises ReleaseError for missing prose or a missing citation, ValueError for an unknown language.
    """
    text = json.dumps(_describe(definition, manifest), ensure_ascii=False, indent=2, allow_nan=False)
    # Search engines read Croissant inside of a <script> of a web page, which a text with `</script>` would end.
    return text.replace("<", r"\u003c") + "\n"


def _describe(definition: Definition, manifest: Manifest) -> dict[str, Any]:
    source, dataset = definition.source, definition.dataset
    metadata, prose = front_matter.metadata(definition, manifest), read_filled_prose(dataset, manifest)
    citations = [bibtex(key) for key in dict.fromkeys((*source.citations, *dataset.citation))]
    tables = tables_by_config(manifest.tables)
    names = front_matter.config_names(dataset, tables)
    configs = {names[config]: list(tables[config].values()) for config in tables}  # by the names that they load by
    described = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"],
        "name": dataset.name,
        "alternateName": dataset.pretty_name,
        "description": "\n\n".join([dataset.summary, *_blocks(prose.dataset)]),
        "version": manifest.version,
        "identifier": {"@type": "sc:PropertyValue", "propertyID": "content_sha256", "value": manifest.content_sha256},
        "isLiveDataset": False,
        "license": _license(definition.license, source.homepage),
        "url": source.homepage,
        "creator": [{"@type": kind, "name": author} for author, kind in list_authors(citations[0])],
        "datePublished": read_year(citations[0]),
        "citeAs": "\n\n".join(citations),
        "citation": [bibtex(key) for key in (dataset.benchmark.citations if dataset.benchmark else ())],
        "inLanguage": metadata["language"],
        "keywords": list(dict.fromkeys((*metadata["tags"], *metadata["task_categories"], *metadata["task_ids"]))),
        "usageInfo": source.license_note and {"@type": "sc:CreativeWork", "description": source.license_note},
        "creativeWorkStatus": "" if manifest.complete else "a sample" if manifest.sample else "a part of the dataset",
        **_describe_responsible_use(definition, manifest, prose),
        **_describe_provenance(manifest),
        "distribution": _describe_files(manifest, configs),
        "recordSet": _describe_tables(dataset.task, manifest, configs),
    }
    return _present(described)


def _present(values: dict[str, Any]) -> dict[str, Any]:
    """The values that are there: neither None nor an empty text or list."""
    return {key: value for key, value in values.items() if value not in (None, "", [])}


def _license(name: str, homepage: str) -> str | dict[str, str]:
    """The address of a licence at SPDX; for one that is not there, its name with the page of the source."""
    spdx = SPDX.get(name) or (name.upper() if re.fullmatch(r"cc-by[a-z-]*-[0-9.]+|cc0-1\.0", name) else None)
    if spdx:
        return f"https://spdx.org/licenses/{spdx}"
    return {"@type": "sc:CreativeWork", "name": name, "url": homepage}


def _describe_responsible_use(definition: Definition, manifest: Manifest, prose: Prose) -> dict[str, Any]:
    """The properties of the RAI vocabulary that the card has words for."""
    source, task = definition.source, definition.dataset.task
    notes = definition.dataset.versions[manifest.version].notes
    annotators = " and ".join(ANNOTATORS[name] for name in source.annotations if name in ANNOTATORS)
    return {
        "rai:dataCollection": "\n\n".join(_blocks(prose.provenance)),
        "rai:dataCollectionRawData": "\n\n".join(_blocks(prose.source)),
        "rai:dataAnnotationProtocol": f"Annotated by {annotators}. See rai:dataCollection." if annotators else "",
        "rai:dataPreprocessingProtocol": _items(prose.decisions),
        "rai:dataUseCases": _use_case(task),
        "rai:dataLimitations": [*_items(prose.limits), *map(describe_finding, manifest.findings)],
        "rai:dataReleaseMaintenancePlan": "A released version keeps its rows; other rows are a new version."
        f" Version {manifest.version}: {notes}",
    }


def _use_case(task: tasks.Task) -> str:
    kind = f"of text embeddings ({task.type.name}): {task.type.summary}."
    if not task.type.mteb_class:
        return f"Training {kind}"
    return f"Evaluation {kind} The main score is {task.type.main_score} on {tasks.evaluated_split(task)}."


def _items(text: str) -> list[str]:
    """The items of the lists of a Markdown text, and its paragraphs."""
    return [re.sub(r"^[-*] ", "", block) for block in _blocks(text)]


def _blocks(text: str) -> list[str]:
    """The list items and paragraphs of a Markdown text, each on one line, except tables and code."""
    blocks = re.split(r"\n(?=[-*] )|\n\s*\n", text.strip())
    lines = [block if re.search(r"(?m)^\s*(?:\||```)", block) else " ".join(block.split()) for block in blocks]
    return [line for line in lines if line.strip()]


def _describe_provenance(manifest: Manifest) -> dict[str, Any]:
    """The properties that say how the release came about, and what is wrong with it."""
    recipe = manifest.recipe
    counted = [_property("option", name, value) for name, value in sorted(recipe.options.items())]
    counted += [
        _property("dropped", dropped.reason, dropped.count)
        | {"description": f"rows of {dropped.split or 'all splits'}"}
        for dropped in manifest.dropped
    ]
    counted += [_property("observed", name, count) for name, count in sorted(manifest.observed.items())]
    code = {
        "@type": ["prov:Entity", "sc:SoftwareSourceCode"],
        "name": recipe.module,
        "programmingLanguage": "Python",
        "sha256": recipe.sha256,
    }
    return {
        "prov:wasDerivedFrom": [
            _present(
                {
                    "@type": ["prov:Entity", "sc:DataDownload"],
                    "name": raw.name,
                    "contentUrl": raw.url,
                    "contentSize": f"{raw.bytes} B",
                    "sha256": raw.sha256,
                    "description": "" if raw.verified else "No digest of this file was known before the build.",
                }
            )
            for raw in manifest.raw
        ],
        "prov:wasGeneratedBy": {
            "@type": "prov:Activity",
            "name": f"The recipe of {manifest.name} in embedding-datasets",
            "prov:used": code,
            "additionalProperty": counted,
        },
        "dqv:hasQualityMeasurement": [
            _present(
                {
                    "@type": "dqv:QualityMeasurement",
                    "name": finding.location or "all tables",
                    "dqv:isMeasurementOf": {"@type": "dqv:Metric", "name": finding.kind},
                    "dqv:value": finding.count,
                    "description": f"{finding.severity}: {describe_finding(finding)}",
                    "comment": finding.why,
                }
            )
            for finding in manifest.findings
        ],
    }


def _property(kind: str, name: str, value: Any) -> dict[str, Any]:
    """A value as JSON-LD keeps it: it drops null, and reads a list or an object as something else; these become JSON text."""
    if not (isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))):
        value = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return {"@type": "sc:PropertyValue", "propertyID": kind, "name": name, "value": value}


def describe_finding(finding: Finding) -> str:
    """A finding in one line: `repeated text: 7 (0.37 %) in default/test.text`, with its detail if it has one."""
    where = f" in {finding.location}" if finding.location else ""
    share = "below 0.01 %" if 0 < finding.share < 0.0001 else f"{finding.share * 100:.2f} %"
    detail = f", {finding.detail}" if finding.detail else ""
    return f"{kind_name(finding.kind)}: {finding.count_text} ({share}){where}{detail}"


def _describe_files(manifest: Manifest, configs: Mapping[str, list[Table]]) -> list[dict[str, Any]]:
    """The `distribution`: every data file with its digest, and for each config the set of its files."""
    files = [
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
    sets = [
        {
            "@type": "cr:FileSet",
            "@id": _file_set(name),
            "name": _file_set(name),
            "description": f"The data files of the config {name}.",
            "encodingFormat": PARQUET,
            "includes": [file.path for table in tables for file in table.files],
        }
        for name, tables in configs.items()
    ]
    return files + sets


def _describe_tables(task: Task, manifest: Manifest, configs: Mapping[str, list[Table]]) -> list[dict[str, Any]]:
    """The `recordSet`: the splits, the labels where they are numbers with names, and each config."""
    names = dict.fromkeys(table.split for table in manifest.tables)
    splits = [{f"{SPLITS}/name": name, f"{SPLITS}/url": SPLIT_KINDS.get(name, "cr:Split")} for name in names]
    types = {"name": "sc:Text", "url": "sc:URL"}
    sets = [_enumeration(SPLITS, "The splits of the dataset.", "cr:Split", types, splits)]
    if labels := tasks.label_names(task):
        numbered = [{f"{LABELS}/id": number, f"{LABELS}/name": name} for number, name in enumerate(labels)]
        types = {"id": "sc:Integer", "name": "sc:Text"}
        sets.append(_enumeration(LABELS, "The labels, by number.", "sc:Enumeration", types, numbered))
    return sets + [_record_set(name, tables, task) for name, tables in configs.items()]


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
    has_ids = tables[0].config in {"corpus", "queries"}
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
    return _present(
        {
            "@type": "cr:RecordSet",
            "@id": record_set,
            "name": name,
            "description": f"The rows of the config {name}: {counts}.",
            "key": [{"@id": split_field}, {"@id": f"{record_set}/id"}] if has_ids else [],
            "field": [split, *(_field(record_set, _file_set(name), column, task) for column in columns)],
        }
    )


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
    is_named = is_label and bool(tasks.label_names(task))
    description = f"{describe_labels(task)}." if is_label and isinstance(task, tasks.STS) else ""
    if is_named:
        description = f"{'Ids' if is_list else 'An id'} of the record set {LABELS}."
    return _present(
        {
            "@type": "cr:Field",
            "@id": f"{record_set}/{identifier(column.name)}",
            "name": column.name,
            "dataType": [TYPES[item], "cr:Label"] if is_label else TYPES[item],
            "isArray": is_list or None,
            "arrayShape": "-1" if is_list else "",
            "description": description,
            "references": {"field": {"@id": f"{LABELS}/id"}} if is_named and not is_list else "",
            "source": {"fileSet": {"@id": file_set}, "extract": {"column": column.name}},
        }
    )


def identifier(text: str) -> str:
    """A text as an id in Croissant: a relative IRI, in which most characters are escaped. Ordinary names stay as they are."""
    return re.sub(r"[^A-Za-z0-9/_.~-]", lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), text)


def _file_set(config: str) -> str:
    return identifier(f"{config}-files")


# The commands of TeX that put a mark on the letter after them, with the Unicode character that does.
MARKS = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", "=": "\u0304", "u": "\u0306", ".": "\u0307", '"': "\u0308",
    "r": "\u030a", "H": "\u030b", "v": "\u030c", "c": "\u0327", "k": "\u0328",
}  # fmt: skip
LETTERS = {"ss": "ß", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "ae": "æ", "AE": "Æ", "aa": "å", "AA": "Å"}
MARKED = re.compile(r"\\(?:([`'^~=.\"])\s*|([urHvck])(?=[\s{])\s*)\{?\\?([A-Za-z])\}?")
COMMAND = re.compile(r"\\([A-Za-z]+)\s*")


def list_authors(entry: str) -> list[tuple[str, str]]:
    r"""The authors of an entry with their types, in its order; none where it names none. `and others` is left out.

    `author = {St{\"u}ker, Sebastian and {Yandex}}` names Sebastian Stüker and the organisation Yandex.
    """
    authors = []
    for written in _split_names(read_field(entry, "author")):
        text = _plain(written)
        if written.startswith("{") and written.endswith("}"):
            authors.append((text, "sc:Organization"))
        elif text and text != "others":
            last, *first = (part.strip() for part in text.split(","))  # `Last, First` or `Last, Jr, First`
            name = " ".join([*first[-1:], last]) + "".join(f", {suffix}" for suffix in first[:-1])
            authors.append((name, "sc:Person"))
    return authors


def _split_names(authors: str) -> list[str]:
    """The names that `and` separates. An `and` in braces is part of a name."""
    names, depth = [""], 0
    for part in re.split(r"(\s+and\s+|[{}])", authors):
        depth += {"{": 1, "}": -1}.get(part, 0)
        if not depth and part.strip() == "and":
            names.append("")
        else:
            names[-1] += part
    return [name.strip() for name in names if name.strip()]


def read_year(entry: str) -> str:
    """The year of an entry, four digits; empty where it has none."""
    year = _plain(read_field(entry, "year"))
    return year if re.fullmatch("[0-9]{4}", year) else ""


def _plain(latex: str) -> str:
    """A text without TeX: `St{\\"u}ker` is `Stüker`."""
    text = MARKED.sub(lambda found: found[3] + MARKS[found[1] or found[2]], latex)
    text = COMMAND.sub(lambda found: LETTERS.get(found[1], ""), text)
    text = re.sub(r"[{}\\]", "", text).replace("~", " ")
    return unicodedata.normalize("NFC", " ".join(text.split()))
