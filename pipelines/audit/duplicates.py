"""Findings about texts that a split holds more than once: equal, in reverse order, or nearly equal.

What occurs in two splits is a leak and belongs in pipelines.audit.leaks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from builders import tasks
from pipelines.audit.findings import findings_where
from pipelines.audit.near_duplicates import find_near_duplicates
from pipelines.audit.survey import Surveys, first_rows, swapped_texts
from pipelines.audit.tables import finding_column, model_inputs

if TYPE_CHECKING:
    from cards.manifest import Finding, Severity

# (split, earlier split) -> positions of the rows of the first that are near-duplicates of a row of the second, or, if both are
# the same split, of an earlier row.
NearDuplicates = Mapping[tuple[str, str], pl.Series]


def audit_duplicates(
    task: tasks.Task, layout: tasks.Layout, surveys: Surveys, near_duplicates: NearDuplicates
) -> list[Finding]:
    """The findings about texts and pairs of texts that recur within each split of a table."""
    recurs_by_design = isinstance(task, tasks.Reranking) or len(layout.text) > 1
    severity: Severity | None = "info" if recurs_by_design else None
    findings = []
    for split, survey in surveys.items():
        for column in layout.text:
            is_repeated = ~pl.col(f"hash {column}").is_first_distinct()
            location = (layout.config, split, column)
            findings += findings_where("duplicate_text", location, survey, is_repeated, severity=severity)
        if len(layout.text) > 1:
            is_repeated = ~pl.col("texts").is_first_distinct()
            findings += findings_where("duplicate_pair", (layout.config, split, ""), survey, is_repeated)
        if isinstance(task, tasks.PairClassification | tasks.STS):
            findings += _find_swapped_pairs(layout, split, survey)
        rows = first_rows(survey.with_row_index("__position"))
        is_near = pl.col("__position").is_in(near_duplicates[split, split].implode())
        findings += findings_where("near_duplicate", (layout.config, split, finding_column(layout)), rows, is_near)
    return findings


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
    near_duplicates, start = {}, 0
    for number, (split, survey) in enumerate(surveys.items()):
        own = matches.filter(pl.col("row").is_between(start, start + survey.height, closed="left"))
        for earlier_number, earlier in enumerate(list(surveys)[: number + 1]):
            positions = own.filter(pl.col("split") == earlier_number)["row"] - start
            near_duplicates[split, earlier] = positions
        start += survey.height
    return near_duplicates


def _find_swapped_pairs(layout: tasks.Layout, split: str, survey: pl.DataFrame) -> list[Finding]:
    """Pairs of two different texts that occur in reverse order in an earlier row."""
    rows = survey.with_columns(swapped=swapped_texts(layout)).with_row_index("__position")
    firsts = rows.unique("texts", keep="first", maintain_order=True)
    firsts = firsts.select(swapped="texts", swapped_position="__position")
    rows = rows.join(firsts, on="swapped", how="left", maintain_order="left")
    is_swapped = pl.col("swapped_position") < pl.col("__position")
    return findings_where("swapped_pair", (layout.config, split, ""), rows, is_swapped)
