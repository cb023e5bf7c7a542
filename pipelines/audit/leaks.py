"""Findings about texts of a split that an earlier split also holds: exactly, folded, nearly, in reverse order, or one side.

Every two splits are compared separately; the detail of a finding begins with `in <earlier split>`.
"""

from itertools import combinations

import polars as pl

from builders import tasks
from pipelines.audit.duplicates import FOLDED_DETAIL, NearDuplicates, different_labels
from pipelines.audit.findings import FindingRows, findings_where
from pipelines.audit.survey import Surveys, first_rows, swapped_texts, texts_key
from pipelines.audit.tables import finding_column


def audit_leaks(
    task: tasks.Task, layout: tasks.Layout, surveys: Surveys, near_duplicates: NearDuplicates
) -> list[FindingRows]:
    """The findings about texts and pairs of texts of a table that leak from one split into a later one."""
    findings = []
    for earlier, later in combinations(surveys, 2):
        location, detail = (layout.config, later, finding_column(layout)), f"in {earlier}"
        rows = first_rows(surveys[later]).with_columns(folded=texts_key(layout, folded=True))
        rows = _with_twin(rows, "texts", "exact", surveys[earlier], texts_key(layout))
        rows = _with_twin(rows, "folded", "folded twin", surveys[earlier], texts_key(layout, folded=True))
        near = near_duplicates[later, earlier].select("position", near="twin")
        rows = rows.join(near, on="position", how="left", maintain_order="left").with_columns(
            twin_split=pl.lit(earlier)
        )
        is_exact, is_folded, is_near = (pl.col(name).is_not_null() for name in ("exact", "folded twin", "near"))
        exact = rows.with_columns(twin=pl.col("exact"))
        findings += findings_where("split_leak", location, exact, is_exact, detail=detail)
        folded = rows.with_columns(twin=pl.col("folded twin"))
        is_folded &= ~is_exact
        findings += findings_where("split_leak", location, folded, is_folded, detail=f"{detail}, {FOLDED_DETAIL}")
        near = rows.with_columns(twin=pl.col("near"))
        is_near &= ~is_exact & pl.col("folded twin").is_null()
        labels = different_labels(near.filter(is_near), surveys[earlier])
        findings += findings_where(
            "near_leak", location, near, is_near, detail=f"{detail}, {labels}" if labels else detail
        )
        if isinstance(task, tasks.PairClassification | tasks.STS):
            findings += _find_leaking_pairs(layout, (earlier, later), surveys)
    return findings


def _find_leaking_pairs(layout: tasks.Layout, splits: tuple[str, str], surveys: Surveys) -> list[FindingRows]:
    """Pairs that are in reverse order in the earlier split, and pairs that share only single texts with it, on either side."""
    earlier, later = splits
    location, detail = (layout.config, later, ""), f"in {earlier}"
    rows = surveys[later].with_columns(
        swapped=swapped_texts(layout),
        pair=texts_key(layout, folded=True, ordered=False),
        twin_split=pl.lit(earlier),
    )
    rows = _with_twin(rows, "swapped", "twin", surveys[earlier], texts_key(layout))
    is_swapped = pl.col("twin").is_not_null()
    findings = findings_where("swapped_pair", location, rows, is_swapped, detail=detail)
    known_pairs = surveys[earlier].select(texts_key(layout, folded=True, ordered=False)).to_series().unique()
    sides = pl.concat([surveys[earlier].select("position", side=f"hash {column}") for column in layout.text]).sort(
        "position", maintain_order=True
    )
    for number, column in enumerate(layout.text):
        rows = _with_twin(rows, f"hash {column}", f"twin {number}", sides, pl.col("side"))
    count = pl.sum_horizontal(pl.col(f"twin {number}").is_not_null() for number in range(len(layout.text)))
    rows = rows.with_columns(
        count=pl.when(~pl.col("pair").is_in(known_pairs.implode())).then(count),
        twin=pl.coalesce(f"twin {number}" for number in range(len(layout.text))),
    )
    findings += findings_where("side_leak", location, rows, pl.col("count") == 1, detail=f"{detail}, one text")
    return findings + findings_where(
        "side_leak", location, rows, pl.col("count") == 2, detail=f"{detail}, both texts, in different pairs"
    )


def _with_twin(rows: pl.DataFrame, key: str, twin: str, earlier: pl.DataFrame, earlier_key: pl.Expr) -> pl.DataFrame:
    """The rows with a column `twin`: the position of the first row of the earlier split with the same key; null for none."""
    firsts = earlier.select(earlier_key.alias(key), pl.col("position").alias(twin))
    firsts = firsts.unique(key, keep="first", maintain_order=True)
    return rows.join(firsts, on=key, how="left", maintain_order="left")
