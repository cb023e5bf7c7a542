"""Findings about the order of rows: rows with the same label that follow each other.

Training and scores do not depend on the order of rows, but the first rows of such a split do not represent it.
"""

import polars as pl

from builders import tasks
from cards.manifest import Finding
from pipelines.audit.findings import FindingRows, without_rows
from pipelines.audit.kinds import KINDS, MIN_ORDER, MIN_ORDERED_ROWS
from pipelines.audit.leaking_columns import number_groups
from pipelines.audit.tables import Location


def find_sorted_labels(task: tasks.Task, survey: pl.DataFrame, location: Location) -> list[FindingRows]:
    """A finding for a split whose rows are sorted by label, or in blocks of one label; none for tasks without labels.

    In a random order, the sum of the squared shares of the labels is the share of rows with the label of the row before.
    """
    n = survey.height
    if not task.type.label or n < MIN_ORDERED_ROWS:
        return []
    labels = number_groups(survey["label"]) if isinstance(task, tasks.STS) else survey["label"]
    expected = sum((count / n) ** 2 for count in labels.value_counts()["count"])
    count = int((labels == labels.shift(1)).sum())
    if expected == 1 or (count / n - expected) / (1 - expected) < MIN_ORDER:
        return []
    detail = f"{count / n:.0%} of the rows have the label of the row before, {expected:.0%} in a random order"
    finding = Finding("label_sorted", KINDS["label_sorted"].severity, *location, count, count / n, detail=detail)
    return [without_rows(finding)]
