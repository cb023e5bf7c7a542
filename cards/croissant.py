"""The croissant.json of a release: what it is, in the words of Croissant 1.1, for programs that know datasets and not us.

The Hub makes a Croissant of its own of every dataset, from the card and the Parquet files. This one has also what only the build
knows: digests of raw and data files, recipe, rows dropped, findings, how texts and labels came about. It follows from the
definition, the manifest and the prose: same rows, same bytes, and no repository is named, so that the file is the same on
disk and on the Hub. Its paths are relative to its own folder.

The properties of the RAI vocabulary (responsible AI) repeat the prose of the card. The creators and the year are those of the
first publication that the source names: when a version is published is known only after it was built.
"""

import json
import re
from typing import Any

from builders import tasks
from builders.catalogue import Definition
from cards import front_matter
from cards.citation_fields import list_authors, read_year
from cards.citations import bibtex
from cards.croissant_provenance import NAMESPACES, describe_finding, describe_provenance
from cards.croissant_tables import describe_files, describe_tables
from cards.manifest import Manifest
from cards.render import read_filled_prose
from cards.texts import Prose

CONFORMS_TO = ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]
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
    **NAMESPACES,
}
# Names at SPDX of licences that the Hub writes otherwise than in capitals or small letters.
SPDX = {
    "afl-3.0": "AFL-3.0", "apache-2.0": "Apache-2.0", "bsd-2-clause": "BSD-2-Clause", "bsd-3-clause": "BSD-3-Clause",
    "mit": "MIT", "odbl": "ODbL-1.0", "odc-by": "ODC-By-1.0", "pddl": "PDDL-1.0",
}  # fmt: skip
ANNOTATORS = {"crowdsourced": "crowd workers", "expert-generated": "experts", "machine-generated": "programs"}
MAINTENANCE = "A released version keeps its rows; other rows are a new version."


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
    described: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": dataset.name,
        "alternateName": dataset.pretty_name,
        "description": "\n\n".join([dataset.summary, *_blocks(prose.dataset)]),
        "version": manifest.version,
        "identifier": {"@type": "sc:PropertyValue", "propertyID": "content_sha256", "value": manifest.content_sha256},
        "isLiveDataset": False,
        "license": _license(definition.license, source.homepage),
        "url": source.homepage,
        "creator": [
            {"@type": "sc:Organization" if author.organisation else "sc:Person", "name": author.name}
            for author in list_authors(citations[0])
        ],
        "datePublished": read_year(citations[0]),
        "citeAs": "\n\n".join(citations),
        "citation": [bibtex(key) for key in (dataset.benchmark.citations if dataset.benchmark else ())],
        "inLanguage": metadata["language"],
        "keywords": list(dict.fromkeys((*metadata["tags"], *metadata["task_categories"], *metadata["task_ids"]))),
    }
    if source.license_note:
        described["usageInfo"] = {"@type": "sc:CreativeWork", "description": source.license_note}
    if not manifest.complete:
        described["creativeWorkStatus"] = "a sample" if manifest.sample else "a part of the dataset"
    described |= _describe_responsible_use(definition, manifest, prose)
    described |= describe_provenance(manifest)
    described["distribution"] = describe_files(dataset, manifest)
    described["recordSet"] = describe_tables(dataset, manifest)
    return {key: value for key, value in described.items() if value not in ("", [])}


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
    annotators = " and ".join(ANNOTATORS[one] for one in source.annotations if one in ANNOTATORS)
    return {
        "rai:dataCollection": "\n\n".join(_blocks(prose.provenance)),
        "rai:dataCollectionRawData": "\n\n".join(_blocks(prose.source)),
        "rai:dataAnnotationProtocol": f"Annotated by {annotators}. See rai:dataCollection." if annotators else "",
        "rai:dataPreprocessingProtocol": _items(prose.decisions),
        "rai:dataUseCases": _use_case(task),
        "rai:dataLimitations": [*_items(prose.limits), *map(describe_finding, manifest.findings)],
        "rai:dataReleaseMaintenancePlan": f"{MAINTENANCE} Version {manifest.version}: {notes}",
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
