"""Baselines for classification, in accuracy: with one label a text, and with sets of labels.

Models learn from the train split, or from the first split where there is no train. Where the evaluated split is all there is (of
a partial release), they learn from its other folds. Rows that begin with the same six words are in one fold; of texts with two
sides (pipelines.scores.text_models), rows that share a side, directly or by others (pipelines.scores.folds.connect).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from builders import tasks
from cards.scores import Baseline
from pipelines.process.stages import stage
from pipelines.scores.folds import Part, Plan, connect, plan_folds, sample_few, select_training
from pipelines.scores.metrics import chance_accuracy, mean_area_under_curve
from pipelines.scores.permutations import held_out_question, learned_question, mean_baseline
from pipelines.scores.results import Integers, Judged, Question, Results, Values, make_baseline
from pipelines.scores.text_models import (
    SIDES,
    Sides,
    Weigh,
    count_terms,
    describe_lengths,
    fold,
    predict_by_neighbours,
    predict_centroids,
    predict_classes,
    predict_label_sets,
    predict_out_of_fold,
    shared_letters,
    shared_words,
    split_sides,
    standardize,
    weigh_terms,
)

EXPERIMENTS, FEW = 10, 8  # mteb's protocol: experiments, rows of each label
OPENING_WORDS = 6


@dataclass(frozen=True)
class LabelledTexts:
    """Texts with sets of labels: the rows to learn from, if any, then the evaluated ones.

    labels: the numbers of each row's labels. classes: the number of each row's set of labels, from 0, in ascending order of the
    sets. sets: these. known: the classes of all rows that may be learned from, also those left out because they are too many.
    evaluated: where the evaluated rows begin. plan: who learns from what. components: the
    key of the rows that each is connected with.
    """

    texts: list[str]
    labels: list[tuple[int, ...]]
    classes: Integers
    sets: list[tuple[int, ...]]
    known: Integers
    evaluated: int
    plan: Plan
    sides: Sides | None
    components: list[str]

    @property
    def scored(self) -> Integers:
        """The classes of the evaluated rows."""
        return self.classes[self.evaluated :]


def score_classification(
    task: tasks.Classification | tasks.MultilabelClassification, splits: Mapping[str, pl.LazyFrame], split: str
) -> Results:
    """All baselines. splits: the tables of config `default`, with text and label."""
    data = _read(task, splits, split)
    several = isinstance(task, tasks.MultilabelClassification)
    baselines = [make_baseline("chance", chance_accuracy(data.known.tolist(), data.scored.tolist()))]
    most_frequent = int(np.bincount(data.known).argmax())  # of equally frequent ones the first
    baselines.append(_make_baseline(data, "majority", data.scored == most_frequent))
    with stage("baselines: lengths"):
        texts = data.sides or (pl.Series(data.texts, dtype=pl.String),)
        lengths = np.hstack([describe_lengths(side) for side in texts])
        baselines.append(_score_classes(data, "length", lengths, standardize))
    with stage("baselines: counting terms"):
        counts = count_terms(data.texts)
    with stage("baselines: TF-IDF"):
        baselines.append(_score_sets(data, counts) if several else _score_classes(data, "tfidf", counts, weigh_terms))
    with stage("baselines: TF-IDF of few rows", total=EXPERIMENTS, unit="experiments") as advance:
        baselines.append(_score_few(data, counts, advance, several=several))
    baselines.append(_score_centroids(data, counts))
    if data.sides is not None:
        baselines += _score_sides(data, data.sides)
    return baselines, _ask(data, lengths, several=several)


def _ask(data: LabelledTexts, lengths: Values, *, several: bool) -> list[Question]:
    """Whether lengths, and one side alone, know the classes."""
    metric = "auc" if len(data.sets) == 2 and not several else "accuracy"
    begin, classes = data.evaluated, data.classes.astype(np.float64)
    judged = Judged(metric, classes[begin:], data.components[begin:], data.texts[begin:])
    asked: list[tuple[str, Any, Weigh]] = [
        ("length", lengths, standardize),
        *(
            (name, count_terms(side.to_list()), weigh_terms)
            for name, side in zip(SIDES, data.sides or (), strict=False)
        ),
    ]
    questions = []
    own = set(data.components[begin:])
    free = np.array([row for row in range(begin) if data.components[row] not in own], dtype=np.int64)
    for name, features, weigh in asked:
        if len(free):
            training, scored = weigh(features[free], features[begin:])
            questions.append(held_out_question(name, judged, training, classes[free], scored))
        else:
            questions.append(learned_question(name, judged, features[begin:], weigh))
    return questions


def _read(
    task: tasks.Classification | tasks.MultilabelClassification, splits: Mapping[str, pl.LazyFrame], split: str
) -> LabelledTexts:
    """The rows of the evaluated split, and those to learn from."""
    learned = [name for name in task.splits if name in splits and name != split]
    tables = [splits[name].select("text", "label").collect(engine="streaming") for name in (*learned[:1], split)]
    texts, values = (pl.concat(table[name] for table in tables).to_list() for name in ("text", "label"))
    labels = [tuple(value) if isinstance(value, list) else (value,) for value in values]
    sets = sorted(set(labels))
    number = {labelled: position for position, labelled in enumerate(sets)}
    classes = np.array([number[labelled] for labelled in labels], dtype=np.int64)
    begin = len(texts) - tables[-1].height
    training, detail = select_training(texts[:begin])
    rows = [*training.tolist(), *range(begin, len(texts))]
    texts, labels = [texts[row] for row in rows], [labels[row] for row in rows]
    sides = split_sides(texts)
    components = connect_texts(texts, sides)
    held_out = Part(np.arange(len(training)), np.arange(len(training), len(rows)))
    plan = Plan((held_out,), detail) if learned else plan_folds(components, texts)
    known = classes[:begin] if learned else classes
    return LabelledTexts(texts, labels, classes[rows], sets, known, len(training), plan, sides, components)


def connect_texts(texts: Sequence[str], sides: Sides | None = None) -> list[str]:
    """The key of the rows that each is connected with: by a side, or by its first words. sides: of the texts, where known."""
    if sides := sides or split_sides(texts):
        return connect(*map(fold, sides))
    # Answers to one prompt, and turns of one conversation, begin alike.
    folded = fold(pl.Series(texts, dtype=pl.String))
    return connect([" ".join(text.split(" ")[:OPENING_WORDS]) for text in folded])


def _score_classes(data: LabelledTexts, name: str, features: Any, weigh: Weigh) -> Baseline:
    """Logistic regression over the classes. weigh: turns the features of training and scored rows into what the model sees."""
    predict = partial(predict_classes, count=len(data.sets))
    scores = predict_out_of_fold(features, data.classes, data.plan, weigh, predict, columns=(len(data.sets),))
    own = scores[data.evaluated :]
    area = mean_area_under_curve(data.scored, own) if {len(labels) for labels in data.sets} == {1} else None
    right = data.scored == np.argmax(own, axis=1)
    return _make_baseline(data, name, right, labels="all", auc=area, detail=data.plan.detail)


def _make_baseline(data: LabelledTexts, name: str, right: Values, **fields: Any) -> Baseline:
    """The record of a baseline. right: of each evaluated row, or how often, from 0 to 1."""
    return mean_baseline(name, right, data.components[data.evaluated :], **fields)


def _score_sets(data: LabelledTexts, counts: Any) -> Baseline:
    """TF-IDF and one logistic regression a label; a row is right if all its labels are."""
    targets = _label_matrix(data)
    predicted = predict_out_of_fold(
        counts, targets, data.plan, weigh_terms, predict_label_sets, columns=(targets.shape[1],)
    )
    right = (predicted == targets)[data.evaluated :].all(axis=1)
    return _make_baseline(data, "tfidf", right, labels="all", detail=data.plan.detail)


def _label_matrix(data: LabelledTexts) -> Integers:
    """Whether each row has each label. As in mteb, only labels of the evaluated rows count."""
    present = sorted({label for labels in data.labels[data.evaluated :] for label in labels})
    rows = [[label in labels for label in present] for labels in data.labels]
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(present))


def _score_few(data: LabelledTexts, counts: Any, advance: Callable[[int], None], *, several: bool) -> Baseline:
    """The mean accuracy over mteb's experiments, each with a few rows of each label, by mteb's models.

    These are logistic regression, and nearest neighbours for sets of labels. The weights of terms are those of all training rows,
    without their labels: a model too knows words from elsewhere.
    """
    targets = _label_matrix(data)
    right = np.zeros(len(data.texts))
    weighed = [weigh_terms(counts[part.training], counts[part.scored]) for part in data.plan.parts]
    for experiment in range(EXPERIMENTS):
        for part, (training, scored) in zip(data.plan.parts, weighed, strict=True):
            few = sample_few(part.training, data.labels, data.texts, experiment, FEW)
            features = training[np.searchsorted(part.training, few)]
            if several:
                predicted = predict_by_neighbours(features, targets[few], scored)
                right[part.scored] += (predicted == targets[part.scored]).all(axis=1)
            else:
                scores = predict_classes(features, data.classes[few], scored, len(data.sets))
                right[part.scored] += scores.argmax(axis=1) == data.classes[part.scored]
        advance(1)
    model = ", nearest neighbours" if several else ""
    detail = f"{FEW} rows a label, mean of {EXPERIMENTS} experiments{model}"
    return _make_baseline(data, "tfidf_few", right[data.evaluated :] / EXPERIMENTS, labels="few", detail=detail)


def _score_centroids(data: LabelledTexts, counts: Any) -> Baseline:
    predict = partial(predict_centroids, count=len(data.sets))
    predicted = predict_out_of_fold(counts, data.classes, data.plan, weigh_terms, predict)
    right = data.scored == predicted[data.evaluated :].astype(np.int64)
    return _make_baseline(data, "centroid", right, labels="all", detail=data.plan.detail)


def _score_sides(data: LabelledTexts, sides: Sides) -> list[Baseline]:
    """One side alone, and what the two have in common, for texts with two sides."""
    baselines = []
    for name, side in zip(SIDES, sides, strict=True):
        with stage(f"baselines: TF-IDF of {name}"):
            baselines.append(_score_classes(data, name, count_terms(side.to_list()), weigh_terms))
    left, right = map(fold, sides)
    for name, share in (("words", shared_words), ("letters", shared_letters)):
        with stage(f"baselines: shared {name}"):
            baselines.append(_score_classes(data, name, share(left, right)[:, np.newaxis], standardize))
    return baselines
