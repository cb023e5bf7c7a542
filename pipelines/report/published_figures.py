"""Compares the statistics of a release with the published ones, line by line, for `check --against published`."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from builders.errors import UsageError
from cards import markdown
from pipelines.audit.statistics import as_json, read_statistics
from pipelines.release import folder
from pipelines.release.figures import PUBLISHED, Line, compare_facts, read_published
from pipelines.report import tables


def compare_with_published(release_dir: Path) -> dict[str, Any]:
    """What `check --against published --json` prints: dataset, version, partial, source, and the lines of `compare_facts`.

    Raises ReleaseError for a folder that is not a release, UsageError for a sample and for a dataset without published figures.
    """
    manifest = folder.require_manifest(release_dir)
    if manifest.sample:
        what, todo = "a sample does not have the published size", "build it from complete raw files"
        raise UsageError(what, where=str(release_dir), todo=todo)
    published = read_published(manifest.dataset)
    if published is None:
        todo = f"add them to {PUBLISHED.name}, with their source"
        raise UsageError(f"no published figures for {manifest.dataset}", where=str(release_dir), todo=todo)
    statistics = as_json(read_statistics(release_dir / folder.STATISTICS))
    lines = [asdict(line) for line in compare_facts(manifest, statistics, published["facts"])]
    head = {"dataset": manifest.dataset, "version": manifest.version, "partial": manifest.partial}
    return head | {"source": published["source"], "lines": lines}


def page(report: Mapping[str, Any]) -> str:
    """The result of `compare_with_published` as text for the terminal."""
    lines = [Line(**line) for line in report["lines"]]
    agreeing = sum(line.agree for line in lines)
    partial = ", partial" if report["partial"] else ""
    heading = ["figure", "published", "ours", ""]
    rows = [[line.what, f"{line.published:,}", _number(line.ours), _agreement(line)] for line in lines]
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


def _agreement(line: Line) -> str:
    if line.agree:
        return "agrees"
    return "differs:" if line.note else "DIFFERS"
