"""Findings about labels: texts with several different labels, and labels that are rare.

Labels that the task does not have are integrity findings; judgements of retrieval are in pipelines.audit.judgements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from builders import tasks
from cards.manifest import Finding
from pipelines.audit.findings import EXAMPLES, findings_where
from pipelines.audit.kinds import KINDS, LABEL_IMBALANCE_FACTOR
from pipelines.audit.label_statistics import count_labels

if TYPE_CHECKING:
    from pipelines.audit.tables import Frames, Location


def audit_labels(task: tasks.Task, frames: Frames, split: str, survey: pl.DataFrame) -> list[Finding]:
    """The findings about the labels, scores or clusters of a split; none for a task that has none."""
    if not task.type.label:
        return []
    location = ("default", split, task.type.label)
    findings = find_conflicting_labels(survey, location)
    if not isinstance(task, tasks.STS):
        findings += _find_label_imbalance(task, frames["default"][split], location)
    return findings


def find_conflicting_labels(rows: pl.DataFrame, location: Location) -> list[Finding]:
    """A finding for the texts with two or more labels. rows: the columns id, texts and label."""
    by_text = rows.group_by("texts", maintain_order=True).agg(pl.col("id").first(), pl.col("label").n_unique())
    return findings_where("conflicting_label", location, by_text, pl.col("label") > 1)


def _find_label_imbalance(task: tasks.Task, frame: pl.LazyFrame, location: Location) -> list[Finding]:
    """A finding for the rare labels, including those that the task names and no row has.

    The labels that a classifier is trained on are the exception: those without a row are left to audit.training_labels.
    """
    counts = {label: count for label, count in count_labels(frame, location[-1]).items() if label is not None}
    if names := tasks.label_names(task):
        counts = {name: counts.get(label, 0) for label, name in enumerate(names)}
    if location[1] == "train" and isinstance(task, tasks.Classification | tasks.MultilabelClassification):
        counts = {name: count for name, count in counts.items() if count}
    highest = max(counts.values(), default=0)
    rare = tuple(f"{name}: {count}" for name, count in counts.items() if LABEL_IMBALANCE_FACTOR * count < highest)
    if not rare:
        return []
    severity, share = KINDS["label_imbalance"].severity, len(rare) / len(counts)
    detail = f"the most frequent label has {highest} rows"
    return [Finding("label_imbalance", severity, *location, len(rare), share, rare[:EXAMPLES], detail)]
