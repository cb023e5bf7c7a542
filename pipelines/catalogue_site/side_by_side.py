"""The data of the page that shows two releases side by side: a classic script for each release.

A script is one call, `site_push("release-0003",{"sections":...,"shared":...})`. A section is the names and values that the page
shows, in their order. `shared` has the texts of the release that a release with a higher number has too, by that number.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from cards.front_matter import language
from cards.kinds import kind_name
from cards.markdown import percent
from cards.scores import BASELINES
from pipelines.catalogue_pages.results import location
from pipelines.catalogue_site.lists import as_json
from pipelines.catalogue_site.pages import judgement, shown_figures
from pipelines.catalogue_site.release_data import ReleaseData
from pipelines.catalogue_site.text_index import TextIndex
from pipelines.release.comparison import release_figures
from pipelines.release.folder import read_scores


def write_sides(folder: Path, releases: Sequence[ReleaseData], index: TextIndex) -> None:
    """Write the scripts of all releases without damage into a new folder."""
    folder.mkdir()
    for number, data in enumerate(releases):
        if not data.problems:
            shared = {
                other: {"texts": found.texts, "long": found.long, "examples": [rows for _, *rows in found.examples]}
                for (one, other), found in sorted(index.shared.items())
                if one == number
            }
            key = f"release-{number:04d}"
            values = as_json(
                {"sections": _sections(data), "shared": {str(other): one for other, one in shared.items()}}
            )
            (folder / f"{key}.js").write_bytes(b'site_push("%b",%b);\n' % (key.encode(), values))


def _sections(data: ReleaseData) -> Mapping[str, Mapping[str, str]]:
    """The values of a release by their names, by the title of their section."""
    manifest, dataset = data.release.manifest, data.release.definition.dataset
    judged, scores = judgement(data), read_scores(data.release.release_dir)
    facts = {
        "task": dataset.task.type.name,
        "languages": ", ".join(language(code)[1] for code in dataset.languages),
        "licence": data.release.definition.license,
        "built from": judged["status"],
        "problems": judged["verdict"],
        "notes": dataset.versions[manifest.version].notes,
        **{f"rows: {table.config} / {table.split}": f"{table.rows:,}" for table in manifest.tables},
    }
    results = dict[str, str]()
    if scores:
        for baseline in scores.baselines:
            name = f"{BASELINES.get(baseline.name, baseline.name)} (reads: {baseline.reads}, labels: {baseline.labels})"
            results[f"{scores.metric}, {scores.split}: {name}"] = f"{baseline.score:.1f}"
        results |= {f"{model.metric}: {model.model} on {model.task}": f"{model.score:.1f}" for model in scores.models}
    findings = dict[str, str]()
    for finding in (each.finding for each in data.findings):
        name = f"{kind_name(finding.kind)} in {location(finding) or 'all'}{f': {finding.detail}' if finding.detail else ''}"
        findings[name] = f"{finding.count_text} ({percent(finding.share)})"
    figures = [(name, value, None) for name, value in release_figures(data.release.release_dir).items()]
    statistics = {name: value for name, value, _ in shown_figures(figures, ("statistics",))}
    return {"Facts": facts, "Findings": findings, "Scores": results, "Statistics": statistics}
