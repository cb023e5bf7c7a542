"""Findings about texts of a split that an earlier split also holds: exactly, after folding, nearly, or in reverse order.

Every two splits are compared separately; the detail of a finding begins with `in <earlier split>`.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import polars as pl

from builders import tasks
from pipelines.audit.findings import findings_where
from pipelines.audit.survey import Surveys, first_rows, swapped_texts
from pipelines.audit.tables import finding_column

if TYPE_CHECKING:
    from cards.manifest import Finding
    from pipelines.audit.duplicates import NearDuplicates

FOLDED_DETAIL = "ignoring case, punctuation, white space and Unicode form"


def audit_leaks(
    task: tasks.Task, layout: tasks.Layout, surveys: Surveys, near_duplicates: NearDuplicates
) -> list[Finding]:
    """The findings about texts and pairs of texts of a table that leak from one split into a later one."""
    findings = []
    for earlier, later in combinations(surveys, 2):
        location = (layout.config, later, finding_column(layout))
        is_exact, is_folded, is_near = pl.col("exact"), pl.col("folded"), pl.col("near")
        rows = first_rows(surveys[later].with_row_index("__position")).select(
            "id",
            exact=pl.col("texts").is_in(surveys[earlier]["texts"].unique().implode()),
            folded=pl.col("folded texts").is_in(surveys[earlier]["folded texts"].unique().implode()),
            near=pl.col("__position").is_in(near_duplicates[later, earlier].implode()),
        )
        detail, folded_detail = f"in {earlier}", f"in {earlier}, {FOLDED_DETAIL}"
        findings += findings_where("split_leak", location, rows, is_exact, detail=detail)
        findings += findings_where("split_leak", location, rows, is_folded & ~is_exact, detail=folded_detail)
        findings += findings_where("near_leak", location, rows, is_near & ~is_exact & ~is_folded, detail=detail)
        if isinstance(task, tasks.PairClassification | tasks.STS):
            is_swapped = swapped_texts(layout).is_in(surveys[earlier]["texts"].unique().implode())
            findings += findings_where(
                "swapped_pair", (layout.config, later, ""), surveys[later], is_swapped, detail=detail
            )
    return findings
