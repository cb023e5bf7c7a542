"""The pages of the site: the findings of all datasets, the catalogue, and the pages of a dataset and of its versions.

They are values for a template, which draws them as SVG: nothing here is markup.
"""

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from builders import limits, tasks
from builders.benchmarks import BENCHMARKS, datasets_of_tasks
from builders.catalogue import Definition
from builders.licenses import describe_license, permitted_uses
from builders.spec import TRAINING, version_key
from builders.tasks import Task
from cards import markdown
from cards.columns import label_name
from cards.figures import figure_name
from cards.front_matter import SIZES, language, size_category
from cards.kinds import kind_name
from cards.manifest import Manifest
from cards.render import CARDS, ROWS_ARE
from cards.scores import BASELINES, model_lead, summarize_scores
from pipelines.catalogue_pages import paper_tables
from pipelines.catalogue_pages.results import (
    MEASURES,
    Result,
    is_in_ledger,
    location,
    measure_findings,
    read_results,
    result_of,
)
from pipelines.catalogue_site.card_html import render_card
from pipelines.catalogue_site.lists import TableChange, as_json
from pipelines.catalogue_site.release_data import ReleaseData
from pipelines.checking.verdict import NOT_JUDGED, badge
from pipelines.process.files import write_atomically
from pipelines.process.html import html_environment
from pipelines.raw.pins import is_waiting
from pipelines.raw.requests import HUB
from pipelines.release import ledger
from pipelines.release.folder import CARD, read_scores
from pipelines.scores.evaluation import published_headroom

MAX_BARS = 40  # of a chart, the largest ones
QUANTILES = ("p01", "p05", "p25", "p50", "p75", "p95", "p99")
# The figures of texts, by their key in statistics.json, and what the charts call them.
TEXTS = {
    "text_statistics": "texts", "text1_statistics": "sentence1", "text2_statistics": "sentence2",
    "sentence1_statistics": "sentence1", "sentence2_statistics": "sentence2",
    "documents_text_statistics": "documents", "queries_text_statistics": "queries",
}  # fmt: skip


def label_charts(task: Task, statistics: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The shares of labels in each split."""
    charts = []
    for split, values in statistics.items():
        for figures in values.values():
            if isinstance(figures, dict) and isinstance(figures.get("labels"), dict):
                counts = {label_name(task, label): int(value["count"]) for label, value in figures["labels"].items()}
                charts.append(bar_chart("labels", split, counts, int(values.get("num_samples") or 0)))
    return charts


def bar_chart(title: str, split: str, counts: Mapping[str, int], total: int, *, by_size: bool = True) -> dict[str, Any]:
    """Counts of one split as horizontal bars, the largest first unless they have their own order.

    total: what the shares are of. The `size` of a bar is its length, 0 to 1; `omitted` is how many bars are left out.
    """
    ordered = sorted(counts.items(), key=lambda item: -item[1]) if by_size else list(counts.items())
    highest, whole = max(counts.values(), default=0) or 1, total or sum(counts.values()) or 1
    bars = [
        {"name": name, "count": count, "share": count / whole, "size": count / highest}
        for name, count in ordered[:MAX_BARS]
    ]
    return {"title": title, "split": split, "bars": bars, "omitted": len(ordered) - len(bars)}


def length_charts(statistics: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The lengths of the texts in each split, in characters: quantiles, and their `places` on a scale from 0 to 1.

    The same texts of all splits have one scale. It ends at their longest 99th percentile: outliers would squeeze the rest.
    """
    charts = [
        {
            "title": title,
            "split": split,
            "shortest": figures["min_text_length"],
            "longest": figures["max_text_length"],
            "quantiles": {name: int(figures["text_length_quantiles"][name]) for name in QUANTILES},
        }
        for split, values in statistics.items()
        for key, title in TEXTS.items()
        if isinstance(figures := values.get(key), dict)
        and set(QUANTILES) <= set(figures.get("text_length_quantiles") or ())
    ]
    for chart in charts:
        scale = max(other["quantiles"]["p99"] for other in charts if other["title"] == chart["title"]) or 1
        chart["places"] = {name: min(1.0, length / scale) for name, length in chart["quantiles"].items()}
    return charts


TEMPLATES = CARDS / "site"


def write_page(path: Path, template: str, root: str, **values: Any) -> None:
    """Render a template into a page. root: the way from the page's folder to that of the site, such as `../../`."""
    text = _environment().get_template(f"{template}.html.jinja").render(root=root, **values)
    write_atomically(path, text)


def copy_assets(assets_dir: Path) -> None:
    """Copy the styles, the scripts and the picture of all pages."""
    assets_dir.mkdir(parents=True)
    for path in sorted(TEMPLATES.iterdir()):
        if path.suffix in (".css", ".js", ".png"):
            shutil.copyfile(path, assets_dir / path.name)


@cache
def _environment() -> jinja2.Environment:
    environment = html_environment(TEMPLATES)
    environment.filters["json"] = lambda value: Markup(as_json(value).decode())  # noqa: S704 - has no `<`
    environment.filters["kind_name"] = kind_name
    environment.globals.update(address="", docs=False)
    return environment


def set_site(address: str, *, docs: bool) -> None:
    """What all pages of a site have in common.

    address: where it will be on the web, empty where unknown: previews of links load its picture only from a whole address. docs:
    whether the documentation is in `docs/`, to which the pages about all datasets then link.
    """
    _environment().globals.update(address=address and f"{address.rstrip('/')}/", docs=docs)


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
    shared = {"tables": [asdict(table) for table in data.tables], **_viewer_values(data)}
    write_page(folder / "rows.html", "rows", tab="rows", viewer=shared, **page)
    if data.queries:
        queries = [asdict(query) | {"positives": list(query.positives.items())} for query in data.queries]
        viewer = shared | {"queries": queries}
        write_page(folder / "queries.html", "queries", tab="queries", viewer=viewer, queries=data.queries, **page)
    listed = [
        {
            "kind": each.finding.kind,
            "config": each.finding.config,
            "split": each.finding.split,
            "columns": each.columns,
            "list": asdict(each.list) if each.list else None,
            "texts": [each.finding.column] if each.finding.column else [],
        }
        for each in data.findings
    ]
    viewer = shared | {"findings": listed}
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
        for drop in manifest.dropped:
            dropped.setdefault((drop.split, drop.reason), [0, 0])[column] = drop.count
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
        figures=list(shown_figures(figures, ("statistics",))),
        others=list(shown_figures(figures, ("option", "finding"))),
        viewer={"old": before.version, "new": after.version, "changes": listed, **_viewer_values(new)},
        **_common_values(new, versions, older),
    )  # fmt: skip


def shown_figures(figures: Sequence[tuple[str, Any, Any]], groups: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """The figures whose names begin with one of these, old and new value in words."""
    for name, old, new in figures:
        if name.startswith(groups):
            group, split, *path = name.split(" / ")
            in_words = f"{split}: {figure_name(path)}" if group == "statistics" and path else name
            yield in_words, _figure(old), _figure(new)


def version_standings(definition: Definition, built: Mapping[str, str]) -> list[dict[str, Any]]:
    """Where each version of a dataset is: built here, in the ledger, published; the newest first.

    built: the versions with pages, with the content hash of a complete release, or `sample` or `part`.
    """
    standings = []
    for version in sorted(definition.dataset.versions, key=version_key, reverse=True):
        entry = ledger.find_entry(definition.dataset.name, version)
        here = built.get(version, "")
        if here in ("", "sample", "part"):
            waits = is_waiting(definition, version)
            state = here or ("waits for decide" if waits else MISSING)
        elif entry is None:
            state = NOT_RECORDED
        else:
            state = "verified" if entry.content_sha256 == here else "other rows than recorded"
        repos = ledger.find_repositories(definition.dataset.name, version, ledger.LEDGER)
        standings.append(
            {
                "version": version,
                "notes": definition.dataset.versions[version].notes,
                "built": bool(here),
                "state": state,
                "ledger": entry.content_sha256 if entry else "",
                "published": [(repo, f"{HUB}/datasets/{repo}/tree/v{version}") for repo in repos],
            }
        )
    return standings


NOT_RECORDED, MISSING = "not in the ledger", "missing"
STATUS_COLORS = {"verified": "good", "part": "info", "sample": "soft"}  # of a release or a dataset; else a warning
STATUSES = {ledger.VERIFIED: "verified", ledger.PART: "part", ledger.SAMPLE: "sample"}


def release_status(manifest: Manifest) -> str:
    """Which raw files a release is from: `verified` for complete ones, `part`, `sample`, or why it is none of these."""
    if manifest.sample:
        return "sample"
    if is_in_ledger(manifest):
        return "part" if manifest.partial else "verified"
    return NOT_RECORDED if all(file.verified for file in manifest.raw) else "raw files not verified"


def judgement(data: ReleaseData) -> dict[str, Any]:
    """Status and verdict of a release, with their colours."""
    status = release_status(data.release.manifest)
    state, color = badge(data.verdict["state"], sample=status == "sample")  # type: ignore[arg-type]
    return {
        "status": status,
        "status_color": STATUS_COLORS.get(status, "warning"),
        "state": state,
        "verdict": NOT_JUDGED if state == NOT_JUDGED else data.verdict["summary"],
        "color": color,
    }


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
        "summary": definition.dataset.summary,
        "withheld": data.withheld,
        "has_queries": bool(data.queries),
        "finding_count": len(data.findings),
        **judgement(data),
    }


def _viewer_values(data: ReleaseData) -> dict[str, Any]:
    """What every script needs: the names of labels, and the language of the texts, empty where there are several."""
    dataset = data.release.definition.dataset
    codes = [language(code)[0] for code in dataset.languages]
    return {"labels": tasks.label_names(dataset.task), "language": codes[0] if len(codes) == 1 else ""}


def _overview_values(data: ReleaseData, built: Mapping[str, str]) -> dict[str, Any]:
    release, definition = data.release, data.release.definition
    card_path = release.release_dir / CARD
    shows_card = card_path.is_file() and (data.problems or not data.withheld)
    card = limits.read_at_most(card_path, limits.MAX_CARD).decode("utf-8", "replace") if shows_card else ""
    task = definition.dataset.task
    charts = label_charts(task, release.statistics)
    charts += [_positives_chart(query.split, query.positives) for query in data.queries]
    texts = [layout.config for layout in tasks.layouts(task) if layout.text]
    return {
        "licence_means": describe_license(data.release.definition.license),
        "definition": definition,
        "benchmarks": _benchmarks(definition),
        "languages": [language(code)[1] for code in definition.dataset.languages],
        "content": release.manifest.content_sha256,
        "sizes": [
            (
                table.split if table.config in (*ROWS_ARE, "default") else f"{table.config} {table.split}",
                table.rows,
                _noun(table.config, table.rows),
            )
            for table in release.manifest.tables
            if table.config in texts
        ],
        "problems": data.problems,
        "notes": data.notes,
        "findings": [(number, finding_data) for number, finding_data in enumerate(data.findings, 1)][:FIRST_FINDINGS],
        "bars": charts,
        "lengths": length_charts(release.statistics),
        "card": render_card(card) if card else "",
        "standings": version_standings(definition, built),
    }


def _positives_chart(split: str, positives: Mapping[int, int]) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    for number, queries in positives.items():
        counts[str(number) if number <= MAX_POSITIVES else f"more than {MAX_POSITIVES}"] += queries
    return bar_chart("positives of a query", split, counts, counts.total(), by_size=False)


def _figure(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return markdown.number(value)


UNKNOWN_SIZE = "unknown"
FILTERS = {"benchmark": "Benchmark", "task": "Task", "language": "Language", "use": "Use", "status": "Built from"}
CATALOGUE_FILTERS = FILTERS | {"license": "Licence", "size": "Rows", "state": "Problems"}


def write_index(site_dir: Path, datasets: Sequence[tuple[Definition, Sequence[ReleaseData]]]) -> None:
    """Write index.html, the findings, the worst first, and catalogue.html, where datasets with releases come first.

    datasets: each with its releases, the newest first.
    """
    results = read_results()
    rows = [
        _dataset_row(definition, releases, [result for result in results if result.dataset == definition.dataset.name])
        for definition, releases in datasets
    ]
    names = {row["name"]: row for row in rows}
    tables = [
        _benchmark(name, names) for name in paper_tables.NOTES if names.keys() & paper_tables.paper_tasks(name).keys()
    ]
    common = {"built": sum(len(releases) for _, releases in datasets), "benchmarks": _choices("benchmark", rows)}
    listed = sorted(rows, key=lambda row: not row["built"])
    filters = [(key, title, _choices(key, rows)) for key, title in CATALOGUE_FILTERS.items()]
    write_page(site_dir / "catalogue.html", "catalogue", "", rows=listed, filters=filters, tables=tables, **common)
    worst = sorted(rows, key=lambda row: (not row["figures"], -max(row["shares"].values()), row["name"]))
    scales = {name: max(row["shares"][name] for row in rows) for name in MEASURES}
    filters = [choice for choice in filters if choice[0] in FILTERS]
    write_page(site_dir / "index.html", "index", "", rows=worst, filters=filters, scales=scales, **common)


def _choices(key: str, rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    """The values of a filter, with the number of datasets that each has: sizes in their order, others by name."""
    values = [value for row in rows for value in (row[key] if isinstance(row[key], list) else [row[key]])]
    order = [size for size in (*SIZES, UNKNOWN_SIZE) if size in values] if key == "size" else sorted({*values})
    return [(value, values.count(value)) for value in order]


def _dataset_row(definition: Definition, releases: Sequence[ReleaseData], recorded: Sequence[Result]) -> dict[str, Any]:
    dataset = definition.dataset
    standings = version_standings(definition, {data.release.manifest.version: built_mark(data) for data in releases})
    newest = releases[0] if releases else None
    counts = _count_rows(dataset.task, newest, recorded)
    scores = read_scores(newest.release.release_dir) if newest else None
    judged = [data for data in releases if not data.release.manifest.sample and not data.problems]
    figures = _figures(judged, recorded)
    status = release_status(judged[0].release.manifest) if judged else STATUSES[ledger.status(dataset.name)]
    size = UNKNOWN_SIZE if counts is None else size_category(sum(counts.values()))
    return {
        "name": dataset.name,
        "title": dataset.pretty_name,
        "summary": dataset.summary,
        "built": newest is not None,
        "version": newest.release.manifest.version if newest else "",
        "benchmark": _benchmarks(definition),
        "task": dataset.task.type.name,
        "language": [language(code)[1] for code in dataset.languages],
        "license": definition.license,
        "use": list(permitted_uses(definition.license)),
        "rows": None if counts is None else sum(counts.values()),
        "counts": [f"{count:,} {_noun(config, count)}" for config, count in (counts or {}).items()],
        "size": size,
        "scores": "" if scores is None else summarize_scores(scores),
        "lead": None if scores is None else model_lead(scores),
        "standings": standings,
        "figures": figures,
        "shares": {name: max((one[name].share for one in figures if one[name]), default=-1) for name in MEASURES},
        "guess": _guess(judged, recorded),
        **(judgement(newest) if newest else {"state": MISSING, "verdict": MISSING, "color": "soft"}),
        "status": status,
        "status_color": STATUS_COLORS.get(status, "warning"),
    }


def _benchmarks(definition: Definition) -> list[str]:
    """The titles of the benchmarks that a dataset is in."""
    dataset = definition.dataset
    titles = [record.title for name, record in BENCHMARKS.items() if dataset.name in datasets_of_tasks(name)]
    own = dataset.benchmark.title if dataset.benchmark else TRAINING if dataset.group == TRAINING else ""
    return list(dict.fromkeys(filter(None, [own, *titles]))) or ["other"]


def _figures(judged: Sequence[ReleaseData], recorded: Sequence[Result]) -> list[dict[str, Any]]:
    """What was found in the first and the newest version that is known: of releases of the site, else as recorded.

    findings: by kind and place, the number of the first finding on the page of findings; empty for a version without a page.
    """
    versions = {result.version: (result, dict[str, int]()) for result in recorded}
    for data in judged:
        places = [f"{each.finding.kind} {location(each.finding)}" for each in data.findings]
        numbers = {place: places.index(place) + 1 for place in places}
        found = result_of(data.release.manifest, [found.finding for found in data.findings])
        versions[found.version] = found, numbers
    ordered = sorted(versions, key=version_key)
    return [
        {"version": version, "findings": numbers, **measure_findings(result.findings, result.tables)}
        for version in dict.fromkeys([*ordered[:1], *ordered[-1:]])
        for result, numbers in [versions[version]]
    ]


def _guess(judged: Sequence[ReleaseData], recorded: Sequence[Result]) -> dict[str, Any] | None:
    """The best score that needs no understanding, of the newest version with scores, beside that of the best model."""
    known = {result.version: (result.scores, not result.partial) for result in recorded}
    for data in judged:
        own = read_scores(data.release.release_dir)
        known |= {data.release.manifest.version: (own, data.release.manifest.complete)} if own else {}
    paths = {data.release.manifest.version: data.release.path for data in judged if not data.withheld}
    for version in sorted(known, key=version_key, reverse=True):
        scores, complete = known[version]
        if scores and (guess := scores.best_baseline):
            guesses = [(guess.score, guess.name)]
            guesses += [(found.score, found.baseline) for found in scores.shortcuts if found.metric == scores.metric]
            score, name = max(guesses)
            published, model = published_headroom(scores, complete=complete), scores.best_model
            return {
                "version": version,
                "path": paths.get(version),
                "score": score,
                "name": BASELINES.get(name, name),
                "best": (published.score, published.model)
                if published.model
                else (model.score, model.model)
                if model
                else None,
                "best_from": ("measured" if not published.model else "published")
                + (", of other rows" if published.model and published.points is None else ""),
                "shortcuts": len(scores.shortcuts),
            }
    return None


def _noun(config: str, count: int) -> str:
    return ROWS_ARE.get(config, ("row", "rows"))[count != 1]


def _count_rows(task: tasks.Task, newest: ReleaseData | None, recorded: Sequence[Result]) -> dict[str, int] | None:
    """The rows with texts by config, of a release here, else of the newest recorded version, else of a sample; None if unknown.

    Configs of rows alone are one, as the languages of a dataset are.
    """
    sample = newest is None or newest.release.manifest.sample
    tables = recorded[-1].tables if sample and recorded else newest.release.manifest.tables if newest else None
    if tables is None:
        return None
    configs = {layout.config for layout in tasks.layouts(task) if layout.text}
    found = Counter[str]()
    for table in tables:
        found[table.config if table.config in ROWS_ARE else ""] += table.rows if table.config in configs else 0
    return dict(+found)


def _benchmark(name: str, rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The table of a benchmark: its datasets in the order of the paper, with the sizes that the paper, the recipe and we have."""
    entries = [
        {
            "name": dataset,
            "row": rows[dataset],
            "paper": task.size,
            "expected": task.expected,
            "group": task.group,
            "ledger": paper_tables.built_size(dataset),
            "status": ledger.status(dataset),
            "note": task.note,
        }
        for dataset, task in paper_tables.paper_tasks(name).items()
        if dataset in rows  # it may be a site of some datasets only
    ]
    benchmark = BENCHMARKS[name]
    return {
        "name": name,
        "title": benchmark.title,
        "paper": benchmark.paper,
        "notes": paper_tables.NOTES[name],
        "entries": entries,
    }
