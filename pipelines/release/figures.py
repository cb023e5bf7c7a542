"""The published figures of a dataset, compared with the statistics of a release, line by line.

published_figures.json holds, for each dataset, the `source` of its figures and `facts`. A fact is the `path` of a number in
statistics.json (or in the manifest: `observed`, and `dropped` with how its reasons begin), its published `value` or the `set` of
Table 6 that has it, and, for a rounded figure, the tolerance (`within`). A `note` explains a difference that is intended or
possible. `corrected` has the same of another's correction of the dataset, with which later versions of ours are compared; they
are also compared with facts of the raw files, which hold for `every` version. Training sets are compared with Table 6 too.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from builders import papers
from builders.errors import UsageError
from builders.spec import AS_PUBLISHED
from cards import markdown
from cards.evidence import Agreement
from cards.manifest import Manifest
from cards.statistics import read_statistics, to_json
from pipelines.process import tables
from pipelines.release import folder

PUBLISHED = Path(__file__).with_name("published_figures.json")
NO_REASON = "not known"
TABLE_6, ROUNDED = "Table 6 of the ruMTEB paper, in thousands of pairs", 50
VERSIONS = "1."  # these rebuild the published dataset, later ones correct it


@dataclass(frozen=True)
class Line:
    """A published figure and ours, which is None where the statistics do not have it."""

    what: str
    published: float
    ours: float | None
    agree: bool
    note: str = ""


def read_published(dataset: str, version: str = VERSIONS) -> dict[str, Any] | None:
    """The `source` and the `facts` of a version of a dataset; None where no figures are published of it.

    Those of versions that correct the published dataset are of others' corrections.
    """
    sets = papers.sets_of(dataset)
    published = json.loads(PUBLISHED.read_text("utf-8")).get(
        dataset, {"source": TABLE_6, "facts": []} if sets else None
    )
    if published is None:
        return None
    facts, source = published["facts"], published["source"]
    if version == AS_PUBLISHED:  # its rows are compared: nothing of them was observed or dropped by a recipe
        return {"source": source, "facts": [fact for fact in facts if fact["path"][0] not in ("observed", "dropped")]}
    if not version.startswith(VERSIONS):
        corrected = published.get("corrected", {"source": source, "facts": []})
        source, facts = corrected["source"], [*corrected["facts"], *(fact for fact in facts if fact.get("every"))]
    note = NO_REASON if version.startswith(VERSIONS) else "this version drops more rows"
    table = [
        {"path": ["train", "training_sets", row.config, "num_samples"], "set": row.set, "within": ROUNDED, "note": note}
        for row in sets.values()
    ]
    return {"source": source, "facts": [*table, *facts]} if table or facts else None


def compare_facts(manifest: Manifest, statistics: Mapping[str, Any], facts: Sequence[Mapping[str, Any]]) -> list[Line]:
    """One line for each fact. A partial release skips the facts of splits that it does not have."""
    figures, lines = {**statistics, "observed": manifest.observed}, []
    table_6 = {row.set: row.pairs for row in papers.training_sets()}
    for fact in facts:
        path = fact["path"]
        value = fact["value"] if "value" in fact else table_6[fact["set"]]
        if manifest.partial and path[0] not in figures:
            continue
        if path[0] == "dropped":
            ours: float | None = sum(drop.count for drop in manifest.dropped if drop.reason.startswith(path[1]))
        else:
            ours = _at(figures, path)
        agree = ours is not None and abs(ours - value) <= fact.get("within", 0)
        lines.append(Line(" ".join(path), value, ours, agree, fact.get("note", "")))
    return lines


def count_agreeing(manifest: Manifest, statistics: Mapping[str, Any]) -> Agreement | None:
    """How many published figures a release has, and the others; None for a sample or a part, or where none are published."""
    published = read_published(manifest.dataset, manifest.version)
    if published is None or not manifest.complete:
        return None
    lines = compare_facts(manifest, statistics, published["facts"])
    differing = tuple(
        (line.what, f"{line.published:,}", _number(line.ours), line.note or NO_REASON)
        for line in lines
        if not line.agree
    )
    return Agreement(len(lines) - len(differing), len(lines), published["source"], differing)


def agreeing_figures(release_dir: Path, manifest: Manifest) -> list[str]:
    """How many published figures agree, in a few words; nothing for a sample or part, and where none are published."""
    agreement = count_agreeing(manifest, to_json(read_statistics(release_dir / folder.STATISTICS)))
    return [f"{agreement.agreeing} of {agreement.figures} figures agree"] if agreement else []


def expected_and_found(release_dir: Path, manifest: Manifest) -> list[str]:
    """What a build says of the published figures: how many agree, and each other with ours and why; nothing for a sample or part.

    Raises ReleaseError for a folder with damaged statistics.
    """
    if not manifest.complete:
        return []
    agreement = count_agreeing(manifest, to_json(read_statistics(release_dir / folder.STATISTICS)))
    if agreement is None:
        return tables.fact("expected", "no figures are published to compare with")
    lines = tables.fact(
        "expected", f"{agreement.agreeing} of {agreement.figures} figures agree with {agreement.source}"
    )
    for what, expected, found, why in agreement.differing:
        lines += tables.fact("", f"{what}: expected {expected}, found {found}: {why}")
    return lines


def _at(figures: Any, path: Sequence[str]) -> float | None:
    for step in path:
        if not isinstance(figures, dict) or step not in figures:
            return None
        figures = figures[step]
    return figures if isinstance(figures, int | float) else None


def compare_with_published(release_dir: Path) -> dict[str, Any]:
    """What `check --against published --json` prints: dataset, version, partial, source, and the lines of `compare_facts`.

    Raises ReleaseError for a folder that is not a release, UsageError for a sample and for a dataset without published figures.
    """
    manifest = folder.require_manifest(release_dir)
    if manifest.sample:
        raise UsageError(
            "a sample does not have the published size",
            where=str(release_dir),
            todo="build it from complete raw files",
        )
    published = read_published(manifest.dataset, AS_PUBLISHED if manifest.version == AS_PUBLISHED else VERSIONS)
    if published is None:
        raise UsageError(
            f"no published figures for {manifest.dataset}",
            where=str(release_dir),
            todo=f"add them to {PUBLISHED.name}, with their source",
        )
    statistics = to_json(read_statistics(release_dir / folder.STATISTICS))
    return {
        "dataset": manifest.dataset,
        "version": manifest.version,
        "partial": manifest.partial,
        "source": published["source"],
        "lines": [asdict(line) for line in compare_facts(manifest, statistics, published["facts"])],
    }


def page(report: Mapping[str, Any]) -> str:
    """The result of `compare_with_published` as text for the terminal."""
    lines = [Line(**line) for line in report["lines"]]
    agreeing = sum(line.agree for line in lines)
    partial = ", partial" if report["partial"] else ""
    heading = ["figure", "published", "ours", ""]
    rows = [
        [
            line.what,
            f"{line.published:,}",
            _number(line.ours),
            "agrees" if line.agree else "differs:" if line.note else "DIFFERS",
        ]
        for line in lines
    ]
    heads = [f"  {row}" for row in tables.table([heading, *rows]).splitlines()]
    compared = heads[:2]
    for head, line in zip(heads[2:], lines, strict=True):
        compared += [head, *(tables.wrap(line.note, "      ") if line.note and not line.agree else [])]
    return "\n".join(
        [
            f"{report['dataset']} {report['version']}{partial}: {agreeing} of {len(lines)} published figures agree",
            *tables.wrap(report["source"], "  published   "),
            "",
            *compared,
        ]
    )


def _number(figure: float | None) -> str:
    return "none" if figure is None else markdown.number(figure)
