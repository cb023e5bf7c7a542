"""The pages of a dataset and of its versions, from the data that was written for them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from builders import limits, tasks
from builders.catalogue import Definition
from builders.licenses import describe_license
from builders.spec import version_key
from cards import markdown
from cards.front_matter import language
from cards.manifest import SEVERITIES
from pipelines.raw.urls import HUB
from pipelines.release import ledger
from pipelines.release.folder import CARD
from pipelines.report.verdict import COLORS
from pipelines.site_pages.card_html import render_card
from pipelines.site_pages.charts import BarChart, bar_chart, label_charts, length_charts
from pipelines.site_pages.release_data import FindingData, ReleaseData
from pipelines.site_pages.templates import write_page
from pipelines.site_pages.version_changes import TableChange

MAX_POSITIVES = 10  # queries with more are one bar
FIRST_FINDINGS = 8  # on the page of a dataset


def write_version_pages(site_dir: Path, data: ReleaseData, built: Mapping[str, str], older: Sequence[str]) -> None:
    """Write the page of a version, with those of its rows, queries and findings; of the newest, that of the dataset too.

    built: the versions that have pages, the newest first, each with its `built_mark`. older: those that it is compared with.
    """
    common = _common_values(data, list(built), older)
    folder = site_dir / data.release.path
    places = [(folder / "index.html", "../../", "")]
    if data.release.manifest.version == next(iter(built)):
        places.append((folder.parent / "index.html", "../", f"{data.release.manifest.version}/"))
    overview = _overview_values(data, built)
    for path, root, here in places:
        write_page(path, "dataset", root, here=here, tab="overview", **common, **overview)
    page = {"root": "../../", "here": "", **common}
    tables = [asdict(table) for table in data.tables]
    shared = {"tables": tables, **_viewer_values(data)}
    write_page(folder / "rows.html", "rows", tab="rows", viewer=shared, **page)
    if data.queries:
        queries = [asdict(one) | {"positives": list(one.positives.items())} for one in data.queries]
        viewer = shared | {"queries": queries}
        write_page(folder / "queries.html", "queries", tab="queries", viewer=viewer, queries=data.queries, **page)
    viewer = shared | {"findings": [_finding_values(one) for one in data.findings]}
    write_page(folder / "findings.html", "findings", tab="findings", viewer=viewer, findings=data.findings, **page)


def write_changes_page(
    site_dir: Path,
    old: ReleaseData,
    new: ReleaseData,
    changes: Sequence[TableChange],
    figures: Sequence[tuple[str, Any, Any]],
    *,
    versions: Sequence[str],
    older: Sequence[str],
) -> None:
    """Write the page that shows two versions side by side."""
    before, after = old.release.manifest, new.release.manifest
    dropped: dict[tuple[str, str], list[int]] = {}
    for column, manifest in enumerate((before, after)):
        for one in manifest.dropped:
            dropped.setdefault((one.split, one.reason), [0, 0])[column] = one.count
    texts = {layout.config: layout.text for layout in tasks.layouts(new.release.definition.dataset.task)}
    listed = [asdict(change) | {"texts": texts.get(change.config, ())} for change in changes]
    write_page(
        site_dir / new.release.path / f"changes-from-{before.version}.html",
        "changes",
        "../../",
        here="",
        tab="changes",
        old=before.version,
        new=after.version,
        changes=changes,
        dropped=[(split, reason, *counts) for (split, reason), counts in dropped.items()],
        figures=[(name, _figure(one), _figure(other)) for name, one, other in figures if name.startswith("statistics")],
        others=[(name, _figure(one), _figure(other)) for name, one, other in figures if name.startswith(("option", "finding"))],
        viewer={"old": before.version, "new": after.version, "changes": listed, **_viewer_values(new)},
        **_common_values(new, versions, older),
    )  # fmt: skip


def version_standings(definition: Definition, built: Mapping[str, str]) -> list[dict[str, Any]]:
    """Where each version of a dataset is: built here, in the ledger, published; the newest first.

    built: the versions with pages, with the content hash of a complete release, or `sample` or `part`.
    """
    standings = []
    for version in sorted(definition.dataset.versions, key=version_key, reverse=True):
        entry = ledger.find_entry(definition.dataset.name, version)
        here = built.get(version, "")
        if here in ("", "sample", "part"):
            state = {"": "not built here", "sample": "sample built here", "part": "part built here"}[here]
        else:
            state = "built here" if entry is None or entry.content_sha256 == here else "built here with other rows"
        repos = entry.published if entry else ()
        standings.append(
            {
                "version": version,
                "notes": definition.dataset.versions[version].notes,
                "built": bool(here),
                "state": state,
                "ledger": entry.content_sha256 if entry else "",
                "rows": {table.location: table.rows for table in entry.tables} if entry else {},
                "published": [(repo, f"{HUB}/datasets/{repo}/tree/v{version}") for repo in repos],
            }
        )
    return standings


def built_mark(data: ReleaseData) -> str:
    """What `version_standings` takes for a release."""
    manifest = data.release.manifest
    return "sample" if manifest.sample else "part" if manifest.partial else manifest.content_sha256


def _common_values(data: ReleaseData, versions: Sequence[str], older: Sequence[str]) -> dict[str, Any]:
    """What every page of a version shows: its name, its navigation, its verdict."""
    manifest, definition = data.release.manifest, data.release.definition
    return {
        "name": manifest.dataset,
        "version": manifest.version,
        "versions": versions,
        "older": older,
        "task": definition.dataset.task.type.name,
        "mark": "sample" if manifest.sample else "partial" if manifest.partial else "",
        "withheld": data.withheld,
        "has_queries": bool(data.queries),
        "finding_count": len(data.findings),
        "verdict": data.verdict,
        "color": COLORS[data.verdict["state"]],  # type: ignore[index]
    }


def _viewer_values(data: ReleaseData) -> dict[str, Any]:
    """What every script needs: the names of labels, and the language of the texts, empty where there are several."""
    dataset = data.release.definition.dataset
    codes = [language(code)[0] for code in dataset.languages]
    return {"labels": tasks.label_names(dataset.task), "language": codes[0] if len(codes) == 1 else ""}


def _overview_values(data: ReleaseData, built: Mapping[str, str]) -> dict[str, Any]:
    release, definition = data.release, data.release.definition
    card = "" if data.withheld and not data.problems else _read_card(release.release_dir)
    task = definition.dataset.task
    charts: list[BarChart] = label_charts(task, release.statistics)
    charts += [_positives_chart(one.split, one.positives) for one in data.queries]
    texts = [layout.config for layout in tasks.layouts(task) if layout.text]
    return {
        "licence_means": describe_license(data.release.definition.license),
        "definition": definition,
        "languages": [language(code)[1] for code in definition.dataset.languages],
        "content": release.manifest.content_sha256,
        "sizes": [
            (table.config, table.split, table.rows) for table in release.manifest.tables if table.config in texts
        ],
        "problems": data.problems,
        "notes": data.notes,
        "findings": [(number, one) for number, one in enumerate(data.findings, 1)][:FIRST_FINDINGS],
        "severities": {
            severity: sum(one.finding.severity == severity for one in data.findings) for severity in SEVERITIES
        },
        "bars": charts,
        "lengths": length_charts(release.statistics),
        "card": render_card(card) if card else "",
        "standings": version_standings(definition, built),
    }


def _read_card(release_dir: Path) -> str:
    path = release_dir / CARD
    if not path.is_file():
        return ""
    return limits.read_at_most(path, limits.MAX_CARD).decode("utf-8", "replace")


def _positives_chart(split: str, positives: Mapping[int, int]) -> BarChart:
    counts: dict[str, int] = {}
    for number, queries in positives.items():
        name = str(number) if number <= MAX_POSITIVES else f"more than {MAX_POSITIVES}"
        counts[name] = counts.get(name, 0) + queries
    return bar_chart("positives of a query", split, counts, sum(counts.values()), by_size=False)


def _finding_values(one: FindingData) -> dict[str, Any]:
    return {
        "kind": one.finding.kind,
        "config": one.finding.config,
        "split": one.finding.split,
        "columns": one.columns,
        "list": asdict(one.list) if one.list else None,
        "texts": [one.finding.column] if one.finding.column else [],
    }


def _figure(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return markdown.number(value)
