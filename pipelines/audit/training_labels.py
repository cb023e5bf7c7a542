"""Findings about the labels that a classifier is trained on: those with too few rows of the train split, or with none.

mteb trains its classifiers on 8 texts of each label, or on fewer if there are fewer: a warning, not an error. A label that train
lacks is never predicted, so every row of another split that has it counts as wrong.
"""

import polars as pl

from builders import tasks
from cards.manifest import Finding, Severity
from pipelines.audit.findings import EXAMPLES, FindingRows, findings_where, without_rows
from pipelines.audit.kinds import KINDS
from pipelines.audit.label_statistics import count_labels
from pipelines.audit.tables import Frames

MIN_TRAIN_ROWS = 8


def check_training_labels(
    task: tasks.Task, frames: Frames, splits: tuple[str, ...], *, sample: bool = False
) -> list[FindingRows]:
    """The findings about the labels of a classification's train split; none without one, and none for other tasks.

    A label without any train row is reported where it occurs, in the other splits; as a rare label of train only if no split has
    it. sample: whether the rows are a sample, where both kinds are only info.
    """
    if not isinstance(task, tasks.Classification | tasks.MultilabelClassification) or "train" not in splits:
        return []
    tables = {split: frames["default"][split] for split in splits}
    counts = {split: count_labels(table, "label") for split, table in tables.items()}
    train = counts.pop("train")
    missing = [label for label in range(len(task.labels)) if label not in train]
    findings, elsewhere = [], set[int]()
    for split, by_label in counts.items():
        here = [label for label in missing if label in by_label]
        if not here:
            continue
        elsewhere |= set(here)
        detail = "; ".join(f"{task.labels[label]}: {by_label[label]:,}" for label in here)
        findings += findings_where(
            "label_without_training_rows",
            ("default", split, "label"),
            tables[split],
            _has_label(task, here),
            detail=detail,
            severity="info" if sample else None,
        )
    rare = [
        f"{name}: {train.get(label, 0)}"
        for label, name in enumerate(task.labels)
        if train.get(label, 0) < MIN_TRAIN_ROWS and label not in elsewhere
    ]
    if rare:
        severity: Severity = "info" if sample else KINDS["few_rows_of_label"].severity
        location, share = ("default", "train", "label"), len(rare) / len(task.labels)
        finding = Finding("few_rows_of_label", severity, *location, len(rare), share, tuple(rare[:EXAMPLES]))
        findings.append(without_rows(finding))
    return findings


def _has_label(task: tasks.Task, labels: list[int]) -> pl.Expr:
    """Whether a row has one of some labels."""
    if isinstance(task, tasks.MultilabelClassification):
        return pl.col("label").list.eval(pl.element().is_in(labels)).list.any()
    return pl.col("label").is_in(labels)
