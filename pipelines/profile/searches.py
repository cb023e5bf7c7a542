"""Damage that is learned: what a simple model of the texts says of labels, splits, the order of rows, groups and single texts.

The model is TF-IDF of words and character trigrams with one logistic regression a label. It learns from the first split; what it
says of that split's own rows comes from five folds, with connected rows in one fold. At most MOST rows of a split are looked at,
and fewer where texts are long or labels many: whole groups of connected rows, in the order of the hashes of their keys.

Nothing is claimed without a margin: 95 % intervals that do not overlap, or a permutation test that is corrected for all questions
of a dataset. The same rows give the same findings on every machine: one thread, models that have converged, folds by hashes,
permutations with fixed keys. Call pipelines.scores.results.require_packages before this module is imported.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import polars as pl
from scipy.optimize import linear_sum_assignment
from scipy.sparse import hstack
from scipy.stats import rankdata
from threadpoolctl import threadpool_limits

from builders import tasks
from cards.kinds import FAR_DEVIATIONS, KINDS, MAX_PERIOD, MIN_DISAGREEMENT, MIN_LABEL_ROWS
from cards.manifest import Finding
from cards.scores import metric_name
from pipelines.audit.findings import (
    EXAMPLES,
    NOTE_COLUMNS,
    FindingRows,
    list_rows,
    table_finding,
    with_examples,
    without_rows,
)
from pipelines.audit.shortcuts import NO_LABEL, row_labels
from pipelines.audit.tables import Frames, available_splits
from pipelines.process.stages import stage
from pipelines.scores.classification import connect_texts
from pipelines.scores.folds import Part, Plan, Rows, connect, plan_folds
from pipelines.scores.permutations import (
    ALPHA,
    LEAST,
    PERMUTATIONS,
    claim_shortcuts,
    correct,
    interval_of_mean,
    learned_question,
    limit_to_components,
    permute,
)
from pipelines.scores.results import Judged, Question, Values, percent
from pipelines.scores.text_models import (
    DIGITS,
    count_letters,
    count_terms,
    fold,
    predict_label_odds,
    predict_out_of_fold,
    shared_letters,
    standardize,
    weigh_terms,
)

LISTED = 100  # rows of a finding, for programs
MOST = 10_000  # rows of a split
WORK = 20_000_000  # characters times labels of a split: about a minute
MAX_GROUPS = 20  # values of a column that divides the rows into groups
INVERTED = 0.15  # labels of pairs that fall with what both sides share as strongly as this may be inverted
LAGS = (1, -1, 2, -2, 3, -3)  # rows that labels may have moved
WEAK = 0.3  # from chance to always right: below that, labels may be shifted
MAX_SPREAD = 2.25  # between the variances of the scores of two splits
FAR_RANKS = 2.0  # standard deviations between the ranks of a score and of a similarity, for a pair to be listed
MIN_SUREST = 50  # rows in the surest tenth of a split
MAX_CONTRADICTED = 0.15  # of these: a model that is wrong there more often cannot judge labels
INFORMED = 0.75  # their contradictions, by those of all rows: above that the model knows nothing
PLATEAU = 2.5  # times as many contradictions in the next two tenths: above that, they are errors of the model
MAX_MARGIN = 15.0  # the logarithm of how much likelier a label is: more is shown as this
MAX_FAR = 0.01  # of the texts: more of them are not outliers but a part of the data
MAX_SIMILARITY = 0.5  # of an outlier and any other text: the cosine of the TF-IDF of their trigrams
ORDERED = 2_000  # rows of a split whose numbers are asked for their labels


@dataclass(frozen=True)
class Examined:
    """The rows of a split that are looked at.

    rows: their positions in the table. texts, components: one a row. groups: columns that divide the rows: the table's own with
    few values, quarters by length, and the script. all_labels: of all rows of the table, a column for each label with 1 or 0, or
    one with the scores. names: of the labels, none for pairs. similarity: of pairs, the share of trigrams in both sides, else 0.
    """

    split: str
    rows: Rows
    texts: list[str]
    components: list[str]
    groups: pl.DataFrame
    all_labels: Values
    names: list[str]
    similarity: Values

    def labels(self, lag: int = 0) -> Values:
        """The labels of the rows so many further down; beyond the ends of the table those of its last or first row."""
        return self.all_labels[np.clip(self.rows + lag, 0, len(self.all_labels) - 1)]


@dataclass(frozen=True)
class View:
    """How the labels of a split look to the model.

    own: a value a row; their mean is the score of the split. moved, other: the same as they would be without a damage, by its
    name. margin: how much likelier the likeliest labels of a row are than the given ones, above 0 where they differ. certainty:
    how likely they are. Both are logarithms. notes: columns that are listed beside the rows.
    """

    examined: Examined
    own: Values
    moved: Mapping[str, Values]
    other: Mapping[str, Values]
    margin: Values
    certainty: Values
    notes: pl.DataFrame

    def find(self, kind: str, rows: Rows, detail: str) -> FindingRows:
        """A finding about rows, by their places among those that were looked at; those with the largest margin first."""
        rows = rows[np.argsort(-self.margin[rows], kind="stable")]
        share, positions = len(rows) / len(self.own), pl.Series("position", self.examined.rows[rows], pl.UInt32)
        finding = Finding(
            kind, KINDS[kind].severity, "default", self.examined.split, "", len(rows), share, detail=detail
        )
        return FindingRows(finding, self.notes[rows].insert_column(0, positions).lazy())

    def measure(self, values: Values) -> tuple[float, float, float]:
        """The mean of a value a row, and its 95 % interval."""
        return float(values.mean()), *interval_of_mean(self.examined.components, values)


def profile_tables(task: tasks.Task, frames: Frames, *, listed: int = EXAMPLES) -> tuple[list[FindingRows], list[str]]:
    """What is learned from the rows of a dataset: findings, the most certain rows of each first, and a sentence on each split.

    frames: its tables by config and split, without defects. listed: how many rows of a finding are examples.
    """
    if not task.type.label:
        return [], [f"profile: nothing is learned from {task.type.name}, which has no labels"]
    with threadpool_limits(1), stage("profile"):
        splits, single = _read_splits(task, frames), not isinstance(task, tasks.MultilabelClassification)
        graded = isinstance(task, tasks.STS)
        if graded or isinstance(task, tasks.PairClassification):
            views = [_view_pairs(examined, graded=graded) for examined in splits]
        else:
            predicted = _predict_labels(splits) if splits else []
            views = [_view_labels(splits, number, odds, single=single) for number, odds in enumerate(predicted)]
        if not views:
            return [], ["profile: nothing is learned: too few rows with different labels"]
        found, notes = find_disagreements(views, graded=graded)
        disagreeing, first = {disagreement.finding.split for disagreement in found}, views[0].examined.split
        sound = [view for view in views if view.examined.names and not disagreeing & {first, view.examined.split}]
        found += find_doubtful_labels(sound) + find_weak_groups(sound) + find_order(views) + find_outliers(views)
    return [_name_rows(found_rows, listed) for found_rows in with_examples(found, frames)], notes


def _name_rows(found: FindingRows, listed: int) -> FindingRows:
    """The finding with its first rows as examples, each with what is said of it: `row 5 (12.3): joy -> anger`."""
    examples, rows = list[str](), list_rows(found, listed)
    for row in rows.iter_rows(named=True):
        *labels, number = (str(row[name]) for name in NOTE_COLUMNS if name in rows.columns)
        examples.append(": ".join(filter(None, (f"{row['row']} ({number})", " -> ".join(labels)))))
    return replace(found, finding=replace(found.finding, examples=tuple(examples)))


def _read_splits(task: tasks.Task, frames: Frames) -> list[Examined]:
    """The rows of texts with labels, or of pairs, of the splits that have enough groups of connected rows.

    Labels that few rows of the first split have, or all but few, are left out, and rows that have no other label.
    """
    names, [layout] = list[str](), task.type.layouts
    tables = {split: frames["default"][split].collect(engine="streaming") for split in available_splits(task, frames)}
    labels = {split: table[task.type.label].alias("label").to_frame() for split, table in tables.items()}
    has_label = [pl.col("label")]
    if len(layout.text) == 1:
        labels = {split: row_labels(task, own["label"]).alias("label").to_frame() for split, own in labels.items()}
        first = next(iter(labels.values()))
        counts = first.explode("label").group_by("label").len("rows").filter(pl.col("label") != NO_LABEL).sort("label")
        is_common = pl.col("rows").is_between(MIN_LABEL_ROWS, first.height - MIN_LABEL_ROWS)
        names = counts.filter(is_common)["label"].to_list()
        has_label = [pl.col("label").list.contains(name).alias(name) for name in names]
        if len(names) <= isinstance(task, tasks.Classification | tasks.Clustering):
            return []
    values = {split: own.select(has_label).cast(pl.Float64).to_numpy() for split, own in labels.items()}
    splits = [_examine(task, split, table, values[split], names) for split, table in tables.items()]
    least = min(2, len(names))  # labels with enough rows
    return [
        examined
        for examined in splits
        if len(set(examined.components)) >= LEAST and (examined.labels().sum(axis=0) >= MIN_LABEL_ROWS).sum() >= least
    ]


def _examine(task: tasks.Task, split: str, table: pl.DataFrame, labels: Values, names: list[str]) -> Examined:
    [layout] = task.type.layouts
    texts = table.select(text=pl.concat_str(layout.text, separator=" "))["text"]
    sides = [fold(table[side]) for side in layout.text] if len(layout.text) > 1 else []
    components = connect(*sides) if sides else connect_texts(texts.to_list())
    work = max(texts.str.len_chars().sum(), 1) * max(labels.shape[1], 1)
    rows = limit_to_components(components, min(MOST, WORK * len(texts) // work))
    if not sides and not isinstance(task, tasks.MultilabelClassification):
        rows = rows[labels[rows].any(axis=1)]
    texts, own = texts.gather(rows), table[rows].drop(layout.columns, "id", strict=False)
    few = [values.cast(pl.String) for values in own if values.n_unique() <= MAX_GROUPS and not values.dtype.is_nested()]
    quarter = (texts.str.len_chars().rank("min") * 4 / (len(texts) + 1)).floor().cast(pl.Int8) + 1
    cyrillic = texts.str.count_matches(r"\p{Cyrillic}") > texts.str.count_matches(r"\p{Latin}")
    groups = pl.DataFrame([*few, quarter.alias("quarter by length"), cyrillic.alias("mostly Cyrillic letters")])
    similarity = shared_letters(*([side[row] for row in rows] for side in sides)) if sides else np.zeros(len(rows))
    components = [components[row] for row in rows]
    return Examined(split, rows, texts.to_list(), components, groups, labels, names, similarity)


def _predict_labels(splits: Sequence[Examined], lag: int = 0) -> list[Values]:
    """The odds of each label for the rows of each split, as logarithms. lag: learn the labels of rows so many further down."""
    texts = [text for examined in splits for text in examined.texts]
    counts = hstack([count_terms(texts), count_letters(texts)], format="csr")
    given = np.vstack([examined.labels(lag) for examined in splits]).astype(np.int64)
    ends = np.cumsum([len(examined.texts) for examined in splits])
    parts = plan_folds(splits[0].components, splits[0].texts).parts
    if len(splits) > 1:
        parts += (Part(np.arange(ends[0]), np.arange(ends[0], ends[-1])),)
    odds = predict_out_of_fold(counts, given, Plan(parts), weigh_terms, predict_label_odds, columns=given.shape[1:])
    return np.split(odds, ends[:-1])


def choose_labels(odds: Values, *, single: bool) -> Values:
    """The likeliest labels of each row, 1 or 0: the one with the highest odds, or all with odds above 0."""
    return np.eye(odds.shape[1])[odds.argmax(axis=1)] if single else (odds > 0).astype(np.float64)


def credit(chosen: Values, given: Values, *, single: bool) -> Values:
    """A value a row whose mean is the balanced accuracy: how often a label is right, averaged over the labels.

    Of several labels a row, each label and its absence count. Labels on few rows are left out.
    """
    if not single:
        chosen, given = (np.hstack([labels, 1 - labels]) for labels in (chosen, given))
    rows = given.sum(axis=0)
    kept = rows >= MIN_LABEL_ROWS
    values: Values = (chosen * given)[:, kept] @ (len(given) / max(kept.sum(), 1) / rows[kept])
    return values


def _view_labels(splits: Sequence[Examined], number: int, odds: Values, *, single: bool) -> View:
    """The view of a split. odds: of each label, a row each, as logarithms."""
    examined, names = splits[number], np.array(splits[0].names)
    shares = splits[0].labels().mean(axis=0).clip(0.001, 0.999)
    usual = np.log(shares / (1 - shares))  # the odds of a label if nothing is known of the text
    given, likelier, chosen = examined.labels(), *(choose_labels(some, single=single) for some in (odds, odds - usual))
    own, moved, other = credit(chosen, given, single=single), dict[str, Values](), dict[str, Values]()
    chance = 1 / len(names) if single else 0.5
    if number:
        moved = {_moved(lag): credit(chosen, examined.labels(lag), single=single) for lag in LAGS}
        agreement = given.T @ chosen / np.maximum(given.sum(axis=0), 1)[:, np.newaxis] - chosen.mean(axis=0)
        meant = linear_sum_assignment(agreement, maximize=True)[1]
        pairs = ", ".join(f"{names[old]} -> {names[new]}" for old, new in enumerate(meant) if old != new)
        permuted = given[:, np.argsort(meant)]
        other = {f"labels look permuted (given -> meant): {pairs}": credit(chosen, permuted, single=single)}
    elif own.mean() < chance + WEAK * (1 - chance):
        for lag in LAGS[:2]:
            chosen = choose_labels(_predict_labels([examined], lag)[0] - usual, single=single)
            moved[_moved(lag)] = credit(chosen, examined.labels(lag), single=single)
    likely, own_likely = (-np.logaddexp(0, odds * (1 - 2 * labels)).sum(axis=1) for labels in (likelier, given))
    margin = np.round(likely - own_likely, DIGITS)
    words = [[", ".join(names[row > 0]) or NO_LABEL for row in labels] for labels in (given, likelier)]
    times = np.exp(np.minimum(margin, MAX_MARGIN)).round(1)
    notes = pl.DataFrame({"given label": words[0], "likelier label": words[1], "times likelier": times})
    return View(examined, own, moved, other, margin, np.round(likely, DIGITS), notes)


def _moved(lag: int) -> str:
    """Rows below have the labels of a row if these have moved down."""
    return f"labels look shifted {'down' if lag > 0 else 'up'} by {abs(lag)} row{'s' if abs(lag) > 1 else ''}"


def _view_pairs(examined: Examined, *, graded: bool) -> View:
    """The view of pairs, whose scores rise with the share of common trigrams. graded: they are scores, not labels.

    The mean product of ranks with mean 0 and deviation 1 is Spearman's correlation. What is added to the products has the
    mean 0: with it their spread is that of the correlation.
    """
    lagged = [examined.labels(lag)[:, 0] for lag in (0, *LAGS)]
    ranks = rankdata([examined.similarity, *lagged], axis=1) - (len(examined.rows) + 1) / 2
    ranks /= np.maximum(ranks.std(axis=1, keepdims=True), 10.0**-DIGITS)
    correlations = (ranks[0] * ranks[1:]).mean(axis=1, keepdims=True)
    own, *others = ranks[0] * ranks[1:] + correlations * (1 - (ranks[0] ** 2 + ranks[1:] ** 2) / 2)
    inverted, far = {"labels look inverted": -own}, np.abs(ranks[0] - ranks[1])
    moved = {_moved(lag): other for lag, other in zip(LAGS, others, strict=True)}
    moved |= inverted if graded or own.mean() <= -INVERTED else {}
    return View(examined, own, moved, inverted, far - FAR_RANKS, far, pl.DataFrame({"rank deviations": far.round(1)}))


def find_disagreements(views: Sequence[View], *, graded: bool) -> tuple[list[FindingRows], list[str]]:
    """Splits on which the model does far worse than on the first one, or would do far better without a damage; and all scores.

    What has moved is claimed by itself, another damage only of a score that is far below that of the first split (of pairs, of
    which nothing is learned, of the best one). graded: the labels are scores, so that those of two splits are spread alike.
    """
    findings, notes = list[FindingRows](), list[str]()
    best_view = views[0] if views[0].examined.names else max(views, key=lambda view: view.own.mean())
    reference = best_view.measure(best_view.own)
    usual = max(float(views[0].examined.labels().var()), 10.0**-DIGITS)
    what = "balanced accuracy" if views[0].examined.names else "correlation of labels with common trigrams"
    for view in views:
        labels, candidates, (score, low, high) = view.examined.labels(), dict(view.moved), view.measure(view.own)
        looked_at = f"{len(labels):,} of {len(view.examined.all_labels):,} {view.examined.split} rows looked at"
        compared = "" if view is best_view else f", {_show(*reference)} on {best_view.examined.split}"
        notes.append(f"{looked_at}: {what} {_show(score, low, high)}{compared}")
        least, reason = score + MIN_DISAGREEMENT * (1 if view.examined.names else 2), ""
        if high < reference[1] and reference[0] >= least:
            candidates |= view.other
            least, reason = max(least, (score + reference[0]) / 2), "no shift or permutation explains it"
        name = max(candidates, key=lambda name: candidates[name].mean(), default="")
        if name and candidates[name].mean() >= least and (best := view.measure(candidates[name]))[1] > high:
            reason = f"{name}, without which it is {_show(*best)}"
        spread = view.measure((labels[:, 0] - labels.mean()) ** 2 / usual)
        if graded and (spread[1] > MAX_SPREAD or spread[2] < 1 / MAX_SPREAD):
            reason = f"scores look like those of another scale, {spread[0] ** 0.5:.2f} times as wide"
        if reason:
            findings.append(view.find("split_disagrees", np.flatnonzero(view.margin > 0), f"{notes[-1]}; {reason}"))
            if view is views[0] and view.examined.names:
                break  # a model that learned wrong labels says nothing of other splits
    return findings, notes


def _show(*values: float) -> str:
    return "{} ({} to {})".format(*map(percent, values))


def find_doubtful_labels(views: Sequence[View]) -> list[FindingRows]:
    """Rows whose labels the model contradicts where it is sure of itself.

    How often are labels wrong in the tenth of the rows that the model is surest of? Labels that are wrong at random are so in the
    next two tenths too; errors of the model are several times as frequent there. In the first case as many rows are listed as are
    likely to be wrong in all, else those of the surest tenth alone.
    """
    findings = []
    for view in views:
        surest, contradicted = np.argsort(-view.certainty, kind="stable"), (view.margin > 0).astype(np.float64)
        size = len(surest) // 10
        tenth, next_tenths = surest[:size], surest[size : 3 * size]
        if size < MIN_SUREST:
            continue
        wrong = float(contradicted[tenth].mean())
        low, high = interval_of_mean([view.examined.components[row] for row in tenth], contradicted[tenth])
        if 0 < low < MAX_CONTRADICTED and high < INFORMED * contradicted.mean():
            rows, follows = tenth[contradicted[tenth] > 0], "these are listed, and of other rows nothing follows"
            if PLATEAU * wrong > contradicted[next_tenths].mean():
                rows = np.argsort(-view.margin, kind="stable")[: int(wrong * len(surest))]
                follows = "about as many in the next two tenths, so of all labels about as many may be wrong"
            shares = _show(wrong, low, high)
            detail = (
                f"the model contradicts {shares} of 100 labels in the tenth of the rows that it is surest of; {follows}"
            )
            findings.append(view.find("label_doubtful", rows, detail))
    return findings


def find_order(views: Sequence[View]) -> list[FindingRows]:
    """Splits in which the remainders of the number of a row tell its label; blocks of equal labels leave none."""
    findings = []
    for claim in claim_shortcuts([_ask_order(view.examined) for view in views]):
        score = f"{claim.score:.1f} ({claim.low:.1f} to {claim.high:.1f}), chance is {claim.chance:.1f}"
        detail = f"{metric_name(claim.metric)} {score}; p = {claim.p:.4f}, corrected"
        findings.append(without_rows(table_finding("order_tells_label", "default", claim.baseline, detail=detail)))
    return findings


def _ask_order(examined: Examined) -> Question:
    """A linear model of the remainders, which learns from four fifths of some rows."""
    rows = limit_to_components(examined.components, ORDERED)
    labels = examined.labels()[rows]
    classes = np.unique(labels, axis=0, return_inverse=True)[1].reshape(-1).astype(np.float64)
    metric = "auc" if classes.max() == 1 else "accuracy" if examined.names else "cosine_spearman"
    targets = labels[:, 0] if metric == "cosine_spearman" else classes
    remainders = [examined.rows[rows] % period == rest for period in range(2, MAX_PERIOD + 1) for rest in range(period)]
    own = ([column[row] for row in rows] for column in (examined.components, examined.texts))
    features = np.stack(remainders, axis=1).astype(np.float64)
    return learned_question(examined.split, Judged(metric, targets, *own), features, standardize)


def find_outliers(views: Sequence[View]) -> list[FindingRows]:
    """Texts of character trigrams that hardly any other text has, unless another text is like them.

    A text is as rare as its trigrams are on average: each by the logarithm of the share of other texts that have it.
    """
    findings, ends = list[FindingRows](), np.cumsum([0, *(len(view.own) for view in views)])
    letters = count_letters([text for view in views for text in view.examined.texts])
    rarity = np.log(letters.shape[0] / np.maximum(letters.getnnz(axis=0) - 1, 0.5))
    rarity = letters @ rarity / np.maximum(np.asarray(letters.sum(axis=1)).ravel(), 1)
    rarity -= np.median(rarity)
    rarity = np.round(rarity / max(float(np.median(np.abs(rarity))), 10.0**-DIGITS), 1)
    far = np.flatnonzero(rarity > FAR_DEVIATIONS)
    far = far if len(far) <= MAX_FAR * len(rarity) else far[:0]
    weights = weigh_terms(letters, letters[:1])[0]
    similar = (weights[far] @ weights.T).toarray()
    similar[np.arange(len(far)), far] = 0
    far = far[similar.max(axis=1, initial=0) < MAX_SIMILARITY]
    for view, (start, end) in zip(views, pairwise(ends), strict=True):
        if len(rows := far[(start <= far) & (far < end)]):
            detail = f"rarer than usual by {rarity[rows].min()} median deviations or more"
            own = replace(view, margin=rarity[start:end], notes=pl.DataFrame({"median deviations": rarity[start:end]}))
            findings.append(own.find("outlier_text", rows - start, detail))
    return findings


def find_weak_groups(views: Sequence[View]) -> list[FindingRows]:
    """Groups of rows in which the model is wrong far more often than in the others with the same labels.

    In the permutations, right and wrong answers of whole groups of connected rows change places.
    """
    asked = list[tuple[View, str, Rows, float, float]]()
    for view in views:
        right, groups = (view.margin <= 0).astype(np.float64), view.examined.groups.to_dummies(separator=" ")
        sets = np.unique(view.examined.labels(), axis=0, return_inverse=True)[1].reshape(-1)
        excess = right - (np.bincount(sets, right) / np.bincount(sets))[sets]
        most = len(right) - MIN_LABEL_ROWS
        groups = groups.select(group.name for group in groups if MIN_LABEL_ROWS <= group.sum() <= most)
        inside = groups.to_numpy().astype(np.float64)
        weights = inside / inside.sum(axis=0) - (1 - inside) / (1 - inside).sum(axis=0)
        numbers, gaps = np.unique(view.examined.components, return_inverse=True)[1], np.round(excess @ weights, DIGITS)
        null = np.array([excess[permutation] @ weights for permutation in permute(numbers, PERMUTATIONS)])
        p = (1 + (np.round(null, DIGITS) <= gaps).sum(axis=0)) / (1 + PERMUTATIONS)
        rows = [np.flatnonzero(group) for group in inside.T]
        asked += zip([view] * len(rows), groups.columns, rows, -gaps, p, strict=True)
    corrected = correct([p for *_, p in asked])
    words = "points fewer right answers than elsewhere with the same labels; p ="
    return [
        view.find("weak_group", rows, f"{name}: {percent(gap)} {words} {p:.4f}, corrected")
        for (view, name, rows, gap, _), p in zip(asked, corrected, strict=True)
        if p < ALPHA and gap >= MIN_DISAGREEMENT
    ]
