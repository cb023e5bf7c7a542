"""The two sides of texts of the form `Premise: ... Hypothesis: ...`, which factuality sets have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

FIRST, SECOND = "Premise: ", " Hypothesis: "


@dataclass(frozen=True)
class Sides:
    """The first and the second side of each row."""

    first: pl.Series
    second: pl.Series

    @property
    def repeated(self) -> list[str]:
        """The side that has fewer different texts: rows that share it belong together."""
        side = self.first if self.first.n_unique() <= self.second.n_unique() else self.second
        texts: list[str] = side.to_list()
        return texts


def split_sides(texts: Sequence[str]) -> Sides | None:
    """The sides of the texts, divided at the first ` Hypothesis: `; None if a text does not have the form."""
    series = pl.Series("text", texts, dtype=pl.String)
    has_form = series.str.starts_with(FIRST) & series.str.contains(SECOND, literal=True)
    if not len(series) or not has_form.all():
        return None
    sides = series.str.strip_prefix(FIRST).str.splitn(SECOND, 2).struct.unnest()
    return Sides(*sides.get_columns())
