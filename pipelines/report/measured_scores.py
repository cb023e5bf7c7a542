"""The scores of all releases that were built from complete real files: the page docs/scores.md.

measured_scores.json holds their scores.json files, because nobody has all raw files at hand when the page is written.

    python -m pipelines.report.measured_scores outputs/           record the scores of the releases below a folder
    python -m pipelines.report.measured_scores > docs/scores.md   write the page
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from builders.spec import version_key
from cards.score_section import describe_shortcut, headroom, metric_name
from cards.scores import BASELINES, Scores
from pipelines.files import write_atomically
from pipelines.release import folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MEASURED = Path(__file__).with_name("measured_scores.json")
NONE = "–"
HEAD = """\
# Scores

What baselines and models score on the datasets that were built here from their complete real files, times 100, in the main score
of each task. This page is generated from `pipelines/report/measured_scores.json`; the scores of one release are in its
`scores.json` and on its card: `embedding-datasets score NAME`.

A **baseline** understands nothing: it guesses, counts words, or reads one side of a pair. The **best baseline** is the best of
those that see no more labels than a model does. **Headroom** is the best model minus the best baseline, in points: where it is
small or below zero, the score of a model says little about what the dataset is meant to measure. A **shortcut** is a baseline
that reads less than the task asks for, and is far above chance all the same.
"""


def read_measured() -> list[Scores]:
    """All recorded scores, by dataset, the oldest version first."""
    recorded = msgspec.json.decode(MEASURED.read_bytes(), type=list[Scores])
    return sorted(recorded, key=lambda one: (one.dataset, version_key(one.version)))


def record_scores_below(releases: Path) -> int:
    """Record the scores of all complete releases below a folder of releases, instead of those recorded; returns how many.

    Scores recorded before stay where the folder has none for the version.
    """
    scores = {(one.dataset, one.version): one for one in read_measured()} if MEASURED.exists() else {}
    found = 0
    for path in sorted(releases.glob(f"*/*/{folder.SCORES}")):
        manifest, present = folder.read_manifest(path.parent), folder.read_scores(path.parent)
        if manifest and present and manifest.complete and present.content_sha256 == manifest.content_sha256:
            scores[present.dataset, present.version] = present
            found += 1
    ordered = sorted(scores.values(), key=lambda one: (one.dataset, version_key(one.version)))
    text = json.dumps([asdict(one) for one in ordered], ensure_ascii=False, indent=1)
    write_atomically(MEASURED, f"{text}\n".encode())
    return found


def render_page(measured: Sequence[Scores]) -> str:
    """The page docs/scores.md, in Markdown."""
    newest = {one.dataset: one for one in measured}
    models = sorted({model.model for one in measured for model in one.models})
    return "\n".join(
        [
            HEAD,
            *_overview(newest.values(), models),
            "",
            *_versions(measured, models),
            "",
            *_published(measured),
            "",
            *_shortcuts(newest.values()),
            "",
            *_baselines(measured),
            "",
        ]
    )


def _overview(scores: Iterable[Scores], models: Sequence[str]) -> list[str]:
    lines = [
        "## Sorted by headroom",
        "",
        "Newest versions. Those without a model come last.",
        "",
        f"| dataset | metric | chance | best baseline | {' | '.join(models)} | headroom | shortcuts |",
        f"| --- | --- | ---: | --- | {' | '.join(['---:'] * len(models))} | ---: | ---: |",
    ]
    for one in sorted(scores, key=_by_headroom):
        best = one.best_baseline
        cells = [
            f"{one.dataset} {one.version}",
            metric_name(one.metric),
            NONE if one.chance is None else f"{one.chance:.1f}",
            NONE if best is None else f"{best.score:.1f} {best.name}",
            *_model_scores(one, models),
            NONE if (points := headroom(one)) is None else f"{points:+.1f}",
            str(len(one.shortcuts)),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _by_headroom(scores: Scores) -> tuple[float, str]:
    points = headroom(scores)
    return (float("inf") if points is None else -points), scores.dataset


def _model_scores(scores: Scores, models: Sequence[str]) -> list[str]:
    by_name = {one.model: f"{one.score:.2f}" for one in scores.models}
    return [by_name.get(model, NONE) for model in models]


def _versions(measured: Sequence[Scores], models: Sequence[str]) -> list[str]:
    """What cleaning does to the scores: all versions of the datasets that have several."""
    several = [one for one in measured if sum(other.dataset == one.dataset for other in measured) > 1]
    lines = [
        "## From version to version",
        "",
        "Version 1.0.0 rebuilds the published data; later ones correct them. The difference is what cleaning does to a score.",
        "",
        f"| dataset | metric | best baseline | {' | '.join(models)} |",
        f"| --- | --- | --- | {' | '.join(['---:'] * len(models))} |",
    ]
    for one in several:
        best = one.best_baseline
        cells = [
            f"{one.dataset} {one.version}",
            metric_name(one.metric),
            NONE if best is None else f"{best.score:.1f} {best.name}",
            *_model_scores(one, models),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _published(measured: Sequence[Scores]) -> list[str]:
    lines = [
        "## Beside published scores",
        "",
        "| dataset | model | metric | published | here | difference |",
        "| --- | --- | --- | ---: | ---: | ---: |",
    ]
    for one in measured:
        for model in one.models:
            if (published := model.published) is None:
                continue
            ours = model.score if model.same_metric is None else model.same_metric
            lines.append(
                f"| {one.dataset} {one.version} | {model.model}; published: {published.model} |"
                f" {metric_name(published.metric)} | {published.score:.2f} | {ours:.2f} | {ours - published.score:+.2f} |"
            )
    sources = sorted({model.published.source for one in measured for model in one.models if model.published})
    return [*lines, "", f"Published in: {'; '.join(sources)}."] if sources else [*lines, "", "None yet."]


def _shortcuts(scores: Iterable[Scores]) -> list[str]:
    lines = ["## Shortcuts", ""]
    found = [
        f"- {one.dataset} {one.version}: {describe_shortcut(shortcut)}" for one in scores for shortcut in one.shortcuts
    ]
    return lines + (found or ["None were found."])


def _baselines(measured: Sequence[Scores]) -> list[str]:
    """All baselines of all versions, a line each version; then what their names mean."""
    lines = ["## All baselines", "", "| dataset | scores |", "| --- | --- |"]
    for one in measured:
        ordered = sorted(one.baselines, key=lambda baseline: -baseline.score)
        texts = [f"{baseline.name} {baseline.score:.1f}" for baseline in ordered]
        lines.append(f"| {one.dataset} {one.version} | {', '.join(texts) or NONE} |")
    used = {baseline.name for one in measured for baseline in one.baselines}
    return [*lines, "", *(f"- `{name}`: {meaning}" for name, meaning in BASELINES.items() if name in used)]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(f"{record_scores_below(Path(sys.argv[1]))} releases recorded")
    else:
        print(render_page(read_measured()), end="")
