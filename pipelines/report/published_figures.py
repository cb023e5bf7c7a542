"""A release's statistics beside the published ones, line by line: what `check --against published` shows.

The published figures stand in published.json: for each dataset where they come from (`source`) and `facts`. A fact has the
`path` of a number in statistics.json (or, after `observed`, in the manifest), its `value` as published, and, where
that is a rounded mean, how far ours may be off (`within`). A `note` says why ours was decided to differ.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from builders.errors import UsageError
from pipelines import command
from pipelines.release import staging
from pipelines.release.comparison import manifest_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PUBLISHED = Path(__file__).with_name("published_figures.json")
VERSIONS = "1."  # those that rebuild what was published; later ones mend it


@dataclass(frozen=True)
class Line:
    """One published figure and ours; ours is None where the statistics have no such number."""

    what: str
    published: float
    ours: float | None
    agree: bool
    note: str = ""


def compare_with_published(place: Path) -> dict[str, Any]:
    """A release compared with the published figures of its dataset: dataset, version, source, and the lines of `compare`.

    Raises ReleaseError for a folder that is no release, UsageError for a sample, or where no figures are known.
    """
    manifest = manifest_of(place)
    if manifest["sample"]:
        raise UsageError(
            "a sample has not the size that was published", where=str(place), todo="build it from complete raw files"
        )
    known = json.loads(PUBLISHED.read_text("utf-8"))
    if (published := known.get(manifest["dataset"])) is None:
        raise UsageError(
            f"no published figures of {manifest['dataset']} are known",
            where=str(place),
            todo=f"add them to {PUBLISHED.name}, each with its source",
        )
    statistics = json.loads((place / staging.STATISTICS).read_text("utf-8"))
    head = {key: manifest[key] for key in ("dataset", "version", "partial")} | {"source": published["source"]}
    return head | {"lines": [asdict(line) for line in compare_facts(manifest, statistics, published["facts"])]}


def compare_facts(
    manifest: Mapping[str, Any], statistics: Mapping[str, Any], facts: Sequence[Mapping[str, Any]]
) -> list[Line]:
    """A line for every fact, in their order; a partial release is not asked about the splits that it does not have."""
    figures, lines = {**statistics, "observed": manifest["observed"]}, []
    for fact in facts:
        path, value, within = fact["path"], fact["value"], fact.get("within", 0)
        if manifest["partial"] and path[0] not in figures:
            continue
        ours = _at(figures, path)
        agree = ours is not None and abs(ours - value) <= within
        lines.append(Line(" ".join(path), value, ours, agree, fact.get("note", "")))
    return lines


def _at(figures: Any, path: Sequence[str]) -> float | None:
    for step in path:
        if not isinstance(figures, dict) or step not in figures:
            return None
        figures = figures[step]
    return figures if isinstance(figures, int | float) else None


def page(report: Mapping[str, Any]) -> str:
    """What `parity` gave, as a table for the terminal."""
    lines = [Line(**line) for line in report["lines"]]
    agreeing = sum(line.agree for line in lines)
    partial = ", partial" if report["partial"] else ""
    heading = ["figure", "published", "ours", ""]
    rows = [[line.what, f"{line.published:,}", _number(line.ours), _verdict(line)] for line in lines]
    return "\n".join(
        [
            f"{report['dataset']} {report['version']}{partial}: {agreeing} of {len(lines)} published figures agree",
            f"  published   {report['source']}",
            "",
            *(f"  {row}" for row in command.table([heading, *rows]).splitlines()),
        ]
    )


def _number(figure: float | None) -> str:
    return "none" if figure is None else f"{figure:,}" if isinstance(figure, int) else f"{figure:,.2f}"


def _verdict(line: Line) -> str:
    if line.agree:
        return "agrees"
    return f"differs: {line.note}" if line.note else "DIFFERS"
