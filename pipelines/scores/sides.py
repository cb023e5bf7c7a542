"""The two sides of texts of the form `Premise: ... Hypothesis: ...`, which factuality sets have."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from builders.shaping.sides import has_sides, side_texts


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
    frame, text = pl.DataFrame({"text": texts}, schema={"text": pl.String}), pl.col("text")
    if not len(frame) or not frame.select(has_sides(text).all()).item():
        return None
    first, second = side_texts(text)
    return Sides(*frame.select(first=first, second=second).get_columns())
