"""The published figures of a dataset, compared with the statistics of a release.

published_figures.json holds, for each dataset, the `source` of its figures and `facts`. A fact is the `path` of a number in
statistics.json (or in the manifest, if it begins with `observed`), its published `value` and, for a rounded mean, the tolerance
(`within`). A `note` explains a difference that is intended.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cards.evidence import Agreement
from cards.manifest import Manifest

PUBLISHED = Path(__file__).with_name("published_figures.json")
VERSIONS = "1."  # these rebuild the published dataset, later ones correct it


@dataclass(frozen=True)
class Line:
    """A published figure and ours, which is None where the statistics do not have it."""

    what: str
    published: float
    ours: float | None
    agree: bool
    note: str = ""


def read_published(dataset: str) -> dict[str, Any] | None:
    """The `source` and the `facts` of a dataset; None where no figures are published."""
    published: dict[str, Any] | None = json.loads(PUBLISHED.read_text("utf-8")).get(dataset)
    return published


def compare_facts(manifest: Manifest, statistics: Mapping[str, Any], facts: Sequence[Mapping[str, Any]]) -> list[Line]:
    """One line for each fact. A partial release skips the facts of splits that it does not have."""
    figures, lines = {**statistics, "observed": manifest.observed}, []
    for fact in facts:
        path, value, within = fact["path"], fact["value"], fact.get("within", 0)
        if manifest.partial and path[0] not in figures:
            continue
        ours = _at(figures, path)
        agree = ours is not None and abs(ours - value) <= within
        lines.append(Line(" ".join(path), value, ours, agree, fact.get("note", "")))
    return lines


def count_agreeing(manifest: Manifest, statistics: Mapping[str, Any]) -> Agreement | None:
    """How many published figures a release has; None for one that is not meant to have them, or where none are published."""
    published = read_published(manifest.dataset)
    if published is None or not manifest.complete or not manifest.version.startswith(VERSIONS):
        return None
    lines = compare_facts(manifest, statistics, published["facts"])
    return Agreement(sum(line.agree for line in lines), len(lines), published["source"])


def _at(figures: Any, path: Sequence[str]) -> float | None:
    for step in path:
        if not isinstance(figures, dict) or step not in figures:
            return None
        figures = figures[step]
    return figures if isinstance(figures, int | float) else None
