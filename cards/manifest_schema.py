"""The JSON Schema of a manifest, generated from its records: python -m cards.manifest_schema > docs/manifest.schema.json"""

from __future__ import annotations

import json
from inspect import cleandoc
from typing import Any

import msgspec

from cards.manifest import Manifest


def schema() -> dict[str, Any]:
    """The JSON Schema of a manifest."""
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "manifest.json of a release"}
    generated = msgspec.json.schema(Manifest)
    for record in generated["$defs"].values():
        if "description" in record:
            record["description"] = cleandoc(record["description"])
    return head | generated


if __name__ == "__main__":
    print(json.dumps(schema(), indent=2, ensure_ascii=False))
