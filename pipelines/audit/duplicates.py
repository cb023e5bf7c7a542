"""Findings about texts that a split holds more than once: equal, equal after folding, in reverse order, or nearly equal.

What occurs in two splits is a leak and belongs in pipelines.audit.leaks.
"""

from collections.abc import Mapping

import polars as pl

from builders import tasks
from cards.manifest import Severity
from pipelines.audit.findings import FindingRows, findings_where
from pipelines.audit.near_duplicates import find_near_duplicates
from pipelines.audit.survey import Surveys, first_rows, swapped_texts
from pipelines.audit.tables import finding_column, model_inputs

FOLDED_DETAIL = "ignoring case, punctuation, white space and Unicode form"
# (split, earlier split) -> for the rows of the first that are near-duplicates of a row of the second (if both are the same split,
# of an earlier row): `position`, `twin` (the position of that row) and `is_same` (whether the texts are equal after folding).
NearDuplicates = Mapping[tuple[str, str], pl.DataFrame]


def audit_duplicates(
    task: tasks.Task, layout: tasks.Layout, surveys: Surveys, near_duplicates: NearDuplicates
) -> list[FindingRows]:
    """The findings about texts and pairs of texts that recur within each split of a table."""
    recurs_by_design = isinstance(task, tasks.Reranking) or len(layout.text) > 1
    severity: Severity | None = "info" if recurs_by_design else None
    findings = []
    for split, survey in surveys.items():
        for column in layout.text:
            copies = _with_first(survey, pl.col(f"hash {column}"), split)
            location = (layout.config, split, column)
            findings += findings_where("duplicate_text", location, copies, pl.col("is_repeated"), severity=severity)
        if len(layout.text) > 1:
            copies = _with_first(survey, pl.col("texts"), split)
            findings += findings_where("duplicate_pair", (layout.config, split, ""), copies, pl.col("is_repeated"))
        if isinstance(task, tasks.PairClassification | tasks.STS):
            findings += _find_swapped_pairs(layout, split, survey)
        rows = first_rows(survey).join(near_duplicates[split, split], on="position", how="left", maintain_order="left")
        rows = rows.with_columns(twin_split=pl.lit(split))
        location, is_near = (layout.config, split, finding_column(layout)), pl.col("twin").is_not_null()
        kind = "duplicate_pair" if len(layout.text) > 1 else "duplicate_text"
        findings += findings_where(
            kind,
            location,
            rows,
            is_near & pl.col("is_same"),
            detail=FOLDED_DETAIL,
            severity=None if len(layout.text) > 1 else severity,
        )
        is_near &= ~pl.col("is_same")
        detail = different_labels(rows.filter(is_near), survey)
        findings += findings_where("near_duplicate", location, rows, is_near, detail=detail)
    return findings


def different_labels(rows: pl.DataFrame, twins: pl.DataFrame) -> str:
    """How many rows have another label or score than their twin, in words; empty where the task has none.

    rows: `twin` and, where the task has labels, `label`. twins: the survey of the rows that `twin` names.
    """
    if "label" not in twins.columns or rows.is_empty():
        return ""
    different = (rows["label"] != twins["label"].gather(rows["twin"])).sum()
    return f"{different:,} with another label than the text that they resemble" if different else "with the same label"


def find_near_duplicates_by_split(
    layout: tasks.Layout, frames: Mapping[str, pl.LazyFrame], surveys: Surveys
) -> NearDuplicates:
    """The near-duplicates among the different texts of some splits of a table, which are compared in this order.

    frames: by split.
    """
    texts = model_inputs(layout)
    columns = sorted({name for text in texts.values() for name in text.meta.root_names()})
    rows = pl.concat([frames[split].select(columns) for split in surveys])
    compared = [survey["texts"].is_first_distinct() for survey in surveys.values()]
    numbers = [pl.repeat(number, len(mask), dtype=pl.UInt32, eager=True) for number, mask in enumerate(compared)]
    matches = find_near_duplicates(rows, texts, pl.concat(numbers), pl.concat(compared))
    near_duplicates, start, starts = {}, 0, []
    for split, survey in surveys.items():
        starts.append(start)
        own = matches.filter(pl.col("row").is_between(start, start + survey.height, closed="left"))
        for number, earlier in enumerate(list(surveys)[: len(starts)]):
            near_duplicates[split, earlier] = own.filter(split=number).select(
                position=pl.col("row") - start, twin=pl.col("earlier") - starts[number], is_same="is_same"
            )
        start += survey.height
    return near_duplicates


def _with_first(survey: pl.DataFrame, key: pl.Expr, split: str) -> pl.LazyFrame:
    """The rows with `is_repeated` and, as their twin, the first row with the same key; lazy, as it is rarely needed."""
    return survey.lazy().select(
        "position",
        is_repeated=~key.is_first_distinct(),
        twin=pl.col("position").first().over(key),
        twin_split=pl.lit(split),
    )


def _find_swapped_pairs(layout: tasks.Layout, split: str, survey: pl.DataFrame) -> list[FindingRows]:
    """Pairs of two different texts that occur in reverse order in an earlier row."""
    rows = survey.with_columns(swapped=swapped_texts(layout), twin_split=pl.lit(split))
    firsts = first_rows(rows).select(swapped="texts", twin="position")
    rows = rows.join(firsts, on="swapped", how="left", maintain_order="left")
    return findings_where("swapped_pair", (layout.config, split, ""), rows, pl.col("twin") < pl.col("position"))
