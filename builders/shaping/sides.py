"""The two sides of texts of the form `Premise: ... Hypothesis: ...`, which factuality sets have."""

import polars as pl

FIRST, SECOND = "Premise: ", " Hypothesis: "


def has_sides(text: pl.Expr) -> pl.Expr:
    """Whether a text has the form."""
    return text.str.starts_with(FIRST) & text.str.contains(SECOND, literal=True)


def side_texts(text: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """The premise and the hypothesis of texts that have the form, divided at the first ` Hypothesis: `."""
    sides = text.str.strip_prefix(FIRST).str.splitn(SECOND, 2).struct
    return sides.field("field_0"), sides.field("field_1")
