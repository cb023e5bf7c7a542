"""Findings about labels: texts with several different labels, and labels that are rare.

Labels that the task does not have are integrity findings; judgements of retrieval are in pipelines.audit.judgements.
"""

from itertools import combinations

import polars as pl

from builders import tasks
from cards.manifest import Finding
from pipelines.audit.duplicates import FOLDED_DETAIL
from pipelines.audit.findings import EXAMPLES, FindingRows, findings_where, without_rows
from pipelines.audit.kinds import KINDS, LABEL_IMBALANCE_FACTOR
from pipelines.audit.label_statistics import count_labels
from pipelines.audit.survey import Surveys, texts_key
from pipelines.audit.tables import Frames, Location

ANY_ORDER_DETAIL = "with the two texts in either order"


def audit_labels(task: tasks.Task, layout: tasks.Layout, frames: Frames, surveys: Surveys) -> list[FindingRows]:
    """The findings about the labels, scores or clusters of a table; none for a task that has none."""
    if not task.type.label:
        return []
    findings = []
    symmetric = isinstance(task, tasks.PairClassification | tasks.STS)
    keys = {"": texts_key(layout)}
    if symmetric:
        keys[ANY_ORDER_DETAIL] = texts_key(layout, ordered=False)
    keys[FOLDED_DETAIL] = texts_key(layout, folded=True, ordered=not symmetric)
    for split, survey in surveys.items():
        location = ("default", split, task.type.label)
        findings += find_conflicting_labels(survey.with_columns(twin_split=pl.lit(split)), location, keys)
        if not isinstance(task, tasks.STS):
            findings += _find_label_imbalance(task, frames["default"][split], location)
    for earlier, later in combinations(surveys, 2):
        location = ("default", later, task.type.label)
        findings += _find_conflicts_between(surveys, (earlier, later), keys[FOLDED_DETAIL], location)
    return findings


def find_conflicting_labels(rows: pl.DataFrame, location: Location, keys: dict[str, pl.Expr]) -> list[FindingRows]:
    """The findings for the texts with two or more labels.

    rows: `label`, and `position` or another name of the row. keys: what texts are compared by, from narrow to wide, each with the
    detail of its finding. A text that has two labels by a narrow key is not counted again by a wider one.
    """
    findings, conflicts = [], pl.lit(value=False)
    for detail, key in keys.items():
        rows = rows.with_columns(__key=key)
        several = pl.col("label").n_unique().over("__key") > 1
        is_new = several & ~conflicts.any().over("__key")
        groups = rows.with_columns(is_new=is_new, __other=pl.col("label") != pl.col("label").first().over("__key"))
        if "position" in rows.columns:
            twin = pl.when("__other").then("position").drop_nulls().first().over("__key")
            groups = groups.with_columns(twin=twin)
        texts = groups.filter(pl.col("__key").is_first_distinct())
        findings += findings_where("conflicting_label", location, texts, pl.col("is_new"), detail=detail)
        rows = rows.with_columns(__conflict=several | conflicts)
        conflicts = pl.col("__conflict")
    return findings


def _find_conflicts_between(
    surveys: Surveys, splits: tuple[str, str], key: pl.Expr, location: Location
) -> list[FindingRows]:
    """A finding for the texts of the later split that have another label in the earlier one."""
    earlier, later = (surveys[split].with_columns(__key=key) for split in splits)
    labels = earlier.select("__key", twin="position", other="label").join(
        later.select("__key").unique(), on="__key", how="semi", maintain_order="left"
    )
    rows = later.join(labels, on="__key", how="left", maintain_order="left_right")
    rows = rows.with_columns(differs=pl.col("label") != pl.col("other"), twin_split=pl.lit(splits[0]))
    rows = rows.sort("__key", pl.col("differs").fill_null(value=False), descending=[False, True], maintain_order=True)
    texts = rows.unique("__key", keep="first", maintain_order=True).sort("position")
    return findings_where("conflicting_label", location, texts, pl.col("differs"), detail=f"in {splits[0]}")


def _find_label_imbalance(task: tasks.Task, frame: pl.LazyFrame, location: Location) -> list[FindingRows]:
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
    finding = Finding("label_imbalance", severity, *location, len(rare), share, rare[:EXAMPLES], detail=detail)
    return [without_rows(finding)]
