"""The scores of a release as a page of text."""

from pathlib import Path

from cards.score_section import LABELS, headroom, metric_name
from cards.scores import BASELINES, ModelScore, Scores, Shortcut
from pipelines.report.tables import WIDTH, table, wrap


def score_page(scores: Scores, state: str, release_dir: Path, *, width: int | None) -> list[str]:
    """All scores of a release, the best first, then what they mean. state: `scored` or `up to date`."""
    rows = [
        (one.score, [one.model, one.weights, "as the task gives", _model_score(one, scores.metric)])
        for one in scores.models
    ]
    rows += [
        (one.score, [one.name, BASELINES.get(one.name, ""), LABELS[one.labels], f"{one.score:.1f}"])
        for one in scores.baselines
    ]
    ordered = [row for _, row in sorted(rows, key=lambda row: -row[0])]
    heading = ["model or baseline", "what it is", "labels seen", metric_name(scores.metric)]
    lines = [f"{scores.dataset} {scores.version}: {state}, {scores.split}, times 100", ""]
    lines += table([heading, *ordered], width=width).splitlines()
    remarks = [_shortcut(one) for one in scores.shortcuts]
    for model in scores.models:
        if (published := model.published) is not None:
            ours = model.score if model.same_metric is None else model.same_metric
            remarks.append(
                f"{model.model}: {ours:.2f} {metric_name(published.metric)}; published for {published.model}:"
                f" {published.score:.2f} ({published.source})"
            )
    if (points := headroom(scores)) is not None and scores.best_baseline is not None:
        best = scores.best_baseline.name
        remarks.append(f"headroom: {points:+.1f} points between the best model and the best baseline ({best})")
    remarks.append(f"written into {release_dir}" if state == "scored" else f"in {release_dir}")
    return [*lines, "", *(line for remark in remarks for line in wrap(remark, width=width or WIDTH))]


def _model_score(model: ModelScore, metric: str) -> str:
    return f"{model.score:.2f}" + ("" if model.metric == metric else f" {metric_name(model.metric)}")


def _shortcut(shortcut: Shortcut) -> str:
    metric = metric_name(shortcut.metric)
    what = BASELINES.get(shortcut.baseline, shortcut.baseline)
    return f"shortcut: {what}: {shortcut.score:.1f} ({metric}), chance is {shortcut.chance:.1f}"
