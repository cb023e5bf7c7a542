"""The texts of a table that an index has: those that a model receives, and the parts that a recipe made them of."""

import polars as pl

from builders.shaping.sides import has_sides, side_texts
from builders.tasks import Layout
from pipelines.audit.tables import model_inputs

Texts = dict[str, pl.Expr]  # one or two texts of each row, by column


def table_texts(layout: Layout, frame: pl.LazyFrame) -> list[Texts]:
    """The texts of a table's rows: its columns; then, as a pair, the sides of texts that all are `Premise: ... Hypothesis: ...`.

    A training corpus has premise and hypothesis in two fields, and not these words. The columns of the sides are named
    `text[premise]` and `text[hypothesis]`.
    """
    columns = model_inputs(layout)
    if layout.config != "default" or len(columns) != 1:
        return [columns]
    [(name, text)] = columns.items()
    both = frame.select(rows=pl.len(), sided=has_sides(text.cast(pl.String)).sum()).collect(engine="streaming")
    if not both["rows"][0] or both["sided"][0] < both["rows"][0]:
        return [columns]
    return [columns, _sides(name, text)]


def texts_with(layout: Layout, column: str) -> Texts | None:
    """Those texts of `table_texts` that one of its columns is of; None for a column that it does not name."""
    columns = model_inputs(layout)
    return next((texts for texts in (columns, *(_sides(*one) for one in columns.items())) if column in texts), None)


def _sides(name: str, text: pl.Expr) -> Texts:
    premise, hypothesis = side_texts(text)
    return {f"{name}[premise]": premise, f"{name}[hypothesis]": hypothesis}
