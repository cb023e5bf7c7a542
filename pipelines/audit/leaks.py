"""What stands twice, where it should not: in two splits, nearly in two rows, the other way round."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import polars as pl

from pipelines.audit.near_duplicates import find_near_duplicates
from pipelines.audit.statistics import model_input
from pipelines.audit.survey import findings_where

if TYPE_CHECKING:
    from collections.abc import Mapping

    from builders import tasks
    from cards.manifest import Finding


def find_leaks(surveys: Mapping[str, pl.DataFrame], layout: tasks.Layout) -> list[Finding]:
    """Texts of a split that an earlier one holds too, each pair of splits apart; surveys: by split."""
    found = []
    for earlier, later in combinations(surveys, 2):
        place, texts = (layout.config, later, _column(layout)), _distinct(surveys[later])
        exact, folded = _leaked(surveys[earlier])
        found += findings_where("split_leak", place, texts, exact, detail=f"in {earlier}")
        detail = f"in {earlier}, but for case, punctuation, white space or the form of characters"
        found += findings_where("split_leak", place, texts, folded & ~exact, detail=detail)
    return found


def find_near_matches(
    frames: Mapping[str, pl.LazyFrame], surveys: Mapping[str, pl.DataFrame], layout: tasks.Layout
) -> list[Finding]:
    """Texts that are nearly an earlier one, of their own split or of an earlier one; frames, surveys: by split."""

    texts = {column: model_input(layout.config, column) for column in layout.text}
    read = sorted({name for text in texts.values() for name in text.meta.root_names()})
    rows_of_all = pl.concat([frames[split].select(read) for split in surveys])
    wanted = [survey["same"].is_first_distinct() for survey in surveys.values()]
    splits = [pl.repeat(number, len(some), dtype=pl.UInt32, eager=True) for number, some in enumerate(wanted)]
    alike = find_near_duplicates(rows_of_all, texts, pl.concat(splits), pl.concat(wanted))
    found, start = [], 0
    for number, (later, survey) in enumerate(surveys.items()):
        place, rows = (layout.config, later, _column(layout)), _distinct(survey.with_row_index("__at", start))
        for other, earlier in enumerate(list(surveys)[: number + 1]):
            is_near = pl.col("__at").is_in(alike.filter(pl.col("split") == other)["row"].implode())
            if other == number:
                found += findings_where("near_duplicate", place, rows, is_near)
            else:
                exact, folded = _leaked(surveys[earlier])
                found += findings_where("near_leak", place, rows, is_near & ~exact & ~folded, detail=f"in {earlier}")
        start += survey.height
    return found


def find_swapped_pairs(surveys: Mapping[str, pl.DataFrame], layout: tasks.Layout) -> list[Finding]:
    """Pairs of two different texts that stand the other way round in an earlier row, or in an earlier split."""

    first, second = (pl.col(f"number {column}") for column in layout.text)
    there = pl.concat_str(second, first, separator=" ")
    found = []
    for later, survey in surveys.items():
        place = (layout.config, later, "")
        rows = survey.with_columns(there=pl.when(first != second).then(there)).with_row_index("__at")
        firsts = rows.unique("same", keep="first", maintain_order=True).select(there="same", before="__at")
        rows = rows.join(firsts, on="there", how="left", maintain_order="left")
        found += findings_where("swapped_pair", place, rows, pl.col("before") < pl.col("__at"))
        for earlier in list(surveys)[: list(surveys).index(later)]:
            swapped_there = pl.col("there").is_in(surveys[earlier]["same"].unique().implode())
            found += findings_where("swapped_pair", place, rows, swapped_there, detail=f"in {earlier}")
    return found


def _column(layout: tasks.Layout) -> str:
    return layout.text[0] if len(layout.text) == 1 else ""


def _distinct(survey: pl.DataFrame) -> pl.DataFrame:
    return survey.unique("same", keep="first", maintain_order=True)


def _leaked(earlier: pl.DataFrame) -> tuple[pl.Expr, pl.Expr]:
    """Whether a text stands in an earlier split, as it is and folded."""

    exact = pl.col("same").is_in(earlier["same"].unique().implode())
    return exact, pl.col("folded").is_in(earlier["folded"].unique().implode())
