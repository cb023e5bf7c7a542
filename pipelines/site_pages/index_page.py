"""The first page: all datasets with what they are filtered and sorted by, and the benchmarks' tables beside the papers'."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from builders import tasks
from builders.benchmarks import BENCHMARKS
from builders.catalogue import Definition
from cards.front_matter import SIZES, language, size_category
from cards.score_section import headroom, summarize_scores
from pipelines.release.folder import read_scores
from pipelines.report import benchmark_table
from pipelines.report.verdict import COLORS
from pipelines.site_pages.dataset_pages import built_mark, version_standings
from pipelines.site_pages.release_data import ReleaseData
from pipelines.site_pages.templates import write_page

NOT_BUILT = "not built here"
UNKNOWN_SIZE = "unknown"
FILTERS = {
    "benchmark": "Benchmark", "task": "Task", "language": "Language", "license": "Licence", "size": "Rows",
    "problems": "Problems",
}  # fmt: skip


def write_index(site_dir: Path, datasets: Sequence[tuple[Definition, Sequence[ReleaseData]]]) -> None:
    """Write index.html: datasets with releases come first. datasets: each with its releases, the newest first."""
    rows = sorted((_dataset_row(*one) for one in datasets), key=lambda row: not row["built"])
    names = {row["name"]: row for row in rows}
    filters = [(key, title, _choices(key, rows)) for key, title in FILTERS.items()]
    tables = [
        _benchmark(name, names) for name in benchmark_table.TASKS if names.keys() & benchmark_table.TASKS[name].keys()
    ]
    built = sum(len(releases) for _, releases in datasets)
    write_page(site_dir / "index.html", "index", "", rows=rows, filters=filters, tables=tables, built=built)


def _choices(key: str, rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """The values of a filter, with the number of datasets that each has: sizes in their order, others by name."""
    values = [value for row in rows for value in (row[key] if isinstance(row[key], list) else [row[key]])]
    order = (
        list(dict.fromkeys(values)) if key != "size" else [size for size in (*SIZES, UNKNOWN_SIZE) if size in values]
    )
    return [(value, values.count(value)) for value in (order if key == "size" else sorted(order))]


def _dataset_row(definition: Definition, releases: Sequence[ReleaseData]) -> dict[str, Any]:
    dataset = definition.dataset
    built = {data.release.manifest.version: built_mark(data) for data in releases}
    standings = version_standings(definition, built)
    newest = releases[0] if releases else None
    count = _count_rows(dataset.task, standings, newest)
    scores = read_scores(newest.release.release_dir) if newest else None
    return {
        "name": dataset.name,
        "title": dataset.pretty_name,
        "summary": dataset.summary,
        "built": newest is not None,
        "version": newest.release.manifest.version if newest else "",
        "mark": "" if newest is None or newest.release.manifest.complete else built_mark(newest),
        "benchmark": dataset.benchmark.title if dataset.benchmark else "other",
        "task": dataset.task.type.name,
        "language": [language(code)[1] for code in dataset.languages],
        "license": definition.license,
        "rows": count,
        "size": UNKNOWN_SIZE if count is None else size_category(count),
        "problems": newest.verdict["state"] if newest else NOT_BUILT,
        "verdict": newest.verdict["summary"] if newest else NOT_BUILT,
        "scores": "" if scores is None else summarize_scores(scores),
        "headroom": None if scores is None else headroom(scores),
        "color": COLORS[newest.verdict["state"]] if newest else "soft",  # type: ignore[index]
        "standings": standings,
    }


def _count_rows(task: tasks.Task, standings: Sequence[Mapping[str, Any]], newest: ReleaseData | None) -> int | None:
    """The rows with texts, of the newest release here, else of the newest version in the ledger; None where neither is known."""
    configs = {layout.config for layout in tasks.layouts(task) if layout.text}
    counts = newest.release.manifest.rows if newest else next((one["rows"] for one in standings if one["rows"]), None)
    return None if counts is None else sum(n for name, n in counts.items() if name.split("/")[0] in configs)


def _benchmark(name: str, rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The table of a benchmark: its datasets in the order of the paper, with the sizes that the paper, the recipe and we have."""
    facts = benchmark_table.TASKS[name]
    entries = []
    for dataset, fact in facts.items():
        if dataset not in rows:  # a site of some datasets only
            continue
        entries.append(
            {
                "name": dataset,
                "row": rows[dataset],
                "paper": fact.get("paper", ""),
                "expected": fact.get("expected", fact.get("size", "")),
                "group": fact.get("group", ""),
                "ledger": benchmark_table.built_size(dataset),
                "wrong": fact.get("wrong", ""),
            }
        )
    benchmark = BENCHMARKS[name]
    return {
        "name": name,
        "title": benchmark.title,
        "paper": benchmark.paper,
        "notes": benchmark_table.NOTES[name],
        "entries": entries,
    }
