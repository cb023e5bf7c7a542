"""The JSON Schema of a manifest, generated from its records: python -m cards.manifest_schema > docs/manifest.schema.json"""

import json
from inspect import cleandoc
from typing import Any

import msgspec

from cards.manifest import Manifest


def schema() -> dict[str, Any]:
    """The JSON Schema of a manifest."""
    return describe_record(Manifest, "manifest.json of a release")


def describe_record(record: type, title: str) -> dict[str, Any]:
    """The JSON Schema of a file that holds a record, with the docstrings as descriptions."""
    generated = msgspec.json.schema(record)
    for definition in generated["$defs"].values():
        if "description" in definition:
            definition["description"] = cleandoc(definition["description"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title} | generated


if __name__ == "__main__":
    print(json.dumps(schema(), indent=2, ensure_ascii=False))
