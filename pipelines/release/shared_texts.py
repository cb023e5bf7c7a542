"""The texts that the datasets of the catalogue share with each other, as far as releases of them were compared.

contamination_map.json is committed; `contamination map` writes it. It holds `datasets`, what was compared (dataset, version,
content_sha256; a dataset without version is the raw files of a source), and `shared`: for each column of a split with texts of
another dataset, `of` (whose texts), `in` (where they are), and how many different rows of `of` have each kind. No build reads
another release.
"""

import json
from pathlib import Path
from typing import Any

from cards.evidence import Comparison, SharedTexts

MAP = Path(__file__).with_name("contamination_map.json")


def read_map(path: Path = MAP) -> dict[str, Any]:
    """The map in a file, by default that of our own releases."""
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def shared_with_others(dataset: str, content_sha256: str, compared: dict[str, Any] | None = None) -> Comparison | None:
    """The texts that other datasets have; None if a release with this content was not compared.

    compared: a map, by default ours.
    """
    compared = read_map() if compared is None else compared
    names = {one["dataset"] for one in compared["datasets"]}
    versions = {one["version"] for one in compared["datasets"] if one["content_sha256"] == content_sha256}
    if dataset not in names or not versions:
        return None
    shared = tuple(
        SharedTexts(_table(one["of"]), one["in"]["dataset"], one["in"]["version"], _table(one["in"]), one["kinds"])
        for one in compared["shared"]
        if one["of"]["dataset"] == dataset and one["of"]["version"] in versions
    )
    return Comparison(len(names) - 1, shared)


def _table(side: dict[str, str]) -> str:
    config = "" if side["config"] == "default" else f"{side['config']}/"
    return f"{config}{side['split']}.{side['column']}"
